//! The three plain orders: row-major, column-major, strided. They address a tensor's
//! elements, and inside [`Tiled`](super::Tiled) the tiles and what is in a tile.

use super::tag;
use crate::limits::Limits;
use crate::wire::{Array, List, Owned, Storage};

/// How a box of cells lies in memory.
#[derive(Clone, Debug, PartialEq)]
pub enum Order<S: Storage = Owned> {
    /// The last dimension varies fastest.
    RowMajor,
    /// The first dimension varies fastest.
    ColumnMajor,
    /// Each dimension has its own step, in cells; negative and 0 are legal.
    Strided(S::Numbers<i64>),
}

/// How far a layout reaches from its first cell, in cells: `up` towards higher
/// addresses, `down` towards lower ones. Saturated at 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    pub(crate) up: u128,
    pub(crate) down: u128,
}

impl Reach {
    /// `count` cells one after the other; `count` is at least 1.
    pub(crate) fn run(count: u128) -> Self {
        Self { up: count.saturating_sub(1), down: 0 }
    }

    /// The same, where every cell is `cells` cells that reach `inside`.
    pub(crate) fn scaled(self, cells: u128, inside: Self) -> Self {
        Self {
            up: self.up.saturating_mul(cells).saturating_add(inside.up),
            down: self.down.saturating_mul(cells).saturating_add(inside.down),
        }
    }
}

impl<S: Storage> Order<S> {
    /// Its tag inside a tiled record, which is that of the layout of its name.
    pub fn tag(&self) -> u8 {
        match self {
            Self::RowMajor => tag::ROW_MAJOR,
            Self::ColumnMajor => tag::COLUMN_MAJOR,
            Self::Strided(_) => tag::STRIDED,
        }
    }

    pub(crate) fn to_owned(&self) -> Order {
        match self {
            Self::RowMajor => Order::RowMajor,
            Self::ColumnMajor => Order::ColumnMajor,
            Self::Strided(strides) => Order::Strided(strides.iter().collect()),
        }
    }

    /// How far a box of these sizes reaches. No size is 0.
    pub(crate) fn reach(&self, sizes: impl Iterator<Item = u64>) -> Reach {
        match self {
            Self::RowMajor | Self::ColumnMajor => Reach::run(crate::shape::product_of(sizes)),
            Self::Strided(strides) => strided_reach(strides.iter(), sizes),
        }
    }

    /// The cell of `index` in a box of these sizes, or `None` beyond 127 bits.
    pub(crate) fn cell(
        &self,
        index: impl DoubleEndedIterator<Item = u64> + ExactSizeIterator,
        sizes: impl DoubleEndedIterator<Item = u64> + ExactSizeIterator,
    ) -> Option<i128> {
        match self {
            // Horner from the slowest dimension to the fastest.
            Self::RowMajor => nested(index.zip(sizes)),
            Self::ColumnMajor => nested(index.rev().zip(sizes.rev())),
            Self::Strided(strides) => index.zip(strides.iter()).try_fold(0_i128, |at, (i, s)| {
                at.checked_add(i128::from(i).checked_mul(i128::from(s))?)
            }),
        }
    }

    /// Whether strides place each cell of a box of these sizes in one place of its own,
    /// with no place left over: a permutation of the row-major order, signs free. The
    /// other orders always do.
    pub(crate) fn is_dense_permutation(&self, sizes: impl Iterator<Item = u64> + Clone) -> bool {
        let Self::Strided(strides) = self else {
            return true;
        };
        // Walk from the smallest step: each must be the product of the sizes below it.
        let mut step: u128 = 1;
        let mut placed = [false; Limits::RANK as usize];
        let wide = sizes.clone().filter(|size| *size > 1).count();
        for _ in 0..wide {
            let mut dimensions = placed.iter_mut().zip(sizes.clone()).zip(strides.iter());
            let next = dimensions.find(|((placed, size), stride)| {
                !**placed && *size > 1 && u128::from(stride.unsigned_abs()) == step
            });
            let Some(((placed, size), _)) = next else {
                return false;
            };
            *placed = true;
            step = step.saturating_mul(u128::from(size));
        }
        true
    }
}

fn nested(mut pairs: impl Iterator<Item = (u64, u64)>) -> Option<i128> {
    pairs.try_fold(0_i128, |at, (i, size)| {
        at.checked_mul(i128::from(size))?.checked_add(i128::from(i))
    })
}

/// The steps of a box without gaps, its fastest dimension first; `None` beyond 63 bits. A box
/// of no cells has no steps worth keeping: those beyond are 0.
pub(crate) fn steps(sizes: impl Iterator<Item = u64> + Clone) -> Option<List<i64>> {
    let is_empty = sizes.clone().any(|size| size == 0);
    let mut step = Some(1_u64);
    let steps = sizes.map(|size| {
        let own = step.and_then(|step| i64::try_from(step).ok());
        step = step.and_then(|step| step.checked_mul(size));
        if is_empty { Some(own.unwrap_or(0)) } else { own }
    });
    steps.collect()
}

/// Computed wide: 64 dimensions of 2^63 steps of 2^64 cells do not wrap.
pub(crate) fn strided_reach(
    strides: impl Iterator<Item = i64>,
    sizes: impl Iterator<Item = u64>,
) -> Reach {
    let mut reach = Reach { up: 0, down: 0 };
    for (stride, size) in strides.zip(sizes) {
        let steps = u128::from(size.saturating_sub(1));
        let span = steps.saturating_mul(u128::from(stride.unsigned_abs()));
        let side = if stride < 0 { &mut reach.down } else { &mut reach.up };
        *side = side.saturating_add(span);
    }
    reach
}
