//! The buffers of scales and zero points: which entry of the table each is, and how
//! many bytes it holds.

use crate::contents::Contents;
use crate::error::{Error, Expected, Result, Value};
use crate::rules::Rule;
use crate::shape::Count;
use crate::wire::as_index;

/// What a scheme keeps in buffers.
#[derive(Clone, Copy)]
pub(crate) struct Parameters {
    /// How many scales there are, and as many zero points.
    pub(crate) count: Count,
    pub(crate) scales: Option<Parameter>,
    pub(crate) zero_points: Option<Parameter>,
    /// Broken when both share one entry that does not hold exactly both.
    pub(crate) shared_size: Option<Rule>,
}

/// One parameter buffer.
#[derive(Clone, Copy)]
pub(crate) struct Parameter {
    /// Its entry in the buffer table.
    pub(crate) index: u32,
    /// The width of one parameter, in bytes.
    pub(crate) width: u32,
    /// Its names and rules.
    pub(crate) rules: &'static IndexRules,
}

/// The names and rules of a parameter buffer.
pub(crate) struct IndexRules {
    pub(crate) field: &'static str,
    pub(crate) range: Rule,
    pub(crate) is_data: Rule,
    pub(crate) size: Rule,
}

impl Parameters {
    /// None in buffers.
    pub(crate) const NONE: Self =
        Self { count: Count::Elements(0), scales: None, zero_points: None, shared_size: None };

    /// One scale for each of `count` blocks, and nothing else.
    #[inline(always)]
    pub(crate) fn scales(index: u32, width: u32, count: Count, rules: &'static IndexRules) -> Self {
        let scales = Some(Parameter { index, width, rules });
        Self { count, scales, ..Self::NONE }
    }

    /// How many entries of the table they take.
    #[inline]
    pub(crate) fn distinct(&self) -> u32 {
        let separate = self.zero_points.is_some() && !self.is_shared();
        u32::from(self.scales.is_some()).saturating_add(u32::from(separate))
    }

    /// Whether scales and zero points share an entry.
    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        match (&self.scales, &self.zero_points) {
            (Some(scales), Some(zero_points)) => scales.index == zero_points.index,
            _ => false,
        }
    }

    /// Each entry they name; one twice where it is shared.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Parameter> + use<> {
        self.scales.into_iter().chain(self.zero_points)
    }
}

/// The first scale that is not good, and its offset in the input. Each is a chunk of `N`
/// bytes, widened.
pub(crate) fn find_scale<const N: usize>(
    buffer: Contents<'_>,
    widen: impl Fn([u8; N]) -> f32,
    good: impl Fn(f32) -> bool,
) -> Option<(u64, f32)> {
    let (scales, _) = buffer.bytes.as_chunks::<N>();
    scales
        .iter()
        .enumerate()
        .map(|(at, raw)| (at_in(buffer, at.saturating_mul(N)), widen(*raw)))
        .find(|(_, scale)| !good(*scale))
}

/// Refuses a scale by its value, at its offset in the input.
pub(crate) fn refuse_scale(rule: Rule, at: u64, scale: f32) -> Error {
    let found = Value::Float32(scale.to_bits());
    let expected = Expected::OneOf("a finite scale that is not 0");
    Error::new(rule, "scale", at, found, expected)
}

/// The offset in the input of what stands `at` bytes into a buffer.
pub(crate) fn at_in(buffer: Contents<'_>, at: usize) -> u64 {
    buffer.offset.saturating_add(crate::wire::as_offset(at))
}

/// The bytes of entry `index`.
pub(crate) fn buffer<'b>(
    buffers: &[Contents<'b>],
    index: u32,
    name: &'static str,
) -> Result<Contents<'b>> {
    buffers.get(as_index(u64::from(index))).copied().ok_or_else(|| {
        let found = Value::Unsigned(crate::wire::as_offset(buffers.len()));
        let expected = Expected::AtLeast(u64::from(index).saturating_add(1));
        Error::new(Rule::SparseBufferCount, name, 0, found, expected)
    })
}
