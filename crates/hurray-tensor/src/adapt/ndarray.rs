//! `ndarray` arrays.

#![allow(unsafe_code, reason = "an array is made of a vector whose fit was checked before")]

use hurray_format::{Error as FormatError, Expected, Rule, Value};
use ndarray::{Array, ArrayD, ArrayViewD, Axis, Dimension, IxDyn, ShapeBuilder, StrideShape};

use super::layout_of;
use crate::buffer::{BufferMut, Returned};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::memory::{as_u64, refuse};
use crate::tensor::{Tensor, view};

/// # `ndarray`
///
/// With the feature `ndarray`. Types that Rust has no number for, such as packed bools, have no
/// array; tiled and curved layouts have none without [a copy](Self::to_row_major).
impl Tensor {
    /// The tensor as an array, in the tensor's own memory, with its strides: negative ones, and
    /// those of 0 where it is repeated, included.
    ///
    /// ```
    /// use hurray_tensor::{Cut, Tensor};
    ///
    /// let tensor = Tensor::from_vec(vec![1_i32, 2, 3, 4, 5, 6], &[2, 3])?;
    /// let turned = tensor.slice([Cut::ALL, Cut::ALL.by(-1)])?;
    /// let array = turned.as_ndarray::<i32>()?;
    /// assert_eq!(array, ndarray::arr2(&[[3, 2, 1], [6, 5, 4]]).into_dyn());
    /// assert_eq!(array.strides(), [3, -1]);
    /// # Ok::<(), hurray_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `view.type`, `view.layout`, `view.unaligned`; `view.too-many` for more elements than an
    /// array counts; `memory.not-host`, `memory.may-change`, `descriptor.unresolved`.
    pub fn as_ndarray<T: Element>(&self) -> Result<ArrayViewD<'_, T>> {
        self.need_type::<T>()?;
        let Steps { shape, backwards } = self.steps()?;
        let array = ArrayViewD::from_shape(shape, self.reached::<T>()?);
        let mut array = array.map_err(|_| too_many())?;
        // So far it goes upwards from the lowest element.
        backwards.iter().for_each(|axis| array.invert_axis(Axis(*axis)));
        Ok(array)
    }

    /// An array's elements, where they are, with the array's strides.
    ///
    /// ```
    /// use hurray_tensor::Tensor;
    /// use hurray_tensor::format::Layout;
    ///
    /// let array = ndarray::arr2(&[[1.0_f32, 2.0], [3.0, 4.0]]).reversed_axes();
    /// let first = array.as_ptr();
    /// let tensor = Tensor::from_ndarray(array)?;
    /// assert_eq!(tensor.descriptor().layout(), &Layout::ColumnMajor);
    /// assert_eq!(tensor.as_ndarray::<f32>()?.as_ptr(), first);
    /// # Ok::<(), hurray_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `descriptor.rank-too-large` above 64 dimensions.
    pub fn from_ndarray<T: Element, D: Dimension>(array: Array<T, D>) -> Result<Self> {
        let shape: Vec<u64> = array.shape().iter().copied().map(as_u64).collect();
        let strides: Vec<i64> = array.strides().iter().map(|stride| wide(*stride)).collect();
        let layout = layout_of(&shape, &strides);
        let (elements, first) = array.into_raw_vec_and_offset();
        let first = first.filter(|_| !shape.contains(&0)).unwrap_or(0);
        let byte_offset = as_u64(first.saturating_mul(size_of::<T>()));
        let buffer = BufferMut::from_vec(elements)?.freeze();
        Self::laid_out(T::DTYPE, &shape, layout, byte_offset, buffer)
    }

    /// The vector that the tensor was made of as an array, with its elements where they are.
    /// Nothing is copied: what is not all of a vector comes back as it was.
    ///
    /// ```
    /// use hurray_tensor::Tensor;
    /// let tensor = Tensor::from_vec(vec![1_u8, 2, 3, 4], &[2, 2])?;
    /// let mut array = tensor.try_into_ndarray::<u8>().unwrap();
    /// array[[1, 0]] = 7;
    /// assert_eq!(array, ndarray::arr2(&[[1, 2], [7, 4]]).into_dyn());
    /// # Ok::<(), hurray_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The tensor, with `view.not-vector` where its memory is not all of a vector that nobody
    /// else holds and whose first element is its lowest, or has elements of several indices; as
    /// [`as_ndarray`](Self::as_ndarray).
    #[expect(clippy::result_large_err, reason = "what is refused comes back as it was")]
    pub fn try_into_ndarray<T: Element>(self) -> Result<ArrayD<T>, Returned<Self>> {
        let steps = match self.fits_vector::<T>() {
            Ok(steps) => steps,
            Err(error) => return Err(Returned { value: self, error }),
        };
        let elements = self.into_whole_vec::<T>()?;
        // SAFETY: `as_ndarray` made an array of this shape and these strides, none of them
        // negative, over elements from the vector's first on, and no more than it has: so their
        // numbers agree, nothing overflows, and every index leads inside. That no two indices
        // lead to one element was checked.
        let mut array = unsafe { ArrayD::from_shape_vec_unchecked(steps.shape, elements) };
        steps.backwards.iter().for_each(|axis| array.invert_axis(Axis(*axis)));
        Ok(array)
    }

    /// A copy of the elements of a tensor of any dense layout as an array of its own.
    ///
    /// # Errors
    ///
    /// As [`to_vec`](Self::to_vec).
    pub fn to_ndarray<T: Element>(&self) -> Result<ArrayD<T>> {
        let elements = self.to_vec::<T>()?;
        let shape: Option<Vec<usize>> = self.descriptor().shape().iter().map(narrow).collect();
        let array = ArrayD::from_shape_vec(IxDyn(&shape.ok_or_else(too_many)?), elements);
        array.map_err(|_| too_many())
    }

    /// The elements from the lowest to the highest that an index leads to.
    fn reached<T: Element>(&self) -> Result<&[T]> {
        let (bytes, lead) = self.values()?;
        let place = |at: u64| usize::try_from(at.checked_sub(lead)?).ok();
        let bytes = match self.descriptor().extent() {
            Some(extent) if extent.is_empty() => Some(&[][..]),
            Some(extent) => place(extent.start)
                .zip(place(extent.end))
                .and_then(|(start, end)| bytes.get(start..end)),
            None => None,
        };
        T::elements_of(bytes.ok_or_else(too_many)?).ok_or_else(|| {
            let found = Value::Unsigned(self.descriptor().byte_offset());
            let expected = Expected::OneOf("a multiple of the type's alignment");
            refuse(Rule::ViewUnaligned, "byte_offset", found, expected)
        })
    }

    /// The shape, with every step upwards, and which of them go downwards.
    fn steps(&self) -> Result<Steps> {
        let shape = self.descriptor().shape();
        let strides = view::strides(self.descriptor())?;
        let sizes: Option<Vec<usize>> = shape.iter().map(narrow).collect();
        let is_empty = shape.contains(&0);
        let step = |(size, stride): (&u64, &i64)| match narrow(&stride.unsigned_abs()) {
            _ if is_empty => Some(0),
            Some(step) if isize::try_from(step).is_ok() => Some(step),
            // A step that is never taken.
            _ => (*size == 1).then_some(0),
        };
        let steps: Option<Vec<usize>> = shape.iter().zip(strides.iter()).map(step).collect();
        let (Some(sizes), Some(steps)) = (sizes, steps) else {
            return Err(too_many());
        };
        let negative = |axis: &usize| !is_empty && strides.get(*axis).is_some_and(|s| *s < 0);
        let backwards = (0..shape.len()).filter(negative).collect();
        Ok(Steps { shape: IxDyn(&sizes).strides(IxDyn(&steps)), backwards })
    }

    /// The array that its memory would be, if it is all of a vector.
    fn fits_vector<T: Element>(&self) -> Result<Steps> {
        let array = self.as_ndarray::<T>()?;
        let lowest = self.descriptor().extent().map_or(0, |extent| extent.start);
        let lead = self.buffers().first().map_or(0, crate::Buffer::lead);
        let is_split = lowest != lead || overlaps(array.shape(), array.strides());
        if is_split && !array.is_empty() {
            return Err(refuse(Rule::ViewNotVector, "memory", Value::None, Expected::Unsaid));
        }
        self.steps()
    }
}

/// What an array is laid out by.
struct Steps {
    shape: StrideShape<IxDyn>,
    backwards: Vec<usize>,
}

/// Whether two indices may lead to one element: each step must lead past all that the smaller
/// ones reach.
fn overlaps(shape: &[usize], strides: &[isize]) -> bool {
    let taken = shape.iter().zip(strides).filter(|(size, _)| **size > 1);
    let mut steps: Vec<(usize, usize)> =
        taken.map(|(size, stride)| (stride.unsigned_abs(), *size)).collect();
    steps.sort_unstable();
    let mut reach = 0_usize;
    steps.iter().any(|(step, size)| {
        let overlaps = *step <= reach;
        reach = reach.saturating_add(step.saturating_mul(size.saturating_sub(1)));
        overlaps
    })
}

fn narrow(number: &u64) -> Option<usize> {
    usize::try_from(*number).ok()
}

/// Lossless on every platform there is.
fn wide(stride: isize) -> i64 {
    i64::try_from(stride).unwrap_or(i64::MAX)
}

#[cold]
fn too_many() -> Error {
    let found = Value::BeyondU64;
    FormatError::new(Rule::ViewTooMany, "shape", 20, found, Expected::Unsaid).into()
}
