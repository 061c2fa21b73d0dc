//! Structs that lie: each is refused by a rule, and let go of once.

use hurray_tensor::dlpack::raw::*;
use hurray_tensor::dlpack::*;
use hurray_tensor::format::Rule;

use crate::counting::most;
use crate::producer::*;

fn pair() -> Producer {
    Producer::f32(&[2], &[1.0, 2.0])
}

#[test]
fn null_is_no_managed_tensor() {
    // SAFETY: null is allowed.
    let refused = unsafe {
        Foreign::<DLManagedTensorVersioned>::from_raw(std::ptr::null_mut(), Terms::default())
    };
    assert_eq!(refused.unwrap_err().rule(), Some(Rule::DlpackNull));
    // SAFETY: null is allowed.
    let refused =
        unsafe { Foreign::<DLManagedTensor>::from_raw(std::ptr::null_mut(), Terms::default()) };
    assert_eq!(refused.unwrap_err().rule(), Some(Rule::DlpackNull));
}

#[test]
fn ranks() {
    for ndim in [-1, i32::MIN, 65, i32::MAX] {
        // No array of such a length is there: none is looked at.
        pair().set(|p| p.ndim = ndim).is_refused(Rule::DlpackRank);
    }
    let most_there_are = Producer::f32(&[1; 64], &[1.0]);
    assert_eq!(most_there_are.tensor_here().unwrap().descriptor().rank(), 64);
}

#[test]
fn shapes() {
    pair().set(|p| p.shape = None).is_refused(Rule::DlpackNull);
    for size in [-1, i64::MIN] {
        pair().set(|p| p.shape = Some(vec![size])).is_refused(Rule::DlpackShape);
        // Also where another size is 0.
        let shape = &[0, size];
        Producer::f32(&[0, 1], &[])
            .set(|p| p.shape = Some(shape.to_vec()))
            .is_refused(Rule::DlpackShape);
    }
}

#[test]
fn reaches_beyond_what_can_be_addressed() {
    let taken = most(|| {
        for (shape, strides) in [
            (&[i64::MAX][..], &[1][..]),
            (&[1 << 62], &[1]),
            (&[i64::MAX, i64::MAX], &[i64::MAX, 1]),
            (&[1 << 40, 1 << 40], &[1 << 40, 1]),
            (&[2], &[i64::MAX]),
            (&[2], &[i64::MIN]),
            (&[i64::MAX; 64], &[i64::MIN; 64]),
            (&[i64::MAX; 64], &[i64::MAX; 64]),
        ] {
            let far = Producer::new(F32, shape, &[0; 64]).strides(strides);
            far.is_refused_by_any(&[Rule::DlpackExtent, Rule::MemoryAddressBeyond]);
        }
        for shape in [&[i64::MAX, 2][..], &[1 << 40, 1 << 40], &[i64::MAX; 64]] {
            let far = Producer::new(F32, &[1], &[0; 64]).set(|p| {
                p.ndim = i32::try_from(shape.len()).unwrap();
                (p.shape, p.strides) = (Some(shape.to_vec()), None);
                p.version = DLPackVersion { major: 1, minor: 0 };
            });
            far.is_refused_by_any(&[Rule::DlpackExtent, Rule::MemoryAddressBeyond]);
        }
    });
    assert!(taken < 1 << 16, "{taken}");
    for byte_offset in [u64::MAX, u64::MAX - 3, u64::MAX - 63] {
        pair()
            .set(|p| p.byte_offset = byte_offset)
            .is_refused_by_any(&[Rule::DlpackExtent, Rule::MemoryAddressBeyond]);
    }
    // In front of the address space.
    pair()
        .strides(&[-1])
        .set(|p| p.data = Some(std::ptr::without_provenance_mut(4)))
        .is_refused(Rule::DlpackExtent);
    pair()
        .strides(&[-2])
        .set(|p| p.data = Some(std::ptr::without_provenance_mut(4)))
        .is_refused(Rule::DlpackExtent);
}

#[test]
fn a_broadcast_of_any_size_is_taken() {
    let wide = Producer::new(U8, &[i64::MAX, i64::MAX], &[7]).strides(&[0, 0]);
    let tensor = wide.tensor_here().unwrap();
    assert_eq!(tensor.buffers()[0].byte_size(), 1);
    assert_eq!(tensor.descriptor().element_count(), None);
    let out: Exported = (&tensor).try_into().unwrap();
    assert_eq!((out.shape(), out.strides()), (&[i64::MAX; 2][..], &[0, 0][..]));
}

#[test]
fn no_address() {
    let nowhere = pair().set(|p| p.data = Some(std::ptr::null_mut()));
    nowhere.is_refused(Rule::DlpackDataNull);
    nowhere.set(|p| p.byte_offset = 4096).is_refused(Rule::DlpackDataNull);
}

#[test]
fn flags_of_the_future() {
    for bit in 3..64 {
        pair().set(|p| p.flags = 1 << bit).is_refused(Rule::DlpackFlags);
    }
    let all = FLAG_READ_ONLY | FLAG_IS_COPIED | FLAG_SUBBYTE_PADDED;
    let tensor = pair().set(|p| p.flags = all).tensor_here().unwrap();
    assert!(!tensor.buffers()[0].is_writable());
}

#[test]
fn devices_of_nobody() {
    let known = [1, 2, 3, 4, 7, 8, 10, 11, 13, 14, 15, 16];
    let others = (-1..300).filter(|number| !known.contains(number));
    for device_type in others.chain([i32::MIN, i32::MAX]) {
        let device = DLDevice { device_type, device_id: 0 };
        pair().set(|p| p.device = device).is_refused(Rule::DlpackDevice);
    }
    for device_type in known {
        for device_id in [-1, i32::MIN] {
            let device = DLDevice { device_type, device_id };
            pair().set(|p| p.device = device).is_refused(Rule::DlpackDeviceId);
        }
    }
}
