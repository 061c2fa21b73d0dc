//! Elements of less than a byte, 64 bits at a time where that can be.

use super::separable::{Pair, Places};
use super::table::is_in_runs_of;

/// Where the elements of one side are, in bits.
#[derive(Clone, Copy)]
pub(super) struct Bits {
    /// The bit of the lowest element.
    pub(super) first: u64,
    /// Bits of an element: 1, 2, 4 or 6.
    pub(super) width: u64,
}

impl Bits {
    fn at(self, element: u64) -> u64 {
        self.first.wrapping_add(element.wrapping_mul(self.width))
    }
}

/// Moves every element.
pub(super) fn run(pair: &Pair<'_>, from: Bits, to: Bits, source: &[u8], target: &mut [u8]) {
    pair.each_block(64, |places| {
        let [sa, _, _, tb] = places.offsets;
        let turns = |of| is_in_runs_of(sa, of) && is_in_runs_of(tb, of);
        if places.runs.len().saturating_mul(8) <= sa.len() {
            places.each_run(|read, written, length| {
                copy_run(from.at(read), to.at(written), length, from.width, source, target);
            });
        } else {
            match from.width {
                1 if turns(64) => turn::<64>(places, from, to, source, target),
                2 if turns(32) => turn::<32>(places, from, to, source, target),
                4 if turns(16) => turn::<16>(places, from, to, source, target),
                _ => one_by_one(places, from, to, source, target),
            }
        }
    });
}

fn copy_run(
    mut read: u64,
    mut written: u64,
    length: usize,
    width: u64,
    source: &[u8],
    target: &mut [u8],
) {
    let mut left = crate::as_u64(length).saturating_mul(width);
    while left > 0 {
        let step = left.min(64);
        store(target, written, load(source, read), step);
        read = read.wrapping_add(step);
        written = written.wrapping_add(step);
        left = left.saturating_sub(step);
    }
}

/// A block whose source is in words of `N` elements along the first dimension and whose target is
/// along the second: squares of them are turned as matrices.
fn turn<const N: usize>(
    places: Places<'_>,
    from: Bits,
    to: Bits,
    source: &[u8],
    target: &mut [u8],
) {
    places.each_square::<N>(|rows, columns| {
        let mut square = rows.map(|row| load(source, from.at(row)));
        transpose(&mut square, from.width);
        for (row, at) in square.iter().zip(columns) {
            store(target, to.at(at), *row, 64);
        }
    });
    for left in places.beyond_squares::<N>() {
        one_by_one(left, from, to, source, target);
    }
}

fn one_by_one(places: Places<'_>, from: Bits, to: Bits, source: &[u8], target: &mut [u8]) {
    places.each(|read, written| {
        store(target, to.at(written), load(source, from.at(read)), from.width);
    });
}

/// Exchanges rows and columns of a square of elements of `width` bits, the first in the lowest
/// bits: halves, then halves of halves.
fn transpose<const N: usize>(square: &mut [u64; N], width: u64) {
    let mut half = N >> 1;
    while half > 0 {
        let shift = crate::as_u64(half).wrapping_mul(width);
        // The elements of the lower half of each pair.
        let mut mask: u64 = 0;
        for bit in 0..64_u32 {
            if u64::from(bit) & shift == 0 {
                mask |= 1_u64.wrapping_shl(bit);
            }
        }
        let shift = u32::try_from(shift).unwrap_or(0);
        for pair in square.chunks_exact_mut(half.wrapping_mul(2)) {
            let (upper, lower) = pair.split_at_mut(half);
            for (x, y) in upper.iter_mut().zip(lower) {
                let swapped = (x.wrapping_shr(shift) ^ *y) & mask;
                *x ^= swapped.wrapping_shl(shift);
                *y ^= swapped;
            }
        }
        half >>= 1;
    }
}

/// 64 bits from `bit` on; zeros beyond the end.
#[inline(always)]
fn load(bytes: &[u8], bit: u64) -> u64 {
    let rest = bytes.get(crate::as_index(bit >> 3)..).unwrap_or(&[]);
    let wide = match rest.first_chunk::<16>() {
        Some(bytes) => u128::from_le_bytes(*bytes),
        None => {
            let mut bytes = [0; 16];
            bytes.iter_mut().zip(rest).for_each(|(byte, from)| *byte = *from);
            u128::from_le_bytes(bytes)
        }
    };
    let [a, b, c, d, e, f, g, h, ..] = (wide >> (bit & 7)).to_le_bytes();
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

/// Writes the lowest `count` bits, 64 at most, from `bit` on, and no other.
#[inline(always)]
fn store(bytes: &mut [u8], bit: u64, value: u64, count: u64) {
    let rest = bytes.get_mut(crate::as_index(bit >> 3)..).unwrap_or_default();
    let shift = bit & 7;
    if let (0, 64, Some(place)) = (shift, count, rest.first_chunk_mut::<8>()) {
        *place = value.to_le_bytes();
        return;
    }
    let mask = 1_u128.wrapping_shl(u32::try_from(count).unwrap_or(0)).wrapping_sub(1);
    let keep = !(mask << shift);
    let value = (u128::from(value) & mask) << shift;
    let length = crate::as_index(shift.wrapping_add(count).div_ceil(8));
    let bytes = rest.iter_mut().take(length).zip(keep.to_le_bytes()).zip(value.to_le_bytes());
    for ((byte, keep), value) in bytes {
        *byte = *byte & keep | value;
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    fn element(square: &[u64], width: u64, row: usize, column: u64) -> u64 {
        square[row] >> (column * width) & ((1 << width) - 1)
    }

    fn turns<const N: usize>(width: u64) {
        let mut state = 1_u64;
        let square = [(); N].map(|()| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
            state
        });
        let mut turned = square;
        transpose(&mut turned, width);
        for row in 0..N {
            for column in 0..N {
                let (found, expected) = (
                    element(&turned, width, row, column as u64),
                    element(&square, width, column, row as u64),
                );
                assert_eq!(found, expected, "{width}: {row}, {column}");
            }
        }
    }

    #[test]
    fn squares_are_turned() {
        turns::<64>(1);
        turns::<32>(2);
        turns::<16>(4);
    }
}
