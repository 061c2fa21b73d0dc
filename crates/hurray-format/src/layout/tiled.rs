//! Tiled: a grid of tiles, each stored whole (specification page 04, decision 14).
//!
//! `tile_shape u64[rank], outer u8, inner u8, reserved u8[2]`, then outer strides where
//! `outer` is 3, then inner strides where `inner` is 3 or a nested record where it is 4.

use alloc::vec::Vec;

use super::order::{Order, Reach};
use super::tag;
use crate::error::{Error, Expected, Result, Value};
use crate::limits::Limits;
use crate::rules::Rule;
use crate::shape::product_of;
use crate::wire::{Array, Borrowed, Owned, Reader, Storage, Trace, Writer};

/// Tiles in an outer order, elements inside a tile in an inner one, or tiled again.
///
/// ```
/// use hurray_format::{Layout, Tiled};
/// let layout = Layout::tiled(Tiled::blocks([32, 32]));
/// assert_eq!(layout.name(), "tiled");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tiled<S: Storage = Owned> {
    /// One record or more, at most 8: each tiles the tiles of the one before it.
    pub levels: Vec<TileLevel<S>>,
    /// The order of the elements inside the smallest tile.
    pub inner: Order<S>,
}

/// One record: the shape of its tiles, and the order in which they lie.
#[derive(Clone, Debug, PartialEq)]
pub struct TileLevel<S: Storage = Owned> {
    /// The size of a tile in each dimension, never 0.
    pub tile_shape: S::Numbers<u64>,
    /// The order of the tiles in their grid. Strides count tiles.
    pub outer: Order<S>,
}

impl Tiled {
    /// Row-major tiles of that shape in a row-major grid.
    pub fn blocks(tile_shape: impl Into<crate::wire::List<u64>>) -> Self {
        let outer = Order::RowMajor;
        let level = TileLevel { tile_shape: tile_shape.into(), outer };
        Self { levels: alloc::vec![level], inner: Order::RowMajor }
    }

    pub(crate) fn has_dimensions(&self, rank: usize) -> bool {
        let strides = |order: &Order| match order {
            Order::Strided(strides) => strides.len() == rank,
            Order::RowMajor | Order::ColumnMajor => true,
        };
        let level = |level: &TileLevel| level.tile_shape.len() == rank && strides(&level.outer);
        !self.levels.is_empty() && self.levels.iter().all(level) && strides(&self.inner)
    }
}

impl<'a> Tiled<Borrowed<'a>> {
    pub(crate) fn load<T: Trace>(r: &mut Reader<'a, '_, T>, rank: usize) -> Result<Self> {
        const S: &str = "layout fields";
        let mut levels: Vec<TileLevel<Borrowed<'a>>> = Vec::new();
        loop {
            if levels.len() == Limits::TILED_DEPTH {
                let expected = Expected::AtMost(8);
                let rule = Rule::LayoutTiledRecursionDepth;
                return Err(Error::new(rule, "inner_layout", r.position(), Value::None, expected));
            }
            let shape_at = r.position();
            let tile_shape = r.array::<u64>(S, "tile_shape", rank)?;
            if let Some(k) = tile_shape.iter().position(|size| size == 0) {
                let at = shape_at.saturating_add(crate::wire::as_offset(k.saturating_mul(8)));
                return Err(Error::new(
                    Rule::LayoutTiledTileShapeZero,
                    "tile_shape",
                    at,
                    Value::Unsigned(0),
                    Expected::AtLeast(1),
                ));
            }
            if let Some(parent) = levels.last() {
                divides(&tile_shape, &parent.tile_shape, shape_at)?;
            }
            let block = r.block::<4>(S)?;
            let outer = r.tag(&block, 0, "outer_layout");
            let inner = r.tag(&block, 1, "inner_layout");
            r.zeros::<4, 2>(&block, 2, "reserved", Rule::LayoutTiledReserved)?;
            let refuse = |rule, at, name, found: u8, expected| {
                let found = Value::Tag(u64::from(found));
                Err(block.refuse(rule, at, name, found, Expected::OneOf(expected)))
            };
            if !matches!(outer, tag::ROW_MAJOR..=tag::STRIDED) {
                let rule = Rule::LayoutTiledOuterLayout;
                return refuse(rule, 0, "outer_layout", outer, "0x01, 0x02 or 0x03");
            }
            if !matches!(inner, tag::ROW_MAJOR..=tag::TILED) {
                let rule = Rule::LayoutTiledInnerLayout;
                return refuse(rule, 1, "inner_layout", inner, "0x01 to 0x04");
            }
            let outer = order(r, outer, "outer_strides", rank)?;
            if let Some(parent) = levels.last() {
                // Inside a tile two elements must not share a place.
                let grid = parent.tile_shape.iter().zip(tile_shape.iter());
                dense(&outer, grid.map(|(n, t)| n.div_ceil(t)), "outer_strides", r.position())?;
            }
            levels.push(TileLevel { tile_shape, outer });
            if inner != tag::TILED {
                let inner = order(r, inner, "inner_strides", rank)?;
                dense(&inner, tile_shape.iter(), "inner_strides", r.position())?;
                return Ok(Self { levels, inner });
            }
        }
    }
}

fn order<'a, T: Trace>(
    r: &mut Reader<'a, '_, T>,
    found: u8,
    name: &'static str,
    rank: usize,
) -> Result<Order<Borrowed<'a>>> {
    Ok(match found {
        tag::ROW_MAJOR => Order::RowMajor,
        tag::COLUMN_MAJOR => Order::ColumnMajor,
        _ => Order::Strided(r.array::<i64>("layout fields", name, rank)?),
    })
}

