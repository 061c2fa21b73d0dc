//! A file that appears whole or not at all: written beside its place under a name nobody
//! can guess, synced, renamed.

use std::fs;
use std::io::{self, Write};
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::writer::{FileWriter, WriteOptions};
use crate::error::{Error, Result};

/// A file being written that takes its name only when it is [committed](Self::commit).
/// Dropped before, it is removed.
#[derive(Debug)]
pub struct AtomicFile {
    file: NamedTempFile,
    path: PathBuf,
    /// How many bytes were written, and how many of them are on their way to the disk.
    written: u64,
    started: u64,
}

/// After so many bytes the system is asked to begin writing them to the disk. A commit waits
/// for the disk in any case: what is on its way meanwhile it need not wait for.
const WRITE_BACK: u64 = 8 << 20;

impl AtomicFile {
    /// Starts a file that will be at `path`. A file there now stays until the commit, and
    /// for whoever has it open or mapped also after; who may read, write and run it is kept.
    /// A link is followed.
    ///
    /// # Errors
    ///
    /// What the system refuses; something at `path` that is no regular file, a link that
    /// leads nowhere included.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::beside(path).map_err(|error| Error::io("create", error).in_file(path))
    }

    fn beside(path: &Path) -> io::Result<Self> {
        let (path, replaced) = place(path)?;
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            let text = "the path names no file";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        };
        // A long name has no room for more: the random part alone is enough then.
        let mut prefix = std::ffi::OsString::from(".");
        prefix.push(if name.len() <= 200 { name } else { "".as_ref() });
        prefix.push(".");
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(".part").rand_bytes(12);
        // Never, not even before the permissions are set, may more people open the file than
        // the one it replaces.
        #[cfg(unix)]
        builder.permissions(replaced.clone().unwrap_or_else(|| permissions(0o666)));
        let file = builder.tempfile_in(folder)?;
        if let Some(permissions) = replaced {
            file.as_file().set_permissions(permissions)?;
        }
        Ok(Self { file, path, written: 0, started: 0 })
    }

    /// Syncs the file, gives it its name, and syncs the folder.
    ///
    /// # Errors
    ///
    /// What the system refuses. The place is as it was then, unless it was the folder that
    /// could not be synced.
    pub fn commit(self) -> Result<()> {
        let Self { file, path, .. } = self;
        let failed = |doing| {
            let path = path.clone();
            move |error| Error::io(doing, error).in_file(&path)
        };
        file.as_file().sync_all().map_err(failed("sync"))?;
        file.persist(&path).map_err(|error| failed("rename")(error.error))?;
        sync_folder(&path).map_err(failed("sync the folder of"))
    }
}

/// Where a file that `path` names will be, and the permissions of the one it replaces.
fn place(path: &Path) -> io::Result<(PathBuf, Option<fs::Permissions>)> {
    let refuse = |text| Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
    match fs::canonicalize(path) {
        Ok(resolved) => {
            let metadata = fs::metadata(&resolved)?;
            if !metadata.is_file() {
                return refuse("something that is no regular file is in its place");
            }
            #[cfg(unix)]
            let kept = permissions(PermissionsExt::mode(&metadata.permissions()) & 0o777);
            #[cfg(not(unix))]
            let kept = metadata.permissions();
            Ok((resolved, Some(kept)))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if fs::symlink_metadata(path).is_ok() {
                return refuse("a link that leads nowhere is in its place");
            }
            // The process may go elsewhere before the commit.
            Ok((std::path::absolute(path)?, None))
        }
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
fn permissions(mode: u32) -> fs::Permissions {
    PermissionsExt::from_mode(mode)
}

/// Tells Linux that a range will not be needed, to which it answers by writing it out; pages
/// it has not written yet stay. A hint: whatever comes of it is no error.
#[cfg(target_os = "linux")]
fn start_write_back(file: &fs::File, offset: u64, length: u64) {
    let length = std::num::NonZeroU64::new(length);
    let _ = rustix::fs::fadvise(file, offset, length, rustix::fs::Advice::DontNeed);
}

/// Elsewhere the system chooses by itself.
#[cfg(not(target_os = "linux"))]
fn start_write_back(_: &fs::File, _: u64, _: u64) {}

#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = match fs::File::open(path.parent().unwrap_or(path)) {
        // One may put files into a folder that one may not list.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
        opened => opened?,
    };
    match folder.sync_all() {
        // Some file systems sync no folders.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

/// Where a folder cannot be opened, there is nothing to sync.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the other platform can fail")]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.as_file_mut().write(bytes)?;
        self.written = self.written.saturating_add(u64::try_from(written).unwrap_or(u64::MAX));
        let waiting = self.written.saturating_sub(self.started);
        if waiting >= WRITE_BACK {
            start_write_back(self.file.as_file(), self.started, waiting);
            self.started = self.written;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_file_mut().flush()
    }
}

/// Writes a file that appears whole or not at all. Saving over a file that is being read,
/// or mapped, is safe: readers keep the one they opened.
///
/// # Errors
///
/// What `write` refuses, the rules it breaks, and what the system refuses. On any error
/// the place is as it was.
pub fn save<E: From<Error>>(
    path: impl AsRef<Path>,
    options: WriteOptions,
    write: impl FnOnce(&mut FileWriter<&mut AtomicFile>) -> Result<(), E>,
) -> Result<(), E> {
    let path = path.as_ref();
    let in_file = |error: Error| error.in_file(path);
    let mut file = AtomicFile::create(path)?;
    let mut writer = FileWriter::new(&mut file, options).map_err(in_file)?;
    write(&mut writer)?;
    writer.finish().map_err(in_file)?;
    file.commit()?;
    Ok(())
}
