//! Tensors of others: checked as a whole, then made ours to wait for.

#![allow(unsafe_code, reason = "what structs of others point to is read and taken over here")]

use std::iter;
use std::mem::offset_of;
use std::slice;

use hurray_format::{
    Accept, Array, BufferHandle, Descriptor, DescriptorRef, DeviceTag, Error as FormatError,
    Expected, LayoutKind, Rule, Silent, SyncMode, Value,
};
use smallvec::SmallVec;

use super::below::Owner;
use super::foreign::{Foreign, check_head, check_pointer, head_of, take_head};
use super::raw::{EVENT_BINARY, HurrayBuffer, HurraySync, HurrayTensor};
use super::request::Request;
use super::{broken, check, refuse};
use crate::buffer::Buffer;
use crate::device::{Devices, Event, RawEvent};
use crate::error::{Error, Result};
use crate::memory::{Region, Shared, as_u64};
use crate::offered::{DeclaredStream, Fence, Offered};
use crate::tensor::check::strange_lead;
use crate::tensor::{Arriving, Tensor};

impl Foreign {
    /// Checks all of it, and takes it over as a tensor to be waited for. Memory, events and what
    /// else the producer made are released with that, each once; where it is refused, at once.
    ///
    /// `devices` are those that can wait for its events and streams: where the right one is not
    /// among them, the tensor is offered all the same, and waiting for it is refused.
    ///
    /// What its memory holds can be looked at only after the wait:
    /// [`acquire_host`](Offered::acquire_host) checks index arrays, scales and zero points then,
    /// unless the offer is [`trusted`](Offered::trusted). Bytes of the first buffer in front of
    /// what a dense tensor reaches are nobody's: see [`Buffer::lead`].
    ///
    /// # Errors
    ///
    /// The rules of `exchange.*`; those of the descriptor; `memory.address-null`,
    /// `memory.address-misaligned`, `memory.address-beyond`; `exchange.composite` for a head,
    /// which is for [`into_composite`](Self::into_composite).
    pub fn into_offered(self, accept: &Accept, devices: &Devices) -> Result<Offered<Tensor>> {
        self.open(accept, devices, None)
    }

    /// The same, against what was asked for.
    #[inline]
    pub(super) fn open(
        self,
        accept: &Accept,
        devices: &Devices,
        request: Option<&Request>,
    ) -> Result<Offered<Tensor>> {
        let bytes = descriptor_bytes(self.raw(), accept)?;
        if self.raw().buffer_count != 1 {
            return take_several(self, Arriving::read(bytes, accept)?, devices, request);
        }
        let arriving = Arriving::read(bytes, accept)?;
        check_no_head(self.raw(), arriving.descriptor().layout().kind())?;
        let handles = arriving.descriptor().buffers();
        let structs = buffer_structs(self.raw(), handles.len())?;
        match (structs, handles) {
            ([pointer], [handle]) if handle.sync() == SyncMode::PRODUCER_SYNCED => {
                let theirs = look_at(*pointer, *handle, 0, request)?;
                let region = check::region(theirs, *handle, 0);
                let owner = Owner::new(self.into_owner(), theirs);
                let tensor = arriving.finish(region, owner, iter::empty());
                Ok(Offered::synced(tensor).of_stranger())
            }
            _ => take_several(self, arriving.for_another(), devices, request),
        }
    }

    /// Checks all of it, and shows what it is where it lies; nothing is taken over yet. Whoever
    /// does not like its type or shape drops it then.
    ///
    /// # Errors
    ///
    /// As [`into_offered`](Self::into_offered).
    #[inline]
    pub fn look(&self, accept: &Accept) -> Result<DescriptorRef<'_>> {
        let bytes = descriptor_bytes(self.raw(), accept)?;
        DescriptorRef::read_for(bytes, accept, |handles, kind| {
            check_no_head(self.raw(), kind)?;
            let structs = buffer_structs(self.raw(), handles.len())?;
            look_at_each(structs, handles.iter(), None, |_, _, _| ())
        })
    }
}

/// The descriptor, which must be exactly as long as was said.
pub(super) fn decode(raw: &HurrayTensor, accept: &Accept) -> Result<Descriptor> {
    Ok(Descriptor::decode_with(descriptor_bytes(raw, accept)?, accept, &mut Silent)?)
}

