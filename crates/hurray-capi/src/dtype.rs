//! Element types.

use std::ffi::c_char;
use std::ptr;

use hurray_tensor::format::{
    Dtype, Error, Expected, ExtensionType, FloatFormat, Kind, PrivateDtype, Rule, Value,
};

use crate::failure::{Result, refused};
use crate::fence::fence_or;
use crate::growing::{Growing, flag, zeros};
use crate::pointer::text;
use crate::words::{Words, words};

/// What the bits of a private element type are.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HurrayExtensionType {
    /// sizeof(struct HurrayExtensionType).
    pub struct_size: u32,
    /// Bits of an element: 1, 2, 4 or whole bytes.
    pub bit_width: u32,
    /// What is subtracted from a float's exponent.
    pub exponent_bias: u32,
    /// 0 for an integer, 1 for a float.
    pub is_float: u8,
    /// Of an integer: 1 where it has a sign.
    pub is_signed: u8,
    /// Of a float: 0 or 1.
    pub sign_bits: u8,
    /// Of a float.
    pub exponent_bits: u8,
    /// Of a float.
    pub mantissa_bits: u8,
    /// Of a float: 1 where some codes are NaN.
    pub has_nan: u8,
    /// Of a float: 1 where some codes are infinite.
    pub has_inf: u8,
    /// Zero.
    pub reserved: [u8; 5],
}

// SAFETY: as the trait asks; numbers are values whatever their bits.
unsafe impl Growing for HurrayExtensionType {
    const FIRST: usize = 24;
}

static NAMES: Words = words!(Dtype::ALL, dtype => dtype.name());

/// The name of an element type, such as "float32"; NULL for tags that have none, as private ones.
/// Good for ever.
#[unsafe(no_mangle)]
pub extern "C" fn hurray_dtype_name(dtype: u8) -> *const c_char {
    fence_or(ptr::null(), || {
        let place = Dtype::ALL.iter().position(|known| known.tag() == dtype);
        Ok(place.map_or(ptr::null(), |place| NAMES.at(place)))
    })
}

/// The tag of the element type with that name; 0, which is none, where no type has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_dtype_from_name(name: *const c_char) -> u8 {
    fence_or(0, || {
        // SAFETY: the contract of the header.
        let name = unsafe { text(name, "name") }?;
        Ok(Dtype::from_name(name).map_or(0, Dtype::tag))
    })
}

/// The bits of one element of a type; 0 where the format names no such type.
#[unsafe(no_mangle)]
pub extern "C" fn hurray_dtype_bits(dtype: u8) -> u32 {
    fence_or(0, || Ok(Dtype::from_tag(dtype).map_or(0, Dtype::bits)))
}

/// The type with that tag, and with that record where it is private.
pub(crate) fn dtype_of(tag: u8, record: Option<&HurrayExtensionType>) -> Result<Dtype> {
    let refuse_tag = |rule| {
        let found = Value::Tag(u64::from(tag));
        Error::new(rule, "dtype", 0, found, Expected::Unsaid)
    };
    match record {
        None => Ok(Dtype::from_tag(tag).map_err(refuse_tag)?),
        Some(record) => {
            let record = extension_of(record)?;
            Ok(Dtype::Private(PrivateDtype::new(tag, record).map_err(refuse_tag)?))
        }
    }
}

impl HurrayExtensionType {
    /// What the bits of a private type are; the others have no record.
    pub(crate) fn of(dtype: Dtype) -> Result<Self> {
        let Dtype::Private(private) = dtype else {
            return Err(refused(Rule::CapiAbsent, "extension"));
        };
        let record = private.record();
        let float = record.float_format();
        let part = |pick: fn(FloatFormat) -> u8| float.map_or(0, pick);
        Ok(Self {
            struct_size: 0,
            bit_width: record.bit_width(),
            exponent_bias: float.map_or(0, |float| float.exponent_bias),
            is_float: u8::from(float.is_some()),
            is_signed: u8::from(record.kind() == Kind::Signed),
            sign_bits: part(|float| float.sign_bits),
            exponent_bits: part(|float| float.exponent_bits),
            mantissa_bits: part(|float| float.mantissa_bits),
            has_nan: part(|float| u8::from(float.has_nan)),
            has_inf: part(|float| u8::from(float.has_inf)),
            reserved: [0; 5],
        })
    }
}

/// What the bits of a private type are, as the caller says.
fn extension_of(theirs: &HurrayExtensionType) -> Result<ExtensionType> {
    zeros(&theirs.reserved)?;
    let is_signed = flag(theirs.is_signed, "is_signed")?;
    let float = FloatFormat {
        sign_bits: theirs.sign_bits,
        exponent_bits: theirs.exponent_bits,
        mantissa_bits: theirs.mantissa_bits,
        exponent_bias: theirs.exponent_bias,
        has_nan: flag(theirs.has_nan, "has_nan")?,
        has_inf: flag(theirs.has_inf, "has_inf")?,
    };
    Ok(match flag(theirs.is_float, "is_float")? {
        true => ExtensionType::float(theirs.bit_width, float)?,
        false => ExtensionType::integer(theirs.bit_width, is_signed)?,
    })
}
