//! Tensors as `candle` tensors and back: what moves, what is lent, what is shared, what is copied.

#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail loudly"
)]
#![allow(unsafe_code, reason = "memory is shared by a promise, which the test keeps")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use candle_core::{CpuStorage, DType, Device, Storage};
use half::{bf16, f16};
use hurray_tensor::format::*;
use hurray_tensor::{BufferMut, Cut, Error, File, Tensor, TensorRef, WriteOptions, save};

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, rule: Rule) {
    assert_eq!(result.unwrap_err().rule(), Some(rule));
}

/// Where the f32 elements of a candle tensor's storage are.
fn place(tensor: &candle_core::Tensor) -> *const f32 {
    match &*tensor.storage_and_layout().0 {
        Storage::Cpu(CpuStorage::F32(elements)) => elements.as_ptr(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_vector_moves_in_without_a_copy() {
    let elements: Vec<f32> = (0..6_u8).map(f32::from).collect();
    let first = elements.as_ptr();
    let tensor = Tensor::from_vec(elements, &[2, 3]).unwrap();
    let theirs = tensor.try_into_candle().unwrap();
    assert_eq!(place(&theirs), first);
    assert_eq!(theirs.to_vec2::<f32>().unwrap(), [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]);
}

#[test]
fn every_type_that_both_have_goes_there_and_back() {
    fn check<T>(elements: Vec<T>, dtype: DType)
    where
        T: hurray_tensor::Element + candle_core::WithDType + PartialEq + std::fmt::Debug,
    {
        let ours = Tensor::from_vec(elements.clone(), &[2, 1]).unwrap();
        let copied = ours.copy_to_candle().unwrap();
        let moved = ours.try_into_candle().unwrap();
        for theirs in [copied, moved] {
            assert_eq!((theirs.dtype(), theirs.dims()), (dtype, &[2, 1][..]));
            assert_eq!(theirs.flatten_all().unwrap().to_vec1::<T>().unwrap(), elements);
            let back = Tensor::copy_from_candle(&theirs).unwrap();
            assert_eq!(back.as_slice::<T>().unwrap(), elements);
            assert!(back.buffers()[0].alignment() >= 64);
        }
    }
    check(vec![1_u8, 2], DType::U8);
    check(vec![1_u32, 2], DType::U32);
    check(vec![-1_i16, 2], DType::I16);
    check(vec![-1_i32, 2], DType::I32);
    check(vec![-1_i64, 2], DType::I64);
    check(vec![bf16::from_f32(1.5), bf16::ONE], DType::BF16);
    check(vec![f16::from_f32(1.5), f16::ONE], DType::F16);
    check(vec![1.5_f32, 2.0], DType::F32);
    check(vec![1.5_f64, 2.0], DType::F64);
    let scalar = Tensor::from_vec(vec![7_u32], &[]).unwrap().try_into_candle().unwrap();
    assert_eq!(scalar.to_scalar::<u32>().unwrap(), 7);
    let none = Tensor::from_vec(Vec::<f32>::new(), &[0, 3]).unwrap().try_into_candle().unwrap();
    assert_eq!(none.dims(), [0, 3]);
    assert_eq!(Tensor::copy_from_candle(&none).unwrap().descriptor().shape(), [0, 3]);

    // 8-bit floats come out as they are; bits of other types are nobody's guess.
    let floats = candle_core::Tensor::new(&[0.5_f32, 448.0], &Device::Cpu).unwrap();
    let floats = Tensor::copy_from_candle(&floats.to_dtype(DType::F8E4M3).unwrap()).unwrap();
    assert_eq!(floats.descriptor().dtype(), Dtype::Float8E4M3);
    assert_eq!(floats.as_bytes().unwrap(), [0x30, 0x7E]);
    let ours = Tensor::from_vec(vec![1_i8], &[1]).unwrap();
    refused(ours.copy_to_candle(), Rule::ViewType);
    assert_eq!(ours.try_into_candle().unwrap_err().error.rule(), Some(Rule::ViewType));
    let packed = CpuStorage::F4(vec![0x21]);
    let none = candle_core::op::BackpropOp::none();
    let packed = candle_core::Tensor::from_storage(Storage::Cpu(packed), (2,), none, false);
    refused(Tensor::copy_from_candle(&packed), Rule::ViewType);
}

#[test]
fn what_is_no_vector_of_its_own_is_copied_by_name_only() {
    let tensor = Tensor::from_vec(vec![1.0_f32, 2.0, 3.0, 4.0], &[2, 2]).unwrap();
    let turned = tensor.transpose().unwrap();
    let error = turned.try_into_candle().unwrap_err();
    assert_eq!(error.error.rule(), Some(Rule::ViewNotContiguous));
    let copied = error.value.copy_to_candle().unwrap();
    assert_eq!(copied.to_vec2::<f32>().unwrap(), [[1.0, 3.0], [2.0, 4.0]]);
    let error = tensor.clone().try_into_candle().unwrap_err();
    assert_eq!(error.error.rule(), Some(Rule::ViewNotVector));
    let ours = BufferMut::zeroed(8).unwrap().freeze();
    let ours = Tensor::dense(Dtype::Float32, &[2], ours).unwrap();
    assert_eq!(ours.try_into_candle().unwrap_err().error.rule(), Some(Rule::ViewNotVector));
}

#[test]
fn a_candle_tensor_is_lent_and_saved_from_where_it_is() {
    let elements: Vec<f32> = (0..24_u8).map(f32::from).collect();
    let theirs = candle_core::Tensor::from_vec(elements, (4, 6), &Device::Cpu).unwrap();
    let part = theirs.narrow(0, 1, 2).unwrap().t().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lent.hrry");
    save(&path, WriteOptions::default(), |file| {
        TensorRef::with_candle(&part, |lent| {
            assert_eq!(lent.buffer(0).unwrap().as_ptr(), place(&theirs).cast());
            assert_eq!(lent.descriptor().byte_offset(), 6 * 4);
            file.write("w", lent)
        })?
    })
    .unwrap();
    let back = File::open(&path).unwrap().tensor("w").unwrap();
    let expected = part.contiguous().unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap();
    assert_eq!(back.to_vec::<f32>().unwrap(), expected);
    assert_eq!(Tensor::copy_from_candle(&part).unwrap().to_vec::<f32>().unwrap(), expected);
    let repeated = theirs.narrow(0, 0, 1).unwrap().broadcast_as((1 << 40, 6)).unwrap();
    refused(Tensor::copy_from_candle(&repeated), Rule::ViewExpands);
}

/// Memory that is shared is kept by the tensor, on whatever thread it is dropped.
#[test]
fn shared_memory_is_where_it_was_and_kept() {
    let theirs = candle_core::Tensor::from_vec(vec![1.0_f32; 6], (2, 3), &Device::Cpu).unwrap();
    let first = place(&theirs);
    // SAFETY: nobody writes to `theirs` in place.
    let ours = unsafe { Tensor::share_candle(&theirs) }.unwrap();
    // SAFETY: as above.
    let turned = unsafe { Tensor::share_candle(&theirs.t().unwrap()) }.unwrap();
    drop(theirs);
    assert_eq!(ours.as_slice::<f32>().unwrap().as_ptr(), first);
    assert_eq!(turned.descriptor().layout(), &Layout::ColumnMajor);
    assert!(!ours.buffers()[0].is_writable());
    let column = ours.slice([Cut::ALL, Cut::from(1..2)]).unwrap();
    drop((ours, turned));
    assert_eq!(column.element::<f32>(&[1, 0]).unwrap(), 1.0);
    std::thread::spawn(move || drop(column)).join().unwrap();
}

/// While a tensor is lent nobody can write to it.
#[test]
fn whoever_wants_to_write_waits_while_a_tensor_is_lent() {
    let theirs = candle_core::Tensor::from_vec(vec![1.0_f32; 6], (6,), &Device::Cpu).unwrap();
    let written = Arc::new(AtomicBool::new(false));
    let writer = TensorRef::with_candle(&theirs, |lent| {
        let (other, mark) = (theirs.clone(), Arc::clone(&written));
        let writer = std::thread::spawn(move || {
            other.zero_set().unwrap();
            mark.store(true, Ordering::SeqCst);
        });
        for _ in 0..100 {
            std::thread::yield_now();
            assert_eq!(lent.buffer(0).unwrap()[..4], 1.0_f32.to_le_bytes());
            assert!(!written.load(Ordering::SeqCst));
        }
        writer
    });
    writer.unwrap().join().unwrap();
    assert_eq!(theirs.to_vec1::<f32>().unwrap(), [0.0; 6]);
}
