//! What a reader of a file holds: header, key-values and index, copied and checked. It
//! reads nothing by itself; the caller hands it bytes and asks where to read next.

use alloc::vec::Vec;
use core::ops::Range;

use super::header::FileHeader;
use super::index::{Entry, Index};
use super::keys::ALIAS_KEY;
use super::kv::{Kv, KvValue};
use super::trailer::{Moved, Trailer};
use super::{FILE_HEADER_LEN, FILE_TRAILER_LEN, align_up};
use crate::accept::Accept;
use crate::crc32c::Checksum;
use crate::descriptor::Descriptor;
use crate::error::{Error, Expected, Result, Value};
use crate::layout::LayoutKind;
use crate::limits::Limits;
use crate::rules::Rule;
use crate::stream::LENGTH_PREFIX;
use crate::wire::{Storage, Trace, as_offset};

/// Where the sections of a file lie, from its first 64 and last 40 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sections {
    header: FileHeader,
    trailer: Trailer,
    size: u64,
    /// The reader's limit.
    longest_descriptor: u32,
}

impl Sections {
    /// Reads both ends of a file of `size` bytes. Either may be longer than needed: the
    /// header is at the start of `first`, the trailer at the end of `last`.
    ///
    /// # Errors
    ///
    /// The rules of `file.header.*` and `file.trailer.*`, and limits.
    pub fn decode<T: Trace>(
        first: &[u8],
        last: &[u8],
        size: u64,
        limits: &Limits,
        trace: &mut T,
    ) -> Result<Self> {
        let header = FileHeader::decode(first.get(..FILE_HEADER_LEN).unwrap_or(first), trace)?;
        let (head, tail) = (as_offset(FILE_HEADER_LEN), as_offset(FILE_TRAILER_LEN));
        let trailer_at = size.checked_sub(tail).filter(|at| *at >= head);
        let trailer = last.len().checked_sub(FILE_TRAILER_LEN).and_then(|at| last.get(at..));
        let (Some(trailer_at), Some(trailer)) = (trailer_at, trailer) else {
            let found = Value::Unsigned(size);
            let rule = Rule::FileTrailerTruncated;
            let expected = Expected::AtLeast(head.saturating_add(tail));
            return Err(Error::new(rule, "trailer", size, found, expected));
        };
        let trailer = Trailer::decode(trailer, trailer_at, trace)?;
        if header.first_descriptor > trailer_at {
            let rule = Rule::FileHeaderFirstDescriptorOutOfRange;
            let found = Value::Unsigned(header.first_descriptor);
            let expected = Expected::AtMost(trailer_at);
            return Err(Error::new(rule, "first_descriptor_offset", 20, found, expected));
        }
        let longest_descriptor = limits.descriptor_bytes;
        let sections = Self { header, trailer, size, longest_descriptor };
        sections.check(trailer_at, limits)?;
        Ok(sections)
    }

    fn check(&self, trailer_at: u64, limits: &Limits) -> Result<()> {
        let Self { header, trailer, size, .. } = self;
        let refuse = |rule, at, name, found, expected| {
            Err(Trailer::refuse(*size, rule, at, name, found, expected))
        };
        if !header.has_crc && trailer.index_crc32c != 0 {
            let rule = Rule::FileTrailerCrcWithoutFlag;
            let found = u64::from(trailer.index_crc32c);
            return refuse(rule, 28, "index_crc32c", found, Expected::Exactly(0));
        }
        let index = SectionRules {
            field: "index_offset",
            at: 0,
            overflow: Rule::FileTrailerIndexOverflow,
            out_of_range: Rule::FileTrailerIndexOutOfRange,
            in_header: Rule::FileTrailerIndexInHeader,
            misaligned: Rule::FileTrailerIndexMisaligned,
        };
        section(trailer.index_offset, trailer.index_length, trailer_at, *size, &index)?;
        if trailer.index_length < 8 {
            let rule = Rule::FileTrailerIndexTooShort;
            let found = trailer.index_length;
            return refuse(rule, 8, "index_length", found, Expected::AtLeast(8));
        }
        if trailer.index_length > limits.index_bytes {
            let rule = Rule::FileIndexAboveLimit;
            let expected = Expected::AtMost(limits.index_bytes);
            return refuse(rule, 8, "index_length", trailer.index_length, expected);
        }
        // The trailer is the truth: a writer that does not set the flag is known.
        let (offset, length) = (trailer.kv_offset, u64::from(trailer.kv_length));
        if (offset == 0) != (length == 0) || (header.has_kv && offset == 0) {
            let rule = Rule::FileTrailerKvMissing;
            return refuse(rule, 16, "kv_offset", offset, Expected::Unsaid);
        }
        let Some(kv) = self.kv() else {
            return Ok(());
        };
        let rules = SectionRules {
            field: "kv_offset",
            at: 16,
            overflow: Rule::FileTrailerKvOverflow,
            out_of_range: Rule::FileTrailerKvOutOfRange,
            in_header: Rule::FileTrailerKvInHeader,
            misaligned: Rule::FileTrailerKvMisaligned,
        };
        section(offset, length, trailer_at, *size, &rules)?;
        let index = self.index();
        if kv.start < index.end && index.start < kv.end {
            let rule = Rule::FileTrailerSectionsOverlap;
            return refuse(rule, 16, "kv_offset", offset, Expected::Unsaid);
        }
        if length > limits.kv_bytes {
            let rule = Rule::FileKvAboveLimit;
            return refuse(rule, 24, "kv_length", length, Expected::AtMost(limits.kv_bytes));
        }
        Ok(())
    }

