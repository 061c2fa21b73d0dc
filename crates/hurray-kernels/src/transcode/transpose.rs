//! Blocks that are read along one dimension and written along another: in squares that fit into
//! registers.

use super::separable::{Cell, one_by_one, place};

/// A block whose source is in runs of `T` along the first dimension and whose target is along the
/// second.
pub(super) fn block<C: Cell, const T: usize>(
    from: u64,
    to: u64,
    [sa, sb, ta, tb]: [&[i64]; 4],
    source: &[C],
    target: &mut [C],
) {
    let a_squares = sa.chunks_exact(T).zip(ta.chunks_exact(T));
    let (a_rest, b_rest) =
        (sa.chunks_exact(T).remainder().len(), sb.chunks_exact(T).remainder().len());
    for (s_b, t_b) in sb.chunks_exact(T).zip(tb.chunks_exact(T)) {
        for (s_a, t_a) in a_squares.clone() {
            let mut square = [[C::default(); T]; T];
            let first = s_a.first().copied().unwrap_or(0);
            for (row, s) in square.iter_mut().zip(s_b) {
                let at = place(from, first.wrapping_add(*s));
                if let Some(read) = source.get(at..).and_then(|rest| rest.first_chunk::<T>()) {
                    *row = *read;
                }
            }
            let turned = turn(square);
            let first = t_b.first().copied().unwrap_or(0);
            for (row, t) in turned.iter().zip(t_a) {
                let at = place(to, first.wrapping_add(*t));
                if let Some(written) =
                    target.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<T>())
                {
                    *written = *row;
                }
            }
        }
    }
    // What is left over at the end of either dimension.
    let (a_whole, a_left) = sa.split_at(sa.len().saturating_sub(a_rest));
    let (ta_whole, ta_left) = ta.split_at(a_whole.len());
    let (b_whole, _) = sb.split_at(sb.len().saturating_sub(b_rest));
    let (b_left, tb_left) = (sb.get(b_whole.len()..), tb.get(b_whole.len()..));
    one_by_one(from, to, [a_left, sb, ta_left, tb], source, target);
    let (b_left, tb_left) = (b_left.unwrap_or(&[]), tb_left.unwrap_or(&[]));
    one_by_one(from, to, [a_whole, b_left, ta_whole, tb_left], source, target);
}

#[inline(always)]
fn turn<C: Cell, const T: usize>(square: [[C; T]; T]) -> [[C; T]; T] {
    let mut turned = [[C::default(); T]; T];
    for (i, row) in turned.iter_mut().enumerate() {
        for (cell, from) in row.iter_mut().zip(&square) {
            if let Some(value) = from.get(i) {
                *cell = *value;
            }
        }
    }
    turned
}
