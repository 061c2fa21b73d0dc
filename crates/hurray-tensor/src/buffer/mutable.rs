//! Memory with a single holder, who may write to it.

#![allow(unsafe_code, reason = "held memory becomes a slice to write to here, and nowhere else")]

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::slice;

use hurray_format::{Expected, Rule, Value};

use super::{Buffer, Returned};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::memory::{Alignment, Region, Room, Vector, allocate, as_u64, refuse, share};

/// Host memory that nobody else holds: it derefs to its bytes, and is made to be filled and
/// frozen.
///
/// ```
/// use hurray_tensor::{Alignment, BufferMut};
///
/// let mut page = BufferMut::zeroed_at(Alignment::PAGE, 8192)?;
/// page.fill(7);
/// let buffer = page.freeze();
/// assert!(buffer.alignment() >= 4096);
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
pub struct BufferMut(Buffer);

impl BufferMut {
    /// `length` bytes of zeros, at a multiple of 64.
    ///
    /// # Errors
    ///
    /// Out of memory, as an error and not as an abort.
    pub fn zeroed(length: usize) -> Result<Self> {
        Self::zeroed_at(Alignment::LINE, length)
    }

    /// `length` bytes of zeros, at a multiple of `alignment`.
    ///
    /// # Errors
    ///
    /// Out of memory, as an error and not as an abort.
    pub fn zeroed_at(alignment: Alignment, length: usize) -> Result<Self> {
        Ok(Self(Buffer::whole(allocate(length, alignment)?)))
    }

    /// A copy of `bytes`, at a multiple of 64.
    ///
    /// # Errors
    ///
    /// Out of memory, as an error and not as an abort.
    pub fn copy_of(bytes: &[u8]) -> Result<Self> {
        let copy = Room::copy_of(bytes).map_err(|error| Error::io("allocate", error))?;
        Ok(Self(Buffer::whole(copy.into_memory()?)))
    }

    /// A vector's memory, where it is. A vector is rarely aligned to 64: see
    /// [`lead`](Buffer::lead). [`Buffer::try_into_vec`] gives it back.
    ///
    /// # Errors
    ///
    /// None that memory of a vector can break; what cannot be held is refused all the same.
    pub fn from_vec<T: Element>(elements: Vec<T>) -> Result<Self> {
        let (keep, region) = Vector::new(elements);
        Ok(Self(Buffer::whole(share(region, keep)?)))
    }

    pub(super) fn new(mut buffer: Buffer) -> Result<Self, Returned<Buffer>> {
        match writable(&mut buffer).and_then(|()| buffer.check_host()) {
            Ok(()) => Ok(Self(buffer)),
            Err(error) => Err(Returned { value: buffer, error }),
        }
    }

    /// The memory, never to be written to again while somebody shares it.
    pub fn freeze(self) -> Buffer {
        self.0
    }

    /// Where it is, with [`lead`](Buffer::lead) in front.
    pub fn region(&self) -> Region {
        self.0.region()
    }
}

/// Why the buffer may not be written to, if it may not.
fn writable(buffer: &mut Buffer) -> Result<()> {
    if !buffer.is_writable() {
        return Err(refuse(Rule::MemoryReadOnly, "memory", Value::None, Expected::Unsaid));
    }
    if !buffer.is_sole() {
        return Err(refuse(Rule::MemoryShared, "memory", Value::None, Expected::Unsaid));
    }
    Ok(())
}

impl Deref for BufferMut {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.bytes_unchecked()
    }
}

impl DerefMut for BufferMut {
    fn deref_mut(&mut self) -> &mut [u8] {
        let length = self.len();
        if length == 0 {
            return &mut [];
        }
        let region = self.0.region();
        let lead = usize::try_from(self.0.lead()).unwrap_or(0);
        let first = region.host.wrapping_add(lead);
        // SAFETY: as for reading, the region is initialised host memory that is held, and
        // `first` and `length` lie inside. It may be written to, and there is no other share
        // in it: a `BufferMut` is only made where that was so, and gives none away. The
        // exclusive borrow of `self` keeps any other slice of it from existing meanwhile.
        unsafe { slice::from_raw_parts_mut(first, length) }
    }
}

impl fmt::Debug for BufferMut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BufferMut({} bytes)", self.len())
    }
}

impl From<BufferMut> for Buffer {
    fn from(memory: BufferMut) -> Self {
        memory.freeze()
    }
}

/// Memory with a single holder that need not be the host's: what a device copies into.
#[derive(Debug)]
pub struct DeviceMemory(Buffer);

impl DeviceMemory {
    /// Takes memory that nobody else holds and that may be written to.
    ///
    /// # Errors
    ///
    /// The buffer, with `memory.shared` or `memory.read-only`.
    pub fn new(mut buffer: Buffer) -> Result<Self, Returned<Buffer>> {
        match writable(&mut buffer) {
            Ok(()) => Ok(Self(buffer)),
            Err(error) => Err(Returned { value: buffer, error }),
        }
    }

    /// The memory, never to be written to again while somebody shares it. What is in it is
    /// whatever its device left there.
    pub fn freeze(self) -> Buffer {
        self.0
    }

    /// Where it is.
    pub fn region(&self) -> Region {
        self.0.region()
    }

    /// How many bytes it has.
    pub fn byte_size(&self) -> u64 {
        self.0.byte_size()
    }
}

impl From<BufferMut> for DeviceMemory {
    fn from(memory: BufferMut) -> Self {
        Self(memory.0)
    }
}

impl Buffer {
    /// A copy of it in host memory of its own, at a multiple of 64; what is in front of
    /// adopted memory becomes zeros.
    ///
    /// # Errors
    ///
    /// As [`host_bytes`](Self::host_bytes); out of memory.
    pub fn copy_to_host(&self) -> Result<BufferMut> {
        let bytes = self.host_bytes()?;
        let length = usize::try_from(self.byte_size()).unwrap_or(usize::MAX);
        let mut copy = BufferMut::zeroed(length)?;
        let lead = usize::try_from(self.lead()).unwrap_or(0);
        debug_assert_eq!(as_u64(bytes.len()).saturating_add(self.lead()), self.byte_size());
        if let Some(target) = copy.get_mut(lead..) {
            target.copy_from_slice(bytes);
        }
        Ok(copy)
    }
}
