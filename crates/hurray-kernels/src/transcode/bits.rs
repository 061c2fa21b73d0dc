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
    fn at(self, element: u64, offset: i64) -> u64 {
        let element = element.wrapping_add_signed(offset);
        self.first.wrapping_add(element.wrapping_mul(self.width))
    }
}

/// Moves every element.
pub(super) fn run(pair: &Pair<'_>, from: Bits, to: Bits, source: &[u8], target: &mut [u8]) {
    pair.each_block(64, |places| {
        let [sa, _, _, tb] = places.offsets;
        let turns = |of| is_in_runs_of(sa, of) && is_in_runs_of(tb, of);
        if places.runs.len().saturating_mul(8) <= sa.len() {
            copy_runs(places, from, to, source, target);
        } else {
            match from.width {
                1 if turns(64) => turn::<64>(places, from, to, source, target),
                2 if turns(32) => turn::<32>(places, from, to, source, target),
                4 if turns(16) => turn::<16>(places, from, to, source, target),
                _ => one_by_one(places.from, places.to, places.offsets, [from, to], source, target),
            }
        }
    });
}

fn copy_runs(places: Places<'_>, from: Bits, to: Bits, source: &[u8], target: &mut [u8]) {
    let [sa, sb, ta, tb] = places.offsets;
    for (s, t) in sb.iter().zip(tb) {
        let (base, goal) = (places.from.wrapping_add_signed(*s), places.to.wrapping_add_signed(*t));
        for &(start, length) in places.runs {
            if let (Some(s), Some(t)) = (sa.get(start), ta.get(start)) {
                let (mut read, mut written) = (from.at(base, *s), to.at(goal, *t));
                let mut left = crate::as_u64(length).saturating_mul(from.width);
                while left > 0 {
                    let step = left.min(64);
                    store(target, written, load(source, read), step);
                    read = read.wrapping_add(step);
                    written = written.wrapping_add(step);
                    left = left.saturating_sub(step);
                }
            }
        }
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
    let Places { from: base, to: goal, offsets: [sa, sb, ta, tb], .. } = places;
    for (s_b, t_b) in sb.chunks_exact(N).zip(tb.chunks_exact(N)) {
        for (s_a, t_a) in sa.chunks_exact(N).zip(ta.chunks_exact(N)) {
            let mut square = [0_u64; N];
            let first = s_a.first().copied().unwrap_or(0);
            for (row, s) in square.iter_mut().zip(s_b) {
                *row = load(source, from.at(base, first.wrapping_add(*s)));
            }
            transpose(&mut square, from.width);
            let first = t_b.first().copied().unwrap_or(0);
            for (row, t) in square.iter().zip(t_a) {
                store(target, to.at(goal, first.wrapping_add(*t)), *row, 64);
            }
        }
    }
    // What is left over at the end of either dimension.
    let a_whole = sa.len().saturating_sub(sa.chunks_exact(N).remainder().len());
    let b_whole = sb.len().saturating_sub(sb.chunks_exact(N).remainder().len());
    let ((a, a_left), (ta, ta_left)) = (sa.split_at(a_whole), ta.split_at(a_whole));
    let ((_, b_left), (_, tb_left)) = (sb.split_at(b_whole), tb.split_at(b_whole));
    one_by_one(base, goal, [a_left, sb, ta_left, tb], [from, to], source, target);
    one_by_one(base, goal, [a, b_left, ta, tb_left], [from, to], source, target);
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

fn one_by_one(
    base: u64,
    goal: u64,
    [sa, sb, ta, tb]: [&[i64]; 4],
    [from, to]: [Bits; 2],
    source: &[u8],
    target: &mut [u8],
) {
    for (s, t) in sb.iter().zip(tb) {
        let (base, goal) = (base.wrapping_add_signed(*s), goal.wrapping_add_signed(*t));
        for (s, t) in sa.iter().zip(ta) {
            store(target, to.at(goal, *t), load(source, from.at(base, *s)), from.width);
        }
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
    let [low, _] = halves(wide >> (bit & 7));
    low
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

fn halves(wide: u128) -> [u64; 2] {
    let [a, b, c, d, e, f, g, h, rest @ ..] = wide.to_le_bytes();
    [u64::from_le_bytes([a, b, c, d, e, f, g, h]), u64::from_le_bytes(rest)]
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
