//! Arrays as the wire has them, and as memory has them.

use alloc::vec::Vec;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Deref;

use smallvec::SmallVec;

use crate::error::Value;

/// Something with a fixed width on the wire: `u32`, `u64`, `i64` or a
/// [`BufferHandle`](crate::BufferHandle). Nobody else can add one, nor make one from
/// bytes that were not checked.
pub trait Item: Wire {}

impl<T: Wire> Item for T {}

/// How an item stands on the wire. Not nameable outside.
pub trait Wire: Copy + fmt::Debug + PartialEq {
    /// Its bytes.
    type Raw: Copy + AsRef<[u8]> + 'static;
    /// How many they are.
    const SIZE: usize;
    /// Takes the bytes apart.
    fn from_raw(raw: Self::Raw) -> Self;
    /// Puts them together.
    fn to_raw(self) -> Self::Raw;
    /// Cuts a slice into whole items; what is left over is dropped.
    fn chunks(bytes: &[u8]) -> &[Self::Raw];
    /// The same, to be written.
    fn chunks_mut(bytes: &mut [u8]) -> &mut [Self::Raw];
    /// Tells its fields to a trace: name, offset inside the item, length, value. An item
    /// that is one number has one field, named after the array.
    fn show(self, name: &'static str, tell: &mut dyn FnMut(&'static str, u64, u64, Value));
}

/// A plain number of the wire: `u32`, `u64` or `i64`.
pub trait Number: Item + Eq + Hash + Default {}

macro_rules! numbers {
    ($($number:ty, $size:literal, $show:expr;)*) => {$(
        impl Wire for $number {
            type Raw = [u8; $size];
            const SIZE: usize = $size;
            #[inline(always)]
            fn from_raw(raw: Self::Raw) -> Self {
                Self::from_le_bytes(raw)
            }
            #[inline(always)]
            fn to_raw(self) -> Self::Raw {
                self.to_le_bytes()
            }
            #[inline(always)]
            fn chunks(bytes: &[u8]) -> &[Self::Raw] {
                bytes.as_chunks().0
            }
            #[inline(always)]
            fn chunks_mut(bytes: &mut [u8]) -> &mut [Self::Raw] {
                bytes.as_chunks_mut().0
            }
            fn show(
                self,
                name: &'static str,
                tell: &mut dyn FnMut(&'static str, u64, u64, Value),
            ) {
                tell(name, 0, $size, $show(self.into()));
            }
        }
        impl Number for $number {}
    )*};
}

numbers! {
    u32, 4, Value::Unsigned;
    u64, 8, Value::Unsigned;
    i64, 8, Value::Signed;
}

/// An array that may be borrowed from the wire or kept in memory.
pub trait Array<T> {
    /// How many elements it has.
    fn len(&self) -> usize;
    /// Its elements in order.
    fn iter(&self) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator + Clone + '_;
    /// The element at `index`, if there is one.
    fn at(&self, index: usize) -> Option<T>;
    /// Whether it has none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// A copy of it.
    fn to_vec(&self) -> Vec<T> {
        self.iter().collect()
    }
}

/// An array left where it was read: little-endian, at any alignment.
pub struct WireArray<'a, T: Item> {
    raw: &'a [T::Raw],
}

impl<'a, T: Item> WireArray<'a, T> {
    /// The whole items in `bytes`.
    #[inline(always)]
    pub(crate) fn over(bytes: &'a [u8]) -> Self {
        Self { raw: T::chunks(bytes) }
    }

    #[inline(always)]
    pub(crate) fn raws(&self) -> &'a [T::Raw] {
        self.raw
    }

    /// The elements, for as long as the input lives.
    #[inline(always)]
    pub fn items(
        self,
    ) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator + Clone + use<'a, T> {
        self.raw.iter().map(|raw| T::from_raw(*raw))
    }
}

impl<T: Item> Array<T> for WireArray<'_, T> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.raw.len()
    }
    #[inline(always)]
    fn iter(&self) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator + Clone + '_ {
        self.raw.iter().map(|raw| T::from_raw(*raw))
    }
    #[inline(always)]
    fn at(&self, index: usize) -> Option<T> {
        self.raw.get(index).map(|raw| T::from_raw(*raw))
    }
}

impl<T: Item> Clone for WireArray<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Item> Copy for WireArray<'_, T> {}

impl<T: Item> PartialEq for WireArray<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T: Item + Eq> Eq for WireArray<'_, T> {}

impl<T: Item> fmt::Debug for WireArray<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// A short list of numbers, one for each dimension: up to eight of them inline, more on
/// the heap. It reads as a slice.
///
/// ```
/// use hurray_format::List;
/// let strides = List::from([4_i64, 1]);
/// assert_eq!(strides[..], [4, 1]);
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct List<T>(SmallVec<[T; INLINE]>);

/// How many numbers a list keeps inline.
const INLINE: usize = 8;

impl<T: Number> List<T> {
    /// A copy of `array`. Short ones, which nearly all are, are moved number by number:
    /// no loop, no memory between.
    #[inline(always)]
    pub(crate) fn of(array: &impl Array<T>) -> Self {
        if array.len() > INLINE {
            return Self(array.iter().collect());
        }
        let at = |k| array.at(k).unwrap_or_default();
        let inline = [at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)];
        Self(SmallVec::from_buf_and_len(inline, array.len()))
    }

    /// A copy of `items`.
    pub fn new(items: &[T]) -> Self {
        Self(SmallVec::from_slice(items))
    }
}

impl<T> Deref for List<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Number> Array<T> for List<T> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len()
    }
    #[inline(always)]
    fn iter(&self) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator + Clone + '_ {
        self.0.iter().copied()
    }
    #[inline(always)]
    fn at(&self, index: usize) -> Option<T> {
        self.0.get(index).copied()
    }
}

impl<T: Hash> Hash for List<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<T: fmt::Debug> fmt::Debug for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: Number> FromIterator<T> for List<T> {
    #[inline]
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(items.into_iter().collect())
    }
}

impl<T: Number> From<&[T]> for List<T> {
    fn from(items: &[T]) -> Self {
        Self::new(items)
    }
}

impl<T: Number, const N: usize> From<[T; N]> for List<T> {
    fn from(items: [T; N]) -> Self {
        Self::new(&items)
    }
}

impl<T: Number> From<Vec<T>> for List<T> {
    fn from(items: Vec<T>) -> Self {
        Self(SmallVec::from_vec(items))
    }
}
