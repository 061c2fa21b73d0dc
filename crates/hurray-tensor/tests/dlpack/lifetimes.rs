//! Who lets go of what, when: once, whatever happens.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use hurray_tensor::dlpack::raw::*;
use hurray_tensor::dlpack::*;
use hurray_tensor::format::{Descriptor, Dtype, Rule, Shard};
use hurray_tensor::{Buffer, BufferMut, Tensor};

use crate::producer::*;

/// A tensor whose memory counts how often it is let go of.
fn counted() -> (Tensor, Deleted) {
    struct Owner(Deleted);
    impl AsRef<[u8]> for Owner {
        fn as_ref(&self) -> &[u8] {
            &[1, 2, 3, 4]
        }
    }
    impl Drop for Owner {
        fn drop(&mut self) {
            self.0.count();
        }
    }
    let gone = Deleted::default();
    let buffer = Buffer::from_owner(Owner(gone.clone())).unwrap();
    (Tensor::dense(Dtype::UInt8, &[4], buffer).unwrap(), gone)
}

#[test]
fn an_export_that_nobody_takes_is_let_go_of() {
    let (tensor, gone) = counted();
    drop(Exported::<DLManagedTensorVersioned>::try_from(tensor).unwrap());
    assert_eq!(gone.times(), 1);
}

#[test]
fn a_consumer_lets_go_by_the_deleter() {
    let (tensor, gone) = counted();
    let out: Exported = tensor.try_into().unwrap();
    let managed = out.into_raw();
    assert_eq!(gone.times(), 0);
    std::thread::scope(|scope| {
        let managed = AssertSend(managed);
        scope.spawn(move || {
            let managed = managed;
            // SAFETY: the struct is this thread's to read.
            let deleter = unsafe { *managed.0 }.deleter.unwrap();
            // SAFETY: and to delete, once.
            unsafe { deleter(managed.0) }
        });
    });
    assert_eq!(gone.times(), 1);
}

struct AssertSend(*mut DLManagedTensorVersioned);
// SAFETY: whoever has the struct may delete it on any thread.
unsafe impl Send for AssertSend {}

#[test]
fn our_deleters_take_null() {
    let (tensor, gone) = counted();
    let out: Exported = tensor.try_into().unwrap();
    // SAFETY: null is nothing to delete.
    unsafe { out.as_raw().deleter.unwrap()(std::ptr::null_mut()) }
    assert_eq!(gone.times(), 0);
}

#[test]
fn what_was_taken_over_is_let_go_of_with_its_last_share() {
    let producer = Producer::f32(&[4, 4], &[0.5; 16]);
    let tensor = producer.tensor_here().unwrap();
    let clone = tensor.clone();
    let buffer = clone.buffers()[0].slice(0..4).unwrap();
    drop(tensor);
    drop(clone);
    assert_eq!(producer.deleted.times(), 0);
    drop(buffer);
    assert_eq!(producer.deleted.times(), 1);
}

#[test]
fn what_was_never_imported_is_let_go_of() {
    let producer = Producer::f32(&[1], &[0.5]);
    drop(producer.foreign().unwrap());
    assert_eq!(producer.deleted.times(), 1);
    // Handed on, it is somebody else's.
    let managed = producer.foreign().unwrap().into_raw();
    assert_eq!(producer.deleted.times(), 1);
    // SAFETY: taken over from ourselves.
    drop(unsafe { Foreign::from_raw(managed, Terms::default()) });
    assert_eq!(producer.deleted.times(), 2);
}

#[test]
fn a_consumer_that_panics_lets_go() {
    let producer = Producer::f32(&[1], &[0.5]);
    for after_import in [false, true] {
        let before = producer.deleted.times();
        let panics = || {
            let foreign = producer.foreign().unwrap();
            let held = after_import.then(|| Tensor::try_from(producer.foreign().unwrap()));
            std::panic::resume_unwind(Box::new((foreign, held).1.is_some()));
        };
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        assert_eq!(producer.deleted.times(), before + 1 + usize::from(after_import));
    }
}

