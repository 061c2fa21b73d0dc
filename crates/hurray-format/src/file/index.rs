//! The index: `count u64`, then entries of `name_length u16, name, descriptor_offset u64,
//! descriptor_length u32, data_offset u64, data_length u64, flags u32`.
//!
//! The bytes are kept; an entry is a position in them, found by name through a hash
//! table. Everything an entry declares is checked once, when the index is read.

use alloc::vec::Vec;
use core::ops::Range;

use super::FILE_HEADER_LEN;
use super::header::FileHeader;
use super::kv::text;
use super::names::{BELIEVED, Names, NewNames, name_at};
use crate::error::{Error, Expected, Result, Value};
use crate::rules::Rule;
use crate::wire::{Block, Reader, Silent, Trace, as_index, as_offset};

/// What the index says about one tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its place in the index, from 0.
    pub number: u32,
    /// The tensor's name.
    pub name: &'a str,
    /// Where the descriptor starts in the file.
    pub descriptor_offset: u64,
    /// How long it is.
    pub descriptor_length: u32,
    /// Where the first buffer starts in the file.
    pub data_offset: u64,
    /// The length of all buffers, with the padding between them.
    pub data_length: u64,
}

impl Entry<'_> {
    /// Where the descriptor lies.
    pub fn descriptor(&self) -> Range<u64> {
        let end = self.descriptor_offset.saturating_add(u64::from(self.descriptor_length));
        self.descriptor_offset..end
    }

    /// Where the buffers lie, the padding between them included.
    pub fn data(&self) -> Range<u64> {
        self.data_offset..self.data_offset.saturating_add(self.data_length)
    }
}

/// The index of a file, checked.
#[derive(Clone, Debug)]
pub struct Index {
    bytes: Vec<u8>,
    /// Where each entry starts in `bytes`.
    entries: Vec<usize>,
    names: Names,
    /// Entry numbers by descriptor offset, where that is not their own order.
    by_offset: Option<Vec<u32>>,
}

/// What follows the name.
pub(super) const FIXED: usize = 32;
/// The fewest bytes of an entry: a name of no byte, which is refused by name.
const LEAST_ENTRY: usize = 2 + FIXED;

impl Index {
    /// Reads the index, which is all of `bytes`, of a file whose tensors lie inside
    /// `region`, with descriptors of at most `longest` bytes. Errors and fields count from the start of the index.
    pub(super) fn decode<T: Trace>(
        bytes: Vec<u8>,
        header: &FileHeader,
        region: Range<u64>,
        longest: u32,
        trace: &mut T,
    ) -> Result<Self> {
        let mut r = Reader::new(&bytes, Rule::FileIndexTruncated, trace);
        let block = r.block::<8>("index")?;
        let count = r.u64(&block, 0, "count");
        // No count sizes anything before the bytes that hold it are seen to exist.
        let most = as_offset(r.left().div_euclid(LEAST_ENTRY)).min(u64::from(u32::MAX));
        if count > most {
            let rule = Rule::FileIndexCountTooLarge;
            let found = Value::Unsigned(count);
            return Err(block.refuse(rule, 0, "count", found, Expected::AtMost(most)));
        }
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let mut entries = Vec::with_capacity(BELIEVED.min(as_index(u64::from(count))));
        let mut names = NewNames::with_capacity(BELIEVED.min(as_index(u64::from(count))));
        let mut order = Order::new(header);
        let mut before: &[u8] = &[];
        for number in 0..count {
            let start = r.position();
            let raw = read(&mut r)?;
            let at = r.position().saturating_sub(as_offset(FIXED));
            check(&raw, at, header, &region, longest)?;
            // Almost every name is ASCII, which is seen sooner.
            if !raw.name.is_ascii() {
                text(raw.name, Rule::FileIndexNameNotUtf8, "name", start.saturating_add(2))?;
            }
            if header.is_sorted && raw.name <= before && number > 0 {
                let rule = match raw.name == before {
                    true => Rule::FileIndexNameDuplicate,
                    false => Rule::FileIndexNotSorted,
                };
                let found = Value::first_of(raw.name);
                let expected = Expected::OneOf("names in byte order");
                return Err(Error::new(rule, "name", start, found, expected));
            }
            before = raw.name;
            entries.push(as_index(start));
            names.push(raw.name);
            order.add(&raw);
        }
        if r.left() != 0 {
            let found = Value::Unsigned(as_offset(r.left()));
            let rule = Rule::FileIndexTrailingBytes;
            return Err(Error::new(rule, "index", r.position(), found, Expected::Exactly(0)));
        }
        let start_of =
            |number| as_offset(entries.get(as_index(u64::from(number))).copied().unwrap_or(0));
        let names = names.build(|n| name_at(&bytes, &entries, n)).map_err(|number| {
            let found = Value::first_of(name_at(&bytes, &entries, number));
            let rule = Rule::FileIndexNameDuplicate;
            Error::new(rule, "name", start_of(number), found, Expected::Unsaid)
        })?;
        let by_offset = order.check(&bytes, &entries, start_of)?;
        Ok(Self { bytes, entries, names, by_offset })
    }

