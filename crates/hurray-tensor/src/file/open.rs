//! A file that is open: its index in memory, its tensors where they are.

#![allow(unsafe_code, reason = "`map` passes the promise of its caller on")]

use std::borrow::Cow;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use hurray_format::{
    self as format, Accept, Container, Entry, FILE_HEADER_LEN, FILE_TRAILER_LEN, FileBytes, Kv,
    Placement, Rule, Sections, Silent,
};
use hurray_kernels::checksum::crc32c;

use super::source::{Access, Source};
use super::tensor::FileTensor;
use crate::error::{Error, Result};

/// How a file is opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenOptions {
    /// Private tags that were agreed, and limits.
    pub accept: Accept,
}

/// An open file. Tensors are found by name in constant time; nothing of a tensor is read
/// before it is asked for.
///
/// ```no_run
/// use hurray_tensor::File;
///
/// // SAFETY: nobody writes to this file while it is open; it is only ever replaced.
/// let file = unsafe { File::map("model.hrry") }?;
/// let tensor = file.get("embeddings.weight")?;
/// match tensor.mapped(0) {
///     Some(bytes) => println!("{} bytes without a copy", bytes.len()),
///     None => println!("read instead: {:?}", file.access()),
/// }
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
#[derive(Debug)]
pub struct File {
    path: PathBuf,
    source: Source,
    access: Access,
    accept: Accept,
    container: Container,
}

impl File {
    /// Opens a file by reading. Whatever happens to the file meanwhile, reading it gives
    /// bytes or an error.
    ///
    /// # Errors
    ///
    /// The rules of `file.*` that concern header, trailer, index and key-values; what the
    /// system refuses; anything that is no regular file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// Opens a file by reading, with private tags that were agreed and other limits.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        let file = open_file(path).map_err(|error| Error::io("open", error).in_file(path))?;
        Self::from_open(file, path, options)
    }

    /// Opens a file that is open already, such as one without a name. Errors call it
    /// `name`.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn from_open(
        file: fs::File,
        name: impl AsRef<Path>,
        options: &OpenOptions,
    ) -> Result<Self> {
        let path = name.as_ref().to_owned();
        let source = Source::Read(file);
        let container = match open_container(&source, &options.accept) {
            Ok(container) => container,
            Err(error) => return Err(error.in_file(&path)),
        };
        let access = Access::Read { refused: None };
        Ok(Self { path, source, access, accept: options.accept, container })
    }

    /// Maps a file. Where the system refuses to map it, it is read instead, and
    /// [`access`](Self::access) says so.
    ///
    /// # Safety
    ///
    /// The file must not change while it is mapped: not be written to, nor cut short. A
    /// file that others write by replacing it, as [`save`](crate::save) does, is safe:
    /// the mapping keeps the file that was opened. Cutting a mapped file short ends the
    /// process with a signal where the lost part is touched.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub unsafe fn map(path: impl AsRef<Path>) -> Result<Self> {
        // SAFETY: passed on to the caller.
        unsafe { Self::map_with(path, &OpenOptions::default()) }
    }

    /// Maps a file, with private tags that were agreed and other limits.
    ///
    /// # Safety
    ///
    /// As [`map`](Self::map).
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub unsafe fn map_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        // The index is copied in any case; to read it is cheaper than to map it first.
        let file = Self::open_with(path, options)?;
        // SAFETY: the caller promises that the file does not change while it is mapped.
        let (source, access) = unsafe { file.source.map() };
        Ok(Self { source, access, ..file })
    }

    /// How the file is read.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Header, key-values and index.
    pub fn container(&self) -> &Container {
        &self.container
    }

    /// The key-values.
    pub fn kv(&self) -> &Kv {
        self.container.kv()
    }

    /// The number of tensors, aliases not counted.
    pub fn len(&self) -> usize {
        self.container.index().len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.container.index().is_empty()
    }

    /// The names of the tensors, in the order of the index; aliases not among them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.container.index().iter().map(|entry| entry.name)
    }

    /// The tensor with that name, or that an alias of that name stands for. Only its
    /// descriptor is read.
    ///
    /// # Errors
    ///
    /// `file.index.unknown-name`; every rule of descriptors; what the system refuses.
    pub fn get(&self, name: &str) -> Result<FileTensor<'_>> {
        let entry = self.container.find(name).map_err(|error| self.located(error, name))?;
        self.read(&entry)
    }

    /// The tensor of an entry of the index.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    pub fn read<'f>(&'f self, entry: &Entry<'f>) -> Result<FileTensor<'f>> {
        let range = entry.descriptor();
        let bytes = match self.source.mapped(&range) {
            Some(bytes) => Cow::Borrowed(bytes),
            None => Cow::Owned(self.read_range(&range, entry.name)?),
        };
        let placement = self.container.place(entry, &bytes, &self.accept, &mut Silent);
        let placement = placement.map_err(|error| self.located(error, entry.name))?;
        Ok(FileTensor::new(self, *entry, placement))
    }

    fn read_range(&self, range: &Range<u64>, tensor: &str) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = self.source.append(range, &mut bytes);
        read.map_err(|error| Error::io("read", error).in_tensor(tensor).in_file(&self.path))?;
        Ok(bytes)
    }

    /// Every tensor, in the order in which they lie in the file.
    pub fn in_file_order(&self) -> impl Iterator<Item = Result<FileTensor<'_>>> {
        self.container.index().in_file_order().map(|entry| self.read(&entry))
    }

    /// Every composite, bound and checked; items are entry numbers.
    ///
    /// # Errors
    ///
    /// The rules of `composite.*`; as [`get`](Self::get).
    pub fn composites(&self) -> Result<Vec<format::Composite<u32>>> {
        let limits = &self.accept.limits;
        let bound = self.container.composites(limits, |entry| self.descriptor(entry));
        bound.map_err(|error| error.in_file(&self.path))
    }

    pub(super) fn descriptor(&self, entry: &Entry<'_>) -> Result<format::Descriptor> {
        let bytes = self.read_range(&entry.descriptor(), entry.name)?;
        let placement = self.container.place(entry, &bytes, &self.accept, &mut Silent);
        Ok(placement.map_err(|error| self.located(error, entry.name))?.descriptor)
    }

    /// Checks everything: each tensor, the contents of index and parameter buffers,
    /// checksums, padding, composites, and the keys Hurray itself uses. `progress` is told
    /// how many bytes of the file are done; at the end, and only then, all of them.
    ///
    /// # Errors
    ///
    /// The first rule that the file breaks, with the tensor that breaks it; what the system
    /// refuses.
    pub fn verify(&self, progress: &mut dyn FnMut(u64)) -> Result<()> {
        let mut walk = Walk { source: &self.source, done: 0, progress };
        let verified = self.container.verify(&mut walk, &self.accept, crc32c);
        verified.map_err(|error| self.in_its_tensor(error).in_file(&self.path))?;
        progress(self.container.sections().size());
        Ok(())
    }

    /// The error with the name of the tensor that it was met in, if it was in one.
    fn in_its_tensor(&self, error: Error) -> Error {
        let at = match error.format() {
            None => return error,
            Some(format) => match format.rule() {
                Rule::FilePaddingHeaderNotZero
                | Rule::FilePaddingNotZero
                | Rule::FileIndexTensorNotListed
                | Rule::FileTensorAliasKey
                | Rule::FileTensorChecksumKey
                | Rule::FileTensorSequenceLengthsKey => return error,
                _ => format.offset(),
            },
        };
        let before = |entry: &Entry<'_>| entry.descriptor_offset <= at;
        match self.container.index().in_file_order().take_while(before).last() {
            // An empty buffer is at the end.
            Some(entry) if at <= entry.descriptor().end.max(entry.data().end) => {
                error.in_tensor(entry.name)
            }
            _ => error,
        }
    }

    pub(super) fn verify_tensor(&self, entry: &Entry<'_>, tensor: &Placement) -> Result<()> {
        let mut walk = Walk { source: &self.source, done: 0, progress: &mut |_| {} };
        let verified = self.container.verify_tensor(entry, tensor, &mut walk, crc32c);
        verified.map_err(|error| error.in_tensor(entry.name).in_file(&self.path))
    }

    pub(super) fn accept(&self) -> &Accept {
        &self.accept
    }

    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    pub(super) fn located(&self, error: impl Into<Error>, tensor: &str) -> Error {
        error.into().in_tensor(tensor).in_file(&self.path)
    }
}

