//! Tensors of ours, made ready for somebody else.

#![allow(unsafe_code, reason = "structs with callbacks are released here")]

use std::fmt;
use std::iter;
use std::mem::{ManuallyDrop, offset_of};
use std::ptr::NonNull;

use hurray_format::{self as format, Descriptor, Expected, Layout, Rule, Value};

use super::in_order::Releases;
use super::parcel::{self, Parcel, Vacant, pack};
use super::raw::{BUFFER_COPIED, BUFFER_MAY_CHANGE, BUFFER_READ_ONLY, HurrayBuffer, HurrayTensor};
use super::{refuse, released};
use crate::buffer::Buffer;
use crate::error::Result;
use crate::offered::{Fence, Offered};
use crate::tensor::{Composite, Tensor};

/// A tensor of ours on its way to another library. Dropping it releases it.
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
/// assert_eq!(exported.buffers().len(), 1);
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
#[must_use = "what is not handed over is released"]
pub struct Exported(NonNull<Parcel>);

// SAFETY: an allocation that only this value reaches; its contents are `Buffer`, `Event` and
// `Releases`, which are `Send`, and members, which are parcels as this one.
unsafe impl Send for Exported {}
// SAFETY: a shared reference only reads numbers.
unsafe impl Sync for Exported {}

impl Exported {
    /// A tensor that need not be waited for.
    ///
    /// # Errors
    ///
    /// `exchange.composite` for a head, which goes out [with its members](Self::composite); out of
    /// memory.
    pub fn new(tensor: Tensor) -> Result<Self> {
        check_no_head(tensor.descriptor())?;
        let (descriptor, buffers) = tensor.into_parts();
        let mut parts = buffers.zip(descriptor.buffers()).enumerate();
        let fill = |vacant: Vacant| {
            let (place, (mut buffer, handle)) = parts.next()?;
            let flags = given_flags(place, &mut buffer);
            Some(vacant.fill(handle, buffer, flags))
        };
        pack(&descriptor, descriptor.buffers().len(), fill, iter::empty()).map(Self)
    }

