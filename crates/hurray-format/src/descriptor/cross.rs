//! The rules that tie sections together (pages 01, 02, 04 and 05): the shape against the
//! layout, the layout against the buffers, the scheme against both.

use super::DescriptorRef;
use crate::buffer::BufferHandle;
use crate::dtype::Dtype;
use crate::error::{Error, Expected, Result, Value};
use crate::layout::{Layout, LayoutKind};
use crate::quant::{Parameter, Parameters, Quantization};
use crate::rules::Rule;
use crate::shape::{Count, count, product_of};
use crate::wire::{Array, Borrowed, WireArray, as_index, as_offset};

/// Where sections start, for messages.
#[derive(Clone, Copy, Default)]
pub(super) struct Places {
    pub(super) byte_offset: u64,
    pub(super) table: u64,
    pub(super) quantization: u64,
    pub(super) shard: u64,
    pub(super) statistics: u64,
    pub(super) member: u64,
}

impl Places {
    /// Of a descriptor of that rank, whose buffer table starts there.
    #[inline(always)]
    pub(super) fn of(rank: u32, table: u64) -> Self {
        // After the header and the shape.
        let byte_offset = u64::from(rank).saturating_mul(8).saturating_add(20);
        Self { byte_offset, table, ..Self::default() }
    }

    /// Where the size of buffer `index` stands.
    fn handle(&self, index: usize) -> u64 {
        self.table.saturating_add(as_offset(index.saturating_mul(BufferHandle::SIZE)))
    }
}

/// Checks a descriptor whose sections are each valid. Not a call, so that it shrinks to
/// what is left where the layout is known.
#[inline(always)]
pub(super) fn check(
    d: &DescriptorRef<'_>,
    scheme: Option<&Quantization<Borrowed<'_>>>,
    places: Places,
) -> Result<()> {
    colocation(d, places)?;
    let parameters = match scheme {
        Some(scheme) => {
            let parameters = scheme.parameters(&d.shape, slots(d));
            paged_scheme(d, scheme, places)?;
            parameter_indices(d, &parameters, places)?;
            parameters
        }
        None => Parameters::NONE,
    };
    buffer_count(d, scheme, &parameters, places)?;
    sizes(d, places)?;
    parameter_sizes(d, &parameters, places)?;
    if d.shard.is_some() || d.statistics.is_some() || d.member.is_some() {
        sections(d, places)?;
    }
    Ok(())
}

/// The rules that hold whatever an unknown type, layout or scheme may mean.
pub(super) fn check_foreign(d: &DescriptorRef<'_>, places: Places) -> Result<()> {
    colocation(d, places)?;
    sections(d, places)
}

/// Every buffer is on one device, in one memory class.
#[inline(always)]
fn colocation(d: &DescriptorRef<'_>, places: Places) -> Result<()> {
    let [first, others @ ..] = d.buffers.raws() else {
        return Ok(());
    };
    // Most are alike in everything but their size.
    let tail = |raw: &[u8; 16]| {
        let [.., device, sync, class, reserved] = *raw;
        u32::from_le_bytes([device, sync, class, reserved])
    };
    if others.iter().all(|other| tail(other) == tail(first)) {
        return Ok(());
    }
    unlike(d.buffers, places)
}

#[cold]
fn unlike(buffers: WireArray<'_, BufferHandle>, places: Places) -> Result<()> {
    for (n, handle) in buffers.items().enumerate() {
        let first = buffers.at(0).unwrap_or(handle);
        let refuse = |rule, name, at: u64, found: u8, expected: u8| {
            let at = places.handle(n).saturating_add(at);
            let found = Value::Tag(u64::from(found));
            Err(Error::new(rule, name, at, found, Expected::Exactly(u64::from(expected))))
        };
        if handle.device() != first.device() {
            let (found, expected) = (handle.device().tag(), first.device().tag());
            return refuse(Rule::BufferMixedDevice, "device_tag", 12, found, expected);
        }
        if handle.class() != first.class() {
            let (found, expected) = (handle.class().tag(), first.class().tag());
            return refuse(Rule::BufferMixedMemoryClass, "memory_class", 14, found, expected);
        }
    }
    Ok(())
}

