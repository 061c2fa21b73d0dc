//! Streams: queues of work on a device.

#![allow(unsafe_code, reason = "a driver's stream is a number that must be open when it is used")]

use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use hurray_format::{Expected, Rule, Value};

use super::{Device, Event, EventKind};
use crate::buffer::{Buffer, DeviceMemory};
use crate::error::Result;
use crate::memory::{Region, refuse};
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
            // SAFETY: it was opened here, and this is its only holder, which ends.
            unsafe { self.device.close_stream(self.handle) };
        }
    }
}

impl Stream {
    /// Opens a stream. It is closed when its last clone is dropped; what was queued still runs.
    ///
    /// # Errors
    ///
    /// `device.failed`; what the system refused.
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
    /// `device.failed`; `device.event-kind` for a kind the device has not.
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
    /// `sync.not-ready`, `memory.size`, `memory.unaligned` for adopted memory that starts
    /// further behind a multiple of 64 than `from` does, `sync.device-mismatch`,
    /// `device.failed`. `into` is released then.
    pub fn copy(&self, from: &Ready<Buffer>, into: DeviceMemory) -> Result<Offered<Buffer>> {
        let from = from.on(self)?;
        if from.byte_size() != into.byte_size() {
            let found = Value::Unsigned(into.byte_size());
            let expected = Expected::Exactly(from.byte_size());
            return Err(refuse(Rule::MemorySize, "into", found, expected));
        }
        // What is in front of adopted memory is never read, and never written to.
        let lead = from.lead();
        if into.lead() > lead {
            let (found, expected) = (Value::Unsigned(into.lead()), Expected::AtMost(lead));
            return Err(refuse(Rule::MemoryUnaligned, "into", found, expected));
        }
        let own = from.byte_size().saturating_sub(lead);
        let queue = |target: &Region| {
            if own == 0 {
                return Ok(());
            }
            let (source, target) = (from.region().part(lead, own), target.part(lead, own));
            // SAFETY: both regions are memory that is held, of the same length, and are kept
            // until the stream has come past the copy. Nobody else has the target, and nobody
            // reads it before the event.
            unsafe { self.device().copy(self.handle(), &source, &target) }?;
            self.hold(from.clone())
        };
        // SAFETY: what is queued is one copy, into the region.
        unsafe { self.produce(into, queue) }
    }

    /// Offers `into` with an event behind the work that `queue` queues on this stream by the
    /// driver's own calls. `into` is held until that is done, also where only a part of it
    /// could be queued.
    ///
    /// ```
    /// # #[cfg(target_os = "linux")] {
    /// use hurray_tensor::device::{Stream, simulated::Machine};
    /// use hurray_tensor::{Alignment, Buffer, Ready, Region, format::MemoryClass};
    ///
    /// let device = Machine::new(1).device(0)?;
    /// let stream = Stream::open(&device)?;
    /// let ones = Ready::everywhere(Buffer::from_owner(vec![1; 64])?);
    /// let target = device.allocate(64, Alignment::PAGE, MemoryClass::STANDARD)?;
    /// let work = |target: &Region| {
    ///     for ones in ones.regions_on(&stream)? {
    ///         // SAFETY: both regions have 64 bytes, and are held. A kernel would stand here.
    ///         unsafe { device.copy(stream.handle(), &ones, target) }?;
    ///     }
    ///     stream.hold(ones)
    /// };
    /// // SAFETY: the work is on this stream, and stays inside its target.
    /// let offered = unsafe { stream.produce(target, work) }?;
    /// # let _ = offered;
    /// # }
    /// # Ok::<(), hurray_tensor::Error>(())
    /// ```
    ///
    /// # Safety
    ///
    /// `queue` may queue work on this stream only. That work must leave alone what is outside
    /// the region it is given, and fill it where the host may look at it later; whatever else
    /// it uses must be held until it is done, as by [`hold`](Self::hold).
    ///
    /// # Errors
    ///
    /// What `queue` returns; `device.failed`.
    pub unsafe fn produce(
        &self,
        into: DeviceMemory,
        queue: impl FnOnce(&Region) -> Result<()>,
    ) -> Result<Offered<Buffer>> {
        let target = into.freeze();
        let held = HeldAtEnd { stream: self, value: Some(target.clone()) };
        let queued = queue(&target.region());
        held.end()?;
        queued?;
        Ok(Offered::after(target, self.record(EventKind::MultiWait)?))
    }
}

/// Memory that is held by what was queued on the stream when this ends, as a panic may end it.
struct HeldAtEnd<'a> {
    stream: &'a Stream,
    value: Option<Buffer>,
}

impl HeldAtEnd<'_> {
    fn end(mut self) -> Result<()> {
        self.value.take().map_or(Ok(()), |value| self.stream.hold(value))
    }
}

impl Drop for HeldAtEnd<'_> {
    fn drop(&mut self) {
        if let Some(value) = self.value.take() {
            // Where it cannot be held for as long as it must, it is held for ever.
            let _ = self.stream.hold(value);
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let identity = self.device().identity();
        write!(f, "Stream({} of {} {})", self.handle(), identity.tag, identity.ordinal)
    }
}
