//! Tensors of ours, made ready for somebody else.

#![allow(unsafe_code, reason = "structs with callbacks are released here")]

use std::fmt;
use std::mem::ManuallyDrop;

use hurray_format::{self as format, BufferHandle, DeviceTag, MemoryClass};

use super::parcel::{Part, pack};
use super::raw::{self, BUFFER_COPIED, BUFFER_MAY_CHANGE, BUFFER_READ_ONLY, NO_QUEUE_FAMILY};
use super::raw::{HurrayBuffer, HurraySync, HurrayTensor};
use crate::buffer::Buffer;
use crate::error::Result;
use crate::memory::{Region, as_u64};
use crate::offered::{Fence, Offered};
use crate::tensor::{Composite, Tensor};

/// A tensor of ours on its way to another library. Dropping it releases what is still in it.
///
/// One allocation holds all of it. The consumer gets the memory where it is: to write to where
/// nobody else holds it, else to read.
///
/// ```
/// use hurray_tensor::Tensor;
/// use hurray_tensor::exchange::Exported;
///
/// let tensor = Tensor::from_vec(vec![1_i32, 2, 3], &[3])?;
/// let exported = Exported::new(tensor)?;
/// assert_eq!(exported.as_raw().buffer_count, 1);
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
#[must_use = "what is not handed over is released"]
pub struct Exported(HurrayTensor);

// SAFETY: what is behind the pointers is an allocation that only this value reaches; its contents
// are `Buffer` and `Event`, which are `Send`.
unsafe impl Send for Exported {}
// SAFETY: a shared reference only reads numbers.
unsafe impl Sync for Exported {}

impl Exported {
    /// A tensor that need not be waited for.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn new(tensor: Tensor) -> Result<Self> {
        let (descriptor, buffers) = tensor.into_parts();
        let handles = descriptor.buffers().iter();
        let parts = buffers.zip(handles).enumerate();
        let parts = parts.map(|(place, (buffer, handle))| ready(place, buffer, *handle));
        pack(&descriptor, parts, &mut []).map(Self)
    }

    /// Another share in a tensor, which the consumer may read.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn share(tensor: &Tensor) -> Result<Self> {
        let descriptor = tensor.descriptor();
        let parts = tensor.buffers().iter().zip(descriptor.buffers()).enumerate();
        let parts = parts.map(|(place, (buffer, handle))| ready(place, buffer.clone(), *handle));
        pack(descriptor, parts, &mut []).map(Self)
    }

    /// A tensor with its events or the stream it was ordered on, to be waited for by the consumer.
    ///
    /// # Errors
    ///
    /// Out of memory; `buffer.cpu-sync` for memory of the CPU that is not ready.
    pub fn offer(offered: Offered<Tensor>) -> Result<Self> {
        let (tensor, fences) = offered.into_parts();
        if fences.iter().all(|fence| matches!(fence, Fence::Synced)) {
            return Self::new(tensor);
        }
        let (descriptor, buffers) = tensor.into_parts();
        let descriptor = descriptor.with_sync(fences.iter().map(Fence::mode))?;
        let parts: Vec<Part> = buffers
            .zip(descriptor.buffers())
            .zip(fences)
            .enumerate()
            .map(|(place, ((buffer, handle), fence))| part(place, buffer, *handle, fence))
            .collect();
        pack(&descriptor, parts.into_iter(), &mut []).map(Self)
    }

    /// A composite: its head, with its members inside.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn composite(composite: &Composite) -> Result<Self> {
        Self::bound(composite.as_bound())
    }

    fn bound(bound: &format::Composite<Tensor>) -> Result<Self> {
        if bound.members.is_empty() {
            return Self::share(&bound.item);
        }
        let members: Vec<Self> = bound.members.iter().map(Self::bound).collect::<Result<_>>()?;
        let mut members: Vec<HurrayTensor> = members.into_iter().map(Self::into_raw).collect();
        let packed = pack(bound.item.descriptor(), std::iter::empty(), &mut members);
        if packed.is_err() {
            members.into_iter().map(Self).for_each(drop);
        }
        packed.map(Self)
    }

    /// Says of all its memory that it was copied for this handoff.
    pub fn copied(mut self) -> Self {
        self.mark(BUFFER_COPIED);
        self
    }

    /// The struct, to be read.
    pub fn as_raw(&self) -> &HurrayTensor {
        &self.0
    }

    /// The struct, for a consumer that moves it out by itself; what it leaves is released with
    /// this value.
    pub fn as_mut_ptr(&mut self) -> *mut HurrayTensor {
        &raw mut self.0
    }

    /// The struct, whose `release` the caller now answers for.
    pub fn into_raw(self) -> HurrayTensor {
        ManuallyDrop::new(self).0
    }

    /// Its buffers' structs, in table order. A head has none of its own.
    pub fn buffers(&self) -> impl ExactSizeIterator<Item = &HurrayBuffer> {
        let count = usize::try_from(self.0.buffer_count).unwrap_or(0);
        (0..count).map(|place| {
            // SAFETY: a tensor of ours that was not released has so many pointers there.
            let buffer = unsafe { *self.0.buffers.wrapping_add(place) };
            // SAFETY: each to a struct, which stays until the tensor is released, and which nobody
            // writes to while it is borrowed.
            unsafe { &*buffer }
        })
    }

    /// Does something with each of its members.
    pub(super) fn each_member(&self, mut work: impl FnMut(&Self) -> Result<()>) -> Result<()> {
        let count = usize::try_from(self.0.member_count).unwrap_or(0);
        for place in 0..count {
            // SAFETY: as in `buffers`.
            let member = unsafe { *self.0.members.wrapping_add(place) };
            // SAFETY: as in `buffers`. The copy is looked at, and not released.
            work(&ManuallyDrop::new(Self(unsafe { *member })))?;
        }
        Ok(())
    }

    fn mark(&mut self, flag: u64) {
        let count = usize::try_from(self.0.buffer_count).unwrap_or(0);
        for place in 0..count {
            // SAFETY: as in `buffers`.
            let buffer = unsafe { *self.0.buffers.wrapping_add(place) };
            // SAFETY: as in `buffers`, and we have the tensor alone.
            unsafe { (*buffer).flags |= flag };
        }
        let members = usize::try_from(self.0.member_count).unwrap_or(0);
        for place in 0..members {
            // SAFETY: as in `buffers`.
            let member = unsafe { *self.0.members.wrapping_add(place) };
            // SAFETY: as in `buffers`; the copy is not released.
            let mut member = ManuallyDrop::new(Self(unsafe { *member }));
            member.mark(flag);
        }
    }
}

