//! Memory whose bytes somebody else can still change.

#![allow(unsafe_code, reason = "memory that changes is looked at here, without trusting it")]

use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use hurray_format::{Expected, Rule, Value};

use super::{Buffer, BufferMut, Returned};
use crate::error::Result;
use crate::memory::{Region, Shared, as_u64, refuse};

/// A [`Buffer`] of host memory that others may go on changing, such as another process: its
/// bytes are copied out, and there is no slice of them unless somebody vouches for that.
///
/// A copy that is made while somebody writes may hold some of the old bytes and some of the new.
/// It does not change any more: check the copy, and use the copy.
#[derive(Clone)]
pub struct SharedBytes(Buffer);

impl Buffer {
    /// The same buffer as one whose bytes are copied out, whether others can change them or not.
    ///
    /// # Errors
    ///
    /// The buffer, with `memory.not-host`.
    pub fn into_shared(self) -> Result<SharedBytes, Returned<Self>> {
        match self.check_address() {
            Ok(()) => Ok(SharedBytes(self)),
            Err(error) => Err(Returned { value: self, error }),
        }
    }
}

impl SharedBytes {
    /// How many bytes there are, those of [`lead`](Buffer::lead) left out.
    pub fn len(&self) -> usize {
        let (_, length) = self.0.own();
        length
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The buffer it is.
    pub fn as_buffer(&self) -> &Buffer {
        &self.0
    }

    /// The buffer it was.
    pub fn into_buffer(self) -> Buffer {
        self.0
    }

    /// Copies the bytes from the `start`-th on, as many as `into` takes.
    ///
    /// # Errors
    ///
    /// `memory.range` where there are fewer.
    pub fn copy_to(&self, start: usize, into: &mut [u8]) -> Result<()> {
        let (first, length) = self.0.own();
        if start > length || into.len() > length.saturating_sub(start) {
            let found = Value::Unsigned(as_u64(start.saturating_add(into.len())));
            let expected = Expected::AtMost(as_u64(length));
            return Err(refuse(Rule::MemoryRange, "range", found, expected));
        }
        if !self.0.may_change() {
            // Some of it may be borrowed from its owner, which atomics would not leave alone.
            // SAFETY: memory of the host that nobody writes to while it is held.
            let bytes = unsafe { self.0.bytes_unchanging() };
            let from = bytes.get(start..).and_then(|rest| rest.get(..into.len()));
            into.copy_from_slice(from.unwrap_or_default());
        } else if !into.is_empty() {
            // SAFETY: as many bytes lie inside the region from there on, which is host memory for
            // as long as it is held, as whoever made it promised. `into` is borrowed exclusively,
            // so that it is not that memory.
            unsafe { copy_changing(first.wrapping_add(start), into) };
        }
        Ok(())
    }

    /// A copy of it in host memory of its own, at a multiple of 64; what is in front of
    /// adopted memory becomes zeros.
    ///
    /// # Errors
    ///
    /// Out of memory, as an error and not as an abort.
    pub fn copy_out(&self) -> Result<BufferMut> {
        let lead = usize::try_from(self.0.lead()).unwrap_or(0);
        let mut copy = BufferMut::zeroed(lead.saturating_add(self.len()))?;
        self.copy_to(0, copy.get_mut(lead..).unwrap_or_default())?;
        Ok(copy)
    }

    /// The bytes themselves.
    ///
    /// # Safety
    ///
    /// Nobody may write to them while they are borrowed: no other process, no device, no other
    /// mapping of the same memory in this one.
    pub unsafe fn as_slice(&self) -> &[u8] {
        // SAFETY: passed on to the caller.
        unsafe { self.0.bytes_unchanging() }
    }

    /// The same memory as a buffer that does not change any more, and that nobody may write to.
    /// The two are released as one.
    ///
    /// # Safety
    ///
    /// From here on nobody may write to the bytes until the memory is released: a seal that
    /// forbids it is a proof, a peer's word is not.
    pub unsafe fn trust(self) -> Buffer {
        let Buffer { memory, start, length } = self.0;
        let region = Region { may_change: false, writable: false, ..memory.region };
        let lead = memory.lead;
        Buffer { memory: Shared::settled(region, lead, memory), start, length }
    }
}

impl fmt::Debug for SharedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedBytes({} bytes)", self.len())
    }
}

/// Copies bytes that may change meanwhile: each is read once, as an atomic is, so that whatever
/// is written at the same time by whoever else, what was read is some value.
///
/// # Safety
///
/// From `from` on as many bytes as `into` has must be readable for the length of the call.
pub(crate) unsafe fn copy_changing(from: *const u8, into: &mut [u8]) {
    const WORD: usize = size_of::<usize>();
    let front = from.align_offset(WORD).min(into.len());
    let (front, rest) = into.split_at_mut(front);
    let words = from.wrapping_add(front.len());
    let (middle, back) = rest.as_chunks_mut::<WORD>();
    let behind = words.wrapping_add(middle.as_flattened().len());
    for (place, byte) in front.iter_mut().enumerate() {
        // SAFETY: inside the bytes that the caller promises.
        *byte = unsafe { read_byte(from.wrapping_add(place)) };
    }
    for (place, word) in middle.iter_mut().enumerate() {
        // SAFETY: a whole word inside the bytes that the caller promises, at a multiple of its
        // size.
        *word = unsafe { read_word(words.cast::<usize>().wrapping_add(place)) }.to_ne_bytes();
    }
    for (place, byte) in back.iter_mut().enumerate() {
        // SAFETY: inside the bytes that the caller promises.
        *byte = unsafe { read_byte(behind.wrapping_add(place)) };
    }
}

/// # Safety
///
/// The byte must be readable.
unsafe fn read_byte(at: *const u8) -> u8 {
    // SAFETY: an `AtomicU8` is laid out as a `u8`. A relaxed load no larger than a pointer may be
    // of memory that is mapped for reading only.
    let byte = unsafe { &*at.cast::<AtomicU8>() };
    byte.load(Ordering::Relaxed)
}

/// # Safety
///
/// The word must be readable and aligned.
unsafe fn read_word(at: *const usize) -> usize {
    // SAFETY: as for a byte; the address is a multiple of the word's size, as the caller promises.
    let word = unsafe { &*at.cast::<AtomicUsize>() };
    word.load(Ordering::Relaxed)
}
