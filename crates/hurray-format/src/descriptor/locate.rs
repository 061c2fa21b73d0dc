//! Where one element lies, and whether index arrays and scales keep their rules.

use core::ops::Range;

use smallvec::SmallVec;

use super::Descriptor;
use crate::contents::Contents;
use crate::dtype::Location;
use crate::error::{Error, Expected, Result, Value};
use crate::layout::{BlockPaged, Layout, LayoutKind};
use crate::rules::Rule;
use crate::shape::{Count, DYNAMIC};
use crate::wire::{Array, Storage, as_index, as_offset};

impl<S: Storage> Descriptor<S> {
    /// Where the element at `index` of a dense tensor lies in buffer 0.
    ///
    /// # Errors
    ///
    /// `index.rank`, `index.out-of-bounds`, `descriptor.unresolved` for dynamic shapes,
    /// and `index.no-address` for layouts whose addresses are in their buffers.
    pub fn locate(&self, index: &[u64]) -> Result<Location> {
        self.check_index(index)?;
        let offset = self.layout.offset(index, &self.shape);
        let location = offset.and_then(|offset| self.dtype.place(self.byte_offset, offset));
        location.ok_or_else(|| {
            let found = Value::Tag(u64::from(self.layout.tag()));
            let expected = Expected::OneOf("a dense layout");
            Error::new(Rule::IndexNoAddress, "layout_tag", 15, found, expected)
        })
    }

    /// Where the element at `index` lies in buffer 0, for any layout but block-paged and
    /// private ones. `None` is an element that a sparse tensor does not store: zero.
    ///
    /// `buffers` are the tensor's, in table order. They are not trusted: what is out of
    /// place is refused.
    ///
    /// # Errors
    ///
    /// As [`locate`](Self::locate), and the rules of `sparse.*`.
    pub fn locate_in(&self, index: &[u64], buffers: &[&[u8]]) -> Result<Option<Location>> {
        if self.layout.kind() != LayoutKind::Sparse {
            return self.locate(index).map(Some);
        }
        self.check_index(index)?;
        let found = self.layout.find(index, &self.shape, &alone(buffers));
        let Some(position) = found.transpose()?.flatten() else {
            return Ok(None);
        };
        Ok(self.dtype.place(0, i128::from(position)))
    }

    /// Where element (`head`, `dim`) of token `token` of sequence `sequence` lies in the
    /// page pool of a block-paged tensor.
    ///
    /// The format does not say how many tokens a sequence has; a slot beyond them is
    /// undefined, and it is the caller who knows.
    ///
    /// # Errors
    ///
    /// `index.no-address` for other layouts, `index.out-of-bounds`,
    /// `descriptor.unresolved` where the size of a slot is not known, and the rules of
    /// `sparse.block-paged.*`.
    pub fn locate_token(
        &self,
        sequence: u32,
        token: u64,
        head: u64,
        dim: u64,
        buffers: &[&[u8]],
    ) -> Result<Location> {
        let paged = self.paged()?;
        // How many tokens there are in all does not matter.
        if self.shape.iter().skip(1).any(|size| size == DYNAMIC) {
            return Err(self.unresolved());
        }
        let heads = self.dimension(1, head, "head")?;
        let dims = self.dimension(2, dim, "dim")?;
        let slot = paged.slot(sequence, token, &alone(buffers))?;
        let element = slot
            .checked_mul(i128::from(heads))
            .and_then(|at| at.checked_add(i128::from(head)))
            .and_then(|at| at.checked_mul(i128::from(dims)))
            .and_then(|at| at.checked_add(i128::from(dim)));
        element.and_then(|element| self.dtype.place(0, element)).ok_or_else(|| {
            let found = u64::try_from(slot).map_or(Value::BeyondU64, Value::Unsigned);
            let rule = Rule::LayoutBlockPagedBufferTooSmall;
            Error::new(rule, "page_pool", 0, found, Expected::Unsaid)
        })
    }

    /// Checks the token counts of a block-paged tensor, which the format leaves to its
    /// callers: one for each sequence, none beyond the sequence's pages.
    ///
    /// # Errors
    ///
    /// `sparse.block-paged.token-counts`, `index.no-address` for other layouts, and the
    /// rules of `sparse.*` where `buffers` are too small.
    pub fn check_token_counts(&self, counts: &[u64], buffers: &[&[u8]]) -> Result<()> {
        self.paged()?.check_token_counts(counts, &alone(buffers))
    }

    /// The bytes of buffer 0 from the lowest to the highest that an element of a dense tensor
    /// touches; empty where there is no element. `None` for other layouts, and for shapes
    /// that are not known.
    ///
    /// ```
    /// use hurray_format::{Descriptor, Dtype, Layout};
    /// let upside_down = Descriptor::builder(Dtype::Float32, &[2, 4])
    ///     .layout(Layout::strided([-4, 1]))
    ///     .byte_offset(32)
    ///     .build()?;
    /// assert_eq!(upside_down.extent(), Some(16..48));
    /// # Ok::<(), hurray_format::Error>(())
    /// ```
    pub fn extent(&self) -> Option<Range<u64>> {
        let elements = match crate::shape::count(&self.shape) {
            Count::Elements(0) => return Some(self.byte_offset..self.byte_offset),
            Count::Elements(elements) => u128::from(elements),
            Count::Beyond => crate::shape::product_of(self.shape.iter()),
            Count::Dynamic => return None,
        };
        let reach = self.layout.reach(&self.shape, elements)?;
        let down = u64::try_from(self.dtype.bytes_for(reach.down)?).ok()?;
        let up = u64::try_from(self.dtype.bytes_for(reach.up.checked_add(1)?)?).ok()?;
        Some(self.byte_offset.checked_sub(down)?..self.byte_offset.checked_add(up)?)
    }

