//! The same elements, in the same order, in another shape.

use hurray_format::{Expected, List, Rule, Value};
use smallvec::SmallVec;

use super::plan::Placed;
use super::{parameters, refused, sections, strides};
use crate::error::Result;
use crate::tensor::Tensor;
use crate::tensor::walk::Numbers;

pub(super) fn reshape(tensor: &Tensor, shape: &[u64]) -> Result<Tensor> {
    let descriptor = tensor.descriptor();
    let old = strides(descriptor)?;
    if shape == descriptor.shape() {
        return Ok(tensor.clone());
    }
    let (wanted, there) = (count(shape), count(descriptor.shape()));
    if wanted != there {
        let said = |count: Option<u128>| count.and_then(|count| u64::try_from(count).ok());
        let found = said(wanted).map_or(Value::BeyondU64, Value::Unsigned);
        let expected = said(there).map_or(Expected::Unsaid, Expected::Exactly);
        return Err(refused(Rule::ViewElementCount, "shape", found, expected));
    }
    let steps = match wanted {
        Some(0) => Some(Numbers::from_elem(0, shape.len())),
        _ => steps(&stretches(descriptor.shape(), &old), shape),
    };
    let Some(steps) = steps else {
        return Err(refused(Rule::ViewReshape, "shape", Value::None, Expected::Unsaid));
    };
    let statistics = descriptor.statistics().and_then(sections::of_all_values);
    let parameters = parameters::reshaped(tensor, shape)?;
    let placed = Placed { shape: List::new(shape), strides: List::new(&steps), start: 0 };
    placed.of(tensor, parameters, None, statistics)
}

/// How many elements a shape has; `None` beyond 128 bits.
fn count(shape: &[u64]) -> Option<u128> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1_u128, |count, size| count.checked_mul(u128::from(*size)))
}

/// Elements at equal steps: how many, and the step.
type Stretch = (u128, i64);

/// The dimensions that lie at equal steps inside one another, as one each, from the outermost.
fn stretches(shape: &[u64], strides: &[i64]) -> SmallVec<[Stretch; 8]> {
    let mut stretches: SmallVec<[Stretch; 8]> = SmallVec::new();
    for (size, stride) in shape.iter().zip(strides).filter(|(size, _)| **size != 1) {
        let inner = i128::from(*stride).checked_mul(i128::from(*size));
        match stretches.last_mut() {
            Some((count, step)) if Some(i128::from(*step)) == inner => {
                (*count, *step) = (count.saturating_mul(u128::from(*size)), *stride);
            }
            _ => stretches.push((u128::from(*size), *stride)),
        }
    }
    stretches
}

/// The steps of dimensions of these sizes over stretches of as many elements in all; `None`
/// where one dimension would lie over two stretches.
fn steps(stretches: &[Stretch], shape: &[u64]) -> Option<Numbers<i64>> {
    let mut steps: Numbers<i64> = Numbers::new();
    let mut stretches = stretches.iter().rev();
    // What is left of the present stretch, and the step between its elements.
    let mut left: Stretch = (1, 0);
    for size in shape.iter().rev() {
        if *size == 1 {
            steps.push(0);
            continue;
        }
        if left.0 == 1 {
            left = *stretches.next()?;
        }
        let (count, step) = left;
        let size_wide = u128::from(*size);
        if count.checked_rem(size_wide) != Some(0) {
            return None;
        }
        steps.push(step);
        let rest = count.checked_div(size_wide)?;
        let next = i128::from(step).checked_mul(i128::from(*size))?;
        // The step beyond the last element is never taken.
        left = (rest, i64::try_from(next).or(if rest == 1 { Ok(0) } else { Err(()) }).ok()?);
    }
    steps.reverse();
    Some(steps)
}
