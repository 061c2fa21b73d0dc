//! What arrives before its bytes may be touched, and what waiting makes of it.
//!
//! ```text
//! Offered --acquire_host()-------> HostBuffer, Tensor     the host has waited
//!         --acquire_on(&[&stream])-> Ready                 those streams will wait
//!         --into_exports(&devices)-> Exports               another process will wait
//!         --drop--> released, events and all
//! ```

mod export;
mod fence;
mod ready;

pub use export::{Crossing, ExportedBuffer, Exports};
pub(crate) use fence::unknown_device;
pub use fence::{DeclaredStream, Fence};
pub use ready::Ready;

use hurray_format::{
    BufferHandle, Descriptor, DeviceTag, Dtype, Expected, MemoryClass, Rule, SyncMode, Value,
};

use crate::buffer::{Buffer, HostBuffer};
use crate::device::{Event, Stream};
use crate::error::Result;
use crate::memory::{as_u64, refuse};
use crate::tensor::{Composite, Tensor};

/// Something held in buffers: a buffer, a tensor, a composite, and nothing else. What is waited
/// for and what is held on a stream is what it shows.
pub trait Held: sealed::Sealed + Clone + Send + 'static {
    /// The same, once it is known that the host may look at all of it.
    type OnHost;

    /// Shows each of its buffers in table order, a head's before its members'.
    fn each_buffer(&self, see: &mut dyn FnMut(&Buffer));

    /// Makes sure that the host may look at all of it.
    ///
    /// # Errors
    ///
    /// `memory.not-host`, `memory.may-change`.
    fn on_host(self) -> Result<Self::OnHost>;

    /// Checks what its memory must hold, as [`Tensor::check_contents`] does.
    ///
    /// # Errors
    ///
    /// The rules of what does not hold.
    fn check_held(&self) -> Result<()>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Buffer {}
    impl Sealed for super::Tensor {}
    impl Sealed for super::Composite {}
}

impl Held for Buffer {
    type OnHost = HostBuffer;

    fn each_buffer(&self, see: &mut dyn FnMut(&Buffer)) {
        see(self);
    }

    fn on_host(self) -> Result<HostBuffer> {
        self.into_host().map_err(|returned| returned.error)
    }

    fn check_held(&self) -> Result<()> {
        Ok(())
    }
}

/// Something whose bytes must be waited for. Dropping it releases memory and events.
///
/// What another library handed over is not trusted in what its memory holds: once the host has
/// waited, index arrays, scales and zero points are checked before anybody gets it, unless
/// [`trusted`](Self::trusted) says otherwise. A device's memory cannot be looked at, and is not.
#[derive(Debug)]
#[must_use = "an offer that is dropped is released unused"]
pub struct Offered<T: Held> {
    value: T,
    /// One for each buffer; none where there is nothing to wait for.
    fences: Vec<Fence>,
    is_trusted: bool,
}

impl<T: Held> Offered<T> {
    /// Something that need not be waited for.
    pub fn synced(value: T) -> Self {
        Self { value, fences: Vec::new(), is_trusted: true }
    }

    /// Something with a fence for each of its buffers.
    ///
    /// # Errors
    ///
    /// `memory.count` where there are not as many.
    pub fn new(value: T, fences: Vec<Fence>) -> Result<Self> {
        let mut count = 0_usize;
        value.each_buffer(&mut |_| count = count.saturating_add(1));
        if fences.len() != count {
            let found = Value::Unsigned(as_u64(fences.len()));
            let expected = Expected::Exactly(as_u64(count));
            return Err(refuse(Rule::MemoryCount, "fences", found, expected));
        }
        Ok(Self { value, fences, is_trusted: true })
    }

    /// The same, whose memory is taken to hold what it must: nobody looks.
    pub fn trusted(mut self) -> Self {
        self.is_trusted = true;
        self
    }

    /// The same, of a stranger's: looked at before it is given out.
    #[inline(always)]
    pub(crate) fn of_stranger(mut self) -> Self {
        self.is_trusted = false;
        self
    }

    /// What its handle `place` declares.
    pub fn sync_mode(&self, place: usize) -> SyncMode {
        self.fences.get(place).map_or(SyncMode::PRODUCER_SYNCED, Fence::mode)
    }

    /// Whether the host may look at all of it once it has waited, to be asked before the
    /// offer is used up.
    ///
    /// # Errors
    ///
    /// `memory.not-host`, `memory.may-change`.
    pub fn check_host(&self) -> Result<()> {
        let mut checked = Ok(());
        self.value.each_buffer(&mut |buffer| {
            if checked.is_ok() {
                checked = buffer.check_host();
            }
        });
        checked
    }

