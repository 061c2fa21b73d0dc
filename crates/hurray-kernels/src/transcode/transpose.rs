//! Blocks that are read along one dimension and written along another: in squares that fit into
//! registers.

use super::separable::{Cell, Places, one_by_one};

/// A block whose source is in runs of `T` along the first dimension and whose target is along the
/// second.
pub(super) fn block<C: Cell, const T: usize>(places: Places<'_>, source: &[C], target: &mut [C]) {
    places.each_square::<T>(|rows, columns| {
        let mut square = [[C::default(); T]; T];
        for (row, at) in square.iter_mut().zip(rows) {
            let rest = source.get(crate::as_index(at)..);
            if let Some(read) = rest.and_then(|rest| rest.first_chunk()) {
                *row = *read;
            }
        }
        for (row, at) in turn(square).iter().zip(columns) {
            let rest = target.get_mut(crate::as_index(at)..);
            if let Some(written) = rest.and_then(|rest| rest.first_chunk_mut()) {
                *written = *row;
            }
        }
    });
    for left in places.beyond_squares::<T>() {
        one_by_one(left, source, target);
    }
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
