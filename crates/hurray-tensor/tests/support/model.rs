//! What views do, done the slow way: every element moved by hand.

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
