//! The extension type section: what the bits of a private element type are.
//!
//! 20 bytes: `bit_width u32, packing_factor u8, is_float u8, is_signed u8, sign_bits u8,
//! exponent_bits u8, mantissa_bits u8, reserved u8[2], exponent_bias u32, has_nan u8,
//! has_inf u8, reserved u8[2]`.

use crate::dtype::Kind;
use crate::error::{Expected, Result, Value};
use crate::rules::Rule;
use crate::wire::{Reader, Trace, Writer};

/// The record of a private element type.
///
/// ```
/// use hurray_format::{Dtype, ExtensionType, PrivateDtype};
/// let int1 = ExtensionType::integer(1, false)?;
/// let dtype = Dtype::Private(PrivateDtype::new(0xF0, int1).unwrap());
/// assert_eq!(dtype.bytes_for(9), Some(2));
/// # Ok::<(), hurray_format::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExtensionType {
    bit_width: u32,
    numbers: Numbers,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Numbers {
    Integer { signed: bool },
    Float(FloatFormat),
}

/// How a private float spends its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FloatFormat {
    /// 0 or 1.
    pub sign_bits: u8,
    /// Bits of the exponent.
    pub exponent_bits: u8,
    /// Bits of the mantissa.
    pub mantissa_bits: u8,
    /// What is subtracted from the exponent.
    pub exponent_bias: u32,
    /// Whether some codes are NaN.
    pub has_nan: bool,
    /// Whether some codes are infinite.
    pub has_inf: bool,
}

impl ExtensionType {
    pub(crate) const SIZE: usize = 20;

    /// An integer of `bit_width` bits: 1, 2, 4 or whole bytes.
    ///
    /// # Errors
    ///
    /// The rule that the width breaks.
    pub fn integer(bit_width: u32, signed: bool) -> Result<Self> {
        Self { bit_width, numbers: Numbers::Integer { signed } }.checked()
    }

    /// A float of `bit_width` bits: 1, 2, 4 or whole bytes.
    ///
    /// # Errors
    ///
    /// The rule that the width or `sign_bits` breaks.
    pub fn float(bit_width: u32, format: FloatFormat) -> Result<Self> {
        Self { bit_width, numbers: Numbers::Float(format) }.checked()
    }

    /// Bits per element.
    pub const fn bit_width(self) -> u32 {
        self.bit_width
    }

    /// Elements per byte: 1 from 8 bits up.
    pub const fn packing_factor(self) -> u8 {
        match self.bit_width {
            1 => 8,
            2 => 4,
            4 => 2,
            _ => 1,
        }
    }

    /// What kind of number it is.
    pub const fn kind(self) -> Kind {
        match self.numbers {
            Numbers::Integer { signed: true } => Kind::Signed,
            Numbers::Integer { signed: false } => Kind::Unsigned,
            Numbers::Float(_) => Kind::Float,
        }
    }

    /// How a float spends its bits; `None` for integers.
    pub const fn float_format(self) -> Option<FloatFormat> {
        match self.numbers {
            Numbers::Float(format) => Some(format),
            Numbers::Integer { .. } => None,
        }
    }

    /// One validator: what is built is written and read back.
    fn checked(self) -> Result<Self> {
        let mut bytes = [0; Self::SIZE];
        self.store(&mut Writer::new(&mut bytes));
        Self::load(&mut Reader::new(&bytes, Rule::DescriptorOverrun, &mut crate::wire::Silent))
    }

