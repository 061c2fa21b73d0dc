//! Buffers: memory that is held, and where each of its kinds may be touched.
//!
//! ```text
//! Unfilled --finish--> BufferMut --freeze--> Buffer --into_host--> HostBuffer (derefs to bytes)
//!                   DeviceMemory --freeze--^   |    Offered --acquire_host--^
//!                                              +--into_shared--> SharedBytes (copied out)
//! ```

mod adopt;
#[cfg(feature = "bytes")]
mod bytes;
mod fill;
mod host;
mod mutable;
mod shared;

pub use fill::Unfilled;
pub use host::HostBuffer;
pub use mutable::{BufferMut, DeviceMemory};
pub use shared::SharedBytes;
pub(crate) use shared::copy_changing;

use std::fmt;

use hurray_format::{BufferHandle, DeviceTag, Expected, MIN_ALIGNMENT, MemoryClass, Rule, Value};

use crate::error::{Error, Result};
use crate::memory::{Alignment, READY, Region, Shared, refuse};

/// A share in memory that does not change any more, on the host or on a device.
///
/// Cloning it is one atomic count; dropping the last share releases the memory, once, on
/// whatever thread that is. The address never moves. Whatever was to be waited for before the
/// memory may be used has been waited for.
///
/// ```
/// use hurray_tensor::{Buffer, BufferMut};
///
/// let mut memory = BufferMut::zeroed(256)?;
/// memory[64..68].copy_from_slice(&[1, 2, 3, 4]);
/// let whole: Buffer = memory.freeze();
/// let part = whole.slice(64..128)?;
/// assert_eq!(part.host_bytes()?[..4], [1, 2, 3, 4]);
/// assert_eq!(part.host_bytes()?.as_ptr(), whole.host_bytes()?[64..].as_ptr());
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
#[derive(Clone)]
pub struct Buffer {
    memory: Shared,
    /// From the memory's first byte, a multiple of 64, to the buffer's.
    start: u64,
    /// The memory that the buffer holds from there, what is in front of adopted memory
    /// included.
    length: u64,
}

/// What was not taken, and why.
#[derive(Debug)]
pub struct Returned<T> {
    /// What was given, as it was.
    pub value: T,
    /// Why it was not taken.
    pub error: Error,
}

/// Only why; what was given is dropped.
impl<T> From<Returned<T>> for Error {
    fn from(returned: Returned<T>) -> Self {
        returned.error
    }
}

/// The same.
impl<T> From<Box<Returned<T>>> for Error {
    fn from(returned: Box<Returned<T>>) -> Self {
        returned.error
    }
}

impl Buffer {
    /// A buffer of no bytes.
    pub fn empty() -> Self {
        Self::whole(Shared::settled(Region::nowhere(), 0, ()))
    }

    pub(crate) fn whole(memory: Shared) -> Self {
        let length = memory.region.length;
        Self { memory, start: 0, length }
    }

    /// From the first byte of its memory to its own.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// What keeps its memory, where that is an `O`.
    pub(crate) fn keeper<O: std::any::Any + Sync>(&self) -> Option<&O> {
        self.memory.keeper()
    }

    /// Its length in bytes as a tensor's handle counts it: from the multiple of 64 at or
    /// below its first byte.
    #[inline]
    pub fn byte_size(&self) -> u64 {
        self.length
    }

    /// Whether there are no bytes. An empty buffer has no address and is never looked at.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// How many bytes at the start are not part of the buffer: what lies between a multiple
    /// of 64 and memory that was adopted behind it (0 to 63). A tensor's `byte_offset` steps
    /// over them; they are never read, and written to files as zeros.
    #[inline]
    pub fn lead(&self) -> u64 {
        // Parts start at multiples of 64, and an empty one has nothing in front.
        if self.start == 0 && self.length > 0 { u64::from(self.memory.lead) } else { 0 }
    }

    /// Where it is. The region's bytes are those of [`byte_size`](Self::byte_size).
    pub fn region(&self) -> Region {
        self.memory.region.part(self.start, self.length)
    }

    /// The memory space it is in.
    #[inline]
    pub fn device(&self) -> DeviceTag {
        self.memory.region.device
    }

    /// Who can touch it without a copy.
    #[inline]
    pub fn class(&self) -> MemoryClass {
        self.memory.region.class
    }

    /// Whether its sole holder may write to it.
    pub fn is_writable(&self) -> bool {
        self.memory.region.writable
    }

    /// What its first byte's address is a multiple of: at most 2 MiB, 64 or more; 1 where it
    /// is empty.
    pub fn alignment(&self) -> u32 {
        const MOST: u32 = 2 << 20;
        if self.is_empty() {
            return 1;
        }
        let position = self.memory.region.position().wrapping_add(self.start);
        1_u32.checked_shl(position.trailing_zeros()).map_or(MOST, |found| found.min(MOST))
    }

    /// The handle that describes it in a descriptor, at an alignment of 64; in the memory of
    /// a device at 4096, which writers to devices owe, where it has that.
    ///
    /// # Errors
    ///
    /// The rules of `buffer.*`, for a device and class that the format does not pair.
    pub fn handle(&self) -> Result<BufferHandle> {
        let is_page = self.alignment() >= Alignment::PAGE.bytes();
        self.handle_at(match self.device() {
            DeviceTag::CPU => Alignment::LINE,
            _ if is_page => Alignment::PAGE,
            _ => Alignment::LINE,
        })
    }

