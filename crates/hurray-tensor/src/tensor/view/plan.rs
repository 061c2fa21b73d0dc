//! What is to become of each dimension of a tensor, and the tensor that comes of it.

use hurray_format::{
    BufferHandle, Descriptor, DeviceTag, Expected, Layout, List, MIN_ALIGNMENT, Rule, Shard,
    Statistics, Value,
};
use smallvec::SmallVec;

use super::cut::{Cut, Taken};
use super::{no_axis, parameters, refused, sections, strides};
use crate::buffer::Buffer;
use crate::error::Result;
use crate::memory::{Alignment, as_u64};
use crate::tensor::typed::{is_column_major, is_row_major};
use crate::tensor::{Buffers, Tensor};

/// The dimensions of the result.
pub(super) struct Plan<'t> {
    pub(super) tensor: &'t Tensor,
    pub(super) dimensions: SmallVec<[Dimension; 8]>,
    /// What was taken of each dimension of the tensor; also of those that are no more.
    pub(super) taken: SmallVec<[Taken; 8]>,
    /// From the tensor's first element to the result's, in elements.
    start: i128,
}

/// One dimension of the result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dimension {
    pub(super) size: u64,
    stride: i64,
    pub(super) origin: Origin,
}

/// Where a dimension comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// It is what was taken of one of the tensor's.
    Axis(usize),
    /// It is one of the tensor's, of size 1, repeated.
    Repeated,
    /// It is new, and every index along it is the same.
    New,
}

impl<'t> Plan<'t> {
    /// Everything as it is.
    pub(super) fn of(tensor: &'t Tensor) -> Result<Self> {
        let descriptor = tensor.descriptor();
        let strides = strides(descriptor)?;
        let dimensions = descriptor.shape().iter().zip(strides.iter()).enumerate();
        let dimensions = dimensions.map(|(axis, (size, stride))| Dimension {
            size: *size,
            stride: *stride,
            origin: Origin::Axis(axis),
        });
        let whole = |size: &u64| Taken { first: 0, length: *size, step: 1 };
        Ok(Self {
            tensor,
            dimensions: dimensions.collect(),
            taken: descriptor.shape().iter().map(whole).collect(),
            start: 0,
        })
    }

    /// Takes a range of a dimension, of which nothing was taken before.
    pub(super) fn cut(&mut self, axis: usize, cut: Cut) -> Result<()> {
        let rank = self.dimensions.len();
        let Some(dimension) = self.dimensions.get_mut(axis) else {
            return Err(no_axis(axis, rank));
        };
        let taken = cut.of(dimension.size)?;
        let first = i128::from(taken.first).saturating_mul(i128::from(dimension.stride));
        self.start = self.start.saturating_add(first);
        dimension.size = taken.length;
        dimension.stride = match dimension.stride.checked_mul(taken.step) {
            Some(stride) => stride,
            // A step that is never taken.
            None if taken.length <= 1 => 0,
            None => {
                let (rule, found) = (Rule::ViewRange, Value::Signed(taken.step));
                return Err(refused(rule, "step", found, Expected::Unsaid));
            }
        };
        if let Some(kept) = self.taken.get_mut(axis) {
            *kept = taken;
        }
        Ok(())
    }

    /// Takes one index of a dimension, which is no more.
    pub(super) fn take(&mut self, axis: usize, index: u64) -> Result<()> {
        self.cut(axis, Cut::from(index..index.saturating_add(1)))?;
        self.dimensions.remove(axis);
        Ok(())
    }

    pub(super) fn permute(&mut self, axes: &[usize]) -> Result<()> {
        let rank = self.dimensions.len();
        if axes.len() != rank {
            let (found, expected) = (Value::Unsigned(as_u64(axes.len())), as_u64(rank));
            return Err(refused(Rule::ViewAxes, "axes", found, Expected::Exactly(expected)));
        }
        let mut permuted = SmallVec::new();
        for (n, axis) in axes.iter().enumerate() {
            let is_twice = axes.iter().take(n).any(|before| before == axis);
            match self.dimensions.get(*axis) {
                Some(dimension) if !is_twice => permuted.push(*dimension),
                _ => return Err(no_axis(*axis, rank)),
            }
        }
        self.dimensions = permuted;
        Ok(())
    }

    pub(super) fn reverse(&mut self) {
        self.dimensions.reverse();
    }

    /// A new dimension of size 1 before dimension `axis`.
    pub(super) fn insert(&mut self, axis: usize) -> Result<()> {
        let rank = self.dimensions.len();
        if axis > rank {
            return Err(no_axis(axis, rank.saturating_add(1)));
        }
        self.dimensions.insert(axis, Dimension { size: 1, stride: 0, origin: Origin::New });
        Ok(())
    }

    pub(super) fn broadcast(&mut self, shape: &[u64]) -> Result<()> {
        let rank = self.dimensions.len();
        let Some(added) = shape.len().checked_sub(rank) else {
            let found = Value::Unsigned(as_u64(shape.len()));
            let expected = Expected::AtLeast(as_u64(rank));
            return Err(refused(Rule::ViewBroadcast, "rank", found, expected));
        };
        let new = Dimension { size: 1, stride: 0, origin: Origin::New };
        self.dimensions.insert_many(0, std::iter::repeat_n(new, added));
        for (dimension, size) in self.dimensions.iter_mut().zip(shape) {
            if dimension.size == *size {
                continue;
            }
            if dimension.size != 1 {
                let (found, expected) = (Value::Unsigned(*size), Expected::Exactly(dimension.size));
                return Err(refused(Rule::ViewBroadcast, "shape", found, expected));
            }
            *dimension = match dimension.origin {
                Origin::Axis(_) => Dimension { size: *size, stride: 0, origin: Origin::Repeated },
                _ => Dimension { size: *size, ..*dimension },
            };
        }
        Ok(())
    }