/// The bytes of the descriptor, no more of them than the reader's limit allows.
#[inline(always)]
fn descriptor_bytes<'a>(raw: &HurrayTensor, accept: &Accept) -> Result<&'a [u8], FormatError> {
    let at = offset_of!(HurrayTensor, descriptor);
    if raw.descriptor.is_null() {
        let rule = Rule::ExchangeNull;
        return Err(broken(rule, "descriptor", at, Value::None, Expected::Unsaid));
    }
    let most = u64::from(accept.limits.descriptor_bytes);
    let length = usize::try_from(raw.descriptor_length).unwrap_or(usize::MAX);
    if raw.descriptor_length > most {
        let at = offset_of!(HurrayTensor, descriptor_length);
        let found = Value::Unsigned(raw.descriptor_length);
        let rule = Rule::DescriptorLengthAboveLimit;
        return Err(broken(rule, "descriptor_length", at, found, Expected::AtMost(most)));
    }
    // SAFETY: whoever took the tensor promised that as many bytes are there, unchanging until it
    // is released, which is when nobody here uses them any more.
    Ok(unsafe { slice::from_raw_parts(raw.descriptor, length) })
}

/// The array of buffers, once it is known to be as long as the descriptor's table.
#[inline(always)]
pub(super) fn buffer_structs<'a>(
    raw: &HurrayTensor,
    count: usize,
) -> Result<&'a [*mut HurrayBuffer]> {
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

/// A buffer's struct, once all of it is checked.
#[inline(always)]
fn look_at<'a>(
    pointer: *mut HurrayBuffer,
    handle: BufferHandle,
    place: usize,
    request: Option<&Request>,
) -> Result<&'a HurrayBuffer> {
    // SAFETY: an entry of the array is null or a struct, by the promise of whoever took the
    // tensor, and nobody writes to it.
    check_head(&unsafe { head_of(pointer) }?)?;
    // SAFETY: a struct, of this version and as large as it is there.
    let raw = unsafe { &*pointer };
    check::buffer(raw, handle)?;
    if let Some(request) = request {
        request.check_answer(raw, handle, place)?;
    }
    Ok(raw)
}

/// The buffers' structs, all of which are checked, alone and beside each other, and shown to `see`
/// with their handles and places.
#[inline(always)]
fn look_at_each(
    structs: &[*mut HurrayBuffer],
    handles: impl Iterator<Item = BufferHandle>,
    request: Option<&Request>,
    mut see: impl FnMut(&HurrayBuffer, BufferHandle, usize),
) -> Result<()> {
    for (place, (pointer, handle)) in structs.iter().zip(handles).enumerate() {
        let theirs = look_at(*pointer, handle, place, request)?;
        check_once(structs, place, *pointer)?;
        if theirs.sync.event_kind == EVENT_BINARY {
            check_shared(structs, place, &theirs.sync)?;
        }
        see(theirs, handle, place);
    }
    Ok(())
}

/// Each of several buffers is moved out and holds its own memory, as does one that is to be waited
/// for. All are checked before one is.
fn take_several(
    foreign: Foreign,
    arriving: Arriving<Owner<HurrayBuffer>>,
    devices: &Devices,
    request: Option<&Request>,
) -> Result<Offered<Tensor>> {
    check_no_head(foreign.raw(), arriving.descriptor().layout().kind())?;
    let handles = arriving.descriptor().buffers();
    let structs = buffer_structs(foreign.raw(), handles.len())?;
    let mut found: SmallVec<[(Region, HurraySync); 3]> = SmallVec::new();
    look_at_each(structs, handles.iter().copied(), request, |theirs, handle, place| {
        found.push((check::region(theirs, handle, place), theirs.sync));
    })?;
    let is_synced = handles.iter().all(|handle| handle.sync() == SyncMode::PRODUCER_SYNCED);
    let lead = strange_lead(arriving.descriptor(), 0);
    let mut owners: SmallVec<[Owner<HurrayBuffer>; 3]> = SmallVec::new();
    for pointer in structs {
        // SAFETY: as in `look_at`.
        let theirs = unsafe { take_head(*pointer) }?;
        // SAFETY: as above; it was looked at.
        owners.push(Owner::new(theirs, unsafe { &**pointer }));
    }
    drop(foreign);
    let mut parts = found.iter().map(|(region, _)| *region).zip(owners);
    let held = |lead| move |(region, owner)| Buffer::whole(Shared::settled(region, lead, owner));
    if is_synced && let Some((region, owner)) = parts.next() {
        let tensor = arriving.finish(region, owner, parts.map(held(0)));
        return Ok(Offered::synced(tensor).of_stranger());
    }
    let descriptor = arriving.into_descriptor();
    let first = parts.next().map(held(lead));
    let buffers: SmallVec<[Buffer; 3]> = first.into_iter().chain(parts.map(held(0))).collect();
    let fences = descriptor
        .buffers()
        .iter()
        .zip(&found)
        .zip(&buffers)
        .map(|((handle, (.., sync)), buffer)| fence(sync, handle.sync(), buffer, devices, request))
        .collect::<Result<_>>()?;
    Ok(Offered::new(Tensor::new(descriptor, buffers)?, fences)?.of_stranger())
}

