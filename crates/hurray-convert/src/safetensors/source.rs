//! A safetensors model that is open: its names in memory, its data where it is.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use ::safetensors::tensor::Dtype;

use super::header::{self, Header, LENGTH, LONGEST};
use super::shards::{Disagreement, ShardFault, ShardIndex};
use crate::error::{Error, Result};
use crate::piece::{PIECE, as_index, as_length, read_exact_at};
use crate::report::{Change, Changed};

/// A safetensors model: one file, or several with an index. Opening reads the headers and
/// checks them; data is read when it is converted.
///
/// ```
/// use hurray_convert::SafetensorsSource;
///
/// let mut file = br#"{"w":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}}"#.to_vec();
/// file.splice(..0, (file.len() as u64).to_le_bytes());
/// file.extend([1, 2, 3]);
/// let source = SafetensorsSource::from_bytes("w.safetensors", &file)?;
/// assert_eq!((source.len(), source.data_bytes()), (1, 3));
/// # Ok::<(), hurray_convert::Error>(())
/// ```
#[derive(Debug)]
pub struct SafetensorsSource<'a> {
    path: PathBuf,
    files: Vec<SourceFile<'a>>,
    pub(super) tensors: Vec<SourceTensor>,
    pub(super) metadata: Vec<(String, String)>,
    /// What the shards' metadata came to.
    pub(super) changes: Vec<Change>,
}

/// How a model is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SafetensorsOptions {
    /// Whether a shard may be a link that leads out of the folder of the index, as in the
    /// caches of download tools. Whoever may write into the folder can lead the reader to any
    /// file then.
    pub linked_shards: bool,
}

/// A tensor, and where its data lies.
#[derive(Debug)]
pub(super) struct SourceTensor {
    pub(super) name: String,
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<u64>,
    file: usize,
    range: Range<u64>,
}

impl SourceTensor {
    /// How many bytes its data takes.
    pub(super) fn bytes(&self) -> u64 {
        self.range.end.saturating_sub(self.range.start)
    }

    /// Where its data starts in its file.
    pub(super) fn offset(&self) -> u64 {
        self.range.start
    }
}

#[derive(Debug)]
struct SourceFile<'a> {
    path: PathBuf,
    bytes: Bytes<'a>,
}

#[derive(Debug)]
enum Bytes<'a> {
    File(fs::File),
    Slice(&'a [u8]),
}

impl SafetensorsSource<'static> {
    /// Opens a model: a safetensors file, or the index of a sharded one, which is told by its
    /// name ending in `.json`. Shards lie beside the index.
    ///
    /// # Errors
    ///
    /// [`Error::Safetensors`], [`Error::Shards`], and what the system refuses.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &SafetensorsOptions::default())
    }

    /// Opens a model with options.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &SafetensorsOptions) -> Result<Self> {
        let path = path.as_ref();
        let mut source = Self::empty(path);
        if path.extension() == Some(OsStr::new("json")) {
            source.add_shards(path, options)?;
        } else {
            let file = open_regular(path).map_err(|error| Error::io("open", path, error))?;
            let metadata = source.add(path, Bytes::File(file))?;
            source.metadata = metadata;
        }
        Ok(source)
    }
}

impl<'a> SafetensorsSource<'a> {
    /// A model in one file, which is all of `bytes`: mapped by the caller, or in memory. The
    /// path is for messages.
    ///
    /// # Errors
    ///
    /// [`Error::Safetensors`].
    pub fn from_bytes(path: impl AsRef<Path>, bytes: &'a [u8]) -> Result<Self> {
        let mut source = Self::empty(path.as_ref());
        source.metadata = source.add(path.as_ref(), Bytes::Slice(bytes))?;
        Ok(source)
    }

