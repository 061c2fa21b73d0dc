//! Layouts of the private range: `extension_layout_id u64, length u32, bytes`.

use crate::error::Result;
use crate::wire::{Borrowed, Owned, Reader, Storage, Trace, Writer};

/// A layout that whoever exchanges it has agreed on.
#[derive(Clone, Debug, PartialEq)]
pub struct PrivateLayout<S: Storage = Owned> {
    /// Its tag, 0xF0–0xFE.
    pub tag: u8,
    /// Which layout it is.
    pub id: u64,
    /// What belongs to it.
    pub data: S::Bytes,
}

impl<'a> PrivateLayout<Borrowed<'a>> {
    pub(crate) fn load<T: Trace>(r: &mut Reader<'a, '_, T>, tag: u8) -> Result<Self> {
        let block = r.block::<12>("layout fields")?;
        let id = r.u64(&block, 0, "extension_layout_id");
        let length = r.u32(&block, 8, "extension_data_length");
        let data = r.opaque("layout fields", "extension_data", u64::from(length))?;
        Ok(Self { tag, id, data })
    }
}

impl<S: Storage> PrivateLayout<S> {
    pub(crate) fn encoded_len(&self) -> usize {
        self.data.as_ref().len().saturating_add(12)
    }

    pub(crate) fn store(&self, w: &mut Writer<'_>) {
        w.u64(self.id);
        w.u32(u32::try_from(self.data.as_ref().len()).unwrap_or(u32::MAX));
        w.bytes(self.data.as_ref());
    }

    pub(crate) fn to_owned(&self) -> PrivateLayout {
        PrivateLayout { tag: self.tag, id: self.id, data: self.data.as_ref().into() }
    }
}