    /// The tensor with that name.
    pub fn find(&self, name: &str) -> Option<Entry<'_>> {
        let name_of = |n| name_at(&self.bytes, &self.entries, n);
        self.entry(self.names.find(name.as_bytes(), name_of)?)
    }

    /// Entry `number`, in the order of the index.
    pub fn entry(&self, number: u32) -> Option<Entry<'_>> {
        let raw = raw_at(&self.bytes, *self.entries.get(as_index(u64::from(number)))?)?;
        Some(Entry {
            number,
            name: core::str::from_utf8(raw.name).ok()?,
            descriptor_offset: raw.descriptor_offset,
            descriptor_length: raw.descriptor_length,
            data_offset: raw.data_offset,
            data_length: raw.data_length,
        })
    }

    /// The tensors, in the order of the index.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Entry<'_>> {
        // Every entry was read once already.
        (0..self.entries.len()).map(|n| {
            let number = u32::try_from(n).unwrap_or(u32::MAX);
            self.entry(number).unwrap_or(Entry { number, ..EMPTY })
        })
    }

    /// The tensors, in the order in which they lie in the file.
    pub fn in_file_order(&self) -> impl Iterator<Item = Entry<'_>> {
        (0..self.entries.len()).filter_map(|n| self.nth_in_file(n))
    }

    /// The tensors that lie after `offset`, in the order in which they lie in the file.
    pub(super) fn in_file_order_after(&self, offset: u64) -> impl Iterator<Item = Entry<'_>> {
        let (mut low, mut high) = (0, self.entries.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            match self.nth_in_file(middle) {
                Some(entry) if entry.descriptor_offset <= offset => {
                    low = middle.saturating_add(1);
                }
                _ => high = middle,
            }
        }
        (low..self.entries.len()).filter_map(|n| self.nth_in_file(n))
    }

    fn nth_in_file(&self, n: usize) -> Option<Entry<'_>> {
        match &self.by_offset {
            Some(order) => self.entry(*order.get(n)?),
            None => self.entry(u32::try_from(n).ok()?),
        }
    }

    /// The number of tensors.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The index as it is written.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

const EMPTY: Entry<'static> = Entry {
    number: 0,
    name: "",
    descriptor_offset: 0,
    descriptor_length: 0,
    data_offset: 0,
    data_length: 0,
};

/// An entry as it stands in the index; its name may not be text.
struct Raw<'a> {
    name: &'a [u8],
    descriptor_offset: u64,
    descriptor_length: u32,
    data_offset: u64,
    data_length: u64,
}

impl Raw<'_> {
    /// Where the tensor ends: with its buffers, or its descriptor where it has no bytes.
    fn end(&self) -> u64 {
        match self.data_length {
            0 => self.descriptor_offset.saturating_add(u64::from(self.descriptor_length)),
            length => self.data_offset.saturating_add(length),
        }
    }
}

/// The entry that starts there. Every entry was read once already.
fn raw_at(bytes: &[u8], start: usize) -> Option<Raw<'_>> {
    let mut silent = Silent;
    let mut r = Reader::new(bytes.get(start..)?, Rule::FileIndexTruncated, &mut silent);
    read(&mut r).ok()
}

/// One entry, by the rules that concern it alone.
#[inline(always)]
fn read<'a, T: Trace>(r: &mut Reader<'a, '_, T>) -> Result<Raw<'a>> {
    let block: Block<'_, 2> = r.block("index")?;
    let length = r.u16(&block, 0, "name_length");
    if length == 0 {
        let rule = Rule::FileIndexNameEmpty;
        let expected = Expected::AtLeast(1);
        return Err(block.refuse(rule, 0, "name_length", Value::Unsigned(0), expected));
    }
    let name = r.opaque("index", "name", u64::from(length))?;
    let block = r.block::<FIXED>("index")?;
    let descriptor_offset = r.u64(&block, 0, "descriptor_offset");
    let descriptor_length = r.u32(&block, 8, "descriptor_length");
    let data_offset = r.u64(&block, 12, "data_offset");
    let data_length = r.u64(&block, 20, "data_length");
    let flags = r.flags32(&block, 28, "flags");
    if flags != 0 {
        let found = Value::Tag(u64::from(flags));
        let rule = Rule::FileIndexEntryFlags;
        return Err(block.refuse(rule, 28, "flags", found, Expected::Exactly(0)));
    }
    Ok(Raw { name, descriptor_offset, descriptor_length, data_offset, data_length })
}

