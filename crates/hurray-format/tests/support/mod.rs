//! The test vectors of the repository, read line by line, and buffers to go with them.

#![allow(
    dead_code,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "each test file uses a part of it, and may fail loudly"
)]

pub(crate) mod json;
pub(crate) mod layouts;
pub(crate) mod random;

use hurray_format::{BufferHandle, Descriptor, Dtype, Error, Layout, Rule};
#[allow(unused_imports, reason = "as above")]
pub(crate) use json::{integer, integers, lines, path, unhex};
#[allow(unused_imports, reason = "as above")]
pub(crate) use layouts::words;

/// The hexadecimal string of bytes.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An index array of u32.
pub(crate) fn narrow(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
}

/// A tensor of bytes whose handles are as long as `buffers`.
pub(crate) fn over(shape: &[u64], layout: Layout, buffers: &[&[u8]]) -> Result<Descriptor, Error> {
    let handles: Vec<_> = buffers.iter().map(|b| BufferHandle::cpu(b.len() as u64)).collect();
    Descriptor::builder(Dtype::UInt8, shape).layout(layout).buffers(handles).build()
}

/// A descriptor of `layout`, or why there is none.
pub(crate) fn built(dtype: Dtype, shape: &[u64], layout: Layout) -> Result<Descriptor, Error> {
    Descriptor::builder(dtype, shape).layout(layout).build()
}

/// Asserts that `result` is refused by `rule`.
#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(result: Result<T, Error>, rule: Rule) -> Error {
    let error = result.unwrap_err();
    assert_eq!(error.rule(), rule, "{error}");
    error
}

/// Asserts that `result` is refused by `rule`, `offset` bytes in.
#[track_caller]
pub(crate) fn refused_at(result: Result<(), Error>, rule: Rule, offset: u64) {
    let error = refused(result, rule);
    assert_eq!(error.offset(), offset, "{error}");
}
