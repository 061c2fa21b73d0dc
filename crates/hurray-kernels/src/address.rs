//! Where the elements of a dense layout are.
//!
//! All of them but a Hilbert curve place each dimension by itself: an element's offset is a sum
//! with one term for each dimension, and a term is a sum over digits of the coordinate. A stride
//! is one digit, a tile another below it, and in Morton order each bit is one.

use hurray_format::{Layout, Order};

/// One digit of a coordinate: `(coordinate / step) % size`, which moves an element by so many
/// times `stride` elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digit {
    pub(crate) step: u64,
    pub(crate) size: u64,
    pub(crate) stride: i64,
}

/// What one coordinate adds to an element's offset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Axis {
    /// From the lowest on.
    pub(crate) digits: Vec<Digit>,
}

/// Where every element is, in elements from the lowest that there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) axes: Vec<Axis>,
    /// Of element [0, …, 0].
    pub(crate) origin: u64,
    /// How many elements there are from the lowest to the highest place, both included.
    pub(crate) span: u64,
}

impl Axis {
    /// What `coordinate` adds.
    pub(crate) fn at(&self, coordinate: u64) -> i64 {
        let term = |digit: &Digit| {
            let value = coordinate
                .checked_div(digit.step)
                .and_then(|above| above.checked_rem(digit.size))
                .and_then(|value| i64::try_from(value).ok());
            value.unwrap_or(0).wrapping_mul(digit.stride)
        };
        self.digits.iter().fold(0, |sum, digit| sum.wrapping_add(term(digit)))
    }

    /// The stride between neighbours that differ in the lowest digit; 0 where all are in one
    /// place.
    pub(crate) fn lowest_stride(&self) -> i64 {
        self.digits.first().map_or(0, |digit| digit.stride)
    }

    fn reach(&self) -> Option<(i64, i64)> {
        let mut reach = (0_i64, 0_i64);
        for digit in &self.digits {
            let most = i64::try_from(digit.size.saturating_sub(1)).ok()?;
            let most = most.checked_mul(digit.stride)?;
            match most < 0 {
                true => reach.0 = reach.0.checked_add(most)?,
                false => reach.1 = reach.1.checked_add(most)?,
            }
        }
        Some(reach)
    }
}

impl Address {
    /// Of a dense layout of a shape that is known. `None` for other layouts and Hilbert curves, and
    /// where it reaches further than 63 bits count.
    pub(crate) fn of(layout: &Layout, shape: &[u64]) -> Option<Self> {
        let axes = match layout {
            Layout::RowMajor => plain(&Order::RowMajor, shape)?,
            Layout::ColumnMajor => plain(&Order::ColumnMajor, shape)?,
            Layout::Strided(strides) => plain(&Order::Strided(strides.clone()), shape)?,
            Layout::Tiled(tiled) => {
                let mut axes = vec![Axis::default(); shape.len()];
                let mut whole: Vec<u64> = shape.to_vec();
                for level in &tiled.levels {
                    let tile = &level.tile_shape[..];
                    let grid: Vec<u64> = whole
                        .iter()
                        .zip(tile)
                        .map(|(size, tile)| size.div_ceil((*tile).max(1)))
                        .collect();
                    push_level(&mut axes, &level.outer, &grid, Some(tile))?;
                    whole = tile.to_vec();
                }
                push_level(&mut axes, &tiled.inner, &whole, None)?;
                axes
            }
            Layout::Morton(morton) => interleaved(&morton.bits, shape)?,
            _ => return None,
        };
        Self::spanning(axes)
    }

    /// Whether each element is known to have a place of its own: going up by stride, each digit
    /// steps over all that those below it reach.
    pub(crate) fn is_apart(&self) -> bool {
        let digits = self.axes.iter().flat_map(|axis| &axis.digits);
        let mut steps: Vec<(u64, u64)> =
            digits.map(|digit| (digit.stride.unsigned_abs(), digit.size)).collect();
        steps.sort_unstable();
        let mut reached: u64 = 0;
        for (stride, size) in steps {
            if stride <= reached {
                return false;
            }
            reached = reached.saturating_add(stride.saturating_mul(size.saturating_sub(1)));
        }
        true
    }

    fn spanning(mut axes: Vec<Axis>) -> Option<Self> {
        let (mut down, mut up) = (0_i64, 0_i64);
        for axis in &mut axes {
            axis.digits.retain(|digit| digit.size > 1);
            axis.digits.sort_by_key(|digit| digit.step);
            let (lowest, highest) = axis.reach()?;
            down = down.checked_add(lowest)?;
            up = up.checked_add(highest)?;
        }
        let origin = u64::try_from(down.checked_neg()?).ok()?;
        let span = u64::try_from(up.checked_sub(down)?).ok()?.checked_add(1)?;
        Some(Self { axes, origin, span })
    }
}

/// The strides of an order over a box of cells, each `cell` elements large.
fn strides(order: &Order, sizes: &[u64], cell: i64) -> Option<Vec<i64>> {
    let mut all = vec![0_i64; sizes.len()];
    let mut step = cell;
    let mut place = |(stride, size): (&mut i64, &u64)| -> Option<()> {
        *stride = step;
        step = step.checked_mul(i64::try_from(*size).ok()?)?;
        Some(())
    };
    match order {
        Order::RowMajor => all.iter_mut().zip(sizes).rev().try_for_each(&mut place)?,
        Order::ColumnMajor => all.iter_mut().zip(sizes).try_for_each(&mut place)?,
        Order::Strided(given) => {
            for (stride, given) in all.iter_mut().zip(&given[..]) {
                *stride = given.checked_mul(cell)?;
            }
        }
    }
    Some(all)
}

fn plain(order: &Order, shape: &[u64]) -> Option<Vec<Axis>> {
    let of =
        |(stride, size): (i64, &u64)| Axis { digits: vec![Digit { step: 1, size: *size, stride }] };
    Some(strides(order, shape, 1)?.into_iter().zip(shape).map(of).collect())
}

/// Adds the digits of a grid of tiles of the shape `tile`, or of what is in the last tile.
fn push_level(axes: &mut [Axis], order: &Order, sizes: &[u64], tile: Option<&[u64]>) -> Option<()> {
    let cell =
        tile.unwrap_or(&[]).iter().try_fold(1_u64, |cells, size| cells.checked_mul(*size))?;
    let strides = strides(order, sizes, i64::try_from(cell).ok()?)?;
    for (k, ((axis, stride), size)) in axes.iter_mut().zip(strides).zip(sizes).enumerate() {
        let step = tile.and_then(|tile| tile.get(k).copied()).unwrap_or(1);
        axis.digits.push(Digit { step, size: *size, stride });
    }
    Some(())
}

/// Each bit of each coordinate is a digit; those above the shape are never set.
fn interleaved(bits: &[u32], shape: &[u64]) -> Option<Vec<Axis>> {
    let mut axes = vec![Axis::default(); shape.len()];
    let widest = bits.iter().max().copied().unwrap_or(0);
    let mut place: u32 = 0;
    for bit in 0..widest {
        for ((axis, width), size) in axes.iter_mut().zip(bits).zip(shape) {
            if bit >= *width {
                continue;
            }
            let step = 1_u64.checked_shl(bit)?;
            if *size > step {
                axis.digits.push(Digit { step, size: 2, stride: 1_i64.checked_shl(place)? });
            }
            place = place.checked_add(1)?;
        }
    }
    Some(axes)
}