fn open_file(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.read(true);
    // A named pipe would keep us waiting for a writer, only to be refused. Regular files do
    // not mind.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NONBLOCK.bits().cast_signed(),
    );
    options.open(path)
}

fn open_container(source: &Source, accept: &Accept) -> Result<Container> {
    let size = source.size().map_err(|error| Error::io("open", error))?;
    let read = |range: Range<u64>| {
        let mut bytes = Vec::new();
        source.append(&range, &mut bytes).map_err(|error| Error::io("read", error))?;
        Ok::<_, Error>(bytes)
    };
    let length = |bytes: usize| u64::try_from(bytes).unwrap_or(u64::MAX);
    let first = read(0..size.min(length(FILE_HEADER_LEN)))?;
    let last = read(size.saturating_sub(length(FILE_TRAILER_LEN))..size)?;
    let sections = Sections::decode(&first, &last, size, &accept.limits, &mut Silent)?;
    let kv = sections.kv().map(read).transpose()?;
    let index = read(sections.index())?;
    Ok(Container::new(sections, index, kv, crc32c, &mut Silent)?)
}

/// A walk over the whole file.
struct Walk<'f, 'p> {
    source: &'f Source,
    done: u64,
    progress: &'p mut dyn FnMut(u64),
}

impl Walk<'_, '_> {
    fn advance(&mut self, bytes: u64) {
        self.done = self.done.saturating_add(bytes);
        (self.progress)(self.done);
    }
}

impl FileBytes for Walk<'_, '_> {
    type Error = Error;

    fn whole(&self, range: Range<u64>) -> Result<Cow<'_, [u8]>> {
        if let Some(bytes) = self.source.mapped(&range) {
            return Ok(Cow::Borrowed(bytes));
        }
        let mut bytes = Vec::new();
        self.source.append(&range, &mut bytes).map_err(|error| Error::io("read", error))?;
        Ok(Cow::Owned(bytes))
    }

    fn pieces(
        &mut self,
        range: Range<u64>,
        each: &mut dyn FnMut(u64, &[u8]) -> format::Result<()>,
    ) -> Result<()> {
        let source = self.source;
        source.pieces::<Failed>(range, &mut |offset, bytes| {
            each(offset, bytes).map_err(Failed::Format)?;
            self.advance(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
            Ok(())
        })?;
        Ok(())
    }
}

/// Why a walk stopped.
enum Failed {
    Format(format::Error),
    Read(io::Error),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

impl From<Failed> for Error {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Format(error) => error.into(),
            Failed::Read(error) => Self::io("read", error),
        }
    }
}
