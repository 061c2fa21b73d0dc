//! Memory that is released in stream order, on devices that run what is queued.

#![allow(unsafe_code, reason = "callbacks of C are called")]

use std::time::Duration;

use hurray_tensor::device::simulated::{Gate, HOST_VISIBLE, Machine};
use hurray_tensor::device::{EventKind, Stream};
use hurray_tensor::exchange::{Exported, Releases};
use hurray_tensor::format::Dtype;
use hurray_tensor::{Alignment, Tensor};

use crate::library::*;

const LONG: Duration = Duration::from_secs(60);

/// The consumer is done after work that the producer queues only later, on its one stream.
#[test]
fn an_event_that_comes_after_later_work_is_in_nobodys_way() {
    let machine = Machine::new(1);
    let device = machine.device(0).unwrap();
    let theirs = Stream::open(&device).unwrap();
    let work = Stream::open(&device).unwrap();
    let releases = Releases::open(&device).unwrap();
    let memory = device.allocate(48, Alignment::PAGE, HOST_VISIBLE).unwrap();
    let tensor = Tensor::dense(Dtype::Float32, &[3, 4], memory.freeze()).unwrap();
    let mut raw = Exported::new(tensor).unwrap().released_in(&releases).into_raw();
    // The consumer's stream waits for the gate, which is opened when the later work is done.
    let gate = Gate::new().unwrap();
    gate.hold(&theirs).unwrap();
    let done = theirs.record(EventKind::MultiWait).unwrap();

    let buffer = first_buffer(&raw);
    let mut sync = buffer.sync;
    (sync.event_kind, sync.event, sync.event_value) = (3, done.raw().handle, done.raw().value);
    let release_after = buffer.release_after.unwrap();
    // SAFETY: a buffer of ours, and an event of its device that is open for the call.
    assert_eq!(unsafe { release_after(&raw mut *buffer, &raw mut sync) }, 0);
    drop(done);
    release(&mut raw);

    let mut later = work.record(EventKind::MultiWait).unwrap();
    machine.settle(LONG).unwrap();
    assert_ne!(machine.memory_held(), 0);
    // It would never return where the release was queued before it.
    later.wait().unwrap();
    gate.open().unwrap();
    assert!(machine.settle(LONG).unwrap().streams.is_empty());
    assert_eq!(machine.memory_held(), 0);
    assert!(machine.faults().is_empty());
}
