//! The edge of the library: nothing unwinds across it, and what is refused becomes a status.

use std::any::Any;
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
        Err(failure) => keep(&failure),
    }
}

/// Runs the body of a call that answers with a value, and with `otherwise` where it fails.
pub(crate) fn fence_or<T>(otherwise: T, body: impl FnOnce() -> Result<T>) -> T {
    match caught(body) {
        Ok(value) => value,
        Err(failure) => {
            keep(&failure);
            otherwise
        }
    }
}

fn caught<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(answer) => answer,
        Err(payload) => Err(Failure::Panic(message_of(&*payload))),
    }
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
}
