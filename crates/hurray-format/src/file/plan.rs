//! What a writer of a file writes, and where: one forward pass, nothing taken back.

use alloc::vec::Vec;

use super::container::place_buffers;
use super::header::{FileHeader, alignment_fault};
use super::index::FIXED;
use super::keys::{ALIAS_KEY, CHECKSUM_KEY, kind_fault};
use super::kv::{Kv, KvArray, KvKind, KvValue};
use super::names::{Names, name_at};
use super::trailer::Trailer;
use super::{FILE_HEADER_LEN, align_up};
use crate::crc32c::Checksum;
use crate::descriptor::Descriptor;
use crate::error::{Error, Expected, Result, Value};
use crate::layout::{Layout, LayoutKind};
use crate::rules::Rule;
use crate::wire::{Writer, as_index, as_offset};

/// How a file is written. Flags stand in the header, which goes out first: what they
/// announce is decided here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOptions {
    /// Every buffer starts at a multiple of this: a power of two from 4096 to 2 MiB.
    pub alignment: u32,
    /// Whether there will be key-values; checksums and aliases are key-values.
    pub key_values: bool,
    /// Whether the index is sorted by the bytes of the names, rather than in the order of
    /// the file.
    pub sorted: bool,
    /// How many tensors there will be, where that is known.
    pub tensor_count: Option<u64>,
}

impl Default for FileOptions {
    fn default() -> Self {
        Self { alignment: 4096, key_values: true, sorted: false, tensor_count: None }
    }
}

/// A file being written. It holds the index and the key-values, and no tensor.
///
/// ```
/// use hurray_format::{Descriptor, Dtype, FileOptions, FilePlan, FileView, crc32c};
///
/// let descriptor = Descriptor::dense(Dtype::UInt8, &[3])?;
/// let (mut plan, header) = FilePlan::new(FileOptions::default())?;
/// let mut file = header.to_vec();
/// let tensor = plan.tensor("w", &descriptor)?;
/// file.resize(file.len() + tensor.padding as usize, 0);
/// file.extend(&tensor.descriptor);
/// file.resize(file.len() + tensor.buffers[0].0 as usize, 0);
/// file.extend([1, 2, 3]);
/// file.extend(plan.finish(crc32c)?);
///
/// let view = FileView::open(&file)?;
/// assert_eq!(view.tensor("w")?.buffers, [[1, 2, 3]]);
/// # Ok::<(), hurray_format::Error>(())
/// ```
#[derive(Debug)]
pub struct FilePlan {
    options: FileOptions,
    /// How many bytes of the file are planned.
    at: u64,
    /// The entries of the index, without the count.
    index: Vec<u8>,
    /// Where each of them starts.
    entries: Vec<usize>,
    names: Names,
    kv: Kv,
    /// How many members the open composites still miss, the innermost last.
    members: Vec<u32>,
}

/// What to write for one tensor: zeros, the descriptor, then for each buffer zeros and
/// its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorPlan {
    /// Zeros before the descriptor.
    pub padding: u64,
    /// The descriptor.
    pub descriptor: Vec<u8>,
    /// For each buffer, the zeros before it and its length.
    pub buffers: Vec<(u64, u64)>,
}

impl FilePlan {
    /// Starts a file. The header is to be written first.
    ///
    /// # Errors
    ///
    /// The rules of `file.header.alignment-*`.
    pub fn new(options: FileOptions) -> Result<(Self, [u8; FILE_HEADER_LEN])> {
        if let Some((rule, expected)) = alignment_fault(options.alignment) {
            let found = Value::Unsigned(u64::from(options.alignment));
            return Err(Error::new(rule, "data_buffer_alignment", 16, found, expected));
        }
        let header = FileHeader {
            version_minor: 0,
            has_kv: options.key_values,
            is_sorted: options.sorted,
            has_crc: true,
            alignment: options.alignment,
            first_descriptor: as_offset(FILE_HEADER_LEN),
            count_hint: options.tensor_count,
        };
        let plan = Self {
            options,
            at: as_offset(FILE_HEADER_LEN),
            index: Vec::new(),
            entries: Vec::new(),
            names: Names::default(),
            kv: Kv::default(),
            members: Vec::new(),
        };
        Ok((plan, header.encode()))
    }

