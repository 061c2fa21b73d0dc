//! Bytes on their way, a piece at a time.

use std::fs::File;
use std::io::{self, Write};

use hurray_kernels::checksum::crc32c;

/// How much is read or written at once. Larger pieces leave the processor's caches, and
/// cost the system more to find memory for.
pub(crate) const PIECE: usize = 1 << 20;
/// Small writes are gathered up to this.
pub(crate) const GATHERED: usize = 256 << 10;

/// Counts bytes, and tells whoever wants to know.
pub(crate) struct Meter<'p> {
    done: u64,
    total: u64,
    progress: &'p mut dyn FnMut(u64, u64),
}

impl<'p> Meter<'p> {
    /// Starts at nothing. A `total` of 0 is one that is not known.
    pub(crate) fn start(total: u64, progress: &'p mut dyn FnMut(u64, u64)) -> Self {
        progress(0, total);
        Self { done: 0, total, progress }
    }

    pub(crate) fn add(&mut self, bytes: usize) {
        self.reach(self.done.saturating_add(as_length(bytes)));
    }

    pub(crate) fn reach(&mut self, done: u64) {
        self.done = done;
        (self.progress)(done, self.total);
    }
}

/// A writer that counts what goes through, passes on a part of it, and may sum up all of it.
pub(crate) struct Through<'w, 'p, 'm> {
    out: &'w mut dyn Write,
    meter: &'m mut Meter<'p>,
    /// So many bytes are not passed on, then so many are, then none.
    skip: u64,
    pass: u64,
    checksum: Option<u32>,
}

impl<'w, 'p, 'm> Through<'w, 'p, 'm> {
    /// Passes on everything.
    pub(crate) fn all(out: &'w mut dyn Write, meter: &'m mut Meter<'p>) -> Self {
        Self { out, meter, skip: 0, pass: u64::MAX, checksum: None }
    }

    /// Passes on `pass` bytes after the first `skip`, and sums up all of them if told to.
    pub(crate) fn part(
        out: &'w mut dyn Write,
        meter: &'m mut Meter<'p>,
        skip: u64,
        pass: u64,
        checksum: bool,
    ) -> Self {
        Self { out, meter, skip, pass, checksum: checksum.then_some(0) }
    }

    /// The CRC-32C of all that went through, where it was asked for.
    pub(crate) fn checksum(&self) -> Option<u32> {
        self.checksum
    }
}

impl Write for Through<'_, '_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = bytes.get(..PIECE).unwrap_or(bytes);
        let skipped = as_index(self.skip).min(piece.len());
        let rest = piece.get(skipped..).unwrap_or_default();
        let passed = as_index(self.pass).min(rest.len());
        self.out.write_all(rest.get(..passed).unwrap_or_default())?;
        self.skip = self.skip.saturating_sub(as_length(skipped));
        self.pass = self.pass.saturating_sub(as_length(passed));
        self.checksum = self.checksum.map(|before| crc32c(before, piece));
        self.meter.add(piece.len());
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Fills `bytes` from `offset` of the file, without moving its cursor.
#[cfg(unix)]
pub(crate) fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

/// Fills `bytes` from `offset` of the file.
#[cfg(windows)]
pub(crate) fn read_exact_at(file: &File, mut bytes: &mut [u8], offset: u64) -> io::Result<()> {
    let mut at = offset;
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, at) {
            Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
            Ok(read) => {
                bytes = bytes.get_mut(read..).unwrap_or_default();
                at = at.saturating_add(as_length(read));
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

pub(crate) fn as_length(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

pub(crate) fn as_index(length: u64) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}
