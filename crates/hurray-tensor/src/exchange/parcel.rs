//! What is behind an exported tensor: one allocation, which the tensor and each of its buffers
//! hold, and whoever is released last gives back.
//!
//! ```text
//! Parcel | Slot.. | *HurrayBuffer.. | HurrayTensor.. | *HurrayTensor.. | descriptor
//! ```

#![allow(unsafe_code, reason = "memory is laid out by hand, and held by callbacks of C")]

use std::alloc::{Layout, alloc, dealloc};
use std::mem::{ManuallyDrop, offset_of};
use std::ptr::{self, NonNull};

use hurray_format::{BufferHandle, Descriptor, DeviceTag, MemoryClass};

use super::below::hand_on;
use super::export::Exported;
use super::in_order::Releases;
use super::raw::struct_size;
use super::raw::{ABI_VERSION, HurrayBuffer, HurraySync, HurrayTensor, NO_QUEUE_FAMILY};
use super::released::{release_buffer, release_event, release_tensor};
use crate::buffer::Buffer;
use crate::device::Event;
use crate::error::{Error, Result};
use crate::memory::{Count, as_u64};
use crate::offered::Fence;

/// How the allocation starts.
#[repr(C)]
pub(super) struct Parcel {
    /// The tensor, and each of its buffers that is not released.
    pub(super) holders: Count,
    /// Of the whole allocation.
    pub(super) size: usize,
    pub(super) slots: usize,
    pub(super) members: usize,
    /// The first of its members.
    pub(super) first_member: *mut HurrayTensor,
    list: *mut *mut HurrayBuffer,
    member_list: *mut *mut HurrayTensor,
    descriptor: *const u8,
    descriptor_length: usize,
}

/// A buffer that was handed over. `raw` is the consumer's to write to, the rest the callbacks'.
#[repr(C)]
pub(super) struct Slot {
    pub(super) raw: HurrayBuffer,
    pub(super) kept: Kept,
}

pub(super) struct Kept {
    pub(super) parcel: NonNull<Parcel>,
    pub(super) keep: Option<Buffer>,
    pub(super) event: Option<Event>,
    /// Where memory waits before it goes, if it can be released in stream order.
    pub(super) releases: Option<Releases>,
}

const SLOTS_AT: usize = size_of::<Parcel>();

/// Where everything is in one allocation. All of it is aligned to 8, and a multiple of 8 long, but
/// for the descriptor at the end. What memory has no room for saturates.
struct Plan {
    list: usize,
    members: usize,
    member_list: usize,
    descriptor: usize,
}

impl Plan {
    #[inline(always)]
    fn of(slots: usize, members: usize) -> Self {
        let after =
            |start: usize, count: usize, size| start.saturating_add(count.saturating_mul(size));
        let list = after(SLOTS_AT, slots, size_of::<Slot>());
        let tensors = after(list, slots, size_of::<*mut Slot>());
        let member_list = after(tensors, members, size_of::<HurrayTensor>());
        let descriptor = after(member_list, members, size_of::<*mut HurrayTensor>());
        Self { list, members: tensors, member_list, descriptor }
    }
}

impl Parcel {
    /// The first of its slots.
    #[inline(always)]
    pub(super) fn first_slot(parcel: *mut Self) -> *mut Slot {
        parcel.cast::<u8>().wrapping_add(SLOTS_AT).cast()
    }
}

pub(super) const ALIGN: usize = 8;
const _: () = assert!(
    align_of::<Parcel>() == ALIGN
        && align_of::<Slot>() == ALIGN
        && align_of::<HurrayTensor>() == ALIGN
        && align_of::<*mut Slot>() == ALIGN
);
// A buffer's struct is found by its slot's address.
const _: () = assert!(offset_of!(Slot, raw) == 0);

