//! Where memory is, said without holding it.

use hurray_format::{DeviceTag, Expected, MIN_ALIGNMENT, MemoryClass, Rule, Value};

use super::{as_u64, refuse};
use crate::error::{Error, Result};

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
    /// Where the CPU finds the first byte, or null where it may not look. On the CPU that is
    /// `address` and `offset` together.
    pub host: *mut u8,
    /// How many bytes there are.
    pub length: u64,
    /// Whether the memory may be written to by whoever holds it alone.
    pub writable: bool,
    /// Whether others can still change what is in it, such as another process. It is never
    /// given out as a slice then.
    pub may_change: bool,
}

const LINE: u64 = MIN_ALIGNMENT as u64;

impl Region {
    /// Host memory of this process that only its holder may write to.
    #[inline]
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

    /// No memory: an empty region without an address.
    pub(crate) fn nowhere() -> Self {
        Self::host(std::ptr::null_mut(), 0)
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

    /// Makes it the region as memory is kept: from the multiple of 64 at or below its first
    /// byte (decision 1). Answers how many bytes in front are not its own. An empty region stays
    /// where it is. Refuses what cannot be memory.
    #[inline]
    pub(crate) fn settle(&mut self) -> Result<u8> {
        if self.length == 0 {
            return Ok(0);
        }
        self.check()?;
        let lead = self.position() % LINE;
        // `address` and `offset` together are `lead` or more.
        let of_offset = lead.min(self.offset);
        self.offset = self.offset.saturating_sub(of_offset);
        self.address = self.address.saturating_sub(lead.saturating_sub(of_offset));
        self.length = self.length.saturating_add(lead);
        if !self.host.is_null() {
            self.host = self.host.wrapping_sub(usize::try_from(lead).unwrap_or(0));
        }
        Ok(u8::try_from(lead).unwrap_or(0))
    }

    /// Refuses a region that is not empty and has no address, or none that can be counted to
    /// its end, or two that do not agree.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        let (on_cpu, host) = (self.device == DeviceTag::CPU, as_u64(self.host.addr()));
        let no_address = self.address == 0 && self.object == 0;
        let no_host = on_cpu && self.host.is_null();
        if no_address || no_host {
            return Err(no_memory());
        }
        let end = self.address.checked_add(self.offset).and_then(|at| at.checked_add(self.length));
        let host_end = host.checked_add(self.length);
        // A slice of Rust is never longer than `isize` counts.
        let addressable = isize::try_from(self.length).is_ok() || self.host.is_null();
        if end.is_none() || host_end.is_none() || !addressable {
            let found = Value::Unsigned(self.length);
            return Err(refuse(Rule::MemoryAddressBeyond, "length", found, Expected::Unsaid));
        }
        // No memory begins inside the first line of an address space. If any did, what is in
        // front of it would begin at null.
        let position = self.position();
        let in_first_line = self.object == 0 && position < LINE;
        if in_first_line || (!self.host.is_null() && host < LINE) {
            return Err(no_memory());
        }
        if on_cpu && position != host {
            let (found, expected) = (Value::Unsigned(host), Expected::Exactly(position));
            return Err(refuse(Rule::MemoryHostElsewhere, "host", found, expected));
        }
        if !self.host.is_null() && position % LINE != host % LINE {
            let expected = Expected::OneOf("as far behind a multiple of 64 as for the device");
            let rule = Rule::MemoryAddressMisaligned;
            return Err(refuse(rule, "host", Value::Unsigned(host), expected));
        }
        Ok(())
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

fn no_memory() -> Error {
    refuse(Rule::MemoryAddressNull, "address", Value::None, Expected::Unsaid)
}
