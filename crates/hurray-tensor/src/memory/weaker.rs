//! For the models alone: orderings weaker than they are written, to show that a model notices.

use std::cell::Cell;
use std::sync::atomic::Ordering;

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
