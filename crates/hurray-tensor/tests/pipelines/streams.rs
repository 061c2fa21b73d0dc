//! Consumers that wait on streams.

use hurray_tensor::device::EventKind::{Binary, MultiWait, Timeline};
use hurray_tensor::device::Stream;
use hurray_tensor::device::simulated::{HOST_VISIBLE, PEER};
use hurray_tensor::format::{
    CompositeHead, Composition, Compressed, Descriptor, Dtype, Layout, MemoryClass, Rule, SyncMode,
};
use hurray_tensor::{Offered, Tensor};

use crate::scene::{LENGTH, Scene, each_wait_is_needed};

const STANDARD: MemoryClass = MemoryClass::STANDARD;

#[test]
fn a_stream_waits_for_an_event() {
    each_wait_is_needed(1, |scene| {
        let consumer = scene.stream(0);
        let offered = scene.offered(STANDARD, MultiWait);
        let ready = offered.acquire_on(&[&consumer]).unwrap();
        scene.see_on(&consumer, &ready);
    });
}

#[test]
fn several_streams_wait_for_an_event() {
    each_wait_is_needed(3, |scene| {
        let consumers = [0; 3].map(|ordinal| scene.stream(ordinal));
        let offered = scene.offered(STANDARD, MultiWait);
        let ready = offered.acquire_on(&consumers.each_ref()).unwrap();
        for consumer in &consumers {
            scene.see_on(consumer, &ready);
        }
    });
}

/// The event has one wait: the first stream has it, the others follow that stream.
#[test]
fn several_streams_share_the_one_wait_of_a_binary_event() {
    each_wait_is_needed(3, |scene| {
        let consumers = [0; 3].map(|ordinal| scene.stream(ordinal));
        let offered = scene.offered(STANDARD, Binary);
        let ready = offered.acquire_on(&consumers.each_ref()).unwrap();
        for consumer in &consumers {
            scene.see_on(consumer, &ready);
        }
    });
}

#[test]
fn several_streams_wait_for_a_value_of_a_timeline() {
    each_wait_is_needed(2, |scene| {
        let consumers = [0; 2].map(|ordinal| scene.stream(ordinal));
        // Earlier values, which are reached, are not what is waited for.
        let before = scene.stream(0);
        drop([before.record(Timeline).unwrap(), before.record(Timeline).unwrap()]);
        let offered = scene.offered(STANDARD, Timeline);
        let ready = offered.acquire_on(&consumers.each_ref()).unwrap();
        for consumer in &consumers {
            scene.see_on(consumer, &ready);
        }
    });
}

/// The producer orders the stream that the consumer declared; the consumer's other stream
/// follows that one.
#[test]
fn a_declared_stream_was_ordered() {
    each_wait_is_needed(2, |scene| {
        let [declared, other] = [0; 2].map(|ordinal| scene.stream(ordinal));
        let offered = scene.ready(STANDARD).offer_on(&scene.producer, &declared).unwrap();
        assert_eq!(offered.sync_mode(0), SyncMode::CONSUMER_STREAM);
        let ready = offered.acquire_on(&[&other, &declared]).unwrap();
        scene.see_on(&declared, &ready);
        scene.see_on(&other, &ready);
    });
}

#[test]
fn a_consumer_hands_on_what_it_made() {
    each_wait_is_needed(2, |scene| {
        let [first, second] = [0; 2].map(|ordinal| scene.stream(ordinal));
        let ready = scene.offered(STANDARD, MultiWait).acquire_on(&[&first]).unwrap();
        let copy = first.copy(&ready, scene.memory(0, STANDARD)).unwrap();
        let ready = copy.acquire_on(&[&second]).unwrap();
        scene.see_on(&second, &ready);
    });
}

