//! Tensors handed over by DLPack, between us, C programs and another library.

#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "a test may fail loudly"
)]
#![allow(unsafe_code, reason = "the structs, and the memory they speak of, are the tests' own")]

#[path = "../support/choice.rs"]
mod choice;
#[path = "../support/counting.rs"]
mod counting;

mod cases;
mod copies;
mod devices;
mod elements;
mod hostile;
#[cfg(target_os = "linux")]
mod in_c;
mod lifetimes;
mod mutated;
mod other_library;
mod parts;
mod producer;
mod shapes;

/// While memory grows, the old and the new are both counted: the strictest view.
const GROWS_IN_PLACE: bool = false;
