//! Tensors that are parts or turns of others, in the same memory.

mod cut;
mod parameters;
mod plan;
mod reshape;
mod sections;

pub use cut::Cut;

use hurray_format::{Descriptor, Error as FormatError, Expected, Rule, Value};

use super::Tensor;
use crate::error::{Error, Result};
use crate::memory::as_u64;
use plan::Plan;

/// # Parts and turns
///
/// These share the tensor's memory and copy nothing. They are there for row-major,
/// column-major and strided tensors, on any device. Buffer 0 is cut down to what the result
/// reaches, so that saving a part does not save the whole; on a device it keeps its alignment, up to
/// 4096.
///
/// What the descriptor says besides is kept where it is still exactly right:
///
/// * Quantization for the tensor: always. For channels: it follows its axis; a cut along the
///   axis needs scales that start at a multiple of 64 bytes, or of the 4096 that those on a device
///   are aligned to. For blocks: where the blocks are
///   still whole and in their order, such as after turning a matrix. Otherwise
///   `view.quantization`. Private schemes: only where nothing changes.
/// * A shard is the box it was, cut and turned likewise; where the result is no box of the
///   parent any more, it has none.
/// * Statistics of the values where all of them are still there; N:M sparsity never.
/// * The part it plays in an overlay is not: the result is no member.
///
/// Elements narrower than a byte must start at a byte (those of 6 bits at a group of four),
/// or `view.sub-byte`.
impl Tensor {
    /// The elements inside some ranges, one for each dimension from the first on, each with a
    /// step if wanted. Dimensions without a range are taken whole.
    ///
    /// ```
    /// use hurray_tensor::{Cut, Tensor};
    ///
    /// let tensor = Tensor::from_vec((0_u8..12).collect(), &[3, 4])?;
    /// let corner = tensor.slice([1..3, 2..4])?;
    /// assert_eq!(corner.to_vec::<u8>()?, [6, 7, 10, 11]);
    ///
    /// let mirrored = tensor.slice([Cut::from(0..2), Cut::ALL.by(-2)])?;
    /// assert_eq!(mirrored.to_vec::<u8>()?, [3, 1, 7, 5]);
    /// assert!(mirrored.buffers()[0].shares_memory_with(&tensor.buffers()[0]));
    /// # Ok::<(), hurray_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `view.range`, `view.axes` for more ranges than dimensions, `view.layout`,
    /// `view.sub-byte`, `view.quantization`, `descriptor.unresolved`.
    pub fn slice<C: Into<Cut>>(&self, cuts: impl IntoIterator<Item = C>) -> Result<Self> {
        let mut plan = Plan::of(self)?;
        for (axis, cut) in cuts.into_iter().enumerate() {
            plan.cut(axis, cut.into())?;
        }
        plan.finish()
    }

    /// The elements inside a range along one axis.
    ///
    /// ```
    /// use hurray_tensor::{Cut, Tensor};
    /// let tensor = Tensor::from_vec((0_u8..6).collect(), &[2, 3])?;
    /// assert_eq!(tensor.slice_axis(1, 1..3)?.to_vec::<u8>()?, [1, 2, 4, 5]);
    /// assert_eq!(tensor.slice_axis(0, Cut::ALL.by(-1))?.to_vec::<u8>()?, [3, 4, 5, 0, 1, 2]);
    /// # Ok::<(), hurray_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`slice`](Self::slice).
    pub fn slice_axis(&self, axis: usize, cut: impl Into<Cut>) -> Result<Self> {
        let mut plan = Plan::of(self)?;
        plan.cut(axis, cut.into())?;
        plan.finish()
    }

    /// The elements at `index` along an axis, which is no more.
    ///
    /// ```
    /// use hurray_tensor::Tensor;
    /// let tensor = Tensor::from_vec((0_u8..12).collect(), &[3, 4])?;
    /// assert_eq!(tensor.index_axis(1, 2)?.to_vec::<u8>()?, [2, 6, 10]);
    /// # Ok::<(), hurray_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`slice`](Self::slice).
    pub fn index_axis(&self, axis: usize, index: u64) -> Result<Self> {
        let mut plan = Plan::of(self)?;
        plan.take(axis, index)?;
        plan.finish()
    }

