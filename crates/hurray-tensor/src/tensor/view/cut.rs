//! A range of a dimension, with a step.

use std::ops::{Range, RangeFrom, RangeFull, RangeTo};

use hurray_format::{Expected, Rule, Value};

use super::refused;
use crate::error::Result;

/// A range of indices along a dimension, and the step between those that are taken.
///
/// A negative step takes them from the last one of the range backwards, so that
/// `Cut::ALL.by(-1)` turns a dimension around.
///
/// ```
/// use hurray_tensor::Cut;
/// let every_other_from_the_end = Cut::from(2..8).by(-2); // 7, 5, 3
/// # let _ = every_other_from_the_end;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cut {
    start: u64,
    /// None is the end of the dimension.
    end: Option<u64>,
    step: i64,
}

/// Which indices of a dimension are taken: `length` of them, from `first` by `step`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) first: u64,
    pub(super) length: u64,
    pub(super) step: i64,
}

impl Cut {
    /// All of the dimension.
    pub const ALL: Self = Self { start: 0, end: None, step: 1 };

    /// The same range by another step, which is not 0.
    #[must_use]
    pub const fn by(mut self, step: i64) -> Self {
        self.step = step;
        self
    }

    /// What it takes of a dimension of that size.
    pub(super) fn of(self, size: u64) -> Result<Taken> {
        let Self { start, end, step } = self;
        let end = end.unwrap_or(size);
        if step == 0 {
            return Err(refused(Rule::ViewRange, "step", Value::Signed(0), Expected::Unsaid));
        }
        if start > end || end > size {
            let found = Value::Unsigned(start.max(end));
            return Err(refused(Rule::ViewRange, "range", found, Expected::AtMost(end.min(size))));
        }
        let count = end.saturating_sub(start);
        let length = count.div_ceil(step.unsigned_abs());
        let first = if step > 0 || count == 0 { start } else { end.saturating_sub(1) };
        Ok(Taken { first, length, step })
    }
}

impl From<Range<u64>> for Cut {
    fn from(range: Range<u64>) -> Self {
        Self { start: range.start, end: Some(range.end), step: 1 }
    }
}

impl From<RangeFrom<u64>> for Cut {
    fn from(range: RangeFrom<u64>) -> Self {
        Self { start: range.start, ..Self::ALL }
    }
}

impl From<RangeTo<u64>> for Cut {
    fn from(range: RangeTo<u64>) -> Self {
        Self { end: Some(range.end), ..Self::ALL }
    }
}

impl From<RangeFull> for Cut {
    fn from(_: RangeFull) -> Self {
        Self::ALL
    }
}
