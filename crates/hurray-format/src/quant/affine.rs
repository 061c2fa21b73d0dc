//! The three affine schemes: `scale · (code − zero_point)` for the tensor, for each index
//! along an axis, or for each block along an axis.

use super::parameters::{self, Parameter, Parameters, find_scale, refuse_scale};
use super::{Context, IndexRules, blocks, need_storage};
use crate::dtype::Dtype;
use crate::error::{Error, Expected, Result, Value};
use crate::rules::Rule;
use crate::shape::{Count, DYNAMIC};
use crate::wire::{Array, Block, Reader, Trace, WireArray, as_index, as_offset};

const S: &str = "quantization";
/// The index of a buffer that is not there.
const ABSENT: u32 = u32::MAX;

/// One scale and zero point for the whole tensor, inline. 16 bytes on the wire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerTensor {
    /// Finite and not 0.
    pub scale: f32,
    /// Inside the storage type's range.
    pub zero_point: i32,
}

impl PerTensor {
    pub(crate) fn load<T: Trace>(r: &mut Reader<'_, '_, T>, context: &Context<'_>) -> Result<Self> {
        let block = r.block::<12>(S)?;
        let scale = r.f32(&block, 0, "scale");
        let zero_point = r.i32(&block, 4, "zero_point");
        r.zeros::<12, 4>(&block, 8, "reserved", Rule::QuantPerTensorReserved)?;

        let rule = Rule::QuantPerTensorStorageType;
        need_storage(context, is_integer, rule, "(u)int2, 4, 8, 16 or 32")?;
        let refuse = |rule, expected| {
            Err(block.refuse(rule, 0, "scale", Value::Float32(scale.to_bits()), expected))
        };
        if !scale.is_finite() {
            let expected = Expected::OneOf("a finite number");
            return refuse(Rule::QuantPerTensorScaleNotFinite, expected);
        }
        if scale == 0.0 {
            return refuse(Rule::QuantPerTensorScaleZero, Expected::OneOf("any number but 0"));
        }
        if let Some((low, high)) = context.dtype.and_then(Dtype::integer_range) {
            let zero = i64::from(zero_point);
            if !(low..=high).contains(&zero) {
                let rule = Rule::QuantPerTensorZeroPointRange;
                let expected = Expected::OneOf("a value of the storage type");
                return Err(block.refuse(rule, 4, "zero_point", Value::Signed(zero), expected));
            }
        }
        Ok(Self { scale, zero_point })
    }

    /// What follows the head.
    pub(crate) fn words(&self) -> [u32; 3] {
        [self.scale.to_bits(), self.zero_point.cast_unsigned(), 0]
    }
}

/// A scale, and unless symmetric a zero point, for each index along `axis`. 20 bytes on
/// the wire; f32 scales, i32 zero points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerChannel {
    /// The dimension.
    pub axis: u32,
    /// The buffer of scales.
    pub scales: u32,
    /// The buffer of zero points; `None` is symmetric.
    pub zero_points: Option<u32>,
}

static CHANNEL_SCALES: IndexRules = IndexRules {
    field: "scale_buffer_index",
    range: Rule::QuantPerChannelScaleIndexRange,
    is_data: Rule::QuantPerChannelScaleIndexIsData,
    size: Rule::QuantPerChannelScaleSize,
};
static CHANNEL_ZEROS: IndexRules = IndexRules {
    field: "zero_point_buffer_index",
    range: Rule::QuantPerChannelZeroPointIndexRange,
    is_data: Rule::QuantPerChannelZeroPointIndexIsData,
    size: Rule::QuantPerChannelZeroPointSize,
};