fn divides(tile: &impl Array<u64>, parent: &impl Array<u64>, at: u64) -> Result<()> {
    for (size, whole) in tile.iter().zip(parent.iter()) {
        if whole.checked_rem(size) != Some(0) {
            let expected = Expected::OneOf("a divisor of the parent tile");
            let rule = Rule::LayoutTiledNestedNotDividing;
            return Err(Error::new(rule, "tile_shape", at, Value::Unsigned(size), expected));
        }
    }
    Ok(())
}

fn dense<'a>(
    order: &Order<Borrowed<'a>>,
    sizes: impl Iterator<Item = u64> + Clone,
    name: &'static str,
    end: u64,
) -> Result<()> {
    if order.is_dense_permutation(sizes.clone()) {
        return Ok(());
    }
    let at = end.saturating_sub(crate::wire::as_offset(sizes.count().saturating_mul(8)));
    let expected = Expected::OneOf("a permutation of a dense order");
    Err(Error::new(Rule::LayoutTiledInnerStrides, name, at, Value::None, expected))
}

impl<S: Storage> Tiled<S> {
    pub(crate) fn to_owned(&self) -> Tiled {
        let level = |level: &TileLevel<S>| TileLevel {
            tile_shape: level.tile_shape.iter().collect(),
            outer: level.outer.to_owned(),
        };
        Tiled { levels: self.levels.iter().map(level).collect(), inner: self.inner.to_owned() }
    }

    pub(crate) fn encoded_len(&self) -> usize {
        let strides = |order: &Order<S>| match order {
            Order::Strided(strides) => strides.len().saturating_mul(8),
            _ => 0,
        };
        let records = self.levels.iter().fold(0_usize, |total, level| {
            let shape = level.tile_shape.len().saturating_mul(8);
            total.saturating_add(4).saturating_add(shape).saturating_add(strides(&level.outer))
        });
        records.saturating_add(strides(&self.inner))
    }

    pub(crate) fn store(&self, w: &mut Writer<'_>) {
        let strides = |order: &Order<S>, w: &mut Writer<'_>| {
            if let Order::Strided(strides) = order {
                strides.iter().for_each(|stride| w.block(&stride.to_le_bytes()));
            }
        };
        let last = self.levels.len().saturating_sub(1);
        for (depth, level) in self.levels.iter().enumerate() {
            level.tile_shape.iter().for_each(|size| w.u64(size));
            let inner = if depth == last { self.inner.tag() } else { tag::TILED };
            w.block(&[level.outer.tag(), inner, 0, 0]);
            strides(&level.outer, w);
        }
        strides(&self.inner, w);
    }

    /// How far whole tiles reach from the first element. No dimension is 0.
    pub(crate) fn reach(&self, shape: &impl Array<u64>) -> Reach {
        let mut inside = match self.levels.last() {
            Some(smallest) => self.inner.reach(smallest.tile_shape.iter()),
            None => return Reach::run(1),
        };
        for (depth, level) in self.levels.iter().enumerate().rev() {
            let tile = product_of(level.tile_shape.iter());
            let parent = depth.checked_sub(1).and_then(|above| self.levels.get(above));
            let grid = match parent {
                Some(parent) => level.outer.reach(grid(&parent.tile_shape, &level.tile_shape)),
                None => level.outer.reach(grid(shape, &level.tile_shape)),
            };
            inside = grid.scaled(tile, inside);
        }
        inside
    }

    /// The element offset of `index`, which is inside `shape`.
    pub(crate) fn offset(&self, index: &[u64], shape: &impl Array<u64>) -> Option<i128> {
        let rank = index.len();
        // What is left of the index inside the current tile, and that tile's shape.
        let mut left = [0_u64; Limits::RANK as usize];
        let left = left.get_mut(..rank)?;
        left.copy_from_slice(index);
        let mut offset: i128 = 0;
        let mut parent: Option<&TileLevel<S>> = None;
        for level in &self.levels {
            let mut tiles = [0_u64; Limits::RANK as usize];
            let tiles = tiles.get_mut(..rank)?;
            for ((tile, e), size) in tiles.iter_mut().zip(&mut *left).zip(level.tile_shape.iter()) {
                *tile = e.checked_div(size)?;
                *e = e.checked_rem(size)?;
            }
            let tiles = tiles.iter().copied();
            let at = match parent {
                Some(parent) => {
                    level.outer.cell(tiles, grid(&parent.tile_shape, &level.tile_shape))
                }
                None => level.outer.cell(tiles, grid(shape, &level.tile_shape)),
            };
            let cells = i128::try_from(product_of(level.tile_shape.iter())).ok()?;
            offset = offset.checked_add(at?.checked_mul(cells)?)?;
            parent = Some(level);
        }
        let inside = self.inner.cell(left.iter().copied(), parent?.tile_shape.iter())?;
        offset.checked_add(inside)
    }
}

/// How many tiles lie along each dimension, the partial last one counted.
fn grid<'s>(
    shape: &'s impl Array<u64>,
    tile: &'s impl Array<u64>,
) -> impl DoubleEndedIterator<Item = u64> + ExactSizeIterator + Clone + 's {
    shape.iter().zip(tile.iter()).map(|(n, t)| n.div_ceil(t.max(1)))
}
