//! Elements of tensors of any layout: one by its index, or all of them in order.

use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::slice;

use hurray_format::{Descriptor, Dtype, Error as FormatError, Expected, LayoutKind};
use hurray_format::{Location, Rule, Value};
use smallvec::SmallVec;

use super::Tensor;
use super::entries::{Positions, positions};
use super::walk::{Numbers, Walk};
use crate::element::Element;
use crate::error::Result;

/// The widest element that is read as a number.
const WIDEST: u32 = u128::BITS;

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
        let descriptor = self.descriptor();
        let width = number_width(descriptor.dtype())?;
        let walk = Walk::new(descriptor)?;
        let (bytes, lead) = self.values()?;
        let base = i128::from(descriptor.byte_offset()).saturating_sub(i128::from(lead));
        let base = base.saturating_mul(8);
        let places = match (descriptor.layout().kind(), descriptor.strides()) {
            _ if walk.left() == 0 => Places::Steps { at: base, steps: SmallVec::new() },
            (LayoutKind::Sparse, _) => Places::Stored { stored: positions(self)?, linear: 0 },
            (_, Some(strides)) => {
                let bits = |stride: i64| i128::from(stride).saturating_mul(i128::from(width));
                Places::Steps { at: base, steps: strides.iter().copied().map(bits).collect() }
            }
            (_, None) => {
                // Whether there are addresses at all.
                descriptor.locate(walk.index())?;
                Places::Addressed { descriptor, lead }
            }
        };
        Ok(Bits { bytes, width, walk, places })
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

/// The bits of all elements of a tensor, in index order: see [`Tensor::iter_bits`].
#[derive(Clone)]
pub struct Bits<'t> {
    bytes: &'t [u8],
    width: u32,
    walk: Walk,
    places: Places<'t>,
}

/// Where the elements are found.
#[derive(Clone)]
enum Places<'t> {
    /// Each dimension has a step, in bits.
    Steps { at: i128, steps: Numbers<i128> },
    /// Each index has an address.
    Addressed { descriptor: &'t Descriptor, lead: u64 },
    /// Some indices have a place; the others are 0.
    Stored { stored: Positions, linear: u64 },
}

impl Iterator for Bits<'_> {
    type Item = u128;

    #[inline]
    fn next(&mut self) -> Option<u128> {
        if self.walk.left() == 0 {
            return None;
        }
        let found = match &mut self.places {
            Places::Steps { at, steps } => {
                let found = read(self.bytes, *at, self.width);
                self.walk.step(|dimension, by| {
                    let step = steps.get(dimension).copied().unwrap_or(0);
                    *at = at.saturating_add(step.saturating_mul(by));
                });
                found
            }
            Places::Addressed { descriptor, lead } => {
                let place = descriptor.locate(self.walk.index()).ok();
                self.walk.step(|_, _| {});
                let bit = place.and_then(|place| bit_of(place, *lead));
                bit.and_then(|bit| read(self.bytes, bit, self.width))
            }
            Places::Stored { stored, linear } => {
                let position = stored.at(*linear);
                *linear = linear.saturating_add(1);
                self.walk.step(|_, _| {});
                match position {
                    None => Some(0),
                    Some(position) => read_nth(self.bytes, position, self.width),
                }
            }
        };
        // Nothing lies beyond memory that was checked; if it did, that would be the end.
        if found.is_none() {
            self.walk.stop();
        }
        found
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.walk.size_hint()
    }
}

impl ExactSizeIterator for Bits<'_> {}
impl FusedIterator for Bits<'_> {}

impl fmt::Debug for Bits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bits({} elements)", self.walk.left())
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

/// From the first byte there is to a place, in bits.
fn bit_of(place: Location, lead: u64) -> Option<i128> {
    let byte = place.byte.checked_sub(lead)?;
    i128::from(byte).checked_mul(8)?.checked_add(i128::from(place.bit))
}

/// Element `position` of a run from the first byte on.
pub(super) fn read_nth(bytes: &[u8], position: u64, width: u32) -> Option<u128> {
    let bit = i128::from(position).checked_mul(i128::from(width))?;
    read(bytes, bit, width)
}

/// The `width` bits from bit `bit` on, least significant first. A width is at most 128, and
/// whole bytes start at a byte.
#[inline]
pub(super) fn read(bytes: &[u8], bit: i128, width: u32) -> Option<u128> {
    let first = usize::try_from(bit.div_euclid(8)).ok()?;
    let shift = u32::try_from(bit.rem_euclid(8)).ok()?;
    let count = usize::try_from(shift.checked_add(width)?.div_ceil(8)).ok()?;
    let found = bytes.get(first..first.checked_add(count)?)?;
    let mut window = [0; 16];
    window.get_mut(..count)?.copy_from_slice(found);
    let bits = u128::from_le_bytes(window).checked_shr(shift)?;
    Some(bits & u128::MAX.checked_shr(WIDEST.saturating_sub(width)).unwrap_or(0))
}
