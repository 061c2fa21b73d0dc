//! The buffers of scales and zero points: which entry of the table each is, and how
//! many bytes it holds.

use crate::error::{Error, Expected, Result, Value};
use crate::rules::Rule;
use crate::wire::as_index;

/// What a scheme keeps in buffers.
#[derive(Clone, Copy, Default)]
pub(crate) struct Parameters {
    /// The scales, and the zero points.
    pub(crate) buffers: [Option<Parameter>; 2],
    /// Broken when both share one entry that does not hold exactly both.
    pub(crate) shared_size: Option<Rule>,
}

/// One parameter buffer.
#[derive(Clone, Copy)]
pub(crate) struct Parameter {
    /// Its entry in the buffer table.
    pub(crate) index: u32,
    /// Its size in bytes; `None` where the shape is dynamic.
    pub(crate) size: Option<u128>,
    /// Its names and rules.
    pub(crate) rules: IndexRules,
}

/// The names and rules of a parameter buffer.
#[derive(Clone, Copy)]
pub(crate) struct IndexRules {
    pub(crate) field: &'static str,
    pub(crate) range: Rule,
    pub(crate) is_data: Rule,
    pub(crate) size: Rule,
}

impl Parameters {
    /// How many entries of the table they take.
    pub(crate) fn distinct(&self) -> u32 {
        match self.buffers {
            [Some(a), Some(b)] if a.index != b.index => 2,
            [None, None] => 0,
            _ => 1,
        }
    }

    /// Whether scales and zero points share an entry.
    pub(crate) fn shared(&self) -> Option<(Parameter, Parameter)> {
        match self.buffers {
            [Some(a), Some(b)] if a.index == b.index => Some((a, b)),
            _ => None,
        }
    }
}

/// `count` parameters of `width` bytes in entry `index`. The size of a dynamic shape is
/// not known.
pub(crate) fn parameter(
    index: u32,
    count: Option<u128>,
    width: u64,
    rules: IndexRules,
) -> Parameter {
    let size = count.map(|count| count.saturating_mul(u128::from(width)));
    Parameter { index, size, rules }
}

/// Scales as floats: the chunk of `bytes` at each width, widened.
pub(crate) fn find_scale<const N: usize>(
    bytes: &[u8],
    widen: impl Fn([u8; N]) -> f32,
    good: impl Fn(f32) -> bool,
) -> Option<(usize, f32)> {
    let (scales, _) = bytes.as_chunks::<N>();
    scales
        .iter()
        .enumerate()
        .map(|(at, raw)| (at.saturating_mul(N), widen(*raw)))
        .find(|(_, scale)| !good(*scale))
}

/// Refuses a scale by its value.
pub(crate) fn refuse_scale(rule: Rule, at: usize, scale: f32) -> Error {
    let found = Value::Float32(scale.to_bits());
    let expected = Expected::OneOf("a finite scale that is not 0");
    Error::new(rule, "scale", crate::wire::as_offset(at), found, expected)
}

/// The bytes of entry `index`.
pub(crate) fn buffer<'b>(buffers: &[&'b [u8]], index: u32, name: &'static str) -> Result<&'b [u8]> {
    buffers.get(as_index(u64::from(index))).copied().ok_or_else(|| {
        let found = Value::Unsigned(crate::wire::as_offset(buffers.len()));
        let expected = Expected::AtLeast(u64::from(index).saturating_add(1));
        Error::new(Rule::SparseBufferCount, name, 0, found, expected)
    })
}
