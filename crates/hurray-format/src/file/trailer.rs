//! The trailer, the last 40 bytes: `index_offset u64, index_length u64, kv_offset u64,
//! kv_length u32, index_crc32c u32, reserved u8[4], magic "HRRY"`.

use super::FILE_TRAILER_LEN;
use crate::descriptor::MAGIC;
use crate::error::{Error, Expected, Result, Value};
use crate::rules::Rule;
use crate::wire::{Reader, Trace, Writer, as_offset};

/// What the last 40 bytes of a file say. The places are checked against the file by
/// [`Sections`](super::Sections).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trailer {
    /// Where the index starts.
    pub index_offset: u64,
    /// How long it is.
    pub index_length: u64,
    /// Where the key-values start, 0 without any.
    pub kv_offset: u64,
    /// How long they are.
    pub kv_length: u32,
    /// The CRC-32C of the index, or 0 without one.
    pub index_crc32c: u32,
}

impl Trailer {
    /// Reads the trailer, which is `bytes` and starts `offset` bytes into the file.
    ///
    /// # Errors
    ///
    /// `file.trailer.truncated`, `.magic`, `.reserved`.
    pub fn decode<T: Trace>(bytes: &[u8], offset: u64, trace: &mut T) -> Result<Self> {
        let mut moved = Moved { trace, offset };
        let mut r = Reader::new(bytes, Rule::FileTrailerTruncated, &mut moved);
        let read = (|| {
            let block = r.block::<FILE_TRAILER_LEN>("trailer")?;
            let magic: [u8; 4] = r.bytes(&block, 36, "magic");
            if magic != MAGIC {
                let found = Value::first_of(&magic);
                let expected = Expected::OneOf("\"HRRY\"");
                return Err(block.refuse(Rule::FileTrailerMagic, 36, "magic", found, expected));
            }
            let trailer = Self {
                index_offset: r.u64(&block, 0, "index_offset"),
                index_length: r.u64(&block, 8, "index_length"),
                kv_offset: r.u64(&block, 16, "kv_offset"),
                kv_length: r.u32(&block, 24, "kv_length"),
                index_crc32c: r.flags32(&block, 28, "index_crc32c"),
            };
            let rule = Rule::FileTrailerReserved;
            r.zeros::<FILE_TRAILER_LEN, 4>(&block, 32, "reserved", rule)?;
            Ok(trailer)
        })();
        read.map_err(|error: Error| error.shifted(offset))
    }

    /// The 40 bytes.
    pub fn encode(&self) -> [u8; FILE_TRAILER_LEN] {
        let mut bytes = [0; FILE_TRAILER_LEN];
        let mut w = Writer::new(&mut bytes);
        w.u64(self.index_offset);
        w.u64(self.index_length);
        w.u64(self.kv_offset);
        w.u32(self.kv_length);
        w.u32(self.index_crc32c);
        w.zeros::<4>();
        w.block(&MAGIC);
        bytes
    }

    /// Refuses a field of the trailer of a file of `size` bytes.
    #[cold]
    pub(super) fn refuse(
        size: u64,
        rule: Rule,
        at: u64,
        name: &'static str,
        found: u64,
        expected: Expected,
    ) -> Error {
        let start = size.saturating_sub(as_offset(FILE_TRAILER_LEN));
        Error::new(rule, name, start.saturating_add(at), Value::Unsigned(found), expected)
    }
}

/// A trace of an input that starts later in a larger one.
pub(super) struct Moved<'t, T> {
    pub(super) trace: &'t mut T,
    pub(super) offset: u64,
}

impl<T: Trace> Trace for Moved<'_, T> {
    const RECORDS: bool = T::RECORDS;

    #[inline(always)]
    fn field(&mut self, mut field: crate::wire::Field) {
        if T::RECORDS {
            field.offset = field.offset.saturating_add(self.offset);
            self.trace.field(field);
        }
    }
}