    /// Another share in a tensor, which the consumer may read.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn share(tensor: &Tensor) -> Result<Self> {
        let descriptor = tensor.descriptor();
        check_no_head(descriptor)?;
        if let ([buffer], [handle]) = (tensor.buffers(), descriptor.buffers()) {
            // Most have one, and the place of everything is known then.
            let fill =
                |vacant: Vacant| Some(vacant.fill(handle, buffer.clone(), shared_flags(buffer)));
            return pack(descriptor, 1, fill, iter::empty()).map(Self);
        }
        let mut parts = tensor.buffers().iter().zip(descriptor.buffers());
        let fill = |vacant: Vacant| {
            let (buffer, handle) = parts.next()?;
            Some(vacant.fill(handle, buffer.clone(), shared_flags(buffer)))
        };
        pack(descriptor, descriptor.buffers().len(), fill, iter::empty()).map(Self)
    }

    /// A tensor with its events or the stream it was ordered on, to be waited for by the consumer.
    ///
    /// # Errors
    ///
    /// Out of memory; `buffer.cpu-sync` for memory of the CPU that is not ready.
    pub fn offer(offered: Offered<Tensor>) -> Result<Self> {
        let (tensor, fences) = offered.into_parts();
        if fences.is_empty() {
            return Self::new(tensor);
        }
        let (descriptor, buffers) = tensor.into_parts();
        let descriptor = descriptor.with_sync(fences.iter().map(Fence::mode))?;
        let mut parts = buffers.zip(descriptor.buffers()).zip(fences).enumerate();
        let fill = |vacant: Vacant| {
            let (place, ((mut buffer, handle), fence)) = parts.next()?;
            let flags = given_flags(place, &mut buffer);
            Some(vacant.fill_behind(fence, handle, buffer, flags))
        };
        pack(&descriptor, descriptor.buffers().len(), fill, iter::empty()).map(Self)
    }

    /// A composite: its head, with its members inside.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn composite(composite: &Composite) -> Result<Self> {
        Self::bound(composite.as_bound(), &mut iter::empty())
    }

    /// A composite with its events or the streams it was ordered on.
    ///
    /// # Errors
    ///
    /// As [`offer`](Self::offer).
    pub fn offer_composite(offered: Offered<Composite>) -> Result<Self> {
        let (composite, fences) = offered.into_parts();
        Self::bound(composite.as_bound(), &mut fences.into_iter())
    }

    /// A tensor with its members. `fences` has the rest of what is to be waited for, if anything
    /// is: one for each buffer, a head's before its members'.
    fn bound(
        bound: &format::Composite<Tensor>,
        fences: &mut dyn Iterator<Item = Fence>,
    ) -> Result<Self> {
        if bound.members.is_empty() {
            let fences: Vec<Fence> = fences.take(bound.item.buffers().len()).collect();
            return match fences.is_empty() {
                true => Self::share(&bound.item),
                false => Self::offer(Offered::new(bound.item.clone(), fences)?),
            };
        }
        let members = bound.members.iter().map(|member| Self::bound(member, fences));
        let members: Vec<Self> = members.collect::<Result<_>>()?;
        pack(bound.item.descriptor(), 0, |_| None, members.into_iter()).map(Self)
    }

    /// Says of all its memory that it was copied for this handoff.
    pub fn copied(self) -> Self {
        self.mark(BUFFER_COPIED);
        self
    }

    /// Lets the consumer release its buffers in stream order, by an event or a stream of its own
    /// on the same device: memory is then kept until `releases`, or the consumer's stream, has come
    /// past that, and nobody waits on the host.
    pub fn released_in(self, releases: &Releases) -> Self {
        // SAFETY: packed, and not released; this value is the only one who uses it.
        unsafe { released::release_in(self.0, releases) };
        self
    }

    /// The struct, whose `release` the caller now answers for.
    #[inline(always)]
    pub fn into_raw(self) -> HurrayTensor {
        ManuallyDrop::new(self).as_raw()
    }

    /// Its buffers' structs, in table order. A head has none of its own.
    pub fn buffers(&self) -> impl ExactSizeIterator<Item = &HurrayBuffer> {
        let raw = self.as_raw();
        (0..usize::try_from(raw.buffer_count).unwrap_or(0)).map(move |place| {
            // SAFETY: a tensor of ours that was not released has so many pointers there.
            let buffer = unsafe { *raw.buffers.wrapping_add(place) };
            // SAFETY: each to a struct, which stays until the tensor is released, and which nobody
            // writes to while it is borrowed.
            unsafe { &*buffer }
        })
    }

    /// The struct, which is not to be released while this value is there.
    #[inline(always)]
    fn as_raw(&self) -> HurrayTensor {
        // SAFETY: packed, and not released as long as this value is there.
        unsafe { parcel::tensor(self.0) }
    }

    /// Does something with each of its members.
    pub(super) fn each_member(&self, mut work: impl FnMut(&Self) -> Result<()>) -> Result<()> {
        let raw = self.as_raw();
        for place in 0..usize::try_from(raw.member_count).unwrap_or(0) {
            // SAFETY: as in `buffers`.
            let member = unsafe { *raw.members.wrapping_add(place) };
            // SAFETY: a struct of ours that is not released.
            let Some(parcel) = NonNull::new(unsafe { (*member).private_data }.cast()) else {
                continue;
            };
            // It is looked at, and not released.
            work(&ManuallyDrop::new(Self(parcel)))?;
        }
        Ok(())
    }

    fn mark(&self, flag: u64) {
        let raw = self.as_raw();
        for place in 0..usize::try_from(raw.buffer_count).unwrap_or(0) {
            // SAFETY: as in `buffers`.
            let buffer = unsafe { *raw.buffers.wrapping_add(place) };
            // SAFETY: as in `buffers`; `copied` has the tensor alone.
            unsafe { (*buffer).flags |= flag };
        }
        let _ = self.each_member(|member| {
            member.mark(flag);
            Ok(())
        });
    }
}

impl Drop for Exported {
    fn drop(&mut self) {
        let mut raw = self.as_raw();
        if let Some(release) = raw.release {
            // SAFETY: neither released nor moved out until now.
            unsafe { release(&raw mut raw) }
        }
    }
}

impl fmt::Debug for Exported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HurrayTensor { buffer_count, member_count, .. } = self.as_raw();
        write!(f, "Exported({buffer_count} buffers, {member_count} members)")
    }
}

/// A head without its members says of them what is not so.
#[inline]
fn check_no_head(descriptor: &Descriptor) -> Result<()> {
    match descriptor.layout() {
        Layout::Composite(head) if head.member_count != 0 => {
            let found = Value::Unsigned(u64::from(head.member_count));
            let at = offset_of!(HurrayTensor, member_count);
            Err(refuse(Rule::ExchangeComposite, "member_count", at, found, Expected::Exactly(0)))
        }
        _ => Ok(()),
    }
}

/// What is said of a buffer that is given away: it may be written to where the tensor held it alone.
///
/// Only values may, never what says where they are or what they mean; and not where bytes in front
/// of the buffer's own would be taken for its own.
fn given_flags(place: usize, buffer: &mut Buffer) -> u64 {
    let given_away = place == 0 && buffer.is_writable() && buffer.lead() == 0 && buffer.is_sole();
    match shared_flags(buffer) {
        BUFFER_READ_ONLY if given_away => 0,
        flags => flags,
    }
}

/// What is said of a buffer that others hold too.
#[inline(always)]
fn shared_flags(buffer: &Buffer) -> u64 {
    let may_change = if buffer.may_change() { BUFFER_MAY_CHANGE } else { 0 };
    BUFFER_READ_ONLY | may_change
}
