//! The hurray command: convert, inspect and verify tensor files.
