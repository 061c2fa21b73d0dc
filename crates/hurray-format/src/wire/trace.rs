//! Watching a decoder read.
//!
//! The decoder is generic over its trace. With [`Silent`] the calls vanish and what is
//! left is the fast path; with [`Recording`] the same code tells an inspector every
//! field it read.

use alloc::vec::Vec;

use crate::error::Value;

/// Receives each field as the decoder reads it, in wire order.
pub trait Trace {
    /// Whether it looks at what it is told.
    const RECORDS: bool = true;
    /// Called once for each field.
    fn field(&mut self, field: Field);
}

/// One field on the wire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field {
    /// The section it belongs to, such as `header` or `buffer table`.
    pub section: &'static str,
    /// Its name in the specification.
    pub name: &'static str,
    /// Its place in an array, where it is an element of one.
    pub index: Option<u32>,
    /// Bytes from the start of the input.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u64,
    /// What it holds.
    pub value: Value,
}

/// The trace that watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Trace for Silent {
    const RECORDS: bool = false;
    #[inline(always)]
    fn field(&mut self, _: Field) {}
}

/// The trace that keeps every field.
///
/// ```
/// use hurray_format::{Accept, Descriptor, Dtype, Recording};
///
/// let bytes = Descriptor::dense(Dtype::Float32, &[3, 4])?.encode();
/// let mut trace = Recording::default();
/// Descriptor::decode_with(&bytes, &Accept::default(), &mut trace)?;
///
/// assert_eq!(trace.fields[0].name, "magic");
/// let covered: u64 = trace.fields.iter().map(|field| field.length).sum();
/// assert_eq!(covered, bytes.len() as u64);
/// # Ok::<(), hurray_format::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// What was read, in wire order.
    pub fields: Vec<Field>,
}

impl Trace for Recording {
    fn field(&mut self, field: Field) {
        self.fields.push(field);
    }
}
