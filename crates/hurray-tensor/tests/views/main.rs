//! Parts and turns of tensors: the right elements, in the same memory, rightly described.

#![allow(
    missing_docs,
    unreachable_pub,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail loudly"
)]

mod described;
#[path = "../support/model.rs"]
mod model;
mod parts;
#[path = "../support/vectors.rs"]
mod vectors;

use hurray_tensor::Error;
use hurray_tensor::format::Rule;

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, rule: Rule) {
    assert_eq!(result.unwrap_err().rule(), Some(rule));
}
