//! Whether boxes cover an index space exactly: none overlaps another, and together they
//! have as many elements.
//!
//! Overlap is decided by cutting. Where all boxes lie on one side or the other of planes
//! across some dimension, the sides cannot overlap and are looked at apart; a grid falls
//! apart along every dimension in turn. What no plane cuts is compared pair by pair.

use alloc::vec::Vec;

use crate::error::{Error, Expected, Result, Value};
use crate::rules::Rule;
use crate::wire::{Array, as_offset};

/// The boxes seen so far.
pub(super) struct Cover {
    shape: Vec<u64>,
    boxes: Vec<Span>,
    volume: Volume,
}

/// A box: where it starts and ends in each dimension, and where it was read.
struct Span {
    sides: Vec<(u64, u64)>,
    at: u64,
}

impl Cover {
    pub(super) fn new(shape: &[u64]) -> Self {
        Self { shape: shape.to_vec(), boxes: Vec::new(), volume: Volume::zero() }
    }

    /// Adds the box of that size at that offset; it lies inside the shape. An empty one
    /// covers nothing and overlaps nothing.
    pub(super) fn add(&mut self, offset: impl Array<u64>, size: &[u64], at: u64) {
        if size.contains(&0) {
            return;
        }
        let sides = offset.iter().zip(size);
        let sides = sides.map(|(start, size)| (start, start.saturating_add(*size))).collect();
        self.volume.add(&Volume::of(size));
        self.boxes.push(Span { sides, at });
    }

    /// Whether the boxes make the whole, in `work` steps for each; `at` is where the head
    /// was read.
    pub(super) fn check(mut self, at: u64, work: u64) -> Result<()> {
        let most = work.saturating_mul(as_offset(self.boxes.len().max(64)));
        let mut budget = Budget { left: most, most, at };
        separate(&mut self.boxes, &mut budget)?;
        let whole = if self.shape.contains(&0) { Volume::zero() } else { Volume::of(&self.shape) };
        if self.volume == whole {
            return Ok(());
        }
        let rule = Rule::CompositeNotCovered;
        Err(Error::new(rule, "shard", at, Value::None, Expected::Unsaid))
    }
}

struct Budget {
    left: u64,
    most: u64,
    at: u64,
}

impl Budget {
    fn spend(&mut self, steps: usize) -> Result<()> {
        match self.left.checked_sub(as_offset(steps)) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                let rule = Rule::CompositeTooComplex;
                let expected = Expected::AtMost(self.most);
                Err(Error::new(rule, "members", self.at, Value::None, expected))
            }
        }
    }
}

/// Refuses boxes that overlap. The stack of groups is explicit, and every look at a box is
/// paid for.
fn separate(boxes: &mut [Span], budget: &mut Budget) -> Result<()> {
    // A group, and the dimension to cut it along first.
    let mut groups = alloc::vec![(boxes, 0_usize)];
    while let Some((group, first)) = groups.pop() {
        if group.len() < 2 {
            continue;
        }
        if group.len() <= 8 {
            compare_pairs(group, budget)?;
            continue;
        }
        let rank = group.first().map_or(0, |span| span.sides.len());
        let mut cut = None;
        for step in 0..rank {
            let dimension = first.saturating_add(step).checked_rem(rank).unwrap_or(0);
            budget.spend(group.len())?;
            let first = group.first().map(|span| side(span, dimension));
            if group.iter().all(|span| Some(side(span, dimension)) == first) {
                // No plane cuts what lies side by side.
                continue;
            }
            let deep = usize::try_from(group.len().ilog2()).unwrap_or(1);
            budget.spend(group.len().saturating_mul(deep))?;
            group.sort_unstable_by_key(|span| side(span, dimension));
            let ends = cuts(group, dimension);
            if !ends.is_empty() {
                cut = Some((dimension, ends));
                break;
            }
        }
        let Some((dimension, ends)) = cut else {
            compare_pairs(group, budget)?;
            continue;
        };
        let next = dimension.saturating_add(1);
        let mut rest = group;
        let mut taken = 0;
        for end in ends {
            let length = end.saturating_sub(taken).min(rest.len());
            let (part, more) = rest.split_at_mut(length);
            groups.push((part, next));
            rest = more;
            taken = end;
        }
        groups.push((rest, next));
    }
    Ok(())
}

fn side(span: &Span, dimension: usize) -> (u64, u64) {
    span.sides.get(dimension).copied().unwrap_or_default()
}

/// Where a plane across `dimension` separates the boxes, which are sorted along it.
fn cuts(group: &[Span], dimension: usize) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut reach = 0;
    for (n, span) in group.iter().enumerate() {
        let (start, end) = side(span, dimension);
        if n > 0 && start >= reach {
            ends.push(n);
        }
        reach = reach.max(end);
    }
    ends
}

fn compare_pairs(group: &[Span], budget: &mut Budget) -> Result<()> {
    // Most pairs are told apart by the first dimensions.
    for (n, a) in group.iter().enumerate() {
        budget.spend(n.saturating_add(a.sides.len()))?;
        let overlap =
            |b: &&Span| a.sides.iter().zip(&b.sides).all(|((s, e), (t, f))| s < f && t < e);
        if let Some(b) = group.iter().take(n).find(overlap) {
            let rule = Rule::CompositeMembersOverlap;
            let found = Value::Unsigned(b.at);
            return Err(Error::new(rule, "shard", a.at.max(b.at), found, Expected::Unsaid));
        }
    }
    Ok(())
}

/// A count of elements, exact: sixty-four dimensions of 2^64 need 4096 bits. Least limb
/// first.
#[derive(PartialEq)]
struct Volume(Vec<u64>);

impl Volume {
    fn zero() -> Self {
        Self(Vec::new())
    }

    fn of(sizes: &[u64]) -> Self {
        let mut limbs = alloc::vec![1_u64];
        for size in sizes.iter().filter(|size| **size != 1) {
            let mut carry: u64 = 0;
            for limb in &mut limbs {
                // A product of two limbs and a carry fits two limbs.
                let wide = u128::from(*limb).wrapping_mul(u128::from(*size));
                let wide = wide.wrapping_add(u128::from(carry));
                let [low, high] = halves(wide);
                (*limb, carry) = (low, high);
            }
            if carry > 0 {
                limbs.push(carry);
            }
        }
        Self(limbs)
    }

    fn add(&mut self, other: &Self) {
        let length = self.0.len().max(other.0.len());
        self.0.resize(length, 0);
        let mut carry = false;
        let others = other.0.iter().copied().chain(core::iter::repeat(0));
        for (limb, other) in self.0.iter_mut().zip(others) {
            let (sum, first) = limb.overflowing_add(other);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            (*limb, carry) = (sum, first | second);
        }
        if carry {
            self.0.push(1);
        }
    }
}

/// The low and the high limb.
fn halves(wide: u128) -> [u64; 2] {
    let bytes = wide.to_le_bytes();
    let (limbs, _) = bytes.as_chunks::<8>();
    let limb = |n: usize| limbs.get(n).map_or(0, |raw| u64::from_le_bytes(*raw));
    [limb(0), limb(1)]
}
