//! One test for each public report about DLPack elsewhere, by its id.

use hurray_tensor::Copying;
use hurray_tensor::dlpack::raw::*;
use hurray_tensor::dlpack::*;
use hurray_tensor::format::{Descriptor, Dtype, Layout, Rule, Tiled};
use hurray_tensor::{Buffer, BufferMut, Tensor};

use crate::producer::*;

const V1_0: DLPackVersion = DLPackVersion { major: 1, minor: 0 };
const V1_2: DLPackVersion = DLPackVersion { major: 1, minor: 2 };
const V1_9: DLPackVersion = DLPackVersion { major: 1, minor: 9 };
const V2_0: DLPackVersion = DLPackVersion { major: 2, minor: 0 };

fn with(copying: Copying) -> Import<'static> {
    Import { copying, ..Import::default() }
}

fn exporting(copying: Copying) -> Export<'static> {
    Export { copying, ..Export::default() }
}

fn floats(tensor: &Tensor) -> Vec<f32> {
    elements(tensor).iter().map(|bytes| f32::from_le_bytes(bytes[..].try_into().unwrap())).collect()
}

#[test]
fn d02_no_elements_need_no_address() {
    for data in [0, 1, usize::MAX] {
        let data = std::ptr::without_provenance_mut(data);
        let empty = Producer::f32(&[0, 3], &[]).set(|p| p.data = Some(data));
        let tensor = empty.tensor_here().unwrap();
        assert_eq!(tensor.descriptor().shape(), [0, 3]);
        assert!(tensor.buffers()[0].is_empty());
        assert_eq!(empty.deleted.times(), 0);
        // And out again, with none.
        let out: Exported = (&tensor).try_into().unwrap();
        assert!(out.tensor().data.is_null());
        assert_eq!((out.tensor().byte_offset, out.shape()), (0, &[0, 3][..]));
        drop((tensor, out));
        assert_eq!(empty.deleted.times(), 1);
    }
}

#[test]
fn d02_without_elements_nothing_is_to_be_copied() {
    for (dtype, flags) in [(BOOL, 0), (DLDataType { code: 17, bits: 4, lanes: 1 }, 4)] {
        let empty = Producer::new(dtype, &[3, 0], &[]).set(|p| p.flags = flags);
        let tensor = empty.tensor_here().unwrap();
        let out: Exported = (&tensor).try_into().unwrap();
        assert_eq!((out.tensor().dtype, out.report().copied), (dtype, None));
        // There is nothing to write to either.
        assert!(Exported::<DLManagedTensor>::try_from(&tensor).is_ok());
    }
}

#[test]
fn d03_strides_may_be_left_out_before_1_2_only() {
    let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let without = Producer::f32(&[2, 3], &values).set(|p| p.strides = None);
    without.clone().set(|p| p.version = V1_2).is_refused(Rule::DlpackStridesNull);
    without.clone().set(|p| p.version = V1_9).is_refused(Rule::DlpackStridesNull);
    let before = without.deleted.times();
    let old = without.clone().set(|p| p.version = V1_0);
    for tensor in [old.tensor_here().unwrap(), without.legacy_tensor_here().unwrap()] {
        assert_eq!(*tensor.descriptor().layout(), Layout::RowMajor);
        assert_eq!(floats(&tensor), values);
        drop(tensor);
    }
    assert_eq!(without.deleted.times(), before + 2);
    // The header's words know no exception for a tensor without elements.
    let empty = Producer::f32(&[0, 3], &[]).set(|p| p.strides = None);
    empty.is_refused(Rule::DlpackStridesNull);
}

#[test]
fn d04_a_scalar_points_nowhere() {
    let scalar = Producer::f32(&[], &[7.5]).set(|p| (p.shape, p.strides) = (None, None));
    let tensor = scalar.tensor_here().unwrap();
    assert_eq!((tensor.descriptor().rank(), floats(&tensor)), (0, vec![7.5]));
    let out: Exported = (&tensor).try_into().unwrap();
    assert!(out.tensor().shape.is_null() && out.tensor().strides.is_null());
    assert_eq!((out.tensor().ndim, out.shape().len()), (0, 0));
    assert_eq!(out.tensor().data, scalar.data());
}

