//! The rules that tie sections together (pages 01, 02, 04 and 05): the shape against the
//! layout, the layout against the buffers, the scheme against both.

use super::DescriptorRef;
use crate::buffer::BufferHandle;
use crate::error::{Error, Expected, Result, Value};
use crate::layout::{Layout, LayoutKind};
use crate::quant::{Parameter, Quantization};
use crate::rules::Rule;
use crate::shape::{Count, count};
use crate::wire::{Array, as_index, as_offset};

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
    /// Where the size of buffer `index` stands.
    fn handle(&self, index: usize) -> u64 {
        self.table.saturating_add(as_offset(index.saturating_mul(BufferHandle::SIZE)))
    }
}

/// Checks a descriptor whose sections are each valid.
#[inline(always)]
pub(super) fn check(d: &DescriptorRef<'_>, places: &Places) -> Result<()> {
    let kind = d.layout.kind();
    // The common case: dense, one buffer, nothing more.
    if kind == LayoutKind::Dense && d.quantization.is_none() && d.buffers.len() == 1 {
        dense_size(d, places)?;
    } else {
        colocation(d, places)?;
        parameters(d, places)?;
        buffer_count(d, places)?;
        sizes(d, places)?;
        parameter_sizes(d, places)?;
    }
    if d.shard.is_some() || d.statistics.is_some() || d.member.is_some() {
        sections(d, places)?;
    }
    Ok(())
}

/// Every buffer is on one device, in one memory class.
fn colocation(d: &DescriptorRef<'_>, places: &Places) -> Result<()> {
    let Some(first) = d.buffers.at(0) else {
        return Ok(());
    };
    for (n, handle) in d.buffers.iter().enumerate().skip(1) {
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

/// Parameter indices name entries of the table that are not the layout's own; the scheme
/// is one that the layout has.
fn parameters(d: &DescriptorRef<'_>, places: &Places) -> Result<()> {
    let Some(scheme) = &d.quantization else {
        return Ok(());
    };
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
    let own = d.layout.buffer_count().unwrap_or(1);
    let table = u32::try_from(d.buffers.len()).unwrap_or(u32::MAX);
    for parameter in scheme_parameters(d).iter().flatten() {
        let (index, rules) = (parameter.index, parameter.rules);
        let refuse = |rule, expected| {
            let found = Value::Unsigned(u64::from(index));
            Err(Error::new(rule, rules.field, places.quantization, found, expected))
        };
        if index >= table {
            let last = u64::from(table.saturating_sub(1));
            return refuse(rules.range, Expected::AtMost(last));
        }
        if index == 0 {
            return refuse(rules.is_data, Expected::AtLeast(u64::from(own)));
        }
        if index < own {
            let expected = Expected::AtLeast(u64::from(own));
            return refuse(Rule::QuantIndexIsLayoutBuffer, expected);
        }
    }
    Ok(())
}

/// The parameter buffers of the scheme, against this shape and layout.
fn scheme_parameters(d: &DescriptorRef<'_>) -> [Option<Parameter>; 2] {
    all_parameters(d).buffers
}

fn all_parameters(d: &DescriptorRef<'_>) -> crate::quant::Parameters {
    let slots = match &d.layout {
        Layout::BlockPaged(paged) => Some(paged.slots()),
        _ => None,
    };
    d.quantization.as_ref().map(|scheme| scheme.parameters(&d.shape, slots)).unwrap_or_default()
}

/// The layout's own buffers, then the distinct parameter buffers, and no other.
fn buffer_count(d: &DescriptorRef<'_>, places: &Places) -> Result<()> {
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
    if let Some(Quantization::Private { .. }) = &d.quantization {
        return match found < own {
            true => refuse(Rule::QuantBufferCount, Expected::AtLeast(u64::from(own))),
            false => Ok(()),
        };
    }
    let needed = own.saturating_add(all_parameters(d).distinct());
    if found == needed {
        return Ok(());
    }
    let rule = if d.quantization.is_some() { Rule::QuantBufferCount } else { rules.buffer_count };
    refuse(rule, Expected::Exactly(u64::from(needed)))
}

/// Each of the layout's own buffers holds what the layout puts there.
fn sizes(d: &DescriptorRef<'_>, places: &Places) -> Result<()> {
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

fn other_sizes(d: &DescriptorRef<'_>, places: &Places, too_small: Rule) -> Result<()> {
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

/// Buffer 0 holds every element a dense layout reaches, at both ends.
#[inline]
fn dense_size(d: &DescriptorRef<'_>, places: &Places) -> Result<()> {
    let size = d.buffers.at(0).map_or(0, |handle| handle.byte_size());
    if d.byte_offset > size {
        let found = Value::Unsigned(d.byte_offset);
        let rule = Rule::DescriptorByteOffsetBeyondBuffer;
        let at = places.byte_offset;
        return Err(Error::new(rule, "byte_offset", at, found, Expected::AtMost(size)));
    }
    let Count::Elements(elements) = count(&d.shape) else {
        return Ok(());
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
        let found = Value::Unsigned(size);
        let expected = u64::try_from(needed).map_or(Expected::Unsaid, Expected::AtLeast);
        let rule = Rule::LayoutBufferTooSmall;
        return Err(Error::new(rule, "byte_size", places.handle(0), found, expected));
    }
    Ok(())
}

/// Parameter buffers hold exactly their parameters.
fn parameter_sizes(d: &DescriptorRef<'_>, places: &Places) -> Result<()> {
    let parameters = all_parameters(d);
    let exactly = |parameter: &Parameter, size: Option<u128>, rule| {
        let index = as_index(u64::from(parameter.index));
        let found = d.buffers.at(index).map_or(0, |handle| handle.byte_size());
        match size {
            Some(size) if size != u128::from(found) => {
                let expected = u64::try_from(size).map_or(Expected::Unsaid, Expected::Exactly);
                let found = Value::Unsigned(found);
                Err(Error::new(rule, "byte_size", places.handle(index), found, expected))
            }
            _ => Ok(()),
        }
    };
    if let (Some((scales, zeros)), Some(rule)) = (parameters.shared(), parameters.shared_size) {
        let both = scales.size.zip(zeros.size).map(|(a, b)| a.saturating_add(b));
        return exactly(&scales, both, rule);
    }
    for parameter in parameters.buffers.iter().flatten() {
        exactly(parameter, parameter.size, parameter.rules.size)?;
    }
    Ok(())
}

/// Shards, statistics and member sections against the layout.
fn sections(d: &DescriptorRef<'_>, places: &Places) -> Result<()> {
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
