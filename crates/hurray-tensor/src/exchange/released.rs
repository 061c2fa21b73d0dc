//! How a parcel is released: what C calls, from any thread, once for each struct.

#![allow(unsafe_code, reason = "callbacks of C reach what they release by pointers")]

use std::alloc::{Layout, dealloc};
use std::ptr::NonNull;

use super::Status;
use super::in_order::{self, Releases};
use super::parcel::{ALIGN, Kept, Parcel, Slot};
use super::raw::{Head, HurrayBuffer, HurraySync, HurrayTensor};
use crate::memory::quietly;

pub(super) unsafe extern "C" fn release_tensor(tensor: *mut HurrayTensor) {
    // SAFETY: whoever releases gives a struct of its own with the first four fields, or null,
    // which is let pass.
    let Some(head) = (unsafe { tensor.cast::<Head<HurrayTensor>>().as_mut() }) else { return };
    if head.release.take().is_none() {
        return;
    }
    let parcel = head.private_data.cast::<Parcel>();
    // SAFETY: the tensor held its parcel until now; but for the count nobody writes to it.
    let Parcel { slots, members, first_member, .. } = *unsafe { &*parcel };
    let mut held: usize = 1;
    for place in 0..slots {
        let slot = Parcel::first_slot(parcel).wrapping_add(place);
        // SAFETY: the slot is filled. What was moved out is marked so in its `raw`, by whoever
        // moved it and had the tensor alone; since then nobody uses that `raw`.
        let raw = unsafe { &mut *slot.cast::<Head<HurrayBuffer>>() };
        if raw.release.take().is_some() {
            // SAFETY: it was neither released nor moved out, so nobody else uses its slot.
            unsafe { &mut (*slot).kept }.empty();
            held = held.saturating_add(1);
        }
    }
    for place in 0..members {
        let member = first_member.wrapping_add(place);
        // SAFETY: the array is filled, and used by nobody else.
        let raw = unsafe { &*member.cast::<Head<HurrayTensor>>() };
        if let Some(release) = raw.release {
            // SAFETY: a tensor that was neither released nor moved out.
            unsafe { release(member) };
        }
    }
    // SAFETY: the tensor and the buffers that were present held it, and are gone.
    unsafe { let_go(parcel, held) }
}

/// Lets each buffer be released in stream order.
///
/// # Safety
///
/// The parcel must be packed, and its tensor not released nor used by anybody else.
pub(super) unsafe fn release_in(parcel: NonNull<Parcel>, releases: &Releases) {
    // SAFETY: passed on to the caller.
    let slots = unsafe { parcel.as_ref() }.slots;
    for place in 0..slots {
        let slot = Parcel::first_slot(parcel.as_ptr()).wrapping_add(place);
        // SAFETY: the slot is filled, and used by the caller alone.
        let slot = unsafe { &mut *slot };
        slot.kept.releases = Some(releases.clone());
        slot.raw.release_after = Some(release_buffer_after);
    }
}

unsafe extern "C" fn release_buffer_after(buffer: *mut HurrayBuffer, done: *mut HurraySync) -> i32 {
    // SAFETY: whoever releases gives a struct of its own, or null, which is refused.
    let head = unsafe { buffer.cast::<Head<HurrayBuffer>>().as_mut() };
    // SAFETY: as above.
    let done = unsafe { done.as_mut() };
    let (Some(head), Some(done)) = (head, done) else { return Status::Peer.code() };
    if head.release.is_none() {
        return Status::Peer.code();
    }
    let slot = head.private_data.cast::<Slot>();
    // SAFETY: the buffer was not released until now, so that its slot is filled, and whoever
    // releases it is the only one who uses this part of it.
    let kept = unsafe { &mut (*slot).kept };
    let parcel = kept.parcel.as_ptr();
    // SAFETY: what the consumer gives for it keeps the header's rules.
    let status = unsafe { in_order::let_go_after(kept, done) };
    if status == Status::Ok {
        kept.empty();
        head.release = None;
        // SAFETY: the buffer held it, and is gone.
        unsafe { let_go(parcel, 1) }
    }
    status.code()
}

pub(super) unsafe extern "C" fn release_buffer(buffer: *mut HurrayBuffer) {
    // SAFETY: whoever releases gives a struct of its own with the first four fields, or null,
    // which is let pass.
    let Some(head) = (unsafe { buffer.cast::<Head<HurrayBuffer>>().as_mut() }) else { return };
    if head.release.take().is_none() {
        return;
    }
    let slot = head.private_data.cast::<Slot>();
    // SAFETY: the buffer was not released until now, so that its slot is filled, and whoever
    // releases it is the only one who uses this part of it.
    let kept = unsafe { &mut (*slot).kept };
    let parcel = kept.parcel.as_ptr();
    kept.empty();
    // SAFETY: the buffer held it, and is gone.
    unsafe { let_go(parcel, 1) }
}

pub(super) unsafe extern "C" fn release_event(sync: *mut HurraySync) {
    // SAFETY: whoever releases gives a struct of its own, or null, which is let pass.
    let Some(sync) = (unsafe { sync.as_mut() }) else { return };
    if sync.release_event.take().is_some() {
        let slot = sync.event_context.cast::<Slot>();
        // SAFETY: an event is never released after its buffer, so that the slot is filled, nor at
        // the same time, so that nobody else uses this part of it.
        unsafe { &mut (*slot).kept }.drop_event();
    }
}

impl Kept {
    /// Drops the event, then the memory: all that is kept.
    #[inline]
    fn empty(&mut self) {
        self.drop_event();
        // Letting memory go does not panic.
        drop(self.keep.take());
        if let Some(releases) = self.releases.take() {
            quietly(move || drop(releases));
        }
    }

    #[inline]
    fn drop_event(&mut self) {
        if let Some(event) = self.event.take() {
            quietly(move || drop(event));
        }
    }
}

/// Gives the allocation back where these were the last that held it.
///
/// # Safety
///
/// The caller must have held it `count` times, and not any more.
#[inline]
unsafe fn let_go(parcel: *mut Parcel, count: usize) {
    // SAFETY: held until now; but for the count nobody writes to it.
    let Parcel { holders, size, .. } = unsafe { &*parcel };
    let size = *size;
    if !holders.leave_many(count) {
        return;
    }
    // SAFETY: the size and alignment of the layout with which it was allocated.
    let layout = unsafe { Layout::from_size_align_unchecked(size, ALIGN) };
    // SAFETY: allocated with that layout, and nobody holds it any more.
    unsafe { dealloc(parcel.cast(), layout) }
}
