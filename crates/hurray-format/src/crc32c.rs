//! CRC-32C, the portable way. Floors above pass a faster one in.

/// How a caller computes CRC-32C: from the checksum of what came before, 0 at the start,
/// and the bytes that follow.
pub type Checksum = fn(u32, &[u8]) -> u32;

const TABLE: [u32; 256] = table();

/// The CRC-32C (Castagnoli) of what had the checksum `before`, followed by `bytes`.
///
/// ```
/// use hurray_format::crc32c;
/// assert_eq!(crc32c(0, b"123456789"), 0xE306_9283);
/// assert_eq!(crc32c(crc32c(0, b"1234"), b"56789"), 0xE306_9283);
/// ```
pub fn crc32c(before: u32, bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        let [low, ..] = crc.to_le_bytes();
        let row = TABLE.get(usize::from(low ^ byte)).copied().unwrap_or_default();
        row ^ (crc >> 8)
    };
    !bytes.iter().fold(!before, step)
}

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut n: u32 = 0;
    let mut rest: &mut [u32] = &mut table;
    while let Some((entry, tail)) = rest.split_first_mut() {
        let mut crc = n;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0x82F6_3B78 } else { crc >> 1 };
            bit = const_next(bit);
        }
        *entry = crc;
        n = const_next(n);
        rest = tail;
    }
    table
}

const fn const_next(n: u32) -> u32 {
    n.saturating_add(1)
}
