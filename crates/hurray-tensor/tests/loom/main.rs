//! Models: every way in which threads can meet over memory, an event or a stream, tried one by
//! one, over the code as it ships. `cargo xtask loom` runs them.
//!
//! What a thread does with memory is an access to a cell that Loom watches: two accesses of which
//! one writes must be ordered, in every run, by what the shipped code does.

#![cfg(loom)]
#![allow(
    missing_docs,
    unsafe_code,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail loudly, and the memory that is adopted is its own"
)]

mod device;
mod events;
mod exported;
mod shares;
mod streams;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hurray_tensor::{Buffer, Region};
use loom::cell::UnsafeCell;

/// Tries every order in which the threads of `work` can run.
fn model(work: impl Fn() + Send + Sync + 'static) {
    loom::model(work);
}

/// The same where there would be too many: every order in which no more than so many times a
/// thread is interrupted that could go on.
fn model_within(interruptions: usize, work: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(interruptions);
    model.check(work);
}

/// Memory whose every use is watched.
#[derive(Clone)]
struct Watched(Arc<Inner>);

struct Inner {
    bytes: UnsafeCell<[u8; 64]>,
    releases: AtomicUsize,
}

// SAFETY: Loom fails a model where two threads use the cell without order.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Watched {
    /// Memory, and a buffer of it. Releasing it is a use as writing is: the end of all others.
    fn new() -> (Self, Buffer) {
        let bytes = UnsafeCell::new([0; 64]);
        let watched = Self(Arc::new(Inner { bytes, releases: AtomicUsize::new(0) }));
        let first = watched.0.bytes.with_mut(|bytes| bytes.cast::<u8>());
        let region = Region::host(first, 64);
        let release = {
            let watched = watched.clone();
            move || {
                // While a model fails, others are told to end too.
                if !std::thread::panicking() {
                    watched.write(0xFF);
                    watched.0.releases.fetch_add(1, Ordering::SeqCst);
                }
            }
        };
        // SAFETY: the memory is in a box that nobody moves, and outlives the closure.
        let buffer = unsafe { Buffer::adopt(region, release) }.unwrap();
        (watched, buffer)
    }

    /// What a thread does that may look.
    fn read(&self) -> u8 {
        // SAFETY: the pointer is to the cell's own contents.
        self.0.bytes.with(|bytes| unsafe { bytes.cast::<u8>().read() })
    }

    /// What a thread does that has the memory alone.
    fn write(&self, byte: u8) {
        // SAFETY: as above.
        self.0.bytes.with_mut(|bytes| unsafe { bytes.cast::<u8>().write(byte) });
    }

    fn releases(&self) -> usize {
        self.0.releases.load(Ordering::SeqCst)
    }
}

/// A way in which a model can end. One that is never seen was not tried.
struct Outcome(AtomicBool);

impl Outcome {
    const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    fn reached(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    fn all<const N: usize>(outcomes: [&Self; N]) {
        assert_eq!(outcomes.map(|outcome| outcome.0.load(Ordering::SeqCst)), [true; N]);
    }
}
