//! Element by element, by index: for whatever has no faster way.

use hurray_format::{Descriptor, Location, Result};

/// Moves every element of a shape that is known and has no dimension of 0.
pub(super) fn run(
    from: &Descriptor,
    to: &Descriptor,
    source: &[u8],
    target: &mut [u8],
) -> Result<()> {
    let width = from.dtype().bits();
    let mut index = vec![0_u64; from.rank()];
    loop {
        let code = read(source, from.locate(&index)?, width);
        write(target, to.locate(&index)?, width, code);
        if !step(&mut index, from.shape()) {
            return Ok(());
        }
    }
}

/// Goes to the next index, the last dimension first. Whether there is one.
fn step(index: &mut [u64], shape: &[u64]) -> bool {
    for (at, size) in index.iter_mut().zip(shape).rev() {
        *at = at.saturating_add(1);
        if *at < *size {
            return true;
        }
        *at = 0;
    }
    false
}

/// The `width` bits at a place, the lowest first: of one byte or more, or across the bytes of a
/// group of four 6-bit codes.
fn read(bytes: &[u8], at: Location, width: u32) -> u128 {
    let bits = width.saturating_add(u32::from(at.bit));
    let count = crate::as_index(u64::from(bits.div_ceil(8)));
    let from = bytes.get(crate::as_index(at.byte)..).unwrap_or(&[]);
    let mut all = [0; 16];
    for (place, byte) in all.iter_mut().zip(from.iter().take(count)) {
        *place = *byte;
    }
    let code = u128::from_le_bytes(all);
    // Whole bytes begin at bit 0.
    if width == 128 { code } else { code >> at.bit & mask(width) }
}

fn write(bytes: &mut [u8], at: Location, width: u32, code: u128) {
    let bits = width.saturating_add(u32::from(at.bit));
    let count = crate::as_index(u64::from(bits.div_ceil(8)));
    let (keep, code) = match width {
        128 => (0, code),
        _ => (!(mask(width) << at.bit), (code & mask(width)) << at.bit),
    };
    let into = bytes.get_mut(crate::as_index(at.byte)..).unwrap_or_default();
    let parts = into.iter_mut().take(count).zip(keep.to_le_bytes()).zip(code.to_le_bytes());
    for ((byte, keep), code) in parts {
        *byte = *byte & keep | code;
    }
}

/// So many ones, fewer than 128.
fn mask(bits: u32) -> u128 {
    1_u128.checked_shl(bits).unwrap_or(0).wrapping_sub(1)
}
