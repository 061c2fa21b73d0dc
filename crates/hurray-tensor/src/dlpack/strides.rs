//! Shapes and strides, as both sides count them.

use std::iter::repeat_n;

use hurray_format::{Expected, Layout, Rule, Value};
use smallvec::SmallVec;

use crate::error::Result;
use crate::memory::{as_u64, refuse};

/// Sizes or steps of a tensor, inline up to rank 8.
pub(super) type Sizes = SmallVec<[u64; 8]>;
pub(super) type Steps = SmallVec<[i64; 8]>;
/// Sizes, then steps.
pub(super) type Numbers = SmallVec<[i64; 16]>;

/// The sizes of a tensor and its steps, one after the other, as DLPack counts them.
pub(super) fn numbers(shape: &[u64], layout: &Layout) -> Result<Numbers> {
    let mut numbers: Numbers = SmallVec::with_capacity(shape.len().saturating_mul(2));
    for size in shape {
        numbers.push(i64::try_from(*size).map_err(|_| too_large(*size))?);
    }
    numbers.extend_from_slice(&steps(shape, layout)?);
    Ok(numbers)
}

/// The steps of a tensor. Those that it has of its own are what they are, also where a size of 1
/// or 0 makes them unused.
pub(super) fn steps(shape: &[u64], layout: &Layout) -> Result<Steps> {
    match layout {
        Layout::Strided(steps) => Ok(SmallVec::from_slice(steps)),
        Layout::ColumnMajor => column_major(shape).ok_or_else(wide),
        _ => row_major(shape).ok_or_else(wide),
    }
}

/// The layout of these steps: the two orders by name, every other as it is.
pub(crate) fn layout(shape: &[u64], steps: &[i64]) -> Layout {
    let is = |order: Option<Steps>| order.as_deref() == Some(steps);
    if is(row_major(shape)) {
        Layout::RowMajor
    } else if is(column_major(shape)) {
        Layout::ColumnMajor
    } else {
        Layout::strided(steps)
    }
}

/// The steps of a row-major tensor; `None` where one is beyond 63 bits. A size of 0 counts as 1,
/// as it does in other libraries.
pub(super) fn row_major(shape: &[u64]) -> Option<Steps> {
    let mut steps: Steps = repeat_n(1, shape.len()).collect();
    let order = steps.iter_mut().rev().zip(shape.iter().rev());
    fill(order)?;
    Some(steps)
}

pub(super) fn column_major(shape: &[u64]) -> Option<Steps> {
    let mut steps: Steps = repeat_n(1, shape.len()).collect();
    fill(steps.iter_mut().zip(shape))?;
    Some(steps)
}

/// From the fastest dimension to the slowest.
fn fill<'a>(order: impl Iterator<Item = (&'a mut i64, &'a u64)>) -> Option<()> {
    let mut next = Some(1_i64);
    for (step, size) in order {
        *step = next?;
        // What is beyond 63 bits matters where there is another dimension.
        next = i64::try_from(*size).ok().and_then(|size| step.checked_mul(size.max(1)));
    }
    Some(())
}

/// How far a tensor reaches from its first element, in elements: down, and up with that element.
/// `None` where it has no elements.
pub(super) fn reach(shape: &[u64], steps: &[i64]) -> Option<(u128, u128)> {
    let (mut down, mut up) = (0_u128, 1_u128);
    for (size, step) in shape.iter().zip(steps) {
        let last = u128::from(size.checked_sub(1)?);
        let span = last.saturating_mul(u128::from(step.unsigned_abs()));
        let side = if *step < 0 { &mut down } else { &mut up };
        *side = side.saturating_add(span);
    }
    Some((down, up))
}

/// How many elements there are, saturated.
pub(super) fn count(shape: &[u64]) -> u128 {
    if shape.contains(&0) {
        return 0;
    }
    shape.iter().fold(1, |count: u128, size| count.saturating_mul(u128::from(*size)))
}

#[cold]
fn too_large(size: u64) -> crate::Error {
    let most = as_u64(usize::MAX) >> 1;
    refuse(Rule::DlpackSize, "shape", Value::Unsigned(size), Expected::AtMost(most))
}

#[cold]
fn wide() -> crate::Error {
    refuse(Rule::DlpackSize, "strides", Value::BeyondU64, Expected::Unsaid)
}