    fn paged(&self) -> Result<&BlockPaged> {
        match &self.layout {
            Layout::BlockPaged(paged) => Ok(paged),
            other => {
                let found = Value::Tag(u64::from(other.tag()));
                let expected = Expected::OneOf("block-paged");
                Err(Error::new(Rule::IndexNoAddress, "layout_tag", 15, found, expected))
            }
        }
    }

    /// The size of dimension `k`, which `at` must be below.
    fn dimension(&self, k: usize, at: u64, name: &'static str) -> Result<u64> {
        let size = self.shape.at(k).unwrap_or(0);
        if at < size {
            return Ok(size);
        }
        let expected = Expected::AtMost(size.saturating_sub(1));
        Err(Error::new(Rule::IndexOutOfBounds, name, 0, Value::Unsigned(at), expected))
    }

    #[cold]
    fn unresolved(&self) -> Error {
        let rule = Rule::DescriptorUnresolved;
        Error::new(rule, "shape", 20, Value::None, Expected::Unsaid)
    }

    fn check_index(&self, index: &[u64]) -> Result<()> {
        if index.len() != self.rank() {
            let found = Value::Unsigned(as_offset(index.len()));
            let expected = Expected::Exactly(as_offset(self.rank()));
            return Err(Error::new(Rule::IndexRank, "index", 0, found, expected));
        }
        if self.is_dynamic() {
            return Err(self.unresolved());
        }
        for (k, at) in index.iter().enumerate() {
            self.dimension(k, *at, "index")?;
        }
        Ok(())
    }

    /// Checks what the bytes of the buffers must be: index arrays in bounds and in order,
    /// scales and zero points in range. Dense tensors without parameter buffers have
    /// nothing to check.
    ///
    /// `buffers` are the tensor's, in table order. For memory that others can still
    /// write, check a copy.
    ///
    /// # Errors
    ///
    /// The rules of `sparse.*` and of `quant.*` values; `sparse.buffer-count` and
    /// `sparse.buffer-too-small` where `buffers` are not what the table says;
    /// `descriptor.unresolved` where the length of an index array depends on a dynamic
    /// dimension. Offsets count from the start of the buffer.
    pub fn check_contents(&self, buffers: &[&[u8]]) -> Result<()> {
        if buffers.len() != self.buffers.len() {
            let found = Value::Unsigned(as_offset(buffers.len()));
            let expected = Expected::Exactly(as_offset(self.buffers.len()));
            return Err(Error::new(Rule::SparseBufferCount, "buffers", 0, found, expected));
        }
        let mut held: SmallVec<[Contents<'_>; 4]> = SmallVec::new();
        for (handle, bytes) in self.buffers.iter().zip(buffers) {
            // Memory may be longer than the buffer in it.
            let Some(bytes) = bytes.get(..as_index(handle.byte_size())) else {
                let found = Value::Unsigned(as_offset(bytes.len()));
                let expected = Expected::AtLeast(handle.byte_size());
                let rule = Rule::SparseBufferTooSmall;
                return Err(Error::new(rule, "buffers", 0, found, expected));
            };
            held.push(Contents::alone(bytes));
        }
        if !self.layout.index_arrays_are_sized(&self.shape) {
            return Err(self.unresolved());
        }
        self.check_parameters(&held)
    }

    /// Whether some buffer holds what [`check_contents`](Self::check_contents) looks at:
    /// index arrays, scales or zero points.
    pub fn has_checked_contents(&self) -> bool {
        let kind = self.layout.kind();
        matches!(kind, LayoutKind::Sparse | LayoutKind::Indirect) || self.quantization.is_some()
    }

    /// [`check_contents`](Self::check_contents) without buffer 0, whose place in `buffers`
    /// may be empty: the values themselves have no rule. An index array whose length depends
    /// on a dynamic dimension is passed over.
    ///
    /// # Errors
    ///
    /// As [`check_contents`](Self::check_contents), at offsets of the input; a buffer that
    /// is too short is met where it ends.
    pub fn check_parameters(&self, buffers: &[Contents<'_>]) -> Result<()> {
        if self.layout.index_arrays_are_sized(&self.shape) {
            self.layout.check_contents(&self.shape, buffers)?;
        }
        match &self.quantization {
            Some(scheme) => scheme.check_values(self.dtype, buffers),
            None => Ok(()),
        }
    }
}

/// Buffers whose offsets count from their own start.
fn alone<'b>(buffers: &[&'b [u8]]) -> SmallVec<[Contents<'b>; 4]> {
    buffers.iter().map(|bytes| Contents::alone(bytes)).collect()
}
