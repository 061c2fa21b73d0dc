//! CSF: a tree of coordinates, one level a dimension (specification page 04).
//!
//! `nnz u64, mode_order u32[rank], reserved u8[8]`, rank 3 and up. Buffers: values[nnz];
//! then for each level L its pointers pos_L at 2L+1 and its coordinates crd_L at 2L+2.

use super::contents::{Indices, PointerRules, binary_search, check_pointers, check_runs};
use crate::contents::Contents;
use crate::error::{Error, Expected, Result, Value};
use crate::rules::Rule;
use crate::wire::{Array, Borrowed, Owned, Reader, Storage, Trace, as_index, as_offset};

/// Compressed sparse fibers.
#[derive(Clone, Debug, PartialEq)]
pub struct Csf<S: Storage = Owned> {
    /// The number of stored entries.
    pub nnz: u64,
    /// Level L stores dimension `mode_order[L]`; a permutation of the dimensions.
    pub mode_order: S::Numbers<u32>,
}

impl<'a> Csf<Borrowed<'a>> {
    pub(crate) fn load<T: Trace>(r: &mut Reader<'a, '_, T>, rank: usize) -> Result<Self> {
        if rank < 3 {
            let found = Value::Unsigned(as_offset(rank));
            let rule = Rule::LayoutCsfRank;
            return Err(Error::new(rule, "rank", 16, found, Expected::AtLeast(3)));
        }
        let block = r.block::<8>("layout fields")?;
        let nnz = r.u64(&block, 0, "nnz");
        let start = r.position();
        let mode_order = r.array::<u32>("layout fields", "mode_order", rank)?;
        let mut seen: u64 = 0;
        for (level, mode) in mode_order.iter().enumerate() {
            let bit = 1_u64.checked_shl(mode).unwrap_or(0);
            if as_index(u64::from(mode)) >= rank || seen & bit != 0 {
                let at = start.saturating_add(as_offset(level.saturating_mul(4)));
                let found = Value::Unsigned(u64::from(mode));
                let expected = Expected::OneOf("each dimension once");
                let rule = Rule::LayoutCsfModeOrder;
                return Err(Error::new(rule, "mode_order", at, found, expected));
            }
            seen |= bit;
        }
        let block = r.block::<8>("layout fields")?;
        r.zeros::<8, 8>(&block, 0, "reserved", Rule::LayoutCsfReserved)?;
        Ok(Self { nnz, mode_order })
    }
}

impl<S: Storage> Csf<S> {
    /// The fewest numbers that index buffer `place` holds. Only the last level's
    /// coordinates have a known count; every other level has at least one node, unless
    /// nothing is stored.
    pub(crate) fn minimum(&self, place: usize) -> u128 {
        let some = u128::from(self.nnz > 0);
        let last = self.mode_order.len().saturating_mul(2);
        match place {
            1 => 2,
            place if place == last => u128::from(self.nnz),
            place if place % 2 == 1 => some.saturating_add(1),
            _ => some,
        }
    }

    /// The position of `index` among the stored entries.
    pub(crate) fn find(&self, index: &[u64], buffers: &[Contents<'_>]) -> Result<Option<u64>> {
        let mut node: u64 = 0;
        let mut nodes: u64 = 1;
        let last = self.mode_order.len().saturating_sub(1);
        for (level, mode) in self.mode_order.iter().enumerate() {
            let pointers = level_pointers(level, nodes, buffers)?;
            let (start, end) = (pointers.need(node)?, pointers.need(node.saturating_add(1))?);
            nodes = pointers.need(nodes)?;
            let coordinates = level_coordinates(level, nodes, buffers)?;
            let wanted = index.get(as_index(u64::from(mode))).copied().unwrap_or(u64::MAX);
            // Behind the last level's coordinates there are values, and only so many.
            let most = if level == last { nodes.min(self.nnz) } else { nodes };
            let found = binary_search(start, end.min(most), |position| {
                coordinates.at(as_index(position)).unwrap_or(u64::MAX).cmp(&wanted)
            });
            match found {
                Some(position) => node = position,
                None => return Ok(None),
            }
        }
        Ok(Some(node))
    }

    /// Pointers and coordinates of every level.
    pub(crate) fn check(&self, shape: &impl Array<u64>, buffers: &[Contents<'_>]) -> Result<()> {
        const RULES: PointerRules = PointerRules {
            start: Rule::SparseCsfPointerStart,
            decreases: Rule::SparseCsfPointerDecreases,
            end: Rule::SparseCsfPointerEnd,
        };
        let mut nodes: u64 = 1;
        let last = self.mode_order.len().saturating_sub(1);
        for (level, mode) in self.mode_order.iter().enumerate() {
            let pointers = level_pointers(level, nodes, buffers)?;
            // How many nodes a level above the last has, only its pointers say: a node
            // may have no children. Nothing stored is no node anywhere.
            let end = if level == last || self.nnz == 0 {
                Expected::Exactly(self.nnz)
            } else {
                Expected::AtMost(room(level, buffers))
            };
            check_pointers(&pointers, &RULES, end)?;
            nodes = pointers.need(nodes)?;
            let coordinates = level_coordinates(level, nodes, buffers)?;
            let size = shape.at(as_index(u64::from(mode))).unwrap_or(0);
            let out_of_bounds = Rule::SparseCsfOutOfBounds;
            check_runs(&pointers, &coordinates, size, out_of_bounds, Rule::SparseCsfNotIncreasing)?;
        }
        Ok(())
    }
}

pub(super) fn level_pointers<'b>(
    level: usize,
    parents: u64,
    buffers: &[Contents<'b>],
) -> Result<Indices<'b>> {
    let place = level.saturating_mul(2).saturating_add(1);
    Indices::of(buffers, place, "pos", u128::from(parents).saturating_add(1), false)
}

pub(super) fn level_coordinates<'b>(
    level: usize,
    nodes: u64,
    buffers: &[Contents<'b>],
) -> Result<Indices<'b>> {
    Indices::of(buffers, coordinates_place(level), "crd", u128::from(nodes), false)
}

/// How many coordinates the level's buffer has room for.
fn room(level: usize, buffers: &[Contents<'_>]) -> u64 {
    let bytes = buffers.get(coordinates_place(level)).map_or(0, |buffer| buffer.bytes.len());
    as_offset(bytes.div_euclid(8))
}

fn coordinates_place(level: usize) -> usize {
    level.saturating_mul(2).saturating_add(2)
}
