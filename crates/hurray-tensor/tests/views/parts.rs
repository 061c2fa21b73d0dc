//! The elements of parts and turns of tensors, and their memory.

use hurray_tensor::format::*;
use hurray_tensor::{Buffer, BufferMut, Cut, Tensor};
use proptest::prelude::*;

use crate::model::{addresses, apply, op};
use crate::refused;
use crate::vectors::*;

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
