//! The tags of the layouts that the format names, as the wire has them.

/// The last dimension varies fastest.
pub const ROW_MAJOR: u8 = 0x01;
/// The first dimension varies fastest.
pub const COLUMN_MAJOR: u8 = 0x02;
/// A step for each dimension.
pub const STRIDED: u8 = 0x03;
/// Tiles, stored whole.
pub const TILED: u8 = 0x04;
/// Z-order.
pub const MORTON: u8 = 0x05;
/// The index of each stored entry.
pub const COO: u8 = 0x06;
/// Compressed rows.
pub const CSR: u8 = 0x07;
/// Compressed columns.
pub const CSC: u8 = 0x08;
/// A tree of coordinates.
pub const CSF: u8 = 0x09;
/// Pages found through a block table.
pub const BLOCK_PAGED: u8 = 0x0A;
/// Made of the tensors that follow.
pub const COMPOSITE: u8 = 0x0B;
/// Along a Hilbert curve.
pub const HILBERT: u8 = 0x40;
