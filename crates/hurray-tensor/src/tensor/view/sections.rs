//! What a part or turn of a tensor keeps of its shard and its statistics.

use hurray_format::{Array, Shard, Statistics, StatisticsValues};

use super::plan::{Origin, Plan};
use crate::tensor::walk::Numbers;

/// The box of the parent that the result is, if it is one.
pub(super) fn shard(plan: &Plan<'_>) -> Option<Shard> {
    let shard = plan.tensor.descriptor().shard()?;
    let (parent_shape, offset) = (shard.parent_shape(), shard.offset());
    let mut parent: Numbers<u64> = Numbers::new();
    let mut start: Numbers<u64> = Numbers::new();
    let mut is_there: Numbers<bool> = Numbers::from_elem(false, plan.taken.len());
    for dimension in &plan.dimensions {
        match dimension.origin {
            Origin::Axis(axis) => {
                let taken = plan.taken.get(axis)?;
                if taken.step != 1 && taken.length > 1 {
                    return None;
                }
                parent.push(parent_shape.at(axis)?);
                start.push(offset.at(axis)?.checked_add(taken.first)?);
                *is_there.get_mut(axis)? = true;
            }
            Origin::New if dimension.size == 1 => {
                parent.push(1);
                start.push(0);
            }
            Origin::New | Origin::Repeated => return None,
        }
    }
    // A dimension that is no more was none of the parent's either, if there it is of size 1.
    let is_gone_for_good =
        |(axis, there): (usize, &bool)| *there || parent_shape.at(axis) == Some(1);
    is_there.iter().enumerate().all(is_gone_for_good).then(|| Shard::new(&parent, &start))
}

/// What is said of the values, where the result has all of them, each once.
pub(super) fn statistics(plan: &Plan<'_>) -> Option<Statistics> {
    let shape = plan.tensor.descriptor().shape();
    let all_taken = plan.taken.iter().zip(shape).all(|(taken, size)| taken.length == *size);
    let once = plan.dimensions.iter().all(|d| d.size == 1 || matches!(d.origin, Origin::Axis(_)));
    if all_taken && once { of_all_values(plan.tensor.descriptor().statistics()?) } else { None }
}

/// What is said of the values and not of their order.
pub(super) fn of_all_values(statistics: &Statistics) -> Option<Statistics> {
    let values = StatisticsValues { nm: None, ..statistics.values() };
    (values != StatisticsValues::default()).then(|| Statistics::new(&values))
}
