//! Copies: only where they are named, of what, and how large.

use hurray_tensor::Copying;
use hurray_tensor::dlpack::raw::*;
use hurray_tensor::dlpack::*;
use hurray_tensor::format::{Dtype, Layout, Morton, Rule};
use hurray_tensor::{Buffer, BufferMut, Tensor};

use crate::counting::most;
use crate::producer::*;

fn when_needed() -> Import<'static> {
    Import { copying: Copying::WhenNeeded, ..Import::default() }
}

fn bytes_of(out: &Exported, count: usize) -> &[u8] {
    // SAFETY: the tests ask for no more than there are.
    unsafe { std::slice::from_raw_parts(out.tensor().data.cast(), count) }
}

#[test]
fn d25_a_bool_is_a_bit_here_and_a_byte_there() {
    // [1, 0, 1, 1, 0] is 0x0D.
    let packed = BufferMut::copy_of(&[0x0D]).unwrap().freeze();
    let mask = Tensor::dense(Dtype::Bool, &[5], packed).unwrap();
    let refused = Export::default().share::<DLManagedTensorVersioned>(&mask).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::DlpackBool));
    let how = Export { copying: Copying::WhenNeeded, ..Export::default() };
    let out: Exported = how.share(&mask).unwrap();
    assert_eq!(out.tensor().dtype, BOOL);
    assert_eq!(out.as_raw().flags, FLAG_IS_COPIED);
    assert_eq!((out.report().copied, out.report().copied_bytes), (Some(Reason::BoolWidth), 5));
    assert_eq!(bytes_of(&out, 5), [1, 0, 1, 1, 0]);

    let back = Foreign::from(out).import(&when_needed()).unwrap();
    assert_eq!((back.report.copied, back.report.copied_bytes), (Some(Reason::BoolWidth), 1));
    let back = back.tensor.acquire_host().unwrap();
    assert_eq!(back.host_buffers().unwrap()[0][..], [0x0D]);
    assert_eq!(back.descriptor(), mask.descriptor());

    Producer::new(BOOL, &[5], &[1, 0, 1, 1, 0]).is_refused(Rule::DlpackBool);
    // What is neither is not guessed at.
    let strange = Producer::new(BOOL, &[5], &[1, 0, 2, 1, 0]);
    let refused = strange.import(&when_needed()).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::DlpackBoolValue));
    assert_eq!(strange.deleted.times(), 1);
}

#[test]
fn d25_a_bool_keeps_its_strides_and_its_place() {
    // Bits 3, 5, 7 behind the first byte of a column-major 3 x 2: rows of the transpose.
    let bits = BufferMut::copy_of(&[0xFF, 0b0010_1101]).unwrap().freeze();
    let layout = Layout::ColumnMajor;
    let mask = Tensor::laid_out(Dtype::Bool, &[3, 2], layout, 1, bits).unwrap();
    let how = Export { copying: Copying::WhenNeeded, ..Export::default() };
    let out: Exported = how.share(&mask).unwrap();
    assert_eq!(out.strides(), [2, 1]);
    assert_eq!(bytes_of(&out, 6), [1, 1, 0, 0, 1, 1]);
}

/// Types below a byte, as DLPack names them.
const SMALL: [(Dtype, u8, u8); 7] = [
    (Dtype::Int4, 0, 4),
    (Dtype::UInt4, 1, 4),
    (Dtype::Int2, 0, 2),
    (Dtype::UInt2, 1, 2),
    (Dtype::Float4E2M1, 17, 4),
    (Dtype::Float6E2M3, 15, 6),
    (Dtype::Float6E3M2, 16, 6),
];

#[test]
fn d26_packed_elements_go_and_come_where_they_are() {
    for (dtype, code, bits) in SMALL {
        let memory = BufferMut::copy_of(&[0x81, 0x40, 0x20, 0x1F, 0x2E, 0x3D]).unwrap().freeze();
        let count = 48 / u64::from(bits);
        let tensor = Tensor::dense(dtype, &[count], memory).unwrap();
        let here = tensor.host_buffers().unwrap()[0].as_ptr();
        let out: Exported = Export::default().share(&tensor).unwrap();
        assert_eq!(out.tensor().dtype, DLDataType { code, bits, lanes: 1 });
        assert_eq!(out.as_raw().flags, FLAG_READ_ONLY);
        assert_eq!(out.shape(), [i64::try_from(count).unwrap()]);
        assert_eq!(out.tensor().data.cast_const().cast(), here);
        let back = Tensor::try_from(Foreign::from(out)).unwrap();
        assert_eq!(back.descriptor().dtype(), dtype);
        assert_eq!(back.descriptor().shape(), [count]);
        assert_eq!(back.host_buffers().unwrap()[0].as_ptr(), here);
    }
}

#[test]
fn d26_padded_elements_are_packed_and_vectors_are_refused() {
    for (dtype, code, bits) in SMALL {
        // What is above the bits of an element says nothing.
        let values: Vec<u8> = (0..5_u8).map(|at| 0xFF_u8.wrapping_mul(at) ^ 0x35).collect();
        let dl = DLDataType { code, bits, lanes: 1 };
        let padded = Producer::new(dl, &[5], &values).set(|p| p.flags = FLAG_SUBBYTE_PADDED);
        padded.is_refused(Rule::DlpackPadded);
        let imported = padded.import(&when_needed()).unwrap();
        assert_eq!(imported.report.copied, Some(Reason::Padded));
        let tensor = imported.tensor.acquire_host().unwrap();
        assert_eq!((tensor.descriptor().dtype(), tensor.descriptor().shape()), (dtype, &[5][..]));
        let packed = tensor.host_buffers().unwrap().remove(0);
        for (at, value) in values.iter().enumerate() {
            let first = at * usize::from(bits);
            let found = (0..usize::from(bits)).fold(0, |found, bit| {
                let place = first + bit;
                found | ((packed[place / 8] >> (place % 8)) & 1) << bit
            });
            assert_eq!(found, value & (0xFF >> (8 - bits)), "{dtype} {at}");
        }
        for lanes in [2, 4] {
            Producer::new(DLDataType { lanes, ..dl }, &[2], &values).is_refused(Rule::DlpackLanes);
        }
    }
    // For types of whole bytes the flag says nothing.
    let plain = Producer::f32(&[1], &[1.0]).set(|p| p.flags = FLAG_SUBBYTE_PADDED);
    assert!(plain.tensor_here().is_ok());
}

