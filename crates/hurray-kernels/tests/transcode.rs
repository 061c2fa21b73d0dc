//! Transcoding against an oracle: each element found by its index, on both sides.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "a test may fail loudly"
)]

use hurray_format::{
    BufferHandle, Descriptor, Dtype, Layout, Location, Order, Rule, TileLevel, Tiled,
};
use hurray_kernels::transcode::{Path, Plan};
use proptest::prelude::*;
use proptest::sample::select;

/// The bits of an element, one by one.
fn bits(bytes: &[u8], at: Location, width: u32) -> Vec<bool> {
    let first = at.byte * 8 + u64::from(at.bit);
    (first..first + u64::from(width))
        .map(|bit| bytes[(bit / 8) as usize] >> (bit % 8) & 1 == 1)
        .collect()
}

fn indices(shape: &[u64]) -> Vec<Vec<u64>> {
    shape.iter().fold(vec![vec![]], |all, size| {
        all.iter().flat_map(|index| (0..*size).map(move |k| [&index[..], &[k]].concat())).collect()
    })
}

fn shapes() -> impl Strategy<Value = Vec<u64>> {
    prop_oneof![
        prop::collection::vec(1_u64..12, 1..=4),
        prop::collection::vec(0_u64..4, 1..=5),
        (1_u64..90, 1_u64..90).prop_map(|(a, b)| vec![a, b]),
        (1_u64..300).prop_map(|n| vec![n]),
        select(vec![vec![4, 4], vec![8, 8], vec![4, 4, 4], vec![16, 16]]),
    ]
}

/// A dense layout of that shape.
fn layouts(shape: Vec<u64>) -> impl Strategy<Value = Layout> {
    let rank = shape.len();
    let order = Just((0..rank).collect::<Vec<usize>>()).prop_shuffle();
    let signs = prop::collection::vec(any::<bool>(), rank);
    let permuted = |order: &[usize], sizes: &[u64], signs: &[bool]| -> Vec<i64> {
        let mut strides = vec![0_i64; sizes.len()];
        let mut step = 1_i64;
        for k in order {
            strides[*k] = if signs[*k] { -step } else { step };
            step *= i64::try_from(sizes[*k].max(1)).unwrap();
        }
        strides
    };
    let strided = (order.clone(), signs.clone())
        .prop_map({
            let shape = shape.clone();
            move |(order, signs)| Layout::strided(permuted(&order, &shape, &signs))
        })
        .boxed();
    let tiles = prop::collection::vec(1_u64..9, rank);
    let tiled = (tiles, prop::collection::vec(1_u64..4, rank), order, signs, 0..4_u8)
        .prop_map(move |(inner, factor, order, signs, kind)| {
            let outer: Vec<u64> = inner.iter().zip(&factor).map(|(i, f)| i * f).collect();
            let level = |tile: &[u64], outer| TileLevel { tile_shape: tile.into(), outer };
            let tiled = match kind {
                0 => Tiled::blocks(inner.clone()),
                1 => Tiled {
                    levels: vec![level(&inner, Order::ColumnMajor)],
                    inner: Order::Strided(permuted(&order, &inner, &signs).into()),
                },
                2 => Tiled {
                    levels: vec![level(&outer, Order::RowMajor), level(&inner, Order::RowMajor)],
                    inner: Order::ColumnMajor,
                },
                _ => Tiled {
                    levels: vec![
                        level(&outer, Order::ColumnMajor),
                        level(&inner, Order::ColumnMajor),
                    ],
                    inner: Order::RowMajor,
                },
            };
            Layout::tiled(tiled)
        })
        .boxed();
    let needed = |size: &u64| 64 - size.saturating_sub(1).leading_zeros();
    let bits: Vec<u32> = shape.iter().map(|size| needed(size).max(1)).collect();
    let morton = prop::collection::vec(0_u32..2, rank).prop_map(move |more| {
        Layout::morton(bits.iter().zip(more).map(|(b, m)| b + m).collect::<Vec<u32>>())
    });
    let plain = select(vec![Layout::RowMajor, Layout::ColumnMajor]);
    let side = shape[0];
    if rank >= 2 && side.is_power_of_two() && side > 1 && shape.iter().all(|size| *size == side) {
        let order = side.trailing_zeros();
        let hilbert = Just(Layout::Hilbert(hurray_format::Hilbert { order }));
        return prop_oneof![plain, strided, tiled, morton, hilbert].boxed();
    }
    prop_oneof![plain, strided, tiled, morton].boxed()
}

