//! A cursor over the input. A section is loaded by one bounds check as a fixed array,
//! and its fields are read from there by constant offsets, which cost no check.

use super::array::{Item, WireArray};
use super::trace::{Field, Trace};
use super::{as_index, as_offset};
use crate::error::{Error, Expected, Result, Value};
use crate::rules::Rule;

/// Defines how a field of each kind is taken from a section: its bytes, and how a trace
/// shows it.
macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident: $type:ty, $size:literal, $show:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub(crate) fn $name<const N: usize>(
            &mut self,
            block: &Block<'a, N>,
            at: usize,
            name: &'static str,
        ) -> $type {
            let value = <$type>::from_le_bytes(block.pick::<$size>(at));
            self.note(block, at, $size, name, ($show)(value));
            value
        }
    )*};
}

/// Reads forward through `bytes`, telling `trace` what it reads.
pub(crate) struct Reader<'a, 't, T> {
    rest: &'a [u8],
    /// Where `rest` ends, from the start of the input.
    end: usize,
    overrun: Rule,
    trace: &'t mut T,
}

impl<'a, 't, T: Trace> Reader<'a, 't, T> {
    /// Reads `bytes` from their start; running past their end breaks `overrun`.
    #[inline(always)]
    pub(crate) fn new(bytes: &'a [u8], overrun: Rule, trace: &'t mut T) -> Self {
        Self { rest: bytes, end: bytes.len(), overrun, trace }
    }

    /// From here on the input ends after `length` bytes of it; running past that breaks
    /// `overrun`.
    #[inline(always)]
    pub(crate) fn end_at(&mut self, length: usize, overrun: Rule) {
        let left = length.saturating_sub(self.at());
        if let Some(rest) = self.rest.get(..left) {
            self.rest = rest;
            self.end = length;
        }
        self.overrun = overrun;
    }

    /// Where the next read starts.
    #[inline(always)]
    pub(crate) fn position(&self) -> u64 {
        as_offset(self.at())
    }

    #[inline(always)]
    fn at(&self) -> usize {
        // What is left is never longer than what there was.
        self.end.wrapping_sub(self.rest.len())
    }

    /// What is left, without moving.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// How many bytes are left.
    #[inline]
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    /// The next `N` bytes, to be taken apart field by field.
    #[inline(always)]
    pub(crate) fn block<const N: usize>(&mut self, section: &'static str) -> Result<Block<'a, N>> {
        let Some((bytes, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(overran(self.overrun, section, self.at(), self.left(), N));
        };
        let block = Block { bytes, at: self.at(), section };
        self.rest = rest;
        Ok(block)
    }

    /// Reads on with a reader of its own, so that this one stays in registers where `read`
    /// is a call.
    #[inline(always)]
    pub(crate) fn apart<R>(
        &mut self,
        read: impl FnOnce(&mut Reader<'a, '_, T>) -> Result<R>,
    ) -> Result<R> {
        let mut own =
            Reader { rest: self.rest, end: self.end, overrun: self.overrun, trace: self.trace };
        let result = read(&mut own);
        self.rest = own.rest;
        result
    }

    /// The next `count` numbers or handles, kept where they are.
    #[inline]
    pub(crate) fn array<I: Item>(
        &mut self,
        section: &'static str,
        name: &'static str,
        count: usize,
    ) -> Result<WireArray<'a, I>> {
        let start = self.position();
        let length = count.saturating_mul(I::SIZE);
        let bytes = self.take(name, length)?;
        let array: WireArray<'a, I> = WireArray::over(bytes);
        if T::RECORDS {
            for (index, item) in array.items().enumerate() {
                let item_at = start.saturating_add(as_offset(index.saturating_mul(I::SIZE)));
                item.show(name, &mut |name, at, length, value| {
                    self.trace.field(Field {
                        section,
                        name,
                        index: u32::try_from(index).ok(),
                        offset: item_at.saturating_add(at),
                        length,
                        value,
                    });
                });
            }
        }
        Ok(array)
    }

    /// The next `length` bytes, whatever they mean.
    #[inline]
    pub(crate) fn opaque(
        &mut self,
        section: &'static str,
        name: &'static str,
        length: u64,
    ) -> Result<&'a [u8]> {
        let offset = self.position();
        let bytes = self.take(name, as_index(length))?;
        if !bytes.is_empty() {
            let value =
                if bytes.len() <= 8 { Value::first_of(bytes) } else { Value::Opaque(length) };
            self.trace.field(Field { section, name, index: None, offset, length, value });
        }
        Ok(bytes)
    }

