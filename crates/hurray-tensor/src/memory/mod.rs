//! Memory and who keeps it alive: what stands behind every buffer.

#![allow(unsafe_code, reason = "memory that another thread may hold and drop is declared so here")]

mod allocation;
mod owner;
mod release;
mod room;
mod vector;

use std::any::Any;
use std::sync::Arc;

use hurray_format::{DeviceTag, Error as FormatError, Expected, MIN_ALIGNMENT, MemoryClass, Rule};
use hurray_format::{SyncMode, Value};

pub use allocation::Alignment;
pub(crate) use allocation::{allocate, want_large_pages};
pub(crate) use owner::{SharedOwner, kept_by};
pub(crate) use release::Release;
pub(crate) use room::Room;
pub(crate) use vector::Vector;

use crate::error::Result;

/// Where a stretch of memory is, who may touch it, and how. Driver handles are plain
/// numbers, as the exchange structs carry them.
///
/// A region says where memory is and keeps nothing alive; it is safe to make and means
/// nothing until somebody promises that it is true, as [`Buffer::adopt`](crate::Buffer::adopt)
/// asks.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// The memory space.
    pub device: DeviceTag,
    /// Who can touch it without a copy.
    pub class: MemoryClass,
    /// Which device of its kind, in this process; -1 where it is not known.
    pub ordinal: i64,
    /// The device's own number; zero where it is not known.
    pub uuid: [u8; 16],
    /// The driver's context, or 0.
    pub context: u64,
    /// The driver's object that holds the memory, or 0.
    pub object: u64,
    /// An address of the device or the host, or 0.
    pub address: u64,
    /// From `address`, or from the start of `object`, to the first byte.
    pub offset: u64,
    /// Where the CPU finds the first byte, or null where it may not look.
    pub host: *mut u8,
    /// How many bytes there are.
    pub length: u64,
    /// Whether the memory may be written to by whoever holds it alone.
    pub writable: bool,
    /// Whether others can still change what is in it, such as another process. It is never
    /// given out as a slice then.
    pub may_change: bool,
}

impl Region {
    /// Host memory of this process that only its holder may write to.
    pub fn host(first: *mut u8, length: usize) -> Self {
        Self {
            device: DeviceTag::CPU,
            class: MemoryClass::STANDARD,
            ordinal: 0,
            uuid: [0; 16],
            context: 0,
            object: 0,
            address: as_u64(first.addr()),
            offset: 0,
            host: first,
            length: as_u64(length),
            writable: true,
            may_change: false,
        }
    }

    /// The same, never to be written to.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.writable = false;
        self
    }

    /// What alignment counts from: the first byte's address, or its place in an object that
    /// has none.
    pub(crate) fn position(&self) -> u64 {
        self.address.wrapping_add(self.offset)
    }

    /// Refuses what cannot be memory: no address, or none that can be counted to its end.
    pub(crate) fn check(&self) -> Result<()> {
        if self.length == 0 {
            return Ok(());
        }
        let no_address = self.address == 0 && self.object == 0;
        let no_host = self.device == DeviceTag::CPU && self.host.is_null();
        if no_address || no_host {
            return Err(refuse(Rule::MemoryAddressNull, "address", Value::None, Expected::Unsaid));
        }
        let end = self.address.checked_add(self.offset).and_then(|at| at.checked_add(self.length));
        let host_end = as_u64(self.host.addr()).checked_add(self.length);
        // A slice of Rust is never longer than `isize` counts.
        let addressable = isize::try_from(self.length).is_ok() || self.host.is_null();
        if end.is_none() || host_end.is_none() || !addressable {
            let found = Value::Unsigned(self.length);
            return Err(refuse(Rule::MemoryAddressBeyond, "length", found, Expected::Unsaid));
        }
        Ok(())
    }

    /// The region from the multiple of 64 at or below its first byte (decision 1), and how
    /// many bytes in front are not its own. An empty region stays where it is.
    pub(crate) fn down_to_boundary(mut self) -> (Self, u8) {
        let lead = match self.length {
            0 => 0,
            _ => self.position() & u64::from(MIN_ALIGNMENT).wrapping_sub(1),
        };
        // One of the two is large enough, since their sum is.
        match self.offset.checked_sub(lead) {
            Some(offset) => self.offset = offset,
            None => self.address = self.address.wrapping_sub(lead),
        }
        self.length = self.length.saturating_add(lead);
        if !self.host.is_null() {
            self.host = self.host.wrapping_sub(usize::try_from(lead).unwrap_or(0));
        }
        (self, u8::try_from(lead).unwrap_or(0))
    }

    /// The region `start` bytes further, `length` long. Both were checked to lie inside.
    pub(crate) fn part(mut self, start: u64, length: u64) -> Self {
        self.offset = self.offset.wrapping_add(start);
        if !self.host.is_null() {
            self.host = self.host.wrapping_add(usize::try_from(start).unwrap_or(0));
        }
        self.length = length;
        self
    }
}

/// A region with what keeps it alive. Dropping it is releasing it: once, from any thread.
pub(crate) struct Memory<K: ?Sized = dyn Any + Send + Sync> {
    /// From a multiple of 64 on.
    pub(crate) region: Region,
    /// How many bytes at the start are not ours: in front of what was adopted, inside the
    /// same line. They are never touched.
    pub(crate) lead: u8,
    /// Frees or releases the memory when it is dropped.
    pub(crate) keep: K,
}

// SAFETY: a region holds one pointer, which is only ever used through a buffer: to read while
// shared, to write while there is a single holder. Both follow the rules of references, and
// whoever made the region promised that the memory may be used from any thread.
unsafe impl<K: Send + ?Sized> Send for Memory<K> {}
// SAFETY: as above; `keep` is only touched when it is dropped, but `Sync` is asked of it all
// the same.
unsafe impl<K: Sync + ?Sized> Sync for Memory<K> {}

/// Memory held by every buffer that lies in it.
pub(crate) type Shared = Arc<Memory>;

/// Memory kept alive by `keep`.
pub(crate) fn share<K: Any + Send + Sync>(region: Region, keep: K) -> Result<Shared> {
    region.check()?;
    let (region, lead) = region.down_to_boundary();
    Ok(Arc::new(Memory { region, lead, keep }))
}

#[cold]
pub(crate) fn refuse(
    rule: Rule,
    field: &'static str,
    found: Value,
    expected: Expected,
) -> crate::Error {
    FormatError::new(rule, field, 0, found, expected).into()
}

/// What sync a handle of memory at hand declares: the waiting is done.
pub(crate) const READY: SyncMode = SyncMode::PRODUCER_SYNCED;

pub(crate) fn as_u64(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