    fn empty(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            files: Vec::new(),
            tensors: Vec::new(),
            metadata: Vec::new(),
            changes: Vec::new(),
        }
    }

    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of tensors, in all shards together.
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// The bytes of data of all tensors.
    pub fn data_bytes(&self) -> u64 {
        self.tensors.iter().fold(0, |sum, tensor| sum.saturating_add(tensor.bytes()))
    }

    /// The names of the tensors, in the order in which they lie.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.iter().map(|tensor| tensor.name.as_str())
    }

    /// The file the tensor is in.
    pub(super) fn file_of(&self, tensor: &SourceTensor) -> &Path {
        self.files.get(tensor.file).map_or(&self.path, |file| &file.path)
    }

    /// Gives the data of a tensor in order, each piece with its offset in the file. The length
    /// of a piece is a multiple of eight, but for the last. They are slices of what is in
    /// memory, or `memory` filled again and again.
    pub(super) fn pieces(
        &self,
        tensor: &SourceTensor,
        memory: &mut Vec<u8>,
        each: &mut dyn FnMut(u64, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut at = 0;
        while at < tensor.bytes() {
            let bytes = self.piece(tensor, at, memory)?;
            each(tensor.offset().saturating_add(at), bytes)?;
            at = at.saturating_add(as_length(bytes.len()));
        }
        Ok(())
    }

    /// The piece of a tensor's data that starts there.
    pub(super) fn piece<'r>(
        &'r self,
        tensor: &SourceTensor,
        at: u64,
        memory: &'r mut Vec<u8>,
    ) -> io::Result<&'r [u8]> {
        let start = tensor.range.start.saturating_add(at).min(tensor.range.end);
        let end = tensor.range.end.min(start.saturating_add(as_length(PIECE)));
        match self.files.get(tensor.file) {
            Some(file) => file.read(start..end, memory),
            None => Ok(&[]),
        }
    }

    /// Reads the header of a file, adds its tensors, and gives its metadata.
    fn add(&mut self, path: &Path, bytes: Bytes<'a>) -> Result<Vec<(String, String)>> {
        let failed = |error| Error::io("read", path, error);
        let broken = |fault| Error::Safetensors { path: path.to_owned(), fault: Box::new(fault) };
        let file = SourceFile { path: path.to_owned(), bytes };
        let size = file.size().map_err(failed)?;
        let mut memory = Vec::new();
        let read = |range: Range<u64>, memory: &mut Vec<u8>| {
            file.read(range, memory).map(<[u8]>::to_vec).map_err(Error::uncarried)
        };
        let first = read(0..size.min(LENGTH), &mut memory)?;
        let length = header::length(size, &first).map_err(broken)?;
        let start = LENGTH.saturating_add(length);
        let json = read(LENGTH..start, &mut memory)?;
        let header = Header::read(&json, size.saturating_sub(start)).map_err(broken)?;
        let number = self.files.len();
        self.files.push(file);
        self.tensors.extend(header.tensors.into_iter().map(|(name, info)| {
            let at = |offset| start.saturating_add(as_length(offset));
            let (from, to) = info.data_offsets;
            SourceTensor {
                name,
                dtype: info.dtype,
                shape: info.shape.into_iter().map(as_length).collect(),
                file: number,
                range: at(from)..at(to),
            }
        }));
        Ok(header.metadata)
    }

    /// Opens the shards that the index at `path` names.
    fn add_shards(&mut self, path: &Path, options: &SafetensorsOptions) -> Result<()> {
        let failed = |error| Error::io("open", path, error);
        let broken = |fault| Error::Shards { path: path.to_owned(), fault: Box::new(fault) };
        let file = open_regular(path).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        if size > LONGEST {
            return Err(broken(ShardFault::TooLong(size)));
        }
        let file = SourceFile { path: path.to_owned(), bytes: Bytes::File(file) };
        let mut json = Vec::new();
        file.read(0..size, &mut json).map_err(Error::uncarried)?;
        let index = ShardIndex::read(&json).map_err(broken)?;

        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let resolved = fs::canonicalize(folder).map_err(failed)?;
        let mut disagreement = Disagreement::default();
        let mut metadata = Merged::default();
        for (shard, expected) in &index.shards {
            let beside = folder.join(shard);
            let target = match fs::canonicalize(&beside) {
                Ok(target) => target,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    disagreement.missing.push(shard.clone());
                    continue;
                }
                Err(error) => return Err(Error::io("open", &beside, error)),
            };
            if !options.linked_shards && !target.starts_with(&resolved) {
                return Err(broken(ShardFault::Link(shard.clone())));
            }
            if !target.is_file() {
                return Err(broken(ShardFault::NoFile(shard.clone())));
            }
            let file = open_regular(&target).map_err(|error| Error::io("open", &beside, error))?;
            let before = self.tensors.len();
            let pairs = self.add(&beside, Bytes::File(file))?;
            let added = self.tensors.iter().skip(before).map(|tensor| tensor.name.as_str());
            disagreement.compare(shard, expected, added);
            pairs.into_iter().for_each(|(key, value)| metadata.add(key, value));
        }
        disagreement.settle().map_err(broken)?;
        for (key, value) in index.metadata {
            match value {
                // What it says is about the files it was in.
                _ if key == "total_size" => metadata.change(key, Changed::ShardSizes),
                serde_json::Value::String(text) => metadata.add(key, text),
                other => {
                    metadata.change(key.clone(), Changed::IndexJsonText);
                    metadata.add(key, other.to_string());
                }
            }
        }
        self.metadata = metadata.pairs;
        self.changes = metadata.changes;
        Ok(())
    }
}