#[test]
fn a_group_of_6_bit_elements_that_is_cut_short_is_copied() {
    let dtype = DLDataType { code: 15, bits: 6, lanes: 1 };
    for (count, bytes) in [(1, &[0x3F][..]), (2, &[0xFF, 0x0F]), (3, &[0xFF, 0xFF, 0x03])] {
        let short = Producer::new(dtype, &[count], bytes);
        if count < 3 {
            short.is_refused(Rule::DlpackTail);
        }
        let imported = short.import(&when_needed()).unwrap();
        assert_eq!(imported.report.copied, (count < 3).then_some(Reason::Tail));
        let tensor = imported.tensor.acquire_host().unwrap();
        let mut whole = bytes.to_vec();
        whole.resize(3, 0);
        assert_eq!(tensor.host_buffers().unwrap()[0][..], whole);
    }
}

#[test]
fn nothing_is_copied_unless_it_is_named() {
    const LARGE: usize = 64 << 20;
    let tensor = Tensor::from_vec(vec![1_u8; LARGE], &[LARGE as u64]).unwrap();
    let here = tensor.host_buffers().unwrap()[0].as_ptr();
    let taken = most(|| {
        let out: Exported = Export::default().share(&tensor).unwrap();
        assert_eq!(out.report().copied, None);
        let imported = Foreign::from(out).import(&when_needed()).unwrap();
        assert_eq!((imported.report.copied, imported.report.copied_bytes), (None, 0));
        let again = imported.tensor.acquire_host().unwrap();
        assert_eq!(again.host_buffers().unwrap()[0].as_ptr(), here);
    });
    assert!(taken < 4096, "{taken}");
    let always = Export { copying: Copying::Always, ..Export::default() };
    let taken = most(|| {
        let out: Exported = always.share(&tensor).unwrap();
        assert_eq!(
            (out.report().copied, out.report().copied_bytes),
            (Some(Reason::Asked), 64 << 20)
        );
        assert_eq!(bytes_of(&out, LARGE), &tensor.host_buffers().unwrap()[0][..]);
    });
    assert!((64 << 20..(64 << 20) + 4096).contains(&taken), "{taken}");
}

#[test]
fn a_copy_is_refused_above_its_limit() {
    // One element, seen a million million times.
    let wide = Producer::new(U8, &[1 << 20, 1 << 20], &[7]).strides(&[0, 0]);
    let tensor = wide.tensor_here().unwrap();
    let taken = most(|| {
        let always = Import { copying: Copying::Always, ..Import::default() };
        let refused = wide.import(&always).unwrap_err();
        assert_eq!(refused.rule(), Some(Rule::DlpackCopyAboveLimit));
        let always = Export { copying: Copying::Always, ..Export::default() };
        let refused = always.share::<DLManagedTensorVersioned>(&tensor).unwrap_err();
        assert_eq!(refused.rule(), Some(Rule::DlpackCopyAboveLimit));
    });
    assert!(taken < 4096, "{taken}");
    assert_eq!(wide.deleted.times(), 1);
    let small = Producer::new(U8, &[3], &[7]).strides(&[0]);
    let exactly = Import { copying: Copying::Always, copy_bytes: 3, ..Import::default() };
    let copy = small.import(&exactly).unwrap().tensor.acquire_host().unwrap();
    assert_eq!(copy.host_buffers().unwrap()[0][..], [7, 7, 7]);
    let less = Import { copy_bytes: 2, ..exactly };
    assert_eq!(small.import(&less).unwrap_err().rule(), Some(Rule::DlpackCopyAboveLimit));
}

#[test]
fn curves_are_copied_into_rows() {
    let layout = Layout::Morton(Morton { bits: [2, 2].as_slice().into() });
    let memory = BufferMut::from_vec((0..16_u16).collect()).unwrap().freeze();
    let tensor = Tensor::laid_out(Dtype::UInt16, &[4, 3], layout, 0, memory).unwrap();
    let how = Export { copying: Copying::WhenNeeded, ..Export::default() };
    let out: Exported = how.share(&tensor).unwrap();
    let again = Tensor::try_from(Foreign::from(out)).unwrap();
    assert_eq!(elements(&again), elements(&tensor));
}

#[test]
fn adopted_memory_and_offsets_are_copied_from_where_they_begin() {
    // A vector's memory is rarely at a multiple of 64; the slice behind its first element never is.
    let owner: Vec<u16> = (0..40).collect();
    let buffer = Buffer::from_elements::<u16, _>(owner).unwrap();
    for layout in [Layout::RowMajor, Layout::ColumnMajor, Layout::strided([10, 3])] {
        let tensor = Tensor::laid_out(Dtype::UInt16, &[3, 4], layout, 2, buffer.clone()).unwrap();
        let always = Export { copying: Copying::Always, ..Export::default() };
        let out: Exported = always.share(&tensor).unwrap();
        let again = Tensor::try_from(Foreign::from(out)).unwrap();
        assert_eq!(elements(&again), elements(&tensor));
    }
}
