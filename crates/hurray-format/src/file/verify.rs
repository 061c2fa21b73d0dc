//! What only a walk over the whole file finds: padding that is not zero, tensors that the
//! index does not list, composites that do not hold together, checksums, and Hurray's own
//! keys that name nothing.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::ops::Range;

use super::container::{Container, Placement};
use super::index::Entry;
use super::keys::{ALIAS_KEY, CHECKSUM_KEY, kind_fault, of_numbers};
use super::kv::KvValue;
use super::{FILE_HEADER_LEN, FILE_TRAILER_LEN};
use crate::accept::Accept;
use crate::composite::{Composite, bind};
use crate::contents::Contents;
use crate::crc32c::Checksum;
use crate::descriptor::{Descriptor, MAGIC};
use crate::error::{Error, Expected, Result, Value};
use crate::layout::LayoutKind;
use crate::limits::Limits;
use crate::rules::Rule;
use crate::wire::{Silent, as_offset};

/// A file's bytes, as a walk over the whole of it reads them.
pub trait FileBytes {
    /// What reading may fail with.
    type Error: From<Error>;

    /// The bytes of `range`, which lies inside the file, at once.
    ///
    /// # Errors
    ///
    /// Where they cannot be read.
    fn whole(&self, range: Range<u64>) -> Result<Cow<'_, [u8]>, Self::Error>;

    /// The bytes of `range`, which lies inside the file, in order and in pieces of a size
    /// that suits the source, each with its offset.
    ///
    /// # Errors
    ///
    /// Where they cannot be read, and whatever `each` refuses.
    fn pieces(
        &mut self,
        range: Range<u64>,
        each: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<(), Self::Error>;
}

/// A run of bytes that belongs to nothing, and so is zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Where it lies in the file.
    pub range: Range<u64>,
    /// Whether it lies before the first tensor.
    pub before_first: bool,
}

impl Gap {
    /// Checks `bytes` of the gap, which start `offset` bytes into the file. Large gaps may
    /// be checked in pieces.
    ///
    /// # Errors
    ///
    /// `file.padding.header-not-zero`, `file.padding.not-zero`, and
    /// `file.index.tensor-not-listed` where a descriptor begins.
    pub fn check(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        // Most of it is zero: look at words first.
        let (words, rest) = bytes.as_chunks::<8>();
        if words.iter().all(|word| *word == [0; 8]) && rest.iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        let at = bytes.iter().position(|byte| *byte != 0).unwrap_or_default();
        let found = bytes.get(at..).unwrap_or_default();
        let position = offset.saturating_add(as_offset(at));
        let rule = if found.starts_with(&MAGIC) && position.is_multiple_of(8) {
            Rule::FileIndexTensorNotListed
        } else if self.before_first {
            Rule::FilePaddingHeaderNotZero
        } else {
            Rule::FilePaddingNotZero
        };
        Err(Error::new(rule, "padding", position, Value::first_of(found), Expected::Exactly(0)))
    }
}

impl Container {
    /// The runs that neither the container nor `tensors` cover: descriptors and buffers,
    /// in any order.
    pub fn gaps(&self, tensors: Vec<Range<u64>>) -> Vec<Gap> {
        let sections = self.sections();
        let mut covered = tensors;
        let first = covered.iter().map(|range| range.start).min().unwrap_or(u64::MAX);
        let trailer = sections.size().saturating_sub(as_offset(FILE_TRAILER_LEN));
        covered.push(0..as_offset(FILE_HEADER_LEN));
        covered.push(sections.index());
        covered.extend(sections.kv());
        covered.push(trailer..sections.size());
        covered.sort_unstable_by_key(|range| (range.start, range.end));
        let mut gaps = Vec::new();
        let mut at = 0;
        for range in covered {
            if range.start > at {
                gaps.push(Gap { range: at..range.start, before_first: at < first && at <= 64 });
            }
            at = at.max(range.end);
        }
        gaps
    }

