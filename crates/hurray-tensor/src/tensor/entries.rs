//! The entries that sparse tensors store.

use std::fmt;
use std::io;

use hurray_format as format;
use hurray_format::{Error as FormatError, Expected, Rule, Value};

use super::Tensor;
use super::bits::read;
use super::elements::number_width;
use super::places::nth;
use crate::error::{Error, Result};

impl Tensor {
    /// The entries that a sparse tensor stores, in the order in which they lie. What the
    /// buffers hold is checked first.
    ///
    /// ```
    /// use hurray_tensor::format::{Coo, Descriptor, Dtype, Layout};
    /// use hurray_tensor::{Buffer, BufferMut, Tensor};
    ///
    /// let descriptor = Descriptor::builder(Dtype::UInt8, &[10, 10])
    ///     .layout(Layout::Coo(Coo { nnz: 2, is_sorted: true }))
    ///     .build()?;
    /// let values = BufferMut::copy_of(&[7, 8])?.freeze();
    /// let indices = [0_u64, 3, 2, 9].map(u64::to_le_bytes).concat();
    /// let tensor = Tensor::new(descriptor, [values, BufferMut::copy_of(&indices)?.freeze()])?;
    ///
    /// let mut entries = tensor.entries()?;
    /// assert_eq!(entries.next_entry()?, Some((&[0, 3][..], 7)));
    /// assert_eq!(tensor.element::<u8>(&[2, 9])?, 8);
    /// assert_eq!(tensor.element::<u8>(&[5, 5])?, 0);
    /// # Ok::<(), hurray_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `index.no-address` for layouts that are not sparse, `descriptor.unresolved`,
    /// `view.element-width`; the rules of `sparse.*` and of `quant.*` values;
    /// `memory.not-host`, `memory.may-change`.
    pub fn entries(&self) -> Result<Entries<'_>> {
        let width = number_width(self.descriptor().dtype())?;
        let slices = self.host_slices()?;
        let stored = self.descriptor().entries(&slices)?;
        Ok(Entries { stored, values: slices.first().copied().unwrap_or_default(), width })
    }
}

/// Steps through the entries that a tensor stores: see [`Tensor::entries`]. A step allocates
/// nothing.
#[derive(Clone)]
pub struct Entries<'t> {
    stored: format::Entries<'t>,
    values: &'t [u8],
    width: u32,
}

impl Entries<'_> {
    /// The next entry: its index, and its bits. `None` after the last.
    ///
    /// # Errors
    ///
    /// None that checked memory breaks.
    pub fn next_entry(&mut self) -> Result<Option<(&[u64], u128)>> {
        let Some((position, index)) = self.stored.next_entry()? else {
            return Ok(None);
        };
        match read(self.values, nth(position, self.width), self.width) {
            Some(bits) => Ok(Some((index, bits))),
            None => Err(beyond(position)),
        }
    }

    /// How many entries are still to come.
    pub fn remaining(&self) -> u64 {
        self.stored.remaining()
    }
}

#[cold]
fn beyond(position: u64) -> Error {
    let (rule, found) = (Rule::SparseBufferTooSmall, Value::Unsigned(position));
    FormatError::new(rule, "values", 0, found, Expected::Unsaid).into()
}

impl fmt::Debug for Entries<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entries({} to come)", self.remaining())
    }
}

/// Which elements are stored, in index order: their numbers counted row by row, and their
/// places among the values.
#[derive(Clone)]
pub(super) struct Positions {
    stored: Vec<(u64, u64)>,
    next: usize,
}

impl Positions {
    /// The place of element `linear`, which is asked for in order.
    pub(super) fn at(&mut self, linear: u64) -> Option<u64> {
        let (_, position) = self.stored.get(self.next).filter(|(at, _)| *at == linear)?;
        self.next = self.next.saturating_add(1);
        Some(*position)
    }
}

/// The positions of a sparse tensor whose elements 64 bits count. They take no more memory than
/// its index arrays.
pub(super) fn positions(tensor: &Tensor) -> Result<Positions> {
    let mut entries = tensor.entries()?;
    let mut stored: Vec<(u64, u64)> = Vec::new();
    let room = usize::try_from(entries.remaining()).unwrap_or(usize::MAX);
    let taken = stored.try_reserve_exact(room).map_err(io::Error::from);
    taken.map_err(|error| Error::io("allocate", error))?;
    let shape = tensor.descriptor().shape();
    while let Some((position, index)) = entries.stored.next_entry()? {
        let linear = index
            .iter()
            .zip(shape)
            .fold(0_u64, |linear, (at, size)| linear.saturating_mul(*size).saturating_add(*at));
        stored.push((linear, position));
    }
    stored.sort_unstable();
    Ok(Positions { stored, next: 0 })
}
