//! C and C++ produce, Rust consumes.

#![allow(unsafe_code, reason = "structs of others are taken")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use hurray_tensor::device::{Devices, Stream};
use hurray_tensor::exchange::{Exported, Foreign};
use hurray_tensor::format::{Accept, Array, Dtype, Rule, SyncMode};
use hurray_tensor::{Offered, Tensor};

use crate::device::TestDevice;
use crate::library::*;

fn both() -> [fn() -> InUse; 2] {
    [in_c, in_cpp]
}

fn offered(side: &InUse, which: u32, devices: &Devices) -> Offered<Tensor> {
    side.take(which).into_offered(&Accept::default(), devices).unwrap()
}

fn floats(tensor: &Tensor) -> Vec<f32> {
    let bytes = tensor.buffers()[0].host_bytes().unwrap();
    bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

fn twelve() -> Vec<f32> {
    (0_u8..12).map(f32::from).collect()
}

#[test]
fn synced_memory_is_used_where_it_is() {
    for side in both() {
        let side = side();
        let mut raw = side.make(SYNCED);
        let address = first_buffer(&raw).host.cast_const().cast();
        // SAFETY: made by the rules.
        let foreign = unsafe { Foreign::take(&raw mut raw) }.unwrap();
        let seen = foreign.look(&Accept::default()).unwrap();
        assert_eq!((seen.dtype(), seen.shape().at(1)), (Dtype::Float32, Some(4)));
        let offered = foreign.into_offered(&Accept::default(), &Devices::default()).unwrap();
        let tensor = offered.acquire_host().unwrap();
        assert_eq!(tensor.buffers()[0].host_bytes().unwrap().as_ptr(), address);
        assert!(!tensor.buffers()[0].is_writable());
        assert_eq!(floats(&tensor), twelve());
        let other = tensor.clone();
        drop(tensor);
        assert_eq!(side.counts().buffers, 0);
        drop(other);
        side.expect_released(1, 0);
    }
}

#[test]
fn each_kind_of_event_is_waited_for_and_released_before_the_memory() {
    for side in both() {
        for which in [MULTI_WAIT, TIMELINE, BINARY] {
            let side = side();
            let device = TestDevice::new(Some(side.wait));
            let mut raw = side.make(which);
            side.signal(&raw);
            // SAFETY: made by the rules.
            let foreign = unsafe { Foreign::take(&raw mut raw) }.unwrap();
            let offered = foreign.into_offered(&Accept::default(), &device.at_hand()).unwrap();
            assert_eq!(offered.sync_mode(0), SyncMode::EVENT);
            let tensor = offered.acquire_host().unwrap();
            assert_eq!(floats(&tensor), twelve());
            let counts = side.counts();
            assert_eq!((counts.waits, counts.events, counts.buffers), (1, 1, 0));
            drop(tensor);
            side.expect_released(1, 1);
        }
    }
}

#[test]
fn streams_wait_for_events_and_the_host_does_not() {
    for (which, waits) in [(MULTI_WAIT, 2), (TIMELINE, 2), (BINARY, 1)] {
        let side = in_c();
        let device = TestDevice::new(Some(side.wait));
        let mut raw = side.make(which);
        side.signal(&raw);
        // SAFETY: made by the rules.
        let foreign = unsafe { Foreign::take(&raw mut raw) }.unwrap();
        let offered = foreign.into_offered(&Accept::default(), &device.at_hand()).unwrap();
        let device: Arc<dyn hurray_tensor::device::Device> = device;
        let one = Stream::open(&device).unwrap();
        // SAFETY: a test's driver has every stream open.
        let other = unsafe { Stream::adopt(device, 8) };
        let ready = offered.acquire_on(&[&one, &other]).unwrap();
        let counts = side.counts();
        // The second stream is ordered after the first by an event of the device's own, where
        // the producer's allows one wait.
        assert_eq!((counts.waits >= waits, counts.events, counts.buffers), (true, 1, 0));
        assert_eq!(ready.regions_on(&one).unwrap().len(), 1);
        drop(ready);
        side.expect_released(1, 1);
    }
}

#[test]
fn the_ordered_stream_is_used_without_waiting() {
    for side in both() {
        let side = side();
        let device = TestDevice::new(Some(side.wait));
        let offered = offered(&side, STREAM, &device.at_hand());
        assert_eq!(offered.sync_mode(0), SyncMode::CONSUMER_STREAM);
        // SAFETY: a test's driver has every stream open.
        let stream = unsafe { Stream::adopt(device, ORDERED_STREAM) };
        drop(offered.acquire_on(&[&stream]).unwrap());
        assert_eq!(side.counts().waits, 0);
        side.expect_released(1, 0);
    }
}

#[test]
fn what_nobody_can_wait_for_is_refused_when_it_is_waited_for() {
    for which in [MULTI_WAIT, STREAM] {
        let side = in_c();
        let offered = offered(&side, which, &Devices::default());
        let refused = offered.acquire_host().unwrap_err();
        assert_eq!(refused.rule(), Some(Rule::SyncDeviceUnknown));
        side.expect_released(1, u64::from(which == MULTI_WAIT));
    }
}

#[test]
fn an_offer_that_is_dropped_releases_all_of_it() {
    for side in both() {
        for (which, events) in [(SYNCED, 0), (MULTI_WAIT, 1), (BINARY, 1), (STREAM, 0)] {
            let side = side();
            let device = TestDevice::new(Some(side.wait));
            drop(offered(&side, which, &device.at_hand()));
            assert_eq!(side.counts().waits, 0);
            side.expect_released(1, events);
        }
    }
}

#[test]
fn buffers_of_one_tensor_are_held_apart() {
    let side = in_c();
    let tensor = offered(&side, QUANTIZED, &Devices::default()).acquire_host().unwrap();
    let (descriptor, mut buffers) = tensor.into_parts();
    assert_eq!(descriptor.dtype(), Dtype::Int4);
    let (data, scales) = (buffers.next().unwrap(), buffers.next().unwrap());
    // The rest of the tensor was released when its buffers were moved out.
    assert_eq!((side.counts().tensors, side.counts().buffers), (1, 0));
    drop(data);
    assert_eq!(side.counts().buffers, 1);
    assert_eq!(scales.host_bytes().unwrap()[20..], 6.0_f32.to_le_bytes());
    assert!(!scales.is_writable());
    drop(scales);
    side.expect_released(2, 0);
}

#[test]
fn an_empty_tensor_is_nowhere() {
    let side = in_c();
    let tensor = offered(&side, EMPTY, &Devices::default()).acquire_host().unwrap();
    assert_eq!(tensor.buffers()[0].host_bytes().unwrap(), [0; 0]);
    drop(tensor);
    side.expect_released(1, 0);
}

#[test]
fn composites_come_with_their_members() {
    let side = in_c();
    let (accept, devices) = (Accept::default(), Devices::default());
    let composite = side.take(COMPOSITE).into_composite(&accept, &devices).unwrap();
    let composite = composite.acquire_host().unwrap();
    let lower = composite.members()[1].item.clone();
    drop(composite);
    assert_eq!(floats(&lower), [4.0, 5.0, 6.0, 7.0]);
    // A member holds its own memory, and none of the others.
    assert_eq!((side.counts().tensors, side.counts().buffers), (2, 1));
    drop(lower);
    side.expect_released(2, 0);

    let nested = side.take(NESTED).into_composite(&accept, &devices).unwrap();
    let nested = nested.acquire_host().unwrap();
    assert_eq!(nested.members()[0].members.len(), 2);
    assert_eq!(nested.members()[1].item.descriptor().dtype(), Dtype::Int4);
    drop(nested);
    side.expect_released(6, 0);

    // A plain tensor is a composite without members; a composite is no plain tensor.
    drop(side.take(SYNCED).into_composite(&accept, &devices).unwrap());
    side.expect_released(7, 0);
    let refused = side.take(COMPOSITE).into_offered(&accept, &devices).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::ExchangeComposite));
    side.expect_released(9, 0);
}