    /// The file header.
    pub fn header(&self) -> &FileHeader {
        &self.header
    }

    /// The trailer.
    pub fn trailer(&self) -> &Trailer {
        &self.trailer
    }

    /// The file's length in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Where the index lies.
    pub fn index(&self) -> Range<u64> {
        let start = self.trailer.index_offset;
        start..start.saturating_add(self.trailer.index_length)
    }

    /// Where the key-values lie, if there are any.
    pub fn kv(&self) -> Option<Range<u64>> {
        let start = self.trailer.kv_offset;
        (start != 0).then(|| start..start.saturating_add(u64::from(self.trailer.kv_length)))
    }

    /// Where tensors may lie: from the header to the first section after them.
    pub fn tensors(&self) -> Range<u64> {
        let index = self.trailer.index_offset;
        as_offset(FILE_HEADER_LEN)..self.kv().map_or(index, |kv| kv.start.min(index))
    }
}

struct SectionRules {
    field: &'static str,
    at: u64,
    overflow: Rule,
    out_of_range: Rule,
    in_header: Rule,
    misaligned: Rule,
}

fn section(
    offset: u64,
    length: u64,
    trailer_at: u64,
    size: u64,
    rules: &SectionRules,
) -> Result<()> {
    let refuse =
        |rule, expected| Err(Trailer::refuse(size, rule, rules.at, rules.field, offset, expected));
    match offset.checked_add(length) {
        None => return refuse(rules.overflow, Expected::AtMost(trailer_at)),
        Some(end) if end > trailer_at => {
            let expected = Expected::AtMost(trailer_at.saturating_sub(length));
            return refuse(rules.out_of_range, expected);
        }
        Some(_) => {}
    }
    if offset < as_offset(FILE_HEADER_LEN) {
        return refuse(rules.in_header, Expected::AtLeast(64));
    }
    if !offset.is_multiple_of(8) {
        return refuse(rules.misaligned, Expected::OneOf("a multiple of 8"));
    }
    Ok(())
}

/// A file's header, key-values and index, all that is needed to find a tensor.
#[derive(Clone, Debug)]
pub struct Container {
    sections: Sections,
    kv: Kv,
    index: Index,
}

impl Container {
    /// Takes the bytes of the index and, where there is one, of the key-value section,
    /// which are [`Sections::index`] and [`Sections::kv`] of the file.
    ///
    /// # Errors
    ///
    /// The rules of `file.index.*` and `file.kv.*`; `file.trailer.crc-mismatch`.
    pub fn new<T: Trace>(
        sections: Sections,
        index: Vec<u8>,
        kv: Option<Vec<u8>>,
        checksum: Checksum,
        trace: &mut T,
    ) -> Result<Self> {
        let trailer = &sections.trailer;
        if sections.header.has_crc {
            let found = checksum(0, &index);
            if found != trailer.index_crc32c {
                let rule = Rule::FileTrailerCrcMismatch;
                let (size, claimed) = (sections.size, u64::from(trailer.index_crc32c));
                let expected = Expected::Exactly(u64::from(found));
                return Err(Trailer::refuse(size, rule, 28, "index_crc32c", claimed, expected));
            }
        }
        let kv = match kv {
            Some(bytes) => {
                let offset = trailer.kv_offset;
                let mut moved = Moved { trace: &mut *trace, offset };
                Kv::decode(bytes, &mut moved).map_err(|error| error.shifted(offset))?
            }
            None => Kv::default(),
        };
        let offset = trailer.index_offset;
        let mut moved = Moved { trace, offset };
        let (region, longest) = (sections.tensors(), sections.longest_descriptor);
        let index = Index::decode(index, &sections.header, region, longest, &mut moved).map_err(
            |error| match error.rule() {
                // The fault is the header's.
                Rule::FileHeaderFirstDescriptorMismatch => error,
                _ => error.shifted(offset),
            },
        )?;
        Ok(Self { sections, kv, index })
    }

    /// Where everything lies.
    pub fn sections(&self) -> &Sections {
        &self.sections
    }

