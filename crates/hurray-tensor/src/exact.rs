//! A writer that takes exactly so many bytes and sums them up: one buffer of a tensor on
//! its way out.

use std::io::{self, Write};

use hurray_format::{Descriptor, Error as FormatError, Expected, Rule, Value};
use hurray_kernels::checksum::crc32c;

use crate::error::{Error, Result};

pub(crate) struct Exact<'w> {
    out: &'w mut dyn Write,
    length: u64,
    left: u64,
    /// How many bytes there would have been, where there were more.
    above: Option<u64>,
    /// The CRC-32C of what went through, where it is wanted.
    checksum: Option<u32>,
}

impl<'w> Exact<'w> {
    pub(crate) fn new(out: &'w mut dyn Write, length: u64, checksum: bool) -> Self {
        Self { out, length, left: length, above: None, checksum: checksum.then_some(0) }
    }

    /// The checksum, once every byte went through and no more; `filled` is what the one who
    /// wrote them said.
    pub(crate) fn finish(self, filled: io::Result<()>) -> Result<Option<u32>> {
        // Said also where the one who wrote too much went on as if nothing had been.
        if let Some(found) = self.above {
            return Err(wrong_length(found, self.length));
        }
        filled.map_err(|error| Error::io("write", error))?;
        match self.left {
            0 => Ok(self.checksum),
            left => Err(wrong_length(self.length.saturating_sub(left), self.length)),
        }
    }
}

/// One buffer for each handle, of the length it says.
pub(crate) fn need_buffers(descriptor: &Descriptor, buffers: &[&[u8]]) -> Result<()> {
    let length = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    if buffers.len() != descriptor.buffer_count() {
        let found = Value::Unsigned(length(buffers.len()));
        let expected = Expected::Exactly(length(descriptor.buffer_count()));
        let rule = Rule::FileTensorBufferCount;
        return Err(FormatError::new(rule, "buffers", 0, found, expected).into());
    }
    for (handle, buffer) in descriptor.buffers().iter().zip(buffers) {
        if length(buffer.len()) != handle.byte_size() {
            return Err(wrong_length(length(buffer.len()), handle.byte_size()));
        }
    }
    Ok(())
}

/// Refuses a buffer of `found` bytes where the descriptor says `expected`.
fn wrong_length(found: u64, expected: u64) -> Error {
    let rule = Rule::FileTensorBufferLength;
    let (found, expected) = (Value::Unsigned(found), Expected::Exactly(expected));
    FormatError::new(rule, "buffer", 0, found, expected).into()
}

impl Write for Exact<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if length > self.left {
            let found = self.length.saturating_sub(self.left).saturating_add(length);
            self.above = Some(found);
            let error = wrong_length(found, self.length);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, error.to_string()));
        }
        let written = self.out.write(bytes)?;
        let bytes = bytes.get(..written).unwrap_or(bytes);
        self.left = self.left.saturating_sub(u64::try_from(written).unwrap_or(u64::MAX));
        self.checksum = self.checksum.map(|checksum| crc32c(checksum, bytes));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes `count` zeros.
pub(crate) fn write_zeros(out: &mut dyn Write, count: u64) -> io::Result<()> {
    const ZEROS: [u8; 4096] = [0; 4096];
    let mut left = count;
    while left > 0 {
        let step = usize::try_from(left).unwrap_or(usize::MAX).min(ZEROS.len());
        out.write_all(ZEROS.get(..step).unwrap_or(&ZEROS))?;
        left = left.saturating_sub(u64::try_from(step).unwrap_or(u64::MAX));
    }
    Ok(())
}
