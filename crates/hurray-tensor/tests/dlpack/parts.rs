//! A struct of any parts, taken over and handed on: what is taken has its elements where they were,
//! and the struct is let go of once.

use hurray_tensor::dlpack::raw::*;
use hurray_tensor::dlpack::*;
use hurray_tensor::{Copying, Tensor};

use super::choice::{Choice, Random};
use super::producer::*;

const WIDE: [i64; 9] =
    [i64::MIN, i64::MIN + 1, -1, 0, 1 << 31, 1 << 40, 1 << 61, 1 << 62, i64::MAX];
const LINES: usize = 40;
/// Where the memory's middle is, in bytes.
const MIDDLE: u64 = 1280;

/// Bits of an element in DLPack's memory, code and bits of its type, and whether it is padded.
const TYPES: [(u64, u8, u8, u64); 9] = [
    (8, 1, 8, 0),
    (8, 0, 8, FLAG_SUBBYTE_PADDED),
    (16, 0, 16, 0),
    (32, 2, 32, 0),
    (64, 5, 64, 0),
    (128, 5, 128, 0),
    (4, 0, 4, 0),
    (8, 1, 2, FLAG_SUBBYTE_PADDED),
    (6, 15, 6, 0),
];

/// A producer whose memory is full of noise.
fn producer(random: &mut impl Choice) -> (Producer, u64) {
    let mut noise = Random(random.below(256) as u64);
    let noise: Vec<u8> = (0..LINES * 64).map(|_| noise.below(256) as u8).collect();
    let (width, code, bits, flags) = random.of(&TYPES);
    let rank = random.below(5);
    let mut made = Producer::new(DLDataType { code, bits, lanes: 1 }, &vec![1; rank], &noise);
    made.shape = (random.below(50) != 0).then(|| (0..rank).map(|_| size(random)).collect());
    made.strides = match random.below(10) {
        0 => None,
        _ => Some((0..rank).map(|_| step(random)).collect()),
    };
    made.byte_offset = match random.below(12) {
        0 => random.of(&[u64::MAX, u64::MAX - 63, 1 << 63, 1 << 47, 0]),
        1 | 2 => MIDDLE + random.below(64) as u64,
        _ => MIDDLE,
    };
    match random.below(60) {
        0 => made.ndim = random.of(&[-1, i32::MIN, i32::MAX, 65]),
        1 => made.data = Some(std::ptr::null_mut()),
        2 => made.dtype.lanes = random.below(5) as u16,
        3 => made.dtype.bits = random.below(256) as u8,
        4 => made.dtype.code = random.below(256) as u8,
        5 => made.device.device_type = random.below(20) as i32 - 1,
        6 => made.device.device_id = random.of(&[-1, 1, i32::MAX]),
        7 => made.version.major = random.of(&[0, 2, u32::MAX]),
        8 => made.has_deleter = false,
        _ => {}
    }
    made.version.minor = random.below(5) as u32;
    made.flags = flags | random.of(&[0, FLAG_READ_ONLY, FLAG_IS_COPIED]);
    if random.below(60) == 0 {
        made.flags |= 1 << random.below(64);
    }
    let width = match made.dtype.code {
        6 => 8,
        _ if made.flags & FLAG_SUBBYTE_PADDED != 0 => u64::from(made.dtype.bits.max(8)),
        _ => u64::from(made.dtype.bits).max(width.min(1)),
    };
    (made, width)
}

fn size(random: &mut impl Choice) -> i64 {
    match random.below(40) {
        0 => random.of(&WIDE),
        1 => random.any().cast_signed(),
        _ => random.below(5) as i64,
    }
}

fn step(random: &mut impl Choice) -> i64 {
    match random.below(30) {
        0 => random.of(&WIDE),
        1 => random.any().cast_signed(),
        _ => random.below(25) as i64 - 12,
    }
}

/// The steps that a struct has, if it has any.
fn steps(made: &Producer) -> Vec<i128> {
    let shape = made.shape.clone().unwrap_or_default();
    match &made.strides {
        Some(strides) => strides.iter().map(|step| i128::from(*step)).collect(),
        None => {
            let mut steps = vec![1_i128; shape.len()];
            for k in (1..shape.len()).rev() {
                steps[k - 1] = steps[k].saturating_mul(i128::from(shape[k]));
            }
            steps
        }
    }
}

/// The bits that all elements lie between, counted from the memory's first.
fn reach(made: &Producer, width: u64) -> Option<(i128, i128)> {
    let first = i128::from(made.byte_offset) * 8;
    let (mut low, mut high) = (first, first + i128::from(width));
    // Without dimensions no shape is needed.
    for (size, step) in made.shape.iter().flatten().zip(steps(made)) {
        let last = i128::from(size.checked_sub(1).filter(|last| *last >= 0)?);
        let span = last.saturating_mul(step).saturating_mul(i128::from(width));
        low = low.saturating_add(span.min(0));
        high = high.saturating_add(span.max(0));
    }
    Some((low, high))
}

