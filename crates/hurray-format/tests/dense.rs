//! Dense layouts against naive oracles: random shapes, ranks, types and orders, every
//! element looked up.

#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may fail loudly"
)]

use std::collections::BTreeSet;

use hurray_format::*;
use proptest::prelude::*;

/// Small shapes of every rank up to 5, with at most a few hundred elements.
fn shape() -> impl Strategy<Value = Vec<u64>> {
    (0_usize..=5).prop_flat_map(|rank| {
        let most: u64 = [1, 200, 16, 7, 4, 3][rank];
        prop::collection::vec(1..=most, rank)
    })
}

fn dtype() -> impl Strategy<Value = Dtype> {
    let private = prop::sample::select(vec![1, 2, 4, 8, 24, 256]).prop_map(|width| {
        let record = ExtensionType::integer(width, false).unwrap();
        Dtype::Private(PrivateDtype::new(0xF5, record).unwrap())
    });
    prop_oneof![4 => prop::sample::select(Dtype::ALL.to_vec()), 1 => private]
}

/// Every index of a shape, the last dimension fastest.
fn indices(shape: &[u64]) -> Vec<Vec<u64>> {
    shape.iter().fold(vec![Vec::new()], |before, size| {
        let with = |index: &Vec<u64>, k| index.iter().copied().chain([k]).collect();
        before.iter().flat_map(|index| (0..*size).map(move |k| with(index, k))).collect()
    })
}

fn reversed(items: &[u64]) -> Vec<u64> {
    items.iter().rev().copied().collect()
}

/// Builds the tensor in a buffer of the least size, and checks that every element lies
/// at the offset that `oracle` gives, inside the buffer, in bits of its own; that a byte
/// less is refused; and that the lookup agrees between owned and borrowed descriptors.
fn check(
    dtype: Dtype,
    shape: &[u64],
    layout: Layout,
    shares_places: bool,
    oracle: impl Fn(&[u64]) -> i128,
) -> Result<(), TestCaseError> {
    let offsets: Vec<i128> = indices(shape).iter().map(|index| oracle(index)).collect();
    let lowest = offsets.iter().copied().min().unwrap_or(0).min(0);
    let byte_offset = dtype.bytes_for(lowest.unsigned_abs()).unwrap() as u64;
    let builder = Descriptor::builder(dtype, shape).layout(layout.clone()).byte_offset(byte_offset);
    let tensor = builder.build().unwrap();
    let size = tensor.buffers()[0].byte_size();

    let bytes = tensor.encode();
    let accept = Accept::default().dtype(0xF5);
    let borrowed = DescriptorRef::read_with(&bytes, &accept, &mut Silent).unwrap();
    let width = u128::from(dtype.bits());
    let mut taken = BTreeSet::new();
    for (index, offset) in indices(shape).iter().zip(&offsets) {
        let place = tensor.locate(index).unwrap();
        prop_assert_eq!(borrowed.locate(index), Ok(place));
        let bit = u128::from(place.byte) * 8 + u128::from(place.bit);
        let expected = i128::from(byte_offset) * 8 + offset * width as i128;
        prop_assert_eq!(bit as i128, expected, "{:?} {:?}", index, &layout);
        prop_assert!(bit + width <= u128::from(size) * 8, "{:?} {:?}", index, &layout);
        prop_assert!(place.bit < 8 && (width < 8 || place.bit == 0));
        prop_assert!(taken.insert(bit) || shares_places, "{:?} {:?}", index, &layout);
    }
    // Places are of one width, so that distinct starts a width apart do not overlap.
    let starts: Vec<u128> = taken.into_iter().collect();
    prop_assert!(starts.windows(2).all(|pair| pair[1] - pair[0] >= width));

    if size > byte_offset {
        let smaller = tensor.rebuild().buffers([BufferHandle::cpu(size - 1)]).build();
        prop_assert_eq!(smaller.unwrap_err().rule(), Rule::LayoutBufferTooSmall);
    }
    if byte_offset > 0 && !offsets.is_empty() {
        let earlier = tensor.rebuild().byte_offset(byte_offset - 1).build();
        prop_assert_eq!(earlier.unwrap_err().rule(), Rule::LayoutElementBeforeBuffer);
    }
    Ok(())
}

/// Counting through the indices gives the row-major offset.
fn row_major(shape: &[u64], index: &[u64]) -> i128 {
    indices(shape).iter().position(|at| at == index).unwrap() as i128
}

