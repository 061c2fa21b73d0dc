//! Copies that were asked for: elements wherever they lie, one after the other in memory of our
//! own.

use hurray_format::{Dtype, Expected, Rule, Value};

use super::dtype::Stored;
use super::strides::count;
use crate::buffer::Buffer;
use crate::error::{Error, Result};
use crate::memory::refuse;
use crate::tensor::bits::{Bits, packed};

/// What a copy is to be: so many elements, each as wide as `target` says.
pub(super) struct Copy {
    pub(super) count: u64,
    target: Stored,
    length: usize,
}

impl Copy {
    /// A copy of all elements of a shape, of at most `most` bytes.
    pub(super) fn of(shape: &[u64], target: Stored, most: u64) -> Result<Self> {
        let count = count(shape);
        let bytes = match target.is_ours() {
            true => target.dtype.bytes_for(count),
            false => count.checked_mul(u128::from(target.bits.div_ceil(8))),
        };
        let bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(u64::MAX);
        match (usize::try_from(bytes), u64::try_from(count)) {
            (Ok(length), Ok(count)) if bytes <= most => Ok(Self { count, target, length }),
            _ => Err(above(bytes, most)),
        }
    }

    /// The copy of elements that are stored like that, in row-major order.
    pub(super) fn make(&self, stored: Stored, elements: Bits<'_>) -> Result<Buffer> {
        let Stored { dtype, bits } = self.target;
        packed(self.length, |out| {
            if bits == stored.bits {
                return elements.pack(out);
            }
            let unused = u128::BITS.saturating_sub(dtype.bits());
            let mask = u128::MAX.checked_shr(unused).unwrap_or(0);
            elements.pack_as(bits, out, |found| match dtype {
                Dtype::Bool if found > 1 => Err(no_bool(found)),
                _ => Ok(found & mask),
            })
        })
    }
}

#[cold]
pub(super) fn above(bytes: u64, most: u64) -> Error {
    let (found, expected) = (Value::Unsigned(bytes), Expected::AtMost(most));
    refuse(Rule::DlpackCopyAboveLimit, "elements", found, expected)
}

#[cold]
fn no_bool(found: u128) -> Error {
    let found = u64::try_from(found).map_or(Value::BeyondU64, Value::Unsigned);
    refuse(Rule::DlpackBoolValue, "data", found, Expected::AtMost(1))
}
