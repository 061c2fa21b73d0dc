//! Where a decoded value keeps its arrays: in the input, or in itself.

use alloc::boxed::Box;
use core::fmt::Debug;
use core::marker::PhantomData;

use smallvec::SmallVec;

use super::array::{Array, List, Number, WireArray};
use crate::buffer::BufferHandle;

/// Either [`Borrowed`] from the input or [`Owned`].
///
/// [`Descriptor`](crate::Descriptor), [`Layout`](crate::Layout) and
/// [`Quantization`](crate::Quantization) are written once and are generic over this, so
/// that reading without a copy and keeping for later are the same type, rules and
/// arithmetic included.
pub trait Storage: Debug + Clone + Copy + PartialEq {
    /// One number for each dimension.
    type Numbers<T: Number>: Array<T> + Debug + Clone + PartialEq;
    /// The buffer table.
    type Handles: Array<BufferHandle> + Debug + Clone + PartialEq;
    /// A run of bytes that is rarely looked at.
    type Bytes: AsRef<[u8]> + Debug + Clone + PartialEq;
}

/// Arrays stay in the input, which must outlive the value. Nothing is allocated, but for
/// the list of a tiled layout's records.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Borrowed<'a>(PhantomData<&'a [u8]>);

impl<'a> Storage for Borrowed<'a> {
    type Numbers<T: Number> = WireArray<'a, T>;
    type Handles = WireArray<'a, BufferHandle>;
    type Bytes = &'a [u8];
}

/// The value keeps its own arrays: inline up to rank 8 and three buffers, on the heap
/// beyond.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Owned;

impl Storage for Owned {
    type Numbers<T: Number> = List<T>;
    type Handles = SmallVec<[BufferHandle; 3]>;
    type Bytes = Box<[u8]>;
}

impl Owned {
    /// A copy of a buffer table, as [`List::of`] copies numbers.
    #[inline(always)]
    pub(crate) fn handles(table: &impl Array<BufferHandle>) -> <Self as Storage>::Handles {
        if table.len() > 3 {
            return table.iter().collect();
        }
        let none = BufferHandle::cpu(0);
        let at = |place| table.at(place).unwrap_or(none);
        let inline = [at(0), at(1), at(2)];
        SmallVec::from_buf_and_len(inline, table.len())
    }
}

impl Array<BufferHandle> for SmallVec<[BufferHandle; 3]> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.as_slice().len()
    }
    #[inline(always)]
    fn iter(
        &self,
    ) -> impl DoubleEndedIterator<Item = BufferHandle> + ExactSizeIterator + Clone + '_ {
        self.as_slice().iter().copied()
    }
    #[inline(always)]
    fn at(&self, index: usize) -> Option<BufferHandle> {
        self.as_slice().get(index).copied()
    }
}