#[test]
fn a_consumer_that_panics_releases() {
    let side = in_c();
    let device = TestDevice::new(Some(side.wait));
    let tensor = offered(&side, SYNCED, &Devices::default()).acquire_host().unwrap();
    let waiting = offered(&side, MULTI_WAIT, &device.at_hand());
    let panicked = catch_unwind(AssertUnwindSafe(move || {
        let _held = (tensor, waiting);
        panic!("a consumer's bug");
    }));
    assert!(panicked.is_err());
    side.expect_released(2, 1);
}

#[test]
fn any_thread_releases() {
    let side = in_c();
    let device = TestDevice::new(Some(side.wait));
    let tensor = offered(&side, SYNCED, &Devices::default()).acquire_host().unwrap();
    let (waiting, untouched) = (offered(&side, BINARY, &device.at_hand()), side.take(QUANTIZED));
    std::thread::scope(|scope| {
        scope.spawn(move || drop(tensor));
        scope.spawn(move || drop(waiting));
        scope.spawn(move || drop(untouched));
    });
    side.expect_released(4, 1);
}

#[test]
fn what_is_consumed_twice_is_refused_the_second_time() {
    let side = in_c();
    let mut raw = side.make(SYNCED);
    // SAFETY: made by the rules.
    let first = unsafe { Foreign::take(&raw mut raw) }.unwrap();
    // SAFETY: a struct that is released, as the header calls it.
    let second = unsafe { Foreign::take(&raw mut raw) }.unwrap_err();
    assert_eq!(second.rule(), Some(Rule::ExchangeReleased));
    assert_eq!(side.counts().tensors, 0);
    drop(first);
    side.expect_released(1, 0);
}

