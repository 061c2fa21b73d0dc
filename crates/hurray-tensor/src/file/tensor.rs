//! One tensor of an open file.

use std::io::{self, Write};
use std::ops::Range;

use hurray_format::{
    Container, Descriptor, Entry, Error as FormatError, Expected, Placement, Rule, Value,
};
use hurray_kernels::checksum::crc32c;

use super::open::File;
use crate::buffer::HostBuffer;
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

    pub(super) fn file(&self) -> &'f File {
        self.file
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

    /// A copy of the bytes of buffer `place`, in memory aligned to 64 bytes. They are not
    /// compared with a checksum; [`verify`](Self::verify) does that.
    ///
    /// # Errors
    ///
    /// `file.tensor.buffer-count` where there is no such buffer; what the system refuses,
    /// memory included.
    pub fn read_buffer(&self, place: usize) -> Result<HostBuffer> {
        let read = self.file.source().read(self.range(place)?);
        HostBuffer::filled(read.map_err(|error| self.failed("read", error))?)
    }

    /// Writes the bytes of buffer `place` to `out`, in pieces, and says how many they
    /// were. They are not compared with a checksum; [`copy_checked`](Self::copy_checked)
    /// does that.
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

    /// The same, compared with the buffer's CRC-32C where the file has one. All of it is
    /// written before it is known.
    ///
    /// # Errors
    ///
    /// As [`copy_buffer`](Self::copy_buffer); `file.tensor.checksum-mismatch`,
    /// `file.tensor.checksum-key`.
    pub fn copy_checked(&self, place: usize, out: &mut dyn Write) -> Result<u64> {
        let broken = |error: FormatError| self.file.located(error, self.entry.name);
        let range = self.range(place)?;
        let kept = self.file.container().tensor_checksums(&self.entry, &self.placement.descriptor);
        let Some(expected) = kept.map_err(broken)?.and_then(|all| all.get(place).copied()) else {
            return self.copy_buffer(place, out);
        };
        let mut out = Summed { out, checksum: 0 };
        let length = self.copy_buffer(place, &mut out)?;
        Container::compare_checksum(range.start, expected, out.checksum).map_err(broken)?;
        Ok(length)
    }

    /// Checks the tensor: its checksums, where the file has them, and what its index and
    /// parameter buffers hold. [`File::verify`] does that and all the rest.
    ///
    /// # Errors
    ///
    /// The first rule that it breaks; what the system refuses.
    pub fn verify(&self) -> Result<()> {
        self.file.verify_tensor(&self.entry, &self.placement)
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
        self.located(Error::io(doing, error))
    }

    pub(super) fn located(&self, error: impl Into<Error>) -> Error {
        self.file.located(error, self.entry.name)
    }
}

/// Bytes on their way out, and their checksum.
struct Summed<'o> {
    out: &'o mut dyn Write,
    checksum: u32,
}

impl Write for Summed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.checksum = crc32c(self.checksum, bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
