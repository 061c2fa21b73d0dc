//! For the models alone: what makes them try every order, and what shows that they notice.

#![allow(unsafe_code, reason = "a cell that Loom watches is shared between threads")]

use std::cell::Cell;

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicUsize, Ordering};

/// Threads take turns here before they meet at a count.
///
/// Loom tries another order of two accesses to an atomic only where it sees that they can race,
/// and looks for that at the last access alone: a thread that looks at a count and then changes
/// it hides its change behind its look. Turns are all changes of one kind, so that every order of
/// them is tried. They are relaxed, and order nothing else.
#[derive(Default)]
pub(super) struct Turns(AtomicUsize);

impl Turns {
    pub(super) fn take(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// What stands for that which is counted: each holder uses it until it leaves, and the last one
/// ends it. Loom fails a model where an end is not ordered after every use.
#[derive(Default)]
pub(super) struct Held(UnsafeCell<()>);

// SAFETY: it has no contents, and Loom watches who is there.
unsafe impl Sync for Held {}

impl Held {
    pub(super) fn used(&self) {
        self.0.with(|_| ());
    }

    pub(super) fn ended(&self) {
        self.0.with_mut(|_| ());
    }
}

thread_local! {
    /// Which ordering is replaced, and by what. The threads of a model are all run by the one
    /// thread that asked for it.
    static WEAKER: Cell<Option<(Ordering, Ordering)>> = const { Cell::new(None) };
}

/// From here on, on this thread, `written` means `instead`.
pub fn weaken(written: Ordering, instead: Ordering) {
    WEAKER.set(Some((written, instead)));
}

pub(super) fn ordered(written: Ordering) -> Ordering {
    match WEAKER.get() {
        Some((weakened, instead)) if weakened == written => instead,
        _ => written,
    }
}
