//! Hurray's arithmetic over byte slices: checksums.
