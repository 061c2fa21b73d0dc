//! The elements of a tensor as one slice, where they are one.

use std::ops::Range;

use hurray_format::{Descriptor, Error as FormatError, Expected, Layout, Rule, Value};

use super::{Parts, Tensor};
use crate::buffer::{Buffer, Returned};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::memory::refuse;

impl Tensor {
    /// The elements in index order, where they are: a row-major tensor, or one of any layout
    /// that comes to the same.
    ///
    /// ```
    /// use hurray_tensor::Tensor;
    ///
    /// let tensor = Tensor::from_vec(vec![1_i32, 2, 3, 4, 5, 6], &[2, 3])?;
    /// assert_eq!(tensor.as_slice::<i32>()?, [1, 2, 3, 4, 5, 6]);
    /// assert_eq!(tensor.as_slice::<f32>().unwrap_err().rule().unwrap().id(), "view.type");
    /// # Ok::<(), hurray_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `view.type`, `view.not-contiguous`, `view.unaligned`, `memory.not-host`,
    /// `memory.may-change`, `descriptor.unresolved`.
    pub fn as_slice<T: Element>(&self) -> Result<&[T]> {
        self.need_type::<T>()?;
        T::elements_of(self.as_bytes()?).ok_or_else(|| {
            let (found, expected) = (Value::Unsigned(self.descriptor().byte_offset()), aligned());
            refuse(Rule::ViewUnaligned, "byte_offset", found, expected)
        })
    }

    /// The bytes of the elements in index order, where they are, packed as the format packs
    /// them: one for each element of an 8-bit float, a bit for each bool.
    ///
    /// # Errors
    ///
    /// As [`as_slice`](Self::as_slice), but for the type and its alignment.
    pub fn as_bytes(&self) -> Result<&[u8]> {
        let run = run(self.descriptor())?;
        if run.is_empty() {
            return Ok(&[]);
        }
        let Some(buffer) = self.buffers().first() else {
            return Err(not_contiguous(self.descriptor()));
        };
        let bytes = buffer.host_bytes()?;
        let place = |at: u64| usize::try_from(at.checked_sub(buffer.lead())?).ok();
        let found = place(run.start).zip(place(run.end)).and_then(|(s, e)| bytes.get(s..e));
        // The extent was checked against the buffer.
        found.ok_or_else(|| not_contiguous(self.descriptor()))
    }

    /// The vector that the tensor was made of, with its elements where they are, in index
    /// order. Nothing is copied: what is not such a vector comes back as it was.
    ///
    /// ```
    /// use hurray_tensor::Tensor;
    ///
    /// let elements = vec![1.0_f32, 2.0, 3.0];
    /// let first = elements.as_ptr();
    /// let tensor = Tensor::from_vec(elements, &[3])?;
    /// assert_eq!(tensor.try_into_vec::<f32>().unwrap().as_ptr(), first);
    /// # Ok::<(), hurray_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The tensor, with `view.type`, `view.not-contiguous`; `view.not-vector` where the memory
    /// is not all of a vector, or somebody else holds it too.
    #[expect(clippy::result_large_err, reason = "what is refused comes back as it was")]
    pub fn try_into_vec<T: Element>(self) -> Result<Vec<T>, Returned<Self>> {
        match self.fills_vector::<T>() {
            Ok(()) => self.into_whole_vec(),
            Err(error) => Err(Returned { value: self, error }),
        }
    }

    /// The vector that all of its memory is, which may have more elements than it.
    #[expect(clippy::result_large_err, reason = "what is refused comes back as it was")]
    pub(crate) fn into_whole_vec<T: Element>(self) -> Result<Vec<T>, Returned<Self>> {
        match self.buffers() {
            [buffer] if buffer.is_all() => {}
            // Such as a quantized tensor, whose scales would be lost; or a part of a vector, of
            // which the rest would come along.
            _ => return Err(Returned { value: self, error: not_vector() }),
        }
        let (descriptor, mut buffers) = self.0.split();
        let buffer = buffers.pop().unwrap_or_else(Buffer::empty);
        buffer.try_into_vec().map_err(|Returned { value, .. }| {
            buffers.push(value);
            Returned { value: Self(Parts::new(descriptor, buffers)), error: not_vector() }
        })
    }

