//! The bytes of a buffer with the place they have in the input.

/// The bytes of a buffer, and where they start in what they were read from: what is
/// refused in them is refused at its own offset.
#[derive(Clone, Copy, Debug, Default)]
pub struct Contents<'c> {
    /// The bytes.
    pub bytes: &'c [u8],
    /// Where they start, in bytes from the start of the input.
    pub offset: u64,
}

impl<'c> Contents<'c> {
    /// Bytes whose offsets count from their own start.
    pub(crate) fn alone(bytes: &'c [u8]) -> Self {
        Self { bytes, offset: 0 }
    }
}
