//! Against another implementation, taken as it is: what it makes we take, and the reverse.

use std::sync::Arc;

use dlpark::ffi;
use dlpark::metadata::Dynamic;
use dlpark::{DlpackFlags, legacy, versioned};
use hurray_tensor::dlpack::raw::{DLManagedTensor, DLManagedTensorVersioned};
use hurray_tensor::dlpack::*;
use hurray_tensor::format::{Dtype, Rule};
use hurray_tensor::{Buffer, Tensor};

use crate::producer::*;

/// A tensor of the other library's, in memory that `keep` keeps.
fn theirs<M: dlpark::ManagedTensorBase>(
    keep: &Arc<Vec<i32>>,
    shape: &[i64],
    strides: &[i64],
    byte_offset: u64,
) -> dlpark::Managed<M> {
    let data = keep.as_ptr().cast_mut().cast();
    let metadata = Dynamic::new(shape, strides);
    let mut tensor = metadata.initialize_as::<M>(Arc::clone(keep)).unwrap();
    tensor.set_data(data).set_dtype(ffi::DLDataType::I32).set_device(ffi::DLDevice::CPU);
    tensor.set_byte_offset(byte_offset);
    // SAFETY: the memory is kept by the context, and as long as the shape says.
    unsafe { tensor.finish() }
}

#[test]
fn theirs_becomes_ours() {
    let keep: Arc<Vec<i32>> = Arc::new((0..12).collect());
    let made: versioned::Dlpack = theirs(&keep, &[2, 3], &[1, 4], 8);
    // SAFETY: both are DLPack's own struct; the memory is not written to.
    let foreign = unsafe {
        Foreign::from_raw(made.into_raw().cast::<DLManagedTensorVersioned>(), Terms::default())
    };
    let tensor = Tensor::try_from(foreign.unwrap()).unwrap();
    let values: Vec<i32> = elements(&tensor)
        .iter()
        .map(|bytes| i32::from_le_bytes(bytes[..].try_into().unwrap()))
        .collect();
    assert_eq!(values, [2, 6, 10, 3, 7, 11]);
    assert_eq!(tensor.host_buffers().unwrap()[0].as_ptr().cast(), &raw const keep[2]);
    assert_eq!(Arc::strong_count(&keep), 2);
    drop(tensor);
    assert_eq!(Arc::strong_count(&keep), 1);

    let made: legacy::Dlpack = theirs(&keep, &[12], &[1], 0);
    // SAFETY: as above.
    let foreign =
        unsafe { Foreign::from_raw(made.into_raw().cast::<DLManagedTensor>(), Terms::default()) };
    let tensor = Tensor::try_from(foreign.unwrap()).unwrap();
    assert_eq!(tensor.host_buffers().unwrap()[0].as_ptr().cast(), keep.as_ptr());
    drop(tensor);
    assert_eq!(Arc::strong_count(&keep), 1);
}

#[test]
fn what_we_refuse_of_theirs_is_let_go_of() {
    let keep: Arc<Vec<i32>> = Arc::new((0..12).collect());
    let made: versioned::Dlpack = theirs(&keep, &[2], &[1], 2);
    // SAFETY: as above.
    let foreign = unsafe {
        Foreign::from_raw(made.into_raw().cast::<DLManagedTensorVersioned>(), Terms::default())
    };
    let refused = Tensor::try_from(foreign.unwrap()).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::DlpackMisaligned));
    assert_eq!(Arc::strong_count(&keep), 1);
}

#[test]
fn ours_becomes_theirs() {
    let memory = Arc::new((0..6).collect::<Vec<i32>>());
    let buffer = Buffer::from_arc::<i32, _>(Arc::clone(&memory)).unwrap();
    let tensor = Tensor::dense(Dtype::Int32, &[2, 3], buffer).unwrap();
    let out: Exported = tensor.try_into().unwrap();
    // SAFETY: both are DLPack's own struct.
    let taken = unsafe { versioned::Dlpack::from_raw(out.into_raw().cast()) }.unwrap();
    assert_eq!(taken.flags(), DlpackFlags::READ_ONLY);
    let view = taken.validate().unwrap();
    assert_eq!((view.shape(), view.strides()), (&[2, 3][..], Some(&[3, 1][..])));
    // SAFETY: there are six, and nobody writes to them.
    let values = unsafe { view.cpu_slice::<i32>() }.unwrap();
    assert_eq!((values, values.as_ptr()), (&memory[..], memory.as_ptr()));
    assert_eq!(Arc::strong_count(&memory), 2);
    drop(taken);
    assert_eq!(Arc::strong_count(&memory), 1);
}

#[test]
fn ours_becomes_theirs_by_the_older_struct() {
    let tensor = Tensor::from_vec((0..6_i32).collect(), &[6]).unwrap();
    let here = tensor.host_buffers().unwrap()[0].as_ptr();
    let out: Exported<DLManagedTensor> = tensor.try_into().unwrap();
    // SAFETY: both are DLPack's own struct.
    let mut taken = unsafe { legacy::Dlpack::from_raw(out.into_raw().cast()) }.unwrap();
    let mut view = taken.validate_mut().unwrap();
    // SAFETY: there are six, and nobody else has them.
    let values = unsafe { view.cpu_slice_mut::<i32>() }.unwrap();
    assert_eq!(values.as_ptr().cast(), here);
    values[0] = 7;
    // And back, read-only: the older struct does not say more.
    // SAFETY: both are DLPack's own struct.
    let foreign =
        unsafe { Foreign::from_raw(taken.into_raw().cast::<DLManagedTensor>(), Terms::default()) };
    let tensor = Tensor::try_from(foreign.unwrap()).unwrap();
    assert_eq!(tensor.host_buffers().unwrap()[0][..4], 7_i32.to_le_bytes());
    assert!(!tensor.buffers()[0].is_writable());
}
