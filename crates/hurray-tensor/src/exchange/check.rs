//! A buffer of others against its handle: everything that page 10 refuses, before it is used.

use std::mem::offset_of;

use hurray_format::{BufferHandle, DeviceTag, Expected, Rule, SyncMode, Value};

use super::parcel::keeps_host_out;
use super::raw::{
    BUFFER_COPIED, BUFFER_MAY_CHANGE, BUFFER_READ_ONLY, EVENT_BINARY, EVENT_MULTI_WAIT, EVENT_NONE,
    EVENT_TIMELINE, HurrayBuffer, HurraySync, NO_QUEUE_FAMILY,
};
use super::refuse;
use crate::device::EventKind;
use crate::error::{Error, Result};
use crate::memory::{Region, as_u64};

const KNOWN_FLAGS: u64 = BUFFER_READ_ONLY | BUFFER_COPIED | BUFFER_MAY_CHANGE;

/// Checks a buffer. What it is then made from is memory: aligned as its handle says, not null, and
/// not beyond the end, unless it is empty.
#[inline(always)]
pub(super) fn buffer(raw: &HurrayBuffer, handle: BufferHandle) -> Result<()> {
    if raw.handle != handle.encode() {
        return Err(other_handle(raw, handle));
    }
    if raw.flags & !KNOWN_FLAGS != 0 {
        let found = Value::Tag(raw.flags);
        return Err(broken(Rule::ExchangeFlags, "flags", offset_of!(HurrayBuffer, flags), found));
    }
    sync(&raw.sync, handle)?;
    if handle.device() == DeviceTag::VULKAN {
        queue_family(raw)?;
    }
    if handle.byte_size() == 0 {
        return Ok(());
    }
    let host = as_u64(raw.host.addr());
    if host != 0 && keeps_host_out(handle.device(), handle.class()) {
        let found = Value::Tag(u64::from(handle.class().tag()));
        return Err(broken(Rule::ExchangeHost, "host", offset_of!(HurrayBuffer, host), found));
    }
    if handle.device() == DeviceTag::CPU && raw.address != host {
        let rule = if host == 0 { Rule::MemoryAddressNull } else { Rule::MemoryHostElsewhere };
        return Err(broken(rule, "host", offset_of!(HurrayBuffer, host), Value::Tag(host)));
    }
    aligned(raw.address, handle, "address", offset_of!(HurrayBuffer, address))?;
    aligned(host, handle, "host", offset_of!(HurrayBuffer, host))?;
    if raw.object != 0 {
        in_object(raw, handle)?;
    }
    // Aligned to 64 as it is, it has nothing in front.
    region(raw, handle, 0).check()
}

/// The place in an object is aligned, or the address behind its start.
fn in_object(raw: &HurrayBuffer, handle: BufferHandle) -> Result<()> {
    let at = offset_of!(HurrayBuffer, object_offset);
    match first_address(raw) {
        0 => aligned(raw.object_offset, handle, "object_offset", at),
        address if raw.object_offset <= address => Ok(()),
        _ => {
            let found = Value::Unsigned(raw.object_offset);
            Err(broken(Rule::MemoryAddressBeyond, "object_offset", at, found))
        }
    }
}

#[inline(always)]
fn first_address(raw: &HurrayBuffer) -> u64 {
    if raw.address == 0 { as_u64(raw.host.addr()) } else { raw.address }
}

/// Where a buffer is that was checked.
#[inline(always)]
pub(super) fn region(raw: &HurrayBuffer, handle: BufferHandle, place: usize) -> Region {
    let length = handle.byte_size();
    let is_empty = length == 0;
    let address = first_address(raw);
    let offset = if raw.object == 0 { 0 } else { raw.object_offset };
    // The region counts from where the object starts.
    let start = if address == 0 { 0 } else { address.wrapping_sub(offset) };
    Region {
        device: handle.device(),
        class: handle.class(),
        ordinal: raw.device_ordinal,
        uuid: raw.device_uuid,
        context: raw.device_context,
        object: if is_empty { 0 } else { raw.object },
        address: if is_empty { 0 } else { start },
        offset: if is_empty { 0 } else { offset },
        host: if is_empty { std::ptr::null_mut() } else { raw.host.cast() },
        length,
        writable: place == 0 && raw.flags & (BUFFER_READ_ONLY | BUFFER_MAY_CHANGE) == 0,
        may_change: raw.flags & BUFFER_MAY_CHANGE != 0,
    }
}

#[inline]
fn aligned(address: u64, handle: BufferHandle, field: &'static str, at: usize) -> Result<()> {
    if address & u64::from(handle.alignment()).wrapping_sub(1) == 0 {
        return Ok(());
    }
    let expected = Expected::OneOf("a multiple of the handle's alignment");
    Err(refuse(Rule::MemoryAddressMisaligned, field, at, Value::Tag(address), expected))
}

