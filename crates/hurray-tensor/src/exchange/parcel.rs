//! What is behind an exported tensor: one allocation, which the tensor and each of its buffers
//! hold, and whoever is released last gives back.
//!
//! ```text
//! Parcel | Slot.. | *HurrayBuffer.. | HurrayTensor.. | *HurrayTensor.. | descriptor
//! ```

#![allow(unsafe_code, reason = "memory is laid out by hand, and held by callbacks of C")]

use std::alloc::{Layout, alloc, dealloc};
use std::mem::{ManuallyDrop, offset_of};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering, fence};

use hurray_format::Descriptor;

use super::raw::{ABI_VERSION, Head, HurrayBuffer, HurraySync, HurrayTensor};
use crate::buffer::Buffer;
use crate::device::Event;
use crate::error::{Error, Result};
use crate::memory::as_u64;

/// One buffer to be handed over.
pub(super) struct Part {
    /// Filled, but for the first four fields and the release of the event.
    pub(super) raw: HurrayBuffer,
    pub(super) keep: Buffer,
    /// There where the sync mode is EVENT.
    pub(super) event: Option<Event>,
}

#[repr(C)]
struct Parcel {
    /// The tensor, and each of its buffers that is not released.
    holders: AtomicUsize,
    layout: Layout,
    slots: usize,
    members: usize,
    member_array: *mut HurrayTensor,
}

/// A buffer that was handed over. `raw` is the consumer's to write to, the rest the callbacks'.
#[repr(C)]
struct Slot {
    raw: HurrayBuffer,
    kept: Kept,
}

struct Kept {
    parcel: NonNull<Parcel>,
    keep: Option<Buffer>,
    event: Option<Event>,
}

const SLOTS_AT: usize = size_of::<Parcel>().next_multiple_of(align_of::<Slot>());

/// Where everything is in one allocation.
struct Plan {
    layout: Layout,
    list: usize,
    members: usize,
    member_list: usize,
    descriptor: usize,
}

impl Plan {
    fn of(slots: usize, members: usize, descriptor: usize) -> Option<Self> {
        let layout = Layout::new::<Parcel>();
        let (layout, _) = layout.extend(Layout::array::<Slot>(slots).ok()?).ok()?;
        let (layout, list) = layout.extend(Layout::array::<*mut Slot>(slots).ok()?).ok()?;
        let (layout, tensors) = layout.extend(Layout::array::<HurrayTensor>(members).ok()?).ok()?;
        let pointers = Layout::array::<*mut HurrayTensor>(members).ok()?;
        let (layout, member_list) = layout.extend(pointers).ok()?;
        let (layout, descriptor) = layout.extend(Layout::array::<u8>(descriptor).ok()?).ok()?;
        Some(Self { layout, list, members: tensors, member_list, descriptor })
    }
}

/// Packs a tensor. What `members` holds is moved out of it where this succeeds, and stays where it
/// does not.
pub(super) fn pack(
    descriptor: &Descriptor,
    parts: impl ExactSizeIterator<Item = Part>,
    members: &mut [HurrayTensor],
) -> Result<HurrayTensor> {
    let length = descriptor.encoded_len();
    let slots = parts.len();
    let plan = Plan::of(slots, members.len(), length).ok_or_else(out_of_memory)?;
    // SAFETY: the layout has the size of a `Parcel` at least.
    let base = unsafe { alloc(plan.layout) };
    let base = NonNull::new(base).ok_or_else(out_of_memory)?;
    let memory = Allocation { base, layout: plan.layout };

    // SAFETY: the plan has `length` bytes there, which are initialised before they are a slice.
    unsafe { memory.at(plan.descriptor).write_bytes(0, length) };
    // SAFETY: initialised just now, and nobody else knows the memory yet.
    let bytes = unsafe { std::slice::from_raw_parts_mut(memory.at(plan.descriptor), length) };
    descriptor.encode_into(bytes)?;

    let parcel = base.cast::<Parcel>();
    let slot_array = memory.at(SLOTS_AT).cast::<Slot>();
    let list = memory.at(plan.list).cast::<*mut HurrayBuffer>();
    let mut filled: usize = 0;
    for part in parts.take(slots) {
        let slot = slot_array.wrapping_add(filled);
        // SAFETY: the plan has room for `slots` slots, of which this is one.
        unsafe { fill(slot, part, parcel) };
        let entry = list.wrapping_add(filled);
        // SAFETY: the plan has room for as many pointers.
        unsafe { entry.write(slot.cast()) };
        filled = filled.saturating_add(1);
    }
    let member_array = memory.at(plan.members).cast::<HurrayTensor>();
    let member_list = memory.at(plan.member_list).cast::<*mut HurrayTensor>();
    for (place, member) in members.iter_mut().enumerate() {
        let target = member_array.wrapping_add(place);
        // SAFETY: the plan has room for all members.
        unsafe { target.write(*member) };
        member.release = None;
        let entry = member_list.wrapping_add(place);
        // SAFETY: the plan has room for as many pointers.
        unsafe { entry.write(target) };
    }
    let head = Parcel {
        holders: AtomicUsize::new(filled.saturating_add(1)),
        layout: plan.layout,
        slots: filled,
        members: members.len(),
        member_array,
    };
    // SAFETY: the allocation starts with room for it.
    unsafe { parcel.write(head) };
    let memory = ManuallyDrop::new(memory);
    Ok(HurrayTensor {
        abi_version: ABI_VERSION,
        struct_size: struct_size::<HurrayTensor>(),
        release: Some(release_tensor),
        private_data: parcel.as_ptr().cast(),
        descriptor: memory.at(plan.descriptor),
        descriptor_length: as_u64(length),
        buffer_count: as_u64(filled),
        buffers: if filled == 0 { ptr::null_mut() } else { list },
        member_count: as_u64(members.len()),
        members: if members.is_empty() { ptr::null_mut() } else { member_list },
        flags: 0,
    })
}

