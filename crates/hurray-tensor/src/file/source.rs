//! Where an open file's bytes come from: a mapping, or reads at an offset.

#![allow(
    unsafe_code,
    reason = "mapping a file is unsafe, and so is advice on memory; both are done here"
)]

use std::fs;
use std::io;
use std::ops::Range;

use memmap2::Mmap;

use crate::buffer::{Buffer, HostBuffer};
use crate::error::{Error, Result};
use crate::memory::{Room, want_large_pages};

/// How much is read at once where a buffer goes through in pieces.
const PIECE: u64 = 4 << 20;

/// How an open file is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Mapped: a tensor's bytes are slices of the file.
    Mapped,
    /// Read at an offset: a tensor's bytes are copied out.
    Read {
        /// Why the system would not map the file, where it was asked to.
        refused: Option<String>,
    },
}

#[derive(Debug)]
pub(super) enum Source {
    /// All of the file. Tensors are parts of this buffer and keep the mapping.
    Mapped(Buffer),
    Read(fs::File),
}

/// What is done with a piece of a file: its offset, and its bytes.
type Each<'e, E> = dyn FnMut(u64, &[u8]) -> Result<(), E> + 'e;

impl Source {
    /// The file's length in bytes.
    pub(super) fn size(&self) -> io::Result<u64> {
        let metadata = match self {
            Self::Mapped(map) => return Ok(map.byte_size()),
            Self::Read(file) => file.metadata()?,
        };
        if metadata.is_file() {
            return Ok(metadata.len());
        }
        let text = match metadata.is_dir() {
            true => "it is a folder",
            false => {
                "not a regular file; a pipe can be read as a plain stream, or copied to a file"
            }
        };
        Err(io::Error::new(io::ErrorKind::InvalidInput, text))
    }

    /// Maps a file that is read so far. Where the system will not, it goes on being read.
    ///
    /// # Safety
    ///
    /// The file must not change for as long as the mapping lives: its bytes are given out
    /// as shared slices.
    pub(super) unsafe fn map(self) -> (Self, Access) {
        let Self::Read(file) = self else {
            return (self, Access::Mapped);
        };
        // SAFETY: the caller promises that nobody changes the file while it is mapped,
        // which is all that `Mmap::map` asks for.
        let map = match unsafe { Mmap::map(&file) } {
            Ok(map) => Buffer::from_owner(map).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match map {
            Ok(map) => (Self::Mapped(map), Access::Mapped),
            Err(refused) => (Self::Read(file), Access::Read { refused: Some(refused) }),
        }
    }

    /// The bytes of `range`, where they are mapped.
    pub(super) fn mapped(&self, range: &Range<u64>) -> Option<&[u8]> {
        match self {
            Self::Mapped(map) => {
                let start = usize::try_from(range.start).ok()?;
                map.host_bytes().ok()?.get(start..usize::try_from(range.end).ok()?)
            }
            Self::Read(_) => None,
        }
    }

    /// The buffer of `range`, which starts at a multiple of 64: a part of the mapping, which
    /// it keeps, or a copy.
    pub(super) fn buffer(&self, range: &Range<u64>) -> Result<Buffer> {
        match self {
            Self::Mapped(map) => map.slice(range.clone()),
            Self::Read(_) => {
                let read = self.read(range).map_err(|error| Error::io("read", error))?;
                HostBuffer::filled(read).map(HostBuffer::into_buffer)
            }
        }
    }

    /// A copy of the bytes of `range`, in aligned memory.
    pub(super) fn read(&self, range: &Range<u64>) -> io::Result<Room> {
        let length = usize::try_from(range.end.saturating_sub(range.start))
            .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let mut bytes = Room::for_bytes(length)?;
        self.append(range, bytes.tail())?;
        Ok(bytes)
    }

    /// Appends the bytes of `range` to `out`, which does not move where it has room for them.
    /// Out of memory is an error and no abort.
    pub(super) fn append(&self, range: &Range<u64>, out: &mut Vec<u8>) -> io::Result<()> {
        let length = range.end.saturating_sub(range.start);
        out.try_reserve_exact(usize::try_from(length).unwrap_or(usize::MAX))?;
        want_large_pages(out.spare_capacity_mut());
        match (self, self.mapped(range)) {
            (_, Some(bytes)) => {
                out.extend_from_slice(bytes);
                Ok(())
            }
            (Self::Read(file), None) => append_at(file, range, out),
            (Self::Mapped(_), None) => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
        }
    }

    /// Gives the bytes of `range` in order, in pieces: slices of the mapping, or one
    /// piece of memory filled again and again.
    pub(super) fn pieces<E: From<io::Error>>(
        &self,
        range: Range<u64>,
        each: &mut Each<'_, E>,
    ) -> Result<(), E> {
        let mut memory = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let piece = at..range.end.min(at.saturating_add(PIECE));
            match self.mapped(&piece) {
                Some(bytes) => each(at, bytes)?,
                None => {
                    memory.clear();
                    self.append(&piece, &mut memory)?;
                    each(at, &memory)?;
                }
            }
            at = piece.end;
        }
        Ok(())
    }
}

/// Appends to `out`, which has room, without filling the room with zeros first.
#[cfg(unix)]
fn append_at(file: &fs::File, range: &Range<u64>, out: &mut Vec<u8>) -> io::Result<()> {
    let mut at = range.start;
    while at < range.end {
        let left = usize::try_from(range.end.saturating_sub(at)).unwrap_or(usize::MAX);
        let end = out.len().saturating_add(left);
        let read = rustix::io::retry_on_intr(|| {
            rustix::io::pread(file, rustix::buffer::spare_capacity(out), at)
        })?;
        if read == 0 {
            return Err(shorter(range.end));
        }
        // The memory may have more room than was asked for.
        let taken = read.min(left);
        out.truncate(end);
        at = at.saturating_add(u64::try_from(taken).unwrap_or(u64::MAX));
    }
    Ok(())
}

#[cfg(windows)]
fn append_at(file: &fs::File, range: &Range<u64>, out: &mut Vec<u8>) -> io::Result<()> {
    use std::os::windows::fs::FileExt;

    let length = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
    let mut done = out.len();
    let end = done.saturating_add(length);
    out.resize(end, 0);
    let mut at = range.start;
    while let Some(rest) = out.get_mut(done..end).filter(|rest| !rest.is_empty()) {
        match file.seek_read(rest, at) {
            Ok(0) => return Err(shorter(range.end)),
            Ok(read) => {
                done = done.saturating_add(read);
                at = at.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn shorter(end: u64) -> io::Error {
    let text = format!(
        "the file ends before byte {end}, which it had when it was opened: something cut it \
         while it was open"
    );
    io::Error::new(io::ErrorKind::UnexpectedEof, text)
}
