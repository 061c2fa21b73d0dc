//! Morton: the bits of the coordinates interleaved (specification page 04, decision 13).
//!
//! `morton_bits u32[rank]`, each above 0. With unequal widths a dimension that has no
//! bits left is skipped, so that the codes fill exactly 2^Σbits places.

use crate::error::{Error, Expected, Result, Value};
use crate::rules::Rule;
use crate::wire::{Array, Borrowed, Owned, Reader, Storage, Trace, as_offset};

/// Z-order: near in space is near in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Morton<S: Storage = Owned> {
    /// How many bits of each coordinate are used; together at most 63.
    pub bits: S::Numbers<u32>,
}

impl<'a> Morton<Borrowed<'a>> {
    pub(crate) fn load<T: Trace>(
        r: &mut Reader<'a, '_, T>,
        shape: &impl Array<u64>,
    ) -> Result<Self> {
        let start = r.position();
        let bits = r.array::<u32>("layout fields", "morton_bits", shape.len())?;
        let mut total: u64 = 0;
        for (k, (width, size)) in bits.iter().zip(shape.iter()).enumerate() {
            let refuse = |rule, expected| {
                let at = start.saturating_add(as_offset(k.saturating_mul(4)));
                let found = Value::Unsigned(u64::from(width));
                Err(Error::new(rule, "morton_bits", at, found, expected))
            };
            if width == 0 {
                return refuse(Rule::LayoutMortonBitsZero, Expected::AtLeast(1));
            }
            let room = 1_u64.checked_shl(width).unwrap_or(u64::MAX);
            if size > room && size != crate::shape::DYNAMIC {
                let needed =
                    u64::from(u64::BITS.saturating_sub(size.saturating_sub(1).leading_zeros()));
                return refuse(Rule::LayoutMortonDimensionTooLarge, Expected::AtLeast(needed));
            }
            total = total.saturating_add(u64::from(width));
        }
        if total > 63 {
            let found = Value::Unsigned(total);
            let rule = Rule::LayoutMortonBitsTotal;
            return Err(Error::new(rule, "morton_bits", start, found, Expected::AtMost(63)));
        }
        Ok(Self { bits })
    }
}

impl<S: Storage> Morton<S> {
    /// The number of places, 2^Σbits.
    pub(crate) fn places(&self) -> u128 {
        let total = self.bits.iter().fold(0_u32, u32::saturating_add);
        1_u128.checked_shl(total).unwrap_or(u128::MAX)
    }

    /// Bit b of dimension d goes to the next free place, for b from 0 and, within it, d
    /// from 0 while b is below the width of d.
    pub(crate) fn offset(&self, index: &[u64]) -> Option<i128> {
        let mut code: u64 = 0;
        let mut place: u32 = 0;
        let widest = self.bits.iter().max().unwrap_or(0);
        for bit in 0..widest {
            for (coordinate, width) in index.iter().zip(self.bits.iter()) {
                if bit < width {
                    code |= (coordinate.checked_shr(bit)? & 1).checked_shl(place)?;
                    place = place.checked_add(1)?;
                }
            }
        }
        Some(i128::from(code))
    }
}
