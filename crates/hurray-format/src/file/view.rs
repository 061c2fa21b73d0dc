//! A whole file in memory.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::ops::Range;

use super::FILE_TRAILER_LEN;
use super::container::{Container, Placement, Sections};
use super::index::Entry;
use super::verify::FileBytes;
use crate::accept::Accept;
use crate::crc32c::crc32c;
use crate::descriptor::Descriptor;
use crate::error::{Error, Expected, Result, Value};
use crate::rules::Rule;
use crate::wire::{Silent, as_index, as_offset};

/// A file read as a slice. The index is copied and checked; tensors stay where they are.
#[derive(Clone, Debug)]
pub struct FileView<'a> {
    bytes: &'a [u8],
    accept: Accept,
    container: Container,
}

/// A tensor of a file in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorView<'a> {
    /// What the tensor is.
    pub descriptor: Descriptor,
    /// Its buffers, in table order.
    pub buffers: Vec<&'a [u8]>,
}

impl<'a> FileView<'a> {
    /// Opens a file, which is all of `bytes`.
    ///
    /// # Errors
    ///
    /// The rules of `file.*` that concern header, trailer, index and key-values.
    pub fn open(bytes: &'a [u8]) -> Result<Self> {
        Self::open_with(bytes, &Accept::default())
    }

    /// Opens a file with private tags that were agreed, and other limits.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_with(bytes: &'a [u8], accept: &Accept) -> Result<Self> {
        let last = bytes.len().saturating_sub(FILE_TRAILER_LEN);
        let last = bytes.get(last..).unwrap_or_default();
        let size = as_offset(bytes.len());
        let sections = Sections::decode(bytes, last, size, &accept.limits, &mut Silent)?;
        let index = slice(bytes, sections.index())?.to_vec();
        let kv = match sections.kv() {
            Some(range) => Some(slice(bytes, range)?.to_vec()),
            None => None,
        };
        let container = Container::new(sections, index, kv, crc32c, &mut Silent)?;
        Ok(Self { bytes, accept: *accept, container })
    }

    /// Header, key-values and index.
    pub fn container(&self) -> &Container {
        &self.container
    }

    /// The tensor with that name, or that an alias of that name stands for.
    ///
    /// # Errors
    ///
    /// `file.index.unknown-name`; as [`Container::place`].
    pub fn tensor(&self, name: &str) -> Result<TensorView<'a>> {
        self.read(&self.container.find(name)?)
    }

    /// The tensor of an entry.
    ///
    /// # Errors
    ///
    /// As [`Container::place`].
    pub fn read(&self, entry: &Entry<'_>) -> Result<TensorView<'a>> {
        let Placement { descriptor, buffers } = self.place(entry)?;
        let buffers = buffers.into_iter().map(|range| slice(self.bytes, range));
        Ok(TensorView { descriptor, buffers: buffers.collect::<Result<_>>()? })
    }

    fn place(&self, entry: &Entry<'_>) -> Result<Placement> {
        let bytes = slice(self.bytes, entry.descriptor())?;
        self.container.place(entry, bytes, &self.accept, &mut Silent)
    }

    /// Checks everything there is to check (see [`Container::verify`]).
    ///
    /// # Errors
    ///
    /// The first rule that the file breaks.
    pub fn verify(&self) -> Result<()> {
        self.container.verify(&mut Whole(self.bytes), &self.accept, crc32c)
    }
}

/// A file in memory, as a walk over it reads it.
struct Whole<'a>(&'a [u8]);

impl FileBytes for Whole<'_> {
    type Error = Error;

    fn whole(&self, range: Range<u64>) -> Result<Cow<'_, [u8]>> {
        slice(self.0, range).map(Cow::Borrowed)
    }

    fn pieces(
        &mut self,
        range: Range<u64>,
        each: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        each(range.start, slice(self.0, range)?)
    }
}

fn slice(bytes: &[u8], range: Range<u64>) -> Result<&[u8]> {
    bytes.get(as_index(range.start)..as_index(range.end)).ok_or_else(|| {
        let found = Value::Unsigned(as_offset(bytes.len()));
        let rule = Rule::FileIndexDataOutOfRange;
        Error::new(rule, "file", range.start, found, Expected::AtLeast(range.end))
    })
}
