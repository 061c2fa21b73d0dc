//! How far layouts reach, and how many bytes their buffers hold at least.

use core::ops::Range;

use super::compressed::{COLUMNS, ROWS};
use super::order::Reach;
use super::{Compressed, Layout, block_paged, order};
use crate::dtype::Dtype;
use crate::shape::Count;
use crate::wire::{Array, List, Storage, as_offset};

impl<S: Storage> Layout<S> {
    /// Whether the elements lie one after the other from the first: row- or column-major.
    #[inline(always)]
    pub(crate) fn is_run(&self) -> bool {
        matches!(self, Self::RowMajor | Self::ColumnMajor)
    }

    /// How far a dense layout reaches from its first element; `None` for the others. No
    /// dimension is 0 or dynamic.
    #[inline]
    pub(crate) fn reach(&self, shape: &impl Array<u64>, elements: u128) -> Option<Reach> {
        Some(match self {
            Self::RowMajor | Self::ColumnMajor => Reach::run(elements),
            Self::Strided(strides) => order::strided_reach(strides.iter(), shape.iter()),
            Self::Tiled(tiled) => tiled.reach(shape),
            Self::Morton(morton) => Reach::run(morton.places()),
            Self::Hilbert(hilbert) => Reach::run(hilbert.places(shape.len())),
            _ => return None,
        })
    }

    /// The bytes of a buffer from the lowest to the highest that an element of a dense tensor
    /// touches, whose first element starts `byte_offset` bytes into it. `None` for other
    /// layouts, for shapes that are not known, and outside of what 64 bits count.
    pub fn extent(
        &self,
        dtype: Dtype,
        shape: &impl Array<u64>,
        byte_offset: u64,
    ) -> Option<Range<u64>> {
        let elements = match crate::shape::count(shape) {
            Count::Elements(0) => return Some(byte_offset..byte_offset),
            Count::Elements(elements) => u128::from(elements),
            Count::Beyond => crate::shape::product_of(shape.iter()),
            Count::Dynamic => return None,
        };
        let reach = self.reach(shape, elements)?;
        let down = u64::try_from(dtype.bytes_for(reach.down)?).ok()?;
        let up = u64::try_from(dtype.bytes_for(reach.up.checked_add(1)?)?).ok()?;
        Some(byte_offset.checked_sub(down)?..byte_offset.checked_add(up)?)
    }

    /// The fewest bytes that buffer `place` of a layout that is not dense holds. `None`
    /// where the shape is not known, or the layout is private.
    pub(crate) fn minimum(
        &self,
        place: usize,
        shape: &impl Array<u64>,
        dtype: Dtype,
    ) -> Option<u128> {
        let known = |dimension: usize| shape.at(dimension).filter(|n| *n != crate::shape::DYNAMIC);
        let values = |nnz: u64| dtype.bytes_for(u128::from(nnz));
        let words = |count: u128| count.saturating_mul(8);
        match (self, place) {
            (Self::Coo(coo), 0) => values(coo.nnz),
            (Self::Coo(coo), 1) => {
                let rank = u128::from(as_offset(shape.len()));
                Some(words(u128::from(coo.nnz).saturating_mul(rank)))
            }
            (Self::Csr(csr), 0) => values(csr.nnz),
            (Self::Csc(csc), 0) => values(csc.nnz),
            (Self::Csr(Compressed { nnz }) | Self::Csc(Compressed { nnz }), 1) => {
                Some(words(u128::from(*nnz)))
            }
            (Self::Csr(_), 2) => Some(words(u128::from(known(ROWS.major)?).saturating_add(1))),
            (Self::Csc(_), 2) => Some(words(u128::from(known(COLUMNS.major)?).saturating_add(1))),
            (Self::Csf(csf), 0) => values(csf.nnz),
            (Self::Csf(csf), place) => Some(words(csf.minimum(place))),
            (Self::BlockPaged(paged), 0) => {
                known(1)?;
                known(2)?;
                let slot = block_paged::slot_elements(shape);
                // A pool too large to count is too large for any buffer.
                Some(dtype.bytes_for(paged.slots().saturating_mul(slot)).unwrap_or(u128::MAX))
            }
            (Self::BlockPaged(paged), 2) => {
                let count = u128::from(paged.num_seqs).saturating_add(1);
                Some(count.saturating_mul(paged.index_width()))
            }
            _ => Some(0),
        }
    }

    /// The step of each dimension in elements, where there is one.
    pub(crate) fn strides(&self, shape: &impl Array<u64>) -> Option<List<i64>> {
        match self {
            Self::Strided(strides) => Some(strides.iter().collect()),
            Self::RowMajor => Some(order::steps(shape.iter().rev())?.iter().rev().collect()),
            Self::ColumnMajor => order::steps(shape.iter()),
            _ => None,
        }
    }
}
