//! Simulated accelerators, for tests of code that uses devices, on machines that have none.
//!
//! A [`Machine`] has some devices, with the private tag [`TAG`]. Each stream is a thread that
//! works off a queue, so that work is truly asynchronous; memory is an anonymous file, which
//! another process can map; an event is an eventfd, which another process, or a C program, can
//! wait for and signal.
//!
//! What makes it a test bench: a [`Gate`] holds a stream until the test opens it,
//! [`Machine::settle`] says when everybody else either sleeps in a wait or is done,
//! [`Machine::peek`] looks at device memory without waiting, and [`Machine::interfere`] leaves
//! out waits, so that a test can show that each is needed.

#![allow(unsafe_code, reason = "this is a driver")]

mod device;
mod gate;
mod machine;
mod memory;
mod queue;
mod signal;
mod timeline;
mod watch;

use std::sync::{Mutex, MutexGuard, PoisonError};

use hurray_format::{DeviceTag, Expected, MemoryClass, Rule, Value};

pub use gate::Gate;
pub use machine::{Act, Call, Machine, Verdict};
pub use watch::Asleep;

use crate::error::Error;
use crate::memory::refuse;

/// The private tag of simulated devices.
pub const TAG: DeviceTag = DeviceTag::from_tag(0xF0);

/// A private memory class: the CPU may look at it, and every device of a machine reaches it.
pub const HOST_VISIBLE: MemoryClass = MemoryClass::from_tag(0xF0);

/// A private memory class: every device of a machine reaches it, and not the CPU. Memory of
/// the class `STANDARD` is reached by its own device alone.
pub const PEER: MemoryClass = MemoryClass::from_tag(0xF1);

/// How many bytes a device has.
pub const CAPACITY: u64 = 1 << 28;

/// What a panic of another thread left is as good as before: nothing is done under a lock
/// that could be half done.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cold]
fn failed(field: &'static str) -> Error {
    refuse(Rule::DeviceFailed, field, Value::None, Expected::Unsaid)
}
