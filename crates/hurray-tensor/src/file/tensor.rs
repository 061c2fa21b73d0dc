//! One tensor of an open file.

use std::io::{self, Write};
use std::ops::Range;

use hurray_format::{Descriptor, Entry, Error as FormatError, Expected, Placement, Rule, Value};

use super::open::File;
use crate::bytes::AlignedBytes;
use crate::error::{Error, Result};

/// A tensor of an open file: its descriptor read and checked, its bytes not yet.
#[derive(Debug)]
pub struct FileTensor<'f> {
    file: &'f File,
    entry: Entry<'f>,
    placement: Placement,
}

impl<'f> FileTensor<'f> {
    pub(super) fn new(file: &'f File, entry: Entry<'f>, placement: Placement) -> Self {
        Self { file, entry, placement }
    }

    /// The tensor's own name, also where it was found by an alias.
    pub fn name(&self) -> &'f str {
        self.entry.name
    }

    /// What the index says about it.
    pub fn entry(&self) -> Entry<'f> {
        self.entry
    }

    /// What it is.
    pub fn descriptor(&self) -> &Descriptor {
        &self.placement.descriptor
    }

    /// Where each buffer lies in the file, in table order.
    pub fn buffer_ranges(&self) -> &[Range<u64>] {
        &self.placement.buffers
    }

    /// The bytes of buffer `place`, where the file is mapped and there is such a buffer.
    pub fn mapped(&self, place: usize) -> Option<&'f [u8]> {
        self.file.source().mapped(self.placement.buffers.get(place)?)
    }

    /// A copy of the bytes of buffer `place`, in memory aligned to 64 bytes.
    ///
    /// # Errors
    ///
    /// `file.tensor.buffer-count` where there is no such buffer; what the system refuses,
    /// memory included.
    pub fn read_buffer(&self, place: usize) -> Result<AlignedBytes> {
        let read = self.file.source().read(self.range(place)?);
        read.map_err(|error| self.failed("read", error))
    }

    /// Writes the bytes of buffer `place` to `out`, in pieces, and says how many they
    /// were.
    ///
    /// # Errors
    ///
    /// As [`read_buffer`](Self::read_buffer), and what `out` refuses.
    pub fn copy_buffer(&self, place: usize, out: &mut dyn Write) -> Result<u64> {
        let range = self.range(place)?.clone();
        let length = range.end.saturating_sub(range.start);
        let copied = self.file.source().pieces::<io::Error>(range, &mut |_, b| out.write_all(b));
        copied.map_err(|error| self.failed("copy", error))?;
        Ok(length)
    }

    fn range(&self, place: usize) -> Result<&Range<u64>> {
        self.placement.buffers.get(place).ok_or_else(|| {
            let count = self.placement.buffers.len();
            let found = Value::Unsigned(u64::try_from(place).unwrap_or(u64::MAX));
            let last = u64::try_from(count.saturating_sub(1)).unwrap_or(u64::MAX);
            let rule = Rule::FileTensorBufferCount;
            let at = self.entry.descriptor_offset;
            let error = FormatError::new(rule, "buffer", at, found, Expected::AtMost(last));
            self.file.located(error, self.entry.name)
        })
    }

    fn failed(&self, doing: &'static str, error: io::Error) -> Error {
        self.file.located(Error::io(doing, error), self.entry.name)
    }
}