#[test]
fn d07_strides_are_handed_on_as_they_came() {
    let values: Vec<f32> = (0..32_u8).map(f32::from).collect();
    for strides in [[4, 4, 1], [4, 1000, 1], [4, -7, 1], [4, 0, 1], [4, i64::MIN, 1]] {
        let odd = Producer::f32(&[8, 1, 4], &values).strides(&strides);
        let tensor = odd.tensor_here().unwrap();
        assert_eq!(floats(&tensor), values);
        let out: Exported = tensor.try_into().unwrap();
        assert_eq!((out.shape(), out.strides()), (&[8, 1, 4][..], &strides[..]));
        assert_eq!(out.tensor().data, odd.data());
    }
}

#[test]
fn d09_transposes_and_columns_keep_their_values() {
    let values = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
    // A 2 x 3 matrix: transposed, its second column, upside down.
    let transposed = Producer::f32(&[3, 2], &values).strides(&[1, 3]);
    let tensor = transposed.tensor_here().unwrap();
    assert_eq!(*tensor.descriptor().layout(), Layout::ColumnMajor);
    assert_eq!(floats(&tensor), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    let column = Producer::f32(&[2], &values).strides(&[3]).set(|p| p.byte_offset = 4);
    assert_eq!(floats(&column.tensor_here().unwrap()), [1.0, 4.0]);
    let upside_down = Producer::f32(&[2, 3], &values).strides(&[-3, 1]).set(|p| p.byte_offset = 12);
    let tensor = upside_down.tensor_here().unwrap();
    assert_eq!(floats(&tensor), [3.0, 4.0, 5.0, 0.0, 1.0, 2.0]);
    assert_eq!(tensor.buffers()[0].region().host.cast(), upside_down.data());
    let out: Exported = tensor.try_into().unwrap();
    assert_eq!(out.tensor().data, upside_down.data().wrapping_byte_add(12));
}

#[test]
fn d11_misaligned_elements_are_refused_or_copied() {
    let bytes: Vec<u8> = (0..9).collect();
    let odd = Producer::new(F32, &[2], &bytes).set(|p| p.byte_offset = 1);
    odd.is_refused(Rule::DlpackMisaligned);
    let imported = odd.import(&with(Copying::WhenNeeded)).unwrap();
    assert_eq!(imported.report.copied, Some(Reason::Misaligned));
    assert_eq!(imported.report.copied_bytes, 8);
    // The producer is done with as soon as its bytes were read.
    assert_eq!(odd.deleted.times(), 3);
    let tensor = imported.tensor.acquire_host().unwrap();
    assert_eq!(tensor.host_buffers().unwrap()[0][..], bytes[1..]);
    assert!(tensor.buffers()[0].is_writable());
    // Bytes have no alignment.
    let odd = Producer::new(U8, &[2], &bytes).set(|p| p.byte_offset = 1);
    let tensor = odd.tensor_here().unwrap();
    assert_eq!(elements(&tensor), [[1], [2]]);
    assert_eq!(tensor.buffers()[0].lead(), 1);
}

#[test]
fn d13_the_older_struct_is_read_only_and_the_newer_stays_writable() {
    let shared = Producer::f32(&[2], &[1.0, 2.0]);
    // An array that its own library goes on writing to.
    let terms = Terms { others: Others::Write, stream: None };
    let tensor = shared.foreign_on(terms).and_then(Tensor::try_from).unwrap();
    assert!(tensor.buffers()[0].is_writable());
    let kept = tensor.clone();
    let out: Exported = tensor.try_into().unwrap();
    assert!(!out.is_read_only());
    drop((kept, out));
    // One that it gave away.
    let terms = Terms { others: Others::Nothing, stream: None };
    let tensor = shared.foreign_on(terms).and_then(Tensor::try_from).unwrap();
    let buffer = tensor.into_parts().1.next().unwrap();
    buffer.try_into_mut().unwrap()[0] = 9;

    // SAFETY: made for this.
    let older = unsafe { Foreign::from_raw(shared.legacy(), terms) };
    let tensor = older.and_then(Tensor::try_from).unwrap();
    assert!(!tensor.buffers()[0].is_writable());
    let out: Exported = tensor.try_into().unwrap();
    assert!(out.is_read_only());
    drop(out);
    assert_eq!(shared.deleted.times(), 3);
}

#[test]
fn d14_what_is_read_only_is_not_handed_to_who_cannot_be_told() {
    let tensor = Tensor::from_vec(vec![1_u8, 2], &[2]).unwrap();
    let refused = Export::default().share::<DLManagedTensor>(&tensor).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::DlpackReadOnly));
    assert!(Exported::<DLManagedTensor>::try_from(&tensor).is_err());
    // Not even a copy can be marked.
    let how = Export { marking: Marking::ReadOnly, ..exporting(Copying::Always) };
    let refused = how.share::<DLManagedTensor>(&tensor).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::DlpackReadOnly));
    // Given away whole, it may be written to.
    let here = tensor.host_buffers().unwrap()[0].as_ptr();
    let out: Exported<DLManagedTensor> = Export::default().give(tensor).unwrap();
    assert_eq!(out.tensor().data.cast_const().cast(), here);
    assert_eq!(out.report().copied, None);
}

