//! What a refusal says: which rule, where, what was found and what was expected.

use core::fmt;

use crate::rules::{Fault, Rule};

/// The result of everything here that can refuse.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// One broken rule.
///
/// It carries no allocated string, so that refusing costs as little as accepting. Its
/// `Display` is a sentence a person can act on.
///
/// ```
/// use hurray_format::{Descriptor, Rule};
/// let error = Descriptor::decode(b"GGUF\x03\x00\x00\x00").unwrap_err();
/// assert_eq!(error.rule(), Rule::DescriptorMagic);
/// assert_eq!(error.offset(), 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Error {
    rule: Rule,
    field: &'static str,
    offset: u64,
    found: Value,
    expected: Expected,
}

impl Error {
    /// A breach of `rule` in `field`, `offset` bytes from the start of the input.
    #[cold]
    pub const fn new(
        rule: Rule,
        field: &'static str,
        offset: u64,
        found: Value,
        expected: Expected,
    ) -> Self {
        Self { rule, field, offset, found, expected }
    }

    /// The rule that was broken.
    pub const fn rule(&self) -> Rule {
        self.rule
    }

    /// Whose fault it is.
    pub const fn fault(&self) -> Fault {
        self.rule.fault()
    }

    /// The name of the field, as the specification spells it.
    pub const fn field(&self) -> &'static str {
        self.field
    }

    /// Where the field starts, in bytes from the start of the input.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// What stands there.
    pub const fn found(&self) -> Value {
        self.found
    }

    /// What may stand there.
    pub const fn expected(&self) -> Expected {
        self.expected
    }

    /// The same error, seen from an input that starts `bytes` earlier.
    pub const fn shifted(mut self, bytes: u64) -> Self {
        self.offset = self.offset.saturating_add(bytes);
        self
    }
}

impl core::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} at byte {}", self.rule.meaning(), self.field, self.offset)?;
        match (self.found, self.expected) {
            (Value::None, Expected::Unsaid) => {}
            (Value::None, expected) => write!(f, " (expected {expected})")?,
            (found, Expected::Unsaid) => write!(f, " (found {found})")?,
            (found, expected) => write!(f, " (found {found}, expected {expected})")?,
        }
        write!(f, " [{}]", self.rule)
    }
}

/// A value read from the wire, as errors and traces show it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// Nothing worth showing.
    None,
    /// A count, a size, an offset.
    Unsigned(u64),
    /// A stride or a zero point.
    Signed(i64),
    /// A tag or flags, shown in hexadecimal.
    Tag(u64),
    /// A 32-bit float, by its bits.
    Float32(u32),
    /// A 64-bit float, by its bits.
    Float64(u64),
    /// Up to eight bytes as they stand, and how many of them count.
    Bytes([u8; 8], u8),
    /// A run of that many opaque bytes.
    Opaque(u64),
    /// A size that needs more than 64 bits.
    BeyondU64,
}

impl Value {
    /// The first eight bytes of `bytes`, or as many as there are.
    pub fn first_of(bytes: &[u8]) -> Self {
        let mut kept = [0; 8];
        let mut count: u8 = 0;
        for (slot, byte) in kept.iter_mut().zip(bytes) {
            *slot = *byte;
            count = count.saturating_add(1);
        }
        Self::Bytes(kept, count)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::None => f.write_str("nothing"),
            Self::Unsigned(value) => value.fmt(f),
            Self::Signed(value) => value.fmt(f),
            Self::Tag(value) => write!(f, "0x{value:02X}"),
            Self::Float32(bits) => f32::from_bits(bits).fmt(f),
            Self::Float64(bits) => f64::from_bits(bits).fmt(f),
            Self::Bytes(bytes, count) => show_bytes(f, &bytes, count),
            Self::Opaque(count) => write!(f, "{count} bytes"),
            Self::BeyondU64 => f.write_str("more than 2^64"),
        }
    }
}

/// As text where all of it is printable ASCII, in hexadecimal otherwise.
fn show_bytes(f: &mut fmt::Formatter<'_>, bytes: &[u8; 8], count: u8) -> fmt::Result {
    let bytes = bytes.get(..usize::from(count)).unwrap_or(bytes);
    match core::str::from_utf8(bytes) {
        Ok(text) if text.bytes().all(|b| b.is_ascii_graphic() || b == b' ') => {
            write!(f, "\"{text}\"")
        }
        _ => {
            for (at, byte) in bytes.iter().enumerate() {
                write!(f, "{}{byte:02X}", if at == 0 { "" } else { " " })?;
            }
            Ok(())
        }
    }
}

/// What a rule would have let pass.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Expected {
    /// The rule's own sentence says it.
    Unsaid,
    /// Exactly this.
    Exactly(u64),
    /// This or more.
    AtLeast(u64),
    /// This or less.
    AtMost(u64),
    /// One of what the text lists.
    OneOf(&'static str),
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsaid => f.write_str("otherwise"),
            Self::Exactly(value) => value.fmt(f),
            Self::AtLeast(value) => write!(f, "at least {value}"),
            Self::AtMost(value) => write!(f, "at most {value}"),
            Self::OneOf(text) => f.write_str(text),
        }
    }
}
