//! The file header, 64 bytes: `magic "HRRYFILE", major u8, minor u8, reserved u8[2],
//! file_flags u32, data_buffer_alignment u32, first_descriptor_offset u64,
//! tensor_count_hint u64, reserved u8[28]`.

use super::{DATA_ALIGNMENT, FILE_HEADER_LEN, FILE_MAGIC};
use crate::error::{Error, Expected, Result, Value};
use crate::rules::Rule;
use crate::wire::{Reader, Trace, Writer, as_offset};

/// What the first 64 bytes of a file say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileHeader {
    pub(super) version_minor: u8,
    pub(super) has_kv: bool,
    pub(super) is_sorted: bool,
    pub(super) has_crc: bool,
    pub(super) alignment: u32,
    pub(super) first_descriptor: u64,
    pub(super) count_hint: Option<u64>,
}

const HAS_KV: u32 = 1;
const SORTED: u32 = 1 << 1;
const HAS_CRC: u32 = 1 << 2;

impl FileHeader {
    /// Reads the header from the first bytes of a file.
    ///
    /// # Errors
    ///
    /// The rules of `file.header.*`, but for those that need the file's size.
    pub fn decode<T: Trace>(bytes: &[u8], trace: &mut T) -> Result<Self> {
        // A file of another kind is told by its first bytes, however short it is.
        if !bytes.iter().zip(&FILE_MAGIC).all(|(found, magic)| found == magic) {
            let found = Value::first_of(bytes);
            let expected = Expected::OneOf("\"HRRYFILE\"");
            return Err(Error::new(Rule::FileHeaderMagic, "magic", 0, found, expected));
        }
        let mut r = Reader::new(bytes, Rule::FileHeaderTruncated, trace);
        let block = r.block::<FILE_HEADER_LEN>("file header")?;
        let _: [u8; 8] = r.bytes(&block, 0, "magic");
        let major = r.u8(&block, 8, "version_major");
        let version_minor = r.u8(&block, 9, "version_minor");
        r.zeros::<FILE_HEADER_LEN, 2>(&block, 10, "reserved", Rule::FileHeaderReserved)?;
        let flags = r.flags32(&block, 12, "file_flags");
        let alignment = r.u32(&block, 16, "data_buffer_alignment");
        let first_descriptor = r.u64(&block, 20, "first_descriptor_offset");
        let hint = r.u64(&block, 28, "tensor_count_hint");
        r.zeros::<FILE_HEADER_LEN, 28>(&block, 36, "reserved", Rule::FileHeaderReservedTail)?;

        let refuse =
            |rule, at, name, found, expected| Err(block.refuse(rule, at, name, found, expected));
        if major != 1 {
            let found = Value::Unsigned(u64::from(major));
            let rule = Rule::FileHeaderVersionMajor;
            return refuse(rule, 8, "version_major", found, Expected::Exactly(1));
        }
        if flags > HAS_KV | SORTED | HAS_CRC {
            let found = Value::Tag(u64::from(flags));
            let rule = Rule::FileHeaderReservedFlag;
            return refuse(rule, 12, "file_flags", found, Expected::AtMost(7));
        }
        if let Some((rule, expected)) = alignment_fault(alignment) {
            let found = Value::Unsigned(u64::from(alignment));
            return refuse(rule, 16, "data_buffer_alignment", found, expected);
        }
        let first = |rule, expected| {
            let found = Value::Unsigned(first_descriptor);
            refuse(rule, 20, "first_descriptor_offset", found, expected)
        };
        if first_descriptor < as_offset(FILE_HEADER_LEN) {
            return first(Rule::FileHeaderFirstDescriptorInHeader, Expected::AtLeast(64));
        }
        if !first_descriptor.is_multiple_of(8) {
            let expected = Expected::OneOf("a multiple of 8");
            return first(Rule::FileHeaderFirstDescriptorMisaligned, expected);
        }
        Ok(Self {
            version_minor,
            has_kv: flags & HAS_KV != 0,
            is_sorted: flags & SORTED != 0,
            has_crc: flags & HAS_CRC != 0,
            alignment,
            first_descriptor,
            count_hint: (hint != u64::MAX).then_some(hint),
        })
    }

    /// The 64 bytes.
    pub fn encode(&self) -> [u8; FILE_HEADER_LEN] {
        let mut bytes = [0; FILE_HEADER_LEN];
        let mut w = Writer::new(&mut bytes);
        w.block(&FILE_MAGIC);
        w.block(&[1, self.version_minor, 0, 0]);
        w.u32(self.flags());
        w.u32(self.alignment);
        w.u64(self.first_descriptor);
        w.u64(self.count_hint.unwrap_or(u64::MAX));
        bytes
    }

    /// The flags as the wire has them: bit 0 key-values, 1 sorted, 2 CRC.
    pub fn flags(&self) -> u32 {
        let bit = |set: bool, flag: u32| if set { flag } else { 0 };
        bit(self.has_kv, HAS_KV) | bit(self.is_sorted, SORTED) | bit(self.has_crc, HAS_CRC)
    }

    /// The major version, always 1, and the minor one.
    pub fn version(&self) -> (u8, u8) {
        (1, self.version_minor)
    }

    /// Every buffer starts at a multiple of this, in bytes.
    pub fn alignment(&self) -> u32 {
        self.alignment
    }

    /// Whether the index is sorted by the bytes of the names.
    pub fn is_sorted(&self) -> bool {
        self.is_sorted
    }

    /// Where the first tensor starts, if there is one.
    pub fn first_descriptor(&self) -> u64 {
        self.first_descriptor
    }

    /// How many tensors the writer expected to write; never trusted.
    pub fn count_hint(&self) -> Option<u64> {
        self.count_hint
    }
}

/// The rule that a data alignment breaks.
pub(super) fn alignment_fault(alignment: u32) -> Option<(Rule, Expected)> {
    let (least, most) = (*DATA_ALIGNMENT.start(), *DATA_ALIGNMENT.end());
    if !alignment.is_power_of_two() {
        let expected = Expected::OneOf("a power of two from 4096 to 2097152");
        Some((Rule::FileHeaderAlignmentNotPowerOfTwo, expected))
    } else if alignment < least {
        Some((Rule::FileHeaderAlignmentTooSmall, Expected::AtLeast(u64::from(least))))
    } else if alignment > most {
        Some((Rule::FileHeaderAlignmentTooLarge, Expected::AtMost(u64::from(most))))
    } else {
        None
    }
}
