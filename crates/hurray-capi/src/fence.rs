//! The edge of the library: nothing unwinds across it, and what is refused becomes a status.

use std::any::Any;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};

use hurray_tensor::exchange::Status;

use crate::failure::{Failure, Result, keep};

/// Runs the body of a call that answers with a status.
///
/// What a body leaves half done when it panics is its own: it works on values that it made, or
/// on a handle whose next use is refused.
pub(crate) fn fence(body: impl FnOnce() -> Result) -> i32 {
    match caught(body) {
        Ok(()) => Status::Ok.code(),
        Err(failure) => told(failure),
    }
}

/// Runs the body of a call that answers with a value, and with `otherwise` where it fails.
pub(crate) fn fence_or<T>(otherwise: T, body: impl FnOnce() -> Result<T>) -> T {
    match caught(body) {
        Ok(value) => value,
        Err(failure) => {
            told(failure);
            otherwise
        }
    }
}

fn caught<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(answer) => answer,
        Err(payload) => {
            let message = message_of(&*payload);
            quietly(move || drop(payload));
            Err(Failure::Panic(message))
        }
    }
}

/// Keeps a failure for whoever asks what it was, and gives its status. Its words, and what they
/// are made of, may be the system's or a callback's: what is wrong there goes no further either.
fn told(failure: Failure) -> i32 {
    let status = failure.status();
    let mut is_kept = false;
    quietly(|| {
        keep(&failure);
        is_kept = true;
    });
    if !is_kept {
        keep(&Failure::Untold(status));
    }
    // Apart: what is dropped while a panic unwinds may not panic in turn.
    quietly(move || drop(failure));
    status
}

/// Runs it; a panic in it ends here. What a panic says is a value of any type, whose own drop may
/// panic in turn, with another: one that always has another is kept.
fn quietly(work: impl FnOnce()) {
    const TRIES: usize = 8;
    let mut outcome = catch_unwind(AssertUnwindSafe(work));
    for _ in 0..TRIES {
        let Err(payload) = outcome else {
            return;
        };
        outcome = catch_unwind(AssertUnwindSafe(|| drop(payload)));
    }
    let _ = ManuallyDrop::new(outcome);
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "it panicked without a word".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::last;

    #[test]
    fn a_panic_becomes_a_status_and_a_message() {
        assert_eq!(fence(|| panic!("out of cheese")), Status::Panic.code());
        let told = last().expect("kept");
        assert_eq!(told.message.to_str(), Ok("a bug of this library: out of cheese"));
        assert_eq!(fence_or(7, || panic!("{}", 1)), 7);
        assert_eq!(fence_or(7, || std::panic::panic_any(1_u8)), 7);
    }

    /// Panics when it is dropped, so many times.
    #[derive(Debug)]
    struct Panics(u32);

    impl Drop for Panics {
        fn drop(&mut self) {
            if let Some(left) = self.0.checked_sub(1) {
                std::panic::panic_any(Self(left));
            }
        }
    }

    #[test]
    fn what_a_panic_says_may_panic_too() {
        for times in [1, 3, 1000] {
            assert_eq!(fence(|| std::panic::panic_any(Panics(times))), Status::Panic.code());
            assert_eq!(fence_or(7, || std::panic::panic_any(Panics(times))), 7);
        }
        let told = last().expect("kept");
        let words = "a bug of this library: it panicked without a word";
        assert_eq!(told.message.to_str(), Ok(words));
    }

    /// What the system or a callback says is wrong, which has no words.
    #[derive(Debug)]
    struct Speechless(#[allow(dead_code, reason = "it is dropped")] Panics);

    impl std::fmt::Display for Speechless {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("no words")
        }
    }

    impl std::error::Error for Speechless {}

    #[test]
    fn an_error_that_cannot_be_told_still_has_a_status() {
        for times in [0, 2] {
            let source = std::io::Error::other(Speechless(Panics(times)));
            let place = Box::default();
            let failure = hurray_tensor::Error::Io { doing: "read", place, source };
            assert_eq!(fence(move || Err(failure.into())), Status::System.code());
            let told = last().expect("kept");
            assert_eq!(told.status, Status::System.code());
            assert_eq!(told.message.to_str(), Ok("what went wrong has no words"));
        }
    }
}
