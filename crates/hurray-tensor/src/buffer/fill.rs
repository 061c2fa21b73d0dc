//! Memory that is written once, and not before by zeros.

#![allow(unsafe_code, reason = "what was written is told from what was not")]

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::mem::MaybeUninit;
use std::slice;

use hurray_format::{Expected, Rule, Value};

use super::{Buffer, BufferMut};
use crate::error::{Error, Result};
use crate::memory::{Alignment, Contents, allocate, as_u64, refuse};

/// Host memory that nobody else holds, written from front to back. Full, it is a [`BufferMut`].
///
/// ```
/// use std::io::Write;
/// use hurray_tensor::{Alignment, Unfilled};
///
/// let mut memory = Unfilled::new(Alignment::LINE, 6)?;
/// memory.write_all(b"one")?;
/// memory.read_exact_from(&mut &b"two, and more"[..])?;
/// assert_eq!(memory.finish()?[..], *b"onetwo");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Unfilled {
    memory: Buffer,
    /// How many bytes were written, from the start on.
    filled: usize,
    /// How many bytes hold something, `filled` or more: those behind were zeros before, or what
    /// a reader left.
    initialised: usize,
}

/// How much is zeroed at once for a reader to write to: little enough to be still in the cache
/// when it does.
const STEP: usize = 64 << 10;

impl Unfilled {
    /// Room for `length` bytes, at a multiple of `alignment`.
    ///
    /// # Errors
    ///
    /// Out of memory, as an error and not as an abort; `memory.too-large` for more than can be
    /// addressed.
    pub fn new(alignment: Alignment, length: usize) -> Result<Self> {
        let (memory, contents) = allocate(length, alignment, Contents::Unwritten)?;
        let initialised = if contents == Contents::Zeros { length } else { 0 };
        Ok(Self { memory: Buffer::whole(memory), filled: 0, initialised })
    }

    /// How many bytes are still to be written.
    pub fn left(&self) -> usize {
        self.len().saturating_sub(self.filled)
    }

    /// The memory that is still to be written, as it is.
    pub fn rest(&mut self) -> &mut [MaybeUninit<u8>] {
        // Whoever gets it may leave it less written than it was.
        self.initialised = self.filled;
        let filled = self.filled;
        self.all().get_mut(filled..).unwrap_or_default()
    }

    /// Counts the next `written` bytes of [`rest`](Self::rest) as written.
    ///
    /// # Safety
    ///
    /// They must be.
    ///
    /// # Errors
    ///
    /// `memory.range` for more than there is room for; nothing is counted then.
    pub unsafe fn advance(&mut self, written: usize) -> Result<()> {
        if written > self.left() {
            let (found, most) = (as_u64(written), as_u64(self.left()));
            let (found, expected) = (Value::Unsigned(found), Expected::AtMost(most));
            return Err(refuse(Rule::MemoryRange, "written", found, expected));
        }
        self.filled = self.filled.saturating_add(written);
        self.initialised = self.initialised.max(self.filled);
        Ok(())
    }