    #[inline(always)]
    fn take(&mut self, name: &'static str, length: usize) -> Result<&'a [u8]> {
        let Some((bytes, rest)) = self.rest.split_at_checked(length) else {
            return Err(overran(self.overrun, name, self.at(), self.left(), length));
        };
        self.rest = rest;
        Ok(bytes)
    }

    fields! {
        /// One byte of `block`.
        u8: u8, 1, |value| Value::Unsigned(u64::from(value));
        /// One byte of `block` that is a tag.
        tag: u8, 1, |value| Value::Tag(u64::from(value));
        /// Two bytes of `block`, a length.
        u16: u16, 2, |value| Value::Unsigned(u64::from(value));
        /// Two bytes of `block`, flags.
        flags16: u16, 2, |value| Value::Tag(u64::from(value));
        /// Four bytes of `block`, a count or index.
        u32: u32, 4, |value| Value::Unsigned(u64::from(value));
        /// Four bytes of `block`, flags.
        flags32: u32, 4, |value| Value::Tag(u64::from(value));
        /// Four bytes of `block`, signed.
        i32: i32, 4, |value| Value::Signed(i64::from(value));
        /// Four bytes of `block`, a float.
        f32: f32, 4, |value: f32| Value::Float32(value.to_bits());
        /// Eight bytes of `block`, a count, size or offset.
        u64: u64, 8, Value::Unsigned;
        /// Eight bytes of `block`, signed.
        i64: i64, 8, Value::Signed;
        /// Eight bytes of `block`, a float.
        f64: f64, 8, |value: f64| Value::Float64(value.to_bits());
    }

    /// `W` bytes of `block` as they stand.
    #[inline(always)]
    pub(crate) fn bytes<const N: usize, const W: usize>(
        &mut self,
        block: &Block<'a, N>,
        at: usize,
        name: &'static str,
    ) -> [u8; W] {
        let bytes = block.pick::<W>(at);
        let value = if W <= 8 { Value::first_of(&bytes) } else { Value::Opaque(as_offset(W)) };
        self.note(block, at, W, name, value);
        bytes
    }

    /// Checks that the `W` reserved bytes at `at` are zero, else breaks `rule`.
    #[inline(always)]
    pub(crate) fn zeros<const N: usize, const W: usize>(
        &mut self,
        block: &Block<'a, N>,
        at: usize,
        name: &'static str,
        rule: Rule,
    ) -> Result<()> {
        let bytes: [u8; W] = self.bytes(block, at, name);
        if bytes == [0; W] {
            return Ok(());
        }
        Err(block.refuse(rule, at, name, Value::first_of(&bytes), Expected::Exactly(0)))
    }

    #[inline(always)]
    fn note<const N: usize>(
        &mut self,
        block: &Block<'a, N>,
        at: usize,
        length: usize,
        name: &'static str,
        value: Value,
    ) {
        self.trace.field(Field {
            section: block.section,
            name,
            index: None,
            offset: as_offset(block.at.saturating_add(at)),
            length: as_offset(length),
            value,
        });
    }
}

/// Apart from the reader, which then need not be in memory.
#[cold]
fn overran(rule: Rule, name: &'static str, at: usize, left: usize, needed: usize) -> Error {
    let found = Value::Unsigned(as_offset(left));
    Error::new(rule, name, as_offset(at), found, Expected::AtLeast(as_offset(needed)))
}

/// A section already known to be there.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a, const N: usize> {
    bytes: &'a [u8; N],
    at: usize,
    section: &'static str,
}

impl<'a, const N: usize> Block<'a, N> {
    /// A section of zeros.
    pub(crate) fn zeros() -> Self {
        Self { bytes: &[0; N], at: 0, section: "" }
    }

    /// The section's bytes.
    pub(crate) fn bytes(&self) -> &'a [u8; N] {
        self.bytes
    }

    /// Offsets are constants of this crate, so that the branch folds away; a wrong one
    /// would fail every test vector.
    #[inline(always)]
    fn pick<const W: usize>(&self, at: usize) -> [u8; W] {
        match self.bytes.get(at..).and_then(<[u8]>::first_chunk::<W>) {
            Some(bytes) => *bytes,
            None => {
                debug_assert!(false, "a field outside its section");
                [0; W]
            }
        }
    }

    /// Refuses the field `at` bytes into the section.
    #[cold]
    pub(crate) fn refuse(
        self,
        rule: Rule,
        at: usize,
        name: &'static str,
        found: Value,
        expected: Expected,
    ) -> Error {
        Error::new(rule, name, as_offset(self.at.saturating_add(at)), found, expected)
    }
}
