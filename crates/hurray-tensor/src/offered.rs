//! What arrives before its bytes may be touched, and what waiting makes of it.
//!
//! ```text
//! Offered --acquire_host()-------> HostBuffer, Tensor     the host has waited
//!         --acquire_on(&[&stream])-> Ready                 those streams will wait
//!         --drop--> released, events and all
//! ```

#![allow(unsafe_code, reason = "the stream a producer ordered is adopted for one wait")]

use std::sync::Arc;

use hurray_format::{Descriptor, DeviceTag, Expected, Rule, SyncMode, Value};

use crate::buffer::{Buffer, HostBuffer};
use crate::device::{Device, Event, EventKind, Stream};
use crate::error::Result;
use crate::memory::refuse;
use crate::tensor::Tensor;

/// Something held in buffers: a buffer, or a tensor.
pub trait Held: Clone + Send + 'static {
    /// The same, once it is known that the host may look at all of it.
    type OnHost;

    /// Its buffers, in table order.
    fn buffers(&self) -> &[Buffer];

    /// Makes sure that the host may look at all of it.
    ///
    /// # Errors
    ///
    /// `memory.not-host`, `memory.may-change`.
    fn on_host(self) -> Result<Self::OnHost>;
}

impl Held for Buffer {
    type OnHost = HostBuffer;

    fn buffers(&self) -> &[Buffer] {
        std::slice::from_ref(self)
    }

    fn on_host(self) -> Result<HostBuffer> {
        self.into_host().map_err(|returned| returned.error)
    }
}

/// What is to be waited for before one buffer may be touched.
#[derive(Debug)]
pub enum Fence {
    /// Nothing.
    Synced,
    /// An event of the producer's.
    Event(Event),
    /// Nothing on this stream; on others, and on the host, what is queued there.
    Stream {
        /// The kind of device.
        tag: DeviceTag,
        /// Who can wait for it, where anybody here can.
        device: Option<Arc<dyn Device>>,
        /// The stream, as the driver numbers it.
        handle: u64,
    },
}

impl Fence {
    /// How the handle in a descriptor says it.
    pub fn mode(&self) -> SyncMode {
        match self {
            Self::Synced => SyncMode::PRODUCER_SYNCED,
            Self::Event(_) => SyncMode::EVENT,
            Self::Stream { .. } => SyncMode::CONSUMER_STREAM,
        }
    }

    fn wait(&mut self) -> Result<()> {
        match self {
            Self::Synced => Ok(()),
            Self::Event(event) => event.wait(),
            Self::Stream { .. } => self.stream()?.synchronize(),
        }
    }

    fn order(&mut self, streams: &[&Stream]) -> Result<()> {
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
            Self::Stream { .. } => {
                let ordered = self.stream()?;
                let others: Vec<&Stream> =
                    streams.iter().copied().filter(|stream| !stream.is(&ordered)).collect();
                ordered.order_before(&others)
            }
        }
    }

    /// The stream that the producer ordered.
    fn stream(&self) -> Result<Stream> {
        match self {
            Self::Stream { device: Some(device), handle, .. } => {
                // SAFETY: it is the stream that the consumer itself named and has open, or the
                // one a producer in this process promised to keep open.
                Ok(unsafe { Stream::adopt(Arc::clone(device), *handle) })
            }
            other => {
                let tag = match other {
                    Self::Stream { tag, .. } => *tag,
                    _ => DeviceTag::CPU,
                };
                let found = Value::Tag(u64::from(tag.tag()));
                let expected = Expected::OneOf("a device at hand");
                Err(refuse(Rule::SyncDeviceUnknown, "device_tag", found, expected))
            }
        }
    }
}

/// Something whose bytes must be waited for. Dropping it releases memory and events.
#[derive(Debug)]
#[must_use = "an offer that is dropped is released unused"]
pub struct Offered<T: Held> {
    value: T,
    /// One for each buffer; none where there is nothing to wait for.
    fences: Vec<Fence>,
}

impl<T: Held> Offered<T> {
    /// Something that need not be waited for.
    pub fn synced(value: T) -> Self {
        Self { value, fences: Vec::new() }
    }

    /// Something with a fence for each of its buffers.
    ///
    /// # Errors
    ///
    /// `memory.count` where there are not as many.
    pub fn new(value: T, fences: Vec<Fence>) -> Result<Self> {
        if fences.len() != value.buffers().len() {
            let found = Value::Unsigned(crate::memory::as_u64(fences.len()));
            let expected = Expected::Exactly(crate::memory::as_u64(value.buffers().len()));
            return Err(refuse(Rule::MemoryCount, "fences", found, expected));
        }
        Ok(Self { value, fences })
    }

    /// What its handle `place` declares.
    pub fn sync_mode(&self, place: usize) -> SyncMode {
        self.fences.get(place).map_or(SyncMode::PRODUCER_SYNCED, Fence::mode)
    }

