//! Buffers: who holds memory, when it is released, and that nothing is copied on the way.

#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail loudly"
)]
#![allow(unsafe_code, reason = "the memory that is adopted is the test's own")]

#[path = "../support/counting.rs"]
mod counting;

mod adoption;
mod changing;
mod copies;
mod exit;
mod filling;
mod owners;
mod releases;
mod slices;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hurray_tensor::{Buffer, Region};

/// Under AddressSanitizer, memory that there is not is an error here too, and not an abort.
// SAFETY: nobody but that checker defines or calls a function of this name.
#[unsafe(no_mangle)]
extern "C" fn __asan_default_options() -> *const std::ffi::c_char {
    c"allocator_may_return_null=1".as_ptr()
}

/// Memory that grows is counted once.
const GROWS_IN_PLACE: bool = true;

/// How often something was released.
#[derive(Clone, Default)]
struct Count(Arc<AtomicUsize>);

impl Count {
    fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn now(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// Foreign memory of `length` bytes counting up from 0, 64-aligned, and how often it was released.
fn counted(length: usize) -> (Buffer, Count) {
    let mut memory = Lines::new(length);
    let region = Region::host(memory.first(), length);
    adopted(region, memory)
}

/// The memory at `region`, which is inside `memory`, and how often it was released.
fn adopted(region: Region, memory: Lines) -> (Buffer, Count) {
    let count = Count::default();
    let release = {
        let count = count.clone();
        move || {
            count.add();
            drop(memory);
        }
    };
    // SAFETY: the memory is the closure's, which nobody else can reach, until it is called.
    let buffer = unsafe { Buffer::adopt(region, release) }.unwrap();
    assert_eq!(count.now(), 0);
    (buffer, count)
}

/// Memory at a multiple of 64.
struct Lines(Vec<Line>);

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

impl Lines {
    /// `length` bytes and what a line has beyond, counting up from 0.
    fn new(length: usize) -> Self {
        let line = |line: usize| Line(std::array::from_fn(|place| byte(line * 64 + place)));
        Self((0..length.div_ceil(64)).map(line).collect())
    }

    fn first(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// What is at a place of such memory.
fn byte(place: usize) -> u8 {
    u8::try_from(place % 251).unwrap()
}
