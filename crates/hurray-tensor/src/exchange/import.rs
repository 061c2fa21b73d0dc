//! Tensors of others: checked as a whole, then made ours to wait for.

#![allow(unsafe_code, reason = "what structs of others point to is read and taken over here")]

use std::mem::offset_of;
use std::slice;

use hurray_format::{
    Accept, BufferHandle, Descriptor, DeviceTag, Expected, Rule, Silent, SyncMode, Value,
};
use smallvec::SmallVec;

use super::foreign::{Foreign, Theirs, check_head, check_pointer, head_of, take_head};
use super::raw::{EVENT_BINARY, HurrayBuffer, HurraySync, HurrayTensor};
use super::request::Request;
use super::{check, refuse};
use crate::buffer::Buffer;
use crate::device::{Devices, Event, RawEvent};
use crate::error::Result;
use crate::memory::{Region, as_u64, share};
use crate::offered::{Fence, Offered};
use crate::tensor::Tensor;

impl Foreign {
    /// Checks all of it, and takes it over as a tensor to be waited for. Memory, events and what
    /// else the producer made are released with that, each once; where it is refused, at once.
    ///
    /// `devices` are those that can wait for its events and streams: where the right one is not
    /// among them, the tensor is offered all the same, and waiting for it is refused.
    ///
    /// # Errors
    ///
    /// The rules of `exchange.*`; those of the descriptor; `memory.address-null`,
    /// `memory.address-misaligned`, `memory.address-beyond`; `exchange.composite` for a head,
    /// which is for [`into_composite`](Self::into_composite).
    pub fn into_offered(self, accept: &Accept, devices: &Devices) -> Result<Offered<Tensor>> {
        if self.raw.member_count != 0 {
            let at = offset_of!(HurrayTensor, member_count);
            let found = Value::Unsigned(self.raw.member_count);
            let rule = Rule::ExchangeComposite;
            return Err(refuse(rule, "member_count", at, found, Expected::Exactly(0)));
        }
        let descriptor = decode(&self.raw, accept)?;
        self.open(descriptor, devices, None)
    }

    /// The same once its descriptor is read, and against what was asked for.
    pub(super) fn open(
        self,
        descriptor: Descriptor,
        devices: &Devices,
        request: Option<&Request>,
    ) -> Result<Offered<Tensor>> {
        let Self { owner, raw } = self;
        let structs = buffer_structs(&raw, &descriptor)?;
        let mut places: SmallVec<[Place; 3]> = SmallVec::new();
        for (place, (pointer, handle)) in structs.iter().zip(descriptor.buffers()).enumerate() {
            places.push(look_at(*pointer, *handle, place, request)?);
        }
        if places.iter().any(|place| place.is_binary()) {
            check_shared(&places)?;
        }
        take_over(owner, descriptor, places, devices)
    }
}

/// The descriptor, which must be exactly as long as was said.
pub(super) fn decode(raw: &HurrayTensor, accept: &Accept) -> Result<Descriptor> {
    Ok(Descriptor::decode_with(descriptor_bytes(raw, accept)?, accept, &mut Silent)?)
}

/// The bytes of the descriptor, no more of them than the reader's limit allows.
fn descriptor_bytes<'a>(raw: &'a HurrayTensor, accept: &Accept) -> Result<&'a [u8]> {
    let at = offset_of!(HurrayTensor, descriptor);
    check_pointer(raw.descriptor, "descriptor", at)?;
    let most = u64::from(accept.limits.descriptor_bytes);
    match usize::try_from(raw.descriptor_length) {
        // SAFETY: whoever took the tensor promised that as many bytes are there, unchanging until
        // it is released, which is after this borrow of it.
        Ok(length) if raw.descriptor_length <= most => {
            Ok(unsafe { slice::from_raw_parts(raw.descriptor, length) })
        }
        _ => {
            let at = offset_of!(HurrayTensor, descriptor_length);
            let found = Value::Unsigned(raw.descriptor_length);
            let rule = Rule::DescriptorLengthAboveLimit;
            Err(refuse(rule, "descriptor_length", at, found, Expected::AtMost(most)))
        }
    }
}

/// The array of buffers, once it is known to be as long as the descriptor's table.
fn buffer_structs<'a>(
    raw: &'a HurrayTensor,
    descriptor: &Descriptor,
) -> Result<&'a [*mut HurrayBuffer]> {
    let count = descriptor.buffer_count();
    if raw.buffer_count != as_u64(count) {
        let at = offset_of!(HurrayTensor, buffer_count);
        let found = Value::Unsigned(raw.buffer_count);
        let expected = Expected::Exactly(as_u64(count));
        return Err(refuse(Rule::ExchangeBufferCount, "buffer_count", at, found, expected));
    }
    if count == 0 {
        return Ok(&[]);
    }
    check_pointer(raw.buffers, "buffers", offset_of!(HurrayTensor, buffers))?;
    // SAFETY: whoever took the tensor promised that as many pointers are there.
    Ok(unsafe { slice::from_raw_parts(raw.buffers, count) })
}