/// What the sync mode demands must be there, and nothing besides.
#[inline]
fn sync(sync: &HurraySync, handle: BufferHandle) -> Result<()> {
    let nothing = sync.event_kind == EVENT_NONE
        && sync.event == 0
        && sync.event_value == 0
        && sync.release_event.is_none()
        && sync.stream == 0
        && sync.reserved == [0; 6]
        && sync.spare == [0; 2];
    let same_device = sync.device_tag == handle.device().tag();
    if nothing && same_device && handle.sync() == SyncMode::PRODUCER_SYNCED {
        return Ok(());
    }
    payload(sync, handle)
}

#[cold]
fn payload(sync: &HurraySync, handle: BufferHandle) -> Result<()> {
    if sync.reserved != [0; 6] || sync.spare != [0; 2] {
        let at = offset_of!(HurraySync, reserved);
        return Err(in_sync(Rule::ExchangeReserved, "reserved", at, Value::None));
    }
    if sync.device_tag != handle.device().tag() {
        let found = Value::Tag(u64::from(sync.device_tag));
        return Err(in_sync(Rule::ExchangeSyncDevice, "device_tag", 0, found));
    }
    let at = offset_of!(HurraySync, event);
    if handle.sync() == SyncMode::EVENT {
        if sync.event == 0 || sync.event_kind == EVENT_NONE {
            return Err(in_sync(Rule::ExchangeEventMissing, "event", at, Value::None));
        }
        let kind = event_kind(sync)?;
        if sync.release_event.is_none() {
            let at = offset_of!(HurraySync, release_event);
            return Err(in_sync(Rule::ExchangeEventRelease, "release_event", at, Value::None));
        }
        if kind != EventKind::Timeline && sync.event_value != 0 {
            let at = offset_of!(HurraySync, event_value);
            let found = Value::Unsigned(sync.event_value);
            return Err(in_sync(Rule::ExchangeEventUnexpected, "event_value", at, found));
        }
    } else {
        let found = Value::Tag(u64::from(sync.event_kind));
        let nothing = sync.event == 0 && sync.event_value == 0 && sync.release_event.is_none();
        if !nothing || sync.event_kind != EVENT_NONE {
            return Err(in_sync(Rule::ExchangeEventUnexpected, "event", at, found));
        }
    }
    let at = offset_of!(HurraySync, stream);
    match (handle.sync() == SyncMode::CONSUMER_STREAM, sync.stream != 0) {
        (true, false) => Err(in_sync(Rule::ExchangeStreamMissing, "stream", at, Value::None)),
        (false, true) => {
            let found = Value::Tag(sync.stream);
            Err(in_sync(Rule::ExchangeStreamUnexpected, "stream", at, found))
        }
        _ => Ok(()),
    }
}

/// The kind of an event that is there.
pub(super) fn event_kind(sync: &HurraySync) -> Result<EventKind> {
    match sync.event_kind {
        EVENT_BINARY => Ok(EventKind::Binary),
        EVENT_TIMELINE => Ok(EventKind::Timeline),
        EVENT_MULTI_WAIT => Ok(EventKind::MultiWait),
        other => {
            let at = offset_of!(HurraySync, event_kind);
            let found = Value::Tag(u64::from(other));
            Err(in_sync(Rule::ExchangeEventKind, "event_kind", at, found))
        }
    }
}

/// No device here takes over what a queue family of Vulkan's owns.
fn queue_family(raw: &HurrayBuffer) -> Result<()> {
    if raw.queue_family == NO_QUEUE_FAMILY && raw.queue_family_to == NO_QUEUE_FAMILY {
        return Ok(());
    }
    let at = offset_of!(HurrayBuffer, queue_family);
    let found = Value::Unsigned(u64::from(raw.queue_family));
    Err(broken(Rule::ExchangeQueueFamily, "queue_family", at, found))
}

#[cold]
fn other_handle(raw: &HurrayBuffer, handle: BufferHandle) -> Error {
    let at = offset_of!(HurrayBuffer, handle);
    let differs = raw.handle.iter().zip(handle.encode()).position(|(theirs, ours)| *theirs != ours);
    let found = Value::first_of(raw.handle.get(differs.unwrap_or(0)..).unwrap_or(&[]));
    broken(Rule::ExchangeHandle, "handle", at.saturating_add(differs.unwrap_or(0)), found)
}

#[cold]
fn broken(rule: Rule, field: &'static str, at: usize, found: Value) -> Error {
    refuse(rule, field, at, found, Expected::Unsaid)
}

#[cold]
fn in_sync(rule: Rule, field: &'static str, at: usize, found: Value) -> Error {
    let at = offset_of!(HurrayBuffer, sync).saturating_add(at);
    refuse(rule, field, at, found, Expected::Unsaid)
}
