//! Elements of tensors of any layout: one by its index, or all of them in order.

use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::slice;

use hurray_format::{Descriptor, Dtype, Error as FormatError, Expected, LayoutKind};
use hurray_format::{Location, Rule, Value};
use smallvec::SmallVec;

use super::Tensor;
use super::bits::{Bits, WIDEST, read};
use super::places::bit_of;
use crate::element::Element;
use crate::error::Result;

impl Tensor {
    /// The bits of the element at `index`, least significant first: of a quantized tensor,
    /// its code; of an element that a sparse tensor does not store, 0.
    ///
    /// Index arrays are not trusted: what is out of place in them is refused.
    ///
    /// ```
    /// use hurray_tensor::format::Dtype;
    /// use hurray_tensor::{BufferMut, Tensor};
    ///
    /// let packed = BufferMut::copy_of(&[0xC5, 0x03])?.freeze();
    /// let tensor = Tensor::dense(Dtype::UInt4, &[3], packed)?;
    /// assert_eq!(tensor.bits(&[1])?, 12);
    /// assert_eq!(tensor.iter_bits()?.collect::<Vec<_>>(), [5, 12, 3]);
    /// # Ok::<(), hurray_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `index.rank`, `index.out-of-bounds`, `descriptor.unresolved`; `index.no-address` for
    /// block-paged, private and composite layouts (see [`pages`](Self::pages));
    /// `view.element-width` for private types above 128 bits; the rules of `sparse.*`;
    /// `memory.not-host`, `memory.may-change`.
    pub fn bits(&self, index: &[u64]) -> Result<u128> {
        let width = number_width(self.descriptor().dtype())?;
        let place = match self.descriptor().layout().kind() {
            LayoutKind::Sparse => self.descriptor().locate_in(index, &self.host_slices()?)?,
            _ => Some(self.descriptor().locate(index)?),
        };
        match place {
            Some(place) => self.bits_at(place, width),
            None => Ok(0),
        }
    }

    /// The element at `index`, as [`bits`](Self::bits) finds it.
    ///
    /// # Errors
    ///
    /// `view.type`; as [`bits`](Self::bits).
    pub fn element<T: Element>(&self, index: &[u64]) -> Result<T> {
        self.need_type::<T>()?;
        Ok(T::of_bits(self.bits(index)?))
    }

    /// The bool at `index`, which is one bit.
    ///
    /// # Errors
    ///
    /// `view.type`; as [`bits`](Self::bits).
    pub fn bit(&self, index: &[u64]) -> Result<bool> {
        need_bool(self.descriptor())?;
        Ok(self.bits(index)? != 0)
    }

    /// The bits of all elements in index order. Elements that a sparse tensor does not store
    /// are 0; what it stores is checked first.
    ///
    /// # Errors
    ///
    /// `view.too-many`; as [`bits`](Self::bits).
    pub fn iter_bits(&self) -> Result<Bits<'_>> {
        Bits::of(self, number_width(self.descriptor().dtype())?)
    }

    /// All elements in index order, as [`iter_bits`](Self::iter_bits) finds them.
    ///
    /// ```
    /// use hurray_tensor::Tensor;
    /// let tensor = Tensor::from_vec(vec![1_u8, 2, 3, 4, 5, 6], &[2, 3])?.transpose()?;
    /// assert_eq!(tensor.iter::<u8>()?.collect::<Vec<_>>(), [1, 4, 2, 5, 3, 6]);
    /// # Ok::<(), hurray_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `view.type`; as [`iter_bits`](Self::iter_bits).
    pub fn iter<T: Element>(&self) -> Result<Elements<'_, T>> {
        self.need_type::<T>()?;
        Ok(Elements(match self.as_slice() {
            Ok(elements) => Kind::Slice(elements.iter()),
            Err(_) => Kind::Bits(self.iter_bits()?, PhantomData),
        }))
    }

    /// The bytes of buffer 0, and how many in front of them are counted and not there.
    pub(crate) fn values(&self) -> Result<(&[u8], u64)> {
        match self.buffers().first() {
            Some(buffer) => Ok((buffer.host_bytes()?, buffer.lead())),
            None => Ok((&[], 0)),
        }
    }

    /// The bytes of all buffers.
    pub(super) fn host_slices(&self) -> Result<SmallVec<[&[u8]; 5]>> {
        self.buffers().iter().map(|buffer| buffer.host_bytes()).collect()
    }

    pub(super) fn bits_at(&self, place: Location, width: u32) -> Result<u128> {
        let (bytes, lead) = self.values()?;
        // The extent was checked against the buffer.
        bit_of(place, lead).and_then(|bit| read(bytes, bit, width)).ok_or_else(|| {
            let found = Value::Unsigned(place.byte);
            let rule = Rule::LayoutBufferTooSmall;
            FormatError::new(rule, "byte_size", 0, found, Expected::Unsaid).into()
        })
    }
}

/// All elements of a tensor, in index order: see [`Tensor::iter`].
#[derive(Clone, Debug)]
pub struct Elements<'t, T: Element>(Kind<'t, T>);

#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a box would be an allocation to save a few moves")]
enum Kind<'t, T> {
    Slice(slice::Iter<'t, T>),
    Bits(Bits<'t>, PhantomData<T>),
}

impl<T: Element> Iterator for Elements<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        match &mut self.0 {
            Kind::Slice(elements) => elements.next().copied(),
            Kind::Bits(bits, _) => bits.next().map(T::of_bits),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            Kind::Slice(elements) => elements.size_hint(),
            Kind::Bits(bits, _) => bits.size_hint(),
        }
    }
}

impl<T: Element> ExactSizeIterator for Elements<'_, T> {}
impl<T: Element> FusedIterator for Elements<'_, T> {}

/// The bits of an element of `dtype`, where they are a number.
pub(super) fn number_width(dtype: Dtype) -> Result<u32> {
    let width = dtype.bits();
    if width <= WIDEST {
        return Ok(width);
    }
    let (found, expected) =
        (Value::Unsigned(u64::from(width)), Expected::AtMost(u64::from(WIDEST)));
    Err(FormatError::new(Rule::ViewElementWidth, "bit_width", 0, found, expected).into())
}

fn need_bool(descriptor: &Descriptor) -> Result<()> {
    let dtype = descriptor.dtype();
    if dtype == Dtype::Bool {
        return Ok(());
    }
    let found = Value::Tag(u64::from(Dtype::Bool.tag()));
    let expected = Expected::Exactly(u64::from(dtype.tag()));
    Err(FormatError::new(Rule::ViewType, "type_tag", 14, found, expected).into())
}
