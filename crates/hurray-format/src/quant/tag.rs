//! The tags of the schemes that the format names, as the wire has them.

/// One scale and zero point for the tensor.
pub const PER_TENSOR: u8 = 0x01;
/// One for each index along an axis.
pub const PER_CHANNEL: u8 = 0x02;
/// One for each block along an axis.
pub const PER_BLOCK: u8 = 0x03;
/// Four-bit normal floats.
pub const NF4: u8 = 0x04;
/// OCP microscaling.
pub const MXFP: u8 = 0x05;
