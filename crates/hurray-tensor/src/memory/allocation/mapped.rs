//! Memory from the system, in whole pages, which it fills with zeros when they are touched.

#![allow(unsafe_code, reason = "memory is mapped here, and unmapped")]

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::slice;

use rustix::io::Errno;
use rustix::mm::{self, MapFlags, ProtFlags};

use super::{Alignment, out_of_memory};
use crate::error::Result;
use crate::memory::want_large_pages;

/// Pages of nobody else, given back when it is dropped.
pub(super) struct Mapping {
    /// Where it begins, at a page's border.
    taken: NonNull<c_void>,
    /// The length of all of it.
    room: usize,
    /// From there to the first address aligned as it was asked for. What is in front and behind
    /// is never touched, and so takes addresses and no memory.
    slack: usize,
}

// SAFETY: mapped memory belongs to no thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// `length` zeros, more than none, at a multiple of `alignment`, a power of two.
    pub(super) fn of_zeros(length: usize, alignment: usize) -> Result<Self> {
        let page = usize::try_from(Alignment::PAGE.bytes()).unwrap_or(usize::MAX);
        // Every page is as large as this or larger.
        let room = length.checked_add(alignment.saturating_sub(page));
        let room = room.ok_or_else(|| out_of_memory(Errno::NOMEM))?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the system chooses a place where nothing is mapped.
        let taken =
            unsafe { mm::mmap_anonymous(ptr::null_mut(), room, protection, MapFlags::PRIVATE) };
        let taken = NonNull::new(taken.map_err(out_of_memory)?);
        let taken = taken.ok_or_else(|| out_of_memory(Errno::NOMEM))?;
        let beyond = taken.addr().get() & alignment.wrapping_sub(1);
        let slack = if beyond == 0 { 0 } else { alignment.saturating_sub(beyond) };
        let mapping = Self { taken, room, slack };
        let huge = usize::try_from(Alignment::HUGE_PAGE.bytes()).unwrap_or(usize::MAX);
        if alignment >= huge && length >= huge {
            // SAFETY: `length` bytes from there on were just mapped for us; nothing is said of
            // what is in them, and nobody else knows them.
            let room = unsafe { slice::from_raw_parts_mut(mapping.first().cast(), length) };
            want_large_pages(room);
        }
        Ok(mapping)
    }

    /// Where the memory begins that was asked for.
    pub(super) fn first(&self) -> *mut u8 {
        self.taken.as_ptr().cast::<u8>().wrapping_add(self.slack)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: all of it was mapped by `of_zeros`, for this value alone, which nobody uses
        // any more. Where that fails the addresses stay taken.
        let _ = unsafe { mm::munmap(self.taken.as_ptr(), self.room) };
    }
}