    /// Waits on the host for all of it. The events are released then, the memory is held on.
    ///
    /// # Errors
    ///
    /// `sync.device-unknown`, `device.failed`; `memory.not-host` and `memory.may-change`
    /// where the host may not look at it. Memory and events are released then.
    pub fn acquire_host(mut self) -> Result<T::OnHost> {
        self.fences.iter_mut().try_for_each(Fence::wait)?;
        self.value.on_host()
    }

    /// Waits on the host for all of it, wherever it is.
    ///
    /// # Errors
    ///
    /// `sync.device-unknown`, `device.failed`.
    pub fn acquire(mut self) -> Result<T> {
        self.fences.iter_mut().try_for_each(Fence::wait)?;
        Ok(self.value)
    }

    /// Makes each of `streams` wait for all of it, and the host for nothing. The events are
    /// released as soon as the waits are queued.
    ///
    /// # Errors
    ///
    /// `sync.no-stream`, `sync.device-unknown`, `sync.device-mismatch`, `device.failed`.
    pub fn acquire_on(mut self, streams: &[&Stream]) -> Result<Ready<T>> {
        if streams.is_empty() {
            return Err(refuse(Rule::SyncNoStream, "streams", Value::None, Expected::AtLeast(1)));
        }
        self.fences.iter_mut().try_for_each(|fence| fence.order(streams))?;
        let streams = streams.iter().map(|stream| (*stream).clone()).collect();
        Ok(Ready { value: Some(self.value), streams })
    }

    /// The value and its fences, to be handed on as they are.
    pub(crate) fn into_parts(self) -> (T, Vec<Fence>) {
        (self.value, self.fences)
    }
}

impl Offered<Tensor> {
    /// What is offered. Its handles say how the memory is once it has been waited for;
    /// [`sync_mode`](Self::sync_mode) says what for.
    pub fn descriptor(&self) -> &Descriptor {
        self.value.descriptor()
    }
}

impl Offered<Buffer> {
    /// A buffer that is whole once `event` is complete.
    pub fn after(buffer: Buffer, event: Event) -> Self {
        Self { value: buffer, fences: vec![Fence::Event(event)] }
    }
}

/// Something that may be used on some streams: work queued there runs after its producer's.
///
/// Dropping it keeps the memory until what is queued on those streams is done.
#[derive(Debug)]
pub struct Ready<T: Held> {
    /// There until it is dropped.
    value: Option<T>,
    /// None where it may be used on any.
    streams: Vec<Stream>,
}

impl<T: Held> Ready<T> {
    /// What has been waited for already is ready on every stream. Whoever queues work on it
    /// by the driver's own calls holds it meanwhile: see [`Stream::hold`].
    pub fn everywhere(value: T) -> Self {
        Self { value: Some(value), streams: Vec::new() }
    }

    /// It, to be used on that stream.
    ///
    /// # Errors
    ///
    /// `sync.not-ready` for a stream it was not acquired on.
    pub(crate) fn on(&self, stream: &Stream) -> Result<&T> {
        let is_ready = self.streams.is_empty() || self.streams.iter().any(|own| own.is(stream));
        match &self.value {
            Some(value) if is_ready => Ok(value),
            _ => Err(refuse(Rule::SyncNotReady, "stream", Value::None, Expected::Unsaid)),
        }
    }

    /// Where its buffers are, for work that the caller queues on that stream.
    ///
    /// # Errors
    ///
    /// `sync.not-ready` for a stream it was not acquired on.
    pub fn regions_on(&self, stream: &Stream) -> Result<Vec<crate::Region>> {
        Ok(self.on(stream)?.buffers().iter().map(Buffer::region).collect())
    }

    /// Offers it to others, who must wait for what is queued on that stream so far.
    ///
    /// # Errors
    ///
    /// `sync.not-ready`, `device.failed`.
    pub fn offer_after(&self, stream: &Stream) -> Result<Offered<T>> {
        let value = self.on(stream)?.clone();
        let fence = |_: &Buffer| stream.record(EventKind::MultiWait).map(Fence::Event);
        let fences = value.buffers().iter().map(fence).collect::<Result<_>>()?;
        Offered::new(value, fences)
    }

    /// Waits on the host until everything queued on its streams is done.
    ///
    /// # Errors
    ///
    /// `device.failed`; the value is kept for ever then, since nobody knows when it is done.
    pub fn finish(mut self) -> Result<T> {
        self.streams.iter().try_for_each(Stream::synchronize)?;
        match self.value.take() {
            Some(value) => Ok(value),
            None => Err(refuse(Rule::SyncNotReady, "value", Value::None, Expected::Unsaid)),
        }
    }
}

impl<T: Held> Drop for Ready<T> {
    fn drop(&mut self) {
        let Some(value) = self.value.take() else {
            return;
        };
        for stream in &self.streams {
            // Where it cannot be held for as long as it must, it is held for ever.
            let _ = stream.hold(value.clone());
        }
    }
}
