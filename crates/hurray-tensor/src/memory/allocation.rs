//! Memory of our own, aligned as it was asked for.

#![allow(unsafe_code, reason = "memory is taken from the allocator here, and given back")]

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};
use std::io;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::slice;

use hurray_format::{Expected, MIN_ALIGNMENT, Rule, Value};

use super::{Region, Shared, refuse, share};
use crate::error::{Error, Result};

/// What the first byte's address is a multiple of, in bytes: a power of two, 64 or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Alignment(u32);

impl Alignment {
    /// 64, the least that the format allows.
    pub const LINE: Self = Self(MIN_ALIGNMENT);
    /// 4096: what writers to devices, other processes and RDMA owe.
    pub const PAGE: Self = Self(4096);
    /// 2 MiB. The system is asked to back such memory with large pages.
    pub const HUGE_PAGE: Self = Self(2 << 20);

    /// Another power of two.
    ///
    /// # Errors
    ///
    /// `memory.alignment` for anything else, and below 64.
    pub fn new(bytes: u32) -> Result<Self> {
        if bytes.is_power_of_two() && bytes >= MIN_ALIGNMENT {
            return Ok(Self(bytes));
        }
        let found = Value::Unsigned(u64::from(bytes));
        let expected = Expected::OneOf("a power of two, 64 or more");
        Err(refuse(Rule::MemoryAlignment, "alignment", found, expected))
    }

    /// In bytes.
    pub const fn bytes(self) -> u32 {
        self.0
    }
}

/// Memory from the allocator, given back when it is dropped.
struct Allocation {
    first: NonNull<u8>,
    layout: Layout,
}

// SAFETY: memory of the allocator belongs to no thread, and the pointer is used in `drop` alone.
unsafe impl Send for Allocation {}
// SAFETY: as above.
unsafe impl Sync for Allocation {}

impl Drop for Allocation {
    fn drop(&mut self) {
        // SAFETY: `first` came from the allocator with this very layout, and is given back
        // once, since whoever drops has the value alone.
        unsafe { dealloc(self.first.as_ptr(), self.layout) }
    }
}

/// Zeroed memory. Nothing is taken for none.
pub(crate) fn allocate(length: usize, alignment: Alignment) -> Result<Shared> {
    if length == 0 {
        return share(Region::host(std::ptr::null_mut(), 0), ());
    }
    let align = usize::try_from(alignment.0).unwrap_or(usize::MAX);
    let layout = Layout::from_size_align(length, align);
    let layout = layout.map_err(|_| out_of_memory())?;
    let first = NonNull::new(take(layout)).ok_or_else(out_of_memory)?;
    share(Region::host(first.as_ptr(), length), Allocation { first, layout })
}

/// Zeroed memory of that layout, which is not of length 0; null where there is none.
fn take(layout: Layout) -> *mut u8 {
    let huge = usize::try_from(Alignment::HUGE_PAGE.0).unwrap_or(usize::MAX);
    if layout.align() < huge || layout.size() < huge {
        // SAFETY: the layout's size is not 0.
        return unsafe { alloc_zeroed(layout) };
    }
    // SAFETY: the layout's size is not 0.
    let first = unsafe { alloc(layout) };
    if !first.is_null() {
        // SAFETY: `size` bytes were just allocated for us there; nothing is said of what is in
        // them.
        let room = unsafe { slice::from_raw_parts_mut(first.cast(), layout.size()) };
        // Before the first touch, which decides in what pages it comes.
        want_large_pages(room);
        // SAFETY: `first` is the start of `size` bytes that were just allocated for us.
        unsafe { first.write_bytes(0, layout.size()) };
    }
    first
}

/// Asks the system to give memory that is about to be filled in large pages: to get it in
/// small ones takes as long as to read a file into it. A hint: whatever comes of it is no error.
#[cfg(target_os = "linux")]
pub(crate) fn want_large_pages(room: &mut [MaybeUninit<u8>]) {
    const LARGE_PAGE: usize = Alignment::HUGE_PAGE.0 as usize;
    let start = room.as_mut_ptr().align_offset(LARGE_PAGE);
    let Some(pages) = room.get_mut(start..) else {
        return;
    };
    let length = pages.len().div_euclid(LARGE_PAGE).saturating_mul(LARGE_PAGE);
    if length > 0 {
        let advice = rustix::mm::Advice::LinuxHugepage;
        // SAFETY: the range is inside one allocation, borrowed here alone, and starts and ends
        // on page borders. The advice changes neither what is in memory nor who may use it,
        // only in what sizes the system provides it.
        let _ = unsafe { rustix::mm::madvise(pages.as_mut_ptr().cast(), length, advice) };
    }
}

/// Elsewhere the system chooses by itself.
#[cfg(not(target_os = "linux"))]
pub(crate) fn want_large_pages(_: &mut [MaybeUninit<u8>]) {}

fn out_of_memory() -> Error {
    Error::io("allocate", io::Error::from(io::ErrorKind::OutOfMemory))
}
