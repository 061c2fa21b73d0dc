//! The fixed header: the first 20 bytes of a descriptor, kept as the wire has them, so that
//! what they say need not be worked out again to be written.

use super::{Descriptor, HEADER_LEN, MAGIC, VERSION_MAJOR, flag};
use crate::dtype::Dtype;
use crate::wire::{Array, Storage, as_offset};

/// `magic [u8; 4], version_major u8, version_minor u8, descriptor_length u32, flags u32,
/// type_tag u8, layout_tag u8, rank u32`.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Head([u8; HEADER_LEN]);

impl Head {
    /// The header of no descriptor yet.
    pub(super) const UNKNOWN: Self = Self([0; HEADER_LEN]);

    /// Of a descriptor that was read, and that kept every byte.
    #[inline(always)]
    pub(super) fn read(bytes: &[u8; HEADER_LEN]) -> Self {
        Self(*bytes)
    }

    /// Of a descriptor with these parts, or `None` where its length needs more than 32
    /// bits.
    pub(super) fn of<S: Storage>(d: &Descriptor<S>, version_minor: u8) -> Option<Self> {
        let bit = |present: bool, flag: u32| if present { flag } else { 0 };
        let flags = bit(d.quantization.is_some(), flag::QUANTIZATION)
            | bit(d.shard.is_some(), flag::SHARD)
            | bit(matches!(d.dtype, Dtype::Private(_)), flag::EXTENSION_TYPE)
            | bit(d.statistics.is_some(), flag::STATISTICS)
            | bit(d.member.is_some(), flag::MEMBER);
        let [m0, m1, m2, m3] = MAGIC;
        let [l0, l1, l2, l3] = u32::try_from(d.length_of_parts()).ok()?.to_le_bytes();
        let [f0, f1, f2, f3] = flags.to_le_bytes();
        let (dtype, layout) = (d.dtype.tag(), d.layout.tag());
        let [r0, r1, r2, r3] = u32::try_from(as_offset(d.shape.len())).ok()?.to_le_bytes();
        Some(Self([
            m0,
            m1,
            m2,
            m3,
            VERSION_MAJOR,
            version_minor,
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
        ]))
    }

    #[inline(always)]
    pub(super) fn bytes(&self) -> &[u8; HEADER_LEN] {
        &self.0
    }

    pub(super) fn version_minor(&self) -> u8 {
        let [_, _, _, _, _, minor, ..] = self.0;
        minor
    }

    #[inline(always)]
    pub(super) fn length(&self) -> u32 {
        let [_, _, _, _, _, _, l0, l1, l2, l3, ..] = self.0;
        u32::from_le_bytes([l0, l1, l2, l3])
    }

    #[inline(always)]
    pub(super) fn flags(&self) -> u32 {
        let [.., f0, f1, f2, f3, _, _, _, _, _, _] = self.0;
        u32::from_le_bytes([f0, f1, f2, f3])
    }
}

impl core::fmt::Debug for Head {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "1.{}", self.version_minor())
    }
}
