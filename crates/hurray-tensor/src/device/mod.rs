//! Devices: who allocates memory, orders work, and waits for it.
//!
//! [`Device`] is what a backend implements, in a driver's own terms: numbers for streams and
//! events. [`Stream`] and [`Event`] are what programs use, and are safe.

#![allow(unsafe_code, reason = "what a driver does decides whether memory may be touched")]

#[cfg(feature = "conformance")]
pub mod conformance;
mod cpu;
mod devices;
mod event;
mod identity;
#[cfg(all(feature = "simulated", target_os = "linux"))]
pub mod simulated;
mod stream;

pub use cpu::Cpu;
pub use devices::Devices;
pub(crate) use event::check_waits;
pub use event::{Event, EventKind, RawEvent};
pub use identity::Identity;
pub use stream::Stream;

use std::fmt::Debug;

use hurray_format::{Expected, MemoryClass, Rule, Value};

use crate::buffer::{Buffer, DeviceMemory};
use crate::error::{Error, Result};
use crate::memory::{Alignment, Region, refuse};

/// What the operating system passes to another process: a file descriptor.
#[cfg(unix)]
pub type OsHandle = std::os::fd::OwnedFd;
/// What the operating system passes to another process: a handle.
#[cfg(windows)]
pub type OsHandle = std::os::windows::io::OwnedHandle;
/// What the operating system passes to another process: nothing, on this platform.
#[cfg(not(any(unix, windows)))]
pub type OsHandle = std::convert::Infallible;

/// Memory on its way to another process.
#[derive(Debug)]
pub struct ExportedMemory {
    /// What the operating system passes on; nothing for a buffer of no bytes.
    pub handle: Option<OsHandle>,
    /// Where the memory starts in what the handle stands for, in bytes.
    pub offset: u64,
    /// How many bytes there are.
    pub length: u64,
    /// Who can touch it without a copy.
    pub class: MemoryClass,
}

