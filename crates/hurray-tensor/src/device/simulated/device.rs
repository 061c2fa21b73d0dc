//! One simulated device.

use std::sync::Arc;

use hurray_format::{Expected, MemoryClass, Rule, Value};

use super::machine::{Act, Bench};
use super::memory::{Capacity, Mapping};
use super::queue::{self, Stretch, Work};
use super::signal::{self, Signal};
use super::watch::Waiter;
use super::{CAPACITY, HOST_VISIBLE, PEER, TAG, timeline};
use crate::buffer::{Buffer, DeviceMemory};
use crate::device::{Device, EventKind, ExportedMemory, Identity, OsHandle, RawEvent};
use crate::error::Result;
use crate::memory::{Alignment, Region, as_u64, refuse};

const CLASSES: &[MemoryClass] = &[MemoryClass::STANDARD, HOST_VISIBLE, PEER];

/// One device of a machine.
#[derive(Debug)]
pub(super) struct Simulated {
    identity: Identity,
    pub(super) capacity: Arc<Capacity>,
    bench: Arc<Bench>,
}

impl Simulated {
    pub(super) fn new(ordinal: u8, bench: Arc<Bench>) -> Self {
        let mut uuid = *b"hurray-simulate\0";
        if let Some(last) = uuid.last_mut() {
            *last = ordinal;
        }
        let name = format!("simulated {ordinal}");
        let identity = Identity { tag: TAG, ordinal: i64::from(ordinal), uuid, name };
        Self { identity, capacity: Arc::new(Capacity::new(CAPACITY)), bench }
    }

    fn check_class(&self, class: MemoryClass) -> Result<()> {
        if CLASSES.contains(&class) {
            return Ok(());
        }
        let found = Value::Tag(u64::from(class.tag()));
        Err(refuse(Rule::DeviceClass, "memory_class", found, Expected::Unsaid))
    }

    /// Where memory of this device is: an empty region where there is no mapping.
    fn region(
        &self,
        mapping: Option<(&Mapping, usize)>,
        length: u64,
        class: MemoryClass,
    ) -> Region {
        let mut region = Region::host(std::ptr::null_mut(), 0);
        self.identity.mark(&mut region);
        region.class = class;
        region.length = length;
        if let Some((mapping, start)) = mapping {
            let first = mapping.first.wrapping_add(start);
            region.address = as_u64(first.addr());
            region.writable = mapping.writable;
            region.may_change = mapping.may_change;
            if self.host_can_read(class) {
                region.host = first;
            }
        }
        region
    }

    /// Whether work of this device may touch it.
    fn check_reach(&self, region: &Region) -> Result<()> {
        let is_shared = matches!(region.class, HOST_VISIBLE | PEER);
        let is_own = self.identity.owns(region) || (region.device == TAG && is_shared);
        if is_own || !region.host.is_null() {
            return Ok(());
        }
        let found = Value::Tag(u64::from(region.device.tag()));
        let expected = Expected::OneOf("memory of this device, of its peers or of the host");
        Err(refuse(Rule::SyncDeviceMismatch, "memory", found, expected))
    }
}

fn no_address(length: u64) -> crate::Error {
    refuse(Rule::MemoryTooLarge, "length", Value::Unsigned(length), Expected::Unsaid)
}

// SAFETY: memory is a mapping of its own that its buffer keeps; zeroed by the system. A stream's
// thread works in order, completes an event after what was queued before it, and goes on after a
// wait when the event was seen to be complete; `wait_on_host` returns then. Each call is run
// once. Handles are looked up, or duplicated, before they are used. Waits are left out only
// where an `unsafe` call of `Machine` asked for it.
unsafe impl Device for Simulated {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn classes(&self) -> &[MemoryClass] {
        CLASSES
    }

    fn host_can_read(&self, class: MemoryClass) -> bool {
        class == HOST_VISIBLE
    }

    fn allocate(
        &self,
        length: u64,
        alignment: Alignment,
        class: MemoryClass,
    ) -> Result<DeviceMemory> {
        self.check_class(class)?;
        let bytes = usize::try_from(length).map_err(|_| no_address(length))?;
        let mapping = match bytes {
            0 => None,
            _ => Some(Mapping::allocate(&self.capacity, bytes, alignment)?),
        };
        let mut region = self.region(mapping.as_deref().map(|m| (m, 0)), length, class);
        region.writable = true;
        // SAFETY: the mapping has `length` bytes, which the system zeroed, at an address that
        // stays, until it is dropped. Nobody else knows it.
        let buffer = unsafe { Buffer::adopt(region, move || drop(mapping)) }?;
        DeviceMemory::new(buffer).map_err(|returned| returned.error)
    }

    fn open_stream(&self) -> Result<u64> {
        self.bench.skips(Act::Open, None)?;
        queue::open(&self.bench.watch)
    }

    unsafe fn close_stream(&self, stream: u64) {
        queue::close(stream);
    }

