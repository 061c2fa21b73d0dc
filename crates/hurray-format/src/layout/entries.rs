//! The stored entries of sparse tensors, one after the other, each with its index.

use smallvec::SmallVec;

use super::compressed::Axis;
use super::contents::Indices;
use super::csf::{level_coordinates, level_pointers};
use super::{Compressed, Coo, Csf};
use crate::contents::Contents;
use crate::error::Result;
use crate::wire::{Array, Storage, as_index, as_offset};

/// Steps through the stored entries of a sparse tensor in the order in which they lie. A step
/// allocates nothing.
#[derive(Clone)]
pub struct Entries<'b> {
    /// The index of the entry that was given last.
    index: SmallVec<[u64; 8]>,
    next: u64,
    nnz: u64,
    stored: Stored<'b>,
}

/// Where indices are kept.
#[derive(Clone)]
enum Stored<'b> {
    /// Entry by entry.
    Coo(Indices<'b>),
    /// As a tree, the outermost level first.
    Tree(SmallVec<[Level<'b>; 2]>),
}

#[derive(Clone)]
struct Level<'b> {
    dimension: usize,
    /// The node that the last entry is under.
    node: u64,
    /// Which nodes are under each node of the level above; none where there is no such level.
    pointers: Option<Indices<'b>>,
    /// The coordinate of each node; none where nodes are their own coordinates.
    coordinates: Option<Indices<'b>>,
}

impl<'b> Entries<'b> {
    pub(super) fn of_coo(coo: &Coo, rank: usize, buffers: &[Contents<'b>]) -> Result<Self> {
        let stored = Stored::Coo(coo.indices(rank, buffers)?);
        Ok(Self::new(rank, coo.nnz, stored))
    }

    pub(super) fn of_compressed(
        compressed: &Compressed,
        shape: &impl Array<u64>,
        buffers: &[Contents<'b>],
        axis: &Axis,
    ) -> Result<Self> {
        let (pointers, coordinates) = compressed.arrays(shape, buffers, axis)?;
        let major = Level { dimension: axis.major, node: 0, pointers: None, coordinates: None };
        let minor = Level {
            dimension: axis.minor,
            node: 0,
            pointers: Some(pointers),
            coordinates: Some(coordinates),
        };
        Ok(Self::new(2, compressed.nnz, Stored::Tree([major, minor].into())))
    }

    pub(super) fn of_csf<S: Storage>(csf: &Csf<S>, buffers: &[Contents<'b>]) -> Result<Self> {
        let mut nodes: u64 = 1;
        let mut levels = SmallVec::new();
        for (level, mode) in csf.mode_order.iter().enumerate() {
            let pointers = level_pointers(level, nodes, buffers)?;
            nodes = pointers.need(nodes)?;
            let coordinates = Some(level_coordinates(level, nodes, buffers)?);
            let pointers = Some(pointers).filter(|_| level > 0);
            let dimension = as_index(u64::from(mode));
            levels.push(Level { dimension, node: 0, pointers, coordinates });
        }
        Ok(Self::new(levels.len(), csf.nnz, Stored::Tree(levels)))
    }

    fn new(rank: usize, nnz: u64, stored: Stored<'b>) -> Self {
        Self { index: SmallVec::from_elem(0, rank), next: 0, nnz, stored }
    }

    /// The next entry: its place among the stored values, and its index. `None` after the last.
    ///
    /// # Errors
    ///
    /// The rules of `sparse.*`, for memory that changed after it was checked.
    pub fn next_entry(&mut self) -> Result<Option<(u64, &[u64])>> {
        if self.next >= self.nnz {
            return Ok(None);
        }
        let position = self.next;
        match &mut self.stored {
            Stored::Coo(indices) => {
                let first = position.saturating_mul(as_offset(self.index.len()));
                for (at, coordinate) in (first..).zip(&mut self.index) {
                    *coordinate = indices.need(at)?;
                }
            }
            Stored::Tree(levels) => climb(levels, position, &mut self.index)?,
        }
        self.next = position.saturating_add(1);
        Ok(Some((position, &self.index)))
    }

    /// How many entries are still to come.
    pub fn remaining(&self) -> u64 {
        self.nnz.saturating_sub(self.next)
    }
}

/// Finds the nodes above leaf `position`. Leaves come in order, so that a level's node only
/// ever moves forward.
fn climb(levels: &mut [Level<'_>], position: u64, index: &mut [u64]) -> Result<()> {
    let mut child = position;
    let mut below: Option<&Indices<'_>> = None;
    for level in levels.iter_mut().rev() {
        match below {
            None => level.node = child,
            // Nodes without children are passed over.
            Some(pointers) => {
                while pointers.need(level.node.saturating_add(1))? <= child {
                    level.node = level.node.saturating_add(1);
                }
            }
        }
        child = level.node;
        let coordinate = match &level.coordinates {
            Some(coordinates) => coordinates.need(level.node)?,
            None => level.node,
        };
        if let Some(slot) = index.get_mut(level.dimension) {
            *slot = coordinate;
        }
        below = level.pointers.as_ref();
    }
    Ok(())
}

impl core::fmt::Debug for Entries<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Entries({} of {})", self.next, self.nnz)
    }
}
