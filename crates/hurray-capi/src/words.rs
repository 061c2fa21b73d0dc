//! The words of a table as C has them: each ended by a zero byte, all of them made while
//! compiling, so that a pointer to one is good for ever.

use std::ffi::{CStr, c_char};
use std::ptr;

/// Words one after the other, each with a zero byte behind it.
pub(crate) struct Words(pub(crate) &'static [u8]);

impl Words {
    /// The word at `place`, or null where there are not so many.
    pub(crate) fn at(&self, place: usize) -> *const c_char {
        let word = self.0.split_inclusive(|byte| *byte == 0).nth(place);
        let word = word.and_then(|word| CStr::from_bytes_with_nul(word).ok());
        word.map_or(ptr::null(), CStr::as_ptr)
    }
}

/// The word that an expression gives for each item of a slice.
macro_rules! words {
    ($all:expr, $item:ident => $word:expr) => {{
        const LENGTH: usize = {
            let mut length = 0_usize;
            let mut rest = $all;
            while let Some(($item, tail)) = rest.split_first() {
                length = length.saturating_add($word.len()).saturating_add(1);
                rest = tail;
            }
            length
        };
        static BYTES: [u8; LENGTH] = {
            let mut bytes = [0; LENGTH];
            let mut free: &mut [u8] = &mut bytes;
            let mut rest = $all;
            while let Some(($item, tail)) = rest.split_first() {
                let word = $word.as_bytes();
                let (place, after) = free.split_at_mut(word.len());
                place.copy_from_slice(word);
                // One zero is left as it is.
                (_, free) = after.split_at_mut(1);
                rest = tail;
            }
            bytes
        };
        $crate::words::Words(&BYTES)
    }};
}
pub(crate) use words;