    /// Every composite of the file, bound: its members found in the order of the file, and
    /// checked. `read` decodes the descriptor of an entry.
    ///
    /// # Errors
    ///
    /// The rules of `composite.*` and whatever `read` refuses.
    pub fn composites<E: From<Error>>(
        &self,
        limits: &Limits,
        mut read: impl FnMut(&Entry<'_>) -> Result<Descriptor, E>,
    ) -> Result<Vec<Composite<u32>>, E> {
        let mut bound = Vec::new();
        let mut rest = self.index().in_file_order();
        while let Some(entry) = rest.next() {
            let descriptor = read(&entry)?;
            if descriptor.layout().kind() == LayoutKind::Virtual {
                let mut members = rest.by_ref().map(|entry| member(&mut read, entry));
                bound.push(self.bind(&entry, descriptor, &mut members, limits)?);
            }
        }
        Ok(bound)
    }

    /// The composite whose head is `entry`, bound.
    ///
    /// # Errors
    ///
    /// As [`composites`](Self::composites).
    pub fn composite<E: From<Error>>(
        &self,
        entry: &Entry<'_>,
        limits: &Limits,
        mut read: impl FnMut(&Entry<'_>) -> Result<Descriptor, E>,
    ) -> Result<Composite<u32>, E> {
        let head = read(entry)?;
        let after = self.index().in_file_order_after(entry.descriptor_offset);
        let mut members = after.map(|entry| member(&mut read, entry));
        self.bind(entry, head, &mut members, limits)
    }

    fn bind<E: From<Error>>(
        &self,
        entry: &Entry<'_>,
        head: Descriptor,
        members: &mut impl Iterator<Item = Result<(Descriptor, u32), E>>,
        limits: &Limits,
    ) -> Result<Composite<u32>, E> {
        let offset_of =
            |number: &u32| self.index().entry(*number).map_or(0, |entry| entry.descriptor_offset);
        bind(head, entry.number, members, offset_of, limits)
    }

    /// Checks everything: each tensor and the contents of its buffers, checksums, token
    /// counts, padding, composites, and the keys that Hurray itself uses. `source` reads
    /// the file; what needs to be looked at as a whole (index arrays, scales) is asked for
    /// whole, everything else in pieces.
    ///
    /// # Errors
    ///
    /// The first rule that the file breaks, and whatever `source` refuses. Offsets count
    /// from the start of the file.
    pub fn verify<B: FileBytes>(
        &self,
        source: &mut B,
        accept: &Accept,
        checksum: Checksum,
    ) -> Result<(), B::Error> {
        let mut covered = Vec::new();
        for entry in self.index().in_file_order() {
            let tensor = self.read(&entry, source, accept)?;
            self.verify_tensor(&entry, &tensor, source, checksum)?;
            covered.push(entry.descriptor());
            covered.extend(tensor.buffers);
        }
        for gap in self.gaps(covered) {
            source.pieces(gap.range.clone(), &mut |offset, bytes| gap.check(offset, bytes))?;
        }
        self.check_keys()?;
        self.composites(&accept.limits, |entry| {
            self.read(entry, source, accept).map(|tensor| tensor.descriptor)
        })?;
        Ok(())
    }

    fn read<B: FileBytes>(
        &self,
        entry: &Entry<'_>,
        source: &B,
        accept: &Accept,
    ) -> Result<Placement, B::Error> {
        let bytes = source.whole(entry.descriptor())?;
        Ok(self.place(entry, &bytes, accept, &mut Silent)?)
    }

    /// Checks one tensor, which [`place`](Self::place) gave: its checksums, where the file
    /// has them, and what its buffers hold.
    ///
    /// # Errors
    ///
    /// The first rule that it breaks, and whatever `source` refuses. Offsets count from the
    /// start of the file.
    pub fn verify_tensor<B: FileBytes>(
        &self,
        entry: &Entry<'_>,
        tensor: &Placement,
        source: &mut B,
        checksum: Checksum,
    ) -> Result<(), B::Error> {
        let expected = self.tensor_checksums(entry, &tensor.descriptor)?;
        for (range, expected) in tensor.buffers.iter().zip(expected.unwrap_or_default()) {
            let mut found = 0;
            source.pieces(range.clone(), &mut |_, bytes| {
                found = checksum(found, bytes);
                Ok(())
            })?;
            Self::compare_checksum(range.start, expected, found)?;
        }
        let counts = self.kv().sequence_lengths(entry.name);
        if counts.is_none() && !tensor.descriptor.has_checked_contents() {
            return Ok(());
        }
        let mut held = Vec::with_capacity(tensor.buffers.len());
        for (place, range) in tensor.buffers.iter().enumerate() {
            // Of the values themselves nothing is checked, so they are not read.
            let wanted = if place == 0 { range.start..range.start } else { range.clone() };
            held.push((source.whole(wanted)?, range.start));
        }
        let contents: Vec<Contents<'_>> =
            held.iter().map(|(bytes, offset)| Contents { bytes, offset: *offset }).collect();
        tensor.descriptor.check_parameters(&contents)?;
        if let Some(counts) = counts {
            let bytes: Vec<&[u8]> = contents.iter().map(|contents| contents.bytes).collect();
            let checked = tensor.descriptor.check_token_counts(&counts, &bytes);
            // What is wrong is the key-value.
            checked.map_err(|e| self.refuse_key(e.rule(), e.found(), e.expected()))?;
        }
        Ok(())
    }

    /// What the file says the CRC-32C of each buffer of `entry` is, whose descriptor this
    /// is; `None` where it says nothing.
    ///
    /// # Errors
    ///
    /// `file.tensor.checksum-key`.
    pub fn tensor_checksums(
        &self,
        entry: &Entry<'_>,
        descriptor: &Descriptor,
    ) -> Result<Option<Vec<u32>>> {
        let key = alloc::format!("{CHECKSUM_KEY}{}", entry.name);
        if self.kv().get(&key).is_none() {
            return Ok(None);
        }
        let checksums = self.kv().checksums(entry.name);
        let count = checksums.as_ref().map(Vec::len);
        if count == Some(descriptor.buffer_count()) {
            return Ok(checksums);
        }
        let found = count.map_or(Value::None, |count| Value::Unsigned(as_offset(count)));
        let expected = Expected::Exactly(as_offset(descriptor.buffer_count()));
        Err(self.refuse_key(Rule::FileTensorChecksumKey, found, expected))
    }

    /// Compares the CRC-32C of a buffer that starts at `offset` with what the file says.
    ///
    /// # Errors
    ///
    /// `file.tensor.checksum-mismatch`.
    pub fn compare_checksum(offset: u64, expected: u32, found: u32) -> Result<()> {
        if expected == found {
            return Ok(());
        }
        let rule = Rule::FileTensorChecksumMismatch;
        let (found, expected) = (Value::Tag(u64::from(found)), Expected::Exactly(expected.into()));
        Err(Error::new(rule, "buffer", offset, found, expected))
    }

    /// Checks that Hurray's own keys name tensors of this file.
    ///
    /// # Errors
    ///
    /// `file.tensor.alias-key`, `file.tensor.checksum-key`,
    /// `file.tensor.sequence-lengths-key`.
    pub fn check_keys(&self) -> Result<()> {
        for (key, value) in self.kv().iter() {
            let shown = Value::first_of(key.as_bytes());
            if let Some(alias) = key.strip_prefix(ALIAS_KEY) {
                let target = match value {
                    KvValue::String(target) => self.index().find(target),
                    _ => None,
                };
                if target.is_none() || self.index().find(alias).is_some() {
                    let expected = Expected::OneOf("another name of a tensor of this file");
                    return Err(self.refuse_key(Rule::FileTensorAliasKey, shown, expected));
                }
            }
            if let Some((tensor, rule)) = of_numbers(key)
                && (self.index().find(tensor).is_none() || kind_fault(key, &value).is_some())
            {
                let expected = Expected::OneOf("an array of uint64 for a tensor of this file");
                return Err(self.refuse_key(rule, shown, expected));
            }
        }
        Ok(())
    }

    fn refuse_key(&self, rule: Rule, found: Value, expected: Expected) -> Error {
        let at = self.sections().kv().map_or(0, |kv| kv.start);
        Error::new(rule, "kv", at, found, expected)
    }
}

/// The next member, by its entry number.
fn member<E>(
    read: &mut impl FnMut(&Entry<'_>) -> Result<Descriptor, E>,
    entry: Entry<'_>,
) -> Result<(Descriptor, u32), E> {
    Ok((read(&entry)?, entry.number))
}
