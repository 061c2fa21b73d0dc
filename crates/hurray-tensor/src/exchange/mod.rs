//! The exchange structs (specification page 10): a tensor handed from one library to another
//! inside a process, by a header and without linking.
//!
//! `include/hurray_abi.h` beside this crate is that header. What is ours and goes out is
//! [`Exported`]; what is theirs and comes in is [`Foreign`], of which nothing is trusted but that
//! it can be released, until all of it was checked.
//!
//! ```text
//! Tensor, Offered, Composite --Exported--> HurrayTensor --Foreign--> Offered
//! impl Produce --ExportedProducer--> HurrayProducer --ForeignProducer--> Foreign
//! ```

mod below;
mod check;
mod composite;
mod export;
mod foreign;
mod import;
mod in_order;
mod parcel;
mod produce;
mod producer;
pub mod raw;
mod released;
mod request;
mod shares;
mod status;

pub use export::Exported;
pub use foreign::Foreign;
pub use in_order::Releases;
pub use produce::{ExportedProducer, Produce};
pub use producer::ForeignProducer;
pub use request::Request;
pub use status::Status;

use hurray_format::{Error as FormatError, Expected, Rule, Value};

/// A refusal at the field `at` bytes into its struct.
#[cold]
fn refuse(
    rule: Rule,
    field: &'static str,
    at: usize,
    found: Value,
    expected: Expected,
) -> crate::Error {
    broken(rule, field, at, found, expected).into()
}

#[cold]
fn broken(
    rule: Rule,
    field: &'static str,
    at: usize,
    found: Value,
    expected: Expected,
) -> FormatError {
    FormatError::new(rule, field, crate::memory::as_u64(at), found, expected)
}
