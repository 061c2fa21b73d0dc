//! A driver whose events are numbers that come, and whose memory is the host's.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hurray_tensor::device::{Device, Devices, Event, EventKind, Identity, RawEvent};
use hurray_tensor::format::{DeviceTag, MemoryClass};
use hurray_tensor::{Alignment, DeviceMemory, Region, Result};

use crate::{EVENTS, Wait};

/// An event of our own, given back once.
pub(crate) fn new_event(kind: EventKind) -> Event {
    let event = Box::into_raw(Box::new(AtomicU64::new(0)));
    let handle = event.expose_provenance() as u64;
    let raw = RawEvent { kind, handle, value: if kind == EventKind::Timeline { 7 } else { 0 } };
    let release = move || {
        let event = std::ptr::with_exposed_provenance_mut::<AtomicU64>(handle as usize);
        // SAFETY: made above, and released once.
        drop(unsafe { Box::from_raw(event) });
        EVENTS.fetch_add(1, Ordering::Relaxed);
    };
    // SAFETY: open until it is released.
    unsafe { Event::borrow_until(release, DeviceTag::CUDA, None, raw) }
}

/// An event by its handle.
///
/// # Safety
///
/// It must be one of ours, and not released.
pub(crate) unsafe fn event<'a>(handle: u64) -> &'a AtomicU64 {
    let event = std::ptr::with_exposed_provenance::<AtomicU64>(handle as usize);
    // SAFETY: passed on to the caller.
    unsafe { &*event }
}

/// A device that waits by a function of the tests'.
#[derive(Debug)]
pub(crate) struct Driver {
    identity: Identity,
    wait: Wait,
}

impl Driver {
    pub(crate) fn at_hand(wait: Wait) -> Devices {
        let tag = DeviceTag::CUDA;
        let identity = Identity { tag, ordinal: -1, uuid: [0; 16], name: "test".to_owned() };
        Devices::default().with(Arc::new(Self { identity, wait }))
    }
}

/// The events that streams record here, which have come when they are recorded.
const COME: u64 = 1;

// SAFETY: a driver of a test, which only waits, and has waited when it says so.
unsafe impl Device for Driver {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn classes(&self) -> &[MemoryClass] {
        &[]
    }

    fn host_can_read(&self, _: MemoryClass) -> bool {
        true
    }

    fn allocate(&self, _: u64, _: Alignment, _: MemoryClass) -> Result<DeviceMemory> {
        panic!("no test allocates")
    }

    fn open_stream(&self) -> Result<u64> {
        Ok(1)
    }

    unsafe fn close_stream(&self, _: u64) {}

    unsafe fn copy(&self, _: u64, _: &Region, _: &Region) -> Result<()> {
        panic!("no test copies")
    }

    unsafe fn record(&self, _: u64, kind: EventKind) -> Result<RawEvent> {
        Ok(RawEvent { kind, handle: COME, value: 0 })
    }

    unsafe fn wait(&self, _: u64, event: RawEvent) -> Result<()> {
        // SAFETY: passed on to the caller.
        unsafe { self.wait_on_host(event) }
    }

    unsafe fn wait_on_host(&self, event: RawEvent) -> Result<()> {
        // SAFETY: an event of whoever gave the function.
        if event.handle != COME && unsafe { (self.wait)(event.handle, event.value) } != 0 {
            panic!("the event has not come");
        }
        Ok(())
    }

    unsafe fn release_event(&self, _: RawEvent) {}

    unsafe fn call(&self, _: u64, work: Box<dyn FnOnce() + Send>) -> Result<()> {
        work();
        Ok(())
    }
}
