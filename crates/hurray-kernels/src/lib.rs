//! Hurray's arithmetic over byte slices. For now: checksums.

pub mod checksum;
