//! Where one element lies, and whether index arrays and scales keep their rules.

use core::ops::Range;

use smallvec::SmallVec;

use super::Descriptor;
use crate::contents::Contents;
use crate::dtype::Location;
use crate::error::{Error, Expected, Result, Value};
use crate::layout::{Entries, LayoutKind};
use crate::rules::Rule;
use crate::wire::{Array, List, Storage, as_index, as_offset};

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
        self.layout.extent(self.dtype, &self.shape, self.byte_offset)
    }

    /// The step of each dimension in elements, for the layouts that have one: row-major,
    /// column-major and strided. `None` for others, for shapes that are not known, and for
    /// steps beyond 63 bits.
    ///
    /// ```
    /// use hurray_format::{Descriptor, Dtype};
    /// let matrix = Descriptor::dense(Dtype::Float32, &[3, 4])?;
    /// assert_eq!(matrix.strides().unwrap()[..], [4, 1]);
    /// # Ok::<(), hurray_format::Error>(())
    /// ```
    pub fn strides(&self) -> Option<List<i64>> {
        if self.is_dynamic() {
            return None;
        }
        self.layout.strides(&self.shape)
    }

    /// The entries that a sparse tensor stores, in the order in which they lie, each with its
    /// index. What the buffers hold is checked first.
    ///
    /// ```
    /// use hurray_format::{Coo, Descriptor, Dtype, Layout};
    /// let sparse = Descriptor::builder(Dtype::UInt8, &[10, 10])
    ///     .layout(Layout::Coo(Coo { nnz: 2, is_sorted: true }))
    ///     .build()?;
    /// let indices: Vec<u8> = [0_u64, 3, 2, 9].iter().flat_map(|n| n.to_le_bytes()).collect();
    /// let mut entries = sparse.entries(&[&[7, 8], &indices])?;
    /// assert_eq!(entries.next_entry()?, Some((0, &[0, 3][..])));
    /// assert_eq!(entries.next_entry()?, Some((1, &[2, 9][..])));
    /// assert_eq!(entries.next_entry()?, None);
    /// # Ok::<(), hurray_format::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`check_contents`](Self::check_contents); `descriptor.unresolved`;
    /// `index.no-address` for layouts that are not sparse.
    pub fn entries<'b>(&self, buffers: &[&'b [u8]]) -> Result<Entries<'b>> {
        let no_entries = || {
            let found = Value::Tag(u64::from(self.layout.tag()));
            let expected = Expected::OneOf("a sparse layout");
            Err(Error::new(Rule::IndexNoAddress, "layout_tag", 15, found, expected))
        };
        if self.layout.kind() != LayoutKind::Sparse {
            return no_entries();
        }
        if self.is_dynamic() {
            return Err(self.unresolved());
        }
        self.check_contents(buffers)?;
        self.layout.entries(&self.shape, &alone(buffers)).unwrap_or_else(no_entries)
    }

    /// The size of dimension `k`, which `at` must be below.
    pub(super) fn dimension(&self, k: usize, at: u64, name: &'static str) -> Result<u64> {
        let size = self.shape.at(k).unwrap_or(0);
        if at < size {
            return Ok(size);
        }
        let expected = Expected::AtMost(size.saturating_sub(1));
        Err(Error::new(Rule::IndexOutOfBounds, name, 0, Value::Unsigned(at), expected))
    }

    #[cold]
    pub(super) fn unresolved(&self) -> Error {
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
pub(super) fn alone<'b>(buffers: &[&'b [u8]]) -> SmallVec<[Contents<'b>; 4]> {
    buffers.iter().map(|bytes| Contents::alone(bytes)).collect()
}
