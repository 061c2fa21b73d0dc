//! Scales and zero points of a part or turn of a tensor: kept where they are still exactly
//! those of its elements, and refused otherwise.

use std::ops::Range;

use hurray_format::{Expected, PerBlock, PerChannel, Quantization, Rule, Value};
use smallvec::SmallVec;

use super::cut::Taken;
use super::plan::{Origin, Part, Plan, kept_alignment};
use super::refused;
use crate::buffer::Buffer;
use crate::error::{Error, Result};
use crate::memory::as_u64;
use crate::tensor::Tensor;

/// What is kept of a scheme.
pub(super) struct Kept {
    pub(super) scheme: Option<Quantization>,
    /// The buffers behind buffer 0.
    pub(super) buffers: SmallVec<[Part; 2]>,
}

/// The scheme of what the plan makes.
pub(super) fn after(plan: &Plan<'_>) -> Result<Kept> {
    let Some(scheme) = plan.tensor.descriptor().quantization() else {
        return Ok(Kept { scheme: None, buffers: SmallVec::new() });
    };
    let refuse = || refusal(scheme);
    let Some(axis) = axis_of(scheme) else {
        return match scheme {
            Quantization::PerTensor(_) => whole(plan.tensor, scheme.clone()),
            _ => Err(refuse()),
        };
    };
    let origin = Origin::Axis(axis);
    let place = plan.dimensions.iter().position(|dimension| dimension.origin == origin);
    let (Some(place), Some(along)) = (place, plan.taken.get(axis)) else {
        return Err(refuse());
    };
    let moved = with_axis(scheme, place).ok_or_else(refuse)?;
    let size = plan.tensor.descriptor().shape().get(axis).copied().unwrap_or(0);
    match scheme {
        // Each channel has its own, whatever becomes of the other dimensions.
        Quantization::PerChannel(_) if is_whole(along, size) => whole(plan.tensor, moved),
        Quantization::PerChannel(channels) if along.step == 1 => {
            let range = along.first..along.first.saturating_add(along.length);
            per_channel_part(plan.tensor, channels, moved, range).ok_or_else(refuse)
        }
        Quantization::PerChannel(_) => Err(refuse()),
        _ if !is_whole(along, size) => Err(refuse()),
        _ => {
            let outer = outer_range(plan, axis).ok_or_else(refuse)?;
            let shape = plan.tensor.descriptor().shape();
            let others = shape.iter().enumerate().filter(|(k, _)| *k != axis);
            let all = others.fold(1_u64, |all, (_, size)| all.saturating_mul(*size));
            if outer == (0..all) {
                return whole(plan.tensor, moved);
            }
            per_block_part(plan.tensor, scheme, moved, size, outer).ok_or_else(refuse)
        }
    }
}

/// The scheme of the same elements in index order in another shape.
pub(super) fn reshaped(tensor: &Tensor, shape: &[u64]) -> Result<Kept> {
    let descriptor = tensor.descriptor();
    let Some(scheme) = descriptor.quantization() else {
        return Ok(Kept { scheme: None, buffers: SmallVec::new() });
    };
    let refuse = || refusal(scheme);
    let Some(axis) = axis_of(scheme) else {
        return match scheme {
            Quantization::PerTensor(_) => whole(tensor, scheme.clone()),
            _ => Err(refuse()),
        };
    };
    // An axis of the same size with as many elements in front of it, and so behind it: an
    // element keeps its place along it, and its place in index order over the others.
    let of = |shape: &[u64], axis: usize| {
        let before = shape.get(..axis)?.iter();
        let before = before.fold(1_u64, |before, size| before.saturating_mul(*size));
        Some((before, *shape.get(axis)?))
    };
    let wanted = of(descriptor.shape(), axis).filter(|_| !descriptor.shape().contains(&0));
    let place = (0..shape.len()).find(|place| wanted.is_some() && of(shape, *place) == wanted);
    let moved = place.and_then(|place| with_axis(scheme, place));
    whole(tensor, moved.ok_or_else(refuse)?)
}

/// Everything behind buffer 0 as it is.
fn whole(tensor: &Tensor, scheme: Quantization) -> Result<Kept> {
    let part = |buffer: &Buffer| Part { buffer: buffer.clone(), cut: 0 };
    let buffers = tensor.buffers().iter().skip(1).map(part).collect();
    Ok(Kept { scheme: Some(scheme), buffers })
}

/// Scales and zero points of some channels.
fn per_channel_part(
    tensor: &Tensor,
    channels: &PerChannel,
    scheme: Quantization,
    range: Range<u64>,
) -> Option<Kept> {
    let widths = [Some((channels.scales, 4)), channels.zero_points.map(|index| (index, 4))];
    parts(tensor, scheme, widths, range)
}