fn dot(index: &[u64], strides: &[i64]) -> i128 {
    index.iter().zip(strides).map(|(i, s)| i128::from(*i) * i128::from(*s)).sum()
}

/// A dense permutation of `sizes`: any order of the dimensions, any signs; dimensions of
/// one step anywhere.
fn dense_strides(sizes: &[u64], order: &[usize], signs: u64, odd: i64) -> Vec<i64> {
    let mut strides = vec![0; sizes.len()];
    let mut step = 1;
    for k in order {
        if sizes[*k] == 1 {
            strides[*k] = odd;
        } else {
            strides[*k] = if signs >> k & 1 == 1 { -step } else { step };
            step *= sizes[*k] as i64;
        }
    }
    strides
}

fn orders(rank: usize) -> impl Strategy<Value = Vec<usize>> {
    Just((0..rank).collect::<Vec<_>>()).prop_shuffle()
}

/// An order of boxes of `sizes`, whatever they are: the strides of a permutation are
/// made once the sizes are known.
#[derive(Clone, Debug)]
enum Choice {
    Row,
    Column,
    Permuted(Vec<usize>, u64, i64),
}

impl Choice {
    fn order(&self, sizes: &[u64]) -> Order {
        match self {
            Self::Row => Order::RowMajor,
            Self::Column => Order::ColumnMajor,
            Self::Permuted(order, signs, odd) => {
                Order::Strided(dense_strides(sizes, order, *signs, *odd).into())
            }
        }
    }
}

fn choice(rank: usize) -> impl Strategy<Value = Choice> {
    prop_oneof![
        Just(Choice::Row),
        Just(Choice::Column),
        (orders(rank), any::<u64>(), any::<i64>())
            .prop_map(|(o, s, odd)| { Choice::Permuted(o, s, odd) }),
    ]
}

/// The cell of `index` in a box, by counting or by strides.
fn cell(order: &Order, sizes: &[u64], index: &[u64]) -> i128 {
    match order {
        Order::RowMajor => row_major(sizes, index),
        Order::ColumnMajor => row_major(&reversed(sizes), &reversed(index)),
        Order::Strided(strides) => dot(index, strides),
    }
}

/// The formula of the specification, recursively.
fn tiled(levels: &[TileLevel], inner: &Order, box_: &[u64], index: &[u64]) -> i128 {
    let Some((level, nested)) = levels.split_first() else {
        return cell(inner, box_, index);
    };
    let tile = &level.tile_shape[..];
    let zip = |f: fn(u64, u64) -> u64, a: &[u64]| -> Vec<u64> {
        a.iter().zip(tile).map(|(a, t)| f(*a, *t)).collect()
    };
    let grid = zip(|n, t| n.div_ceil(t), box_);
    let outer = cell(&level.outer, &grid, &zip(|i, t| i / t, index));
    let cells: u64 = tile.iter().product();
    outer * i128::from(cells) + tiled(nested, inner, tile, &zip(|i, t| i % t, index))
}

/// Up to three levels of tiles, each of which divides the one before it.
fn tilings(shape: Vec<u64>) -> impl Strategy<Value = (Vec<u64>, Tiled)> {
    let rank = shape.len();
    let factors = prop::collection::vec(prop::collection::vec(1_u64..=3, rank), 1..=3);
    let choices = prop::collection::vec(choice(rank), 4);
    (Just(shape), factors, choices).prop_map(|(shape, factors, choices)| {
        // The smallest tile is the last factor; each other one is a multiple of it.
        let mut tiles = Vec::new();
        let mut tile = vec![1; shape.len()];
        for factor in factors.iter().rev() {
            tile = tile.iter().zip(factor).map(|(a, b)| a * b).collect();
            tiles.insert(0, tile.clone());
        }
        let mut parent = shape.clone();
        let mut levels = Vec::new();
        for (tile, choice) in tiles.iter().zip(&choices) {
            let grid: Vec<u64> = parent.iter().zip(tile).map(|(n, t)| n.div_ceil(*t)).collect();
            // What a dimension of one tile has for a stride is never used.
            let outer = choice.order(&grid);
            levels.push(TileLevel { tile_shape: tile.clone().into(), outer });
            parent.clone_from(tile);
        }
        let inner = choices[3].order(&parent);
        (shape, Tiled { levels, inner })
    })
}

/// Spreads the bits by a list of places, dimension by dimension while it has bits left.
fn morton(bits: &[u32], index: &[u64]) -> i128 {
    let mut places = Vec::new();
    for bit in 0..64 {
        for (dimension, width) in bits.iter().enumerate() {
            if bit < *width {
                places.push((dimension, bit));
            }
        }
    }
    let bit = |(place, (dimension, bit)): (usize, &(usize, u32))| {
        i128::from(index[*dimension] >> bit & 1) << place
    };
    places.iter().enumerate().map(bit).sum()
}

