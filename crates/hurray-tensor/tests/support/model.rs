//! What views do, done the slow way: every element moved by hand.

#![allow(dead_code, reason = "not every test file needs all of it")]

use hurray_tensor::{Cut, Error, Tensor};
use proptest::prelude::*;
use proptest::sample::Index;

use super::vectors::indices;

/// A box of anything, in index order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Model<T> {
    pub(crate) shape: Vec<u64>,
    pub(crate) elements: Vec<T>,
}

impl<T: Clone> Model<T> {
    pub(crate) fn new(shape: &[u64], of: impl Fn(&[u64]) -> T) -> Self {
        let elements = indices(shape).iter().map(|index| of(index)).collect();
        Self { shape: shape.to_vec(), elements }
    }

    pub(crate) fn at(&self, index: &[u64]) -> T {
        let linear = index.iter().zip(&self.shape).fold(0, |at, (i, n)| at * n + i);
        self.elements[linear as usize].clone()
    }

    /// The indices of `range` by a step: from its last one where it is negative.
    pub(crate) fn cut(&self, axis: usize, start: u64, end: u64, step: i64) -> Self {
        let mut taken: Vec<u64> = (start..end).collect();
        if step < 0 {
            taken.reverse();
        }
        let taken: Vec<u64> = taken.into_iter().step_by(step.unsigned_abs() as usize).collect();
        let mut shape = self.shape.clone();
        shape[axis] = taken.len() as u64;
        Self::new(&shape, |index| {
            let mut index = index.to_vec();
            index[axis] = taken[index[axis] as usize];
            self.at(&index)
        })
    }

    pub(crate) fn take(&self, axis: usize, at: u64) -> Self {
        let mut shape = self.shape.clone();
        shape.remove(axis);
        Self::new(&shape, |index| {
            let mut index = index.to_vec();
            index.insert(axis, at);
            self.at(&index)
        })
    }

    pub(crate) fn permute(&self, axes: &[usize]) -> Self {
        let shape: Vec<u64> = axes.iter().map(|axis| self.shape[*axis]).collect();
        Self::new(&shape, |index| {
            let mut old = vec![0; axes.len()];
            axes.iter().zip(index).for_each(|(axis, at)| old[*axis] = *at);
            self.at(&old)
        })
    }

    pub(crate) fn insert(&self, axis: usize) -> Self {
        let mut shape = self.shape.clone();
        shape.insert(axis, 1);
        self.reshape(&shape)
    }

    pub(crate) fn broadcast(&self, shape: &[u64]) -> Self {
        let added = shape.len() - self.shape.len();
        Self::new(shape, |index| {
            let own = index[added..].iter().zip(&self.shape);
            self.at(&own.map(|(at, size)| if *size == 1 { 0 } else { *at }).collect::<Vec<_>>())
        })
    }

    pub(crate) fn reshape(&self, shape: &[u64]) -> Self {
        assert_eq!(shape.iter().product::<u64>() as usize, self.elements.len());
        Self { shape: shape.to_vec(), elements: self.elements.clone() }
    }
}

impl Model<i128> {
    /// Whether there is a step for each dimension that leads from number to number.
    pub(crate) fn has_steps(&self) -> bool {
        let Some(first) = self.elements.first() else {
            return true;
        };
        let unit = |axis: usize| {
            let mut index = vec![0; self.shape.len()];
            index[axis] = 1;
            if self.shape[axis] > 1 { self.at(&index) - first } else { 0 }
        };
        let steps: Vec<i128> = (0..self.shape.len()).map(unit).collect();
        let by_steps = |index: &[u64]| -> i128 {
            first + index.iter().zip(&steps).map(|(at, step)| i128::from(*at) * step).sum::<i128>()
        };
        Self::new(&self.shape, by_steps) == *self
    }
}

/// One step of a chain of views; numbers are taken as far as the shape at hand allows.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Cut(Index, Index, Index, i64),
    Take(Index, Index),
    Permute(Vec<Index>),
    Transpose,
    Insert(Index),
    Squeeze(Index),
    Broadcast(Vec<u64>, u64),
    Reshape(Vec<Index>),
}