    /// The file header.
    pub fn header(&self) -> &FileHeader {
        &self.sections.header
    }

    /// The key-values.
    pub fn kv(&self) -> &Kv {
        &self.kv
    }

    /// The index.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// The tensor with that name, or that an alias of that name stands for.
    ///
    /// # Errors
    ///
    /// `file.index.unknown-name`.
    pub fn find(&self, name: &str) -> Result<Entry<'_>> {
        if let Some(entry) = self.index.find(name) {
            return Ok(entry);
        }
        let target = match self.kv.get(&alloc::format!("{ALIAS_KEY}{name}")) {
            Some(KvValue::String(target)) => self.index.find(target),
            _ => None,
        };
        target.ok_or_else(|| {
            let found = Value::first_of(name.as_bytes());
            let rule = Rule::FileIndexUnknownName;
            Error::new(rule, "name", self.sections.trailer.index_offset, found, Expected::Unsaid)
        })
    }

    /// Reads the descriptor of `entry`, which is `bytes`, and says where each buffer lies.
    ///
    /// # Errors
    ///
    /// Every rule of descriptors; `file.index.descriptor-length-mismatch`,
    /// `.data-length-mismatch`, `.data-misaligned`, `.data-before-descriptor` and
    /// `.data-out-of-range`. Offsets count from the start of the file.
    pub fn place<T: Trace>(
        &self,
        entry: &Entry<'_>,
        bytes: &[u8],
        accept: &Accept,
        trace: &mut T,
    ) -> Result<Placement> {
        let start = entry.descriptor_offset;
        let refuse = |rule, name, at, found, expected| {
            Err(Error::new(rule, name, at, Value::Unsigned(found), expected))
        };
        let length = match bytes.len() {
            0..LENGTH_PREFIX => 0,
            _ => Descriptor::length_of(bytes).map_err(|error| error.shifted(start))?,
        };
        if length != entry.descriptor_length || length == 0 {
            let rule = Rule::FileIndexDescriptorLengthMismatch;
            let found = u64::from(entry.descriptor_length);
            let expected = Expected::Exactly(u64::from(length));
            return refuse(rule, "descriptor_length", start, found, expected);
        }
        let mut moved = Moved { trace, offset: start };
        let descriptor = Descriptor::decode_with(bytes, accept, &mut moved)
            .map_err(|error| error.shifted(start))?;

        let alignment = u64::from(self.sections.header.alignment);
        let is_head = descriptor.layout().kind() == LayoutKind::Virtual;
        let at = if is_head { entry.descriptor().end } else { entry.data_offset };
        let (buffers, end) = place_buffers(&descriptor, at, alignment);
        let needed = end.map(|end| end.saturating_sub(at));
        if needed != Some(entry.data_length) {
            let rule = Rule::FileIndexDataLengthMismatch;
            let expected = needed.map_or(Expected::Unsaid, Expected::Exactly);
            return refuse(rule, "data_length", start, entry.data_length, expected);
        }
        // Without data the index was not looked at; only a head may say anything there.
        if !is_head && entry.data_length == 0 {
            if !at.is_multiple_of(alignment) {
                let rule = Rule::FileIndexDataMisaligned;
                let expected = Expected::OneOf("a multiple of data_buffer_alignment");
                return refuse(rule, "data_offset", start, at, expected);
            }
            if at < entry.descriptor().end {
                let rule = Rule::FileIndexDataBeforeDescriptor;
                let expected = Expected::AtLeast(entry.descriptor().end);
                return refuse(rule, "data_offset", start, at, expected);
            }
            let end = self.sections.tensors().end;
            if at > end {
                let rule = Rule::FileIndexDataOutOfRange;
                return refuse(rule, "data_offset", start, at, Expected::AtMost(end));
            }
        }
        Ok(Placement { descriptor, buffers })
    }
}

/// A tensor's descriptor, and where its buffers lie in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    /// What the tensor is.
    pub descriptor: Descriptor,
    /// Where each buffer lies, in table order.
    pub buffers: Vec<Range<u64>>,
}

/// The places of a tensor's buffers, the first at `start`, and the end of the last;
/// `None` beyond 64 bits.
pub(super) fn place_buffers<S: Storage>(
    descriptor: &Descriptor<S>,
    start: u64,
    alignment: u64,
) -> (Vec<Range<u64>>, Option<u64>) {
    let mut buffers = Vec::with_capacity(descriptor.buffer_count());
    let mut end = Some(start);
    for place in 0..descriptor.buffer_count() {
        let size = descriptor.buffer(place).map_or(0, |handle| handle.byte_size());
        let at = match place {
            0 => end,
            _ => end.and_then(|end| align_up(end, alignment)),
        };
        end = at.and_then(|at| at.checked_add(size));
        if let (Some(at), Some(end)) = (at, end) {
            buffers.push(at..end);
        }
    }
    (buffers, end)
}