#[test]
fn d15_read_only_in_and_the_older_struct_out_is_a_copy() {
    let read_only = Producer::f32(&[2], &[1.0, 2.0]).set(|p| p.flags = FLAG_READ_ONLY);
    let tensor = read_only.tensor_here().unwrap();
    let refused = Export::default().give::<DLManagedTensor>(tensor).unwrap_err();
    assert_eq!(refused.error.rule(), Some(Rule::DlpackReadOnly));
    let out: Exported<DLManagedTensor> =
        exporting(Copying::WhenNeeded).give(refused.value).unwrap();
    assert_eq!(read_only.deleted.times(), 1);
    assert_eq!((out.report().copied, out.report().copied_bytes), (Some(Reason::ReadOnly), 8));
    assert_ne!(out.tensor().data, read_only.data());
    // The newer one says that it is a copy.
    let tensor = read_only.tensor_here().unwrap();
    let how = Export { marking: Marking::Writable, ..exporting(Copying::WhenNeeded) };
    let out: Exported = how.share(&tensor).unwrap();
    assert_eq!(out.as_raw().flags, FLAG_IS_COPIED);
}

#[test]
fn d16_another_layout_is_refused_or_copied() {
    let tensor = Tensor::laid_out(
        Dtype::UInt8,
        &[4, 4],
        Layout::tiled(Tiled::blocks([2, 2])),
        0,
        BufferMut::from_vec((0..16_u8).collect()).unwrap().freeze(),
    )
    .unwrap();
    let refused = Export::default().share::<DLManagedTensorVersioned>(&tensor).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::DlpackLayout));
    let out: Exported = exporting(Copying::WhenNeeded).share(&tensor).unwrap();
    assert_eq!(out.report().copied, Some(Reason::Layout));
    let again = Tensor::try_from(Foreign::from(out)).unwrap();
    assert_eq!(elements(&again), elements(&tensor));
    assert_eq!(again.host_buffers().unwrap()[0][..8], [0, 1, 4, 5, 2, 3, 6, 7]);
}

#[test]
fn d17_the_last_share_is_dropped_on_any_thread() {
    let producer = Producer::f32(&[2], &[1.0, 2.0]);
    let tensor = producer.tensor_here().unwrap();
    std::thread::spawn(move || drop(tensor)).join().unwrap();
    assert_eq!(producer.deleted.times(), 1);
}

#[test]
fn d18_d27_types_without_a_counterpart_are_refused() {
    let bytes = [0; 64];
    for (code, bits) in [
        (3, 64),
        (2, 8),
        (2, 80),
        (4, 32),
        (4, 8),
        (0, 7),
        (0, 128),
        (1, 0),
        (1, 1),
        (5, 32),
        (5, 255),
        (6, 1),
        (6, 32),
        (7, 8),
        (8, 8),
        (9, 8),
        (11, 8),
        (13, 8),
        (15, 8),
        (16, 4),
        (17, 8),
        (18, 8),
        (255, 255),
    ] {
        let dtype = DLDataType { code, bits, lanes: 1 };
        Producer::new(dtype, &[2], &bytes).is_refused(Rule::DlpackType);
    }
    for lanes in [0, 2, 4, u16::MAX] {
        let dtype = DLDataType { lanes, ..F32 };
        Producer::new(dtype, &[2], &bytes).is_refused(Rule::DlpackLanes);
    }
}

#[test]
fn d19_what_was_taken_is_not_taken_twice() {
    let producer = Producer::f32(&[2], &[1.0, 2.0]);
    let mut capsule = producer.versioned();
    // SAFETY: made for this.
    let first = unsafe { Foreign::take(&mut capsule, Terms::default()) }.unwrap();
    assert!(capsule.is_null());
    // SAFETY: what is there now is null.
    let second = unsafe { Foreign::take(&mut capsule, Terms::default()) };
    assert_eq!(second.unwrap_err().rule(), Some(Rule::DlpackNull));
    assert_eq!(producer.deleted.times(), 0);
    drop(first);
    assert_eq!(producer.deleted.times(), 1);
}