impl PerChannel {
    pub(crate) fn load<T: Trace>(
        r: &mut Reader<'_, '_, T>,
        context: &Context<'_>,
        symmetric: bool,
    ) -> Result<Self> {
        let block = r.block::<16>(S)?;
        let axis = r.u32(&block, 0, "axis");
        let scales = r.u32(&block, 4, "scale_buffer_index");
        let zeros = r.u32(&block, 8, "zero_point_buffer_index");
        let scale_type = r.tag(&block, 12, "scale_type_tag");
        r.zeros::<16, 3>(&block, 13, "reserved", Rule::QuantPerChannelReserved)?;

        let rule = Rule::QuantPerChannelStorageType;
        need_storage(context, is_integer, rule, "(u)int2, 4, 8, 16 or 32")?;
        need_axis(
            &block,
            axis,
            &context.shape,
            Rule::QuantPerChannelAxis,
            Rule::QuantPerChannelDynamicAxis,
        )?;
        if scale_type != Dtype::Float32.tag() {
            let found = Value::Tag(u64::from(scale_type));
            let rule = Rule::QuantPerChannelScaleType;
            let expected = Expected::OneOf("0x03 (float32)");
            return Err(block.refuse(rule, 12, "scale_type_tag", found, expected));
        }
        let zero_points =
            zero_points(&block, 8, zeros, symmetric, Rule::QuantPerChannelSymmetricIndex)?;
        Ok(Self { axis, scales, zero_points })
    }

    /// What follows the head.
    pub(crate) fn words(&self) -> [u32; 4] {
        let zero_points = self.zero_points.unwrap_or(ABSENT);
        [self.axis, self.scales, zero_points, u32::from(Dtype::Float32.tag())]
    }

    pub(crate) fn parameters(&self, shape: &impl Array<u64>) -> Parameters {
        let channels = shape.at(as_index(u64::from(self.axis))).unwrap_or(0);
        Parameters {
            count: Count::Elements(channels),
            scales: Some(Parameter { index: self.scales, width: 4, rules: &CHANNEL_SCALES }),
            zero_points: self.zero_points.map(|index| Parameter {
                index,
                width: 4,
                rules: &CHANNEL_ZEROS,
            }),
            shared_size: Some(Rule::QuantPerChannelSharedSize),
        }
    }

    pub(crate) fn check_values(&self, dtype: Dtype, buffers: &[&[u8]]) -> Result<()> {
        let scales = parameters::buffer(buffers, self.scales, "scale")?;
        let zeros = match self.zero_points {
            Some(index) => parameters::buffer(buffers, index, "zero_point")?,
            None => &[],
        };
        // In a buffer that both share, the zero points start behind the scales.
        let shared = self.zero_points == Some(self.scales);
        let (scales, zeros) = if shared { split_shared(scales, 4) } else { (scales, zeros) };
        let start = if shared { scales.len() } else { 0 };
        if let Some((at, scale)) = find_scale(scales, f32::from_le_bytes, is_scale) {
            return Err(refuse_scale(Rule::QuantPerChannelScaleValue, at, scale));
        }
        let Some((low, high)) = dtype.integer_range() else {
            return Ok(());
        };
        let zeros = WireArray::<u32>::over(zeros);
        for (n, bits) in zeros.iter().enumerate() {
            let zero = i64::from(bits.cast_signed());
            if !(low..=high).contains(&zero) {
                let rule = Rule::QuantPerChannelZeroPointValue;
                let at = as_offset(start.saturating_add(n.saturating_mul(4)));
                let expected = Expected::OneOf("a value of the storage type");
                return Err(Error::new(rule, "zero_point", at, Value::Signed(zero), expected));
            }
        }
        Ok(())
    }
}

/// A scale, and unless symmetric a zero point, for each block along `axis`. 24 bytes on
/// the wire; i32 zero points of any value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerBlock {
    /// The dimension the blocks lie along.
    pub axis: u32,
    /// Elements per block, a power of two from 2; the last block may be shorter.
    pub block_size: u32,
    /// The buffer of scales.
    pub scales: u32,
    /// The buffer of zero points; `None` is symmetric.
    pub zero_points: Option<u32>,
    /// float16, bfloat16 or float32.
    pub scale_type: Dtype,
}

static BLOCK_SCALES: IndexRules = IndexRules {
    field: "scale_buffer_index",
    range: Rule::QuantPerBlockScaleIndexRange,
    is_data: Rule::QuantPerBlockScaleIndexIsData,
    size: Rule::QuantPerBlockScaleSize,
};
static BLOCK_ZEROS: IndexRules = IndexRules {
    field: "zero_point_buffer_index",
    range: Rule::QuantPerBlockZeroPointIndexRange,
    is_data: Rule::QuantPerBlockZeroPointIndexIsData,
    size: Rule::QuantPerBlockZeroPointSize,
};

