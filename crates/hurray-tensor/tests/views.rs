//! Parts and turns of tensors: the right elements, in the same memory, rightly described.

#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail loudly"
)]

#[path = "support/model.rs"]
mod model;
mod support;
#[path = "support/vectors.rs"]
mod vectors;

use hurray_tensor::format::*;
use hurray_tensor::{Buffer, BufferMut, Cut, Error, Tensor};
use model::Model;
use proptest::prelude::*;
use proptest::sample::Index;
use vectors::*;

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, rule: Rule) {
    assert_eq!(result.unwrap_err().rule(), Some(rule));
}

/// One step of a chain of views; numbers are taken as far as the shape at hand allows.
#[derive(Clone, Debug)]
enum Op {
    Cut(Index, Index, Index, i64),
    Take(Index, Index),
    Permute(Vec<Index>),
    Transpose,
    Insert(Index),
    Squeeze(Index),
    Broadcast(Vec<u64>, u64),
    Reshape(Vec<Index>),
}

fn op() -> impl Strategy<Value = Op> {
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
fn apply<T: Clone>(
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
fn addresses(tensor: &Tensor) -> Model<i128> {
    let descriptor = tensor.descriptor();
    let base = tensor.buffers()[0].region().host.addr() as i128 * 8;
    Model::new(descriptor.shape(), |index| {
        let place = descriptor.locate(index).unwrap();
        base + i128::from(place.byte) * 8 + i128::from(place.bit)
    })
}

/// Tensors of some shape in many layouts, at some distance from the start of their memory,
/// which is or is not aligned.
fn base() -> impl Strategy<Value = Tensor> {
    let dtype = prop::sample::select(vec![
        Dtype::UInt8,
        Dtype::UInt16,
        Dtype::Float64,
        Dtype::UInt4,
        Dtype::Bool,
        Dtype::Float6E2M3,
    ]);
    let shape = prop::collection::vec(prop_oneof![1 => Just(1_u64), 6 => 2..6_u64], 1..5);
    (dtype, shape, 0..3_u64, any::<u64>(), any::<bool>()).prop_map(
        |(dtype, shape, kind, seed, adopted)| {
            let bits = |n: u64| seed >> (n % 64) & 1 == 1;
            let layout = match kind {
                0 => Layout::RowMajor,
                1 => Layout::ColumnMajor,
                _ => {
                    // Dimensions in some order, some turned around, with gaps.
                    let mut order: Vec<usize> = (0..shape.len()).collect();
                    order.rotate_left(seed as usize % shape.len());
                    let mut step = if bits(1) { 1 } else { 3 };
                    let mut strides = vec![0_i64; shape.len()];
                    for axis in order {
                        let sign = if bits(axis as u64 + 2) { -1 } else { 1 };
                        strides[axis] = sign * step;
                        step *= shape[axis] as i64;
                    }
                    Layout::strided(strides)
                }
            };
            // Far enough behind the start for what lies in front of the first element.
            let room = dtype.bytes_for(3 * 6_u128.pow(4)).unwrap() as u64;
            let memory = noise(room as usize * 2 + 64);
            let memory: Buffer = match adopted {
                true => BufferMut::from_vec(memory).unwrap().freeze(),
                false => BufferMut::copy_of(&memory).unwrap().freeze(),
            };
            let offset = room.next_multiple_of(24);
            Tensor::laid_out(dtype, &shape, layout, offset, memory).unwrap()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    /// A chain of views has the elements that moving them by hand gives, where they were.
    #[test]
    fn chains_of_views_are_what_moving_elements_gives(base in base(), ops in prop::collection::vec(op(), 1..6)) {
        let mut tensor = base.clone();
        let mut model = addresses(&base);
        let bytes = base.buffers()[0].host_bytes().unwrap();
        let start = bytes.as_ptr().addr() as i128 * 8;
        let width = base.descriptor().dtype().bits();
        for op in ops {
            let Some((result, expected)) = apply(&op, &tensor, &model) else { continue };
            if expected.elements.len() > 4096 {
                continue;
            }
            let view = match result {
                Ok(view) => view,
                Err(error) => {
                    match error.rule().unwrap() {
                        Rule::ViewSubByte => prop_assert!(expected.elements[0].rem_euclid(8) != 0),
                        Rule::ViewReshape => prop_assert!(!expected.has_steps(), "{op:?}"),
                        other => prop_assert!(false, "{op:?}: {other}"),
                    }
                    continue;
                }
            };
            prop_assert_eq!(view.descriptor().shape(), &expected.shape[..]);
            prop_assert!(view.buffers()[0].shares_memory_with(&base.buffers()[0]));
            if !expected.elements.is_empty() {
                prop_assert_eq!(addresses(&view), expected.clone(), "{:?}", op);
            }
            let bits: Vec<u128> = view.iter_bits().unwrap().collect();
            let naive = |at: &i128| bits_one_by_one(bytes, u64::try_from(at - start).unwrap(), width);
            let by_hand: Vec<u128> = expected.elements.iter().map(naive).collect();
            prop_assert_eq!(&bits, &by_hand);
            // What is cut away is not part of the memory that is saved.
            let extent = view.descriptor().extent().unwrap();
            if view.descriptor() != tensor.descriptor() {
                let held = view.buffers()[0].byte_size();
                prop_assert_eq!(held, if bits.is_empty() { 0 } else { extent.end });
                prop_assert!(extent.start < 64 || view.buffers()[0].lead() > 0);
            }
            let copy = view.to_row_major_within(u64::MAX).unwrap();
            prop_assert!(copy.iter_bits().unwrap().eq(bits));
            if view.descriptor().layout() == &Layout::RowMajor && !expected.elements.is_empty() {
                view.as_bytes().unwrap();
            }
            (tensor, model) = (view, expected);
        }
    }
}

/// The scale and the zero point of each element, as the format's text finds them.
fn parameters(tensor: &Tensor) -> Model<(i128, u32, i32)> {
    let (d, places) = (tensor.descriptor(), addresses(tensor));
    let word = |place: u32, n: u64| -> [u8; 4] {
        let bytes = tensor.buffers()[place as usize].host_bytes().unwrap();
        bytes[n as usize * 4..][..4].try_into().unwrap()
    };
    Model::new(d.shape(), |index| {
        let (scale, zero) = match d.quantization().unwrap() {
            Quantization::PerTensor(scheme) => (scheme.scale.to_bits(), scheme.zero_point),
            Quantization::PerChannel(scheme) => {
                let (n, count) = (index[scheme.axis as usize], d.shape()[scheme.axis as usize]);
                let zero = scheme.zero_points.map_or([0; 4], |place| {
                    word(place, if place == scheme.scales { count + n } else { n })
                });
                (u32::from_le_bytes(word(scheme.scales, n)), i32::from_le_bytes(zero))
            }
            Quantization::PerBlock(scheme) => {
                let axis = scheme.axis as usize;
                let blocks = d.shape()[axis].div_ceil(u64::from(scheme.block_size));
                let others = (0..index.len()).filter(|k| *k != axis);
                let outer = others.fold(0, |at, k| at * d.shape()[k] + index[k]);
                let n = outer * blocks + index[axis] / u64::from(scheme.block_size);
                let zero = scheme.zero_points.map_or([0; 4], |place| word(place, n));
                (u32::from_le_bytes(word(scheme.scales, n)), i32::from_le_bytes(zero))
            }
            other => panic!("{other:?}"),
        };
        (places.at(index), scale, zero)
    })
}

/// Numbers that all differ, from 1 on.
fn counted(count: u64) -> Buffer {
    let numbers: Vec<u32> = (1..=count as u32).collect();
    BufferMut::copy_of(&numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>())
        .unwrap()
        .freeze()
}

fn quantized(shape: &[u64], scheme: Quantization) -> Tensor {
    let descriptor = Descriptor::builder(Dtype::UInt8, shape).quantization(scheme).build().unwrap();
    let sizes: Vec<u64> = descriptor.buffers().iter().map(|handle| handle.byte_size()).collect();
    let values = BufferMut::copy_of(&noise(sizes[0] as usize)).unwrap().freeze();
    let buffers = std::iter::once(values).chain(sizes[1..].iter().map(|size| counted(size / 4)));
    Tensor::new(descriptor, buffers).unwrap()
}

fn per_channel(axis: u32, zero_points: Option<u32>) -> Quantization {
    Quantization::PerChannel(PerChannel { axis, scales: 1, zero_points })
}

fn per_block(axis: u32, block_size: u32) -> Quantization {
    let zero_points = Some(2);
    let scale_type = Dtype::Float32;
    Quantization::PerBlock(PerBlock { axis, block_size, scales: 1, zero_points, scale_type })
}

fn quantized_base() -> impl Strategy<Value = Tensor> {
    let shape = prop::collection::vec(prop_oneof![1 => Just(1_u64), 6 => 2..20_u64], 1..4);
    (shape, any::<Index>(), 0..4_u32).prop_map(|(shape, axis, kind)| {
        let axis = axis.index(shape.len()) as u32;
        let size = shape[axis as usize];
        let scheme = match kind {
            0 => Quantization::PerTensor(PerTensor { scale: 0.5, zero_point: 7 }),
            1 => per_channel(axis, Some(2)),
            2 => per_channel(axis, Some(1)),
            _ if size < 4 => per_channel(axis, None),
            _ => per_block(axis, 4),
        };
        quantized(&shape, scheme)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    /// Wherever a view of a quantized tensor is not refused, each element has the scale and
    /// the zero point that it had.
    #[test]
    fn a_view_keeps_each_element_its_scale(base in quantized_base(), ops in prop::collection::vec(op(), 1..4)) {
        let (mut tensor, mut model) = (base.clone(), parameters(&base));
        for op in ops {
            let Some((result, expected)) = apply(&op, &tensor, &model) else { continue };
            if expected.elements.len() > 20_000 {
                continue;
            }
            let view = match result {
                Ok(view) => view,
                Err(error) => {
                    let rule = error.rule().unwrap();
                    prop_assert!(matches!(rule, Rule::ViewQuantization | Rule::ViewReshape), "{rule}");
                    let always = matches!(base.descriptor().quantization(), Some(Quantization::PerTensor(_)));
                    prop_assert!(!always || rule == Rule::ViewReshape);
                    continue;
                }
            };
            if !expected.elements.is_empty() {
                prop_assert_eq!(parameters(&view), expected.clone(), "{:?}", op);
                for (held, was) in view.buffers().iter().zip(base.buffers()).skip(1) {
                    prop_assert!(held.shares_memory_with(was));
                }
            }
            (tensor, model) = (view, expected);
        }
    }
}

#[test]
fn channels_follow_their_axis() {
    let tensor = quantized(&[32, 6, 5], per_channel(0, Some(2)));
    let axis_of = |view: Tensor| match view.descriptor().quantization() {
        Some(Quantization::PerChannel(scheme)) => scheme.axis,
        other => panic!("{other:?}"),
    };
    assert_eq!(axis_of(tensor.permute(&[2, 0, 1]).unwrap()), 1);
    assert_eq!(axis_of(tensor.transpose().unwrap()), 2);
    assert_eq!(axis_of(tensor.unsqueeze(0).unwrap()), 1);
    assert_eq!(axis_of(tensor.index_axis(2, 4).unwrap()), 0);
    assert_eq!(axis_of(tensor.slice([Cut::ALL, (1..5).into(), Cut::ALL.by(-1)]).unwrap()), 0);
    assert_eq!(axis_of(tensor.reshape(&[32, 30]).unwrap()), 0);
    assert_eq!(axis_of(tensor.reshape(&[1, 32, 5, 6]).unwrap()), 1);
    assert_eq!(axis_of(tensor.broadcast(&[3, 32, 6, 5]).unwrap()), 1);

    // Along the axis only where scales of their own start at a multiple of 64 bytes.
    let part = tensor.slice_axis(0, 16..32).unwrap();
    assert_eq!(part.buffers()[1].byte_size(), 64);
    assert_eq!(part.buffers()[1].host_bytes().unwrap()[..4], 17_u32.to_le_bytes());
    for cut in [Cut::from(8..32), Cut::ALL.by(-1), Cut::ALL.by(2)] {
        refused(tensor.slice([cut]), Rule::ViewQuantization);
    }
    refused(tensor.index_axis(0, 0), Rule::ViewQuantization);
    refused(tensor.reshape(&[16, 2, 30]), Rule::ViewQuantization);
    let one = quantized(&[1, 6], per_channel(0, None));
    refused(one.broadcast(&[4, 6]), Rule::ViewQuantization);
    // Scales and zero points in one buffer are no two parts of one.
    let shared = quantized(&[32, 6], per_channel(0, Some(1)));
    refused(shared.slice_axis(0, 16..32), Rule::ViewQuantization);
    assert_eq!(axis_of(shared.transpose().unwrap()), 1);
}

#[test]
fn blocks_stay_whole_and_in_order() {
    let tensor = quantized(&[8, 64], per_block(1, 32));
    let axis_of = |view: Tensor| match view.descriptor().quantization() {
        Some(Quantization::PerBlock(scheme)) => scheme.axis,
        other => panic!("{other:?}"),
    };
    // Turning a matrix moves no block past another.
    assert_eq!(axis_of(tensor.transpose().unwrap()), 0);
    assert_eq!(axis_of(tensor.unsqueeze(1).unwrap()), 2);
    assert_eq!(axis_of(tensor.reshape(&[2, 4, 64]).unwrap()), 2);
    // Some rows, whose scales can be cut out: 8 rows have 64 bytes of them.
    let tall = quantized(&[24, 64], per_block(1, 32));
    let rows = tall.slice_axis(0, 8..24).unwrap();
    assert_eq!(rows.buffers()[1].byte_size(), 16 * 2 * 4);
    assert_eq!(rows.buffers()[2].host_bytes().unwrap()[..4], 17_u32.to_le_bytes());
    refused(tall.slice_axis(0, 1..24), Rule::ViewQuantization);
    refused(tall.slice([Cut::ALL.by(-1)]), Rule::ViewQuantization);
    refused(tall.slice([Cut::ALL, (0..32).into()]), Rule::ViewQuantization);
    refused(tall.broadcast(&[2, 24, 64]), Rule::ViewQuantization);
    refused(tall.reshape(&[24, 2, 32]), Rule::ViewQuantization);
    let cube = quantized(&[4, 6, 64], per_block(2, 32));
    refused(cube.permute(&[1, 0, 2]), Rule::ViewQuantization);
    assert_eq!(axis_of(cube.permute(&[2, 0, 1]).unwrap()), 0);
    assert_eq!(axis_of(cube.permute(&[0, 2, 1]).unwrap()), 1);
}

/// MXFP and NF4 lie in blocks too; what a private scheme means is not known.
#[test]
fn other_schemes_are_kept_where_they_are_right() {
    let build =
        |dtype, scheme| Descriptor::builder(dtype, &[64, 32]).quantization(scheme).build().unwrap();
    let mx = Quantization::Mxfp(Mxfp { axis: 1, block_size: 32, scales: 1 });
    let nf4 = Quantization::Nf4(Nf4 { axis: 1, block_size: 32, scales: 1 });
    for (descriptor, scale_bytes) in
        [(build(Dtype::Float8E4M3, mx.clone()), 64), (build(Dtype::UInt4, nf4.clone()), 256)]
    {
        let sizes: Vec<u64> = descriptor.buffers().iter().map(|h| h.byte_size()).collect();
        assert_eq!(sizes[1], scale_bytes);
        let held = sizes.iter().map(|size| BufferMut::zeroed(*size as usize).unwrap().freeze());
        let tensor = Tensor::new(descriptor.clone(), held).unwrap();
        let turned = tensor.transpose().unwrap();
        assert_eq!(
            turned.descriptor().quantization().unwrap().tag(),
            descriptor.quantization().unwrap().tag()
        );
        refused(tensor.slice([Cut::ALL, (0..16).into()]), Rule::ViewQuantization);
        let rows = tensor.slice_axis(0, 16..32);
        match descriptor.dtype() {
            Dtype::UInt4 => assert_eq!(rows.unwrap().buffers()[1].byte_size(), 64),
            _ => refused(rows, Rule::ViewQuantization),
        }
        assert_eq!(tensor.slice_axis(0, ..64).unwrap().descriptor(), tensor.descriptor());
    }
    let scheme = Quantization::Private { tag: 0xF0, version: 0, flags: 0, payload: Box::default() };
    let descriptor = build(Dtype::UInt8, scheme);
    let memory = BufferMut::zeroed(64 * 32).unwrap().freeze();
    let tensor = Tensor::new(descriptor, [memory]).unwrap();
    refused(tensor.transpose(), Rule::ViewQuantization);
    refused(tensor.reshape(&[2048]), Rule::ViewQuantization);
    assert_eq!(tensor.permute(&[0, 1]).unwrap().descriptor(), tensor.descriptor());
}

#[test]
fn shards_and_statistics_are_adapted_or_dropped() {
    let values = StatisticsValues {
        nnz: Some(9),
        range: Some((-1.0, 2.0, 2.0)),
        nm: Some((2, 4)),
        ..StatisticsValues::default()
    };
    let descriptor = Descriptor::builder(Dtype::UInt8, &[4, 6])
        .shard(Shard::new(&[8, 6], &[4, 0]))
        .statistics(Statistics::new(&values))
        .member_role(MemberRole::Correction)
        .build()
        .unwrap();
    let tensor = Tensor::new(descriptor, [BufferMut::zeroed(24).unwrap().freeze()]).unwrap();
    let shard_of = |view: &Tensor| {
        let shard = view.descriptor().shard()?;
        Some((shard.parent_shape().to_vec(), shard.offset().to_vec()))
    };
    let statistics_of = |view: &Tensor| view.descriptor().statistics().map(Statistics::values);

    let turned = tensor.transpose().unwrap();
    assert_eq!(shard_of(&turned), Some((vec![6, 8], vec![0, 4])));
    assert_eq!(statistics_of(&turned), Some(StatisticsValues { nm: None, ..values }));
    assert_eq!(turned.descriptor().member_role(), None);
    // Backwards it has all the values, and is no box of the parent.
    let backwards = tensor.slice([Cut::ALL.by(-1)]).unwrap();
    assert_eq!(shard_of(&backwards), None);
    assert!(statistics_of(&backwards).is_some());
    let part = tensor.slice_axis(0, 1..3).unwrap();
    assert_eq!(shard_of(&part), Some((vec![8, 6], vec![5, 0])));
    assert_eq!(statistics_of(&part), None);
    let row = tensor.index_axis(0, 1).unwrap();
    assert_eq!((shard_of(&row), statistics_of(&row)), (None, None));
    let raised = tensor.unsqueeze(1).unwrap();
    assert_eq!(shard_of(&raised), Some((vec![8, 1, 6], vec![4, 0, 0])));
    let lowered = raised.squeeze(1).unwrap();
    assert_eq!(shard_of(&lowered), Some((vec![8, 6], vec![4, 0])));
    let rows = tensor.broadcast(&[2, 4, 6]).unwrap();
    assert_eq!((shard_of(&rows), statistics_of(&rows)), (None, None));
    let flat = tensor.reshape(&[24]).unwrap();
    assert_eq!(shard_of(&flat), None);
    assert!(statistics_of(&flat).is_some());
    // Nothing changed is the same tensor, a member too.
    let same = tensor.slice([Cut::ALL]).unwrap();
    assert_eq!(same.descriptor(), tensor.descriptor());
    // A copy in another order is the same tensor as well.
    let copy = tensor.to_row_major().unwrap();
    assert_eq!(copy.descriptor().rebuild().build(), tensor.descriptor().rebuild().build());
}

#[test]
fn a_view_says_why_there_is_none() {
    let tensor = Tensor::from_vec((0_u8..24).collect(), &[2, 3, 4]).unwrap();
    refused(tensor.slice_axis(0, 0..3), Rule::ViewRange);
    #[expect(clippy::reversed_empty_ranges, reason = "that is what is refused")]
    let reversed = tensor.slice_axis(0, 2..1);
    refused(reversed, Rule::ViewRange);
    refused(tensor.slice([Cut::ALL.by(0)]), Rule::ViewRange);
    refused(tensor.slice([Cut::ALL; 4]), Rule::ViewAxes);
    refused(tensor.index_axis(0, 2), Rule::ViewRange);
    refused(tensor.index_axis(0, u64::MAX), Rule::ViewRange);
    refused(tensor.index_axis(3, 0), Rule::ViewAxes);
    refused(tensor.permute(&[0, 1]), Rule::ViewAxes);
    refused(tensor.permute(&[0, 1, 1]), Rule::ViewAxes);
    refused(tensor.permute(&[0, 1, 3]), Rule::ViewAxes);
    refused(tensor.squeeze(0), Rule::ViewAxes);
    refused(tensor.squeeze(3), Rule::ViewAxes);
    refused(tensor.unsqueeze(4), Rule::ViewAxes);
    refused(tensor.broadcast(&[3, 4]), Rule::ViewBroadcast);
    refused(tensor.broadcast(&[2, 3, 8]), Rule::ViewBroadcast);
    refused(tensor.reshape(&[23]), Rule::ViewElementCount);
    refused(tensor.reshape(&[u64::MAX, u64::MAX]), Rule::ViewElementCount);
    refused(tensor.reshape(&[0]), Rule::ViewElementCount);
    let mut many = Tensor::from_vec(vec![1_u8], &[]).unwrap();
    for _ in 0..64 {
        many = many.unsqueeze(0).unwrap();
    }
    refused(many.unsqueeze(0), Rule::DescriptorRankTooLarge);

    let (six, _) = noisy(&Descriptor::dense(Dtype::Float6E2M3, &[8]).unwrap());
    assert_eq!(six.slice_axis(0, 4..8).unwrap().descriptor().byte_offset(), 3);
    refused(six.slice_axis(0, 3..8), Rule::ViewSubByte);
    refused(six.slice([Cut::ALL.by(-1)]), Rule::ViewSubByte);
    let (bits, _) = noisy(&Descriptor::dense(Dtype::Bool, &[3, 8]).unwrap());
    let row = bits.index_axis(0, 2).unwrap();
    assert_eq!((row.descriptor().byte_offset(), row.as_bytes().unwrap().len()), (2, 1));
    refused(bits.index_axis(1, 3), Rule::ViewSubByte);

    for layout in [Layout::tiled(Tiled::blocks([2, 2])), Layout::morton([2, 2])] {
        let descriptor = Descriptor::builder(Dtype::UInt8, &[4, 4]).layout(layout).build();
        let (tensor, _) = noisy(&descriptor.unwrap());
        refused(tensor.slice_axis(0, 0..2), Rule::ViewLayout);
        refused(tensor.transpose(), Rule::ViewLayout);
        refused(tensor.reshape(&[16]), Rule::ViewLayout);
    }
    let layout = Layout::Coo(Coo { nnz: 0, is_sorted: true });
    let sparse = Descriptor::builder(Dtype::UInt8, &[4, 4]).layout(layout).build().unwrap();
    refused(alive(&sparse, &[vec![], vec![]]).transpose(), Rule::ViewLayout);
    let dynamic = Descriptor::builder(Dtype::UInt8, &[DYNAMIC]).buffers([BufferHandle::cpu(64)]);
    let memory = BufferMut::zeroed(64).unwrap().freeze();
    let dynamic = Tensor::new(dynamic.build().unwrap(), [memory]).unwrap();
    refused(dynamic.slice_axis(0, 0..1), Rule::DescriptorUnresolved);
}

/// Strides and shapes that no arithmetic of 64 bits can take.
#[test]
fn extreme_steps_are_refused_and_never_wrap() {
    let memory = || BufferMut::zeroed(64).unwrap().freeze();
    let tensor = |shape: &[u64], strides: &[i64]| {
        let layout = Layout::strided(List::new(strides));
        Tensor::laid_out(Dtype::UInt8, shape, layout, 0, memory()).unwrap()
    };
    // A stride of a dimension of one index is never taken, and may be anything.
    let one = tensor(&[1, 3], &[i64::MIN, 1]);
    assert_eq!(one.slice([Cut::ALL.by(i64::MIN)]).unwrap().to_vec::<u8>().unwrap(), [0; 3]);
    assert_eq!(one.reshape(&[3, 1]).unwrap().to_vec::<u8>().unwrap(), [0; 3]);
    let many = tensor(&[1 << 62, 1 << 62], &[0, 0]);
    refused(many.iter_bits().map(drop), Rule::ViewTooMany);
    refused(many.to_vec_within::<u8>(u64::MAX), Rule::ViewTooMany);
    refused(many.as_slice::<u8>(), Rule::ViewTooMany);
    let row = many.index_axis(0, 1 << 61).unwrap();
    assert_eq!(row.iter_bits().unwrap().len(), 1 << 62);
    refused(row.to_vec::<u8>(), Rule::ViewExpands);
    assert!(row.to_vec_within::<u8>(u64::MAX).is_err());
    assert!(row.to_row_major_within(u64::MAX).is_err());
    let less = row.slice([Cut::ALL.by(-(1 << 61))]).unwrap();
    assert_eq!(less.descriptor().shape(), [2]);
    assert_eq!(row.broadcast(&[1 << 63, 1 << 62]).unwrap().descriptor().rank(), 2);
}

/// Memory that does not start at a multiple of 64 keeps its distance from it.
#[test]
fn views_of_adopted_memory_are_where_they_were() {
    let elements: Vec<u32> = (0..1000).collect();
    let first = elements.as_ptr();
    let tensor = Tensor::from_vec(elements, &[10, 100]).unwrap();
    let row = tensor.index_axis(0, 7).unwrap();
    assert_eq!(row.as_slice::<u32>().unwrap().as_ptr(), first.wrapping_add(700));
    assert!(row.buffers()[0].byte_size() < 464 + 64);
    let top = tensor.slice_axis(0, 0..1).unwrap();
    assert_eq!(top.buffers()[0].lead(), tensor.buffers()[0].lead());
    assert_eq!(top.as_slice::<u32>().unwrap().as_ptr(), first);
    let column = tensor.index_axis(1, 99).unwrap();
    assert_eq!(column.element::<u32>(&[9]).unwrap(), 999);
    drop(tensor);
    assert_eq!(row.as_slice::<u32>().unwrap()[99], 799);
}
