//! Floats of 16 bits and fewer: a sign, an exponent, a mantissa, and what is beyond them.
//!
//! Every value of every one of them is a float32, so that decoding is exact.

use hurray_format::Dtype;

/// A format of small floats.
///
/// ```
/// use hurray_kernels::numbers::{Minifloat, Overflow};
///
/// let e4m3 = Minifloat::FLOAT8_E4M3;
/// assert_eq!(e4m3.decode(0x38), 1.0);
/// assert_eq!(e4m3.encode(1.03, Overflow::Saturate), 0x38);
/// assert_eq!(e4m3.encode(1000.0, Overflow::Saturate), 0x7E);
/// assert!(e4m3.decode(e4m3.encode(1000.0, Overflow::Special)).is_nan());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Minifloat {
    exponent_bits: u32,
    mantissa_bits: u32,
    bias: i32,
    beyond: Beyond,
}

/// What the codes with the highest exponent are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beyond {
    /// Infinities and NaNs, as in IEEE 754.
    Ieee,
    /// Numbers, but for a mantissa of ones, which is NaN.
    OneNan,
    /// Numbers.
    Nothing,
}

/// What becomes of a number that is too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Overflow {
    /// The largest number there is; infinities too.
    Saturate,
    /// Infinity, or NaN in a format that has NaN and no infinity; the largest number in one
    /// that has neither.
    #[default]
    Special,
}

impl Minifloat {
    /// `float16`.
    pub const FLOAT16: Self = Self::of(5, 10, 15, Beyond::Ieee);
    /// `bfloat16`.
    pub const BFLOAT16: Self = Self::of(8, 7, 127, Beyond::Ieee);
    /// `float8_e4m3`: no infinities, NaN is 0x7F and 0xFF, at most 448.
    pub const FLOAT8_E4M3: Self = Self::of(4, 3, 7, Beyond::OneNan);
    /// `float8_e5m2`: at most 57344.
    pub const FLOAT8_E5M2: Self = Self::of(5, 2, 15, Beyond::Ieee);
    /// `float6_e2m3`: at most 7.5.
    pub const FLOAT6_E2M3: Self = Self::of(2, 3, 1, Beyond::Nothing);
    /// `float6_e3m2`: at most 28.
    pub const FLOAT6_E3M2: Self = Self::of(3, 2, 3, Beyond::Nothing);
    /// `float4_e2m1`: at most 6.
    pub const FLOAT4_E2M1: Self = Self::of(2, 1, 1, Beyond::Nothing);

    const fn of(exponent_bits: u32, mantissa_bits: u32, bias: i32, beyond: Beyond) -> Self {
        Self { exponent_bits, mantissa_bits, bias, beyond }
    }

    /// The format of an element type. `None` for those that are not of this form, such as
    /// `float8_e8m0`, which has neither sign nor mantissa.
    pub const fn of_dtype(dtype: Dtype) -> Option<Self> {
        Some(match dtype {
            Dtype::Float16 => Self::FLOAT16,
            Dtype::BFloat16 => Self::BFLOAT16,
            Dtype::Float8E4M3 => Self::FLOAT8_E4M3,
            Dtype::Float8E5M2 => Self::FLOAT8_E5M2,
            Dtype::Float6E2M3 => Self::FLOAT6_E2M3,
            Dtype::Float6E3M2 => Self::FLOAT6_E3M2,
            Dtype::Float4E2M1 => Self::FLOAT4_E2M1,
            _ => return None,
        })
    }

    /// How many bits a code has.
    pub const fn bits(self) -> u32 {
        self.exponent_bits.saturating_add(self.mantissa_bits).saturating_add(1)
    }

