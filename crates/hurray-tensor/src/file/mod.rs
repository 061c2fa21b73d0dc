//! Files: opened by reading or by mapping, written in one pass, saved as a whole or not
//! at all.

mod alive;
mod atomic;
mod open;
mod source;
mod tensor;
mod writer;

pub use atomic::{AtomicFile, save};
pub use open::{File, OpenOptions};
pub use source::Access;
pub use tensor::FileTensor;
pub(crate) use writer::write_failed;
pub use writer::{FileWriter, WriteOptions};
