//! Memory that a buffer was read into, aligned as the format wants it.

use std::fmt;
use std::io;
use std::ops::Deref;

use hurray_format::MIN_ALIGNMENT;

/// Bytes at an address that is a multiple of 64.
///
/// ```
/// use hurray_tensor::AlignedBytes;
/// let bytes = AlignedBytes::copy_of(&[1, 2, 3])?;
/// assert_eq!(bytes.as_ptr().addr() % 64, 0);
/// assert_eq!(bytes[..], [1, 2, 3]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct AlignedBytes {
    /// A few bytes of slack, then the bytes.
    memory: Vec<u8>,
    start: usize,
}

const ALIGNMENT: usize = MIN_ALIGNMENT as usize;

impl AlignedBytes {
    /// A copy of `bytes`.
    ///
    /// # Errors
    ///
    /// Out of memory, as an error and not as an abort.
    pub fn copy_of(bytes: &[u8]) -> io::Result<Self> {
        let mut copy = Self::with_room(bytes.len())?;
        copy.memory.extend_from_slice(bytes);
        Ok(copy)
    }

    /// Room for `length` bytes, none of them there yet.
    ///
    /// # Errors
    ///
    /// Out of memory, as an error and not as an abort.
    pub(crate) fn with_room(length: usize) -> io::Result<Self> {
        let mut memory: Vec<u8> = Vec::new();
        memory.try_reserve_exact(length.saturating_add(ALIGNMENT))?;
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        if start >= ALIGNMENT {
            return Err(io::Error::from(io::ErrorKind::OutOfMemory));
        }
        memory.resize(start, 0);
        Ok(Self { memory, start })
    }

    /// Where the first byte is, to be written to by whoever keeps these bytes.
    pub(crate) fn first_mut(&mut self) -> *mut u8 {
        self.memory.as_mut_ptr().wrapping_add(self.start)
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
        let mut larger = Self::with_room(self.len().saturating_add(more))?;
        larger.memory.extend_from_slice(self);
        *self = larger;
        Ok(())
    }
}

impl Deref for AlignedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.memory.get(self.start..).unwrap_or_default()
    }
}

impl AsRef<[u8]> for AlignedBytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl PartialEq for AlignedBytes {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for AlignedBytes {}

impl fmt::Debug for AlignedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.len())
    }
}
