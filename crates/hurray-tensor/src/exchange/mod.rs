//! The exchange structs (specification page 10): a tensor handed from one library to another
//! inside a process, by a header and without linking.
//!
//! `include/hurray_abi.h` beside this crate is that header. [`raw`] is its Rust side, field by
//! field, and [`Status`] its table of status codes.

pub mod raw;
mod status;

pub use status::Status;