    /// The handle that describes it, and vouches for a larger alignment: writers to devices,
    /// other processes and RDMA owe a [page](Alignment::PAGE).
    ///
    /// # Errors
    ///
    /// As [`handle`](Self::handle); `memory.address-misaligned` where it is not so aligned.
    pub fn handle_at(&self, alignment: Alignment) -> Result<BufferHandle> {
        let position = self.memory.region.position().wrapping_add(self.start);
        let beyond = position & u64::from(alignment.bytes()).wrapping_sub(1);
        if beyond != 0 && !self.is_empty() {
            let expected = Expected::OneOf("a multiple of the alignment");
            let rule = Rule::MemoryAddressMisaligned;
            return Err(refuse(rule, "address", Value::Tag(position), expected));
        }
        let (device, class) = (self.device(), self.class());
        Ok(BufferHandle::new(self.length, alignment.bytes(), device, READY, class)?)
    }

    /// A part of it, without a copy. Parts start at multiples of 64; a tensor that starts
    /// elsewhere moves its `byte_offset`.
    ///
    /// The range counts as a tensor's handle does, from the multiple of 64 at or below the first
    /// byte: of adopted memory that starts elsewhere the first [`lead`](Self::lead) bytes of that
    /// are not the buffer's own, and where a vector starts is up to the allocator. Code that cuts
    /// adopted memory at offsets of its own adds `lead` to them.
    ///
    /// # Errors
    ///
    /// `memory.range` beyond the end, and for a part that would lie in front of the first byte
    /// alone; `memory.slice-unaligned`.
    pub fn slice(&self, range: std::ops::Range<u64>) -> Result<Self> {
        if range.start > range.end || range.end > self.length {
            let found = Value::Unsigned(range.end.max(range.start));
            let expected = Expected::AtMost(self.length);
            return Err(refuse(Rule::MemoryRange, "range", found, expected));
        }
        let length = range.end.saturating_sub(range.start);
        if length > 0 && range.start & u64::from(MIN_ALIGNMENT).wrapping_sub(1) != 0 {
            let found = Value::Unsigned(range.start);
            let expected = Expected::OneOf("a multiple of 64");
            return Err(refuse(Rule::MemorySliceUnaligned, "range", found, expected));
        }
        // What is in front of adopted memory alone is no memory.
        if length > 0 && range.end <= self.lead() {
            let (found, expected) =
                (Value::Unsigned(range.end), Expected::AtLeast(self.lead().saturating_add(1)));
            return Err(refuse(Rule::MemoryRange, "range", found, expected));
        }
        let start = self.start.saturating_add(range.start);
        Ok(Self { memory: self.memory.clone(), start, length })
    }

    /// The same buffer as one that derefs to its bytes.
    ///
    /// # Errors
    ///
    /// As [`host_bytes`](Self::host_bytes).
    pub fn into_host(self) -> Result<HostBuffer, Returned<Self>> {
        HostBuffer::new(self)
    }

    /// The memory to write to, where nobody else holds it and it may be written to.
    ///
    /// ```
    /// use hurray_tensor::BufferMut;
    /// let buffer = BufferMut::zeroed(64)?.freeze();
    /// let other = buffer.clone();
    /// let buffer = buffer.try_into_mut().unwrap_err().value;
    /// drop(other);
    /// buffer.try_into_mut().unwrap()[0] = 1;
    /// # Ok::<(), hurray_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The buffer, with `memory.shared`, `memory.read-only`, or as
    /// [`host_bytes`](Self::host_bytes).
    pub fn try_into_mut(self) -> Result<BufferMut, Returned<Self>> {
        BufferMut::new(self)
    }

    /// Whether both are in the same memory, which is released as one.
    pub fn shares_memory_with(&self, other: &Self) -> bool {
        self.memory.is(&other.memory)
    }

    #[inline]
    pub(crate) fn may_change(&self) -> bool {
        self.memory.region.may_change
    }

    pub(crate) fn check_host(&self) -> Result<()> {
        self.check_address()?;
        self.check_unchanging()
    }

    fn check_unchanging(&self) -> Result<()> {
        if self.memory.region.may_change && self.length > 0 {
            return Err(refuse(Rule::MemoryMayChange, "memory", Value::None, Expected::Unsaid));
        }
        Ok(())
    }

    fn check_address(&self) -> Result<()> {
        if self.memory.region.host.is_null() && self.length > 0 {
            let found = Value::Tag(u64::from(self.device().tag()));
            return Err(refuse(Rule::MemoryNotHost, "device_tag", found, Expected::Unsaid));
        }
        Ok(())
    }

    /// Whether it is all of the memory that is held.
    pub(crate) fn is_all(&self) -> bool {
        self.start == 0 && self.length == self.memory.region.length
    }

    /// Whether no other buffer is in the memory.
    pub(crate) fn is_sole(&mut self) -> bool {
        self.memory.is_sole()
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (device, class) = (self.device(), self.class());
        write!(f, "Buffer({} bytes, {device} {class})", self.length)
    }
}
