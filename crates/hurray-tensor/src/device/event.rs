//! Events: marks in a stream that others wait for, released once.

#![allow(unsafe_code, reason = "a driver's event is a number that must be open when it is used")]

use std::fmt;
use std::sync::Arc;

use hurray_format::{DeviceTag, Expected, Rule, Value};

use super::{Device, Stream};
use crate::error::Result;
use crate::memory::refuse;

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
    /// `sync.device-unknown`, `sync.device-mismatch` for a stream of another device,
    /// `sync.event-spent`, `device.failed`.
    pub fn order(&mut self, stream: &Stream) -> Result<()> {
        let own = self.device.as_ref().map(|device| device.identity());
        if own.is_some_and(|own| own != stream.device().identity()) {
            return Err(other_device(stream));
        }
        let device = self.spend()?;
        // SAFETY: a stream is open while it is held; the event as in `wait`.
        unsafe { device.wait(stream.handle(), self.raw) }
    }

    /// Who can wait, once; from then on a binary event is spent.
    fn spend(&mut self) -> Result<Arc<dyn Device>> {
        let Some(device) = &self.device else {
            let found = Value::Tag(u64::from(self.tag.tag()));
            let rule = Rule::SyncDeviceUnknown;
            return Err(refuse(rule, "device_tag", found, Expected::OneOf("a device at hand")));
        };
        if self.spent {
            return Err(refuse(Rule::SyncEventSpent, "event", Value::None, Expected::Unsaid));
        }
        self.spent = self.raw.kind == EventKind::Binary;
        Ok(Arc::clone(device))
    }
}

pub(super) fn other_device(stream: &Stream) -> crate::Error {
    let found = Value::Tag(u64::from(stream.device().identity().tag.tag()));
    refuse(Rule::SyncDeviceMismatch, "stream", found, Expected::OneOf("the same device"))
}

impl Drop for Event {
    fn drop(&mut self) {
        match (self.release.take(), &self.device) {
            (Some(release), _) => drop(crate::memory::Release::new(release)),
            // SAFETY: the event is open while it is held, which ends here.
            (None, Some(device)) => unsafe { device.release_event(self.raw) },
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
