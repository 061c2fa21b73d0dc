//! Memory from the program's allocator.

#![allow(unsafe_code, reason = "memory is taken from the allocator here, and given back")]

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};
use std::io::ErrorKind;
use std::ptr::NonNull;

use super::{Contents, out_of_memory};
use crate::error::Result;

/// Memory from the allocator, given back when it is dropped.
pub(super) struct Allocation {
    taken: NonNull<u8>,
    layout: Layout,
    /// From what was taken to the first byte of an address aligned as it was asked for.
    slack: usize,
}

// SAFETY: memory of the allocator belongs to no thread.
unsafe impl Send for Allocation {}

/// What an allocator gives without going out of its way.
const USUAL: usize = 16;

/// Up to here a few bytes of slack are cheaper than to ask the allocator for an alignment.
const BY_SLACK: usize = 128;

impl Allocation {
    /// `length` bytes, more than none, at a multiple of `alignment`, a power of two.
    pub(super) fn new(length: usize, alignment: usize, contents: Contents) -> Result<Self> {
        // Zeros at an alignment beyond the usual are written, one by one; within it they come
        // from the system as they are, where the memory is fresh.
        let (room, asked) = match alignment {
            USUAL..=BY_SLACK => (length.checked_add(alignment.wrapping_sub(USUAL)), USUAL),
            _ => (Some(length), alignment),
        };
        let layout = room.and_then(|room| Layout::from_size_align(room, asked).ok());
        let layout = layout.ok_or_else(|| out_of_memory(ErrorKind::OutOfMemory))?;
        let taken = match contents {
            // SAFETY: the layout's size is `length` or more, which is not 0.
            Contents::Zeros => unsafe { alloc_zeroed(layout) },
            // SAFETY: as above.
            Contents::Unwritten => unsafe { alloc(layout) },
        };
        let taken = NonNull::new(taken).ok_or_else(|| out_of_memory(ErrorKind::OutOfMemory))?;
        let beyond = taken.addr().get() & alignment.wrapping_sub(1);
        let slack = if beyond == 0 { 0 } else { alignment.saturating_sub(beyond) };
        Ok(Self { taken, layout, slack })
    }

    /// Where the memory begins that was asked for.
    pub(super) fn first(&self) -> *mut u8 {
        self.taken.as_ptr().wrapping_add(self.slack)
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // SAFETY: `taken` came from the allocator with this very layout, and is given back
        // once, since whoever drops has the value alone.
        unsafe { dealloc(self.taken.as_ptr(), self.layout) }
    }
}