fn is_inside(made: &Producer, width: u64) -> bool {
    let bits = (LINES as i128) * 64 * 8;
    // A few bytes at both ends, for what is counted in whole groups.
    let fits = |(low, high): (i128, i128)| low >= 64 && high <= bits - 64;
    reach(made, width).is_none_or(fits) && made.data.is_none()
}

/// Each element is where the struct says.
fn compare(made: &Producer, width: u64, tensor: &Tensor, mask: u128) {
    let shape = made.shape.clone().unwrap_or_default();
    let own: Vec<u64> = shape.iter().map(|size| *size as u64).collect();
    assert_eq!(tensor.descriptor().shape(), own);
    let Ok(elements) = tensor.iter_bits() else {
        return;
    };
    let mut index = vec![0_i64; shape.len()];
    // SAFETY: the memory is the producer's, and only read.
    let memory = unsafe { std::slice::from_raw_parts(made.data().cast::<u8>(), LINES * 64) };
    for (count, found) in elements.take(700).enumerate() {
        let at = index.iter().zip(steps(made)).map(|(at, step)| i128::from(*at) * step);
        let bit = i128::from(made.byte_offset) * 8 + at.sum::<i128>() * i128::from(width);
        let expected = (0..i128::from(width)).fold(0_u128, |bits, n| {
            let at = (bit + n) as usize;
            bits | u128::from(memory[at / 8] >> (at % 8) & 1) << n
        });
        assert_eq!(found, expected & mask, "{count}");
        for (at, size) in index.iter_mut().zip(&shape).rev() {
            *at += 1;
            if at != size {
                break;
            }
            *at = 0;
        }
    }
}

/// What became of a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Became {
    Refused,
    Taken,
    Copied,
}

/// A struct of what is chosen.
pub fn run_any(choice: &mut impl Choice) -> Became {
    let (made, width) = producer(choice);
    let copying = choice.of(&[Copying::Never, Copying::WhenNeeded, Copying::Always]);
    let inside = is_inside(&made, width);
    // A copy reads: what a struct says of its memory is true then.
    let copying = if inside { copying } else { Copying::Never };
    let how = Import { copying, copy_bytes: 1 << 16, ..Import::default() };
    let others = choice.of(&[Others::Read, Others::Write, Others::Nothing]);
    let terms = Terms { others, stream: None };
    // The older struct has no flags, and is never its caller's to free here.
    let is_older = choice.below(4) == 0 && made.flags == 0 && made.has_deleter;
    let mut left = None;
    let imported = if is_older {
        // SAFETY: made for this, and where it is read, what it says is true.
        unsafe { Foreign::from_raw(made.legacy(), terms) }.and_then(|foreign| foreign.import(&how))
    } else {
        let managed = made.versioned();
        left = (!made.has_deleter).then_some(managed);
        // SAFETY: as above.
        unsafe { Foreign::from_raw(managed, terms) }.and_then(|foreign| foreign.import(&how))
    };
    let became = match imported {
        Ok(imported) => used(&made, imported, width, inside),
        Err(_) => Became::Refused,
    };
    assert_eq!(made.deleted.times(), usize::from(made.has_deleter));
    if let Some(managed) = left {
        made.free(managed);
    }
    became
}

fn used(made: &Producer, imported: Imported, width: u64, inside: bool) -> Became {
    let became = match imported.report.copied {
        Some(_) => Became::Copied,
        None => Became::Taken,
    };
    // Of what has to be waited for on a device that is not here nothing more is seen.
    let Ok(tensor) = imported.tensor.acquire() else {
        return Became::Refused;
    };
    let mask = u128::MAX >> (128 - u32::from(made.dtype.bits).min(128));
    if inside && tensor.host_buffers().is_ok() {
        compare(made, width, &tensor, mask);
    }
    let deleted = usize::from(became == Became::Copied && made.has_deleter);
    assert_eq!(made.deleted.times(), deleted);
    if became == Became::Taken {
        goes_back_as_it_came(made, &tensor);
    }
    became
}

fn goes_back_as_it_came(made: &Producer, tensor: &Tensor) {
    let Ok(out) = Export::default().share::<DLManagedTensorVersioned>(tensor) else {
        return;
    };
    assert_eq!(out.shape(), made.shape.clone().unwrap_or_default());
    if out.shape().contains(&0) {
        return;
    }
    for ((step, own), size) in out.strides().iter().zip(steps(made)).zip(out.shape()) {
        assert!(*size == 1 || i128::from(*step) == own, "{step} {own}");
    }
    if made.device.device_type == 1 {
        let here = made.data().addr() as u64 + made.byte_offset;
        assert_eq!(out.tensor().data.addr() as u64, here);
    }
}
