//! Buffers whose bytes the CPU may look at.

#![allow(unsafe_code, reason = "the one place where held memory becomes a slice")]

use std::fmt;
use std::ops::Deref;
use std::slice;

use super::{Buffer, Returned};
use crate::error::Result;
use crate::memory::Room;

/// A [`Buffer`] that was checked to be host memory nobody can change: it derefs to its bytes.
#[derive(Clone)]
pub struct HostBuffer(Buffer);

impl HostBuffer {
    pub(super) fn new(buffer: Buffer) -> Result<Self, Returned<Buffer>> {
        match buffer.check_host() {
            Ok(()) => Ok(Self(buffer)),
            Err(error) => Err(Returned { value: buffer, error }),
        }
    }

    /// Memory of our own that was read into, where it is.
    pub(crate) fn filled(room: Room) -> Result<Self> {
        let buffer = Buffer::whole(room.into_memory()?);
        Self::new(buffer).map_err(|returned| returned.error)
    }

    /// The buffer it is.
    pub fn as_buffer(&self) -> &Buffer {
        &self.0
    }

    /// The buffer it was.
    pub fn into_buffer(self) -> Buffer {
        self.0
    }
}

impl Buffer {
    /// Its bytes, where the CPU may look at them and nobody can change them. The bytes of
    /// [`lead`](Self::lead) are not among them.
    ///
    /// # Errors
    ///
    /// `memory.not-host`, `memory.may-change`.
    pub fn host_bytes(&self) -> Result<&[u8]> {
        self.check_host()?;
        // SAFETY: it is not marked as changing, as was checked just now.
        Ok(unsafe { self.bytes_unchanging() })
    }

    /// The bytes, none where the CPU may not look at them.
    ///
    /// # Safety
    ///
    /// The memory is not marked as changing; or the caller knows that nobody writes to it while
    /// the bytes are borrowed.
    pub(super) unsafe fn bytes_unchanging(&self) -> &[u8] {
        let (first, length) = self.own();
        if length == 0 {
            return &[];
        }
        // SAFETY: whoever made the memory promised that its region is host memory for as long
        // as it is held, initialised, and not written to by others while it is not marked as
        // changing; where it is, the caller does. The bytes lie inside the region, which was checked
        // to have an address and no more bytes than `isize` counts. Writing is only possible
        // through a `BufferMut`, which is made from the only hold there is; so none exists while
        // this shared borrow does.
        unsafe { slice::from_raw_parts(first, length) }
    }

    /// Where the CPU finds the bytes behind [`lead`](Self::lead), and how many there are; none
    /// where it does not.
    pub(super) fn own(&self) -> (*mut u8, usize) {
        let lead = self.lead();
        let host = self.memory.region.host;
        if host.is_null() {
            return (host, 0);
        }
        let length = usize::try_from(self.length.saturating_sub(lead)).unwrap_or(0);
        let first = usize::try_from(self.start.saturating_add(lead)).unwrap_or(0);
        (host.wrapping_add(first), length)
    }
}

impl Deref for HostBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `new` checked that it is not marked as changing.
        unsafe { self.0.bytes_unchanging() }
    }
}

impl AsRef<[u8]> for HostBuffer {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl PartialEq for HostBuffer {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for HostBuffer {}

impl fmt::Debug for HostBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostBuffer({} bytes)", self.len())
    }
}

impl From<HostBuffer> for Buffer {
    fn from(host: HostBuffer) -> Self {
        host.0
    }
}
