//! Rust values that own memory: adopted as they are, without a copy.

use std::any::Any;

use super::{Region, Shared};
use crate::element::Element;
use crate::error::Result;

/// Memory that `owner` keeps, read-only: others may hold the owner's contents too.
pub(crate) fn kept_by<O, T>(owner: O, elements: impl Fn(&O) -> &[T]) -> Result<Shared>
where
    O: Any + Send,
    T: Element,
{
    Shared::of_owner(owner, |owner| {
        let bytes = T::bytes_of(elements(owner));
        Region::host(bytes.as_ptr().cast_mut(), bytes.len()).read_only()
    })
}

/// Memory of a vector, which nobody else can hold.
pub(crate) fn of_vec<T: Element>(elements: Vec<T>) -> Result<Shared> {
    let mut elements = elements;
    let length = size_of_val(elements.as_slice());
    // The pointer is taken once, and the vector is not touched until it is dropped or given back.
    let region = Region::host(elements.as_mut_ptr().cast(), length);
    Shared::new(region, elements)
}
