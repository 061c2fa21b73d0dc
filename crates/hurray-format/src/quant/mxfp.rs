//! MXFP: OCP microscaling. Small floats or integers, and for each block a scale that is a
//! power of two (e8m0).

use super::affine::need_axis;
use super::parameters::{self, Parameters};
use super::{Context, IndexRules, blocks, need_storage};
use crate::contents::Contents;
use crate::dtype::Dtype;
use crate::error::{Error, Expected, Result, Value};
use crate::rules::Rule;
use crate::wire::{Array, Reader, Trace};

/// MXFP. 16 bytes on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mxfp {
    /// The dimension the blocks lie along; a positive multiple of the block size.
    pub axis: u32,
    /// Elements per block, a power of two from 16 to 2048.
    pub block_size: u32,
    /// The buffer of scales, one byte each.
    pub scales: u32,
}

static SCALES: IndexRules = IndexRules {
    field: "scale_buffer_index",
    range: Rule::QuantMxfpScaleIndexRange,
    is_data: Rule::QuantMxfpScaleIndexIsData,
    size: Rule::QuantMxfpScaleSize,
};

impl Mxfp {
    pub(crate) fn load<T: Trace>(r: &mut Reader<'_, '_, T>, context: &Context<'_>) -> Result<Self> {
        let block = r.block::<12>("quantization")?;
        let axis = r.u32(&block, 0, "axis");
        let block_size = r.u32(&block, 4, "block_size");
        let scales = r.u32(&block, 8, "scale_buffer_index");

        let names = "float8_e4m3, float8_e5m2, float4_e2m1, float6_e2m3, float6_e3m2, int8, int4";
        need_storage(context, is_storage, Rule::QuantMxfpStorageType, names)?;
        let rule = Rule::QuantMxfpAxis;
        let size = need_axis(&block, axis, &context.shape, rule, Rule::QuantMxfpDynamicAxis)?;
        let refuse = |rule, expected| {
            let found = Value::Unsigned(u64::from(block_size));
            Err(block.refuse(rule, 4, "block_size", found, expected))
        };
        if !block_size.is_power_of_two() {
            let rule = Rule::QuantMxfpBlockSizeNotPowerOfTwo;
            return refuse(rule, Expected::OneOf("a power of two"));
        }
        if block_size < 16 {
            return refuse(Rule::QuantMxfpBlockSizeTooSmall, Expected::AtLeast(16));
        }
        if block_size > 2048 {
            return refuse(Rule::QuantMxfpBlockSizeTooLarge, Expected::AtMost(2048));
        }
        if size == 0 || size.checked_rem(u64::from(block_size)) != Some(0) {
            let rule = Rule::QuantMxfpAxisNotMultiple;
            let expected = Expected::OneOf("a positive multiple of block_size");
            return Err(block.refuse(rule, 0, "shape[axis]", Value::Unsigned(size), expected));
        }
        Ok(Self { axis, block_size, scales })
    }

    /// What follows the head.
    pub(crate) fn words(&self) -> [u32; 3] {
        [self.axis, self.block_size, self.scales]
    }

    pub(crate) fn parameters(&self, shape: &impl Array<u64>) -> Parameters {
        let count = blocks(shape, self.axis, self.block_size);
        Parameters::scales(self.scales, 1, count, &SCALES)
    }

    /// 0xFF is no scale. 0x00 is 2^-127 to a reader, and not to be written (decision 22).
    pub(crate) fn check_values(&self, buffers: &[Contents<'_>]) -> Result<()> {
        let scales = parameters::buffer(buffers, self.scales, "scale")?;
        let Some(at) = scales.bytes.iter().position(|code| matches!(code, 0x00 | 0xFF)) else {
            return Ok(());
        };
        let code = scales.bytes.get(at).copied().unwrap_or_default();
        let rule =
            if code == 0xFF { Rule::QuantMxfpScaleNan } else { Rule::QuantMxfpScaleCodeZero };
        let expected = Expected::OneOf("0x01 to 0xFE");
        let at = parameters::at_in(scales, at);
        Err(Error::new(rule, "scale", at, Value::Tag(u64::from(code)), expected))
    }
}

fn is_storage(dtype: Dtype) -> bool {
    matches!(
        dtype,
        Dtype::Float8E4M3
            | Dtype::Float8E5M2
            | Dtype::Float4E2M1
            | Dtype::Float6E2M3
            | Dtype::Float6E3M2
            | Dtype::Int8
            | Dtype::Int4
    )
}
