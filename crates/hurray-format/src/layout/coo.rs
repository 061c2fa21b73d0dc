//! COO: the index of each stored entry (specification page 04).
//!
//! `nnz u64, is_sorted u8, reserved u8[7]`. Buffers: values[nnz], then
//! indices[nnz · rank] as u64, entry by entry.

use alloc::vec::Vec;
use core::cmp::Ordering;

use super::contents::Indices;
use crate::contents::Contents;
use crate::error::{Expected, Result, Value};
use crate::rules::Rule;
use crate::wire::{Array, Reader, Trace, as_index, as_offset};

/// Coordinates of the entries that are stored; all others are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coo {
    /// The number of stored entries.
    pub nnz: u64,
    /// Whether they are in strictly increasing lexicographic order.
    pub is_sorted: bool,
}

impl Coo {
    pub(crate) fn load<T: Trace>(r: &mut Reader<'_, '_, T>) -> Result<Self> {
        let block = r.block::<16>("layout fields")?;
        let nnz = r.u64(&block, 0, "nnz");
        let sorted = r.u8(&block, 8, "is_sorted");
        if sorted > 1 {
            let found = Value::Unsigned(u64::from(sorted));
            let rule = Rule::LayoutCooIsSorted;
            return Err(block.refuse(rule, 8, "is_sorted", found, Expected::OneOf("0 or 1")));
        }
        r.zeros::<16, 7>(&block, 9, "reserved", Rule::LayoutCooReserved)?;
        Ok(Self { nnz, is_sorted: sorted == 1 })
    }

    /// The position of `index` among the stored entries.
    pub(crate) fn find(&self, index: &[u64], buffers: &[Contents<'_>]) -> Result<Option<u64>> {
        let rank = index.len();
        let indices = self.indices(rank, buffers)?;
        let compare = |entry: u64| -> Ordering {
            let start = as_index(entry).saturating_mul(rank);
            let stored = (0..rank).map(|k| indices.at(start.saturating_add(k)).unwrap_or(u64::MAX));
            stored.cmp(index.iter().copied())
        };
        if !self.is_sorted {
            return Ok((0..self.nnz).find(|entry| compare(*entry) == Ordering::Equal));
        }
        Ok(super::contents::binary_search(0, self.nnz, compare))
    }

    /// Bounds, order and duplicates of the stored indices.
    pub(crate) fn check(&self, shape: &impl Array<u64>, buffers: &[Contents<'_>]) -> Result<()> {
        let rank = shape.len();
        let indices = self.indices(rank, buffers)?;
        for (at, (coordinate, size)) in indices.iter().zip(shape.iter().cycle()).enumerate() {
            if coordinate >= size {
                let expected = Expected::AtMost(size.saturating_sub(1));
                return Err(indices.refuse(Rule::SparseCooOutOfBounds, at, coordinate, expected));
            }
        }
        let entry = |n: usize| {
            let start = n.saturating_mul(rank);
            (start..start.saturating_add(rank)).map(|at| indices.at(at))
        };
        let nnz = as_index(self.nnz);
        let later = 1..nnz;
        if self.is_sorted {
            return match later.clone().find(|n| entry(n.saturating_sub(1)).cmp(entry(*n)).is_ge()) {
                Some(n) if entry(n.saturating_sub(1)).eq(entry(n)) => {
                    Err(indices.refuse_at(Rule::SparseCooDuplicate, n.saturating_mul(rank)))
                }
                Some(n) => Err(indices.refuse_at(Rule::SparseCooNotSorted, n.saturating_mul(rank))),
                None => Ok(()),
            };
        }
        // No larger than the indices themselves, which are in memory.
        let mut order: Vec<usize> = Vec::new();
        if order.try_reserve_exact(nnz).is_err() {
            return Err(indices.refuse_at(Rule::SparseOutOfMemory, 0));
        }
        order.extend(0..nnz);
        order.sort_unstable_by(|a, b| entry(*a).cmp(entry(*b)));
        let twice = order.iter().zip(order.iter().skip(1)).find(|(a, b)| entry(**a).eq(entry(**b)));
        match twice {
            Some((a, b)) => {
                let at = (*a).max(*b).saturating_mul(rank);
                Err(indices.refuse_at(Rule::SparseCooDuplicate, at))
            }
            None => Ok(()),
        }
    }

    pub(super) fn indices<'b>(&self, rank: usize, buffers: &[Contents<'b>]) -> Result<Indices<'b>> {
        let count = u128::from(self.nnz).saturating_mul(u128::from(as_offset(rank)));
        Indices::of(buffers, 1, "indices", count, false)
    }
}
