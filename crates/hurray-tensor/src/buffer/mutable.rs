//! Memory with a single holder, who may write to it.

#![allow(unsafe_code, reason = "held memory becomes a slice to write to here, and nowhere else")]

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::slice;

use hurray_format::{Expected, Rule, Value};

use super::{Buffer, Returned};
use crate::element::Element;
use crate::error::Result;
use crate::memory::{Alignment, Contents, Region, allocate, of_vec, refuse};

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
    /// Out of memory, as an error and not as an abort; `memory.too-large` for more than can be
    /// addressed.
    pub fn zeroed(length: usize) -> Result<Self> {
        Self::zeroed_at(Alignment::LINE, length)
    }

    /// `length` bytes of zeros, at a multiple of `alignment`. Large memory at a page or more is
    /// pages of its own, which the system fills when they are touched.
    ///
    /// # Errors
    ///
    /// As [`zeroed`](Self::zeroed).
    pub fn zeroed_at(alignment: Alignment, length: usize) -> Result<Self> {
        let (memory, _) = allocate(length, alignment, Contents::Zeros)?;
        Ok(Self(Buffer::whole(memory)))
    }

    /// A vector's memory, where it is. A vector is rarely aligned to 64: see
    /// [`lead`](Buffer::lead). [`Buffer::try_into_vec`] gives the vector back.
    ///
    /// # Errors
    ///
    /// None that memory of a vector can break; what cannot be held is refused all the same.
    pub fn from_vec<T: Element>(elements: Vec<T>) -> Result<Self> {
        Ok(Self(Buffer::whole(of_vec(elements)?)))
    }

    /// Memory that was allocated for this, and filled.
    pub(super) fn filled(memory: Buffer) -> Self {
        Self(memory)
    }

    pub(super) fn new(mut buffer: Buffer) -> Result<Self, Returned<Buffer>> {
        match host_writable(&mut buffer) {
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

impl Buffer {
    /// Where the CPU may write to its sole holder's memory, as long as it stays that.
    pub(crate) fn host_mut(&mut self) -> Result<*mut u8> {
        host_writable(self)?;
        Ok(self.region().host)
    }
}

/// Why the CPU may not write to the buffer, if it may not.
fn host_writable(buffer: &mut Buffer) -> Result<()> {
    writable(buffer)?;
    buffer.check_host()
}

/// Why the buffer may not be written to, if it may not.
fn writable(buffer: &mut Buffer) -> Result<()> {
    let rule = match () {
        () if !buffer.is_writable() => Rule::MemoryReadOnly,
        () if !buffer.is_sole() => Rule::MemoryShared,
        () => return Ok(()),
    };
    Err(refuse(rule, "memory", Value::None, Expected::Unsaid))
}

impl Deref for BufferMut {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: it is our own memory, or was checked not to be marked as changing.
        unsafe { self.0.bytes_unchanging() }
    }
}

impl DerefMut for BufferMut {
    fn deref_mut(&mut self) -> &mut [u8] {
        let (first, length) = self.0.own();
        if length == 0 {
            return &mut [];
        }
        // SAFETY: as for reading, the region is initialised host memory that is held, and
        // `first` and `length` lie inside. It may be written to, and there is no other hold on
        // it: a `BufferMut` is only made where that was so, and gives none away. The exclusive
        // borrow of `self` keeps any other slice of it from existing meanwhile.
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
    /// Takes memory that nobody else holds and that may be written to. In what others can change
    /// there are others, however few hold it here.
    ///
    /// # Errors
    ///
    /// The buffer, with `memory.shared`, `memory.read-only` or `memory.may-change`.
    pub fn new(mut buffer: Buffer) -> Result<Self, Returned<Buffer>> {
        match writable(&mut buffer).and_then(|()| buffer.check_unchanging()) {
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

    /// How many bytes it has, [`lead`](Buffer::lead) included.
    pub fn byte_size(&self) -> u64 {
        self.0.byte_size()
    }

    /// How many bytes at the start are not part of it: see [`Buffer::lead`].
    pub fn lead(&self) -> u64 {
        self.0.lead()
    }
}

impl From<BufferMut> for DeviceMemory {
    fn from(memory: BufferMut) -> Self {
        Self(memory.0)
    }
}
