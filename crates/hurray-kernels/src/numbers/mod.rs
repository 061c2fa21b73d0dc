//! Numbers of the small element types, as the codes that stand for them (specification pages 03 and
//! 05).
//!
//! ```
//! use hurray_kernels::numbers::{self, Minifloat, Overflow};
//!
//! let e4m3 = Minifloat::FLOAT8_E4M3;
//! assert_eq!(e4m3.decode(e4m3.encode(1.03, Overflow::Saturate)), 1.0);
//! assert_eq!(numbers::e8m0(134), 128.0);
//! assert_eq!(numbers::NF4_TABLE[15], 1.0);
//! ```

mod minifloat;

pub use hurray_format::NF4_TABLE;
pub use minifloat::{Minifloat, Overflow};

/// The power of two that a code of `float8_e8m0` stands for: 2^(code − 127), and NaN for 0xFF.
///
/// Code 0 is 2^−127 here, as files have it, although the specification forbids to write it
/// (decision 22).
#[inline]
pub const fn e8m0(code: u8) -> f32 {
    match code {
        0 => f32::from_bits(0x0040_0000),
        0xFF => f32::NAN,
        // The exponent of a float32 is biased by 127 too.
        exponent => f32::from_bits((exponent as u32) << 23),
    }
}
