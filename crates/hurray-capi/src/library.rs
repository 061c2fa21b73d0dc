//! The library itself: its version, what a status is called, and what went wrong last.

use std::ffi::c_char;
use std::ptr;

use hurray_tensor::exchange::Status;

use crate::failure::last_message;
use crate::fence::fence_or;
use crate::words::{Words, words};

/// The version of this interface. It is 1 for as long as a program built with an older
/// `hurray.h` runs with a newer library.
pub const HURRAY_C_ABI_VERSION: u32 = 1;

static STATUS_NAMES: Words = words!(Status::ALL, status => status.c_name());
static VERSION: Words = Words(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes());

/// `HURRAY_C_ABI_VERSION` of the library that runs. It may know more calls and longer structs
/// than the header that a program was built with, never fewer where the number is the same.
#[unsafe(no_mangle)]
pub extern "C" fn hurray_c_abi_version() -> u32 {
    fence_or(0, || Ok(HURRAY_C_ABI_VERSION))
}

/// The version of the library, such as "0.1.0". Good for ever.
#[unsafe(no_mangle)]
pub extern "C" fn hurray_version() -> *const c_char {
    fence_or(ptr::null(), || Ok(VERSION.at(0)))
}

/// The name of a status, such as "HURRAY_CORRUPT"; NULL where no status has that number. Good for
/// ever.
#[unsafe(no_mangle)]
pub extern "C" fn hurray_status_name(status: i32) -> *const c_char {
    fence_or(ptr::null(), || {
        let place = Status::ALL.iter().position(|known| known.code() == status);
        Ok(place.map_or(ptr::null(), |place| STATUS_NAMES.at(place)))
    })
}

/// What the last call on this thread that failed has to say: a sentence in UTF-8, empty where
/// none failed. Good until the next call on this thread.
#[unsafe(no_mangle)]
pub extern "C" fn hurray_last_error() -> *const c_char {
    fence_or(c"".as_ptr(), || Ok(last_message()))
}
