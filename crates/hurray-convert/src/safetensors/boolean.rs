//! Booleans: a byte each in safetensors, a bit each in Hurray, the first in the lowest bit.

/// Packs `bytes`, the last byte filled up with zeros.
///
/// # Errors
///
/// The place of the first byte that is neither 0 nor 1. What was appended then is of no
/// use.
pub(super) fn pack(bytes: &[u8], packed: &mut Vec<u8>) -> Result<(), usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    for (slot, byte) in last.iter_mut().zip(rest) {
        *slot = *byte;
    }
    let last = (!rest.is_empty()).then_some(&last);
    packed.reserve(words.len().saturating_add(1));
    // One look at all of them: a stray bit stays in the sum.
    let mut seen = 0;
    packed.extend(words.iter().chain(last).map(|word| {
        let word = u64::from_le_bytes(*word);
        seen |= word;
        gather(word)
    }));
    if seen & !ONES == 0 {
        return Ok(());
    }
    Err(bytes.iter().position(|byte| *byte > 1).unwrap_or_default())
}

/// Unpacks every bit of `packed`.
pub(super) fn unpack(packed: &[u8], bytes: &mut Vec<u8>) {
    bytes.extend(packed.iter().flat_map(|byte| spread(*byte).to_le_bytes()));
}

/// The lowest bit of each byte.
const ONES: u64 = 0x0101_0101_0101_0101;

/// The lowest bits of eight bytes in one byte. Multiplying moves bit 0 of byte i to bit i of
/// the highest byte, and no two meet.
fn gather(word: u64) -> u8 {
    let [.., gathered] = word.wrapping_mul(0x0102_0408_1020_4080).to_le_bytes();
    gathered
}

/// The bits of a byte in the lowest bits of eight. The mask leaves bit i in byte i; adding
/// carries any bit to the highest of its byte.
fn spread(byte: u8) -> u64 {
    let bits = u64::from(byte).wrapping_mul(ONES) & 0x8040_2010_0804_0201;
    (bits.wrapping_add(0x7F7F_7F7F_7F7F_7F7F) >> 7) & ONES
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_is_in_the_lowest_bit() {
        let mut packed = Vec::new();
        pack(&[1, 0, 1, 1, 0], &mut packed).unwrap();
        pack(&[0, 0, 0, 0, 0, 0, 0, 0, 1], &mut packed).unwrap();
        pack(&[], &mut packed).unwrap();
        assert_eq!(packed, [0x0D, 0x00, 0x01]);
    }

    #[test]
    fn every_byte_spreads_and_gathers() {
        for byte in 0..=255_u8 {
            let spread = spread(byte).to_le_bytes();
            for (bit, spread) in spread.into_iter().enumerate() {
                assert_eq!(spread, (byte >> bit) & 1);
            }
            assert_eq!(gather(u64::from_le_bytes(spread)), byte);
        }
    }

    proptest! {
        #[test]
        fn unpacking_gives_back_what_was_packed(bytes in proptest::collection::vec(0..2_u8, 0..100)) {
            let (mut packed, mut unpacked) = (Vec::new(), Vec::new());
            pack(&bytes, &mut packed).unwrap();
            prop_assert_eq!(packed.len(), bytes.len().div_ceil(8));
            unpack(&packed, &mut unpacked);
            prop_assert_eq!(&unpacked[..bytes.len()], &bytes);
            prop_assert!(unpacked[bytes.len()..].iter().all(|byte| *byte == 0));
        }

        #[test]
        fn the_first_byte_that_is_no_boolean_is_found(
            mut bytes in proptest::collection::vec(0..2_u8, 1..100),
            at: prop::sample::Index,
            wrong in 2..=255_u8,
        ) {
            let at = at.index(bytes.len());
            bytes[at] = wrong;
            prop_assert_eq!(pack(&bytes, &mut Vec::new()), Err(at));
        }
    }
}
