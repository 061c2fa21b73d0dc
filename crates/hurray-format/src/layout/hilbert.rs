//! Hilbert: a curve through a cube of 2^order along every side (specification page 04).
//!
//! `order u32, hilbert_rank u32`. The index is Skilling's (AIP Conf. Proc. 707, 381,
//! 2004): undo the excess work from the highest bit down, Gray-encode, and read the
//! bits across the dimensions.

use crate::error::{Expected, Result, Value};
use crate::limits::Limits;
use crate::rules::Rule;
use crate::wire::{Array, Reader, Trace};

/// The Hilbert curve of that order; every dimension is 2^order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hilbert {
    /// Bits per coordinate.
    pub order: u32,
}

impl Hilbert {
    pub(crate) fn load<T: Trace>(
        r: &mut Reader<'_, '_, T>,
        shape: &impl Array<u64>,
    ) -> Result<Self> {
        let block = r.block::<8>("layout fields")?;
        let order = r.u32(&block, 0, "hilbert_order");
        let declared = r.u32(&block, 4, "hilbert_rank");
        let refuse = |rule, at, name, found, expected| {
            Err(block.refuse(rule, at, name, Value::Unsigned(found), expected))
        };
        let rank = crate::wire::as_offset(shape.len());
        if u64::from(declared) != rank {
            let found = u64::from(declared);
            let rule = Rule::LayoutHilbertRankMismatch;
            return refuse(rule, 4, "hilbert_rank", found, Expected::Exactly(rank));
        }
        if rank < 2 {
            let rule = Rule::LayoutHilbertRankTooSmall;
            return refuse(rule, 4, "hilbert_rank", rank, Expected::AtLeast(2));
        }
        if order == 0 {
            let rule = Rule::LayoutHilbertOrderZero;
            return refuse(rule, 0, "hilbert_order", 0, Expected::AtLeast(1));
        }
        let side = 1_u64.checked_shl(order);
        if let Some(size) = shape.iter().find(|size| Some(*size) != side) {
            let expected = side.map_or(Expected::Unsaid, Expected::Exactly);
            return refuse(Rule::LayoutHilbertShape, 0, "shape", size, expected);
        }
        let total = u64::from(order).saturating_mul(rank);
        if total > 63 {
            let rule = Rule::LayoutHilbertBitsTotal;
            return refuse(rule, 0, "hilbert_order", total, Expected::AtMost(63));
        }
        Ok(Self { order })
    }

    /// The number of places, 2^(rank · order).
    pub(crate) fn places(&self, rank: usize) -> u128 {
        let bits = u32::try_from(rank).ok().and_then(|rank| rank.checked_mul(self.order));
        bits.and_then(|bits| 1_u128.checked_shl(bits)).unwrap_or(u128::MAX)
    }

    /// The place of `index` on the curve.
    pub(crate) fn offset(&self, index: &[u64]) -> Option<i128> {
        let rank = index.len();
        let mut x = [0_u64; Limits::RANK as usize];
        let x = x.get_mut(..rank)?;
        x.copy_from_slice(index);

        for bit in (1..self.order).rev() {
            let q = 1_u64.checked_shl(bit)?;
            let mask = q.wrapping_sub(1);
            for i in 0..rank {
                let (first, at) = (*x.first()?, *x.get(i)?);
                if at & q != 0 {
                    *x.first_mut()? = first ^ mask;
                } else {
                    let swap = (first ^ at) & mask;
                    *x.first_mut()? ^= swap;
                    *x.get_mut(i)? ^= swap;
                }
            }
        }

        let mut before = *x.first()?;
        for at in x.iter_mut().skip(1) {
            *at ^= before;
            before = *at;
        }
        let last = *x.last()?;
        let mut t = 0;
        for bit in (1..self.order).rev() {
            let q = 1_u64.checked_shl(bit)?;
            if last & q != 0 {
                t ^= q.wrapping_sub(1);
            }
        }

        let mut code: u64 = 0;
        for bit in (0..self.order).rev() {
            for at in x.iter() {
                code = code.checked_shl(1)? | ((at ^ t).checked_shr(bit)? & 1);
            }
        }
        Some(i128::from(code))
    }
}