    /// Waits on the host for all of it. The events are released then, the memory is held on.
    ///
    /// # Errors
    ///
    /// Those of [`check_host`](Self::check_host), before anything is waited for;
    /// `sync.device-unknown`, `sync.event-spent`, `device.failed`; of a stranger's tensors those of
    /// [`Tensor::check_contents`]. Memory and events are released then.
    pub fn acquire_host(mut self) -> Result<T::OnHost> {
        self.check_host()?;
        self.fences.iter_mut().try_for_each(Fence::wait)?;
        if !self.is_trusted {
            self.value.check_held()?;
        }
        self.value.on_host()
    }

    /// Waits on the host for all of it, wherever it is.
    ///
    /// # Errors
    ///
    /// `sync.device-unknown`, `sync.event-spent`, `device.failed`; of a stranger's tensors that the
    /// host may look at those of [`Tensor::check_contents`].
    pub fn acquire(mut self) -> Result<T> {
        self.fences.iter_mut().try_for_each(Fence::wait)?;
        if !self.is_trusted && self.check_host().is_ok() {
            self.value.check_held()?;
        }
        Ok(self.value)
    }

    /// Makes each of `streams` wait for all of it, and the host for nothing. The events are
    /// released as soon as the waits are queued.
    ///
    /// What is wrong with the request is refused before a wait is queued. Where a driver fails
    /// half-way, some streams wait for an event that the producer completes all the same, and
    /// memory and events are released.
    ///
    /// # Errors
    ///
    /// `sync.no-stream`, `sync.device-unknown`, `sync.device-mismatch`, `sync.event-spent`,
    /// `device.failed`.
    pub fn acquire_on(mut self, streams: &[&Stream]) -> Result<Ready<T>> {
        if streams.is_empty() {
            return Err(refuse(Rule::SyncNoStream, "streams", Value::None, Expected::AtLeast(1)));
        }
        self.fences.iter().try_for_each(|fence| fence.check(streams))?;
        self.fences.iter_mut().try_for_each(|fence| fence.order(streams))?;
        Ok(Ready::on_streams(self.value, streams))
    }

    /// The value and its fences, to be handed on as they are.
    pub(crate) fn into_parts(self) -> (T, Vec<Fence>) {
        (self.value, self.fences)
    }
}

/// What may be known of a buffer before it is waited for.
impl Offered<Buffer> {
    /// A buffer that is whole once `event` is complete.
    pub fn after(buffer: Buffer, event: Event) -> Self {
        Self { value: buffer, fences: vec![Fence::Event(event)], is_trusted: true }
    }

    /// The handle that describes it once it was waited for.
    ///
    /// # Errors
    ///
    /// As [`Buffer::handle`].
    pub fn handle(&self) -> Result<BufferHandle> {
        self.value.handle()
    }

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

impl Offered<Tensor> {
    /// A row-major tensor that fills `buffer` from its first byte on.
    ///
    /// # Errors
    ///
    /// As [`Tensor::dense`]; memory and event are released then.
    pub fn dense(dtype: Dtype, shape: &[u64], buffer: Offered<Buffer>) -> Result<Self> {
        let (value, fences) = buffer.into_parts();
        Ok(Self { value: Tensor::dense(dtype, shape, value)?, fences, is_trusted: true })
    }

    /// A tensor of buffers that were offered one by one, in table order.
    ///
    /// # Errors
    ///
    /// As [`Tensor::new`]; memory and events are released then.
    pub fn of(
        descriptor: Descriptor,
        buffers: impl IntoIterator<Item = Offered<Buffer>>,
    ) -> Result<Self> {
        let mut fences = Vec::new();
        let values = buffers.into_iter().map(|offered| {
            let (value, fence) = offered.into_parts();
            fences.push(fence.into_iter().next().unwrap_or(Fence::Synced));
            value
        });
        let tensor = Tensor::new(descriptor, values)?;
        Self::new(tensor, fences)
    }

    /// What it is. Its handles say `producer-synced`, as they will once it was waited for; how
    /// each is to be waited for says [`sync_mode`](Self::sync_mode).
    pub fn descriptor(&self) -> &Descriptor {
        self.value.descriptor()
    }
}

impl Offered<Composite> {
    /// A composite of its head and its members, offered one by one in the order of
    /// [`Composite::new`].
    ///
    /// # Errors
    ///
    /// As [`Composite::new`]; memory and events are released then.
    pub fn bind(tensors: impl IntoIterator<Item = Offered<Tensor>>) -> Result<Self> {
        let mut fences = Vec::new();
        let mut is_trusted = true;
        let values = tensors.into_iter().map(|offered| {
            is_trusted &= offered.is_trusted;
            let (value, own) = offered.into_parts();
            let missing = value.buffers().len().saturating_sub(own.len());
            fences.extend(own);
            // What need not be waited for may have no fences.
            fences.extend(std::iter::repeat_with(|| Fence::Synced).take(missing));
            value
        });
        let composite = Composite::new(values)?;
        Ok(Self { is_trusted, ..Self::new(composite, fences)? })
    }
}