/// What an entry declares, against the file. Where there is no data, `data_offset` says
/// nothing (a composite head may put anything there).
#[inline(always)]
fn check(
    entry: &Raw<'_>,
    at: u64,
    header: &FileHeader,
    region: &Range<u64>,
    longest: u32,
) -> Result<()> {
    let refuse = |rule, field: u64, name, found, expected| {
        Err(Error::new(rule, name, at.saturating_add(field), Value::Unsigned(found), expected))
    };
    let (offset, length) = (entry.descriptor_offset, u64::from(entry.descriptor_length));
    if offset < as_offset(FILE_HEADER_LEN) {
        let rule = Rule::FileIndexDescriptorInHeader;
        return refuse(rule, 0, "descriptor_offset", offset, Expected::AtLeast(64));
    }
    if !offset.is_multiple_of(8) {
        let rule = Rule::FileIndexDescriptorMisaligned;
        let expected = Expected::OneOf("a multiple of 8");
        return refuse(rule, 0, "descriptor_offset", offset, expected);
    }
    let Some(descriptor_end) = offset.checked_add(length) else {
        let rule = Rule::FileIndexDescriptorOverflow;
        return refuse(rule, 0, "descriptor_offset", offset, Expected::AtMost(region.end));
    };
    // Before anybody reads it.
    if length > u64::from(longest) {
        let rule = Rule::DescriptorLengthAboveLimit;
        let expected = Expected::AtMost(u64::from(longest));
        return refuse(rule, 8, "descriptor_length", length, expected);
    }
    if descriptor_end > region.end {
        let rule = Rule::FileIndexDescriptorOutOfRange;
        let expected = Expected::AtMost(region.end.saturating_sub(length));
        return refuse(rule, 0, "descriptor_offset", offset, expected);
    }
    if entry.data_length == 0 {
        return Ok(());
    }
    let Some(data_end) = entry.data_offset.checked_add(entry.data_length) else {
        let rule = Rule::FileIndexDataOverflow;
        return refuse(rule, 12, "data_offset", entry.data_offset, Expected::AtMost(region.end));
    };
    if data_end > region.end {
        let rule = Rule::FileIndexDataOutOfRange;
        let expected = Expected::AtMost(region.end.saturating_sub(entry.data_length));
        return refuse(rule, 12, "data_offset", entry.data_offset, expected);
    }
    if !entry.data_offset.is_multiple_of(u64::from(header.alignment)) {
        let rule = Rule::FileIndexDataMisaligned;
        let expected = Expected::OneOf("a multiple of data_buffer_alignment");
        return refuse(rule, 12, "data_offset", entry.data_offset, expected);
    }
    if entry.data_offset < descriptor_end {
        let rule = Rule::FileIndexDataBeforeDescriptor;
        let expected = Expected::AtLeast(descriptor_end);
        return refuse(rule, 12, "data_offset", entry.data_offset, expected);
    }
    Ok(())
}

/// Where tensors lie, to see that none overlap. While they come in the order of the file,
/// which is how they are written, only the last is remembered.
struct Order {
    first_descriptor: u64,
    first: Option<u64>,
    end: u64,
    ascending: bool,
}

impl Order {
    fn new(header: &FileHeader) -> Self {
        let first_descriptor = header.first_descriptor;
        Self { first_descriptor, first: None, end: 0, ascending: true }
    }

    #[inline(always)]
    fn add(&mut self, entry: &Raw<'_>) {
        let start = entry.descriptor_offset;
        self.ascending &= start >= self.end;
        self.end = entry.end();
        self.first = Some(self.first.map_or(start, |first| first.min(start)));
    }

    /// The entry numbers by offset, unless that is the order they came in.
    fn check(
        &self,
        bytes: &[u8],
        entries: &[usize],
        start_of: impl Fn(u32) -> u64,
    ) -> Result<Option<Vec<u32>>> {
        let order = match self.ascending {
            true => None,
            false => Some(by_offset(bytes, entries, start_of)?),
        };
        if let Some(first) = self.first.filter(|first| *first != self.first_descriptor) {
            let rule = Rule::FileHeaderFirstDescriptorMismatch;
            let found = Value::Unsigned(self.first_descriptor);
            let expected = Expected::Exactly(first);
            return Err(Error::new(rule, "first_descriptor_offset", 20, found, expected));
        }
        Ok(order)
    }
}

fn by_offset(bytes: &[u8], entries: &[usize], start_of: impl Fn(u32) -> u64) -> Result<Vec<u32>> {
    let mut places: Vec<(u64, u64, u32)> = Vec::with_capacity(entries.len());
    places.extend((0..).zip(entries).filter_map(|(number, start)| {
        raw_at(bytes, *start).map(|raw| (raw.descriptor_offset, raw.end(), number))
    }));
    places.sort_unstable();
    let mut covered = 0;
    for (start, end, number) in &places {
        if *start < covered {
            let rule = Rule::FileIndexTensorsOverlap;
            let found = Value::Unsigned(*start);
            let at = start_of(*number);
            return Err(Error::new(rule, "descriptor_offset", at, found, Expected::Unsaid));
        }
        covered = *end;
    }
    Ok(places.into_iter().map(|(_, _, number)| number).collect())
}
