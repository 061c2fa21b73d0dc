//! NF4: four-bit codes of a normal distribution, an f32 absmax scale for each block.

use super::affine::{BlockRules, need_axis, need_block_size};
use super::parameters::{self, Parameters, find_scale};
use super::{Context, IndexRules, blocks, need_storage};
use crate::contents::Contents;
use crate::dtype::Dtype;
use crate::error::{Error, Expected, Result, Value};
use crate::rules::Rule;
use crate::wire::{Array, Reader, Trace};

/// NF4. 16 bytes on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nf4 {
    /// The dimension the blocks lie along.
    pub axis: u32,
    /// Elements per block, a power of two from 8; the last block may be shorter.
    pub block_size: u32,
    /// The buffer of scales.
    pub scales: u32,
}

/// The value of each code before scaling, exact in f32.
pub const NF4_TABLE: [f32; 16] = [
    -1.0,
    -0.696_192_8,
    -0.525_073_05,
    -0.394_917_5,
    -0.284_441_38,
    -0.184_773_43,
    -0.091_050_036,
    0.0,
    0.079_580_3,
    0.160_930_2,
    0.246_112_3,
    0.337_915_24,
    0.440_709_83,
    0.562_617,
    0.722_956_84,
    1.0,
];

static SCALES: IndexRules = IndexRules {
    field: "scale_buffer_index",
    range: Rule::QuantNf4ScaleIndexRange,
    is_data: Rule::QuantNf4ScaleIndexIsData,
    size: Rule::QuantNf4ScaleSize,
};

impl Nf4 {
    pub(crate) fn load<T: Trace>(r: &mut Reader<'_, '_, T>, context: &Context<'_>) -> Result<Self> {
        let block = r.block::<12>("quantization")?;
        let axis = r.u32(&block, 0, "axis");
        let block_size = r.u32(&block, 4, "block_size");
        let scales = r.u32(&block, 8, "scale_buffer_index");

        let is_storage = |dtype| dtype == Dtype::UInt4;
        need_storage(context, is_storage, Rule::QuantNf4StorageType, "uint4")?;
        let rule = Rule::QuantNf4Axis;
        let size = need_axis(&block, axis, &context.shape, rule, Rule::QuantNf4DynamicAxis)?;
        let rules = BlockRules {
            not_power_of_two: Rule::QuantNf4BlockSizeNotPowerOfTwo,
            too_small: Rule::QuantNf4BlockSizeTooSmall,
            exceeds_axis: Rule::QuantNf4BlockSizeExceedsAxis,
        };
        need_block_size(&block, block_size, 8, size, &rules)?;
        Ok(Self { axis, block_size, scales })
    }

    /// What follows the head.
    pub(crate) fn words(&self) -> [u32; 3] {
        [self.axis, self.block_size, self.scales]
    }

    pub(crate) fn parameters(&self, shape: &impl Array<u64>) -> Parameters {
        let count = blocks(shape, self.axis, self.block_size);
        Parameters::scales(self.scales, 4, count, &SCALES)
    }

    pub(crate) fn check_values(&self, buffers: &[Contents<'_>]) -> Result<()> {
        let scales = parameters::buffer(buffers, self.scales, "scale")?;
        let good = |scale: f32| scale.is_finite() && scale >= 0.0;
        match find_scale(scales, f32::from_le_bytes, good) {
            Some((at, scale)) => {
                let found = Value::Float32(scale.to_bits());
                let expected = Expected::OneOf("a finite scale of 0 or more");
                Err(Error::new(Rule::QuantNf4ScaleValue, "scale", at, found, expected))
            }
            None => Ok(()),
        }
    }
}