#[test]
fn d21_nothing_of_the_struct_is_used_once_it_was_deleted() {
    // The producer's deleter fills its struct with nonsense and frees it: shape, layout and
    // memory of what was copied stand on their own.
    let producer = Producer::f32(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let imported = producer.import(&with(Copying::Always)).unwrap();
    assert_eq!(producer.deleted.times(), 1);
    let tensor = imported.tensor.acquire_host().unwrap();
    assert_eq!(tensor.descriptor(), &Descriptor::dense(Dtype::Float32, &[2, 2]).unwrap());
    assert_eq!(floats(&tensor), [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn d22_a_struct_without_a_deleter_is_borrowed() {
    let producer = Producer::f32(&[2], &[1.0, 2.0]).set(|p| p.has_deleter = false);
    let managed = producer.versioned();
    // SAFETY: made for this, and kept to the end of the test.
    let foreign = unsafe { Foreign::from_raw(managed, Terms::default()) }.unwrap();
    let tensor = Tensor::try_from(foreign).unwrap();
    assert_eq!(floats(&tensor), [1.0, 2.0]);
    drop(tensor);
    assert_eq!(producer.deleted.times(), 0);
    producer.free(managed);
    assert_eq!(producer.deleted.times(), 1);
}

#[test]
fn d23_another_major_version_is_refused_and_deleted() {
    for version in [V2_0, DLPackVersion { major: 0, minor: 8 }] {
        let other = Producer::f32(&[2], &[1.0, 2.0]).set(|p| {
            p.version = version;
            // Nothing else is looked at.
            (p.ndim, p.flags, p.shape, p.strides) = (-7, u64::MAX, None, None);
        });
        let refused = other.foreign().unwrap_err();
        assert_eq!(refused.rule(), Some(Rule::DlpackVersion));
        assert_eq!(other.deleted.times(), 1);
    }
    let later = Producer::f32(&[2], &[1.0, 2.0]).set(|p| p.version = V1_9);
    assert_eq!(floats(&later.tensor_here().unwrap()), [1.0, 2.0]);
}

#[test]
fn d33_what_others_write_to_is_no_slice() {
    let producer = Producer::f32(&[2], &[1.0, 2.0]);
    let terms = Terms { others: Others::Write, stream: None };
    let tensor = producer.foreign_on(terms).and_then(Tensor::try_from).unwrap();
    let refused = tensor.host_buffers().unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::MemoryMayChange));
    let refused = tensor.into_parts().1.next().unwrap().try_into_mut().unwrap_err();
    assert_eq!(refused.error.rule(), Some(Rule::MemoryMayChange));
    // A copy can be looked at.
    let imported = producer.foreign_on(terms).unwrap().import(&with(Copying::Always)).unwrap();
    let copy = imported.tensor.acquire_host().unwrap();
    assert_eq!(floats(&copy), [1.0, 2.0]);
}

#[test]
fn d34_an_export_keeps_what_its_memory_lies_in() {
    struct Mapping(Vec<u8>, Deleted);
    impl AsRef<[u8]> for Mapping {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    impl Drop for Mapping {
        fn drop(&mut self) {
            self.1.count();
        }
    }
    let closed = Deleted::default();
    let mapping = Buffer::from_owner(Mapping(vec![1, 2, 3], closed.clone())).unwrap();
    let tensor = Tensor::dense(Dtype::UInt8, &[3], mapping).unwrap();
    let out: Exported = Export::default().share(&tensor).unwrap();
    drop(tensor);
    assert_eq!(closed.times(), 0);
    // SAFETY: three bytes that the export keeps.
    let bytes = unsafe { std::slice::from_raw_parts(out.tensor().data.cast::<u8>(), 3) };
    assert_eq!(bytes, [1, 2, 3]);
    drop(out);
    assert_eq!(closed.times(), 1);
}

#[test]
fn d38_many_threads_hand_over_and_let_go() {
    let producer = Producer::f32(&[2], &[1.0, 2.0]);
    let tensor = producer.tensor_here().unwrap();
    let here = producer.data().addr();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..1000 {
                    let out: Exported = (&tensor).try_into().unwrap();
                    let again = Tensor::try_from(Foreign::from(out)).unwrap();
                    assert_eq!(again.buffers()[0].region().host.addr(), here);
                }
            });
        }
    });
    assert_eq!(producer.deleted.times(), 0);
    drop(tensor);
    assert_eq!(producer.deleted.times(), 1);
}
