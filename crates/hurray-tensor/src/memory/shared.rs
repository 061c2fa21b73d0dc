//! Memory with what keeps it alive, held by any number of holders.

#![allow(unsafe_code, reason = "the holders of one memory are counted by hand")]

use std::any::Any;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;

use super::count::Count;
use super::region::Region;
use super::release::quietly;
use crate::error::Result;

/// A region and what keeps it alive.
pub(crate) struct Memory<K: ?Sized = dyn Any + Send> {
    pub(super) holders: Count,
    /// From a multiple of 64 on.
    pub(crate) region: Region,
    /// How many bytes at the start are not ours: in front of what was adopted, inside the
    /// same line. They are never touched.
    pub(crate) lead: u8,
    /// Frees or releases the memory when it is dropped.
    pub(super) keep: K,
}

/// A hold on memory. Dropping the last one is releasing the memory: once, from any thread.
///
/// An `Arc` would count as well. But an `Arc` that is asked for its contents exclusively, to see
/// whether it is the only one, says that nobody else points into them; and an owner that holds
/// its bytes within itself, such as an array, is pointed into for as long as it is held. Nor
/// would an `Arc` be asked for less than an exchange of the count by a sole holder that leaves.
pub(crate) struct Shared(NonNull<Memory>);

// SAFETY: what a hold on memory gives is its region, which is constant, and, to the last holder,
// what keeps it, which may be sent to whatever thread that is. The region's pointer is used
// through buffers alone: to read while memory is shared, to write while there is one holder. Both
// follow the rules of references, and whoever made the region promised that the memory may be
// used from any thread.
unsafe impl Send for Shared {}
// SAFETY: as above. Nothing of `keep` is reached through a shared reference but its type, and what
// may be reached from any thread.
unsafe impl Sync for Shared {}

// Memory that a panic left half written is bytes as before; and there is no other state.
impl UnwindSafe for Shared {}
impl RefUnwindSafe for Shared {}

impl Shared {
    /// Memory kept by `keep`, with one holder. What is refused is dropped, and so released.
    #[inline]
    pub(crate) fn new<K: Any + Send>(mut region: Region, keep: K) -> Result<Self> {
        let lead = region.settle()?;
        Ok(Self::settled(region, lead, keep))
    }

    /// Memory that is known to begin at a multiple of 64, the first `lead` bytes of which are no
    /// part of it, or to be none.
    #[inline]
    pub(crate) fn settled<K: Any + Send>(region: Region, lead: u8, keep: K) -> Self {
        Self(leak(Memory { holders: Count::one(), region, lead, keep }))
    }

    /// The only hold on memory that is whole.
    ///
    /// # Safety
    ///
    /// It must be from a box, and nobody else's.
    #[inline(always)]
    pub(super) unsafe fn of_box<K: Any + Send>(memory: NonNull<Memory<K>>) -> Self {
        Self(memory)
    }

    /// Memory that `owner` has and keeps, which is asked once where that is. The owner stays
    /// where it is asked until it is dropped or given back.
    #[inline]
    pub(crate) fn of_owner<O: Any + Send>(
        owner: O,
        region: impl FnOnce(&O) -> Region,
    ) -> Result<Self> {
        let (holders, nowhere) = (Count::one(), Region::nowhere());
        let memory = leak(Memory { holders, region: nowhere, lead: 0, keep: owner });
        // Held from here on, so that the owner is dropped whatever becomes of it.
        let shared = Self(memory);
        // SAFETY: `memory` was just made and is held by `shared`. The reference reaches the owner
        // alone, which nobody touches before it is dropped or moved out, when nobody uses what
        // was pointed to by it any more.
        let owner = unsafe { &(*memory.as_ptr()).keep };
        let mut region = region(owner);
        let lead = region.settle()?;
        // SAFETY: the memory is held by `shared` alone, which nobody else has seen, and no
        // reference to this field is alive.
        unsafe { (*memory.as_ptr()).region = region };
        // SAFETY: as above.
        unsafe { (*memory.as_ptr()).lead = lead };
        Ok(shared)
    }

    /// Whether there is no other holder. Whatever others did with the memory is over then, and
    /// nobody can begin while the caller has the only hold exclusively.
    #[inline]
    pub(crate) fn is_sole(&mut self) -> bool {
        self.holders.is_one()
    }

    /// Whether both hold the same memory.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.0.cast::<()>() == other.0.cast::<()>()
    }

    /// Whether an `O` keeps the memory.
    pub(crate) fn is_kept_by<O: Any>(&self) -> bool {
        self.keep.is::<O>()
    }

    /// What keeps the memory, where it is an `O`.
    pub(crate) fn keeper<O: Any + Sync>(&self) -> Option<&O> {
        self.keep.downcast_ref()
    }

    /// What keeps the memory, from its only holder. The hold comes back where there are others
    /// or it is not an `O`.
    pub(crate) fn into_owner<O: Any>(mut self) -> Result<O, Self> {
        if !self.is_kept_by::<O>() || !self.is_sole() {
            return Err(self);
        }
        let memory = ManuallyDrop::new(self).0.cast::<Memory<O>>();
        // SAFETY: `leak` made the pointer from a box of a `Memory<O>`, as `is` says; the pointer
        // to the same as an unknown keeper has the same address. The only hold was given up
        // without being dropped, so that nobody else frees or uses it.
        let memory = unsafe { Box::from_raw(memory.as_ptr()) };
        Ok(memory.keep)
    }
}

impl Clone for Shared {
    #[inline]
    fn clone(&self) -> Self {
        self.holders.join();
        Self(self.0)
    }
}

impl Drop for Shared {
    #[inline]
    fn drop(&mut self) {
        if self.holders.leave() {
            release(self.0);
        }
    }
}

impl Deref for Shared {
    type Target = Memory;

    #[inline]
    fn deref(&self) -> &Memory {
        // SAFETY: the memory is freed when its last holder leaves, and this is one. It is only
        // written to before there is a second, and while no reference to it exists.
        unsafe { self.0.as_ref() }
    }
}

fn leak<K>(memory: Memory<K>) -> NonNull<Memory<K>> {
    NonNull::from(Box::leak(Box::new(memory)))
}

/// The end of memory that nobody holds any more.
#[inline(never)]
fn release(memory: NonNull<Memory>) {
    // SAFETY: `leak` made the pointer from a box. The last holder left, after all that others did
    // with the memory, and is told so once.
    let memory = unsafe { Box::from_raw(memory.as_ptr()) };
    quietly(|| drop(memory));
}
