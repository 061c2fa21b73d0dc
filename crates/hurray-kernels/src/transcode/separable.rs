//! From one layout to another where both place each dimension by itself: block by block, of two
//! dimensions, so that what is read and what is written stays in the cache.

use super::table::{Table, is_in_runs_of, runs};
use super::transpose;
use crate::address::{Address, Axis};

/// Two layouts of one shape, none of whose dimensions is 0.
pub(super) struct Pair<'p> {
    pub(super) shape: &'p [u64],
    pub(super) source: &'p Address,
    pub(super) target: &'p Address,
}

/// A cell of whole bytes.
pub(super) trait Cell: Copy + Default + Send + Sync {}
impl<const W: usize> Cell for [u8; W] where [u8; W]: Default {}

/// The two dimensions of a block, and how long it is along them.
#[derive(Clone, Copy)]
struct Block {
    /// The dimension along which the source is fastest.
    a: usize,
    /// The dimension along which the target is fastest, or the next one.
    b: Option<usize>,
    extent: (u64, u64),
}

impl Pair<'_> {
    /// Which dimensions blocks have.
    fn block(&self, side: u64) -> Block {
        let stride = |address: &Address, k: usize| {
            address.axes.get(k).map_or(0, |axis| axis.lowest_stride()).unsigned_abs()
        };
        let wide = || (0..self.shape.len()).filter(|k| self.size(*k) > 1);
        let fastest = |address: &Address, but: Option<usize>| {
            wide().filter(|k| Some(*k) != but).min_by_key(|k| match stride(address, *k) {
                0 => u64::MAX,
                stride => stride,
            })
        };
        let a = fastest(self.source, None).unwrap_or(0);
        let b = match fastest(self.target, None) {
            Some(b) if b != a => Some(b),
            _ => fastest(self.target, Some(a)),
        };
        let same = fastest(self.target, None) == Some(a);
        let extent: (u64, u64) = if same { (4096, 16) } else { (side, side) };
        // A short dimension leaves room for the other.
        let (na, nb) = (self.size(a), b.map_or(1, |b| self.size(b)));
        let room = extent.0.saturating_mul(extent.1);
        let beside = |size: u64| room.checked_div(size).unwrap_or(room);
        let extent = match () {
            () if na < extent.0 => (na, beside(na).min(nb)),
            () if nb < extent.1 => (beside(nb).min(na), nb),
            () => extent,
        };
        Block { a, b, extent }
    }

    fn size(&self, k: usize) -> u64 {
        self.shape.get(k).copied().unwrap_or(1)
    }

    /// Moves every element.
    pub(super) fn run<C: Cell, const T: usize>(&self, source: &[C], target: &mut [C]) {
        let side = if size_of::<C>() <= 4 { 64 } else { 32 };
        self.each_block(side, |places| {
            let [sa, _, _, tb] = places.offsets;
            if places.runs.len().saturating_mul(4) <= sa.len() {
                places.each_run(|from, to, length| {
                    if let (Some(read), Some(written)) = (
                        source.get(crate::as_index(from)..).and_then(|rest| rest.get(..length)),
                        target
                            .get_mut(crate::as_index(to)..)
                            .and_then(|rest| rest.get_mut(..length)),
                    ) {
                        written.copy_from_slice(read);
                    }
                });
            } else if is_in_runs_of(sa, T) && is_in_runs_of(tb, T) {
                transpose::block::<C, T>(places, source, target);
            } else {
                one_by_one(places, source, target);
            }
        });
    }

    /// Goes through the blocks, of `side` by `side` elements where both are fast along other
    /// dimensions.
    pub(super) fn each_block(&self, side: u64, mut work: impl FnMut(Places<'_>)) {
        let block = self.block(side);
        let mut at = vec![0_u64; self.shape.len()];
        let mut tables = Tables::default();
        loop {
            let base = |address: &Address| {
                let places = address.axes.iter().zip(&at).map(|(axis, at)| axis.at(*at));
                places.fold(address.origin, |sum, place| sum.wrapping_add_signed(place))
            };
            let (from, to) = (base(self.source), base(self.target));
            let Tables { sa, sb, ta, tb, runs: list } = &mut tables;
            self.fill(Some(block.a), block.extent.0, &at, sa, ta);
            self.fill(block.b, block.extent.1, &at, sb, tb);
            runs(&sa.offsets, &ta.offsets, list);
            let offsets = [&sa.offsets[..], &sb.offsets, &ta.offsets, &tb.offsets];
            work(Places { from, to, offsets, runs: list });
            if !self.next(block, &mut at) {
                return;
            }
        }
    }

    /// Goes to the next block; the dimension along which the target is slowest goes last.
    fn next(&self, block: Block, at: &mut [u64]) -> bool {
        for (k, (place, size)) in at.iter_mut().zip(self.shape).enumerate().rev() {
            let step = match k {
                _ if k == block.a => block.extent.0,
                _ if Some(k) == block.b => block.extent.1,
                _ => 1,
            };
            *place = place.saturating_add(step);
            if *place < *size {
                return true;
            }
            *place = 0;
        }
        false
    }

    /// Makes the tables of a block's stretch of dimension `k`; of none, of one coordinate.
    fn fill(&self, k: Option<usize>, extent: u64, at: &[u64], s: &mut Table, t: &mut Table) {
        let axes = |k: usize| {
            Some((self.source.axes.get(k)?, self.target.axes.get(k)?, at.get(k).copied()?))
        };
        let Some((k, (source, target, start))) = k.and_then(|k| Some((k, axes(k)?))) else {
            s.fill(&Axis::default(), 0, 1);
            t.fill(&Axis::default(), 0, 1);
            return;
        };
        let count = crate::as_index(self.size(k).saturating_sub(start).min(extent));
        s.fill(source, start, count);
        t.fill(target, start, count);
    }
}