fn dtypes() -> impl Strategy<Value = Dtype> {
    select(Dtype::ALL.to_vec())
}

fn cases() -> impl Strategy<Value = (Dtype, Vec<u64>, Layout, Layout, u64)> {
    (dtypes(), shapes(), 0_u64..3).prop_flat_map(|(dtype, shape, skipped)| {
        let layouts = (layouts(shape.clone()), layouts(shape.clone()));
        (Just(dtype), Just(shape), layouts, Just(skipped))
            .prop_map(|(dtype, shape, (from, to), skipped)| (dtype, shape, from, to, skipped))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_element_is_where_the_other_layout_has_it(
        (dtype, shape, from, to, skipped) in cases(),
        seed: u64,
    ) {
        // As large as the layout takes it to be, and further into its buffer than need be.
        let dense = Descriptor::dense(dtype, &shape).unwrap();
        let fitting = Plan::new(&dense, &from).unwrap();
        let fitting = fitting.target();
        let skipped = skipped * u64::from(dtype.bits().div_ceil(8)) * 3;
        let size = fitting.buffers()[0].byte_size() + skipped;
        let source = fitting
            .rebuild()
            .byte_offset(fitting.byte_offset() + skipped)
            .buffers([BufferHandle::cpu(size)])
            .build()
            .unwrap();
        let mut state = seed | 1;
        let bytes: Vec<u8> = (0..size)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();

        let plan = Plan::new(&source, &to).unwrap();
        let target = plan.target();
        prop_assert_eq!(plan.byte_size() as u64, target.buffers()[0].byte_size());
        let mut moved = vec![0xA5; plan.byte_size()];
        plan.run(&bytes, &mut moved).unwrap();

        let mut is_element = vec![false; moved.len() * 8];
        let width = dtype.bits();
        for index in indices(&shape) {
            let (read, written) = (source.locate(&index).unwrap(), target.locate(&index).unwrap());
            prop_assert_eq!(bits(&bytes, read, width), bits(&moved, written, width), "{:?}", index);
            let first = (written.byte * 8) as usize + usize::from(written.bit);
            is_element[first..first + width as usize].fill(true);
        }
        // What is no element's stays as it was.
        for (bit, _) in is_element.iter().enumerate().filter(|(_, is_element)| !**is_element) {
            prop_assert_eq!(moved[bit / 8] >> (bit % 8) & 1, 0xA5 >> (bit % 8) & 1);
        }
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let source = Descriptor::dense(Dtype::Float32, &[4, 6]).unwrap();
    let refused = |layout: Layout| Plan::new(&source, &layout).unwrap_err().rule();
    assert_eq!(refused(Layout::strided([0, 1])), Rule::TranscodeOverlap);
    assert_eq!(refused(Layout::strided([5, 1])), Rule::TranscodeOverlap);
    assert_eq!(refused(Layout::morton([2, 2])), Rule::LayoutMortonDimensionTooLarge);
    let coo = hurray_format::Coo { nnz: 1, is_sorted: true };
    assert_eq!(refused(Layout::Coo(coo)), Rule::IndexNoAddress);
    let open = Descriptor::builder(Dtype::Float32, &[u64::MAX, 2])
        .buffers([BufferHandle::cpu(8)])
        .build()
        .unwrap();
    let refused = Plan::new(&open, &Layout::ColumnMajor).unwrap_err();
    assert_eq!(refused.rule(), Rule::DescriptorUnresolved);

    let plan = Plan::new(&source, &Layout::ColumnMajor).unwrap();
    assert_eq!(plan.run(&[0; 95], &mut [0; 96]).unwrap_err().rule(), Rule::MemorySize);
    assert_eq!(plan.run(&[0; 96], &mut [0; 95]).unwrap_err().rule(), Rule::MemorySize);
}

#[test]
fn a_plan_says_how_it_is_done() {
    let path = |dtype, shape: &[u64], layout| {
        Plan::new(&Descriptor::dense(dtype, shape).unwrap(), &layout).unwrap().path()
    };
    assert_eq!(path(Dtype::Float32, &[4, 4], Layout::ColumnMajor), Path::Blocks);
    assert_eq!(path(Dtype::Int4, &[4, 4], Layout::ColumnMajor), Path::Blocks);
    let hilbert = Layout::Hilbert(hurray_format::Hilbert { order: 2 });
    assert_eq!(path(Dtype::Float32, &[4, 4], hilbert), Path::Elements);
    assert_eq!(path(Dtype::Float32, &[4, 0], Layout::ColumnMajor), Path::Nothing);
}