    unsafe fn copy(&self, stream: u64, from: &Region, to: &Region) -> Result<()> {
        self.bench.skips(Act::Copy, Some(stream))?;
        self.check_reach(from)?;
        self.check_reach(to)?;
        if !to.writable {
            return Err(refuse(Rule::MemoryReadOnly, "to", Value::None, Expected::Unsaid));
        }
        let length = usize::try_from(from.length).map_err(|_| no_address(from.length))?;
        let changes = from.may_change;
        let (from, to) = (Stretch::of(from), Stretch::of(&Region { length: from.length, ..*to }));
        queue::find(stream)?.push(Work::Copy { from, to, length, changes })
    }

    unsafe fn record(&self, stream: u64, kind: EventKind) -> Result<RawEvent> {
        self.bench.skips(Act::Record, Some(stream))?;
        let queue = queue::find(stream)?;
        let event = match kind {
            EventKind::Timeline => queue.push_with(|timeline| {
                let value = timeline.event();
                let signal = Signal::Timeline(Arc::clone(&timeline.counter), value);
                let event = RawEvent { kind, handle: timeline.handle, value };
                Ok((Work::Complete(signal), event))
            }),
            _ => {
                let file = signal::make_event()?;
                let own = signal::duplicate_of(&file)?;
                queue.push(Work::Complete(Signal::Event(own, false)))?;
                Ok(RawEvent { kind, handle: signal::into_handle(file), value: 0 })
            }
        }?;
        self.bench.event_made();
        Ok(event)
    }

    fn can_wait_for(&self, other: &Identity) -> bool {
        other.tag == TAG
    }

    unsafe fn wait(&self, stream: u64, event: RawEvent) -> Result<()> {
        if self.bench.skips(Act::StreamWait, Some(stream))? {
            return Ok(());
        }
        // SAFETY: passed on to the caller.
        let signal = unsafe { Signal::of(event) }?;
        queue::find(stream)?.push(Work::Wait(signal))
    }

    unsafe fn wait_on_host(&self, event: RawEvent) -> Result<()> {
        if self.bench.skips(Act::HostWait, None)? {
            return Ok(());
        }
        // SAFETY: passed on to the caller.
        let signal = unsafe { Signal::of(event) }?;
        self.bench.watch.sleep(Waiter::Host, signal)
    }

    unsafe fn release_event(&self, event: RawEvent) {
        match event.kind {
            EventKind::Timeline => timeline::release(event.handle),
            // SAFETY: passed on to the caller.
            _ => unsafe { signal::close(event.handle) },
        }
        self.bench.event_released();
    }

    unsafe fn call(&self, stream: u64, work: Box<dyn FnOnce() + Send>) -> Result<()> {
        let at_once = self.bench.skips(Act::Call, Some(stream))?;
        let queue = queue::find(stream)?;
        if at_once {
            work();
            return Ok(());
        }
        queue.push(Work::Call(work))
    }

    fn export_memory(&self, memory: &Buffer) -> Result<ExportedMemory> {
        let region = memory.region();
        if region.length == 0 && self.identity.owns(&region) {
            return Ok(ExportedMemory { handle: None, offset: 0, length: 0, class: region.class });
        }
        let no_export = || refuse(Rule::DeviceExport, "memory", Value::None, Expected::Unsaid);
        let position = region.position();
        let (mapping, start) = Mapping::of(position, region.length)
            .filter(|_| self.identity.owns(&region))
            .ok_or_else(no_export)?;
        let (handle, file_offset) = mapping.export()?;
        let offset = file_offset.saturating_add(as_u64(start));
        let (length, class) = (region.length, region.class);
        Ok(ExportedMemory { handle: Some(handle), offset, length, class })
    }

    fn import_memory(&self, memory: ExportedMemory) -> Result<Buffer> {
        self.check_class(memory.class)?;
        let (length, class) = (memory.length, memory.class);
        let mapping = match length {
            0 => None,
            _ => Some(Mapping::import(memory)?),
        };
        let parts = mapping.as_ref().map(|(mapping, start)| (&**mapping, *start));
        let region = self.region(parts, length, class).read_only();
        // SAFETY: the mapping has the bytes, as the system knows of its file, which cannot
        // become shorter; they stay where they are until it is dropped. Where somebody can
        // still write to them the region says so.
        unsafe { Buffer::adopt(region, move || drop(mapping)) }
    }

    unsafe fn export_event(&self, event: RawEvent) -> Result<OsHandle> {
        if event.kind == EventKind::Timeline {
            return Err(refuse(Rule::DeviceExport, "event", Value::None, Expected::Unsaid));
        }
        // SAFETY: passed on to the caller.
        unsafe { signal::duplicate(event.handle) }
    }

    fn import_event(&self, handle: OsHandle, kind: EventKind) -> Result<RawEvent> {
        if kind == EventKind::Timeline {
            return Err(refuse(Rule::DeviceExport, "event", Value::None, Expected::Unsaid));
        }
        signal::check_is_event(&handle)?;
        self.bench.event_made();
        Ok(RawEvent { kind, handle: signal::into_handle(handle), value: 0 })
    }
}
