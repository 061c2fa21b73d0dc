//! What is to be waited for before one buffer may be touched.

#![allow(unsafe_code, reason = "whoever names a stream by its number promises that it is open")]

use std::sync::Arc;

use hurray_format::{DeviceTag, Expected, Rule, SyncMode, Value};

use crate::device::{Device, Event, EventKind, Stream, check_waits};
use crate::error::{Error, Result};
use crate::memory::refuse;

/// What is to be waited for before one buffer may be touched.
#[derive(Debug)]
pub enum Fence {
    /// Nothing.
    Synced,
    /// An event of the producer's.
    Event(Event),
    /// Nothing on this stream; on others, and on the host, what is queued there.
    Stream(DeclaredStream),
}

/// The stream that a consumer declared and its producer ordered.
#[derive(Debug)]
pub struct DeclaredStream {
    tag: DeviceTag,
    handle: u64,
    /// None where no device at hand can wait for it.
    stream: Option<Stream>,
}

impl From<Stream> for DeclaredStream {
    fn from(stream: Stream) -> Self {
        let tag = stream.device().identity().tag;
        Self { tag, handle: stream.handle(), stream: Some(stream) }
    }
}

impl DeclaredStream {
    /// A stream by the driver's number, as it comes with a handoff. `device` is who can wait
    /// for it, where anybody here can.
    ///
    /// # Safety
    ///
    /// `handle` must be open on that device for as long as the fence or anything that it made
    /// ready is held: it is the consumer's own, or the producer promised so.
    pub unsafe fn adopt(tag: DeviceTag, device: Option<Arc<dyn Device>>, handle: u64) -> Self {
        // SAFETY: passed on to the caller.
        let stream = device.map(|device| unsafe { Stream::adopt(device, handle) });
        Self { tag, handle, stream }
    }

    /// The kind of device it belongs to.
    pub fn device_tag(&self) -> DeviceTag {
        self.tag
    }

    /// The driver's number.
    pub fn handle(&self) -> u64 {
        self.handle
    }

    fn stream(&self) -> Result<&Stream> {
        self.stream.as_ref().ok_or_else(|| unknown_device(self.tag))
    }
}

impl Fence {
    /// How the handle in a descriptor says it.
    pub fn mode(&self) -> SyncMode {
        match self {
            Self::Synced => SyncMode::PRODUCER_SYNCED,
            Self::Event(_) => SyncMode::EVENT,
            Self::Stream(_) => SyncMode::CONSUMER_STREAM,
        }
    }

    /// Waits on the host.
    pub(crate) fn wait(&mut self) -> Result<()> {
        match self {
            Self::Synced => Ok(()),
            Self::Event(event) => event.wait(),
            Self::Stream(declared) => declared.stream()?.synchronize(),
        }
    }

    /// Whether each of `streams` can be made to wait, without waiting.
    pub(super) fn check(&self, streams: &[&Stream]) -> Result<()> {
        match self {
            Self::Synced => Ok(()),
            Self::Event(event) => {
                streams.iter().try_for_each(|stream| event.check(stream))?;
                match streams.split_first() {
                    Some((first, others)) if event.kind() == EventKind::Binary => {
                        let first = first.device().identity();
                        others.iter().try_for_each(|stream| check_waits(stream, first))
                    }
                    _ => Ok(()),
                }
            }
            Self::Stream(declared) => {
                let own = declared.stream()?.device().identity();
                streams.iter().try_for_each(|stream| check_waits(stream, own))
            }
        }
    }

    /// Makes each of `streams` wait.
    pub(crate) fn order(&mut self, streams: &[&Stream]) -> Result<()> {
        let Some((first, others)) = streams.split_first() else {
            return Ok(());
        };
        match self {
            Self::Synced => Ok(()),
            // One wait is all that a binary event has: the others follow the first stream.
            Self::Event(event) if event.kind() == EventKind::Binary => {
                event.order(first)?;
                first.order_before(others)
            }
            Self::Event(event) => streams.iter().try_for_each(|stream| event.order(stream)),
            Self::Stream(declared) => {
                let ordered = declared.stream()?;
                let others: Vec<&Stream> =
                    streams.iter().copied().filter(|stream| !stream.is(ordered)).collect();
                ordered.order_before(&others)
            }
        }
    }
}

#[cold]
pub(crate) fn unknown_device(tag: DeviceTag) -> Error {
    let found = Value::Tag(u64::from(tag.tag()));
    let expected = Expected::OneOf("a device at hand");
    refuse(Rule::SyncDeviceUnknown, "device_tag", found, expected)
}
