//! Writes into a slice that the caller sized; a section costs one bounds check.

/// Fills a slice from its start. Whoever makes one sized the slice for what is written;
/// past its end nothing is.
pub(crate) struct Writer<'a> {
    rest: &'a mut [u8],
}

impl<'a> Writer<'a> {
    #[inline(always)]
    pub(crate) fn new(out: &'a mut [u8]) -> Self {
        Self { rest: out }
    }

    /// What was not written yet.
    pub(crate) fn into_rest(self) -> &'a mut [u8] {
        self.rest
    }

    #[inline(always)]
    pub(crate) fn block<const N: usize>(&mut self, bytes: &[u8; N]) {
        if let Some((place, rest)) = core::mem::take(&mut self.rest).split_first_chunk_mut::<N>() {
            *place = *bytes;
            self.rest = rest;
        }
    }

    #[inline(always)]
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let rest = core::mem::take(&mut self.rest);
        if let Some((place, rest)) = rest.split_at_mut_checked(bytes.len()) {
            place.copy_from_slice(bytes);
            self.rest = rest;
        }
    }

    #[inline(always)]
    pub(crate) fn u8(&mut self, value: u8) {
        self.block(&[value]);
    }

    #[inline(always)]
    pub(crate) fn u16(&mut self, value: u16) {
        self.block(&value.to_le_bytes());
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