/// Scales and zero points of the blocks at some indices over the dimensions that the blocks do
/// not lie along.
fn per_block_part(
    tensor: &Tensor,
    blocks: &Quantization,
    scheme: Quantization,
    axis_size: u64,
    outer: Range<u64>,
) -> Option<Kept> {
    let (block_size, widths) = match blocks {
        Quantization::PerBlock(PerBlock {
            block_size, scales, zero_points, scale_type, ..
        }) => {
            let width = u64::from(scale_type.bits().div_ceil(8));
            (*block_size, [Some((*scales, width)), zero_points.map(|index| (index, 4))])
        }
        Quantization::Nf4(nf4) => (nf4.block_size, [Some((nf4.scales, 4)), None]),
        Quantization::Mxfp(mxfp) => (mxfp.block_size, [Some((mxfp.scales, 1)), None]),
        _ => return None,
    };
    let per_index = axis_size.div_ceil(u64::from(block_size.max(1)));
    let range = outer.start.checked_mul(per_index)?..outer.end.checked_mul(per_index)?;
    parts(tensor, scheme, widths, range)
}

/// The parameters in `range`, where each kind has a buffer of its own that can be cut there.
fn parts(
    tensor: &Tensor,
    scheme: Quantization,
    widths: [Option<(u32, u64)>; 2],
    range: Range<u64>,
) -> Option<Kept> {
    let mut buffers = SmallVec::new();
    for (place, buffer) in tensor.buffers().iter().enumerate().skip(1) {
        let mut own =
            widths.iter().flatten().filter(|(index, _)| u64::from(*index) == as_u64(place));
        let (_, width) = own.next()?;
        if own.next().is_some() {
            // Scales first, then zero points: a part of both is not one stretch.
            return None;
        }
        let cut = range.start.checked_mul(*width)?;
        let kept = tensor.descriptor().buffers().get(place).map(kept_alignment)?;
        if !range.is_empty() && !cut.is_multiple_of(u64::from(kept)) {
            return None;
        }
        let buffer = buffer.slice(cut..range.end.checked_mul(*width)?).ok()?;
        buffers.push(Part { buffer, cut });
    }
    Some(Kept { scheme: Some(scheme), buffers })
}

/// Which indices are left over the dimensions but `axis`, counted row by row as blocks are, where
/// they are one stretch and still in that order.
fn outer_range(plan: &Plan<'_>, axis: usize) -> Option<Range<u64>> {
    let mut last: Option<usize> = None;
    for dimension in plan.dimensions.iter().filter(|dimension| dimension.size != 1) {
        match dimension.origin {
            Origin::Axis(own) if own == axis => {}
            // Of one of size 1 the order does not matter.
            Origin::Axis(own) if last.is_none_or(|last| last < own) => last = Some(own),
            _ => return None,
        }
    }
    let shape = plan.tensor.descriptor().shape();
    let (mut start, mut count, mut is_one) = (0_u64, 1_u64, true);
    for (k, (taken, size)) in plan.taken.iter().zip(shape).enumerate() {
        if k == axis {
            continue;
        }
        start = start.checked_mul(*size)?;
        if is_one {
            // So far there was one index, and any stretch of this dimension may follow.
            if taken.step != 1 && taken.length > 1 {
                return None;
            }
            start = start.checked_add(taken.first)?;
            count = taken.length;
            is_one = taken.length == 1;
        } else if is_whole(taken, *size) {
            count = count.checked_mul(*size)?;
        } else {
            return None;
        }
    }
    Some(start..start.checked_add(count)?)
}

fn is_whole(taken: &Taken, size: u64) -> bool {
    taken.length == size && (taken.step == 1 || size <= 1)
}

/// The dimension that the parameters lie along.
fn axis_of(scheme: &Quantization) -> Option<usize> {
    let axis = match scheme {
        Quantization::PerChannel(scheme) => scheme.axis,
        Quantization::PerBlock(scheme) => scheme.axis,
        Quantization::Nf4(scheme) => scheme.axis,
        Quantization::Mxfp(scheme) => scheme.axis,
        _ => return None,
    };
    usize::try_from(axis).ok()
}

/// The same scheme along another dimension.
fn with_axis(scheme: &Quantization, axis: usize) -> Option<Quantization> {
    let mut moved = scheme.clone();
    let place = match &mut moved {
        Quantization::PerChannel(scheme) => &mut scheme.axis,
        Quantization::PerBlock(scheme) => &mut scheme.axis,
        Quantization::Nf4(scheme) => &mut scheme.axis,
        Quantization::Mxfp(scheme) => &mut scheme.axis,
        _ => return None,
    };
    *place = u32::try_from(axis).ok()?;
    Some(moved)
}

#[cold]
fn refusal(scheme: &Quantization) -> Error {
    let found = Value::Tag(u64::from(scheme.tag()));
    refused(Rule::ViewQuantization, "scheme_tag", found, Expected::Unsaid)
}
