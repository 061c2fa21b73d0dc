//! What every conversion takes, and how its output becomes a file.

use std::path::Path;

use hurray_tensor::AtomicFile;
use hurray_tensor::format::FileOptions;

use crate::error::Result;

/// Told how many bytes of data are done, of how many; 0 of 0 where that is not known.
pub type Progress<'p> = &'p mut dyn FnMut(u64, u64);

/// How a Hurray file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvertOptions {
    /// Every buffer starts at a multiple of this: a power of two from 4096 to 2 MiB.
    pub alignment: u32,
    /// Whether the index is sorted by name, rather than in the order of the data.
    pub sorted: bool,
    /// Whether the CRC-32C of each buffer goes into the key-values.
    pub checksums: bool,
}

impl Default for ConvertOptions {
    fn default() -> Self {
        let FileOptions { alignment, sorted, .. } = FileOptions::default();
        Self { alignment, sorted, checksums: true }
    }
}

impl ConvertOptions {
    pub(crate) fn write(
        &self,
        key_values: bool,
        tensors: Option<u64>,
    ) -> hurray_tensor::WriteOptions {
        let Self { alignment, sorted, checksums } = *self;
        let file = FileOptions { alignment, key_values, sorted, tensor_count: tensors };
        hurray_tensor::WriteOptions { file, checksums }
    }
}

/// Writes a file that appears at `path` whole or not at all. Converting over the file that
/// is being read is safe.
///
/// # Errors
///
/// What `write` fails with, and what the system refuses. The place is as it was then.
pub fn save<T>(
    path: impl AsRef<Path>,
    write: impl FnOnce(&mut AtomicFile) -> Result<T>,
) -> Result<T> {
    let path = path.as_ref();
    let mut file = AtomicFile::create(path)?;
    let written = write(&mut file).map_err(|error| error.in_file(path))?;
    file.commit()?;
    Ok(written)
}
