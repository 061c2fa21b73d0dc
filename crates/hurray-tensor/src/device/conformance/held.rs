//! Streams that are held, so that what waits for them can be seen to wait.

use std::fmt::Debug;

use super::{Backend, Open};
use crate::device::Stream;

/// A stream that is held, where the device has any that can be. Dropping it lets it go on, so
/// that a check that fails leaves nothing behind that hangs.
pub(super) struct Held<'b> {
    backend: &'b dyn Backend,
    open: Option<Open>,
}

impl<'b> Held<'b> {
    /// Holds the stream from now on.
    pub(super) fn new(backend: &'b dyn Backend, stream: &Stream) -> Self {
        Self { backend, open: backend.hold(stream) }
    }

    /// Lets it go on, once all that can run has run, and `ran` says that what must wait for the
    /// stream has not.
    pub(super) fn let_go(self, what: impl Debug, ran: impl FnOnce() -> bool) {
        if self.open.is_some() {
            self.backend.settle();
            assert!(!ran(), "{what:?}: did not wait");
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Some(open) = self.open.take() {
            open();
        }
    }
}
