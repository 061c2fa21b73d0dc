//! Advice to the system on the pages that memory comes in.

#![allow(unsafe_code, reason = "advice on memory is unsafe, and given here")]

use std::mem::MaybeUninit;

/// Asks the system to give memory that is about to be filled in large pages: to get it in small
/// ones takes as long as to read a file into it. Given before the first touch, which decides. A
/// hint: whatever comes of it is no error.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) fn want_large_pages(room: &mut [MaybeUninit<u8>]) {
    const LARGE_PAGE: usize = 2 << 20;
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
#[cfg(not(all(target_os = "linux", not(miri))))]
pub(crate) fn want_large_pages(_: &mut [MaybeUninit<u8>]) {}