impl PerBlock {
    #[inline(always)]
    pub(crate) fn load<T: Trace>(
        r: &mut Reader<'_, '_, T>,
        context: &Context<'_>,
        symmetric: bool,
    ) -> Result<Self> {
        let block = r.block::<20>(S)?;
        let axis = r.u32(&block, 0, "axis");
        let block_size = r.u32(&block, 4, "block_size");
        let scales = r.u32(&block, 8, "scale_buffer_index");
        let zeros = r.u32(&block, 12, "zero_point_buffer_index");
        let scale_type = r.tag(&block, 16, "scale_type_tag");
        r.zeros::<20, 3>(&block, 17, "reserved", Rule::QuantPerBlockReserved)?;

        let rule = Rule::QuantPerBlockStorageType;
        need_storage(context, is_small_integer, rule, "(u)int2, 4 or 8")?;
        let size = need_axis(
            &block,
            axis,
            &context.shape,
            Rule::QuantPerBlockAxis,
            Rule::QuantPerBlockDynamicAxis,
        )?;
        let rules = BlockRules {
            not_power_of_two: Rule::QuantPerBlockBlockSizeNotPowerOfTwo,
            too_small: Rule::QuantPerBlockBlockSizeTooSmall,
            exceeds_axis: Rule::QuantPerBlockBlockSizeExceedsAxis,
        };
        need_block_size(&block, block_size, 2, size, &rules)?;
        let scale_type = match scale_type {
            0x01 => Dtype::Float16,
            0x02 => Dtype::BFloat16,
            0x03 => Dtype::Float32,
            other => {
                let found = Value::Tag(u64::from(other));
                let rule = Rule::QuantPerBlockScaleType;
                let expected = Expected::OneOf("0x01 (float16), 0x02 (bfloat16), 0x03 (float32)");
                return Err(block.refuse(rule, 16, "scale_type_tag", found, expected));
            }
        };
        let zero_points =
            zero_points(&block, 12, zeros, symmetric, Rule::QuantPerBlockSymmetricIndex)?;
        Ok(Self { axis, block_size, scales, zero_points, scale_type })
    }

    /// What follows the head.
    pub(crate) fn words(&self) -> [u32; 5] {
        let zero_points = self.zero_points.unwrap_or(ABSENT);
        let scale_type = u32::from(self.scale_type.tag());
        [self.axis, self.block_size, self.scales, zero_points, scale_type]
    }

    fn scale_width(&self) -> u32 {
        if self.scale_type == Dtype::Float32 { 4 } else { 2 }
    }

    #[inline(always)]
    pub(crate) fn parameters(&self, shape: &impl Array<u64>, slots: Option<Count>) -> Parameters {
        let count = slots.unwrap_or_else(|| blocks(shape, self.axis, self.block_size));
        let (index, width) = (self.scales, self.scale_width());
        Parameters {
            count,
            scales: Some(Parameter { index, width, rules: &BLOCK_SCALES }),
            zero_points: self.zero_points.map(|index| Parameter {
                index,
                width: 4,
                rules: &BLOCK_ZEROS,
            }),
            shared_size: Some(Rule::QuantPerBlockSharedSize),
        }
    }

    pub(crate) fn check_values(&self, buffers: &[&[u8]]) -> Result<()> {
        let scales = parameters::buffer(buffers, self.scales, "scale")?;
        let scales = if self.zero_points == Some(self.scales) {
            split_shared(scales, as_index(u64::from(self.scale_width()))).0
        } else {
            scales
        };
        let bad = match self.scale_type {
            Dtype::Float16 => find_scale(scales, widen_f16, is_scale),
            Dtype::BFloat16 => find_scale(scales, widen_bf16, is_scale),
            _ => find_scale(scales, f32::from_le_bytes, is_scale),
        };
        match bad {
            Some((at, scale)) => Err(refuse_scale(Rule::QuantPerBlockScaleValue, at, scale)),
            None => Ok(()),
        }
    }
}

