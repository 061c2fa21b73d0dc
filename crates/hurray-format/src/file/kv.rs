//! Key-values: `kv_count u32`, then entries of `key_length u16, key, value_tag u8, value`.
//!
//! The section stays as the bytes it is; values are read when asked for. So a hostile
//! section costs no more memory than its own length, and what was read is written again
//! byte for byte.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::names::{BELIEVED, Names, NewNames, name_at};
use crate::error::{Error, Expected, Result, Value};
use crate::rules::Rule;
use crate::wire::{Block, Reader, Silent, Trace, as_index, as_offset};

/// The kind of a value, with its tag on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum KvKind {
    /// UTF-8 text.
    String = 1,
    /// A signed integer of 64 bits.
    I64 = 2,
    /// An unsigned integer of 64 bits.
    U64 = 3,
    /// A float of 64 bits.
    F64 = 4,
    /// False or true.
    Bool = 5,
    /// Opaque bytes.
    Bytes = 6,
    /// A list of values of one of the kinds above.
    Array = 7,
}

impl KvKind {
    /// The kind with that tag, if there is one.
    pub const fn from_tag(tag: u8) -> Option<Self> {
        Some(match tag {
            1 => Self::String,
            2 => Self::I64,
            3 => Self::U64,
            4 => Self::F64,
            5 => Self::Bool,
            6 => Self::Bytes,
            7 => Self::Array,
            _ => return None,
        })
    }

    /// Its name: `string`, `int64`, `uint64`, `float64`, `bool`, `bytes`, `array`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::I64 => "int64",
            Self::U64 => "uint64",
            Self::F64 => "float64",
            Self::Bool => "bool",
            Self::Bytes => "bytes",
            Self::Array => "array",
        }
    }

    /// The fewest bytes a value takes.
    const fn least(self) -> usize {
        match self {
            Self::String | Self::Bytes => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
            Self::Bool => 1,
            Self::Array => 5,
        }
    }
}

/// A value, which may borrow from the section it was read from.
#[derive(Clone, Debug, PartialEq)]
pub enum KvValue<'a> {
    /// UTF-8 text.
    String(&'a str),
    /// A signed integer.
    I64(i64),
    /// An unsigned integer.
    U64(u64),
    /// A float.
    F64(f64),
    /// False or true.
    Bool(bool),
    /// Opaque bytes.
    Bytes(&'a [u8]),
    /// A list.
    Array(KvArray<'a>),
}

impl KvValue<'_> {
    /// Its kind.
    pub fn kind(&self) -> KvKind {
        match self {
            Self::String(_) => KvKind::String,
            Self::I64(_) => KvKind::I64,
            Self::U64(_) => KvKind::U64,
            Self::F64(_) => KvKind::F64,
            Self::Bool(_) => KvKind::Bool,
            Self::Bytes(_) => KvKind::Bytes,
            Self::Array(_) => KvKind::Array,
        }
    }

    /// The number of a `uint64`.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::U64(number) => Some(*number),
            _ => None,
        }
    }

    fn store(&self, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::String(text) => store_bytes(text.as_bytes(), out)?,
            Self::Bytes(bytes) => store_bytes(bytes, out)?,
            Self::I64(number) => out.extend_from_slice(&number.to_le_bytes()),
            Self::U64(number) => out.extend_from_slice(&number.to_le_bytes()),
            Self::F64(number) => out.extend_from_slice(&number.to_le_bytes()),
            Self::Bool(flag) => out.push(u8::from(*flag)),
            Self::Array(array) => {
                out.push(array.element as u8);
                out.extend_from_slice(&array.count.to_le_bytes());
                out.extend_from_slice(&array.items);
            }
        }
        Ok(())
    }
}

fn store_bytes(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let length = u32::try_from(bytes.len())
        .map_err(|_| too_long(Rule::FileKvValueTooLong, "value", bytes.len(), u32::MAX))?;
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(bytes);
    Ok(())
}

#[cold]
fn too_long(rule: Rule, name: &'static str, length: usize, most: u32) -> Error {
    let found = Value::Unsigned(as_offset(length));
    Error::new(rule, name, 0, found, Expected::AtMost(u64::from(most)))
}

