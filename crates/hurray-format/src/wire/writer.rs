//! Writes into a slice that the caller sized; a section costs one bounds check.

/// Fills a slice from its start. Writing past its end is remembered, not done:
/// [`Writer::written`] says `None` then.
pub(crate) struct Writer<'a> {
    rest: &'a mut [u8],
    room: usize,
    overran: bool,
}

impl<'a> Writer<'a> {
    #[inline(always)]
    pub(crate) fn new(out: &'a mut [u8]) -> Self {
        let room = out.len();
        Self { rest: out, room, overran: false }
    }

    /// How many bytes were written, unless some did not fit.
    #[inline(always)]
    pub(crate) fn written(&self) -> Option<usize> {
        (!self.overran).then(|| self.room.saturating_sub(self.rest.len()))
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
