//! Hurray tensors in life. For now: files and plain streams, opened, mapped, read and
//! saved.
//!
//! ```
//! use hurray_tensor::format::{Descriptor, Dtype, KvValue};
//! use hurray_tensor::{File, WriteOptions, save};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("weights.hrry");
//! let descriptor = Descriptor::dense(Dtype::UInt8, &[2, 3])?;
//! save(&path, WriteOptions::default(), |file| {
//!     file.key_value("origin", &KvValue::String("example"))?;
//!     file.tensor("w", &descriptor, &[&[1, 2, 3, 4, 5, 6]])
//! })?;
//!
//! let file = File::open(&path)?;
//! let tensor = file.get("w")?;
//! assert_eq!(tensor.descriptor().shape(), [2, 3]);
//! assert_eq!(tensor.read_buffer(0)?[..], [1, 2, 3, 4, 5, 6]);
//! file.verify(&mut |_| {})?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use hurray_format as format;

mod bytes;
mod error;
mod exact;
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
