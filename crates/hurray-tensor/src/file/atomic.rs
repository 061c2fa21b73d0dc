//! A file that appears whole or not at all: written without a name where the system can,
//! else beside its place under a name nobody can guess; synced, named, renamed.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::writer::{FileWriter, WriteOptions};
use crate::error::{Error, Result};

/// A file being written that takes its name only when it is [committed](Self::commit).
/// Dropped before, it is removed. On Linux it has no name before, so that nothing is left of
/// it either when the process is killed; a file system that knows no such files, or a system
/// without `/proc`, gets a hidden one beside the place instead.
#[derive(Debug)]
pub struct AtomicFile {
    file: Unfinished,
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
    /// What the system refuses; something at `path`, or where a link there leads, that is no
    /// regular file, such as a folder, a pipe or a terminal; a link that leads nowhere.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::beside(path, Unfinished::create)
            .map_err(|error| Error::io("create", error).in_file(path))
    }

    fn beside(
        path: &Path,
        create: fn(&Sibling, Option<&fs::Permissions>) -> io::Result<Unfinished>,
    ) -> io::Result<Self> {
        let (path, replaced) = place(path)?;
        let file = create(&Sibling::of(&path)?, replaced.as_ref())?;
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
        match file {
            Unfinished::Named(file) => {
                file.persist(&path).map_err(|error| failed("rename")(error.error))?;
            }
            #[cfg(target_os = "linux")]
            Unfinished::Unnamed(file) => {
                // A link never replaces anything: the name is a sibling's first.
                let named = Sibling::of(&path).and_then(|sibling| unnamed::name(&file, &sibling));
                let named = named.map_err(failed("name"))?;
                named.persist(&path).map_err(|error| failed("rename")(error.error))?;
            }
        }
        sync_folder(&path).map_err(failed("sync the folder of"))
    }
}

/// The file before it has its name.
#[derive(Debug)]
enum Unfinished {
    Named(NamedTempFile),
    #[cfg(target_os = "linux")]
    Unnamed(fs::File),
}

impl Unfinished {
    /// Whatever keeps the file from having no name, the other way either works or says why
    /// it does not.
    #[cfg(target_os = "linux")]
    fn create(sibling: &Sibling, replaced: Option<&fs::Permissions>) -> io::Result<Self> {
        match unnamed::create(&sibling.folder, replaced) {
            Ok(file) => Ok(Self::Unnamed(file)),
            Err(_) => Self::named(sibling, replaced),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn create(sibling: &Sibling, replaced: Option<&fs::Permissions>) -> io::Result<Self> {
        Self::named(sibling, replaced)
    }

    fn named(sibling: &Sibling, replaced: Option<&fs::Permissions>) -> io::Result<Self> {
        let mut builder = sibling.builder();
        // Never, not even before the permissions are set, may more people open the file than
        // the one it replaces.
        #[cfg(unix)]
        builder.permissions(replaced.cloned().unwrap_or_else(|| permissions(0o666)));
        #[cfg(not(unix))]
        let _ = replaced;
        builder.tempfile_in(&sibling.folder).map(Self::Named)
    }

    fn as_file(&self) -> &fs::File {
        match self {
            Self::Named(file) => file.as_file(),
            #[cfg(target_os = "linux")]
            Self::Unnamed(file) => file,
        }
    }
}

/// The hidden names beside a place, that nobody can guess.
struct Sibling {
    folder: PathBuf,
    prefix: OsString,
}

impl Sibling {
    fn of(path: &Path) -> io::Result<Self> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            let text = "the path names no file";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        };
        // A long name has no room for more: the random part alone is enough then.
        let mut prefix = OsString::from(".");
        prefix.push(if name.len() <= 200 { name } else { "".as_ref() });
        prefix.push(".");
        Ok(Self { folder: folder.to_owned(), prefix })
    }

    fn builder(&self) -> tempfile::Builder<'_, 'static> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(&self.prefix).suffix(".part").rand_bytes(12);
        builder
    }
}

/// Files without a name, which go with the process however it ends.
#[cfg(target_os = "linux")]
mod unnamed {
    use std::os::fd::AsRawFd;

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, openat};

    use super::*;

    pub(super) fn create(
        folder: &Path,
        replaced: Option<&fs::Permissions>,
    ) -> io::Result<fs::File> {
        let mode = replaced.map_or(0o666, PermissionsExt::mode);
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file = fs::File::from(openat(CWD, folder, flags, Mode::from_raw_mode(mode))?);
        // It can get a name by this path alone: without it, better learn that now.
        fs::metadata(path_of(&file))?;
        Ok(file)
    }

    /// Gives the file a name beside its place.
    pub(super) fn name(file: &fs::File, sibling: &Sibling) -> io::Result<NamedTempFile<()>> {
        let from = path_of(file);
        sibling.builder().make_in(&sibling.folder, |path| {
            Ok(linkat(CWD, &from, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
        })
    }

    fn path_of(file: &fs::File) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
    }
}

/// Where a file that `path` names will be, and the permissions of the one it replaces.
fn place(path: &Path) -> io::Result<(PathBuf, Option<fs::Permissions>)> {
    let refuse = |text| Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if fs::symlink_metadata(path).is_ok() {
                return refuse("a link that leads nowhere is in its place");
            }
            // The process may go elsewhere before the commit.
            return Ok((std::path::absolute(path)?, None));
        }
        Err(error) => return Err(error),
    };
    if metadata.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
    }
    if !metadata.is_file() {
        return refuse("something that is no regular file is in its place");
    }
    // Not every link says where it leads: what is open without a name has none to say.
    let resolved = fs::canonicalize(path)?;
    #[cfg(unix)]
    let kept = permissions(PermissionsExt::mode(&metadata.permissions()) & 0o777);
    #[cfg(not(unix))]
    let kept = metadata.permissions();
    Ok((resolved, Some(kept)))
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
        let written = self.file.as_file().write(bytes)?;
        self.written = self.written.saturating_add(u64::try_from(written).unwrap_or(u64::MAX));
        let waiting = self.written.saturating_sub(self.started);
        if waiting >= WRITE_BACK {
            start_write_back(self.file.as_file(), self.started, waiting);
            self.started = self.written;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_file().flush()
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

#[cfg(test)]
mod tests;
