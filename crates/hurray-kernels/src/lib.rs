#![doc = include_str!("../README.md")]

mod address;
pub mod checksum;
pub mod numbers;
pub mod transcode;

/// No machine here counts memory with more bits.
pub(crate) fn as_u64(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// As an index, which nothing is at where it does not fit.
pub(crate) fn as_index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
