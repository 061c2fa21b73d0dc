//! Copies that were asked for: elements wherever they lie, one after the other in memory of our
//! own.

use std::ops::Range;

use hurray_format::{Descriptor, Dtype, Expected, Rule, Value};
use smallvec::SmallVec;

use super::dtype::Stored;
use super::strides::{Sizes, Steps, count};
use crate::buffer::BufferMut;
use crate::error::{Error, Result};
use crate::memory::refuse;

/// Elements to be copied.
pub(super) struct Source<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) shape: &'a [u64],
    pub(super) place: Place<'a>,
    pub(super) stored: Stored,
}

/// Where they are in the bytes.
pub(super) enum Place<'a> {
    /// The first one so many bytes behind the start, the others by steps.
    Steps { first: u64, steps: Steps },
    /// Where the descriptor says, whose buffer starts so many bytes before ours.
    Described { descriptor: &'a Descriptor, before: u64 },
}

impl Source<'_> {
    /// The elements in row-major order, each as wide as `target` says, in at most `most` bytes.
    pub(super) fn copy(&self, target: Stored, most: u64) -> Result<BufferMut> {
        let count = count(self.shape);
        let bytes = match target.is_ours() {
            true => target.dtype.bytes_for(count),
            false => count.checked_mul(u128::from(target.bits.div_ceil(8))),
        };
        let bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(u64::MAX);
        if bytes > most {
            let (found, expected) = (Value::Unsigned(bytes), Expected::AtMost(most));
            return Err(refuse(Rule::DlpackCopyAboveLimit, "elements", found, expected));
        }
        let mut copy = BufferMut::zeroed(usize::try_from(bytes).unwrap_or(usize::MAX))?;
        match self.stored.bits.is_multiple_of(8) && target.bits == self.stored.bits {
            true => self.copy_bytes(&mut copy)?,
            false => self.copy_bits(target, &mut copy)?,
        }
        Ok(copy)
    }

    /// Elements of whole bytes, as many at once as lie together.
    fn copy_bytes(&self, copy: &mut [u8]) -> Result<()> {
        let (outer, together) = self.runs();
        let run = usize::try_from(self.stored.bits.div_ceil(8)).unwrap_or(0);
        let run = usize::try_from(together).unwrap_or(0).saturating_mul(run);
        if run == 0 {
            return Ok(());
        }
        let mut targets = copy.chunks_exact_mut(run);
        each(outer, |index| {
            let start = self.bit_of(index).map(|bit| bit.div_euclid(8)).ok_or_else(beyond)?;
            let bytes = span(start, run).and_then(|range| self.bytes.get(range));
            match (bytes, targets.next()) {
                (Some(bytes), Some(target)) => target.copy_from_slice(bytes),
                _ => return Err(beyond()),
            }
            Ok(())
        })
    }

    /// The dimensions to walk, and how many elements lie together at each step of the walk.
    fn runs(&self) -> (&[u64], u64) {
        let Place::Steps { steps, .. } = &self.place else {
            return (self.shape, 1);
        };
        let (mut together, mut outer) = (1_u64, self.shape);
        for (size, step) in self.shape.iter().zip(steps).rev() {
            let follows = u64::try_from(*step) == Ok(together) || *size == 1;
            let Some(next) = together.checked_mul(*size).filter(|_| follows) else {
                break;
            };
            together = next;
            outer = outer.split_last().map_or(outer, |(_, before)| before);
        }
        (outer, together)
    }

    /// Elements that are narrower than a byte on either side.
    fn copy_bits(&self, target: Stored, copy: &mut [u8]) -> Result<()> {
        let mask =
            u8::MAX.checked_shr(8_u32.saturating_sub(target.dtype.bits())).unwrap_or(u8::MAX);
        let (from, to) = (self.stored.bits.min(8), i128::from(target.bits));
        let mut at = 0_i128;
        each(self.shape, |index| {
            let bit = self.bit_of(index).ok_or_else(beyond)?;
            let found = read(self.bytes, bit, from).ok_or_else(beyond)?;
            if target.dtype == Dtype::Bool && found > 1 {
                let found = Value::Unsigned(u64::from(found));
                return Err(refuse(Rule::DlpackBoolValue, "data", found, Expected::AtMost(1)));
            }
            write(copy, at, found & mask).ok_or_else(beyond)?;
            at = at.saturating_add(to);
            Ok(())
        })
    }

    /// The first bit of an element, counted from the start of the bytes. Where the index is of
    /// fewer dimensions, the others are 0.
    fn bit_of(&self, index: &[u64]) -> Option<i128> {
        match &self.place {
            Place::Steps { first, steps } => {
                let mut element = 0_i128;
                for (at, step) in index.iter().zip(steps) {
                    element =
                        element.checked_add(i128::from(*at).checked_mul(i128::from(*step))?)?;
                }
                let first = i128::from(*first).checked_mul(8)?;
                first.checked_add(element.checked_mul(i128::from(self.stored.bits))?)
            }
            Place::Described { descriptor, before } => {
                let found = descriptor.locate(index).ok()?;
                let byte = i128::from(found.byte.checked_sub(*before)?);
                byte.checked_mul(8)?.checked_add(i128::from(found.bit))
            }
        }
    }
}

/// Every index of a shape, the last dimension fastest.
fn each(shape: &[u64], mut visit: impl FnMut(&[u64]) -> Result<()>) -> Result<()> {
    let mut index: Sizes = SmallVec::from_elem(0, shape.len());
    if shape.contains(&0) {
        return Ok(());
    }
    loop {
        visit(&index)?;
        let mut places = index.iter_mut().zip(shape).rev();
        let has_moved = places.any(|(at, size)| {
            *at = at.saturating_add(1);
            if *at == *size {
                *at = 0;
            }
            *at != 0
        });
        if !has_moved {
            return Ok(());
        }
    }
}

/// `width` bits, 8 at most, least significant first.
fn read(bytes: &[u8], bit: i128, width: u32) -> Option<u8> {
    let (byte, shift) = split(bit)?;
    let low = *bytes.get(byte)?;
    let high = match shift.saturating_add(width) > 8 {
        true => *bytes.get(byte.checked_add(1)?)?,
        false => 0,
    };
    let bits = u16::from_le_bytes([low, high]).checked_shr(shift)?;
    let mask = 1_u16.checked_shl(width)?.wrapping_sub(1);
    u8::try_from(bits & mask).ok()
}

/// Sets bits in memory that is zeros there.
fn write(bytes: &mut [u8], bit: i128, value: u8) -> Option<()> {
    let (byte, shift) = split(bit)?;
    let [low, high] = u16::from(value).checked_shl(shift)?.to_le_bytes();
    *bytes.get_mut(byte)? |= low;
    if high != 0 {
        *bytes.get_mut(byte.checked_add(1)?)? |= high;
    }
    Some(())
}

fn split(bit: i128) -> Option<(usize, u32)> {
    let byte = usize::try_from(bit.div_euclid(8)).ok()?;
    Some((byte, u32::try_from(bit.rem_euclid(8)).ok()?))
}

fn span(start: i128, length: usize) -> Option<Range<usize>> {
    let start = usize::try_from(start).ok()?;
    Some(start..start.checked_add(length)?)
}

#[cold]
fn beyond() -> Error {
    refuse(Rule::MemoryRange, "elements", Value::None, Expected::Unsaid)
}