impl Drop for Exported {
    fn drop(&mut self) {
        if let Some(release) = self.0.release {
            // SAFETY: neither released nor moved out until now.
            unsafe { release(&raw mut self.0) }
        }
    }
}

impl fmt::Debug for Exported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HurrayTensor { buffer_count, member_count, .. } = self.0;
        write!(f, "Exported({buffer_count} buffers, {member_count} members)")
    }
}

fn part(place: usize, buffer: Buffer, handle: BufferHandle, fence: Fence) -> Part {
    let mut part = ready(place, buffer, handle);
    let sync = &mut part.raw.sync;
    match fence {
        Fence::Synced => {}
        Fence::Event(event) => {
            let raw = event.raw();
            sync.event_kind = raw.kind as u8;
            sync.event = raw.handle;
            sync.event_value = raw.value;
            part.event = Some(event);
        }
        Fence::Stream { handle, .. } => sync.stream = handle,
    }
    part
}

#[inline(always)]
fn ready(place: usize, mut buffer: Buffer, handle: BufferHandle) -> Part {
    let region = buffer.region();
    // Only values can be written, never what says where they are or what they mean; and not
    // where bytes in front of the buffer's own would be taken for its own.
    let writable = place == 0 && region.writable && !region.may_change;
    let given_away = writable && buffer.lead() == 0 && buffer.is_sole();
    let read_only = if given_away { 0 } else { BUFFER_READ_ONLY };
    let may_change = if region.may_change { BUFFER_MAY_CHANGE } else { 0 };
    let raw = describe(handle, &region, read_only | may_change);
    Part { raw, keep: buffer, event: None }
}

/// The struct of a buffer that is ready.
#[inline]
fn describe(handle: BufferHandle, region: &Region, flags: u64) -> HurrayBuffer {
    let (object, object_offset) =
        if region.object == 0 { (0, 0) } else { (region.object, region.offset) };
    let address = if region.address == 0 { 0 } else { region.address.wrapping_add(region.offset) };
    let (host, address) = match region.device {
        DeviceTag::CPU => (region.host, as_u64(region.host.addr())),
        _ if keeps_host_out(region.device, region.class) => (std::ptr::null_mut(), address),
        _ => (region.host, address),
    };
    HurrayBuffer {
        abi_version: 0,
        struct_size: 0,
        release: None,
        private_data: std::ptr::null_mut(),
        handle: handle.encode(),
        object,
        object_offset,
        memory: 0,
        memory_offset: 0,
        address,
        host: host.cast(),
        device_context: region.context,
        driver: 0,
        device_ordinal: region.ordinal,
        device_uuid: region.uuid,
        flags,
        queue_family: NO_QUEUE_FAMILY,
        queue_family_to: NO_QUEUE_FAMILY,
        sync: HurraySync {
            device_tag: handle.device().tag(),
            event_kind: raw::EVENT_NONE,
            reserved: [0; 6],
            event: 0,
            event_value: 0,
            release_event: None,
            event_context: std::ptr::null_mut(),
            stream: 0,
            spare: [0; 2],
        },
        release_after: None,
    }
}

/// Whether the class of a device's memory keeps the CPU out.
pub(super) fn keeps_host_out(device: DeviceTag, class: MemoryClass) -> bool {
    device != DeviceTag::CPU && matches!(class, MemoryClass::STANDARD | MemoryClass::PEER)
}
