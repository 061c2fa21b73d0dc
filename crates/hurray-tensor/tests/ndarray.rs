//! Tensors as `ndarray` arrays and back: the same memory, the same elements, the same strides.

#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may fail loudly"
)]

use hurray_tensor::format::*;
use hurray_tensor::{BufferMut, Cut, Error, Tensor};
use ndarray::{Array, Array3, ArrayD, ArrayViewD, Axis, IxDyn, ShapeBuilder, Slice, arr0, arr2, s};
use num_complex::Complex;
use proptest::prelude::*;
use proptest::sample::Index;

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, rule: Rule) {
    assert_eq!(result.unwrap_err().rule(), Some(rule));
}

/// The same place, the same shape, and the same step wherever one is taken.
#[track_caller]
fn same(ours: &ArrayViewD<'_, u32>, theirs: &ArrayViewD<'_, u32>) {
    assert_eq!(ours.shape(), theirs.shape());
    assert_eq!(ours, theirs);
    if ours.is_empty() {
        return;
    }
    assert_eq!(ours.as_ptr(), theirs.as_ptr());
    for (axis, size) in ours.shape().iter().enumerate() {
        if *size > 1 {
            assert_eq!(ours.strides()[axis], theirs.strides()[axis], "axis {axis}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    /// Each view of a tensor is the view that ndarray makes of the same array.
    #[test]
    fn views_are_those_that_ndarray_makes(
        shape in prop::collection::vec(1..6_usize, 1..5),
        ops in prop::collection::vec((0..6_u8, any::<Index>(), any::<Index>(), any::<Index>(), prop_oneof![-3..0_i64, 1..4_i64]), 1..6),
    ) {
        let count: usize = shape.iter().product();
        let array = Array::from_iter(0..count as u32).into_shape_with_order(shape).unwrap();
        let mut tensor = Tensor::from_ndarray(array.clone()).unwrap();
        let memory = tensor.clone();
        let mut view: ArrayViewD<'_, u32> = memory.as_ndarray::<u32>().unwrap();
        same(&view, &view);
        for (op, axis, a, b, step) in ops {
            let rank = view.ndim();
            if rank == 0 {
                break;
            }
            let axis = axis.index(rank);
            let size = view.len_of(Axis(axis));
            tensor = match op {
                0 | 1 => {
                    let start = a.index(size + 1);
                    let end = start + b.index(size - start + 1);
                    let slice = Slice { start: start as isize, end: Some(end as isize), step: step as isize };
                    view.slice_axis_inplace(Axis(axis), slice);
                    let cut = Cut::from(start as u64..end as u64).by(step);
                    tensor.slice(std::iter::repeat_n(Cut::ALL, axis).chain([cut])).unwrap()
                }
                2 if size > 0 => {
                    let at = a.index(size);
                    view = view.index_axis_move(Axis(axis), at);
                    tensor.index_axis(axis, at as u64).unwrap()
                }
                3 => {
                    let mut axes: Vec<usize> = (0..rank).collect();
                    axes.swap(axis, a.index(rank));
                    axes.swap(b.index(rank), axis);
                    view = view.permuted_axes(axes.clone());
                    tensor.permute(&axes).unwrap()
                }
                4 => {
                    view = view.insert_axis(Axis(a.index(rank + 1)));
                    tensor.unsqueeze(a.index(rank + 1)).unwrap()
                }
                _ => {
                    view = view.reversed_axes();
                    tensor.transpose().unwrap()
                }
            };
            same(&tensor.as_ndarray::<u32>().unwrap(), &view);
            let all: Vec<u32> = view.iter().copied().collect();
            prop_assert!(tensor.iter::<u32>().unwrap().eq(all));
        }
    }
}

#[test]
fn repeated_axes_have_no_step() {
    let row = Tensor::from_vec(vec![1_u32, 2, 3], &[3]).unwrap();
    let rows = row.broadcast(&[2, 3]).unwrap();
    let array = rows.as_ndarray::<u32>().unwrap();
    assert_eq!(array.strides(), [0, 1]);
    assert_eq!(array.as_ptr(), row.as_slice::<u32>().unwrap().as_ptr());
    assert_eq!(array, arr2(&[[1, 2, 3], [1, 2, 3]]).into_dyn());
    // No array of its own can have it.
    drop(row);
    let error = rows.try_into_ndarray::<u32>().unwrap_err();
    assert_eq!(error.error.rule(), Some(Rule::ViewNotVector));
    assert_eq!(error.value.to_ndarray::<u32>().unwrap_err().rule(), Some(Rule::ViewExpands));
}

#[test]
fn an_array_moves_in_and_out_without_a_copy() {
    // In every order of axes, turned around, cut, and with room to spare.
    let plain = Array3::from_shape_fn((2, 3, 4), |(i, j, k)| (i * 100 + j * 10 + k) as f32);
    let column = Array3::from_shape_fn((2, 3, 4).f(), |(i, j, k)| (i * 100 + j * 10 + k) as f32);
    let turned = plain.clone().permuted_axes([2, 0, 1]);
    let mut backwards = plain.clone();
    backwards.invert_axis(Axis(1));
    let whole_again = plain.clone().slice_move(s![.., ..;-1, ..]);
    for array in [plain, column, turned, backwards, whole_again] {
        let (expected, first) = (array.clone().into_dyn(), array.as_ptr());
        let strides = array.strides().to_vec();
        let tensor = Tensor::from_ndarray(array).unwrap();
        let view = tensor.as_ndarray::<f32>().unwrap();
        assert_eq!((view.as_ptr(), view.strides()), (first, &strides[..]));
        assert_eq!(view, expected);
        let back: ArrayD<f32> = tensor.try_into_ndarray().unwrap();
        assert_eq!((back.as_ptr(), back.strides()), (first, &strides[..]));
        assert_eq!(back, expected);
    }
}

#[test]
fn the_layout_of_an_array_has_its_plainest_name() {
    let layout =
        |array: ArrayD<u8>| Tensor::from_ndarray(array).unwrap().descriptor().layout().clone();
    let plain = ArrayD::from_shape_vec(IxDyn(&[2, 3]), vec![0_u8; 6]).unwrap();
    assert_eq!(layout(plain.clone()), Layout::RowMajor);
    assert_eq!(layout(plain.clone().reversed_axes()), Layout::ColumnMajor);
    assert_eq!(layout(arr0(7_u8).into_dyn()), Layout::RowMajor);
    let empty = ArrayD::from_shape_vec(IxDyn(&[2, 0]), Vec::new()).unwrap();
    assert_eq!(layout(empty), Layout::RowMajor);
    // D7: a step that is never taken is kept all the same.
    let padded = Array3::from_shape_vec((2, 1, 4).strides((4, 9, 1)), vec![0_u8; 8]).unwrap();
    assert_eq!(layout(padded.into_dyn()), Layout::strided([4, 9, 1]));
    let one = Tensor::from_ndarray(arr0(7_u8)).unwrap();
    assert_eq!(one.as_ndarray::<u8>().unwrap(), arr0(7).into_dyn());
    let many = ArrayD::from_shape_vec(IxDyn(&[1; 65]), vec![0_u8]).unwrap();
    refused(Tensor::from_ndarray(many), Rule::DescriptorRankTooLarge);
}

/// What is only a part of a vector is lent as an array, and not given away.
#[test]
fn a_part_of_a_vector_is_no_array_of_its_own() {
    let array = Array3::from_shape_fn((4, 3, 2), |(i, j, k)| (i * 100 + j * 10 + k) as u32);
    let part = array.clone().slice_move(s![1..3, .., ..]);
    let (expected, first) = (part.clone().into_dyn(), part.as_ptr());
    let tensor = Tensor::from_ndarray(part).unwrap();
    assert_eq!(tensor.as_ndarray::<u32>().unwrap().as_ptr(), first);
    let error = tensor.try_into_ndarray::<u32>().unwrap_err();
    assert_eq!(error.error.rule(), Some(Rule::ViewNotVector));
    assert_eq!(error.value.to_ndarray::<u32>().unwrap(), expected);
    // The first rows of one may be: the vector is longer than the array, and keeps its elements.
    let top = array.slice_move(s![..2, .., ..]);
    let first = top.as_ptr();
    let back = Tensor::from_ndarray(top).unwrap().try_into_ndarray::<u32>().unwrap();
    assert_eq!((back.as_ptr(), back.shape()), (first, &[2, 3, 2][..]));
    assert_eq!(back.into_raw_vec_and_offset().0.len(), 24);

    let shared = Tensor::from_vec(vec![1_u32], &[1]).unwrap();
    let other = shared.clone();
    let error = shared.try_into_ndarray::<u32>().unwrap_err().error;
    assert_eq!(error.rule(), Some(Rule::ViewNotVector));
    drop(other);
    let ours = BufferMut::zeroed(4).unwrap().freeze();
    let ours = Tensor::dense(Dtype::UInt32, &[1], ours).unwrap();
    assert!(ours.try_into_ndarray::<u32>().is_err());
}

#[test]
fn what_is_no_array_says_why() {
    let tensor = Tensor::from_vec(vec![1_u32, 2], &[2]).unwrap();
    refused(tensor.as_ndarray::<i32>(), Rule::ViewType);
    let memory = || BufferMut::zeroed(64).unwrap().freeze();
    let odd = Tensor::laid_out(Dtype::UInt32, &[3], Layout::RowMajor, 2, memory()).unwrap();
    refused(odd.as_ndarray::<u32>(), Rule::ViewUnaligned);
    let tiled = Layout::tiled(Tiled::blocks([2, 2]));
    let tiled = Tensor::laid_out(Dtype::UInt8, &[4, 4], tiled, 0, memory()).unwrap();
    refused(tiled.as_ndarray::<u8>(), Rule::ViewLayout);
    assert_eq!(tiled.to_ndarray::<u8>().unwrap().shape(), [4, 4]);
    let many = Layout::strided([0, 0]);
    let many = Tensor::laid_out(Dtype::UInt8, &[1 << 62, 1 << 62], many, 0, memory()).unwrap();
    refused(many.as_ndarray::<u8>(), Rule::ViewTooMany);
    let far = Layout::strided([i64::MIN, 1]);
    let far = Tensor::laid_out(Dtype::UInt8, &[1, 4], far, 0, memory()).unwrap();
    assert_eq!(far.as_ndarray::<u8>().unwrap().shape(), [1, 4]);
}

#[test]
fn complex_numbers_are_pairs() {
    let numbers = vec![Complex::new(1.0_f32, 2.0), Complex::new(3.0, 4.0)];
    let first = numbers.as_ptr();
    let tensor = Tensor::from_vec(numbers, &[2]).unwrap();
    assert_eq!(tensor.descriptor().dtype(), Dtype::Complex64);
    assert_eq!(tensor.as_slice::<[f32; 2]>().unwrap()[1], [3.0, 4.0]);
    let array = tensor.as_ndarray::<Complex<f32>>().unwrap();
    assert_eq!((array.as_ptr(), array[[1]]), (first, Complex::new(3.0, 4.0)));
    assert_eq!(tensor.element::<Complex<f32>>(&[0]).unwrap().im, 2.0);
}

#[test]
fn a_part_of_a_vector_is_not_the_vector() {
    for start in 1..40 {
        let whole = Tensor::from_vec((0..100_i32).collect(), &[100]).unwrap();
        let part = whole.slice_axis(0, start..90).unwrap();
        drop(whole);
        // Wherever it starts: also at a multiple of 64, where the part has no lead.
        let elements = part.to_vec::<i32>().unwrap();
        match part.try_into_ndarray::<i32>() {
            Ok(array) => assert_eq!(array.iter().copied().collect::<Vec<_>>(), elements),
            Err(returned) => {
                assert_eq!(returned.error.rule(), Some(Rule::ViewNotVector));
                assert_eq!(returned.value.to_vec::<i32>().unwrap(), elements);
            }
        }
    }
}