/// A list of values of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct KvArray<'a> {
    element: KvKind,
    count: u32,
    items: Cow<'a, [u8]>,
}

impl<'a> KvArray<'a> {
    /// A list of `element`s.
    ///
    /// # Errors
    ///
    /// `file.kv.array-element-tag` where an item is of another kind or a list;
    /// `file.kv.value-too-long` beyond 2^32 − 1 items or bytes of an item.
    pub fn new<'v>(element: KvKind, items: impl IntoIterator<Item = KvValue<'v>>) -> Result<Self> {
        let mut bytes = Vec::new();
        let mut count: u32 = 0;
        for item in items {
            if item.kind() != element || element == KvKind::Array {
                let found = Value::Tag(u64::from(item.kind() as u8));
                let rule = Rule::FileKvArrayElementTag;
                let expected = Expected::OneOf("items of the array's own kind, 1 to 6");
                return Err(Error::new(rule, "array", 0, found, expected));
            }
            item.store(&mut bytes)?;
            count = count
                .checked_add(1)
                .ok_or_else(|| too_long(Rule::FileKvValueTooLong, "array", usize::MAX, u32::MAX))?;
        }
        Ok(Self { element, count, items: Cow::Owned(bytes) })
    }

    /// The kind of its items.
    pub fn element(&self) -> KvKind {
        self.element
    }

    /// The number of its items.
    pub fn len(&self) -> usize {
        as_index(u64::from(self.count))
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Its items in order.
    pub fn iter(&self) -> impl Iterator<Item = KvValue<'_>> {
        let mut rest: &[u8] = &self.items;
        let element = self.element;
        core::iter::from_fn(move || {
            let mut silent = Silent;
            let mut r = Reader::new(rest, Rule::FileKvTruncated, &mut silent);
            let item = value(&mut r, element).ok()?;
            rest = rest.get(as_index(r.position())..)?;
            Some(item)
        })
    }
}

/// The key-values of a file, in the order they were written. Keys are unique.
///
/// ```
/// use hurray_format::{Kv, KvValue};
/// let mut kv = Kv::default();
/// kv.push("license", &KvValue::String("Apache-2.0"))?;
/// kv.push("layers", &KvValue::U64(6))?;
/// assert_eq!(kv.get("layers"), Some(KvValue::U64(6)));
/// assert!(kv.push("layers", &KvValue::U64(7)).is_err());
/// # Ok::<(), hurray_format::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Kv {
    /// The section: the count, then the entries.
    bytes: Vec<u8>,
    /// Where each entry starts.
    entries: Vec<usize>,
    names: Names,
}

impl Default for Kv {
    fn default() -> Self {
        Self { bytes: alloc::vec![0; 4], entries: Vec::new(), names: Names::default() }
    }
}

/// The fewest bytes an entry takes: a key of no byte, which is refused by name, and a bool.
const LEAST_ENTRY: usize = 4;

impl Kv {
    /// Reads a section, which is all of `bytes`. Errors and fields count from its start.
    ///
    /// # Errors
    ///
    /// The rules of `file.kv.*`.
    pub fn decode<T: Trace>(bytes: Vec<u8>, trace: &mut T) -> Result<Self> {
        let mut r = Reader::new(&bytes, Rule::FileKvTruncated, trace);
        let block = r.block::<4>("kv")?;
        let count = r.u32(&block, 0, "kv_count");
        // No count sizes anything before the bytes that hold it are seen to exist.
        if as_index(u64::from(count)) > r.left().div_euclid(LEAST_ENTRY) {
            let most = as_offset(r.left().div_euclid(LEAST_ENTRY));
            let found = Value::Unsigned(u64::from(count));
            let rule = Rule::FileKvCountTooLarge;
            return Err(block.refuse(rule, 0, "kv_count", found, Expected::AtMost(most)));
        }
        let count = as_index(u64::from(count));
        let mut entries = Vec::with_capacity(count.min(BELIEVED));
        let mut names = NewNames::with_capacity(count.min(BELIEVED));
        for _ in 0..count {
            entries.push(as_index(r.position()));
            names.push(key(&mut r)?);
            any_value(&mut r)?;
        }
        if r.left() != 0 {
            let found = Value::Unsigned(as_offset(r.left()));
            let rule = Rule::FileKvTrailingBytes;
            return Err(Error::new(rule, "kv", r.position(), found, Expected::Exactly(0)));
        }
        let names = names.build(|n| name_at(&bytes, &entries, n)).map_err(|number| {
            let rule = Rule::FileKvKeyDuplicate;
            let start = entries.get(as_index(u64::from(number))).copied().unwrap_or(0);
            let found = Value::first_of(name_at(&bytes, &entries, number));
            Error::new(rule, "key", as_offset(start), found, Expected::Unsaid)
        })?;
        Ok(Self { bytes, entries, names })
    }