    /// Plans the next tensor. A composite head is followed by its members.
    ///
    /// # Errors
    ///
    /// `file.index.name-empty`, `.name-too-long`, `.name-duplicate`, and
    /// `.data-overflow` where the file would pass 64 bits; `file.tensor.alias-key` where
    /// the name is an alias already. Nothing is planned then.
    pub fn tensor(&mut self, name: &str, descriptor: &Descriptor) -> Result<TensorPlan> {
        let name_length = self.new_name(name)?;
        let number = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        let bytes = descriptor.encode();
        let Some(places) = self.places(descriptor, as_offset(bytes.len())) else {
            let rule = Rule::FileIndexDataOverflow;
            let found = Value::Unsigned(self.at);
            return Err(Error::new(rule, "data_offset", self.at, found, Expected::Unsaid));
        };

        self.entries.push(self.index.len());
        let mut fixed = [0; FIXED];
        let mut w = Writer::new(&mut fixed);
        w.u64(places.descriptor);
        w.u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        w.u64(places.data);
        w.u64(places.end.saturating_sub(places.data));
        self.index.extend_from_slice(&name_length.to_le_bytes());
        self.index.extend_from_slice(name.as_bytes());
        self.index.extend_from_slice(&fixed);
        let Self { index, entries, names, .. } = self;
        // The name was just seen to be new.
        let _ = names.insert(name.as_bytes(), number, |n| name_at(index, entries, n));

        if let Some(missing) = self.members.last_mut() {
            *missing = missing.saturating_sub(1);
        }
        if let Layout::Composite(head) = descriptor.layout() {
            self.members.push(head.member_count);
        }
        while self.members.last() == Some(&0) {
            self.members.pop();
        }
        let padding = places.descriptor.saturating_sub(self.at);
        self.at = places.end;
        Ok(TensorPlan { padding, descriptor: bytes, buffers: places.buffers })
    }

    /// Whether a tensor of that name can be added, and then its
    /// [`checksums`](Self::checksums), to ask before its bytes are written.
    ///
    /// # Errors
    ///
    /// Those of [`tensor`](Self::tensor) that concern the name; `file.kv.key-too-long`,
    /// `.key-duplicate`, `file.header.writer-kv-undeclared`.
    pub fn check_name_with_checksums(&self, name: &str) -> Result<()> {
        self.new_name(name)?;
        let key = alloc::format!("{CHECKSUM_KEY}{name}");
        self.need_key_values(&key)?;
        self.kv.check_new(&key).map(drop)
    }

    /// The length of a name that may be added.
    fn new_name(&self, name: &str) -> Result<u16> {
        let refuse = |rule, found| Err(Error::new(rule, "name", 0, found, Expected::Unsaid));
        if name.is_empty() {
            return refuse(Rule::FileIndexNameEmpty, Value::Unsigned(0));
        }
        let Ok(length) = u16::try_from(name.len()) else {
            return refuse(Rule::FileIndexNameTooLong, Value::Unsigned(as_offset(name.len())));
        };
        let taken = |n| name_at(&self.index, &self.entries, n);
        if self.names.find(name.as_bytes(), taken).is_some() {
            return refuse(Rule::FileIndexNameDuplicate, Value::first_of(name.as_bytes()));
        }
        if self.kv.get(&alloc::format!("{ALIAS_KEY}{name}")).is_some() {
            return refuse(Rule::FileTensorAliasKey, Value::first_of(name.as_bytes()));
        }
        Ok(length)
    }

    fn places(&self, descriptor: &Descriptor, length: u64) -> Option<Places> {
        let alignment = u64::from(self.options.alignment);
        let start = align_up(self.at, 8)?;
        let descriptor_end = start.checked_add(length)?;
        if descriptor.layout().kind() == LayoutKind::Virtual {
            let buffers = Vec::new();
            let end = descriptor_end;
            return Some(Places { descriptor: start, data: end, end, buffers });
        }
        let data = align_up(descriptor_end, alignment)?;
        let (ranges, end) = place_buffers(descriptor, data, alignment);
        let end = end?;
        // Room for the sections after it, so that no later step can pass 64 bits.
        end.checked_add(1 << 40)?;
        let mut at = descriptor_end;
        let mut buffers = Vec::with_capacity(ranges.len());
        for range in ranges {
            buffers.push((range.start.checked_sub(at)?, range.end.checked_sub(range.start)?));
            at = range.end;
        }
        Some(Places { descriptor: start, data, end, buffers })
    }

    /// Adds a key-value.
    ///
    /// # Errors
    ///
    /// `file.header.writer-kv-undeclared` where the options said there would be none; the
    /// rules of [`Kv::push`]; `file.tensor.alias-key` and `.checksum-key` where one of
    /// Hurray's own keys would hold what it never does.
    pub fn key_value(&mut self, key: &str, value: &KvValue<'_>) -> Result<()> {
        self.need_key_values(key)?;
        if let Some(rule) = kind_fault(key, value) {
            let found = Value::first_of(key.as_bytes());
            return Err(Error::new(rule, "value", 0, found, Expected::Unsaid));
        }
        self.kv.push(key, value)
    }

