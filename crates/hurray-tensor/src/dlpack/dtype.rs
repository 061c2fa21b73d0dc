//! Element types: ours against DLPack's code and width.

use hurray_format::{Dtype, Expected, Rule, Value};

use super::raw::{DLDataType, FLAG_SUBBYTE_PADDED};
use crate::error::{Error, Result};
use crate::memory::refuse;

/// What has a code in DLPack. Codes 3 (opaque) and 7, 8, 9, 11, 13 (8-bit floats that are others
/// than ours) have no type here.
const TYPES: &[(Dtype, u8, u8)] = &[
    (Dtype::Int8, 0, 8),
    (Dtype::Int16, 0, 16),
    (Dtype::Int32, 0, 32),
    (Dtype::Int64, 0, 64),
    (Dtype::UInt8, 1, 8),
    (Dtype::UInt16, 1, 16),
    (Dtype::UInt32, 1, 32),
    (Dtype::UInt64, 1, 64),
    (Dtype::Float16, 2, 16),
    (Dtype::Float32, 2, 32),
    (Dtype::Float64, 2, 64),
    (Dtype::Float128, 2, 128),
    (Dtype::BFloat16, 4, 16),
    (Dtype::Complex64, 5, 64),
    (Dtype::Complex128, 5, 128),
    (Dtype::Bool, 6, 8),
    (Dtype::Float8E4M3, 10, 8),
    (Dtype::Float8E5M2, 12, 8),
    (Dtype::Float8E8M0, 14, 8),
    (Dtype::Float6E2M3, 15, 6),
    (Dtype::Float6E3M2, 16, 6),
    (Dtype::Float4E2M1, 17, 4),
    (Dtype::Int4, 0, 4),
    (Dtype::UInt4, 1, 4),
    (Dtype::Int2, 0, 2),
    (Dtype::UInt2, 1, 2),
];

/// A type of DLPack's as it lies in memory there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) dtype: Dtype,
    /// The bits from one element to the next: 8 for types below a byte that are padded to one,
    /// and for bool.
    pub(super) bits: u32,
}

impl Stored {
    /// Whether elements lie as they do here.
    pub(super) fn is_ours(self) -> bool {
        self.bits == self.dtype.bits()
    }
}

/// The code that DLPack has for a type. A bool of DLPack's is a byte wide: memory of ours is
/// copied to become one.
///
/// # Errors
///
/// `dlpack.type` for private types.
pub fn data_type(dtype: Dtype) -> Result<DLDataType> {
    let row = TYPES.iter().find(|row| row.0 == dtype).filter(|row| is_native(row.2));
    let row = row.ok_or_else(|| unknown(u64::from(dtype.tag())))?;
    Ok(DLDataType { code: row.1, bits: row.2, lanes: 1 })
}

/// What a code of DLPack's means under those flags.
pub(super) fn stored(dtype: DLDataType, flags: u64) -> Result<Stored> {
    if dtype.lanes != 1 {
        let found = Value::Unsigned(u64::from(dtype.lanes));
        return Err(refuse(Rule::DlpackLanes, "lanes", found, Expected::Exactly(1)));
    }
    let row = TYPES.iter().find(|row| (row.1, row.2) == (dtype.code, dtype.bits));
    let row = row.filter(|row| is_native(row.2));
    let found = u64::from(u16::from_be_bytes([dtype.code, dtype.bits]));
    let dtype = row.ok_or_else(|| unknown(found))?.0;
    let is_padded = flags & FLAG_SUBBYTE_PADDED != 0 || dtype == Dtype::Bool;
    let bits = if is_padded { dtype.bits().max(8) } else { dtype.bits() };
    Ok(Stored { dtype, bits })
}

/// Whether elements of so many bits lie as the machine has them, which DLPack asks, and with the
/// least significant byte first, which the format asks.
fn is_native(bits: u8) -> bool {
    cfg!(target_endian = "little") || bits <= 8
}

#[cold]
fn unknown(found: u64) -> Error {
    refuse(Rule::DlpackType, "dtype", Value::Tag(found), Expected::Unsaid)
}
