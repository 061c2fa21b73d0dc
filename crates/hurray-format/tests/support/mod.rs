//! The test vectors of the repository, read line by line.

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
    let digit = |c: u8| char::from(c).to_digit(16).unwrap() as u8;
    text.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

/// The hexadecimal string of bytes.
#[allow(dead_code, reason = "not every test file writes hexadecimal")]
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An integer that is a number or, beyond 2^53, a decimal string.
#[allow(dead_code, reason = "not every test file reads integers")]
pub(crate) fn integer(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| value.as_str().unwrap().parse().unwrap())
}

/// An array of such integers.
#[allow(dead_code, reason = "not every test file reads integers")]
pub(crate) fn integers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(integer).collect()
}
