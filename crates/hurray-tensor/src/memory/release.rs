//! Giving memory back without ever panicking.

#[cfg(not(loom))]
use std::mem::ManuallyDrop;
#[cfg(not(loom))]
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A callback that is run once, when it is dropped, on whatever thread that is.
pub(crate) struct Release<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Release<F> {
    pub(crate) fn new(release: F) -> Self {
        Self(Some(release))
    }
}

impl<F: FnOnce()> Drop for Release<F> {
    fn drop(&mut self) {
        if let Some(release) = self.0.take() {
            quietly(release);
        }
    }
}

/// Runs what lets something go, and lets no panic out. Memory is often dropped while a panic
/// unwinds, and a second one would end the process; whatever came of it, it is gone.
#[cfg(not(loom))]
pub(crate) fn quietly(release: impl FnOnce()) {
    const TRIES: usize = 8;
    let mut outcome = catch_unwind(AssertUnwindSafe(release));
    // A panic's message is a value of any type, whose own drop may panic in turn, with another.
    for _ in 0..TRIES {
        let Err(message) = outcome else {
            return;
        };
        outcome = catch_unwind(AssertUnwindSafe(|| drop(message)));
    }
    // One that always has another is kept.
    let _ = ManuallyDrop::new(outcome);
}

/// A model says by a panic what is wrong.
#[cfg(loom)]
pub(crate) fn quietly(release: impl FnOnce()) {
    release();
}