/// Skilling's inverse: from the place on the curve to the coordinates.
fn hilbert_coordinates(code: u64, order: u32, rank: usize) -> Vec<u64> {
    let mut x = vec![0_u64; rank];
    for bit in 0..order {
        for (d, x) in x.iter_mut().enumerate() {
            let at = bit as usize * rank + (rank - 1 - d);
            *x |= (code >> at & 1) << bit;
        }
    }
    // Gray decode.
    let t = x[rank - 1] >> 1;
    for i in (1..rank).rev() {
        x[i] ^= x[i - 1];
    }
    x[0] ^= t;
    // Undo excess work.
    let mut q = 2;
    while q != 1 << order {
        let mask = q - 1;
        for i in (0..rank).rev() {
            if x[i] & q != 0 {
                x[0] ^= mask;
            } else {
                let t = (x[0] ^ x[i]) & mask;
                x[0] ^= t;
                x[i] ^= t;
            }
        }
        q <<= 1;
    }
    x
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..<_>::default() })]

    #[test]
    fn row_and_column_major_count_through_the_indices(dtype in dtype(), shape in shape()) {
        check(dtype, &shape, Layout::RowMajor, false, |index| row_major(&shape, index))?;
        if !shape.is_empty() {
            let columns = |index: &[u64]| row_major(&reversed(&shape), &reversed(index));
            check(dtype, &shape, Layout::ColumnMajor, false, columns)?;
        }
    }

    /// Reach is exactly the least and greatest offset over all indices: `check` builds
    /// the smallest buffer, and is refused one byte less at either end.
    #[test]
    fn strides_reach_what_their_indices_reach(
        dtype in dtype(),
        (shape, strides) in shape().prop_filter("a scalar has no strides", |s| !s.is_empty())
            .prop_flat_map(|shape| {
                let strides = prop::collection::vec(-40_i64..=40, shape.len());
                (Just(shape), strides)
            }),
    ) {
        let layout = Layout::strided(strides.clone());
        check(dtype, &shape, layout, true, |index| dot(index, &strides))?;
    }

    #[test]
    fn permuted_strides_give_every_element_its_own_place(
        dtype in dtype(),
        (shape, choice) in shape().prop_filter("a scalar has no strides", |s| !s.is_empty())
            .prop_flat_map(|shape| {
                let rank = shape.len();
                (Just(shape), (orders(rank), any::<u64>(), -9_i64..9))
            }),
    ) {
        let (order, signs, odd) = choice;
        let strides = dense_strides(&shape, &order, signs, odd);
        let layout = Layout::strided(strides.clone());
        check(dtype, &shape, layout, false, |index| dot(index, &strides))?;
    }

    #[test]
    fn tiles_follow_the_recursive_formula(
        dtype in dtype(),
        (shape, layout) in shape().prop_filter("a scalar has no tiles", |s| !s.is_empty())
            .prop_flat_map(tilings),
    ) {
        let (levels, inner) = (layout.levels.clone(), layout.inner.clone());
        let oracle = |index: &[u64]| tiled(&levels, &inner, &shape, index);
        let every = indices(&shape);
        let whole: u64 = levels[0].tile_shape.iter().product();
        let grid: u64 =
            shape.iter().zip(&levels[0].tile_shape[..]).map(|(n, t)| n.div_ceil(*t)).product();

        let lowest = lowest_of_whole_tiles(&levels, &inner, &shape);
        let byte_offset = dtype.bytes_for(lowest.unsigned_abs()).unwrap() as u64;
        let tensor = Descriptor::builder(dtype, &shape)
            .layout(Layout::tiled(layout.clone()))
            .byte_offset(byte_offset)
            .build();
        let tensor = tensor.unwrap();

        // The order of the grid is a permutation here, so that tiles fill their run.
        let above = i128::from(whole * grid) + lowest;
        let needed = dtype.bytes_for(above as u128).unwrap() as u64 + byte_offset;
        prop_assert_eq!(tensor.buffers()[0].byte_size(), needed);

        let width = i128::from(dtype.bits());
        let mut taken = BTreeSet::new();
        for index in &every {
            let place = tensor.locate(index).unwrap();
            let bit = i128::from(place.byte) * 8 + i128::from(place.bit);
            prop_assert_eq!(bit, i128::from(byte_offset) * 8 + oracle(index) * width);
            prop_assert!(bit >= 0 && bit + width <= i128::from(needed) * 8);
            prop_assert!(taken.insert(bit), "{:?} shares its place", index);
        }
    }

    /// The outermost order may overlap, leave gaps and go backwards; whole tiles are held.
    #[test]
    fn strides_of_whole_tiles_are_free(
        (shape, layout, strides) in shape().prop_filter("a scalar has no tiles", |s| !s.is_empty())
            .prop_flat_map(|shape| {
                let strides = prop::collection::vec(-6_i64..=6, shape.len());
                (tilings(shape), strides)
            })
            .prop_map(|((shape, layout), strides)| (shape, layout, strides)),
    ) {
        let mut layout = layout;
        layout.levels[0].outer = Order::Strided(strides.into());
        let (levels, inner) = (&layout.levels, &layout.inner);
        let whole: Vec<u64> = shape.iter().zip(&levels[0].tile_shape[..])
            .map(|(n, t)| n.div_ceil(*t) * t).collect();
        let low = lowest_of_whole_tiles(levels, inner, &shape);
        let high = highest_of_whole_tiles(levels, inner, &shape);
        let tensor = Descriptor::builder(Dtype::UInt8, &shape)
            .layout(Layout::tiled(layout.clone()))
            .byte_offset(low.unsigned_abs() as u64)
            .build()
            .unwrap();
        prop_assert_eq!(i128::from(tensor.buffers()[0].byte_size()), high - low + 1);
        for index in indices(&shape) {
            let offset = tiled(levels, inner, &whole, &index);
            prop_assert_eq!(i128::from(tensor.locate(&index).unwrap().byte), offset - low);
        }
    }

    #[test]
    fn morton_codes_fill_a_power_of_two(
        dtype in dtype(),
        bits in prop::collection::vec(1_u32..=3, 1..=4),
        cut in prop::collection::vec(0_u64..4, 4),
    ) {
        let full: Vec<u64> = bits.iter().map(|bits| 1 << bits).collect();
        let layout = Layout::morton(bits.clone());
        check(dtype, &full, layout.clone(), false, |index| morton(&bits, index))?;
        // Sizes below a power of two keep the codes, and the buffer.
        let shape: Vec<u64> = full.iter().zip(&cut).map(|(n, cut)| (n - cut % n).max(1)).collect();
        let tensor = Descriptor::builder(dtype, &shape).layout(layout).build().unwrap();
        let places = 1_u128 << bits.iter().sum::<u32>();
        prop_assert_eq!(
            u128::from(tensor.buffers()[0].byte_size()), dtype.bytes_for(places).unwrap()
        );
        for index in indices(&shape) {
            let place = tensor.locate(&index).unwrap();
            let bit = i128::from(place.byte) * 8 + i128::from(place.bit);
            prop_assert_eq!(bit, morton(&bits, &index) * i128::from(dtype.bits()));
        }
    }
}

