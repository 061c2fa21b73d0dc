//! CRC-32C by the processor's own instruction where there is one.

/// The CRC-32C of what had the checksum `before` (0 for nothing), followed by `bytes`.
///
/// The same function as [`hurray_format::crc32c`], many times faster.
///
/// ```
/// use hurray_kernels::checksum::crc32c;
/// assert_eq!(crc32c(0, b"123456789"), 0xE306_9283);
/// assert_eq!(crc32c(crc32c(0, b"1234"), b"56789"), 0xE306_9283);
/// ```
pub fn crc32c(before: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(before, bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_fast_checksum_is_the_portable_one(
            before: u32,
            bytes in proptest::collection::vec(any::<u8>(), 0..2000),
        ) {
            prop_assert_eq!(super::crc32c(before, &bytes), hurray_format::crc32c(before, &bytes));
        }
    }
}