impl SourceFile<'_> {
    fn size(&self) -> io::Result<u64> {
        match &self.bytes {
            Bytes::File(file) => Ok(file.metadata()?.len()),
            Bytes::Slice(bytes) => Ok(as_length(bytes.len())),
        }
    }

    /// The bytes of `range`, in `memory` where they are in a file.
    fn read<'r>(&'r self, range: Range<u64>, memory: &'r mut Vec<u8>) -> io::Result<&'r [u8]> {
        let failed = |error| Error::io("read", &self.path, error).carried();
        match &self.bytes {
            Bytes::Slice(bytes) => bytes
                .get(as_index(range.start)..as_index(range.end))
                .ok_or_else(|| failed(io::Error::from(io::ErrorKind::UnexpectedEof))),
            Bytes::File(file) => {
                let length = as_index(range.end.saturating_sub(range.start));
                memory.resize(length, 0);
                read_exact_at(file, memory, range.start).map_err(|error| match error.kind() {
                    io::ErrorKind::UnexpectedEof => {
                        let text = "the file ends earlier than it did when it was opened: \
                                    something cut it while it was read";
                        failed(io::Error::new(io::ErrorKind::UnexpectedEof, text))
                    }
                    _ => failed(error),
                })?;
                Ok(memory)
            }
        }
    }
}

/// The metadata of several shards as one. The same key twice is nothing unless the values
/// differ.
#[derive(Default)]
struct Merged {
    pairs: Vec<(String, String)>,
    places: HashMap<String, usize>,
    changes: Vec<Change>,
}

impl Merged {
    fn add(&mut self, key: String, value: String) {
        match self.places.get(&key).and_then(|place| self.pairs.get(*place)) {
            Some((_, first)) if *first == value => {}
            Some(_) => self.change(key, Changed::OtherValue),
            None => {
                self.places.insert(key.clone(), self.pairs.len());
                self.pairs.push((key, value));
            }
        }
    }

    fn change(&mut self, subject: String, what: Changed) {
        self.changes.push(Change { subject, what });
    }
}

/// Opens a regular file, and nothing that could keep the reader waiting.
fn open_regular(path: &Path) -> io::Result<fs::File> {
    if !fs::metadata(path)?.is_file() {
        let text = "it is no regular file: copy it to one first";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    fs::File::open(path)
}