/// Packs a tensor with its members and so many buffers, or fewer where `fill` ends before.
#[inline(always)]
pub(super) fn pack(
    descriptor: &Descriptor,
    slots: usize,
    mut fill: impl FnMut(Vacant) -> Option<Filled>,
    members: impl ExactSizeIterator<Item = Exported>,
) -> Result<NonNull<Parcel>> {
    let length = descriptor.encoded_len();
    let member_count = members.len();
    let plan = Plan::of(slots, member_count);
    // What was saturated is refused here: no layout is longer than `isize` counts.
    let layout = Layout::from_size_align(plan.descriptor.saturating_add(length), ALIGN);
    let layout = layout.map_err(|_| out_of_memory())?;
    // SAFETY: the layout has the size of a `Parcel` at least.
    let base = unsafe { alloc(layout) };
    let base = NonNull::new(base).ok_or_else(out_of_memory)?;
    let memory = Allocation { base, layout };

    // SAFETY: the plan has `length` bytes there.
    unsafe { memory.at(plan.descriptor).write_bytes(0, length) };
    // SAFETY: initialised just now, and nobody else knows the memory yet.
    let bytes = unsafe { std::slice::from_raw_parts_mut(memory.at(plan.descriptor), length) };
    descriptor.encode_into(bytes)?;

    let parcel = base.cast::<Parcel>();
    let slot_array = Parcel::first_slot(parcel.as_ptr());
    let list = memory.at(plan.list).cast::<*mut HurrayBuffer>();
    let mut filled: usize = 0;
    while filled < slots {
        // The plan has room for `slots` slots, of which this is one.
        let slot = slot_array.wrapping_add(filled);
        if fill(Vacant { slot, parcel }).is_none() {
            break;
        }
        let entry = list.wrapping_add(filled);
        // SAFETY: the plan has room for as many pointers.
        unsafe { entry.write(slot.cast()) };
        filled = filled.saturating_add(1);
    }
    let member_array = memory.at(plan.members).cast::<HurrayTensor>();
    let member_list = memory.at(plan.member_list).cast::<*mut HurrayTensor>();
    for (place, member) in members.take(member_count).enumerate() {
        let target = member_array.wrapping_add(place);
        // SAFETY: the plan has room for all members.
        unsafe { target.write(member.into_raw()) };
        let entry = member_list.wrapping_add(place);
        // SAFETY: the plan has room for as many pointers.
        unsafe { entry.write(target) };
    }
    let start = Parcel {
        holders: Count::of(filled.saturating_add(1)),
        size: layout.size(),
        slots: filled,
        members: member_count,
        first_member: member_array,
        list: if filled == 0 { ptr::null_mut() } else { list },
        member_list: if member_count == 0 { ptr::null_mut() } else { member_list },
        descriptor: memory.at(plan.descriptor),
        descriptor_length: length,
    };
    // SAFETY: the allocation starts with room for it.
    unsafe { parcel.write(start) };
    let _ = ManuallyDrop::new(memory);
    Ok(parcel)
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

/// Room for a slot that nobody else knows, to be filled where it lies: half of exporting would be
/// moving otherwise.
pub(super) struct Vacant {
    slot: *mut Slot,
    parcel: NonNull<Parcel>,
}

/// Says that a slot was filled.
pub(super) struct Filled(());

impl Vacant {
    /// Fills it with a buffer that need not be waited for. `flags` are `BUFFER_*`.
    #[inline(always)]
    pub(super) fn fill(self, handle: &BufferHandle, keep: Buffer, flags: u64) -> Filled {
        let raw = self.slot.cast::<HurrayBuffer>();
        // SAFETY: the slot starts with room for its struct.
        unsafe { raw.write_bytes(0, 1) };
        // SAFETY: numbers, pointers and optional functions, for each of which zero is a value.
        let raw = unsafe { &mut *raw };
        raw.abi_version = ABI_VERSION;
        raw.struct_size = struct_size::<HurrayBuffer>();
        raw.release = Some(release_buffer);
        raw.private_data = self.slot.cast();
        raw.flags = flags;
        describe(raw, handle, &keep);
        let kept = self.slot.cast::<u8>().wrapping_add(offset_of!(Slot, kept)).cast();
        let Self { parcel, .. } = self;
        // SAFETY: room for a slot, of which this part is not borrowed.
        unsafe { ptr::write(kept, Kept { parcel, keep: Some(keep), event: None, releases: None }) }
        Filled(())
    }

    /// Fills it with a buffer and what is to be waited for.
    pub(super) fn fill_behind(
        self,
        fence: Fence,
        handle: &BufferHandle,
        keep: Buffer,
        flags: u64,
    ) -> Filled {
        let slot = self.slot;
        let filled = self.fill(handle, keep, flags);
        // SAFETY: filled just now, and nobody else knows it.
        let Slot { raw, kept } = unsafe { &mut *slot };
        kept.event = announce(&mut raw.sync, fence, slot);
        filled
    }
}

/// Says where a buffer is.
#[inline(always)]
fn describe(raw: &mut HurrayBuffer, handle: &BufferHandle, buffer: &Buffer) {
    let region = buffer.region();
    raw.handle = handle.encode();
    if region.object != 0 {
        raw.object = region.object;
        raw.object_offset = region.offset;
    }
    if region.device == DeviceTag::CPU {
        raw.address = as_u64(region.host.addr());
    } else if region.address != 0 {
        raw.address = region.address.wrapping_add(region.offset);
    }
    if !keeps_host_out(region.device, region.class) {
        raw.host = region.host.cast();
    }
    raw.device_context = region.context;
    raw.device_ordinal = region.ordinal;
    raw.device_uuid = region.uuid;
    raw.queue_family = NO_QUEUE_FAMILY;
    raw.queue_family_to = NO_QUEUE_FAMILY;
    raw.sync.device_tag = region.device.tag();
    if region.device != DeviceTag::CPU {
        hand_on(raw, buffer);
    }
}

/// Says what is to be waited for, and gives back what is to be kept for that.
fn announce(sync: &mut HurraySync, fence: Fence, slot: *mut Slot) -> Option<Event> {
    match fence {
        Fence::Synced => None,
        Fence::Stream(declared) => {
            sync.stream = declared.handle();
            None
        }
        Fence::Event(event) => {
            let raw = event.raw();
            sync.event_kind = raw.kind as u8;
            sync.event = raw.handle;
            sync.event_value = raw.value;
            sync.release_event = Some(release_event);
            sync.event_context = slot.cast();
            Some(event)
        }
    }
}

/// Whether the class of a device's memory keeps the CPU out.
#[inline]
pub(super) fn keeps_host_out(device: DeviceTag, class: MemoryClass) -> bool {
    device != DeviceTag::CPU && matches!(class, MemoryClass::STANDARD | MemoryClass::PEER)
}

/// The struct that holds a parcel.
///
/// # Safety
///
/// The parcel must be packed, and its tensor not released.
#[inline(always)]
pub(super) unsafe fn tensor(parcel: NonNull<Parcel>) -> HurrayTensor {
    // SAFETY: passed on to the caller.
    let start = unsafe { parcel.as_ref() };
    HurrayTensor {
        abi_version: ABI_VERSION,
        struct_size: struct_size::<HurrayTensor>(),
        release: Some(release_tensor),
        private_data: parcel.as_ptr().cast(),
        descriptor: start.descriptor,
        descriptor_length: as_u64(start.descriptor_length),
        buffer_count: as_u64(start.slots),
        buffers: start.list,
        member_count: as_u64(start.members),
        members: start.member_list,
        flags: 0,
    }
}

#[cold]
fn out_of_memory() -> Error {
    Error::io("allocate", std::io::ErrorKind::OutOfMemory.into())
}
