//! Writing a descriptor. What was read re-encodes to the same bytes.

use alloc::vec;
use alloc::vec::Vec;

use super::{Descriptor, ExtensionType, HEADER_LEN, MAGIC, MemberRole, VERSION_MAJOR};
use crate::buffer::BufferHandle;
use crate::dtype::Dtype;
use crate::error::{Error, Expected, Result, Value};
use crate::layout::Layout;
use crate::quant::Quantization;
use crate::rules::Rule;
use crate::wire::{Array, Item, Storage, Writer, as_offset};

impl<S: Storage> Descriptor<S> {
    /// The length of the encoded descriptor in bytes.
    #[inline]
    pub fn encoded_len(&self) -> usize {
        let shape = self.rank().saturating_mul(8);
        let table = self.buffers.len().saturating_mul(BufferHandle::SIZE);
        // Header, byte_offset, buffer_count.
        let fixed = HEADER_LEN.saturating_add(9).saturating_add(shape).saturating_add(table);
        match self.layout {
            Layout::RowMajor | Layout::ColumnMajor if self.flags() == 0 => fixed,
            _ => fixed.saturating_add(self.further_len()),
        }
    }

    /// Layout fields and optional sections.
    fn further_len(&self) -> usize {
        let layout = self.layout.encoded_len(self.rank());
        let quantization = self.quantization.as_ref().map_or(0, Quantization::encoded_len);
        let shard = self.shard.as_ref().map_or(0, |shard| shard.bytes().len());
        let statistics = self.statistics.as_ref().map_or(0, |statistics| statistics.bytes().len());
        let extension =
            if matches!(self.dtype, Dtype::Private(_)) { ExtensionType::SIZE } else { 0 };
        let member = if self.member.is_some() { MemberRole::SIZE } else { 0 };
        layout
            .saturating_add(quantization)
            .saturating_add(shard)
            .saturating_add(statistics)
            .saturating_add(extension)
            .saturating_add(member)
    }

    /// The encoded descriptor.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.encoded_len()];
        self.store(&mut bytes);
        bytes
    }

    /// Writes the descriptor at the start of `out` and says how many bytes it took.
    /// Nothing is allocated.
    ///
    /// ```
    /// use hurray_format::{Descriptor, Dtype};
    /// let descriptor = Descriptor::dense(Dtype::UInt8, &[10])?;
    /// let mut out = [0; 128];
    /// let written = descriptor.encode_into(&mut out)?;
    /// assert_eq!(out[..written], descriptor.encode());
    /// # Ok::<(), hurray_format::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `descriptor.output-too-small`; what `out` holds then is unspecified.
    pub fn encode_into(&self, out: &mut [u8]) -> Result<usize> {
        let length = self.encoded_len();
        let room = as_offset(out.len());
        let Some(out) = out.get_mut(..length) else {
            let found = Value::Unsigned(room);
            let expected = Expected::AtLeast(as_offset(length));
            return Err(Error::new(Rule::DescriptorOutputTooSmall, "out", room, found, expected));
        };
        self.store(out);
        Ok(length)
    }

    /// Fills `out`, which is as long as the descriptor.
    #[inline(always)]
    fn store(&self, out: &mut [u8]) {
        let length = u32::try_from(out.len()).unwrap_or(u32::MAX);
        let rank = u32::try_from(self.rank()).unwrap_or(u32::MAX);
        let flags = self.flags();
        let mut head = [0; HEADER_LEN];
        let mut h = put(&mut head, MAGIC);
        h = put(h, [VERSION_MAJOR, self.version_minor]);
        h = put(h, length.to_le_bytes());
        h = put(h, flags.to_le_bytes());
        h = put(h, [self.dtype.tag(), self.layout.tag()]);
        put(h, rank.to_le_bytes());

        let mut rest = put(out, head);
        rest = put_all(rest, &self.shape);
        rest = put(rest, self.byte_offset.to_le_bytes());
        if !matches!(self.layout, Layout::RowMajor | Layout::ColumnMajor) {
            rest = self.store_layout(rest);
        }
        rest = put(rest, [u8::try_from(self.buffers.len()).unwrap_or(u8::MAX)]);
        rest = put_all(rest, &self.buffers);
        if flags != 0 {
            self.store_optional(rest);
        }
    }

    #[inline(never)]
    fn store_layout<'o>(&self, out: &'o mut [u8]) -> &'o mut [u8] {
        let mut w = Writer::new(out);
        self.layout.store(self.rank(), &mut w);
        w.into_rest()
    }

    #[inline(never)]
    fn store_optional(&self, out: &mut [u8]) {
        let mut w = Writer::new(out);
        if let Some(quantization) = &self.quantization {
            quantization.store(&mut w);
        }
        if let Some(shard) = &self.shard {
            w.bytes(shard.bytes());
        }
        if let Some(statistics) = &self.statistics {
            w.bytes(statistics.bytes());
        }
        if let Dtype::Private(private) = self.dtype {
            private.record().store(&mut w);
        }
        if let Some(role) = self.member {
            w.block(&[role.tag(), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        }
    }
}

/// Writes `bytes` at the start of `out` and gives the rest. There is room: `out` was cut to
/// the length of all that is put into it.
#[inline(always)]
fn put<const N: usize>(out: &mut [u8], bytes: [u8; N]) -> &mut [u8] {
    match out.split_first_chunk_mut::<N>() {
        Some((place, rest)) => {
            *place = bytes;
            rest
        }
        None => &mut [],
    }
}

/// The same for the items of an array.
#[inline(always)]
fn put_all<'o, I: Item>(out: &'o mut [u8], items: &impl Array<I>) -> &'o mut [u8] {
    let length = items.len().saturating_mul(I::SIZE);
    match out.split_at_mut_checked(length) {
        Some((places, rest)) => {
            for (place, item) in I::chunks_mut(places).iter_mut().zip(items.iter()) {
                *place = item.to_raw();
            }
            rest
        }
        None => &mut [],
    }
}