/// A device, as its backend drives it.
///
/// Streams are queues of work, in order; an event is a mark in one that others can wait for.
/// Both are the driver's own numbers. Everything here may be called from any thread.
///
/// # Safety
///
/// Safe code touches memory because a device said that it may. An implementation must do
/// what each method says: memory it allocates is its holder's alone and initialised where
/// the host may look, a wait that returned has waited, work runs in the order of its
/// stream, and no work is run or dropped unrun where the method says otherwise.
pub unsafe trait Device: Debug + Send + Sync + 'static {
    /// Which device it is.
    fn identity(&self) -> &Identity;

    /// The memory classes it allocates.
    fn classes(&self) -> &[MemoryClass];

    /// Whether the CPU may look at memory of that class.
    fn host_can_read(&self, class: MemoryClass) -> bool;

    /// Memory of `length` bytes, zeroed where the host may look, at a multiple of `alignment`.
    /// Any device but the CPU aligns it to 4096 at least, however little is asked: whoever writes
    /// tensors to devices owes a handle that says so.
    ///
    /// # Errors
    ///
    /// `device.class`; out of memory.
    fn allocate(
        &self,
        length: u64,
        alignment: Alignment,
        class: MemoryClass,
    ) -> Result<DeviceMemory>;

    /// Takes memory that the caller's own calls to the driver made. The region's device,
    /// ordinal and uuid become this device's.
    ///
    /// # Safety
    ///
    /// As [`Buffer::adopt`].
    ///
    /// # Errors
    ///
    /// As [`Buffer::adopt`]; `release` is called then too.
    unsafe fn adopt(
        &self,
        mut region: Region,
        release: Box<dyn FnOnce() + Send>,
    ) -> Result<Buffer> {
        self.identity().mark(&mut region);
        // SAFETY: passed on to the caller.
        unsafe { Buffer::adopt(region, release) }
    }

    /// A new stream.
    ///
    /// # Errors
    ///
    /// `device.failed`; what the system refused.
    fn open_stream(&self) -> Result<u64>;

    /// Ends a stream that this device opened, without waiting. What was queued on it still
    /// runs.
    ///
    /// # Safety
    ///
    /// The stream must be open, and is not any more.
    unsafe fn close_stream(&self, stream: u64);

    /// Queues a copy of all of `from` to the start of `to`, one of which may be memory of the
    /// host. Nothing is queued where it fails.
    ///
    /// # Safety
    ///
    /// The stream must be open. Both regions must be true, `to` as long as `from` or longer,
    /// and both held until the stream has come past the copy.
    ///
    /// # Errors
    ///
    /// `device.failed`, `sync.device-mismatch` for memory the device cannot reach,
    /// `memory.read-only` for a target that must not be written to.
    unsafe fn copy(&self, stream: u64, from: &Region, to: &Region) -> Result<()>;

    /// A new event, complete when everything queued on the stream so far is.
    ///
    /// Every device has multi-wait events; a driver without them answers with a value of a
    /// timeline, which may be waited for as often. Otherwise the event is of the kind asked
    /// for.
    ///
    /// # Safety
    ///
    /// The stream must be open.
    ///
    /// # Errors
    ///
    /// `device.failed`; `device.event-kind` for a kind the device has not.
    unsafe fn record(&self, stream: u64, kind: EventKind) -> Result<RawEvent>;

    /// Whether streams of this device can wait for events of that one.
    fn can_wait_for(&self, other: &Identity) -> bool {
        self.identity() == other
    }

    /// Queues a wait: what is queued on the stream later runs after the event. The event may
    /// be released as soon as this returns.
    ///
    /// # Safety
    ///
    /// Stream and event must be open, the event on a device that this one
    /// [can wait for](Self::can_wait_for), and a binary event not waited for before.
    ///
    /// # Errors
    ///
    /// `device.failed`.
    unsafe fn wait(&self, stream: u64, event: RawEvent) -> Result<()>;

    /// Waits until the event is complete.
    ///
    /// # Safety
    ///
    /// The event must be open, and a binary one not waited for before.
    ///
    /// # Errors
    ///
    /// `device.failed`.
    unsafe fn wait_on_host(&self, event: RawEvent) -> Result<()>;

    /// Gives an event back to the driver.
    ///
    /// # Safety
    ///
    /// The event must be open, and is not any more.
    unsafe fn release_event(&self, event: RawEvent);

    /// Queues a call, run once by some thread when everything queued before it is complete.
    /// Calls let memory go, of this driver and of others: a driver that forbids its own calls on
    /// the thread it calls back on has the backend run them on another. A panic in one is caught
    /// and goes no further. Where queueing fails the call is dropped without being run.
    ///
    /// # Safety
    ///
    /// The stream must be open.
    ///
    /// # Errors
    ///
    /// `device.failed`.
    unsafe fn call(&self, stream: u64, work: Box<dyn FnOnce() + Send>) -> Result<()>;

    /// Memory of this device as something another process can take. From then on whoever
    /// takes it may read it and not write to it; this process may still write to what is not
    /// shared within it.
    ///
    /// # Errors
    ///
    /// `device.export` where the device, or this memory, cannot.
    fn export_memory(&self, _memory: &Buffer) -> Result<ExportedMemory> {
        Err(no_export("memory"))
    }

    /// Memory that another process exported, read-only. Where the other one may go on writing
    /// to it, it is marked as memory that may change. The lengths are a stranger's word: they
    /// are held against what the system knows of the handle.
    ///
    /// # Errors
    ///
    /// `device.export` where the device cannot; `device.class`; `device.import` for what is no
    /// such memory, or could be cut short; `memory.size` where there is less of it than is said.
    fn import_memory(&self, _memory: ExportedMemory) -> Result<Buffer> {
        Err(no_export("memory"))
    }

    /// An event as something another process can wait for.
    ///
    /// # Safety
    ///
    /// The event must be open.
    ///
    /// # Errors
    ///
    /// `device.export` where the device, or this kind of event, cannot.
    unsafe fn export_event(&self, _event: RawEvent) -> Result<OsHandle> {
        Err(no_export("event"))
    }

    /// An event that another process exported, open and nobody else's.
    ///
    /// # Errors
    ///
    /// `device.export` where the device, or this kind of event, cannot; `device.import` for
    /// what is no event.
    fn import_event(&self, _handle: OsHandle, _kind: EventKind) -> Result<RawEvent> {
        Err(no_export("event"))
    }
}

#[cold]
fn no_export(what: &'static str) -> Error {
    refuse(Rule::DeviceExport, what, Value::None, Expected::Unsaid)
}
