//! CSR and CSC: one pointer array and one index array (specification page 04).
//!
//! `nnz u64, reserved u8[8]`, rank 2. Buffers: values[nnz], indices[nnz], then
//! pointers[rows + 1] for CSR or pointers[columns + 1] for CSC. One layout, two axes.

use super::contents::{Indices, PointerRules, binary_search, check_pointers, check_runs};
use crate::contents::Contents;
use crate::error::{Error, Expected, Result, Value};
use crate::rules::Rule;
use crate::wire::{Array, Reader, Trace, as_offset};

/// The fields of CSR and of CSC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compressed {
    /// The number of stored entries.
    pub nnz: u64,
}

/// What CSR and CSC differ in.
pub(crate) struct Axis {
    /// The dimension whose runs the pointers cut: 0 for rows, 1 for columns.
    pub(crate) major: usize,
    pub(crate) minor: usize,
    pub(crate) rank: Rule,
    pub(crate) reserved: Rule,
    pointers: &'static str,
    indices: &'static str,
}

pub(crate) const ROWS: Axis = Axis {
    major: 0,
    minor: 1,
    rank: Rule::LayoutCsrRank,
    reserved: Rule::LayoutCsrReserved,
    pointers: "row_ptr",
    indices: "col_indices",
};

pub(crate) const COLUMNS: Axis = Axis {
    major: 1,
    minor: 0,
    rank: Rule::LayoutCscRank,
    reserved: Rule::LayoutCscReserved,
    pointers: "col_ptr",
    indices: "row_indices",
};

impl Compressed {
    pub(crate) fn load<T: Trace>(
        r: &mut Reader<'_, '_, T>,
        rank: usize,
        axis: &Axis,
    ) -> Result<Self> {
        if rank != 2 {
            let found = Value::Unsigned(as_offset(rank));
            return Err(Error::new(axis.rank, "rank", 16, found, Expected::Exactly(2)));
        }
        let block = r.block::<16>("layout fields")?;
        let nnz = r.u64(&block, 0, "nnz");
        r.zeros::<16, 8>(&block, 8, "reserved", axis.reserved)?;
        Ok(Self { nnz })
    }

    /// The position of `index` among the stored entries.
    pub(crate) fn find(
        &self,
        index: &[u64],
        shape: &impl Array<u64>,
        buffers: &[Contents<'_>],
        axis: &Axis,
    ) -> Result<Option<u64>> {
        let (pointers, indices) = self.arrays(shape, buffers, axis)?;
        let at = |dimension: usize| index.get(dimension).copied().unwrap_or(u64::MAX);
        let (run, wanted) = (at(axis.major), at(axis.minor));
        let start = pointers.need(run)?;
        let end = pointers.need(run.saturating_add(1))?.min(self.nnz);
        Ok(binary_search(start, end, |position| {
            let stored = indices.at(crate::wire::as_index(position)).unwrap_or(u64::MAX);
            stored.cmp(&wanted)
        }))
    }

    /// Pointers and indices of the stored entries.
    pub(crate) fn check(
        &self,
        shape: &impl Array<u64>,
        buffers: &[Contents<'_>],
        axis: &Axis,
    ) -> Result<()> {
        const RULES: PointerRules = PointerRules {
            start: Rule::SparseCompressedPointerStart,
            decreases: Rule::SparseCompressedPointerDecreases,
            end: Rule::SparseCompressedPointerEnd,
        };
        let (pointers, indices) = self.arrays(shape, buffers, axis)?;
        check_pointers(&pointers, &RULES, Expected::Exactly(self.nnz))?;
        let size = shape.at(axis.minor).unwrap_or(0);
        let out_of_bounds = Rule::SparseCompressedOutOfBounds;
        check_runs(&pointers, &indices, size, out_of_bounds, Rule::SparseCompressedNotIncreasing)
    }

    pub(super) fn arrays<'b>(
        &self,
        shape: &impl Array<u64>,
        buffers: &[Contents<'b>],
        axis: &Axis,
    ) -> Result<(Indices<'b>, Indices<'b>)> {
        let runs = u128::from(shape.at(axis.major).unwrap_or(0));
        let pointers = Indices::of(buffers, 2, axis.pointers, runs.saturating_add(1), false)?;
        let indices = Indices::of(buffers, 1, axis.indices, u128::from(self.nnz), false)?;
        Ok((pointers, indices))
    }
}