pub(crate) fn op() -> impl Strategy<Value = Op> {
    let n = any::<Index>;
    prop_oneof![
        4 => (n(), n(), n(), prop_oneof![-3..0_i64, 1..4_i64]).prop_map(|(a, s, e, step)| Op::Cut(a, s, e, step)),
        2 => (n(), n()).prop_map(|(axis, at)| Op::Take(axis, at)),
        2 => prop::collection::vec(n(), 6).prop_map(Op::Permute),
        1 => Just(Op::Transpose),
        1 => n().prop_map(Op::Insert),
        1 => n().prop_map(Op::Squeeze),
        1 => (prop::collection::vec(0..3_u64, 0..2), 2..4_u64).prop_map(|(f, r)| Op::Broadcast(f, r)),
        3 => prop::collection::vec(n(), 3).prop_map(Op::Reshape),
    ]
}

/// Does one step to both; `None` where the shape at hand has no such step.
pub(crate) fn apply<T: Clone>(
    op: &Op,
    tensor: &Tensor,
    model: &Model<T>,
) -> Option<(Result<Tensor, Error>, Model<T>)> {
    let shape = &model.shape;
    let rank = shape.len();
    let axis = |n: &Index| (rank > 0).then(|| n.index(rank));
    Some(match op {
        Op::Cut(n, start, end, step) => {
            let axis = axis(n)?;
            let start = start.index(shape[axis] as usize + 1) as u64;
            let end = start + end.index((shape[axis] - start) as usize + 1) as u64;
            let mut cuts = vec![Cut::ALL; axis];
            cuts.push(Cut::from(start..end).by(*step));
            (tensor.slice(cuts), model.cut(axis, start, end, *step))
        }
        Op::Take(n, at) => {
            let axis = axis(n).filter(|axis| shape[*axis] > 0)?;
            let at = at.index(shape[axis] as usize) as u64;
            (tensor.index_axis(axis, at), model.take(axis, at))
        }
        Op::Permute(keys) => {
            let mut axes: Vec<usize> = (0..rank).collect();
            (0..rank).for_each(|k| axes.swap(k, keys[k % keys.len()].index(rank)));
            (tensor.permute(&axes), model.permute(&axes))
        }
        Op::Transpose => {
            let axes: Vec<usize> = (0..rank).rev().collect();
            (tensor.transpose(), model.permute(&axes))
        }
        Op::Insert(n) => {
            let axis = n.index(rank + 1);
            (tensor.unsqueeze(axis), model.insert(axis))
        }
        Op::Squeeze(n) => {
            let axis = axis(n).filter(|axis| shape[*axis] == 1)?;
            (tensor.squeeze(axis), model.take(axis, 0))
        }
        Op::Broadcast(front, repeat) => {
            let own = shape.iter().map(|size| if *size == 1 { *repeat } else { *size });
            let shape: Vec<u64> = front.iter().copied().chain(own).collect();
            (tensor.broadcast(&shape), model.broadcast(&shape))
        }
        Op::Reshape(keys) => {
            let mut left = shape.iter().product::<u64>();
            let mut new = Vec::new();
            for key in keys {
                let divisors: Vec<u64> =
                    (1..=left.max(1)).filter(|d| left.is_multiple_of(*d)).collect();
                let size = divisors[key.index(divisors.len())];
                new.push(size);
                left /= size;
            }
            new.push(left);
            (tensor.reshape(&new), model.reshape(&new))
        }
    })
}

/// The bit that each element starts at, counted from address 0.
pub(crate) fn addresses(tensor: &Tensor) -> Model<i128> {
    let descriptor = tensor.descriptor();
    let base = tensor.buffers()[0].region().host.addr() as i128 * 8;
    Model::new(descriptor.shape(), |index| {
        let place = descriptor.locate(index).unwrap();
        base + i128::from(place.byte) * 8 + i128::from(place.bit)
    })
}