/// No struct is one buffer's and another's: releasing the one would release the other.
#[inline]
fn check_once(
    structs: &[*mut HurrayBuffer],
    place: usize,
    pointer: *mut HurrayBuffer,
) -> Result<()> {
    match structs.iter().take(place).any(|other| *other == pointer) {
        true => Err(named_twice()),
        false => Ok(()),
    }
}

/// Whoever named a struct first has consumed it.
#[cold]
pub(super) fn named_twice() -> Error {
    let at = offset_of!(HurrayTensor, buffers);
    refuse(Rule::ExchangeReleased, "buffers", at, Value::None, Expected::Unsaid)
}

/// An event that allows one wait is one buffer's. Those before `place` were looked at.
#[cold]
fn check_shared(structs: &[*mut HurrayBuffer], place: usize, sync: &HurraySync) -> Result<()> {
    for pointer in structs.iter().take(place) {
        // SAFETY: a struct that was looked at.
        let other = unsafe { &(**pointer).sync };
        let is_same = other.device_tag == sync.device_tag && other.event == sync.event;
        if other.event_kind == EVENT_BINARY && is_same {
            return Err(event_shared(sync.event));
        }
    }
    Ok(())
}

#[cold]
pub(super) fn event_shared(event: u64) -> Error {
    let at = offset_of!(HurrayBuffer, sync).saturating_add(offset_of!(HurraySync, event));
    refuse(Rule::ExchangeEventShared, "event", at, Value::Tag(event), Expected::Unsaid)
}

/// A head is no tensor, with members or without; and nothing else has any.
#[inline]
fn check_no_head(raw: &HurrayTensor, kind: LayoutKind) -> Result<()> {
    let rule = match kind {
        LayoutKind::Virtual => Rule::ExchangeComposite,
        _ if raw.member_count != 0 => Rule::ExchangeMemberCount,
        _ => return Ok(()),
    };
    let at = offset_of!(HurrayTensor, member_count);
    let found = Value::Unsigned(raw.member_count);
    Err(refuse(rule, "member_count", at, found, Expected::Exactly(0)))
}

/// What is to be waited for, and is released before its buffer.
fn fence(
    sync: &HurraySync,
    mode: SyncMode,
    buffer: &Buffer,
    devices: &Devices,
    request: Option<&Request>,
) -> Result<Fence> {
    // It was seen to be the one that was asked for.
    if let (SyncMode::CONSUMER_STREAM, Some(asked)) = (mode, request.and_then(Request::held_stream))
    {
        return Ok(Fence::Stream(asked.clone().into()));
    }
    let tag = DeviceTag::from_tag(sync.device_tag);
    let region = buffer.region();
    let device = devices.find(tag, region.ordinal, &region.uuid).cloned();
    match mode {
        SyncMode::EVENT => {
            let kind = check::event_kind(sync)?;
            let raw = RawEvent { kind, handle: sync.event, value: sync.event_value };
            let mut held = EventRelease { sync: *sync, _buffer: buffer.clone() };
            let release = move || held.run();
            // SAFETY: the producer's event, open until it is released, in the driver that its tag
            // names.
            Ok(Fence::Event(unsafe { Event::borrow_until(release, tag, device, raw) }))
        }
        SyncMode::CONSUMER_STREAM => {
            // SAFETY: whoever took the tensor, or read the request for it, promised that the
            // stream is open.
            Ok(Fence::Stream(unsafe { DeclaredStream::adopt(tag, device, sync.stream) }))
        }
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
