//! Rust values that own memory: adopted as they are, without a copy.

use std::any::Any;
use std::sync::Arc;

use super::{Memory, Region, Shared};
use crate::element::Element;
use crate::error::Result;

/// Memory that `owner` keeps, read-only: others may hold the owner's contents too.
///
/// The owner is asked for its elements once, where it stays for as long as it lives.
pub(crate) fn kept_by<O, T>(owner: O) -> Result<Shared>
where
    O: AsRef<[T]> + Any + Send + Sync,
    T: Element,
{
    let nowhere = Region::host(std::ptr::null_mut(), 0);
    let mut memory = Arc::new(Memory { region: nowhere, lead: 0, keep: owner });
    if let Some(memory) = Arc::get_mut(&mut memory) {
        let bytes = T::bytes_of(memory.keep.as_ref());
        let region = Region::host(bytes.as_ptr().cast_mut(), bytes.len()).read_only();
        region.check()?;
        (memory.region, memory.lead) = region.down_to_boundary();
    }
    Ok(memory)
}

/// An `Arc` seen as what it holds.
pub(crate) struct SharedOwner<O: ?Sized>(pub(crate) Arc<O>);

impl<T, O: AsRef<[T]> + ?Sized> AsRef<[T]> for SharedOwner<O> {
    fn as_ref(&self) -> &[T] {
        (*self.0).as_ref()
    }
}
