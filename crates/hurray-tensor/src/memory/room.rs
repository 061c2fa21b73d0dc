//! Room for bytes that are about to be read: aligned as the format wants it, and not filled
//! with zeros first.

use std::io;

use hurray_format::MIN_ALIGNMENT;

use super::{Region, Shared};
use crate::error::Result;

/// Bytes at an address that is a multiple of 64, and room for more.
pub(crate) struct Room {
    /// A few bytes of slack, then the bytes.
    memory: Vec<u8>,
    start: usize,
}

const ALIGNMENT: usize = MIN_ALIGNMENT as usize;

impl Room {
    /// Room for `length` bytes, none of them there yet.
    ///
    /// # Errors
    ///
    /// Out of memory, as an error and not as an abort.
    pub(crate) fn for_bytes(length: usize) -> io::Result<Self> {
        let mut memory: Vec<u8> = Vec::new();
        memory.try_reserve_exact(length.saturating_add(ALIGNMENT))?;
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        if start >= ALIGNMENT {
            return Err(io::Error::from(io::ErrorKind::OutOfMemory));
        }
        memory.resize(start, 0);
        Ok(Self { memory, start })
    }

    /// How many bytes are there.
    pub(crate) fn len(&self) -> usize {
        self.memory.len().saturating_sub(self.start)
    }

    /// Where to append. It must not grow beyond the room there is, or it would move.
    pub(crate) fn tail(&mut self) -> &mut Vec<u8> {
        &mut self.memory
    }

    /// Makes room for `more` bytes, moving what is there where it must.
    pub(crate) fn reserve(&mut self, more: usize) -> io::Result<()> {
        let free = self.memory.capacity().saturating_sub(self.memory.len());
        if free >= more {
            return Ok(());
        }
        let mut larger = Self::for_bytes(self.len().saturating_add(more))?;
        larger.memory.extend_from_slice(self.memory.get(self.start..).unwrap_or_default());
        *self = larger;
        Ok(())
    }

    /// The bytes that are there, as memory that is held.
    pub(crate) fn into_memory(mut self) -> Result<Shared> {
        // The pointer is taken once, and the vector is not touched until it is dropped.
        let first = self.memory.as_mut_ptr().wrapping_add(self.start);
        Shared::new(Region::host(first, self.len()), WithSlack { _memory: self.memory })
    }
}

/// What keeps the bytes. It is no vector of them, for there is slack in front: nobody asks for it by
/// its type.
struct WithSlack {
    _memory: Vec<u8>,
}
