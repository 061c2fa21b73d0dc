//! The vectors of the repository, line by line.

#![allow(
    dead_code,
    clippy::arithmetic_side_effects,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "each test file uses a part of it, and may fail loudly"
)]

use std::path::PathBuf;

use serde_json::Value;

/// A file of the `vectors` folder.
pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(name)
}

/// The lines of a JSON-lines file.
pub(crate) fn lines(name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(path(name)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The bytes of a hexadecimal string.
pub(crate) fn unhex(text: &str) -> Vec<u8> {
    let pairs = (0..text.len()).step_by(2);
    pairs.map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// An integer that is a number or, beyond 2^53, a decimal string.
pub(crate) fn integer(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| value.as_str().unwrap().parse().unwrap())
}

/// An array of such integers.
pub(crate) fn integers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(integer).collect()
}
