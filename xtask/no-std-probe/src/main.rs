//! Compiles only while nothing in hurray-format's dependency graph links std.
#![no_std]
#![no_main]

use core::{
    alloc::{GlobalAlloc, Layout},
    panic::PanicInfo,
};

use hurray_format as _;

#[cfg(feature = "std-on-purpose")]
extern crate std;

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}

/// A program that links `alloc` must name an allocator. This one is never asked: nothing runs.
struct Nothing;

// SAFETY: `alloc` always reports failure by a null pointer, which its contract allows; no memory is
// ever handed out, so `dealloc` has none to give back.
unsafe impl GlobalAlloc for Nothing {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        core::ptr::null_mut()
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static NOTHING: Nothing = Nothing;
