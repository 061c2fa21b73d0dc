//! A device that aligns its memory to what is asked, and no further.

#![allow(unsafe_code, reason = "a device is an unsafe trait")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use hurray_tensor::device::conformance::{Backend, Open, Step, allocates_each_class};
use hurray_tensor::device::simulated::Machine;
use hurray_tensor::device::{Device, EventKind, Identity, RawEvent, Stream};
use hurray_tensor::format::MemoryClass;
use hurray_tensor::{Alignment, DeviceMemory, Region, Result};

#[test]
fn a_device_that_aligns_to_less_than_writers_owe_is_found_out() {
    let device = Machine::new(1).device(0).unwrap();
    allocates_each_class(&Mine(Arc::clone(&device)));
    let found_out = catch_unwind(AssertUnwindSafe(|| {
        allocates_each_class(&Mine(Arc::new(Unaligned(device))));
    }));
    let said = found_out.unwrap_err().downcast::<String>().unwrap();
    assert!(said.contains("1 at Alignment(4096)"), "{said}");
}

struct Mine(Arc<dyn Device>);

impl Backend for Mine {
    fn device(&self) -> Arc<dyn Device> {
        Arc::clone(&self.0)
    }

    fn hold(&self, _: &Stream) -> Option<Open> {
        None
    }

    fn spawn(&self, step: Step) {
        step();
    }

    fn settle(&self) {}
}

#[derive(Debug)]
struct Unaligned(Arc<dyn Device>);

// SAFETY: everything is done by the other device. Memory is a part of what that one allocated,
// which it holds.
unsafe impl Device for Unaligned {
    fn identity(&self) -> &Identity {
        self.0.identity()
    }

    fn classes(&self) -> &[MemoryClass] {
        self.0.classes()
    }

    fn host_can_read(&self, class: MemoryClass) -> bool {
        self.0.host_can_read(class)
    }

    fn allocate(
        &self,
        length: u64,
        alignment: Alignment,
        class: MemoryClass,
    ) -> Result<DeviceMemory> {
        let lead = u64::from(alignment.bytes());
        let end = length.saturating_add(lead);
        let whole = self.0.allocate(end, Alignment::HUGE_PAGE, class)?.freeze();
        let part = whole.slice(lead..end)?.region();
        // SAFETY: a part of what `whole` holds until the release, and nobody else has it.
        let part = unsafe { self.0.adopt(part, Box::new(move || drop(whole))) }?;
        DeviceMemory::new(part).map_err(|returned| returned.error)
    }

    fn open_stream(&self) -> Result<u64> {
        self.0.open_stream()
    }

    unsafe fn close_stream(&self, stream: u64) {
        // SAFETY: passed on to the caller.
        unsafe { self.0.close_stream(stream) }
    }

    unsafe fn copy(&self, stream: u64, from: &Region, to: &Region) -> Result<()> {
        // SAFETY: passed on to the caller.
        unsafe { self.0.copy(stream, from, to) }
    }

    unsafe fn record(&self, stream: u64, kind: EventKind) -> Result<RawEvent> {
        // SAFETY: passed on to the caller.
        unsafe { self.0.record(stream, kind) }
    }

    unsafe fn wait(&self, stream: u64, event: RawEvent) -> Result<()> {
        // SAFETY: passed on to the caller.
        unsafe { self.0.wait(stream, event) }
    }

    unsafe fn wait_on_host(&self, event: RawEvent) -> Result<()> {
        // SAFETY: passed on to the caller.
        unsafe { self.0.wait_on_host(event) }
    }

    unsafe fn release_event(&self, event: RawEvent) {
        // SAFETY: passed on to the caller.
        unsafe { self.0.release_event(event) }
    }

    unsafe fn call(&self, stream: u64, work: Box<dyn FnOnce() + Send>) -> Result<()> {
        // SAFETY: passed on to the caller.
        unsafe { self.0.call(stream, work) }
    }
}
