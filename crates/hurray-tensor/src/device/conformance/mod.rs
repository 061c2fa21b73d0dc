//! What every backend of [`Device`] must do, as functions that its tests call.
//!
//! For backends only: nothing here is stable, and each function panics where the device does
//! not do what the trait says.
//!
//! ```
//! use std::sync::Arc;
//! use hurray_tensor::device::{Cpu, Device, Stream, conformance};
//!
//! struct Host;
//!
//! // The CPU does its work when it is queued.
//! impl conformance::Backend for Host {
//!     fn device(&self) -> Arc<dyn Device> {
//!         Arc::new(Cpu::new())
//!     }
//!
//!     fn hold(&self, _: &Stream) -> Option<conformance::Open> {
//!         None
//!     }
//!
//!     fn spawn(&self, step: conformance::Step) {
//!         step();
//!     }
//!
//!     fn settle(&self) {}
//! }
//!
//! conformance::check(&Host);
//! ```

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail loudly"
)]
#![allow(unsafe_code, reason = "memory is adopted, and raw calls of the driver are checked")]
#![allow(clippy::missing_panics_doc, reason = "all of them panic where the device is wrong")]

mod crossing;
mod held;
mod memory;
mod order;
mod stranger;

pub use crossing::{events_cross_processes, memory_crosses_processes};
pub use memory::{
    adopts_memory, allocates_each_class, copies_between_all_memory, copies_what_was_adopted,
    is_one_device, refuses_other_classes, refuses_targets_that_are_read_only,
    refuses_what_it_cannot_reach, says_what_the_host_may_look_at,
};
pub use order::{
    closes_streams_with_work_in_them, events_are_released_and_forgotten, events_wait_as_their_kind,
    is_used_from_many_threads, keeps_streams_of_others_out, makes_streams_wait,
    makes_the_host_wait, memory_is_held_until_work_is_done, runs_calls_once_and_in_order,
    settles_when_all_that_can_run_has,
};

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use hurray_format::MemoryClass;

use super::{Device, EventKind, Stream};
use crate::buffer::{Buffer, BufferMut, DeviceMemory, HostBuffer};
use crate::memory::Alignment;
use crate::offered::Ready;

/// A device, how its streams are held, and how it is known that nothing more will run.
///
/// What must wait for a held stream has to be seen not to run. Right after it was queued it has
/// not run in any case; so the checks look when the device has [settled](Self::settle), and then
/// only a wait keeps it.
pub trait Backend {
    /// The device: the same each time.
    fn device(&self) -> Arc<dyn Device>;

    /// Keeps what is queued on the stream from now on from running until the answer is called.
    /// None for a device that does its work as it is queued.
    fn hold(&self, stream: &Stream) -> Option<Open>;

    /// Runs a step that may sleep in a wait of the device, on a thread of the host. Where no wait
    /// ever sleeps, that may be this one.
    fn spawn(&self, step: Step);

    /// Returns when all that can run has run: each stream is held, is empty or waits for one that
    /// is held, and each step of [`spawn`](Self::spawn) is over or sleeps in such a wait. Panics
    /// where that does not come about.
    ///
    /// Of a driver that cannot be asked, nobody knows when that is: such a backend waits for as
    /// long as work ever takes. If that is too short a missing wait may be overlooked; a device
    /// that waits passes all the same.
    fn settle(&self);
}

/// Lets a stream go on that was held.
pub type Open = Box<dyn FnOnce() + Send>;

/// What a thread of the host does.
pub type Step = Box<dyn FnOnce() + Send>;

/// One thing that a device must do.
pub type Case = fn(&dyn Backend);

