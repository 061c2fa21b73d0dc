//! Writes into a slice that the caller sized; a section costs one bounds check.

use super::array::Item;

/// Fills a slice from its start. Writing past its end is remembered, not done.
pub(crate) struct Writer<'a> {
    rest: &'a mut [u8],
    overran: bool,
}

impl<'a> Writer<'a> {
    #[inline(always)]
    pub(crate) fn new(out: &'a mut [u8]) -> Self {
        Self { rest: out, overran: false }
    }

    /// Whether the slice was filled, and not more.
    pub(crate) fn is_full(&self) -> bool {
        self.rest.is_empty() && !self.overran
    }

    #[inline(always)]
    pub(crate) fn block<const N: usize>(&mut self, bytes: &[u8; N]) {
        match core::mem::take(&mut self.rest).split_first_chunk_mut::<N>() {
            Some((place, rest)) => {
                *place = *bytes;
                self.rest = rest;
            }
            None => self.overran = true,
        }
    }

    /// Numbers or handles, one after the other.
    #[inline(always)]
    pub(crate) fn items<I: Item>(&mut self, items: impl ExactSizeIterator<Item = I>) {
        let length = items.len().saturating_mul(I::SIZE);
        match core::mem::take(&mut self.rest).split_at_mut_checked(length) {
            Some((place, rest)) => {
                for (raw, item) in I::chunks_mut(place).iter_mut().zip(items) {
                    *raw = item.to_raw();
                }
                self.rest = rest;
            }
            None => self.overran = true,
        }
    }

    /// Numbers of 32 bits that are known beforehand.
    #[inline(always)]
    pub(crate) fn words<const N: usize>(&mut self, words: [u32; N]) {
        self.items(words.into_iter());
    }

    /// Writes on with a writer of its own, so that this one stays in registers where
    /// `write` is a call.
    #[inline(always)]
    pub(crate) fn apart(&mut self, write: impl FnOnce(&mut Writer<'a>)) {
        let mut own = Writer { rest: core::mem::take(&mut self.rest), ..*self };
        write(&mut own);
        *self = own;
    }

    #[inline(always)]
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        match core::mem::take(&mut self.rest).split_at_mut_checked(bytes.len()) {
            Some((place, rest)) => {
                place.copy_from_slice(bytes);
                self.rest = rest;
            }
            None => self.overran = true,
        }
    }

    #[inline(always)]
    pub(crate) fn u8(&mut self, value: u8) {
        self.block(&[value]);
    }

    #[inline(always)]
    pub(crate) fn u32(&mut self, value: u32) {
        self.block(&value.to_le_bytes());
    }

    #[inline(always)]
    pub(crate) fn u64(&mut self, value: u64) {
        self.block(&value.to_le_bytes());
    }

    pub(crate) fn zeros<const N: usize>(&mut self) {
        self.block(&[0; N]);
    }
}