    /// Fills the rest from a reader.
    ///
    /// # Errors
    ///
    /// What the reader says; `UnexpectedEof` where it ends before the memory is full. What was
    /// read until then is kept.
    pub fn read_exact_from(&mut self, source: &mut dyn Read) -> io::Result<()> {
        while self.left() > 0 {
            let step = self.zeroed_rest();
            let offered = step.len();
            match source.read(step) {
                Ok(0) => return Err(io::Error::from(ErrorKind::UnexpectedEof)),
                // No more than there was, whatever it says.
                Ok(read) => self.filled = self.filled.saturating_add(read.min(offered)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Fills the rest with zeros.
    pub fn zero_rest(&mut self) {
        let (initialised, length) = (self.initialised, self.len());
        for byte in self.all().get_mut(initialised..).unwrap_or_default() {
            byte.write(0);
        }
        // What a reader left there is not zeros.
        let filled = self.filled;
        for byte in self.all().get_mut(filled..initialised).unwrap_or_default() {
            byte.write(0);
        }
        (self.filled, self.initialised) = (length, length);
    }

    /// The memory, full.
    ///
    /// # Errors
    ///
    /// `memory.size` where [`left`](Self::left) says that bytes are missing.
    pub fn finish(self) -> Result<BufferMut> {
        if self.left() > 0 {
            let found = Value::Unsigned(as_u64(self.filled));
            let expected = Expected::Exactly(as_u64(self.len()));
            return Err(refuse(Rule::MemorySize, "filled", found, expected));
        }
        Ok(BufferMut::filled(self.memory))
    }

    /// Some of the rest, made readable.
    fn zeroed_rest(&mut self) -> &mut [u8] {
        let filled = self.filled;
        if self.initialised == filled {
            let end = filled.saturating_add(STEP).min(self.len());
            for byte in self.all().get_mut(filled..end).unwrap_or_default() {
                byte.write(0);
            }
            self.initialised = end;
        }
        let readable = filled..self.initialised;
        let rest = self.all().get_mut(readable).unwrap_or_default();
        let (first, length) = (rest.as_mut_ptr().cast::<u8>(), rest.len());
        // SAFETY: the slice is borrowed from `self` exclusively for as long, and everything
        // below `initialised` was written, or was zeros from the start.
        unsafe { slice::from_raw_parts_mut(first, length) }
    }

    /// All of the memory, whatever is in it.
    fn all(&mut self) -> &mut [MaybeUninit<u8>] {
        let length = self.len();
        if length == 0 {
            return &mut [];
        }
        let first = self.memory.region().host.cast();
        // SAFETY: `new` allocated the memory, `length` bytes from `first` on, which need not be
        // initialised for this type. It is held, and nobody else holds it; the exclusive borrow
        // of `self` keeps any other slice of it from existing meanwhile.
        unsafe { slice::from_raw_parts_mut(first, length) }
    }

    fn len(&self) -> usize {
        usize::try_from(self.memory.byte_size()).unwrap_or(0)
    }
}

/// Writes what there is room for.
impl Write for Unfilled {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(self.left());
        let bytes = bytes.get(..count).unwrap_or_default();
        // SAFETY: any byte is a byte that need not be initialised.
        let bytes = unsafe { slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) };
        let (start, end) = (self.filled, self.filled.saturating_add(count));
        if let Some(target) = self.all().get_mut(start..end) {
            target.copy_from_slice(bytes);
            self.filled = end;
            self.initialised = self.initialised.max(end);
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for Unfilled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Unfilled({} of {} bytes)", self.filled, self.len())
    }
}

impl BufferMut {
    /// A copy of `bytes`, at a multiple of 64.
    ///
    /// # Errors
    ///
    /// Out of memory, as an error and not as an abort.
    pub fn copy_of(bytes: &[u8]) -> Result<Self> {
        let mut copy = Unfilled::new(Alignment::LINE, bytes.len())?;
        copy.write_all(bytes).map_err(|error| Error::io("copy", error))?;
        copy.finish()
    }
}

impl Buffer {
    /// A copy of it in host memory of its own, at a multiple of 64; what is in front of
    /// adopted memory becomes zeros.
    ///
    /// # Errors
    ///
    /// As [`host_bytes`](Self::host_bytes); out of memory.
    pub fn copy_to_host(&self) -> Result<BufferMut> {
        self.copy_to_host_at(Alignment::LINE)
    }

    /// The same, at a multiple of `alignment`.
    ///
    /// # Errors
    ///
    /// As [`copy_to_host`](Self::copy_to_host).
    pub fn copy_to_host_at(&self, alignment: Alignment) -> Result<BufferMut> {
        const ZEROS: [u8; 64] = [0; 64];
        let bytes = self.host_bytes()?;
        let lead = usize::try_from(self.lead()).unwrap_or(0);
        let front = ZEROS.get(..lead).unwrap_or(&ZEROS);
        let mut copy = Unfilled::new(alignment, lead.saturating_add(bytes.len()))?;
        copy.write_all(front)
            .and_then(|()| copy.write_all(bytes))
            .map_err(|error| Error::io("copy", error))?;
        copy.finish()
    }
}
