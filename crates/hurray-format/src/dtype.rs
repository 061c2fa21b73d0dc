//! Element types (specification page 03): one row each, and the arithmetic of packing.
//!
//! Types below eight bits are packed least significant bit first; the 6-bit ones go
//! four to a group of three bytes. All bit patterns survive.

use core::fmt;

use crate::descriptor::ExtensionType;
use crate::rules::Rule;

/// What kind of number a type is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A floating-point number.
    Float,
    /// A signed integer.
    Signed,
    /// An unsigned integer.
    Unsigned,
    /// One bit: false or true.
    Bool,
    /// Two floats: real, then imaginary.
    Complex,
}

macro_rules! dtypes {
    ($($variant:ident = $tag:literal, $name:literal, $bits:literal, $align:literal, $kind:ident;)*) => {
        /// An element type.
        ///
        /// ```
        /// use hurray_format::Dtype;
        /// assert_eq!(Dtype::Int4.bits(), 4);
        /// assert_eq!(Dtype::Int4.bytes_for(3), Some(2));
        /// assert_eq!(Dtype::Float6E2M3.bytes_for(5), Some(6));
        /// assert_eq!(Dtype::from_name("bfloat16"), Some(Dtype::BFloat16));
        /// ```
        // With the tags as discriminants, a tag costs a load and not a jump.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum Dtype {
            $(#[doc = concat!("`", $name, "`, ", stringify!($bits), " bits, tag ", stringify!($tag), ".")] $variant = $tag,)*
            /// A type of the private range, described by its own record.
            Private(PrivateDtype) = 0xF0,
        }

        impl Dtype {
            /// Every type the format names, in the order of their tags.
            pub const ALL: &'static [Dtype] = &[$(Dtype::$variant,)*];

            /// The type with that tag. The private range has none without its record.
            ///
            /// # Errors
            ///
            /// The rule that the tag breaks.
            #[inline(always)]
            pub const fn from_tag(tag: u8) -> Result<Self, Rule> {
                match tag {
                    $($tag => Ok(Self::$variant),)*
                    0x00 | 0xFF => Err(Rule::TypeInvalidTag),
                    0xF0..=0xFE => Err(Rule::TypePrivateTag),
                    0x47 | 0x80..=0xEF => Err(Rule::TypeReservedTag),
                    _ => Err(Rule::TypeUnknownTag),
                }
            }

            /// Its tag on the wire.
            #[inline]
            pub const fn tag(self) -> u8 {
                match self {
                    $(Self::$variant => $tag,)*
                    Self::Private(private) => private.tag,
                }
            }

            /// Its name in the specification; `private` for the private range.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                    Self::Private(_) => "private",
                }
            }

            /// Bits per element.
            #[inline(always)]
            pub const fn bits(self) -> u32 {
                match self {
                    $(Self::$variant => $bits,)*
                    Self::Private(private) => private.record.bit_width(),
                }
            }

            /// Natural alignment of one element, in bytes.
            pub const fn alignment(self) -> u32 {
                match self {
                    $(Self::$variant => $align,)*
                    Self::Private(private) => private.record.bit_width().div_ceil(8),
                }
            }

            /// What kind of number it is; a private integer or float is what its record
            /// says.
            pub const fn kind(self) -> Kind {
                match self {
                    $(Self::$variant => Kind::$kind,)*
                    Self::Private(private) => private.record.kind(),
                }
            }
        }
    };
}

dtypes! {
    Float16 = 0x01, "float16", 16, 2, Float;
    BFloat16 = 0x02, "bfloat16", 16, 2, Float;
    Float32 = 0x03, "float32", 32, 4, Float;
    Float64 = 0x04, "float64", 64, 8, Float;
    Int8 = 0x10, "int8", 8, 1, Signed;
    UInt8 = 0x11, "uint8", 8, 1, Unsigned;
    Int16 = 0x12, "int16", 16, 2, Signed;
    UInt16 = 0x13, "uint16", 16, 2, Unsigned;
    Int32 = 0x14, "int32", 32, 4, Signed;
    UInt32 = 0x15, "uint32", 32, 4, Unsigned;
    Int64 = 0x16, "int64", 64, 8, Signed;
    UInt64 = 0x17, "uint64", 64, 8, Unsigned;
    Bool = 0x20, "bool", 1, 1, Bool;
    Float8E4M3 = 0x40, "float8_e4m3", 8, 1, Float;
    Float8E5M2 = 0x41, "float8_e5m2", 8, 1, Float;
    Float8E8M0 = 0x42, "float8_e8m0", 8, 1, Float;
    Float4E2M1 = 0x43, "float4_e2m1", 4, 1, Float;
    Float6E2M3 = 0x44, "float6_e2m3", 6, 1, Float;
    Float6E3M2 = 0x45, "float6_e3m2", 6, 1, Float;
    Float128 = 0x46, "float128", 128, 16, Float;
    Int4 = 0x48, "int4", 4, 1, Signed;
    UInt4 = 0x49, "uint4", 4, 1, Unsigned;
    Int2 = 0x4A, "int2", 2, 1, Signed;
    UInt2 = 0x4B, "uint2", 2, 1, Unsigned;
    Complex64 = 0x50, "complex64", 64, 4, Complex;
    Complex128 = 0x51, "complex128", 128, 8, Complex;
}