#[test]
fn a_stream_of_another_device_waits_for_an_event() {
    each_wait_is_needed(1, |scene| {
        let consumer = scene.stream(1);
        let offered = scene.offered(PEER, MultiWait);
        let ready = offered.acquire_on(&[&consumer]).unwrap();
        scene.see_on(&consumer, &ready);
    });
}

#[test]
fn bytes_go_to_another_device_and_back() {
    each_wait_is_needed(2, |scene| {
        let [there, back] = [1, 0].map(|ordinal| scene.stream(ordinal));
        let ready = scene.offered(PEER, Binary).acquire_on(&[&there]).unwrap();
        let copy = there.copy(&ready, scene.memory(1, HOST_VISIBLE)).unwrap();
        let ready = copy.acquire_on(&[&back]).unwrap();
        scene.see_on(&back, &ready);
    });
}

#[test]
fn memory_of_one_device_alone_is_not_copied_by_another() {
    let scene = Scene::new();
    let consumer = scene.stream(1);
    let ready = scene.offered(STANDARD, MultiWait).acquire_on(&[&consumer]).unwrap();
    let refused = consumer.copy(&ready, scene.memory(1, STANDARD)).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::SyncDeviceMismatch));
}

/// The buffers of one tensor may be waited for in different ways.
#[test]
fn each_buffer_of_a_tensor_has_its_own_fence() {
    each_wait_is_needed(4, |scene| {
        let [declared, other] = [0; 2].map(|ordinal| scene.stream(ordinal));
        let stream = scene.ready(STANDARD).offer_on(&scene.producer, &declared).unwrap();
        let event = scene.ready_by(&scene.other_producer, STANDARD);
        let event = event.offer_after(&scene.other_producer, MultiWait).unwrap();
        let whole = Offered::synced(scene.memory(0, STANDARD).freeze());
        let handles = [&stream, &event, &whole].map(|offered| offered.handle().unwrap());
        assert!(handles.iter().all(|handle| handle.alignment() == 4096));
        let descriptor = Descriptor::builder(Dtype::Float32, &[3, 5])
            .layout(Layout::Csr(Compressed { nnz: 4 }))
            .buffers(handles)
            .build()
            .unwrap();
        let offered = Offered::of(descriptor, [stream, event, whole]).unwrap();
        let modes = [0, 1, 2].map(|place| offered.sync_mode(place));
        let expected = [SyncMode::CONSUMER_STREAM, SyncMode::EVENT, SyncMode::PRODUCER_SYNCED];
        assert_eq!(modes, expected);
        assert_eq!(offered.descriptor().shape(), [3, 5]);

        let ready = offered.acquire_on(&[&declared, &other]).unwrap();
        for buffer in &ready.buffers()[..2] {
            scene.see_on(&declared, buffer);
            scene.see_on(&other, buffer);
        }
    });
}

/// A composite is offered whole, with a fence for each buffer of each member.
#[test]
fn each_member_of_a_composite_has_its_own_fence() {
    each_wait_is_needed(2, |scene| {
        let consumer = scene.stream(0);
        let member = |producer: &Stream| {
            let offered = scene.ready_by(producer, STANDARD).offer_after(producer, MultiWait);
            Offered::dense(Dtype::UInt8, &[LENGTH], offered.unwrap()).unwrap()
        };
        let members = [&scene.producer, &scene.other_producer].map(member);
        let head = CompositeHead { composition: Composition::Group, member_count: 2 };
        let layout = Layout::Composite(head);
        let head = Descriptor::builder(Dtype::UInt8, &[LENGTH]).layout(layout).build().unwrap();
        let head = Offered::synced(Tensor::new(head, []).unwrap());
        let [first, second] = members;
        let offered = Offered::bind([head, first, second]).unwrap();
        let ready = offered.acquire_on(&[&consumer]).unwrap();
        let regions = ready.regions_on(&consumer).unwrap();
        assert_eq!(regions.len(), 2);
        for buffer in ready.buffers() {
            scene.see_on(&consumer, &buffer);
        }
    });
}
