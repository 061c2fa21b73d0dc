//! The file container (specification page 06): many named tensors, key-values, an index.
//!
//! ```text
//! header 64 | padding | tensors | [key-values] | index | trailer 40
//! ```
//!
//! Written in one forward pass, read from the trailer. Everything here works on bytes
//! the caller read: [`Container`] is what a reader holds, [`FilePlan`] tells a writer
//! what to write where, [`FileView`] is both ends over a slice.

mod container;
mod header;
mod index;
mod keys;
mod kv;
mod names;
mod plan;
mod trailer;
mod verify;
mod view;

pub use container::{Container, Placement, Sections};
pub use header::FileHeader;
pub use index::{Entry, Index};
pub use keys::{ALIAS_KEY, CHECKSUM_KEY, RESERVED_KEYS, SEQUENCE_LENGTHS_KEY};
pub use kv::{Kv, KvArray, KvKind, KvValue};
pub use plan::{FileOptions, FilePlan, TensorPlan};
pub use trailer::Trailer;
pub use verify::{FileBytes, Gap};
pub use view::{FileView, TensorView};

/// The eight bytes a file starts with.
pub const FILE_MAGIC: [u8; 8] = *b"HRRYFILE";
/// The length of the file header.
pub const FILE_HEADER_LEN: usize = 64;
/// The length of the trailer.
pub const FILE_TRAILER_LEN: usize = 40;
/// The least and greatest alignment of data, in bytes.
pub const DATA_ALIGNMENT: core::ops::RangeInclusive<u32> = 4096..=2 << 20;

/// `offset` rounded up to a multiple of `alignment`, a power of two; `None` beyond 64
/// bits.
pub(crate) fn align_up(offset: u64, alignment: u64) -> Option<u64> {
    offset.checked_next_multiple_of(alignment)
}
