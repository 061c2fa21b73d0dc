#![doc = include_str!("../README.md")]

pub use hurray_format as format;

mod bytes;
mod error;
mod exact;
#[cfg(target_pointer_width = "64")]
pub mod exchange;
mod file;
mod stream;

pub use bytes::AlignedBytes;
pub use error::{Error, Place, Result};
pub use file::{Access, AtomicFile, File, FileTensor, FileWriter, OpenOptions, WriteOptions, save};
pub use stream::{StreamReader, StreamTensor, StreamWriter};

/// The examples of the README and the guides are compiled and run with the others.
#[cfg(doctest)]
mod examples {
    #[doc = include_str!("../../../README.md")]
    mod readme {}
    #[doc = include_str!("../../../docs/guide/files.md")]
    mod files {}
}