/// Memory that is given back where packing fails before anybody holds it.
struct Allocation {
    base: NonNull<u8>,
    layout: Layout,
}

impl Allocation {
    fn at(&self, offset: usize) -> *mut u8 {
        self.base.as_ptr().wrapping_add(offset)
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and held by nobody else.
        unsafe { dealloc(self.base.as_ptr(), self.layout) }
    }
}

/// # Safety
///
/// `slot` must be room for one.
#[inline(always)]
unsafe fn fill(slot: *mut Slot, part: Part, parcel: NonNull<Parcel>) {
    let Part { mut raw, keep, event } = part;
    raw.abi_version = ABI_VERSION;
    raw.struct_size = struct_size::<HurrayBuffer>();
    raw.release = Some(release_buffer);
    raw.private_data = slot.cast();
    if event.is_some() {
        raw.sync.release_event = Some(release_event);
        raw.sync.event_context = slot.cast();
    }
    // SAFETY: passed on to the caller.
    unsafe { slot.write(Slot { raw, kept: Kept { parcel, keep: Some(keep), event } }) }
}

unsafe extern "C" fn release_tensor(tensor: *mut HurrayTensor) {
    // SAFETY: whoever releases gives a struct of its own with the first four fields, or null,
    // which is let pass.
    let Some(head) = (unsafe { tensor.cast::<Head<HurrayTensor>>().as_mut() }) else { return };
    if head.release.take().is_none() {
        return;
    }
    let parcel = head.private_data.cast::<Parcel>();
    // SAFETY: the tensor held its parcel until now; but for the count nobody writes to it.
    let Parcel { slots, members, member_array, .. } = *unsafe { &*parcel };
    let mut held: usize = 1;
    let first = parcel.cast::<u8>().wrapping_add(SLOTS_AT).cast::<Slot>();
    for place in 0..slots {
        let slot = first.wrapping_add(place);
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
        let member = member_array.wrapping_add(place);
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

unsafe extern "C" fn release_buffer(buffer: *mut HurrayBuffer) {
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

unsafe extern "C" fn release_event(sync: *mut HurraySync) {
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
    /// Drops the event, then the memory.
    #[inline]
    fn empty(&mut self) {
        self.drop_event();
        let keep = self.keep.take();
        quietly(move || drop(keep));
    }

    #[inline]
    fn drop_event(&mut self) {
        if let Some(event) = self.event.take() {
            quietly(move || drop(event));
        }
    }
}

/// Runs what may panic, and lets no panic out: memory counts as released whatever came of it.
#[inline]
pub(super) fn quietly(work: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
        // Dropping it could panic again.
        let _ = ManuallyDrop::new(panic);
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
    let Parcel { holders, layout, .. } = unsafe { &*parcel };
    let layout = *layout;
    // Where all that is left is ours, nobody else can change the count.
    if holders.load(Ordering::Acquire) != count {
        if holders.fetch_sub(count, Ordering::Release) != count {
            return;
        }
        fence(Ordering::Acquire);
    }
    // SAFETY: allocated with that layout, and nobody holds it any more.
    unsafe { dealloc(parcel.cast(), layout) }
}

pub(super) const fn struct_size<T>() -> u32 {
    #[allow(clippy::cast_possible_truncation, reason = "no struct here has 4 GiB")]
    let size = size_of::<T>() as u32;
    size
}

#[cold]
fn out_of_memory() -> Error {
    Error::io("allocate", std::io::ErrorKind::OutOfMemory.into())
}

// A buffer's struct is found by its slot's address.
const _: () = assert!(offset_of!(Slot, raw) == 0);