    /// Whether it is all of the elements of a vector, in order, if its memory is one.
    fn fills_vector<T: Element>(&self) -> Result<()> {
        let elements = size_of_val(self.as_slice::<T>()?);
        let whole = self.buffers().first().map_or(0, |buffer| {
            usize::try_from(buffer.byte_size().saturating_sub(buffer.lead())).unwrap_or(0)
        });
        if elements == whole { Ok(()) } else { Err(not_vector()) }
    }

    pub(crate) fn need_type<T: Element>(&self) -> Result<()> {
        need_type::<T>(self.descriptor())
    }
}

/// Refuses another type than the elements are of.
pub(crate) fn need_type<T: Element>(descriptor: &Descriptor) -> Result<()> {
    let dtype = descriptor.dtype();
    if dtype == T::DTYPE {
        return Ok(());
    }
    let found = Value::Tag(u64::from(T::DTYPE.tag()));
    let expected = Expected::Exactly(u64::from(dtype.tag()));
    Err(FormatError::new(Rule::ViewType, "type_tag", 14, found, expected).into())
}

/// Where in buffer 0 all elements lie, one after the other in index order.
pub(crate) fn run(descriptor: &Descriptor) -> Result<Range<u64>> {
    let start = descriptor.byte_offset();
    let count = element_count(descriptor)?;
    if count == 0 {
        return Ok(start..start);
    }
    let is_run = match descriptor.layout() {
        Layout::RowMajor => true,
        Layout::ColumnMajor | Layout::Strided(_) => {
            descriptor.strides().is_some_and(|strides| is_row_major(descriptor.shape(), &strides))
        }
        // Along one dimension the curve is straight.
        Layout::Morton(_) => descriptor.rank() == 1 || count == 1,
        Layout::Tiled(_) | Layout::Hilbert(_) => count == 1,
        _ => false,
    };
    let bytes = descriptor.dtype().bytes_for(u128::from(count));
    let end = bytes.and_then(|bytes| start.checked_add(u64::try_from(bytes).ok()?));
    match end {
        Some(end) if is_run => Ok(start..end),
        _ => Err(not_contiguous(descriptor)),
    }
}

/// Whether steps are those of a row-major box. Where there is one index, its step is never
/// taken.
pub(crate) fn is_row_major(shape: &[u64], strides: &[i64]) -> bool {
    is_dense(shape.iter().zip(strides).rev())
}

/// The same for a column-major box.
pub(crate) fn is_column_major(shape: &[u64], strides: &[i64]) -> bool {
    is_dense(shape.iter().zip(strides))
}

/// Whether there is no gap, the fastest dimension first.
fn is_dense<'s>(dimensions: impl Iterator<Item = (&'s u64, &'s i64)>) -> bool {
    let mut step: u128 = 1;
    for (size, stride) in dimensions {
        if *size != 1 && u128::try_from(*stride) != Ok(step) {
            return false;
        }
        step = step.saturating_mul(u128::from(*size));
    }
    true
}

/// How many elements there are.
pub(crate) fn element_count(descriptor: &Descriptor) -> Result<u64> {
    descriptor.element_count().ok_or_else(|| {
        let (rule, found) = match descriptor.is_dynamic() {
            true => (Rule::DescriptorUnresolved, Value::None),
            false => (Rule::ViewTooMany, Value::BeyondU64),
        };
        Error::from(FormatError::new(rule, "shape", 20, found, Expected::Unsaid))
    })
}

#[cold]
fn not_contiguous(descriptor: &Descriptor) -> Error {
    let found = Value::Tag(u64::from(descriptor.layout().tag()));
    let rule = Rule::ViewNotContiguous;
    FormatError::new(rule, "layout_tag", 15, found, Expected::Unsaid).into()
}

#[cold]
fn not_vector() -> Error {
    refuse(Rule::ViewNotVector, "memory", Value::None, Expected::Unsaid)
}

fn aligned() -> Expected {
    Expected::OneOf("a multiple of the type's alignment")
}