    /// Adds a value under a new key.
    ///
    /// # Errors
    ///
    /// `file.kv.key-empty`, `.key-too-long`, `.key-duplicate`, `.value-too-long`; nothing
    /// is added then.
    pub fn push(&mut self, key: &str, value: &KvValue<'_>) -> Result<()> {
        let length = self.check_new(key)?;
        let Ok(number) = u32::try_from(self.entries.len()) else {
            return Err(too_long(Rule::FileKvValueTooLong, "kv_count", self.len(), u32::MAX));
        };
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&length.to_le_bytes());
        self.bytes.extend_from_slice(key.as_bytes());
        self.bytes.push(value.kind() as u8);
        let stored = value.store(&mut self.bytes);
        if stored.is_err() || u32::try_from(self.bytes.len()).is_err() {
            let length = self.bytes.len();
            self.bytes.truncate(start);
            stored?;
            return Err(too_long(Rule::FileKvValueTooLong, "kv_length", length, u32::MAX));
        }
        self.entries.push(start);
        let Self { bytes, entries, names } = self;
        // The key was just seen to be new.
        let _ = names.insert(key.as_bytes(), number, |n| name_at(bytes, entries, n));
        if let Some(count) = self.bytes.first_chunk_mut::<4>() {
            *count = number.saturating_add(1).to_le_bytes();
        }
        Ok(())
    }

    /// Whether `key` may be added, and its length.
    pub(super) fn check_new(&self, key: &str) -> Result<u16> {
        let refuse = |rule, found| Err(Error::new(rule, "key", 0, found, Expected::Unsaid));
        if key.is_empty() {
            return refuse(Rule::FileKvKeyEmpty, Value::Unsigned(0));
        }
        let Ok(length) = u16::try_from(key.len()) else {
            return refuse(Rule::FileKvKeyTooLong, Value::Unsigned(as_offset(key.len())));
        };
        if self.get(key).is_some() {
            return refuse(Rule::FileKvKeyDuplicate, Value::first_of(key.as_bytes()));
        }
        Ok(length)
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<KvValue<'_>> {
        let name_of = |n| name_at(&self.bytes, &self.entries, n);
        let entry = self.names.find(key.as_bytes(), name_of)?;
        Some(self.entry(*self.entries.get(as_index(u64::from(entry)))?)?.1)
    }

    /// Keys and values, in the order they were written.
    pub fn iter(&self) -> impl Iterator<Item = (&str, KvValue<'_>)> {
        self.entries.iter().filter_map(|start| self.entry(*start))
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The section as it is written.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn entry(&self, start: usize) -> Option<(&str, KvValue<'_>)> {
        let bytes = self.bytes.get(start..)?;
        let mut silent = Silent;
        let mut r = Reader::new(bytes, Rule::FileKvTruncated, &mut silent);
        let key = core::str::from_utf8(key(&mut r).ok()?).ok()?;
        Some((key, any_value(&mut r).ok()?))
    }
}

/// The bytes of a key, which are UTF-8.
#[inline(always)]
fn key<'a, T: Trace>(r: &mut Reader<'a, '_, T>) -> Result<&'a [u8]> {
    let block = r.block::<2>("kv")?;
    let length = r.u16(&block, 0, "key_length");
    if length == 0 {
        let rule = Rule::FileKvKeyEmpty;
        let expected = Expected::AtLeast(1);
        return Err(block.refuse(rule, 0, "key_length", Value::Unsigned(0), expected));
    }
    let at = r.position();
    let bytes = r.opaque("kv", "key", u64::from(length))?;
    // Almost every key is ASCII, which is seen sooner.
    if !bytes.is_ascii() {
        text(bytes, Rule::FileKvKeyNotUtf8, "key", at)?;
    }
    Ok(bytes)
}