    /// The dimensions in another order: the first of the result is dimension `axes[0]`.
    ///
    /// # Errors
    ///
    /// `view.axes` where they are not each dimension once; as [`slice`](Self::slice).
    pub fn permute(&self, axes: &[usize]) -> Result<Self> {
        let mut plan = Plan::of(self)?;
        plan.permute(axes)?;
        plan.finish()
    }

    /// The dimensions in reverse order: of a matrix, rows become columns.
    ///
    /// # Errors
    ///
    /// As [`slice`](Self::slice).
    pub fn transpose(&self) -> Result<Self> {
        let mut plan = Plan::of(self)?;
        plan.reverse();
        plan.finish()
    }

    /// Without the axis, whose size is 1.
    ///
    /// # Errors
    ///
    /// `view.axes` where there is no such axis, or it has another size; as
    /// [`slice`](Self::slice).
    pub fn squeeze(&self, axis: usize) -> Result<Self> {
        let size = self.descriptor().shape().get(axis).copied();
        if size.is_some_and(|size| size != 1) {
            let found = size.map_or(Value::None, Value::Unsigned);
            return Err(refused(Rule::ViewAxes, "axis", found, Expected::Exactly(1)));
        }
        self.index_axis(axis, 0)
    }

    /// With one more axis, of size 1, before the present axis `axis` or behind the last.
    ///
    /// # Errors
    ///
    /// `view.axes`, `descriptor.rank-too-large`; as [`slice`](Self::slice).
    pub fn unsqueeze(&self, axis: usize) -> Result<Self> {
        let mut plan = Plan::of(self)?;
        plan.insert(axis)?;
        plan.finish()
    }

    /// Repeated to a larger shape, without memory for it: axes of size 1 are repeated, and new
    /// ones come in front.
    ///
    /// ```
    /// use hurray_tensor::Tensor;
    /// let row = Tensor::from_vec(vec![1_u8, 2, 3], &[3])?;
    /// let rows = row.broadcast(&[2, 3])?;
    /// assert_eq!(rows.iter::<u8>()?.collect::<Vec<_>>(), [1, 2, 3, 1, 2, 3]);
    /// # Ok::<(), hurray_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `view.broadcast`; as [`slice`](Self::slice).
    pub fn broadcast(&self, shape: &[u64]) -> Result<Self> {
        let mut plan = Plan::of(self)?;
        plan.broadcast(shape)?;
        plan.finish()
    }

    /// The same elements in index order, in another shape, where no element has to move.
    ///
    /// ```
    /// use hurray_tensor::Tensor;
    /// let tensor = Tensor::from_vec((0_u8..12).collect(), &[3, 4])?;
    /// let cube = tensor.reshape(&[3, 2, 2])?;
    /// assert_eq!(cube.element::<u8>(&[1, 1, 0])?, 6);
    /// let turned = tensor.transpose()?;
    /// assert_eq!(turned.reshape(&[12]).unwrap_err().rule().unwrap().id(), "view.reshape");
    /// # Ok::<(), hurray_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `view.element-count`, `view.reshape`; as [`slice`](Self::slice).
    pub fn reshape(&self, shape: &[u64]) -> Result<Self> {
        reshape::reshape(self, shape)
    }
}

#[cold]
fn refused(rule: Rule, field: &'static str, found: Value, expected: Expected) -> Error {
    FormatError::new(rule, field, 0, found, expected).into()
}

#[cold]
fn no_axis(axis: usize, rank: usize) -> Error {
    let found = Value::Unsigned(as_u64(axis));
    let expected = match rank.checked_sub(1) {
        Some(last) => Expected::AtMost(as_u64(last)),
        None => Expected::Unsaid,
    };
    refused(Rule::ViewAxes, "axis", found, expected)
}

/// The steps of a tensor that has them.
pub(crate) fn strides(descriptor: &Descriptor) -> Result<hurray_format::List<i64>> {
    descriptor.strides().ok_or_else(|| {
        if descriptor.is_dynamic() {
            let rule = Rule::DescriptorUnresolved;
            return FormatError::new(rule, "shape", 20, Value::None, Expected::Unsaid).into();
        }
        let found = Value::Tag(u64::from(descriptor.layout().tag()));
        let expected = Expected::OneOf("row-major, column-major or strided");
        FormatError::new(Rule::ViewLayout, "layout_tag", 15, found, expected).into()
    })
}
