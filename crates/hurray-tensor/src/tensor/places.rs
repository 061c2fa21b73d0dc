//! Where the elements of a tensor start, in index order.

use hurray_format::{Descriptor, LayoutKind, Location};
use smallvec::SmallVec;

use super::Tensor;
use super::entries::{Positions, positions};
use super::walk::{Numbers, Walk};
use crate::error::Result;

/// The first bit of each element, counted from the first byte there is; `None` where a sparse
/// tensor does not store the element.
#[derive(Clone)]
pub(super) struct Places<'t> {
    walk: Walk,
    way: Way<'t>,
}

/// How they are found.
#[derive(Clone)]
enum Way<'t> {
    /// Each dimension has a step, in bits.
    Steps { at: i128, steps: Numbers<i128> },
    /// Each index has an address.
    Addressed { descriptor: &'t Descriptor, lead: u64 },
    /// Some indices have a place among elements that lie together.
    Stored { stored: Positions, linear: u64, width: u32 },
}

impl<'t> Places<'t> {
    /// The places of a tensor's elements, which are `width` bits each, in a first buffer of which
    /// `lead` bytes are counted and not there.
    pub(super) fn of(tensor: &'t Tensor, lead: u64, width: u32) -> Result<Self> {
        let descriptor = tensor.descriptor();
        let walk = Walk::new(descriptor)?;
        let first = i128::from(descriptor.byte_offset()).saturating_sub(i128::from(lead));
        let way = match (descriptor.layout().kind(), descriptor.strides()) {
            _ if walk.left() == 0 => Way::Steps { at: 0, steps: SmallVec::new() },
            (LayoutKind::Sparse, _) => Way::Stored { stored: positions(tensor)?, linear: 0, width },
            (_, Some(strides)) => return Ok(Self::stepped(walk, first, &strides, width)),
            (_, None) => {
                // Whether there are addresses at all.
                descriptor.locate(walk.index())?;
                Way::Addressed { descriptor, lead }
            }
        };
        Ok(Self { walk, way })
    }

    /// The places of elements of `width` bits, the first of which is at byte `first` and the others
    /// by steps in elements.
    pub(super) fn stepped(walk: Walk, first: i128, steps: &[i64], width: u32) -> Self {
        let bits = |step: &i64| i128::from(*step).saturating_mul(i128::from(width));
        let (at, steps) = (first.saturating_mul(8), steps.iter().map(bits).collect());
        Self { walk, way: Way::Steps { at, steps } }
    }

    /// How many elements are to come.
    pub(super) fn left(&self) -> u64 {
        self.walk.left()
    }

    /// Ends here.
    pub(super) fn stop(&mut self) {
        self.walk.stop();
    }

    pub(super) fn size_hint(&self) -> (usize, Option<usize>) {
        self.walk.size_hint()
    }

    /// As long as nothing was asked of it: the places of the runs of elements of `width` bits that
    /// lie together, and how many elements each has.
    pub(super) fn into_runs(mut self, width: u32) -> (Self, u64) {
        let mut together = 1_u64;
        let Way::Steps { steps, .. } = &mut self.way else {
            return (self, together);
        };
        while let Some((size, step)) = self.walk.innermost().zip(steps.last()) {
            let distance = i128::from(together).checked_mul(i128::from(width));
            let follows = size == 1 || distance == Some(*step);
            let Some(more) = together.checked_mul(size).filter(|_| follows) else {
                break;
            };
            together = more;
            self.walk.leave_innermost();
            steps.pop();
        }
        (self, together)
    }
}

impl Iterator for Places<'_> {
    type Item = Option<i128>;

    #[inline]
    fn next(&mut self) -> Option<Option<i128>> {
        if self.walk.left() == 0 {
            return None;
        }
        match &mut self.way {
            Way::Steps { at, steps } => {
                let place = *at;
                self.walk.step(|dimension, by| {
                    let step = steps.get(dimension).copied().unwrap_or(0);
                    *at = at.saturating_add(step.saturating_mul(by));
                });
                Some(Some(place))
            }
            Way::Addressed { descriptor, lead } => {
                let place = descriptor.locate(self.walk.index()).ok();
                self.walk.step(|_, _| {});
                place.and_then(|place| bit_of(place, *lead)).map(Some)
            }
            Way::Stored { stored, linear, width } => {
                let position = stored.at(*linear);
                *linear = linear.saturating_add(1);
                self.walk.step(|_, _| {});
                Some(position.map(|position| nth(position, *width)))
            }
        }
    }
}

/// From the first byte there is to a place, in bits.
pub(super) fn bit_of(place: Location, lead: u64) -> Option<i128> {
    let byte = place.byte.checked_sub(lead)?;
    i128::from(byte).checked_mul(8)?.checked_add(i128::from(place.bit))
}

/// The first bit of element `position` of those that lie together from the first byte on.
pub(super) fn nth(position: u64, width: u32) -> i128 {
    i128::from(position).saturating_mul(i128::from(width))
}