/// Where the elements of a block are: each at the sum of its base and an offset of either
/// dimension.
#[derive(Clone, Copy)]
pub(super) struct Places<'b> {
    pub(super) from: u64,
    pub(super) to: u64,
    /// Of the source along the first dimension and the second, then of the target.
    pub(super) offsets: [&'b [i64]; 4],
    /// Stretches of the first dimension that go on from place to place on both sides.
    pub(super) runs: &'b [(usize, usize)],
}

impl Places<'_> {
    /// The place of each element in the source and in the target.
    #[inline(always)]
    pub(super) fn each(self, mut work: impl FnMut(u64, u64)) {
        let [sa, sb, ta, tb] = self.offsets;
        for (s, t) in sb.iter().zip(tb) {
            let (from, to) = (self.from.wrapping_add_signed(*s), self.to.wrapping_add_signed(*t));
            for (s, t) in sa.iter().zip(ta) {
                work(from.wrapping_add_signed(*s), to.wrapping_add_signed(*t));
            }
        }
    }

    /// Where each run begins, in the source and in the target, and how long it is.
    #[inline(always)]
    pub(super) fn each_run(self, mut work: impl FnMut(u64, u64, usize)) {
        let [sa, sb, ta, tb] = self.offsets;
        for (s, t) in sb.iter().zip(tb) {
            let (from, to) = (self.from.wrapping_add_signed(*s), self.to.wrapping_add_signed(*t));
            for &(start, length) in self.runs {
                if let (Some(s), Some(t)) = (sa.get(start), ta.get(start)) {
                    work(from.wrapping_add_signed(*s), to.wrapping_add_signed(*t), length);
                }
            }
        }
    }

    /// Squares of `N` by `N` elements: where each row of the source begins, and each column of the
    /// target.
    #[inline(always)]
    pub(super) fn each_square<const N: usize>(self, mut work: impl FnMut([u64; N], [u64; N])) {
        let [sa, sb, ta, tb] = self.offsets;
        let starts = |base: u64, first: Option<&i64>, others: &[i64; N]| {
            let base = base.wrapping_add_signed(first.copied().unwrap_or(0));
            others.map(|other| base.wrapping_add_signed(other))
        };
        for (s_b, t_b) in sb.as_chunks::<N>().0.iter().zip(tb.as_chunks::<N>().0) {
            for (s_a, t_a) in sa.as_chunks::<N>().0.iter().zip(ta.as_chunks::<N>().0) {
                let rows = starts(self.from, s_a.first(), s_b);
                work(rows, starts(self.to, t_b.first(), t_a));
            }
        }
    }

    /// What squares of `N` leave over, at the end of either dimension.
    pub(super) fn beyond_squares<const N: usize>(self) -> [Self; 2] {
        let [sa, sb, ta, tb] = self.offsets;
        let whole = |table: &[i64]| table.len().saturating_sub(table.as_chunks::<N>().1.len());
        let ((a, a_left), (ta, ta_left)) = (sa.split_at(whole(sa)), ta.split_at(whole(ta)));
        let (b_left, tb_left) = (sb.as_chunks::<N>().1, tb.as_chunks::<N>().1);
        [[a_left, sb, ta_left, tb], [a, b_left, ta, tb_left]].map(|offsets| Self {
            offsets,
            runs: &[],
            ..self
        })
    }
}

#[derive(Default)]
struct Tables {
    sa: Table,
    sb: Table,
    ta: Table,
    tb: Table,
    runs: Vec<(usize, usize)>,
}

/// What is not in a slice is not moved.
pub(super) fn one_by_one<C: Cell>(places: Places<'_>, source: &[C], target: &mut [C]) {
    places.each(|from, to| {
        if let (Some(read), Some(written)) =
            (source.get(crate::as_index(from)), target.get_mut(crate::as_index(to)))
        {
            *written = *read;
        }
    });
}
