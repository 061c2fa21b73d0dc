//! Memory with something that lies beside it: one allocation for both.

#![allow(unsafe_code, reason = "memory is made field by field, in its place")]

use std::any::Any;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;

use super::count::Count;
use super::region::Region;
use super::shared::{Memory, Shared};

/// What is to lie beside memory, in its place before the memory and its owner are known. Moving it
/// would be half of making it.
pub(crate) struct Beside<O, D> {
    /// From a box. Only what lies beside is there.
    memory: NonNull<Memory<Kept<O, D>>>,
}

/// What keeps memory, and what lies beside it.
pub(crate) struct Kept<O, D> {
    owner: O,
    beside: D,
}

impl<O: Any + Send, D: Any + Send + Sync> Beside<O, D> {
    /// What `write` puts in its place, or its error.
    ///
    /// # Safety
    ///
    /// What `write` answers must be the place that it was given, filled.
    #[inline(always)]
    pub(crate) unsafe fn new<E>(
        write: impl FnOnce(&mut MaybeUninit<D>) -> Result<&mut D, E>,
    ) -> Result<Self, E> {
        let mut memory = Box::<Memory<Kept<O, D>>>::new_uninit();
        // SAFETY: a place inside what was allocated.
        let place = unsafe { &raw mut (*memory.as_mut_ptr()).keep.beside };
        // SAFETY: allocated for one, which need not be there yet, and known to nobody else.
        let place = unsafe { &mut *place.cast::<MaybeUninit<D>>() };
        // The box goes where this panics or says no, with nothing in it.
        write(place)?;
        Ok(Self { memory: NonNull::from(Box::leak(memory)).cast() })
    }

    /// What lies there.
    #[inline(always)]
    pub(crate) fn get(&self) -> &D {
        // SAFETY: filled when this was made; nobody writes to it while it is borrowed.
        unsafe { self.at().as_ref() }
    }

    /// Memory that is known to begin at a multiple of 64, or to be none, the first `lead` bytes of
    /// which are no part of it, kept by `owner`; and where that is what lies beside it, unchanging
    /// for as long as anybody holds the memory.
    #[inline(always)]
    pub(crate) fn finish(self, region: Region, lead: u8, owner: O) -> (Shared, NonNull<D>) {
        let this = ManuallyDrop::new(self);
        let place = this.memory.as_ptr();
        // SAFETY: a place inside the allocation, as are those that follow.
        let kept_by = unsafe { &raw mut (*place).keep.owner };
        // SAFETY: room for it that nobody else knows, as for what follows.
        unsafe { kept_by.write(owner) };
        // SAFETY: as above.
        let at = unsafe { &raw mut (*place).region };
        // SAFETY: as above.
        unsafe { at.write(region) };
        // SAFETY: as above.
        let before = unsafe { &raw mut (*place).lead };
        // SAFETY: as above.
        unsafe { before.write(lead) };
        // SAFETY: as above.
        let holders = unsafe { &raw mut (*place).holders };
        // SAFETY: as above.
        unsafe { holders.write(Count::one()) };
        // SAFETY: from a box, and each of its fields is there now; this hold on it is given up.
        (unsafe { Shared::of_box(this.memory) }, this.at())
    }
}

impl<O, D> Kept<O, D> {
    /// What keeps the memory.
    pub(crate) fn owner(&self) -> &O {
        &self.owner
    }
}

impl<O, D> Beside<O, D> {
    /// What lies there, moved out.
    pub(crate) fn into_inner(self) -> D {
        ManuallyDrop::new(self).take()
    }

    fn at(&self) -> NonNull<D> {
        // SAFETY: a place inside the allocation, which is held.
        let at = unsafe { &raw mut (*self.memory.as_ptr()).keep.beside };
        // SAFETY: inside an allocation, and so not null.
        unsafe { NonNull::new_unchecked(at) }
    }

    /// Moves it out and gives the allocation back: the last use of this value.
    fn take(&mut self) -> D {
        // SAFETY: filled when this was made; by the caller's word it is not used again.
        let beside = unsafe { self.at().read() };
        // SAFETY: from a box, which drops nothing.
        drop(unsafe {
            Box::from_raw(self.memory.as_ptr().cast::<MaybeUninit<Memory<Kept<O, D>>>>())
        });
        beside
    }
}

impl<O, D> Drop for Beside<O, D> {
    fn drop(&mut self) {
        drop(self.take());
    }
}