impl Dtype {
    /// The type with that name, if the format has it.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|dtype| dtype.name() == name)
    }

    /// The bytes of `count` contiguous elements, or `None` beyond 128 bits.
    ///
    /// Whole bytes per element are multiplied; 1, 2 and 4 bits round up to a byte; 6 bits
    /// round up to a group of four elements in three bytes.
    #[inline]
    pub const fn bytes_for(self, count: u128) -> Option<u128> {
        match self.bits() {
            6 => count.div_ceil(4).checked_mul(3),
            bits => match count.checked_mul(bits as u128) {
                Some(bits) => Some(bits.div_ceil(8)),
                None => None,
            },
        }
    }

    /// The same for a count of 64 bits, whose bytes always fit 128.
    #[inline(always)]
    pub(crate) fn bytes_of(self, count: u64) -> u128 {
        match self.bits() {
            6 => u128::from(count).div_ceil(4).saturating_mul(3),
            bits => u128::from(count).saturating_mul(u128::from(bits)).div_ceil(8),
        }
    }

    /// Where element `offset` of a run that starts at `byte_offset` lies. `None` when
    /// that is before byte 0 or beyond 64 bits.
    pub(crate) fn place(self, byte_offset: u64, offset: i128) -> Option<Location> {
        let bits = i128::from(self.bits());
        let start = i128::from(byte_offset).checked_mul(8)?;
        let bit = start.checked_add(offset.checked_mul(bits)?)?;
        Some(Location {
            byte: u64::try_from(bit.div_euclid(8)).ok()?,
            bit: u8::try_from(bit.rem_euclid(8)).ok()?,
        })
    }

    /// The least and greatest integer the type holds, where it is an integer of at most
    /// 32 bits.
    pub(crate) const fn integer_range(self) -> Option<(i64, i64)> {
        Some(match self {
            Self::Int2 => (-2, 1),
            Self::UInt2 => (0, 3),
            Self::Int4 => (-8, 7),
            Self::UInt4 => (0, 15),
            Self::Int8 => (-128, 127),
            Self::UInt8 => (0, 255),
            Self::Int16 => (-32_768, 32_767),
            Self::UInt16 => (0, 65_535),
            Self::Int32 => (-2_147_483_648, 2_147_483_647),
            Self::UInt32 => (0, 4_294_967_295),
            _ => return None,
        })
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Private(private) => write!(f, "private 0x{:02X}", private.tag),
            named => f.write_str(named.name()),
        }
    }
}

/// An element type of the private range with the record that describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PrivateDtype {
    tag: u8,
    record: ExtensionType,
}

impl PrivateDtype {
    /// A private type.
    ///
    /// # Errors
    ///
    /// `ext-type.flag-unexpected` when `tag` is not in 0xF0–0xFE.
    pub const fn new(tag: u8, record: ExtensionType) -> Result<Self, Rule> {
        if !matches!(tag, 0xF0..=0xFE) {
            return Err(Rule::ExtTypeFlagUnexpected);
        }
        Ok(Self { tag, record })
    }

    /// Its tag, 0xF0–0xFE.
    pub const fn tag(self) -> u8 {
        self.tag
    }

    /// What its bits are.
    pub const fn record(self) -> ExtensionType {
        self.record
    }
}

/// Where an element lies in a buffer. It spans the type's bits from there upward, into
/// the next byte where they do not fit in this one (6-bit types only).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// Bytes from the start of the buffer.
    pub byte: u64,
    /// The element's lowest bit inside that byte, 0 for types of whole bytes.
    pub bit: u8,
}
