//! Shapes: one size for each dimension, outermost first (specification page 02).

use crate::wire::Array;

/// The size of a dimension that is not known yet. Nothing is sized from it until it is
/// resolved.
pub const DYNAMIC: u64 = u64::MAX;

/// What the sizes say when multiplied out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    /// So many elements; none where some dimension is 0, whatever the others.
    Elements(u64),
    /// Some dimension is dynamic, and none is 0.
    Dynamic,
    /// More elements than 64 bits count: [`product_of`] says how many.
    Beyond,
}

/// How many elements `shape` has. A scalar, of rank 0, has one.
#[inline(always)]
pub(crate) fn count(shape: &impl Array<u64>) -> Count {
    count_of(shape, |_, size| size)
}

/// How many elements a box has whose sizes are `of` those of `shape`.
#[inline(always)]
pub(crate) fn count_of(shape: &impl Array<u64>, of: impl Fn(usize, u64) -> u64) -> Count {
    let mut product: u64 = 1;
    let mut wide = false;
    for (k, size) in shape.iter().enumerate() {
        let (low, over) = product.overflowing_mul(of(k, size));
        product = low;
        wide |= over;
    }
    // A size of 0 makes the product 0; a dynamic one makes it wide, or what it is itself.
    if wide || matches!(product, 0 | DYNAMIC) {
        return unusual_count(shape.iter().enumerate().map(|(k, size)| of(k, size)));
    }
    Count::Elements(product)
}

#[cold]
fn unusual_count(sizes: impl Iterator<Item = u64> + Clone) -> Count {
    if sizes.clone().any(|size| size == 0) {
        return Count::Elements(0);
    }
    if sizes.clone().any(|size| size == DYNAMIC) {
        return Count::Dynamic;
    }
    u64::try_from(product_of(sizes)).map_or(Count::Beyond, Count::Elements)
}

/// The product of `sizes`, saturated at 128 bits unless one of them is 0.
pub(crate) fn product_of(mut sizes: impl Iterator<Item = u64>) -> u128 {
    let mut product: u64 = 1;
    while let Some(size) = sizes.next() {
        match product.checked_mul(size) {
            Some(more) => product = more,
            None => {
                return wide_product(u128::from(product).saturating_mul(u128::from(size)), sizes);
            }
        }
    }
    u128::from(product)
}

#[cold]
fn wide_product(first: u128, sizes: impl Iterator<Item = u64>) -> u128 {
    sizes.fold(first, |product: u128, size| match size {
        0 => 0,
        // A saturated product stays what it is until a 0 comes.
        _ => product.saturating_mul(u128::from(size)),
    })
}

/// Whether some dimension is not known yet.
pub(crate) fn is_dynamic(shape: &impl Array<u64>) -> bool {
    shape.iter().any(|size| size == DYNAMIC)
}
