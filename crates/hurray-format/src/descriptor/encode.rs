//! Writing a descriptor. What was read re-encodes to the same bytes.

use alloc::vec;
use alloc::vec::Vec;

use super::{Descriptor, ExtensionType, HEADER_LEN, MemberRole};
use crate::buffer::BufferHandle;
use crate::dtype::Dtype;
use crate::error::{Error, Expected, Result, Value};
use crate::quant::Quantization;
use crate::rules::Rule;
use crate::wire::{Array, Storage, Writer, as_index, as_offset};

impl<S: Storage> Descriptor<S> {
    /// The length of the encoded descriptor in bytes.
    #[inline]
    pub fn encoded_len(&self) -> usize {
        as_index(u64::from(self.head.length()))
    }

    /// The same, worked out from the parts.
    pub(super) fn length_of_parts(&self) -> usize {
        let rank = self.rank();
        let shape = rank.saturating_mul(8);
        let table = self.buffers.len().saturating_mul(BufferHandle::SIZE).saturating_add(1);
        let fixed = HEADER_LEN.saturating_add(8).saturating_add(shape).saturating_add(table);
        fixed.saturating_add(self.layout.encoded_len(rank)).saturating_add(self.optional_len())
    }

    fn optional_len(&self) -> usize {
        let quantization = self.quantization.as_ref().map_or(0, Quantization::encoded_len);
        let shard = self.shard.as_ref().map_or(0, |shard| shard.bytes().len());
        let statistics = self.statistics.as_ref().map_or(0, |statistics| statistics.bytes().len());
        let extension =
            if matches!(self.dtype, Dtype::Private(_)) { ExtensionType::SIZE } else { 0 };
        let member = if self.member.is_some() { MemberRole::SIZE } else { 0 };
        quantization
            .saturating_add(shard)
            .saturating_add(statistics)
            .saturating_add(extension)
            .saturating_add(member)
    }

    /// The encoded descriptor.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.encoded_len()];
        self.store(Writer::new(&mut bytes));
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
    /// `descriptor.output-too-small`; nothing is written then.
    pub fn encode_into(&self, out: &mut [u8]) -> Result<usize> {
        let length = self.encoded_len();
        let Some(place) = out.get_mut(..length) else {
            return Err(too_small(out.len(), length));
        };
        self.store(Writer::new(place));
        Ok(length)
    }

    /// Fills `w`, which has room for the whole.
    #[inline(always)]
    fn store(&self, mut w: Writer<'_>) {
        w.block(self.head.bytes());
        w.items(self.shape.iter());
        w.u64(self.byte_offset);
        if !self.layout.is_run() {
            w.apart(|w| self.layout.store(self.rank(), w));
        }
        w.u8(u8::try_from(self.buffers.len()).unwrap_or(u8::MAX));
        w.items(self.buffers.iter());
        if self.flags() != 0 {
            w.apart(|w| self.store_optional(w));
        }
        debug_assert!(w.is_full(), "a descriptor of another length than announced");
    }

    fn store_optional(&self, w: &mut Writer<'_>) {
        if let Some(quantization) = &self.quantization {
            quantization.store(w);
        }
        if let Some(shard) = &self.shard {
            w.bytes(shard.bytes());
        }
        if let Some(statistics) = &self.statistics {
            w.bytes(statistics.bytes());
        }
        if let Dtype::Private(private) = self.dtype {
            private.record().store(w);
        }
        if let Some(role) = self.member {
            w.block(&[role.tag(), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        }
    }
}

#[cold]
fn too_small(room: usize, length: usize) -> Error {
    let found = Value::Unsigned(as_offset(room));
    let expected = Expected::AtLeast(as_offset(length));
    Error::new(Rule::DescriptorOutputTooSmall, "out", as_offset(room), found, expected)
}
