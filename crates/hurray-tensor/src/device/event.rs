//! Events: marks in a stream that others wait for, released once.

#![allow(unsafe_code, reason = "a driver's event is a number that must be open when it is used")]

use std::fmt;
use std::sync::Arc;

use hurray_format::{DeviceTag, Expected, Rule, Value};

use super::{Device, Identity, OsHandle, Stream};
use crate::error::Result;
use crate::memory::{Release, quietly, refuse};
use crate::offered::unknown_device;

/// How often an event may be waited for, and by what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum EventKind {
    /// By one wait.
    Binary = 1,
    /// By any number of waits for a value of a counter.
    Timeline = 2,
    /// By any number of waits.
    MultiWait = 3,
}

/// A driver's event, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawEvent {
    /// How it may be waited for.
    pub kind: EventKind,
    /// The driver's handle.
    pub handle: u64,
    /// What a timeline must have reached; 0 for the others.
    pub value: u64,
}

/// An event that is held. It is given back once: when it is dropped.
pub struct Event {
    raw: RawEvent,
    tag: DeviceTag,
    /// Who can wait for it, where anybody here can.
    device: Option<Arc<dyn Device>>,
    /// How it is given back; by the device, unless it came with its own way.
    release: Option<Box<dyn FnOnce() + Send>>,
    /// Whether the one wait of a binary event was spent.
    spent: bool,
}

// SAFETY: a shared reference to an event reaches only its numbers and its device, which is
// `Sync`; the callback is only touched in `drop`.
unsafe impl Sync for Event {}

impl Event {
    /// An event of a device, to be given back to it.
    ///
    /// # Safety
    ///
    /// `raw` must be open on that device, and belong to nobody else.
    pub unsafe fn adopt(device: Arc<dyn Device>, raw: RawEvent) -> Self {
        let tag = device.identity().tag;
        Self { raw, tag, device: Some(device), release: None, spent: false }
    }

    /// An event of somebody else's, given back by a call of theirs. `device` is who can wait
    /// for it, where there is one.
    ///
    /// # Safety
    ///
    /// `raw` must be open until `release` is called, in the same driver as `device`'s.
    pub unsafe fn borrow_until(
        release: impl FnOnce() + Send + 'static,
        tag: DeviceTag,
        device: Option<Arc<dyn Device>>,
        raw: RawEvent,
    ) -> Self {
        Self { raw, tag, device, release: Some(Box::new(release)), spent: false }
    }

    /// How it may be waited for.
    pub fn kind(&self) -> EventKind {
        self.raw.kind
    }

    /// The kind of device it belongs to.
    pub fn device_tag(&self) -> DeviceTag {
        self.tag
    }

    /// The driver's numbers, which stay open for as long as the event is held.
    pub fn raw(&self) -> RawEvent {
        self.raw
    }

    /// Waits until it is complete.
    ///
    /// # Errors
    ///
    /// `sync.device-unknown`, `sync.event-spent`, `device.failed`.
    pub fn wait(&mut self) -> Result<()> {
        let device = self.spend()?;
        // SAFETY: the event is open while it is held, and was not waited for before if it
        // allows one wait only.
        unsafe { device.wait_on_host(self.raw) }
    }

    /// Makes a stream wait for it: what is queued later runs after the event.
    ///
    /// # Errors
    ///
    /// `sync.device-unknown`, `sync.device-mismatch` for a stream of a device that cannot wait
    /// for this one's, `sync.event-spent`, `device.failed`.
    pub fn order(&mut self, stream: &Stream) -> Result<()> {
        self.check(stream)?;
        self.spend()?;
        // SAFETY: a stream is open while it is held; the event as in `wait`, and it was checked
        // that the stream's device can wait for the event's.
        unsafe { stream.device().wait(stream.handle(), self.raw) }
    }

    /// The event as another process can take it. Its kind is the event's: whoever takes a
    /// binary one has the only wait there is.
    pub(crate) fn export(&mut self) -> Result<(OsHandle, EventKind)> {
        let device = Arc::clone(self.waiting()?);
        // SAFETY: the event is open while it is held.
        let handle = unsafe { device.export_event(self.raw) }?;
        self.spent = self.raw.kind == EventKind::Binary;
        Ok((handle, self.raw.kind))
    }

    /// Whether that stream can be made to wait for it.
    pub(crate) fn check(&self, stream: &Stream) -> Result<()> {
        check_waits(stream, self.waiting()?.identity())
    }

    /// Who can wait, as long as there is a wait left.
    fn waiting(&self) -> Result<&Arc<dyn Device>> {
        let device = self.device.as_ref().ok_or_else(|| unknown_device(self.tag))?;
        if self.spent {
            return Err(refuse(Rule::SyncEventSpent, "event", Value::None, Expected::Unsaid));
        }
        Ok(device)
    }

    /// Who can wait, once; from then on a binary event is spent, whatever comes of the wait.
    fn spend(&mut self) -> Result<Arc<dyn Device>> {
        let device = Arc::clone(self.waiting()?);
        self.spent = self.raw.kind == EventKind::Binary;
        Ok(device)
    }
}

/// Whether that stream can wait for what happens on the device `other`.
pub(crate) fn check_waits(stream: &Stream, other: &Identity) -> Result<()> {
    if stream.device().can_wait_for(other) {
        return Ok(());
    }
    let found = Value::Tag(u64::from(stream.device().identity().tag.tag()));
    let expected = Expected::OneOf("a stream of a device that can wait for this one");
    Err(refuse(Rule::SyncDeviceMismatch, "stream", found, expected))
}

impl Drop for Event {
    fn drop(&mut self) {
        match (self.release.take(), &self.device) {
            (Some(release), _) => drop(Release::new(release)),
            // SAFETY: the event is open while it is held, which ends here.
            (None, Some(device)) => quietly(|| unsafe { device.release_event(self.raw) }),
            // Made by neither constructor.
            (None, None) => {}
        }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({:?} of {})", self.raw, self.tag)
    }
}