#[test]
fn an_owner_that_panics_does_so_behind_the_deleter() {
    struct Owner;
    impl AsRef<[u8]> for Owner {
        fn as_ref(&self) -> &[u8] {
            &[1]
        }
    }
    impl Drop for Owner {
        fn drop(&mut self) {
            std::panic::resume_unwind(Box::new("an owner's own"));
        }
    }
    let buffer = Buffer::from_owner(Owner).unwrap();
    let tensor = Tensor::dense(Dtype::UInt8, &[1], buffer).unwrap();
    let out: Exported = tensor.try_into().unwrap();
    drop(out);
}

#[test]
fn handing_over_what_was_taken_over_is_a_chain() {
    let producer = Producer::f32(&[2], &[1.0, 2.0]);
    let mut tensor = producer.tensor_here().unwrap();
    for _ in 0..10 {
        let out: Exported = tensor.try_into().unwrap();
        assert_eq!(out.tensor().data, producer.data());
        tensor = Foreign::from(out).try_into().unwrap();
    }
    assert_eq!(producer.deleted.times(), 0);
    drop(tensor);
    assert_eq!(producer.deleted.times(), 1);
}

#[test]
fn what_is_refused_comes_back() {
    let packed = BufferMut::copy_of(&[1]).unwrap().freeze();
    let mask = Tensor::dense(Dtype::Bool, &[5], packed).unwrap();
    let here = mask.host_buffers().unwrap()[0].as_ptr();
    let refused = Export::default().give::<DLManagedTensorVersioned>(mask).unwrap_err();
    assert_eq!(refused.error.rule(), Some(Rule::DlpackBool));
    let buffer = refused.value.into_parts().1.next().unwrap();
    // Still the only share in it.
    assert_eq!(buffer.try_into_mut().unwrap().as_ptr(), here);
}

#[test]
fn the_only_holder_gives_what_may_be_written_to() {
    let read_only = |out: Exported| out.is_read_only();
    let own = || Tensor::from_vec(vec![1_u8, 2], &[2]).unwrap();
    assert!(!read_only(own().try_into().unwrap()));
    let kept = own();
    assert!(read_only((&kept).try_into().unwrap()));
    assert!(read_only(kept.clone().try_into().unwrap()));
    let constant = Tensor::dense(
        Dtype::UInt8,
        &[2],
        Buffer::from_arc::<u8, _>(Arc::new(vec![1_u8, 2])).unwrap(),
    );
    assert!(read_only(constant.unwrap().try_into().unwrap()));

    let marked = Export { marking: Marking::ReadOnly, ..Export::default() };
    assert!(read_only(marked.give(own()).unwrap()));
    let writable = Export { marking: Marking::Writable, ..Export::default() };
    assert!(!read_only(writable.give(own()).unwrap()));
    let refused = writable.share::<DLManagedTensorVersioned>(&kept).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::MemoryShared));
    // Once it comes back, it is the only holder's again.
    let out: Exported = kept.try_into().unwrap();
    let back = Tensor::try_from(Foreign::from(out)).unwrap();
    assert!(back.into_parts().1.next().unwrap().try_into_mut().is_ok());
}

#[test]
fn what_dlpack_leaves_behind_is_told() {
    let descriptor = Descriptor::builder(Dtype::UInt8, &[2]).shard(Shard::new(&[4], &[2])).build();
    let buffer = BufferMut::copy_of(&[1, 2]).unwrap().freeze();
    let tensor = Tensor::new(descriptor.unwrap(), [buffer]).unwrap();
    let out: Exported = Export::default().share(&tensor).unwrap();
    let omitted = out.report().omitted;
    assert!(omitted.shard && !omitted.statistics && !omitted.member_role);
}