    pub(crate) fn load<T: Trace>(r: &mut Reader<'_, '_, T>) -> Result<Self> {
        let block = r.block::<20>("extension type")?;
        let bit_width = r.u32(&block, 0, "bit_width");
        let packing = r.u8(&block, 4, "packing_factor");
        let is_float = r.u8(&block, 5, "is_float");
        let is_signed = r.u8(&block, 6, "is_signed");
        let sign_bits = r.u8(&block, 7, "sign_bits");
        let exponent_bits = r.u8(&block, 8, "exponent_bits");
        let mantissa_bits = r.u8(&block, 9, "mantissa_bits");
        r.zeros::<20, 2>(&block, 10, "reserved", Rule::ExtTypeReserved)?;
        let exponent_bias = r.u32(&block, 12, "exponent_bias");
        let has_nan = r.u8(&block, 16, "has_nan");
        let has_inf = r.u8(&block, 17, "has_inf");
        r.zeros::<20, 2>(&block, 18, "reserved", Rule::ExtTypeReserved2)?;

        let refuse = |rule, at, name, found: u32, expected| {
            block.refuse(rule, at, name, Value::Unsigned(u64::from(found)), expected)
        };
        let width_rule = match bit_width {
            0 => Some(Rule::ExtTypeBitWidthZero),
            3 | 5..=7 => Some(Rule::ExtTypeSubByteWidth),
            width if width > 8 && width % 8 != 0 => Some(Rule::ExtTypeWidthNotWholeBytes),
            _ => None,
        };
        if let Some(rule) = width_rule {
            let expected = Expected::OneOf("1, 2, 4 or a multiple of 8");
            return Err(refuse(rule, 0, "bit_width", bit_width, expected));
        }
        let flag = |rule, at, name, value: u8| {
            if value <= 1 {
                return Ok(value == 1);
            }
            Err(refuse(rule, at, name, u32::from(value), Expected::OneOf("0 or 1")))
        };
        let is_float = flag(Rule::ExtTypeIsFloat, 5, "is_float", is_float)?;
        let signed = flag(Rule::ExtTypeIsSigned, 6, "is_signed", is_signed)?;
        let has_nan = flag(Rule::ExtTypeNanInfFlag, 16, "has_nan", has_nan)?;
        let has_inf = flag(Rule::ExtTypeNanInfFlag, 17, "has_inf", has_inf)?;
        let numbers = if is_float {
            if signed {
                let rule = Rule::ExtTypeFloatIsSigned;
                return Err(refuse(rule, 6, "is_signed", 1, Expected::Exactly(0)));
            }
            flag(Rule::ExtTypeSignBits, 7, "sign_bits", sign_bits)?;
            Numbers::Float(FloatFormat {
                sign_bits,
                exponent_bits,
                mantissa_bits,
                exponent_bias,
                has_nan,
                has_inf,
            })
        } else {
            let zero = |rule, at, name, value: u32| match value {
                0 => Ok(()),
                _ => Err(refuse(rule, at, name, value, Expected::Exactly(0))),
            };
            zero(Rule::ExtTypeIntegerSignBits, 7, "sign_bits", u32::from(sign_bits))?;
            zero(Rule::ExtTypeIntegerExponentBits, 8, "exponent_bits", u32::from(exponent_bits))?;
            zero(Rule::ExtTypeIntegerMantissaBits, 9, "mantissa_bits", u32::from(mantissa_bits))?;
            zero(Rule::ExtTypeIntegerExponentBias, 12, "exponent_bias", exponent_bias)?;
            zero(Rule::ExtTypeIntegerNanInf, 16, "has_nan", u32::from(has_nan))?;
            zero(Rule::ExtTypeIntegerNanInf, 17, "has_inf", u32::from(has_inf))?;
            Numbers::Integer { signed }
        };
        let record = Self { bit_width, numbers };
        if packing != record.packing_factor() {
            let expected = Expected::Exactly(u64::from(record.packing_factor()));
            let rule = Rule::ExtTypePackingFactor;
            return Err(refuse(rule, 4, "packing_factor", u32::from(packing), expected));
        }
        Ok(record)
    }

    pub(crate) fn store(self, w: &mut Writer<'_>) {
        let float = self.float_format();
        let part = |pick: fn(FloatFormat) -> u8| float.map_or(0, pick);
        w.u32(self.bit_width);
        w.block(&[
            self.packing_factor(),
            u8::from(float.is_some()),
            u8::from(self.kind() == Kind::Signed),
            part(|f| f.sign_bits),
            part(|f| f.exponent_bits),
            part(|f| f.mantissa_bits),
            0,
            0,
        ]);
        w.u32(float.map_or(0, |f| f.exponent_bias));
        w.block(&[part(|f| u8::from(f.has_nan)), part(|f| u8::from(f.has_inf)), 0, 0]);
    }
}
