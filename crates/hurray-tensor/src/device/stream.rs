//! Streams: queues of work on a device.

#![allow(unsafe_code, reason = "a driver's stream is a number that must be open when it is used")]

use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use hurray_format::{Expected, Rule, Value};

use super::{Device, Event, EventKind};
use crate::buffer::{Buffer, DeviceMemory};
use crate::error::Result;
use crate::memory::refuse;
use crate::offered::{Offered, Ready};

/// A queue of work on a device, run in order. Clones are the same queue.
#[derive(Clone)]
pub struct Stream(Arc<Open>);

struct Open {
    device: Arc<dyn Device>,
    handle: u64,
    /// Whether it was opened here, and is closed here.
    is_ours: bool,
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.is_ours {
            self.device.close_stream(self.handle);
        }
    }
}

impl Stream {
    /// Opens a stream. It is closed when its last clone is dropped; what was queued still runs.
    ///
    /// # Errors
    ///
    /// `device.failed`.
    pub fn open(device: &Arc<dyn Device>) -> Result<Self> {
        let handle = device.open_stream()?;
        Ok(Self(Arc::new(Open { device: Arc::clone(device), handle, is_ours: true })))
    }

    /// A stream that the caller made by the driver's own calls, and closes.
    ///
    /// # Safety
    ///
    /// `handle` must be open on that device for as long as the stream or anything that it
    /// made ready is held.
    pub unsafe fn adopt(device: Arc<dyn Device>, handle: u64) -> Self {
        Self(Arc::new(Open { device, handle, is_ours: false }))
    }

    /// Whose it is.
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.0.device
    }

    /// The driver's number.
    pub fn handle(&self) -> u64 {
        self.0.handle
    }

    /// Whether both are the same queue.
    pub fn is(&self, other: &Self) -> bool {
        self.handle() == other.handle() && self.device().identity() == other.device().identity()
    }

    /// An event, complete when everything queued so far is.
    ///
    /// # Errors
    ///
    /// `device.failed`; `sync.device-mismatch` for a kind the device has not.
    pub fn record(&self, kind: EventKind) -> Result<Event> {
        // SAFETY: the stream is open while it is held.
        let raw = unsafe { self.device().record(self.handle(), kind) }?;
        // SAFETY: the event was just made for us.
        Ok(unsafe { Event::adopt(Arc::clone(self.device()), raw) })
    }

    /// Orders other streams after everything queued here so far.
    ///
    /// # Errors
    ///
    /// `sync.device-mismatch`, `device.failed`.
    pub fn order_before(&self, others: &[&Stream]) -> Result<()> {
        if others.is_empty() {
            return Ok(());
        }
        let mut event = self.record(EventKind::MultiWait)?;
        others.iter().try_for_each(|other| event.order(other))
    }

    /// Waits on the host until everything queued so far is done.
    ///
    /// # Errors
    ///
    /// `device.failed`.
    pub fn synchronize(&self) -> Result<()> {
        self.record(EventKind::MultiWait)?.wait()
    }

    /// Keeps `value` until everything queued so far is done, then drops it, so that whoever
    /// queued work on its memory may forget about it. Where the device cannot say when that
    /// is, the value is kept for ever rather than dropped too early.
    ///
    /// # Errors
    ///
    /// `device.failed`.
    pub fn hold<T: Send + 'static>(&self, value: T) -> Result<()> {
        let value = ManuallyDrop::new(value);
        let work = Box::new(move || drop(ManuallyDrop::into_inner(value)));
        // SAFETY: the stream is open while it is held.
        unsafe { self.device().call(self.handle(), work) }
    }

    /// Queues a copy of `from`, which must be ready on this stream, into memory of the same
    /// length. Both are held until it is done; the copy is offered with an event.
    ///
    /// # Errors
    ///
    /// `sync.not-ready`, `memory.size`, `sync.device-mismatch`, `device.failed`;
    /// `memory.unaligned` for memory that starts further behind a multiple of 64.
    pub fn copy(&self, from: &Ready<Buffer>, into: DeviceMemory) -> Result<Offered<Buffer>> {
        let from = from.on(self)?;
        if from.byte_size() != into.byte_size() {
            let found = Value::Unsigned(into.byte_size());
            let expected = Expected::Exactly(from.byte_size());
            return Err(refuse(Rule::MemorySize, "into", found, expected));
        }
        // What is in front of adopted memory is neither read nor written.
        let lead = from.lead();
        if into.lead() > lead {
            let (found, expected) = (Value::Unsigned(into.lead()), Expected::AtMost(lead));
            return Err(refuse(Rule::MemoryUnaligned, "into", found, expected));
        }
        let own = from.byte_size().saturating_sub(lead);
        let (source, target) = (from.region().part(lead, own), into.region().part(lead, own));
        if own > 0 {
            // SAFETY: both regions are memory that is held, of the same length, and `hold`
            // below keeps both until the stream has come past the copy. Nobody else has the
            // target, and nobody reads it before the event.
            unsafe { self.device().copy(self.handle(), &source, &target) }?;
        }
        let target = into.freeze();
        self.hold((from.clone(), target.clone()))?;
        Ok(Offered::after(target, self.record(EventKind::MultiWait)?))
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let identity = self.device().identity();
        write!(f, "Stream({} of {} {})", self.handle(), identity.tag, identity.ordinal)
    }
}