    /// The number that `code` stands for; bits beyond the format's are passed over. A NaN keeps
    /// its sign and its payload.
    #[inline]
    pub const fn decode(self, code: u16) -> f32 {
        let [first, second] = code.to_le_bytes();
        let code = u32::from_le_bytes([first, second, 0, 0]);
        let (exponent_bits, mantissa_bits) = (self.exponent_bits, self.mantissa_bits);
        let magnitude_bits = exponent_bits.wrapping_add(mantissa_bits);
        let sign = (code >> magnitude_bits & 1) << 31;
        let highest = mask(exponent_bits);
        let exponent = code >> mantissa_bits & highest;
        let mantissa = code & mask(mantissa_bits);
        let widened = mantissa << 23_u32.wrapping_sub(mantissa_bits);
        let is_special = match self.beyond {
            Beyond::Ieee => exponent == highest,
            Beyond::OneNan => exponent == highest && mantissa == mask(mantissa_bits),
            Beyond::Nothing => false,
        };
        if is_special {
            return f32::from_bits(sign | 0x7F80_0000 | widened);
        }
        // The exponent of a float32 that has the value, before what a subnormal needs.
        let rebias = 127_i32.wrapping_sub(self.bias);
        if exponent == 0 {
            if mantissa == 0 || rebias == 0 {
                return f32::from_bits(sign | widened);
            }
            // The highest bit set becomes the one that is not written.
            let shift = mantissa.leading_zeros().wrapping_sub(32_u32.wrapping_sub(mantissa_bits));
            let shift = shift.wrapping_add(1);
            let exponent = rebias.wrapping_add(1).wrapping_sub(shift.cast_signed());
            let fraction = widened << shift & mask(23);
            return f32::from_bits(sign | exponent.cast_unsigned() << 23 | fraction);
        }
        let exponent = exponent.cast_signed().wrapping_add(rebias);
        f32::from_bits(sign | exponent.cast_unsigned() << 23 | widened)
    }

    /// The code of the number nearest to `value`; of two that are as near the one with the last
    /// bit clear. NaN becomes NaN where there is one, with its sign; where there is none, 0 with
    /// its sign.
    #[inline]
    pub const fn encode(self, value: f32, overflow: Overflow) -> u16 {
        let bits = value.to_bits();
        let (exponent_bits, mantissa_bits) = (self.exponent_bits, self.mantissa_bits);
        let magnitude_bits = exponent_bits.wrapping_add(mantissa_bits);
        let sign = bits >> 31 << magnitude_bits;
        let magnitude = bits & mask(31);
        let highest = mask(exponent_bits) << mantissa_bits;
        if magnitude > 0x7F80_0000 {
            let quiet = 1_u32 << mantissa_bits.wrapping_sub(1);
            let nan = match self.beyond {
                Beyond::Ieee => {
                    let payload = (magnitude & mask(23)) >> 23_u32.wrapping_sub(mantissa_bits);
                    highest | quiet | payload
                }
                Beyond::OneNan => mask(magnitude_bits),
                Beyond::Nothing => 0,
            };
            return low(sign | nan);
        }
        let largest = match self.beyond {
            Beyond::Ieee => highest.wrapping_sub(1),
            Beyond::OneNan => mask(magnitude_bits).wrapping_sub(1),
            Beyond::Nothing => mask(magnitude_bits),
        };
        let above = match (overflow, self.beyond) {
            (Overflow::Saturate, _) | (_, Beyond::Nothing) => largest,
            (Overflow::Special, Beyond::Ieee) => highest,
            (Overflow::Special, Beyond::OneNan) => mask(magnitude_bits),
        };
        let rebias = 127_i32.wrapping_sub(self.bias);
        let exponent = (magnitude >> 23).cast_signed();
        // What a float32 has in front of its fraction, and so many bits of it are too many.
        let (full, surplus) = match exponent.wrapping_sub(rebias) {
            // One less for each power of two below the smallest that is normal here.
            below if below <= 0 => {
                let hidden = if exponent == 0 { 0 } else { 1 << 23 };
                // A subnormal of a float32 has the exponent of the smallest that is not.
                let missing = if exponent == 0 { rebias } else { 1_i32.wrapping_sub(below) };
                let surplus =
                    23_u32.wrapping_sub(mantissa_bits).wrapping_add(missing.cast_unsigned());
                (hidden | magnitude & mask(23), surplus)
            }
            normal => {
                let rebiased = normal.cast_unsigned() << 23;
                (rebiased | magnitude & mask(23), 23_u32.wrapping_sub(mantissa_bits))
            }
        };
        let rounded = round(full, surplus);
        let code = if magnitude == 0x7F80_0000 || rounded > largest { above } else { rounded };
        low(sign | code)
    }
}