/// Scales of `width` bytes, and the zero points that lie behind them in the same buffer.
fn split_shared(both: &[u8], width: usize) -> (&[u8], &[u8]) {
    let count = both.len().checked_div(width.saturating_add(4)).unwrap_or(0);
    both.split_at_checked(count.saturating_mul(width)).unwrap_or((both, &[]))
}

fn is_scale(scale: f32) -> bool {
    scale.is_finite() && scale != 0.0
}

/// Only whether a half is 0, finite or neither matters to the check, and its value to the
/// message.
fn widen_f16(raw: [u8; 2]) -> f32 {
    let bits = u32::from(u16::from_le_bytes(raw));
    let sign = (bits & 0x8000) << 16;
    let magnitude = bits & 0x7FFF;
    match magnitude >> 10 {
        // Subnormal: mantissa steps of 2^-24.
        0 => {
            let steps = f32::from(u16::from_le_bytes(raw) & 0x03FF);
            let value = steps * f32::from_bits(0x3380_0000);
            if sign == 0 { value } else { -value }
        }
        0x1F => f32::from_bits(sign | 0x7F80_0000 | ((magnitude & 0x03FF) << 13)),
        _ => f32::from_bits(sign | (magnitude << 13).wrapping_add(0x3800_0000)),
    }
}

fn widen_bf16([low, high]: [u8; 2]) -> f32 {
    f32::from_le_bytes([0, 0, low, high])
}

fn is_integer(dtype: Dtype) -> bool {
    dtype.integer_range().is_some()
}

fn is_small_integer(dtype: Dtype) -> bool {
    is_integer(dtype) && dtype.bits() <= 8
}

/// The size of dimension `axis`, refused where there is none or it is dynamic.
pub(crate) fn need_axis<const N: usize>(
    block: &Block<'_, N>,
    axis: u32,
    shape: &impl Array<u64>,
    rule: Rule,
    dynamic: Rule,
) -> Result<u64> {
    let found = Value::Unsigned(u64::from(axis));
    match shape.at(as_index(u64::from(axis))) {
        Some(DYNAMIC) => Err(block.refuse(dynamic, 0, "axis", found, Expected::Unsaid)),
        Some(size) => Ok(size),
        None => {
            let expected = match shape.len() {
                0 => Expected::OneOf("a tensor of rank 1 or more"),
                rank => Expected::AtMost(as_offset(rank.saturating_sub(1))),
            };
            Err(block.refuse(rule, 0, "axis", found, expected))
        }
    }
}

/// The rules of a block size that per-block and NF4 share.
pub(crate) struct BlockRules {
    pub(crate) not_power_of_two: Rule,
    pub(crate) too_small: Rule,
    pub(crate) exceeds_axis: Rule,
}

/// A power of two, at least `least`, at most the axis unless that is empty.
pub(crate) fn need_block_size<const N: usize>(
    block: &Block<'_, N>,
    block_size: u32,
    least: u32,
    axis: u64,
    rules: &BlockRules,
) -> Result<()> {
    let refuse = |rule, expected| {
        let found = Value::Unsigned(u64::from(block_size));
        Err(block.refuse(rule, 4, "block_size", found, expected))
    };
    if !block_size.is_power_of_two() {
        return refuse(rules.not_power_of_two, Expected::OneOf("a power of two"));
    }
    if block_size < least {
        return refuse(rules.too_small, Expected::AtLeast(u64::from(least)));
    }
    if axis > 0 && u64::from(block_size) > axis {
        return refuse(rules.exceeds_axis, Expected::AtMost(axis));
    }
    Ok(())
}

fn zero_points<const N: usize>(
    block: &Block<'_, N>,
    at: usize,
    index: u32,
    symmetric: bool,
    rule: Rule,
) -> Result<Option<u32>> {
    if !symmetric {
        return Ok(Some(index));
    }
    if index == ABSENT {
        return Ok(None);
    }
    let found = Value::Unsigned(u64::from(index));
    let expected = Expected::Exactly(u64::from(ABSENT));
    Err(block.refuse(rule, at, "zero_point_buffer_index", found, expected))
}
