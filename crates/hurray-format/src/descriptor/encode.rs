//! Writing a descriptor. What was read re-encodes to the same bytes.

use alloc::vec;
use alloc::vec::Vec;

use super::{Descriptor, ExtensionType, HEADER_LEN, MAGIC, MemberRole, VERSION_MAJOR};
use crate::buffer::BufferHandle;
use crate::dtype::Dtype;
use crate::error::{Error, Expected, Result, Value};
use crate::quant::Quantization;
use crate::rules::Rule;
use crate::wire::{Array, Item, Storage, Writer, as_offset};

impl<S: Storage> Descriptor<S> {
    /// The length of the encoded descriptor in bytes.
    #[inline]
    pub fn encoded_len(&self) -> usize {
        let rank = self.rank();
        let shape = rank.saturating_mul(8);
        let table = self.buffers.len().saturating_mul(BufferHandle::SIZE).saturating_add(1);
        let fixed = HEADER_LEN.saturating_add(8).saturating_add(shape).saturating_add(table);
        let layout = self.layout.encoded_len(rank);
        fixed.saturating_add(layout).saturating_add(self.optional_len())
    }

    #[inline]
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
        self.store(&mut Writer::new(&mut bytes), self.encoded_len());
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
    #[inline]
    pub fn encode_into(&self, out: &mut [u8]) -> Result<usize> {
        let room = as_offset(out.len());
        let length = self.encoded_len();
        let mut w = Writer::new(out);
        self.store(&mut w, length);
        w.written().ok_or_else(|| {
            let found = Value::Unsigned(room);
            let expected = Expected::AtLeast(as_offset(length));
            Error::new(Rule::DescriptorOutputTooSmall, "out", room, found, expected)
        })
    }

    #[inline(always)]
    pub(super) fn store(&self, w: &mut Writer<'_>, length: usize) {
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let rank = u32::try_from(self.rank()).unwrap_or(u32::MAX);
        let [m0, m1, m2, m3] = MAGIC;
        let [l0, l1, l2, l3] = length.to_le_bytes();
        let [f0, f1, f2, f3] = self.flags().to_le_bytes();
        let [r0, r1, r2, r3] = rank.to_le_bytes();
        let (dtype, layout) = (self.dtype.tag(), self.layout.tag());
        let minor = self.version_minor;
        w.block(&[
            m0,
            m1,
            m2,
            m3,
            VERSION_MAJOR,
            minor,
            l0,
            l1,
            l2,
            l3,
            f0,
            f1,
            f2,
            f3,
            dtype,
            layout,
            r0,
            r1,
            r2,
            r3,
        ]);
        self.shape.iter().for_each(|size| w.u64(size));
        w.u64(self.byte_offset);
        self.layout.store(self.rank(), w);
        w.u8(u8::try_from(self.buffers.len()).unwrap_or(u8::MAX));
        self.buffers.iter().for_each(|handle| w.block(&handle.to_raw()));
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
