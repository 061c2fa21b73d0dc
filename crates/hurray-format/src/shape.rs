//! Shapes: one size for each dimension, outermost first (specification page 02).

use crate::wire::Array;

/// The size of a dimension that is not known yet. Nothing is sized from it until it is
/// resolved.
pub const DYNAMIC: u64 = u64::MAX;

/// What the sizes say when multiplied out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    /// Some dimension is 0: no element, whatever the others.
    Empty,
    /// Some dimension is dynamic, and none is 0.
    Dynamic,
    /// So many elements; saturated at 128 bits.
    Elements(u128),
}

/// How many elements `shape` has. A scalar, of rank 0, has one.
#[inline]
pub(crate) fn count(shape: &impl Array<u64>) -> Count {
    let mut product: u64 = 1;
    let mut wide = false;
    let mut dynamic = false;
    for size in shape.iter() {
        if size == 0 {
            return Count::Empty;
        }
        dynamic |= size == DYNAMIC;
        let (low, over) = product.overflowing_mul(size);
        product = low;
        wide |= over;
    }
    if dynamic {
        Count::Dynamic
    } else if wide {
        Count::Elements(product_of(shape.iter()))
    } else {
        Count::Elements(u128::from(product))
    }
}

/// The product of `sizes`, saturated at 128 bits unless one of them is 0.
pub(crate) fn product_of(sizes: impl Iterator<Item = u64>) -> u128 {
    sizes.fold(1, |product: u128, size| match size {
        0 => 0,
        // A saturated product stays what it is until a 0 comes.
        _ => product.saturating_mul(u128::from(size)),
    })
}

/// Whether some dimension is not known yet.
pub(crate) fn is_dynamic(shape: &impl Array<u64>) -> bool {
    shape.iter().any(|size| size == DYNAMIC)
}