    /// Whether everything is as it was.
    fn is_unchanged(&self) -> bool {
        let shape = self.tensor.descriptor().shape();
        let same = |(axis, (dimension, size)): (usize, (&Dimension, &u64))| {
            dimension.origin == Origin::Axis(axis) && dimension.size == *size
        };
        self.dimensions.len() == shape.len()
            && self.dimensions.iter().zip(shape).enumerate().all(same)
            && self.taken.iter().all(|taken| taken.step == 1)
    }

    pub(super) fn finish(self) -> Result<Tensor> {
        if self.is_unchanged() {
            return Ok(self.tensor.clone());
        }
        let placed = Placed {
            shape: self.dimensions.iter().map(|dimension| dimension.size).collect(),
            strides: self.dimensions.iter().map(|dimension| dimension.stride).collect(),
            start: self.start,
        };
        let parameters = parameters::after(&self)?;
        let (shard, statistics) = (sections::shard(&self), sections::statistics(&self));
        placed.of(self.tensor, parameters, shard, statistics)
    }
}

/// Where the elements of a result are in the memory of a tensor.
pub(super) struct Placed {
    pub(super) shape: List<u64>,
    pub(super) strides: List<i64>,
    /// From the tensor's first element to the result's, in elements.
    pub(super) start: i128,
}

impl Placed {
    /// The result.
    pub(super) fn of(
        self,
        tensor: &Tensor,
        parameters: parameters::Kept,
        shard: Option<Shard>,
        statistics: Option<Statistics>,
    ) -> Result<Tensor> {
        let descriptor = tensor.descriptor();
        let layout = self.layout();
        let (byte_offset, values) = self.values(tensor, &layout)?;
        let mut handles: SmallVec<[BufferHandle; 3]> = SmallVec::new();
        let mut buffers = Buffers::new();
        let kept = std::iter::once(values).chain(parameters.buffers);
        for (handle, Part { buffer, cut }) in descriptor.buffers().iter().zip(kept) {
            handles.push(handle_of_part(*handle, &buffer, cut)?);
            buffers.push(buffer);
        }
        let mut builder = Descriptor::builder(descriptor.dtype(), &self.shape)
            .layout(layout)
            .byte_offset(byte_offset)
            .buffers(handles);
        if let Some(scheme) = parameters.scheme {
            builder = builder.quantization(scheme);
        }
        if let Some(shard) = shard {
            builder = builder.shard(shard);
        }
        if let Some(statistics) = statistics {
            builder = builder.statistics(statistics);
        }
        Tensor::new(builder.build()?, buffers)
    }

    fn layout(&self) -> Layout {
        if self.is_empty() || is_row_major(&self.shape, &self.strides) {
            return Layout::RowMajor;
        }
        if is_column_major(&self.shape, &self.strides) {
            return Layout::ColumnMajor;
        }
        Layout::strided(self.strides.clone())
    }

    fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// The bytes that the elements reach, and where among them the first element starts.
    fn values(&self, tensor: &Tensor, layout: &Layout) -> Result<(u64, Part)> {
        let buffer = match tensor.buffers().first() {
            Some(buffer) => buffer,
            None => &Buffer::empty(),
        };
        if self.is_empty() {
            return Ok((0, Part { buffer: buffer.slice(0..0)?, cut: 0 }));
        }
        let dtype = tensor.descriptor().dtype();
        let bits = self.start.saturating_mul(i128::from(dtype.bits()));
        if bits.rem_euclid(8) != 0 {
            let found = u64::try_from(bits).map_or(Value::BeyondU64, Value::Unsigned);
            let expected = Expected::OneOf("a whole number of bytes");
            return Err(refused(Rule::ViewSubByte, "bits", found, expected));
        }
        let base = i128::from(tensor.descriptor().byte_offset());
        let first = u64::try_from(base.saturating_add(bits.div_euclid(8))).ok();
        let extent = first.and_then(|first| layout.extent(dtype, &self.shape, first));
        let (Some(first), Some(extent)) = (first, extent) else {
            return Err(refused(Rule::ViewTooMany, "shape", Value::BeyondU64, Expected::Unsaid));
        };
        let kept = tensor.descriptor().buffers().first().map_or(MIN_ALIGNMENT, kept_alignment);
        let cut = extent.start & !u64::from(kept).wrapping_sub(1);
        Ok((first.saturating_sub(cut), Part { buffer: buffer.slice(cut..extent.end)?, cut }))
    }
}

/// A part of a buffer that starts `cut` bytes into it.
pub(super) struct Part {
    pub(super) buffer: Buffer,
    pub(super) cut: u64,
}

/// What a part of a buffer must be aligned to: enough for the CPU, and on a device what the whole
/// was, up to the 4096 that whoever writes to devices owes.
pub(super) fn kept_alignment(whole: &BufferHandle) -> u32 {
    match whole.device() {
        DeviceTag::CPU => MIN_ALIGNMENT,
        _ => whole.alignment().clamp(MIN_ALIGNMENT, Alignment::PAGE.bytes()),
    }
}

/// The handle of a part: of its length, and at the alignment that is left of the whole's.
fn handle_of_part(whole: BufferHandle, part: &Buffer, cut: u64) -> Result<BufferHandle> {
    let left = 1_u64.checked_shl(cut.trailing_zeros()).unwrap_or(u64::MAX);
    let alignment = u64::from(whole.alignment()).min(left);
    let alignment = u32::try_from(alignment).unwrap_or(MIN_ALIGNMENT);
    let (device, class) = (whole.device(), whole.class());
    Ok(BufferHandle::new(part.byte_size(), alignment, device, whole.sync(), class)?)
}
