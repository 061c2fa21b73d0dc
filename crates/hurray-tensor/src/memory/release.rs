//! A callback that gives memory back.

#![allow(unsafe_code, reason = "a callback that is only ever run by its last holder is `Sync`")]

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs once, when it is dropped, on whatever thread that is.
pub(crate) struct Release<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Release<F> {
    pub(crate) fn new(release: F) -> Self {
        Self(Some(release))
    }
}

// SAFETY: a shared reference to a `Release` reaches nothing of it: its field is private and is
// only used in `drop`, which has it alone.
unsafe impl<F: FnOnce() + Send> Sync for Release<F> {}

impl<F: FnOnce()> Drop for Release<F> {
    fn drop(&mut self) {
        if let Some(release) = self.0.take() {
            // Memory is often dropped while a panic unwinds; a second one would end the
            // process. The memory counts as released whatever came of it.
            let _ = catch_unwind(AssertUnwindSafe(release));
        }
    }
}