/// The slots of a paged tensor, each of which has parameters of its own.
fn slots(d: &DescriptorRef<'_>) -> Option<Count> {
    match &d.layout {
        Layout::BlockPaged(paged) => Some(paged.slot_count()),
        _ => None,
    }
}

/// The scheme is one that a block-paged layout has.
#[inline(always)]
fn paged_scheme(
    d: &DescriptorRef<'_>,
    scheme: &Quantization<Borrowed<'_>>,
    places: Places,
) -> Result<()> {
    if let Layout::BlockPaged(paged) = &d.layout {
        let refuse = |rule, name, at: u64, found: u32, expected| {
            let at = places.quantization.saturating_add(at);
            Err(Error::new(rule, name, at, Value::Unsigned(u64::from(found)), expected))
        };
        match scheme {
            Quantization::PerChannel(scheme) if scheme.axis == 0 => {
                let expected = Expected::OneOf("1 (heads) or 2 (head_dim)");
                return refuse(Rule::QuantBlockPagedPerChannelAxis, "axis", 4, 0, expected);
            }
            Quantization::PerBlock(scheme) if scheme.axis != 0 => {
                let rule = Rule::QuantBlockPagedPerBlockAxis;
                return refuse(rule, "axis", 4, scheme.axis, Expected::Exactly(0));
            }
            Quantization::PerBlock(scheme) if scheme.block_size != paged.page_size => {
                let expected = Expected::Exactly(u64::from(paged.page_size));
                let rule = Rule::QuantBlockPagedBlockSize;
                return refuse(rule, "block_size", 8, scheme.block_size, expected);
            }
            Quantization::Nf4(_) | Quantization::Mxfp(_) => {
                let found = u32::from(scheme.tag());
                let expected = Expected::OneOf("per-tensor, per-channel or per-block");
                return refuse(Rule::QuantBlockPagedScheme, "scheme_tag", 0, found, expected);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Parameter indices name entries of the table that are not the layout's own.
#[inline(always)]
fn parameter_indices(d: &DescriptorRef<'_>, parameters: &Parameters, places: Places) -> Result<()> {
    let own = d.layout.buffer_count().unwrap_or(1);
    let table = u32::try_from(d.buffers.len()).unwrap_or(u32::MAX);
    let check = |parameter: Parameter| {
        if (own.max(1)..table).contains(&parameter.index) {
            return Ok(());
        }
        Err(misplaced(parameter, own, table, places))
    };
    parameters.scales.map_or(Ok(()), check)?;
    parameters.zero_points.map_or(Ok(()), check)
}

#[cold]
fn misplaced(parameter: Parameter, own: u32, table: u32, places: Places) -> Error {
    let rules = parameter.rules;
    let (rule, expected) = match parameter.index {
        index if index >= table => {
            (rules.range, Expected::AtMost(u64::from(table.saturating_sub(1))))
        }
        0 => (rules.is_data, Expected::AtLeast(u64::from(own))),
        _ => (Rule::QuantIndexIsLayoutBuffer, Expected::AtLeast(u64::from(own))),
    };
    let found = Value::Unsigned(u64::from(parameter.index));
    Error::new(rule, rules.field, places.quantization, found, expected)
}

/// The layout's own buffers, then the distinct parameter buffers, and no other.
#[inline(always)]
fn buffer_count(
    d: &DescriptorRef<'_>,
    scheme: Option<&Quantization<Borrowed<'_>>>,
    parameters: &Parameters,
    places: Places,
) -> Result<()> {
    let found = u32::try_from(d.buffers.len()).unwrap_or(u32::MAX);
    let refuse = |rule, expected| {
        let at = places.table.saturating_sub(1);
        let found = Value::Unsigned(u64::from(found));
        Err(Error::new(rule, "buffer_count", at, found, expected))
    };
    let rules = d.layout.rules();
    let own = d.layout.buffer_count();
    if own == Some(0) {
        return match found {
            0 => Ok(()),
            _ => refuse(rules.buffer_count, Expected::Exactly(0)),
        };
    }
    if found == 0 {
        let least = u64::from(own.unwrap_or(1));
        return refuse(Rule::DescriptorBufferCountZero, Expected::AtLeast(least));
    }
    let Some(own) = own else {
        return Ok(());
    };
    if let Some(Quantization::Private { .. }) = scheme {
        return match found < own {
            true => refuse(Rule::QuantBufferCount, Expected::AtLeast(u64::from(own))),
            false => Ok(()),
        };
    }
    let needed = own.saturating_add(parameters.distinct());
    if found == needed {
        return Ok(());
    }
    let rule = if scheme.is_some() { Rule::QuantBufferCount } else { rules.buffer_count };
    refuse(rule, Expected::Exactly(u64::from(needed)))
}

/// Each of the layout's own buffers holds what the layout puts there.
#[inline(always)]
fn sizes(d: &DescriptorRef<'_>, places: Places) -> Result<()> {
    let rules = d.layout.rules();
    match rules.byte_offset {
        Some(rule) if d.byte_offset != 0 => {
            let found = Value::Unsigned(d.byte_offset);
            let at = places.byte_offset;
            Err(Error::new(rule, "byte_offset", at, found, Expected::Exactly(0)))
        }
        Some(_) => other_sizes(d, places, rules.too_small),
        None => dense_size(d, places),
    }
}

fn other_sizes(d: &DescriptorRef<'_>, places: Places, too_small: Rule) -> Result<()> {
    let own = as_index(u64::from(d.layout.buffer_count().unwrap_or(0)));
    for (n, handle) in d.buffers.iter().take(own).enumerate() {
        let needed = d.layout.minimum(n, &d.shape, d.dtype);
        if needed.is_some_and(|needed| needed > u128::from(handle.byte_size())) {
            let found = Value::Unsigned(handle.byte_size());
            let expected = needed.and_then(|needed| u64::try_from(needed).ok());
            let expected = expected.map_or(Expected::Unsaid, Expected::AtLeast);
            return Err(Error::new(too_small, "byte_size", places.handle(n), found, expected));
        }
    }
    Ok(())
}

/// Buffer 0, of `size` bytes, holds every element of a run: row-major or column-major.
#[inline(always)]
pub(super) fn run_size(
    dtype: Dtype,
    shape: &impl Array<u64>,
    byte_offset: u64,
    size: u64,
    places: Places,
) -> Result<()> {
    if byte_offset > size {
        return Err(offset_beyond(byte_offset, size, places));
    }
    let needed = match count(shape) {
        Count::Elements(elements) => dtype.bytes_of(elements),
        Count::Beyond => dtype.bytes_for(product_of(shape.iter())).unwrap_or(u128::MAX),
        Count::Dynamic => return Ok(()),
    };
    let needed = needed.saturating_add(u128::from(byte_offset));
    if needed > u128::from(size) {
        return Err(too_small(needed, size, places));
    }
    Ok(())
}

/// Buffer 0 holds every element a dense layout reaches, at both ends.
#[inline(always)]
fn dense_size(d: &DescriptorRef<'_>, places: Places) -> Result<()> {
    let size = d.buffers.at(0).map_or(0, |handle| handle.byte_size());
    if d.layout.is_run() {
        return run_size(d.dtype, &d.shape, d.byte_offset, size, places);
    }
    if d.byte_offset > size {
        return Err(offset_beyond(d.byte_offset, size, places));
    }
    let elements = match count(&d.shape) {
        Count::Elements(0) | Count::Dynamic => return Ok(()),
        Count::Elements(elements) => u128::from(elements),
        Count::Beyond => product_of(d.shape.iter()),
    };
    let Some(reach) = d.layout.reach(&d.shape, elements) else {
        return Ok(());
    };
    if reach.down > 0 {
        let before = d.dtype.bytes_for(reach.down).unwrap_or(u128::MAX);
        if before > u128::from(d.byte_offset) {
            let found = Value::Unsigned(d.byte_offset);
            let expected = u64::try_from(before).map_or(Expected::Unsaid, Expected::AtLeast);
            let rule = Rule::LayoutElementBeforeBuffer;
            let at = places.byte_offset;
            return Err(Error::new(rule, "byte_offset", at, found, expected));
        }
    }
    let span = d.dtype.bytes_for(reach.up.saturating_add(1)).unwrap_or(u128::MAX);
    let needed = span.saturating_add(u128::from(d.byte_offset));
    if needed > u128::from(size) {
        return Err(too_small(needed, size, places));
    }
    Ok(())
}

#[cold]
fn offset_beyond(byte_offset: u64, size: u64, places: Places) -> Error {
    let found = Value::Unsigned(byte_offset);
    let rule = Rule::DescriptorByteOffsetBeyondBuffer;
    Error::new(rule, "byte_offset", places.byte_offset, found, Expected::AtMost(size))
}

#[cold]
fn too_small(needed: u128, size: u64, places: Places) -> Error {
    let expected = u64::try_from(needed).map_or(Expected::Unsaid, Expected::AtLeast);
    let (rule, found) = (Rule::LayoutBufferTooSmall, Value::Unsigned(size));
    Error::new(rule, "byte_size", places.handle(0), found, expected)
}

/// Parameter buffers hold exactly their parameters.
#[inline(always)]
fn parameter_sizes(d: &DescriptorRef<'_>, parameters: &Parameters, places: Places) -> Result<()> {
    let Some(scales) = parameters.scales else {
        return Ok(());
    };
    let count = match parameters.count {
        Count::Elements(count) => count,
        Count::Dynamic => return Ok(()),
        // No buffer holds so many.
        Count::Beyond => u64::MAX,
    };
    let exactly = |index: u32, width: u32, rule| {
        let found = d.buffers.at(as_index(u64::from(index))).map_or(0, |h| h.byte_size());
        let size = count.checked_mul(u64::from(width));
        if size == Some(found) && parameters.count != Count::Beyond {
            return Ok(());
        }
        Err(not_exact(rule, index, found, size, places))
    };
    let Some(zero_points) = parameters.zero_points else {
        return exactly(scales.index, scales.width, scales.rules.size);
    };
    if scales.index == zero_points.index {
        let both = scales.width.saturating_add(zero_points.width);
        return exactly(scales.index, both, parameters.shared_size.unwrap_or(scales.rules.size));
    }
    exactly(scales.index, scales.width, scales.rules.size)?;
    exactly(zero_points.index, zero_points.width, zero_points.rules.size)
}

#[cold]
fn not_exact(rule: Rule, index: u32, found: u64, size: Option<u64>, places: Places) -> Error {
    let expected = size.map_or(Expected::Unsaid, Expected::Exactly);
    let at = places.handle(as_index(u64::from(index)));
    Error::new(rule, "byte_size", at, Value::Unsigned(found), expected)
}

/// Shards, statistics and member sections against the layout.
#[inline(always)]
fn sections(d: &DescriptorRef<'_>, places: Places) -> Result<()> {
    let refuse = |rule, name, at, found| Err(Error::new(rule, name, at, found, Expected::Unsaid));
    if d.shard.is_some() {
        let rule = match &d.layout {
            Layout::Csf(_) => Some(Rule::LayoutCsfShard),
            Layout::BlockPaged(_) => Some(Rule::LayoutBlockPagedShard),
            _ => None,
        };
        if let Some(rule) = rule {
            return refuse(rule, "shard", places.shard, Value::None);
        }
    }
    if let (Some(statistics), Some(nnz)) = (&d.statistics, d.layout.nnz())
        && let Some(claimed) = statistics.values().nnz.filter(|claimed| *claimed != nnz)
    {
        let at = places.statistics.saturating_add(8);
        let (rule, found) = (Rule::StatsNnzMismatch, Value::Unsigned(claimed));
        return Err(Error::new(rule, "nnz", at, found, Expected::Exactly(nnz)));
    }
    if let Some(role) = d.member {
        if d.layout.kind() == LayoutKind::Virtual {
            let rule = Rule::LayoutCompositeMemberFlag;
            return refuse(rule, "composite member", places.member, Value::None);
        }
        let Some(shard) = &d.shard else {
            let rule = Rule::CompositeMemberShardMissing;
            return refuse(rule, "composite member", places.member, Value::None);
        };
        let spans = shard.offset().iter().all(|at| at == 0)
            && shard.parent_shape().iter().eq(d.shape.iter());
        if role == super::MemberRole::Base && !spans {
            let rule = Rule::CompositeMemberBaseSpan;
            return refuse(rule, "shard", places.shard, Value::None);
        }
    }
    Ok(())
}
