//! Little-endian bytes read and written: the only place that touches raw offsets.

mod array;
mod reader;
mod storage;
mod trace;
mod writer;

pub(crate) use array::Wire;
pub use array::{Array, Item, List, Number, WireArray};
pub use storage::{Borrowed, Owned, Storage};
pub use trace::{Field, Recording, Silent, Trace};

pub(crate) use reader::{Block, Reader};
pub(crate) use writer::Writer;

/// A length or count of the wire as an index into memory. A value that memory cannot
/// have becomes `usize::MAX`, which no slice reaches.
pub(crate) fn as_index(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// A position in memory as an offset of the wire; lossless on every platform there is.
pub(crate) fn as_offset(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}
