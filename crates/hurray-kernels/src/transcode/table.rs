//! Where the elements of a stretch of one dimension are, relative to the first of them.

use crate::address::Axis;

/// The offsets of neighbours along one dimension, and the runs that they fall into.
#[derive(Default)]
pub(super) struct Table {
    from: Option<(u64, usize)>,
    pub(super) offsets: Vec<i64>,
}

impl Table {
    /// Makes it the table of `count` coordinates from `start` on.
    pub(super) fn fill(&mut self, axis: &Axis, start: u64, count: usize) {
        if self.from == Some((start, count)) {
            return;
        }
        self.from = Some((start, count));
        self.offsets.clear();
        match axis.digits[..] {
            [] => self.offsets.resize(count, 0),
            [only] if only.step == 1 => {
                let steps = (0_i64..).map(|step| step.wrapping_mul(only.stride));
                self.offsets.extend(steps.take(count));
            }
            _ => {
                let first = axis.at(start);
                let coordinates = (start..).take(count);
                self.offsets.extend(coordinates.map(|at| axis.at(at).wrapping_sub(first)));
            }
        }
    }
}

/// Cuts two tables of the same length where one or the other does not go on to the next
/// place, into (start, length).
pub(super) fn runs(first: &[i64], second: &[i64], runs: &mut Vec<(usize, usize)>) {
    runs.clear();
    let goes_on = |pair: &[i64]| matches!(pair, [a, b] if b.wrapping_sub(*a) == 1);
    let mut start = 0;
    let mut length: usize = 1;
    for (x, y) in first.windows(2).zip(second.windows(2)) {
        if goes_on(x) && goes_on(y) {
            length = length.wrapping_add(1);
        } else {
            runs.push((start, length));
            start = start.wrapping_add(length);
            length = 1;
        }
    }
    if !first.is_empty() {
        runs.push((start, length));
    }
}

/// Whether the table goes on to the next place from each `of` entries to the next.
pub(super) fn is_in_runs_of(offsets: &[i64], of: usize) -> bool {
    offsets
        .chunks_exact(of)
        .all(|run| run.windows(2).all(|pair| matches!(pair, [a, b] if b.wrapping_sub(*a) == 1)))
}
