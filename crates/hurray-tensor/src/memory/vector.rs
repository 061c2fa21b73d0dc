//! A vector's memory while a buffer holds it, to be freed or given back as the vector it was.

#![allow(unsafe_code, reason = "a vector is taken apart here, and put together again")]

use std::mem::ManuallyDrop;

use super::Region;
use crate::element::Element;

/// A vector taken apart: nothing looks at its elements through it.
pub(crate) struct Vector<T: Element> {
    first: *mut T,
    length: usize,
    capacity: usize,
}

// SAFETY: the memory of a vector belongs to no thread, its elements may be sent to others, and
// the pointer is only used by whoever has the value alone.
unsafe impl<T: Element> Send for Vector<T> {}
// SAFETY: a shared reference to it reaches nothing: its fields are private, and used by methods
// that have it alone.
unsafe impl<T: Element> Sync for Vector<T> {}

impl<T: Element> Vector<T> {
    /// The vector apart, and where its elements are.
    pub(crate) fn new(elements: Vec<T>) -> (Self, Region) {
        let mut elements = ManuallyDrop::new(elements);
        let (length, capacity) = (elements.len(), elements.capacity());
        let bytes = size_of_val(elements.as_slice());
        let first = elements.as_mut_ptr();
        (Self { first, length, capacity }, Region::host(first.cast(), bytes))
    }

    /// The vector again, as its elements are now. An empty one is left behind.
    pub(crate) fn take(&mut self) -> Vec<T> {
        let (left, _) = Self::new(Vec::new());
        let mut left = ManuallyDrop::new(std::mem::replace(self, left));
        let Self { first, length, capacity } = &mut *left;
        // SAFETY: these three came from a vector that was never dropped, and are used once:
        // what is left behind are those of another one.
        unsafe { Vec::from_raw_parts(*first, *length, *capacity) }
    }
}

impl<T: Element> Drop for Vector<T> {
    fn drop(&mut self) {
        // SAFETY: these three came from a vector that was never dropped, and are not used again.
        drop(unsafe { Vec::from_raw_parts(self.first, self.length, self.capacity) });
    }
}