    fn need_key_values(&self, key: &str) -> Result<()> {
        if self.options.key_values {
            return Ok(());
        }
        let found = Value::first_of(key.as_bytes());
        let rule = Rule::FileHeaderWriterKvUndeclared;
        Err(Error::new(rule, "key", 12, found, Expected::Unsaid))
    }

    /// Adds the CRC-32C of each buffer of a tensor.
    ///
    /// # Errors
    ///
    /// As [`key_value`](Self::key_value).
    pub fn checksums(&mut self, tensor: &str, checksums: &[u32]) -> Result<()> {
        let numbers = checksums.iter().map(|crc| KvValue::U64(u64::from(*crc)));
        let array = KvArray::new(KvKind::U64, numbers)?;
        self.key_value(&alloc::format!("{CHECKSUM_KEY}{tensor}"), &KvValue::Array(array))
    }

    /// Lets `name` stand for a tensor that is in the file already.
    ///
    /// # Errors
    ///
    /// `file.tensor.alias-key` where there is no such tensor, or `name` is one; as
    /// [`key_value`](Self::key_value).
    pub fn alias(&mut self, name: &str, tensor: &str) -> Result<()> {
        let has = |name: &str| {
            let taken = |n| name_at(&self.index, &self.entries, n);
            self.names.find(name.as_bytes(), taken).is_some()
        };
        if !has(tensor) || has(name) {
            let found = Value::first_of(tensor.as_bytes());
            let rule = Rule::FileTensorAliasKey;
            return Err(Error::new(rule, "alias", 0, found, Expected::Unsaid));
        }
        self.key_value(&alloc::format!("{ALIAS_KEY}{name}"), &KvValue::String(tensor))
    }

    /// How many bytes of the file are planned so far.
    pub fn position(&self) -> u64 {
        self.at
    }

    /// The rest of the file: padding, key-values, index, trailer.
    ///
    /// # Errors
    ///
    /// `file.kv.value-too-long` where the key-values pass 32 bits; `composite.torn` where
    /// members of a composite are missing.
    pub fn finish(self, checksum: Checksum) -> Result<Vec<u8>> {
        if let Some(missing) = self.members.last() {
            let found = Value::Unsigned(u64::from(*missing));
            let rule = Rule::CompositeTorn;
            return Err(Error::new(rule, "missing members", self.at, found, Expected::Exactly(0)));
        }
        let mut tail = Vec::new();
        let start = self.at;
        let pad = |tail: &mut Vec<u8>| {
            let at = start.saturating_add(as_offset(tail.len()));
            let aligned = align_up(at, 8).unwrap_or(at);
            tail.resize(tail.len().saturating_add(as_index(aligned.saturating_sub(at))), 0);
            aligned
        };
        let mut trailer = Trailer {
            index_offset: 0,
            index_length: 0,
            kv_offset: 0,
            kv_length: 0,
            index_crc32c: 0,
        };
        if self.options.key_values {
            trailer.kv_offset = pad(&mut tail);
            let bytes = self.kv.as_bytes();
            trailer.kv_length = u32::try_from(bytes.len()).map_err(|_| {
                let found = Value::Unsigned(as_offset(bytes.len()));
                let expected = Expected::AtMost(u64::from(u32::MAX));
                Error::new(Rule::FileKvValueTooLong, "kv_length", 0, found, expected)
            })?;
            tail.extend_from_slice(bytes);
        }
        trailer.index_offset = pad(&mut tail);
        let index_start = tail.len();
        tail.extend_from_slice(&as_offset(self.entries.len()).to_le_bytes());
        self.write_entries(&mut tail);
        let index = tail.get(index_start..).unwrap_or_default();
        trailer.index_length = as_offset(index.len());
        trailer.index_crc32c = checksum(0, index);
        tail.extend_from_slice(&trailer.encode());
        Ok(tail)
    }

    fn write_entries(&self, tail: &mut Vec<u8>) {
        if !self.options.sorted {
            tail.extend_from_slice(&self.index);
            return;
        }
        let ends = self.entries.iter().skip(1).copied().chain([self.index.len()]);
        let mut entries: Vec<&[u8]> = self
            .entries
            .iter()
            .zip(ends)
            .filter_map(|(start, end)| self.index.get(*start..end))
            .collect();
        // Names are compared, not their lengths in front.
        entries.sort_unstable_by_key(|entry| {
            let name_end = entry.len().saturating_sub(FIXED);
            entry.get(2..name_end).unwrap_or_default()
        });
        entries.iter().for_each(|entry| tail.extend_from_slice(entry));
    }
}

struct Places {
    descriptor: u64,
    data: u64,
    end: u64,
    buffers: Vec<(u64, u64)>,
}