/// A buffer that was checked.
struct Place {
    pointer: *mut HurrayBuffer,
    region: Region,
    sync: HurraySync,
    mode: SyncMode,
}

impl Place {
    fn is_binary(&self) -> bool {
        self.mode == SyncMode::EVENT && self.sync.event_kind == EVENT_BINARY
    }
}

#[inline]
fn look_at(
    pointer: *mut HurrayBuffer,
    handle: BufferHandle,
    place: usize,
    request: Option<&Request>,
) -> Result<Place> {
    // SAFETY: an entry of the array is null or a struct, by the promise of whoever took the
    // tensor, and nobody else uses it.
    check_head(unsafe { head_of(pointer) }?)?;
    // SAFETY: a struct, of this version and as large as it is there.
    let raw = unsafe { &*pointer };
    let region = check::buffer(raw, handle, place)?;
    if let Some(request) = request {
        request.check_answer(raw, handle, place)?;
    }
    Ok(Place { pointer, region, sync: raw.sync, mode: handle.sync() })
}

/// An event that allows one wait is one buffer's.
fn check_shared(places: &[Place]) -> Result<()> {
    for (number, place) in places.iter().enumerate().filter(|(_, place)| place.is_binary()) {
        let before = places.iter().take(number);
        if before
            .filter(|other| other.is_binary())
            .any(|other| other.sync.event == place.sync.event)
        {
            let at = offset_of!(HurrayBuffer, sync).saturating_add(offset_of!(HurraySync, event));
            let found = Value::Tag(place.sync.event);
            let rule = Rule::ExchangeEventShared;
            return Err(refuse(rule, "event", at, found, Expected::Unsaid));
        }
    }
    Ok(())
}

/// Makes the buffers ours. A tensor of one buffer is held as it is; of several each is moved out.
fn take_over(
    owner: Theirs<HurrayTensor>,
    descriptor: Descriptor,
    places: SmallVec<[Place; 3]>,
    devices: &Devices,
) -> Result<Offered<Tensor>> {
    let synced = places.iter().all(|place| place.mode == SyncMode::PRODUCER_SYNCED);
    let mut buffers: SmallVec<[Buffer; 3]> = SmallVec::new();
    if let [place] = places.as_slice() {
        buffers.push(Buffer::whole(share(place.region, owner)?));
    } else {
        for place in &places {
            // SAFETY: as in `look_at`. One struct that is named twice is found released here.
            let (buffer, is_whole) = unsafe { take_head(place.pointer) }?;
            is_whole?;
            buffers.push(Buffer::whole(share(place.region, buffer)?));
        }
        drop(owner);
    }
    if synced {
        return Ok(Offered::synced(Tensor::new(descriptor, buffers)?));
    }
    let fences = places.iter().zip(&buffers).map(|(place, buffer)| fence(place, buffer, devices));
    let fences = fences.collect::<Result<_>>()?;
    Offered::new(Tensor::new(descriptor, buffers)?, fences)
}

fn fence(place: &Place, buffer: &Buffer, devices: &Devices) -> Result<Fence> {
    let Place { region, sync, mode, .. } = place;
    let tag = DeviceTag::from_tag(sync.device_tag);
    let device = devices.find(tag, region.ordinal, &region.uuid).cloned();
    match *mode {
        SyncMode::EVENT => {
            let kind = check::event_kind(sync)?;
            let raw = RawEvent { kind, handle: sync.event, value: sync.event_value };
            let mut release = EventRelease { sync: *sync, _buffer: buffer.clone() };
            // SAFETY: the producer's event, open until it is released, in the driver that its tag
            // names.
            Ok(Fence::Event(unsafe {
                Event::borrow_until(move || release.run(), tag, device, raw)
            }))
        }
        SyncMode::CONSUMER_STREAM => Ok(Fence::Stream { tag, device, handle: sync.stream }),
        _ => Ok(Fence::Synced),
    }
}

/// Releases an event, before its buffer can be.
struct EventRelease {
    sync: HurraySync,
    _buffer: Buffer,
}

// SAFETY: any thread may release; see `Foreign`.
unsafe impl Send for EventRelease {}

impl EventRelease {
    fn run(&mut self) {
        if let Some(release) = self.sync.release_event {
            // SAFETY: not released before, since this runs once, nor after its buffer, which is
            // held here.
            unsafe { release(&raw mut self.sync) }
        }
    }
}