#[test]
fn what_is_never_consumed_is_released_by_its_holder() {
    let side = in_c();
    let mut raw = side.make(BINARY);
    release(&mut raw);
    assert!(raw.release.is_none());
    side.expect_released(1, 1);
}

#[test]
fn a_type_or_shape_that_is_not_liked_is_released() {
    let side = in_c();
    for which in [SYNCED, QUANTIZED] {
        let foreign = side.take(which);
        let seen = foreign.look(&Accept::default()).unwrap();
        let liked = seen.dtype() == Dtype::Float64 || seen.shape().len() == 3;
        assert!(!liked);
        drop(foreign);
    }
    side.expect_released(3, 0);
}

#[test]
fn what_was_imported_is_exported_again() {
    for side in both() {
        for (which, events) in [(SYNCED, 0), (TIMELINE, 1), (STREAM, 0)] {
            let side = side();
            let device = TestDevice::new(Some(side.wait));
            let mut raw = side.make(which);
            if events > 0 {
                side.signal(&raw);
            }
            let address = first_buffer(&raw).host;
            // SAFETY: made by the rules.
            let foreign = unsafe { Foreign::take(&raw mut raw) }.unwrap();
            let offered = foreign.into_offered(&Accept::default(), &device.at_hand()).unwrap();
            let exported = Exported::offer(offered).unwrap();
            assert_eq!(exported.buffers().next().unwrap().host, address);
            let mut again = exported.into_raw();
            let mut sum = 0.0;
            // SAFETY: a tensor by the rules, and a place for the sum.
            let status = unsafe {
                (side.consume[0])(&raw mut again, side.wait, ORDERED_STREAM, &raw mut sum)
            };
            assert_eq!((status, sum), (0, 66.0), "{which}");
            side.expect_released(1, events);
        }
    }
}

#[test]
fn a_larger_struct_is_accepted_and_another_version_is_not() {
    let side = in_c();
    let take = |change: fn(&mut Raw)| {
        let mut raw = side.make(SYNCED);
        change(&mut raw);
        // SAFETY: made by the rules, but for what the test changed.
        let taken = unsafe { Foreign::take(&raw mut raw) };
        assert!(raw.release.is_none());
        taken.and_then(|it| it.into_offered(&Accept::default(), &Devices::default()))
    };
    drop(take(|raw| raw.struct_size += 8).unwrap());
    drop(take(|raw| first_buffer(raw).struct_size += 800).unwrap());
    for (change, rule) in [
        ((|raw| raw.abi_version = 2) as fn(&mut Raw), Rule::ExchangeVersion),
        (|raw| raw.abi_version = 0, Rule::ExchangeVersion),
        (|raw| raw.struct_size -= 1, Rule::ExchangeStructSize),
        (|raw| raw.struct_size = 24, Rule::ExchangeStructSize),
        (|raw| first_buffer(raw).abi_version = 2, Rule::ExchangeVersion),
        (|raw| first_buffer(raw).struct_size -= 8, Rule::ExchangeStructSize),
    ] {
        assert_eq!(take(change).unwrap_err().rule(), Some(rule));
    }
    side.expect_released(8, 0);
}