/// The lowest offset of any element or padding: whole tiles are stored.
fn lowest_of_whole_tiles(levels: &[TileLevel], inner: &Order, shape: &[u64]) -> i128 {
    parts_of_whole_tiles(levels, inner, shape).iter().map(|part| *part.iter().min().unwrap()).sum()
}

fn highest_of_whole_tiles(levels: &[TileLevel], inner: &Order, shape: &[u64]) -> i128 {
    parts_of_whole_tiles(levels, inner, shape).iter().map(|part| *part.iter().max().unwrap()).sum()
}

/// What each coordinate adds to the offset, whatever the others are: an order is linear
/// in what each level leaves of the index.
fn parts_of_whole_tiles(levels: &[TileLevel], inner: &Order, shape: &[u64]) -> Vec<Vec<i128>> {
    let tile = &levels[0].tile_shape[..];
    let whole: Vec<u64> = shape.iter().zip(tile).map(|(n, t)| n.div_ceil(*t) * t).collect();
    let part = |k: usize| {
        let at = |i: u64| {
            let mut index = vec![0; shape.len()];
            index[k] = i;
            tiled(levels, inner, &whole, &index)
        };
        (0..whole[k]).map(at).collect()
    };
    (0..shape.len()).map(part).collect()
}

/// Every cell is on the curve once, and a step along it goes to a neighbour; the place is
/// what an inverse written from the paper says.
#[test]
fn a_step_along_the_hilbert_curve_goes_to_a_neighbour() {
    for (rank, order) in [(2, 1), (2, 2), (2, 5), (3, 1), (3, 2), (3, 4), (4, 2), (5, 2), (7, 1)] {
        let side = 1_u64 << order;
        let shape = vec![side; rank];
        let tensor = Descriptor::builder(Dtype::UInt8, &shape)
            .layout(Layout::Hilbert(Hilbert { order }))
            .build()
            .unwrap();
        let cells = 1_u64 << (rank as u32 * order);
        assert_eq!(tensor.buffers()[0].byte_size(), cells);
        let mut curve = vec![None; cells as usize];
        for index in indices(&shape) {
            let place = tensor.locate(&index).unwrap().byte;
            assert_eq!(hilbert_coordinates(place, order, rank), index, "{rank} {order}");
            assert_eq!(curve[place as usize].replace(index), None, "{rank} {order}");
        }
        let curve: Vec<Vec<u64>> = curve.into_iter().map(Option::unwrap).collect();
        assert_eq!(curve[0], vec![0; rank]);
        for pair in curve.windows(2) {
            let steps: u64 = pair[0].iter().zip(&pair[1]).map(|(a, b)| a.abs_diff(*b)).sum();
            assert_eq!(steps, 1, "{rank} {order}: {pair:?}");
        }
    }
}