/// The code: no format has more than 16 bits.
const fn low(code: u32) -> u16 {
    let [first, second, ..] = code.to_le_bytes();
    u16::from_le_bytes([first, second])
}

/// So many ones.
const fn mask(bits: u32) -> u32 {
    (1_u32 << bits).wrapping_sub(1)
}

/// `value` without its last `surplus` bits, rounded to the nearest, ties to even.
const fn round(value: u32, surplus: u32) -> u32 {
    if surplus > 25 {
        return 0;
    }
    if surplus == 0 {
        return value;
    }
    let kept = value >> surplus;
    let half = 1_u32 << surplus.wrapping_sub(1);
    let rest = value & mask(surplus);
    if rest > half || (rest == half && kept & 1 == 1) { kept.wrapping_add(1) } else { kept }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Minifloat; 7] = [
        Minifloat::FLOAT16,
        Minifloat::BFLOAT16,
        Minifloat::FLOAT8_E4M3,
        Minifloat::FLOAT8_E5M2,
        Minifloat::FLOAT6_E2M3,
        Minifloat::FLOAT6_E3M2,
        Minifloat::FLOAT4_E2M1,
    ];

    fn codes(format: Minifloat) -> impl Iterator<Item = u16> {
        (0..=u16::MAX).take(1 << format.bits())
    }

    #[test]
    fn every_code_comes_back() {
        for format in ALL {
            for code in codes(format) {
                let value = format.decode(code);
                for overflow in [Overflow::Special, Overflow::Saturate] {
                    let again = format.encode(value, overflow);
                    if value.is_nan() {
                        assert!(format.decode(again).is_nan(), "{format:?} {code:#X}");
                    } else if value.is_finite() || overflow == Overflow::Special {
                        assert_eq!(again, code, "{format:?} {value}");
                    }
                }
            }
        }
    }

    #[test]
    fn between_two_the_nearer_and_of_the_middle_the_even() {
        for format in ALL {
            let half = 1_u16 << (format.bits() - 1);
            let finite = |code: &u16| format.decode(*code).is_finite();
            let positive: Vec<u16> =
                codes(format).take_while(|code| *code < half).filter(finite).collect();
            for pair in positive.windows(2) {
                let (low, high) = (format.decode(pair[0]), format.decode(pair[1]));
                assert!(low < high);
                // Exact, but between two halves of which a float32 has no middle.
                let middle = low + (high - low) / 2.0;
                if middle == low || middle == high {
                    continue;
                }
                let even = if pair[0] % 2 == 0 { pair[0] } else { pair[1] };
                let encode = |value: f32| format.encode(value, Overflow::Special);
                assert_eq!(encode(middle), even, "{format:?} {middle}");
                assert_eq!(encode(-middle), even | half, "{format:?} {middle}");
                assert_eq!(encode(middle.next_down()), pair[0], "{format:?} {middle}");
                assert_eq!(encode(middle.next_up()), pair[1], "{format:?} {middle}");
            }
        }
    }

    #[test]
    fn the_largest_are_those_of_the_specification() {
        let most = |format: Minifloat| format.decode(format.encode(f32::MAX, Overflow::Saturate));
        assert_eq!(ALL.map(most)[2..], [448.0, 57344.0, 7.5, 28.0, 6.0]);
        assert_eq!(most(Minifloat::FLOAT16), 65504.0);
    }
}
