//! What may be used on some streams.

use hurray_format::{Descriptor, DeviceTag, Expected, MemoryClass, Rule, Value};

use super::{Fence, Held, Offered};
use crate::buffer::Buffer;
use crate::device::{EventKind, Stream};
use crate::error::Result;
use crate::memory::{Region, refuse};
use crate::tensor::Tensor;

/// Something that may be used on some streams: work queued there runs after its producer's.
///
/// Dropping it keeps the memory until what is queued on those streams is done.
#[derive(Debug)]
#[must_use = "what is ready and not used was waited for in vain"]
pub struct Ready<T: Held> {
    value: T,
    /// None where it may be used on any.
    streams: Vec<Stream>,
}

impl<T: Held> Ready<T> {
    /// What has been waited for already is ready on every stream. Whoever queues work on it
    /// by the driver's own calls holds it meanwhile: see [`Stream::hold`].
    pub fn everywhere(value: T) -> Self {
        Self { value, streams: Vec::new() }
    }

    pub(super) fn on_streams(value: T, streams: &[&Stream]) -> Self {
        let streams = streams.iter().map(|stream| (*stream).clone()).collect();
        Self { value, streams }
    }

    /// It, to be used on that stream.
    ///
    /// # Errors
    ///
    /// `sync.not-ready` for a stream it was not acquired on.
    pub(crate) fn on(&self, stream: &Stream) -> Result<&T> {
        let is_ready = self.streams.is_empty() || self.streams.iter().any(|own| own.is(stream));
        if is_ready {
            return Ok(&self.value);
        }
        Err(refuse(Rule::SyncNotReady, "stream", Value::None, Expected::Unsaid))
    }

    /// Where its buffers are, for work that the caller queues on that stream.
    ///
    /// # Errors
    ///
    /// `sync.not-ready` for a stream it was not acquired on.
    pub fn regions_on(&self, stream: &Stream) -> Result<Vec<Region>> {
        let mut regions = Vec::new();
        self.on(stream)?.each_buffer(&mut |buffer| regions.push(buffer.region()));
        Ok(regions)
    }

    /// Its buffers, in the order of [`Held::each_buffer`], each ready on the same streams.
    pub fn buffers(&self) -> Vec<Ready<Buffer>> {
        let mut buffers = Vec::new();
        self.value.each_buffer(&mut |buffer| {
            buffers.push(Ready { value: buffer.clone(), streams: self.streams.clone() });
        });
        buffers
    }

    /// Offers it to others, who must wait for what is queued on that stream so far: by an
    /// event of that kind for each buffer.
    ///
    /// # Errors
    ///
    /// `sync.not-ready`, `device.event-kind`, `device.failed`.
    pub fn offer_after(&self, stream: &Stream, kind: EventKind) -> Result<Offered<T>> {
        let value = self.on(stream)?.clone();
        let mut fences = Ok(Vec::new());
        value.each_buffer(&mut |_| {
            if let Ok(so_far) = &mut fences {
                match stream.record(kind) {
                    Ok(event) => so_far.push(Fence::Event(event)),
                    Err(error) => fences = Err(error),
                }
            }
        });
        Offered::new(value, fences?)
    }

    /// Offers it to somebody who declared a stream of theirs: that one is ordered after what
    /// is queued here so far.
    ///
    /// # Errors
    ///
    /// `sync.not-ready`, `sync.device-mismatch`, `device.failed`.
    pub fn offer_on(&self, stream: &Stream, declared: &Stream) -> Result<Offered<T>> {
        let value = self.on(stream)?.clone();
        stream.order_before(&[declared])?;
        let mut fences = Vec::new();
        value.each_buffer(&mut |_| fences.push(Fence::Stream(declared.clone().into())));
        Offered::new(value, fences)
    }

    /// Waits on the host until everything queued on its streams is done.
    ///
    /// # Errors
    ///
    /// `device.failed`; the value is then held until the streams are done, for ever where
    /// they cannot say so.
    pub fn finish(mut self) -> Result<T> {
        self.streams.iter().try_for_each(Stream::synchronize)?;
        // Nothing is queued any more that it would have to be held for.
        self.streams.clear();
        Ok(self.value.clone())
    }
}

impl Ready<Buffer> {
    /// As [`Buffer::byte_size`].
    pub fn byte_size(&self) -> u64 {
        self.value.byte_size()
    }

    /// The memory space it is in.
    pub fn device(&self) -> DeviceTag {
        self.value.device()
    }

    /// Who can touch it without a copy.
    pub fn class(&self) -> MemoryClass {
        self.value.class()
    }
}

impl Ready<Tensor> {
    /// What it is.
    pub fn descriptor(&self) -> &Descriptor {
        self.value.descriptor()
    }
}

impl<T: Held> Drop for Ready<T> {
    fn drop(&mut self) {
        for stream in &self.streams {
            // Where it cannot be held for as long as it must, it is held for ever.
            let _ = stream.hold(self.value.clone());
        }
    }
}
