//! Rust's own numbers as elements of tensors.

#![allow(unsafe_code, reason = "numbers are seen as their bytes, and bytes as numbers")]

use hurray_format::Dtype;

/// A Rust type whose values are elements as they lie in memory: every pattern of its bits is
/// a value, it has no padding, and its bytes are the format's. On a machine that is not
/// little-endian only types of one byte are.
///
/// # Safety
///
/// All of that must hold, `DTYPE` must be the type of the format with the same size, and the
/// methods must be left as they are.
pub unsafe trait Element: Copy + Send + Sync + 'static {
    /// The type that a tensor of such elements has.
    const DTYPE: Dtype;

    /// The bytes of some elements, in place.
    fn bytes_of(elements: &[Self]) -> &[u8] {
        let length = size_of_val(elements);
        // SAFETY: the elements are `length` bytes without padding, all of them initialised, and
        // a byte has no alignment. The slice borrows them for as long.
        unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), length) }
    }

    /// Bytes as elements, in place. `None` where they are not aligned for them, or not whole.
    fn elements_of(bytes: &[u8]) -> Option<&[Self]> {
        // SAFETY: every pattern of bits is a value of the type.
        let (before, elements, after) = unsafe { bytes.align_to::<Self>() };
        (before.is_empty() && after.is_empty()).then_some(elements)
    }

    /// The element that the lowest bits of `bits` are.
    fn of_bits(bits: u128) -> Self {
        const { assert!(size_of::<Self>() <= size_of::<u128>()) };
        let bytes = bits.to_le_bytes();
        // SAFETY: these are initialised bytes, no fewer than the type has; every pattern of bits
        // is a value of it, and no alignment is asked for.
        unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() }
    }

    /// Bytes as elements that may be changed, in place; `None` as [`elements_of`](Self::elements_of).
    fn elements_of_mut(bytes: &mut [u8]) -> Option<&mut [Self]> {
        // SAFETY: every pattern of bits is a value of the type, and any value's bytes are bytes.
        let (before, elements, after) = unsafe { bytes.align_to_mut::<Self>() };
        (before.is_empty() && after.is_empty()).then_some(elements)
    }
}

macro_rules! elements {
    ($($number:ty = $dtype:ident;)*) => {$(
        // SAFETY: a number of Rust, or two of one type in a row, without padding, of which every
        // pattern of bits is a value, and the format's own type of that width and kind.
        unsafe impl Element for $number {
            const DTYPE: Dtype = Dtype::$dtype;
        }
    )*};
}

elements! {
    u8 = UInt8;
    i8 = Int8;
}

#[cfg(target_endian = "little")]
elements! {
    u16 = UInt16;
    i16 = Int16;
    u32 = UInt32;
    i32 = Int32;
    u64 = UInt64;
    i64 = Int64;
    f32 = Float32;
    f64 = Float64;
    // The real part, then the imaginary one.
    [f32; 2] = Complex64;
    [f64; 2] = Complex128;
}

#[cfg(all(feature = "half", target_endian = "little"))]
elements! {
    half::f16 = Float16;
    half::bf16 = BFloat16;
}

// `Complex` is declared `repr(C)`: the real part, then the imaginary one.
#[cfg(all(feature = "complex", target_endian = "little"))]
elements! {
    num_complex::Complex<f32> = Complex64;
    num_complex::Complex<f64> = Complex128;
}
