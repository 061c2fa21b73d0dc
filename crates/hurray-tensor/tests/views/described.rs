//! What parts and turns of tensors keep of scales, shards and statistics.

use hurray_tensor::format::*;
use hurray_tensor::{Buffer, BufferMut, Cut, Tensor};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::model::{Model, addresses, apply, op};
use crate::refused;
use crate::vectors::*;

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