pub(super) fn text<'a>(
    bytes: &'a [u8],
    rule: Rule,
    name: &'static str,
    at: u64,
) -> Result<&'a str> {
    core::str::from_utf8(bytes).map_err(|error| {
        let valid = error.valid_up_to();
        let found = Value::first_of(bytes.get(valid..).unwrap_or_default());
        Error::new(rule, name, at.saturating_add(as_offset(valid)), found, Expected::OneOf("UTF-8"))
    })
}

fn any_value<'a, T: Trace>(r: &mut Reader<'a, '_, T>) -> Result<KvValue<'a>> {
    let block = r.block::<1>("kv")?;
    let tag = r.tag(&block, 0, "value_tag");
    let Some(kind) = KvKind::from_tag(tag) else {
        let rule = match tag {
            0xFF => Rule::FileKvInvalidTag,
            0xF0..=0xFE => Rule::FileKvPrivateTag,
            _ => Rule::FileKvReservedTag,
        };
        let found = Value::Tag(u64::from(tag));
        return Err(block.refuse(rule, 0, "value_tag", found, Expected::OneOf("0x01 to 0x07")));
    };
    value(r, kind)
}

fn value<'a, T: Trace>(r: &mut Reader<'a, '_, T>, kind: KvKind) -> Result<KvValue<'a>> {
    const S: &str = "kv";
    Ok(match kind {
        KvKind::String => {
            let (bytes, at) = sized(r)?;
            KvValue::String(text(bytes, Rule::FileKvStringNotUtf8, "value", at)?)
        }
        KvKind::Bytes => KvValue::Bytes(sized(r)?.0),
        KvKind::I64 => {
            let block: Block<'_, 8> = r.block(S)?;
            KvValue::I64(r.i64(&block, 0, "value"))
        }
        KvKind::U64 => {
            let block: Block<'_, 8> = r.block(S)?;
            KvValue::U64(r.u64(&block, 0, "value"))
        }
        KvKind::F64 => {
            let block: Block<'_, 8> = r.block(S)?;
            KvValue::F64(r.f64(&block, 0, "value"))
        }
        KvKind::Bool => {
            let block: Block<'_, 1> = r.block(S)?;
            match r.u8(&block, 0, "value") {
                flag @ (0 | 1) => KvValue::Bool(flag == 1),
                other => {
                    let found = Value::Unsigned(u64::from(other));
                    let rule = Rule::FileKvBoolValue;
                    let expected = Expected::OneOf("0 or 1");
                    return Err(block.refuse(rule, 0, "value", found, expected));
                }
            }
        }
        KvKind::Array => KvValue::Array(array(r)?),
    })
}

fn sized<'a, T: Trace>(r: &mut Reader<'a, '_, T>) -> Result<(&'a [u8], u64)> {
    let block = r.block::<4>("kv")?;
    let length = r.u32(&block, 0, "length");
    let at = r.position();
    Ok((r.opaque("kv", "value", u64::from(length))?, at))
}

fn array<'a, T: Trace>(r: &mut Reader<'a, '_, T>) -> Result<KvArray<'a>> {
    let block = r.block::<5>("kv")?;
    let tag = r.tag(&block, 0, "element_tag");
    let count = r.u32(&block, 1, "count");
    let Some(element) = KvKind::from_tag(tag).filter(|kind| *kind != KvKind::Array) else {
        let found = Value::Tag(u64::from(tag));
        let rule = Rule::FileKvArrayElementTag;
        let expected = Expected::OneOf("0x01 to 0x06");
        return Err(block.refuse(rule, 0, "element_tag", found, expected));
    };
    let most = r.left().div_euclid(element.least());
    if as_index(u64::from(count)) > most {
        let found = Value::Unsigned(u64::from(count));
        let rule = Rule::FileKvArrayCountTooLarge;
        let expected = Expected::AtMost(as_offset(most));
        return Err(block.refuse(rule, 1, "count", found, expected));
    }
    let items = r.rest();
    for _ in 0..count {
        value(r, element)?;
    }
    let length = items.len().saturating_sub(r.left());
    Ok(KvArray { element, count, items: Cow::Borrowed(items.get(..length).unwrap_or(items)) })
}
