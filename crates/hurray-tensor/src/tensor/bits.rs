//! Elements as bits, wherever they lie, and packed one after the other.

use std::fmt;
use std::iter::FusedIterator;

use hurray_format::{Expected, Rule, Value};

use super::Tensor;
use super::places::Places;
use super::walk::Walk;
use crate::buffer::{Buffer, HostBuffer};
use crate::error::{Error, Result};
use crate::memory::{Room, refuse};

/// The widest element that is read as a number.
pub(super) const WIDEST: u32 = u128::BITS;

/// The bits of all elements of a tensor, in index order: see [`Tensor::iter_bits`].
#[derive(Clone)]
pub struct Bits<'t> {
    bytes: &'t [u8],
    width: u32,
    places: Places<'t>,
}

impl<'t> Bits<'t> {
    /// The elements of a tensor, which are `width` bits each.
    pub(super) fn of(tensor: &'t Tensor, width: u32) -> Result<Self> {
        let (bytes, lead) = tensor.values()?;
        let places = Places::of(tensor, lead, width)?;
        Ok(Self { bytes, width, places })
    }

    /// `count` elements of `width` bits, as many as the shape has, of which the first is at byte
    /// `first` and the others by steps in elements.
    pub(crate) fn stepped(
        bytes: &'t [u8],
        width: u32,
        (shape, count): (&[u64], u64),
        (first, steps): (u64, &[i64]),
    ) -> Self {
        let walk = Walk::over(shape, count);
        let places = Places::stepped(walk, i128::from(first), steps, width);
        Self { bytes, width, places }
    }

    /// Appends the elements as they are, which are not read one by one where they are whole bytes.
    pub(crate) fn pack(self, out: &mut Vec<u8>) -> Result<()> {
        let width = self.width;
        if !width.is_multiple_of(8) {
            return self.pack_as(width, out, Ok);
        }
        let (places, together) = self.places.into_runs(width);
        let run = together.checked_mul(u64::from(width.div_ceil(8)));
        let run = run.and_then(|run| usize::try_from(run).ok()).ok_or_else(beyond)?;
        append(places, |place| {
            let Some(bit) = place else {
                // What is not stored is 0.
                out.resize(out.len().saturating_add(run), 0);
                return Ok(());
            };
            let start = usize::try_from(bit.div_euclid(8)).ok();
            let range = start.and_then(|start| Some(start..start.checked_add(run)?));
            let bytes = range.and_then(|range| self.bytes.get(range)).ok_or_else(beyond)?;
            out.extend_from_slice(bytes);
            Ok(())
        })
    }

    /// Appends what becomes of the elements, `width` bits of each.
    pub(crate) fn pack_as(
        self,
        width: u32,
        out: &mut Vec<u8>,
        mut becomes: impl FnMut(u128) -> Result<u128>,
    ) -> Result<()> {
        let mut packer = Packer { out, held: 0, count: 0, width };
        append(self.places, |place| {
            let found = match place {
                Some(bit) => read(self.bytes, bit, self.width).ok_or_else(beyond)?,
                None => 0,
            };
            packer.push(becomes(found)?);
            Ok(())
        })?;
        packer.finish();
        Ok(())
    }
}

impl Iterator for Bits<'_> {
    type Item = u128;

    #[inline]
    fn next(&mut self) -> Option<u128> {
        let found = match self.places.next()? {
            Some(bit) => read(self.bytes, bit, self.width),
            None => Some(0),
        };
        // Nothing lies beyond memory that was checked; if it did, that would be the end.
        if found.is_none() {
            self.places.stop();
        }
        found
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.places.size_hint()
    }
}

impl ExactSizeIterator for Bits<'_> {}
impl FusedIterator for Bits<'_> {}

impl fmt::Debug for Bits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bits({} elements)", self.places.left())
    }
}

/// Memory of its own for `length` bytes of elements, which `fill` appends.
pub(crate) fn packed(
    length: usize,
    fill: impl FnOnce(&mut Vec<u8>) -> Result<()>,
) -> Result<Buffer> {
    let mut room = Room::for_bytes(length).map_err(|error| Error::io("allocate", error))?;
    let out = room.tail();
    let end = out.len().saturating_add(length);
    fill(out)?;
    // A last group of elements of 6 bits is whole.
    out.resize(end, 0);
    HostBuffer::filled(room).map(HostBuffer::into_buffer)
}

/// Visits every place, all of which there must be.
fn append(places: Places<'_>, mut visit: impl FnMut(Option<i128>) -> Result<()>) -> Result<()> {
    let mut missing = places.left();
    for place in places {
        visit(place)?;
        missing = missing.saturating_sub(1);
    }
    if missing == 0 { Ok(()) } else { Err(beyond()) }
}

/// Elements on their way into bytes, least significant bit first.
struct Packer<'o> {
    out: &'o mut Vec<u8>,
    /// Bits of a byte that is not whole yet, and how many.
    held: u128,
    count: u32,
    width: u32,
}

impl Packer<'_> {
    fn push(&mut self, bits: u128) {
        if self.width.is_multiple_of(8) {
            let length = usize::try_from(self.width.div_ceil(8)).unwrap_or(0);
            self.out.extend(bits.to_le_bytes().iter().take(length));
            return;
        }
        self.held |= bits.checked_shl(self.count).unwrap_or(0);
        self.count = self.count.saturating_add(self.width);
        while self.count >= 8 {
            self.byte();
            self.count = self.count.saturating_sub(8);
        }
    }

    fn finish(&mut self) {
        if self.count > 0 {
            self.byte();
            self.count = 0;
        }
    }

    fn byte(&mut self) {
        let [lowest, ..] = self.held.to_le_bytes();
        self.out.push(lowest);
        self.held >>= 8;
    }
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

#[cold]
fn beyond() -> Error {
    refuse(Rule::MemoryRange, "elements", Value::None, Expected::Unsaid)
}