/// All there are, with their names.
pub const CASES: &[(&str, Case)] = &[
    ("is_one_device", is_one_device),
    ("allocates_each_class", allocates_each_class),
    ("refuses_other_classes", refuses_other_classes),
    ("says_what_the_host_may_look_at", says_what_the_host_may_look_at),
    ("adopts_memory", adopts_memory),
    ("copies_between_all_memory", copies_between_all_memory),
    ("copies_what_was_adopted", copies_what_was_adopted),
    ("refuses_what_it_cannot_reach", refuses_what_it_cannot_reach),
    ("refuses_targets_that_are_read_only", refuses_targets_that_are_read_only),
    ("settles_when_all_that_can_run_has", settles_when_all_that_can_run_has),
    ("events_wait_as_their_kind", events_wait_as_their_kind),
    ("events_are_released_and_forgotten", events_are_released_and_forgotten),
    ("makes_streams_wait", makes_streams_wait),
    ("makes_the_host_wait", makes_the_host_wait),
    ("runs_calls_once_and_in_order", runs_calls_once_and_in_order),
    ("memory_is_held_until_work_is_done", memory_is_held_until_work_is_done),
    ("closes_streams_with_work_in_them", closes_streams_with_work_in_them),
    ("keeps_streams_of_others_out", keeps_streams_of_others_out),
    ("is_used_from_many_threads", is_used_from_many_threads),
    ("memory_crosses_processes", memory_crosses_processes),
    ("events_cross_processes", events_cross_processes),
];

/// All of it, each by its name, so that a failure says which it was.
pub fn check(backend: &dyn Backend) {
    let identity = backend.device().identity().clone();
    for (name, case) in CASES {
        eprintln!("{name}, {} {}", identity.tag, identity.ordinal);
        case(backend);
    }
}

/// A test that hangs fails; nothing depends on how long anything takes.
const WATCHDOG: Duration = Duration::from_secs(120);

fn stream(device: &Arc<dyn Device>) -> Stream {
    Stream::open(device).unwrap()
}

fn allocate(device: &Arc<dyn Device>, length: u64, class: MemoryClass) -> DeviceMemory {
    device.allocate(length, Alignment::PAGE, class).unwrap()
}

/// Bytes that no two places have alike.
fn pattern(length: u64) -> Vec<u8> {
    (0..length).map(|place| (place * 31 + place / 251 + 1) as u8).collect()
}

/// Memory of the device with those bytes, waited for.
fn filled(stream: &Stream, class: MemoryClass, bytes: &[u8]) -> Buffer {
    let source = BufferMut::copy_of(bytes).unwrap().freeze();
    let memory = allocate(stream.device(), source.byte_size(), class);
    stream.copy(&Ready::everywhere(source), memory).unwrap().acquire().unwrap()
}

/// The bytes of a buffer, by a copy to the host.
fn read_back(stream: &Stream, buffer: &Buffer) -> HostBuffer {
    let host = BufferMut::zeroed(buffer.byte_size().try_into().unwrap()).unwrap();
    let copy = stream.copy(&Ready::everywhere(buffer.clone()), host.into()).unwrap();
    copy.acquire_host().unwrap()
}

/// A signal that comes, or the test fails.
fn await_signal<T>(signal: &Receiver<T>) -> T {
    match signal.recv_timeout(WATCHDOG) {
        Ok(sent) => sent,
        Err(RecvTimeoutError::Timeout) => panic!("the device did nothing for {WATCHDOG:?}"),
        Err(RecvTimeoutError::Disconnected) => panic!("dropped, and not run"),
    }
}

/// A buffer in the memory of another, and a signal when it is released.
fn released_with_a_signal(device: &Arc<dyn Device>, buffer: Buffer) -> (Buffer, Receiver<()>) {
    let (sender, receiver): (Sender<()>, _) = channel();
    let region = buffer.region();
    let release = move || {
        drop(buffer);
        let _ = sender.send(());
    };
    // SAFETY: the region is what `buffer` holds, until the release; it is not written to.
    let adopted = unsafe { device.adopt(region.read_only(), Box::new(release)) };
    (adopted.unwrap(), receiver)
}

/// The kinds of events that the device has.
fn kinds(stream: &Stream) -> Vec<EventKind> {
    let all = [EventKind::Binary, EventKind::Timeline, EventKind::MultiWait];
    let mut kinds = all.to_vec();
    kinds.retain(|kind| match stream.record(*kind) {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.rule(), Some(hurray_format::Rule::DeviceEventKind), "{error}");
            assert_ne!(*kind, EventKind::MultiWait, "every device has those");
            false
        }
    });
    kinds
}
