//! Stepping through a shape in index order: the last dimension varies fastest.

use hurray_format::Descriptor;
use smallvec::SmallVec;

use super::typed::element_count;
use crate::error::Result;

/// One number for each dimension, inline up to rank 8.
pub(crate) type Numbers<T> = SmallVec<[T; 8]>;

/// Where a walk is. A step allocates nothing.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    shape: Numbers<u64>,
    index: Numbers<u64>,
    left: u64,
}

impl Walk {
    /// At the first index of a tensor.
    ///
    /// # Errors
    ///
    /// `descriptor.unresolved`, `view.too-many`.
    pub(crate) fn new(descriptor: &Descriptor) -> Result<Self> {
        Ok(Self::over(descriptor.shape(), element_count(descriptor)?))
    }

    /// At the first index of a shape, of which there are `count`.
    pub(crate) fn over(shape: &[u64], count: u64) -> Self {
        let index = SmallVec::from_elem(0, shape.len());
        Self { shape: SmallVec::from_slice(shape), index, left: count }
    }

    /// How many indices are to come, the present one included.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// The index where it is.
    pub(crate) fn index(&self) -> &[u64] {
        &self.index
    }

    /// Goes to the next index. `moved` is told each dimension that changed, and by how much.
    pub(crate) fn step(&mut self, mut moved: impl FnMut(usize, i128)) {
        self.left = self.left.saturating_sub(1);
        let dimensions = self.index.iter_mut().zip(&self.shape).enumerate().rev();
        for (dimension, (at, size)) in dimensions {
            let next = at.saturating_add(1);
            if next < *size {
                *at = next;
                return moved(dimension, 1);
            }
            moved(dimension, i128::from(*at).saturating_neg());
            *at = 0;
        }
    }

    /// The size of the dimension that varies fastest.
    pub(crate) fn innermost(&self) -> Option<u64> {
        self.shape.last().copied()
    }

    /// At the first index still: leaves the dimension that varies fastest at 0.
    pub(crate) fn leave_innermost(&mut self) {
        let size = self.shape.pop();
        self.index.pop();
        self.left = size.and_then(|size| self.left.checked_div(size)).unwrap_or(0);
    }

    /// Stops where it is.
    pub(crate) fn stop(&mut self) {
        self.left = 0;
    }

    /// How many are left, as iterators say it.
    pub(crate) fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.left);
        (left.unwrap_or(usize::MAX), left.ok())
    }
}