/// Cubes too large to walk: single cells against the inverse.
#[test]
fn far_cells_of_large_hilbert_cubes_are_where_the_inverse_says() {
    for (rank, order) in [(2, 31), (3, 21), (9, 7), (21, 3), (63, 1)] {
        let shape = vec![1_u64 << order; rank];
        let tensor = Descriptor::builder(Dtype::Bool, &shape)
            .layout(Layout::Hilbert(Hilbert { order }))
            .build()
            .unwrap();
        let cells = 1_u64 << (rank as u32 * order);
        for code in [0, 1, cells / 3, cells / 2, cells - 2, cells - 1] {
            let place = tensor.locate(&hilbert_coordinates(code, order, rank)).unwrap();
            assert_eq!(place.byte * 8 + u64::from(place.bit), code, "{rank} {order}");
        }
    }
}

/// An empty tensor needs no bytes, whatever the layout, and has no element to look up.
#[test]
fn an_empty_tensor_needs_no_bytes() {
    let layouts = [
        Layout::RowMajor,
        Layout::ColumnMajor,
        Layout::strided([i64::MIN, i64::MAX, 7]),
        Layout::tiled(Tiled::blocks([u64::MAX, 2, 1])),
        Layout::morton([20, 20, 23]),
    ];
    for layout in layouts {
        for shape in [[0, 3, 2], [5, 0, 8], [1, 1, 0], [0, 0, 0], [9, 0, DYNAMIC]] {
            let tensor = Descriptor::builder(Dtype::Float32, &shape).layout(layout.clone()).build();
            let tensor = tensor.unwrap();
            assert_eq!(tensor.buffers()[0].byte_size(), 0);
            assert_eq!(tensor.element_count(), Some(0));
            assert!(tensor.locate(&[0, 0, 0]).is_err());
        }
    }
}

#[test]
fn strides_are_those_of_the_layouts_that_have_them() {
    let strides = |shape: &[u64], layout: Layout| {
        let handle = BufferHandle::cpu(u64::MAX);
        let builder = Descriptor::builder(Dtype::Bool, shape).layout(layout).buffers([handle]);
        builder.build().unwrap().strides().map(|strides| strides.to_vec())
    };
    assert_eq!(strides(&[2, 3, 4], Layout::RowMajor), Some(vec![12, 4, 1]));
    assert_eq!(strides(&[2, 3, 4], Layout::ColumnMajor), Some(vec![1, 2, 6]));
    assert_eq!(strides(&[2, 3], Layout::strided([0, 5])), Some(vec![0, 5]));
    assert_eq!(strides(&[], Layout::RowMajor), Some(vec![]));
    assert_eq!(strides(&[2, 2], Layout::morton([1, 1])), None);
    assert_eq!(strides(&[DYNAMIC, 2], Layout::RowMajor), None);
    // Beyond 63 bits there is a step only where nobody can take it.
    assert_eq!(strides(&[1, 1 << 63], Layout::RowMajor), None);
    assert_eq!(strides(&[1 << 63, 1], Layout::RowMajor), Some(vec![1, 1]));
    assert_eq!(strides(&[0, 1 << 63, 2], Layout::RowMajor), Some(vec![0, 2, 1]));
    assert_eq!(strides(&[1 << 63, 2, 0], Layout::ColumnMajor), Some(vec![1, 0, 0]));
}
