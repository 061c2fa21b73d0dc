//! Consumers that wait on the host, and copies to and from it.

use hurray_tensor::device::EventKind::{Binary, MultiWait, Timeline};
use hurray_tensor::device::simulated::HOST_VISIBLE;
use hurray_tensor::format::{DeviceTag, MemoryClass, Rule};
use hurray_tensor::{BufferMut, Ready};

use crate::scene::{LENGTH, Scene, Seen, each_wait_is_needed};

const STANDARD: MemoryClass = MemoryClass::STANDARD;

#[test]
fn the_host_waits_for_an_event_of_each_kind() {
    each_wait_is_needed(1, |scene| {
        let offered = scene.offered(HOST_VISIBLE, MultiWait);
        scene.see_on_host(offered);
    });
    each_wait_is_needed(1, |scene| {
        let offered = scene.offered(HOST_VISIBLE, Binary);
        scene.see_on_host(offered);
    });
    each_wait_is_needed(1, |scene| {
        let offered = scene.offered(HOST_VISIBLE, Timeline);
        scene.see_on_host(offered);
    });
}

/// The producer ordered a stream of the consumer's; on the host that stream is waited for.
#[test]
fn the_host_waits_for_a_declared_stream() {
    each_wait_is_needed(2, |scene| {
        let declared = scene.stream(0);
        let offered = scene.ready(HOST_VISIBLE).offer_on(&scene.producer, &declared).unwrap();
        scene.see_on_host(offered);
    });
}

#[test]
fn device_memory_is_copied_to_the_host() {
    each_wait_is_needed(2, |scene| {
        let consumer = scene.stream(0);
        let ready = scene.offered(STANDARD, MultiWait).acquire_on(&[&consumer]).unwrap();
        let host = BufferMut::zeroed(5000).unwrap();
        let copy = consumer.copy(&ready, host.into()).unwrap();
        assert_eq!(copy.device(), DeviceTag::CPU);
        scene.see_on_host(copy);
    });
}

#[test]
fn host_memory_is_copied_to_a_device() {
    // By a stream that waits for whoever fills the host's memory.
    each_wait_is_needed(1, |scene| {
        let consumer = scene.stream(1);
        let offered = scene.offered(HOST_VISIBLE, MultiWait);
        let ready = offered.acquire_on(&[&consumer]).unwrap();
        scene.see_on(&consumer, &ready);
    });
    // By a host that has waited.
    each_wait_is_needed(1, |scene| {
        let consumer = scene.stream(1);
        let offered = scene.offered(HOST_VISIBLE, MultiWait);
        let memory = scene.memory(1, STANDARD);
        scene.see(move || {
            let address = memory.region().address;
            let seen = Ready::everywhere(offered.acquire_host().unwrap().into_buffer());
            let copy = consumer.copy(&seen, memory).unwrap();
            Seen::Memory(address, Box::new((copy, consumer)))
        });
    });
}

#[test]
fn the_host_waits_for_what_streams_do() {
    each_wait_is_needed(2, |scene| {
        let consumer = scene.stream(0);
        let ready = scene.offered(STANDARD, Binary).acquire_on(&[&consumer]).unwrap();
        let memory = scene.memory(0, HOST_VISIBLE);
        let address = memory.region().address;
        let copy = consumer.copy(&ready, memory).unwrap();
        let machine = scene.machine.clone();
        scene.see(move || {
            let source = ready.finish().unwrap();
            let seen = machine.peek(address, LENGTH).unwrap();
            drop((source, copy));
            Seen::Bytes(seen)
        });
    });
}

/// What the host may not look at is refused before anything is waited for: the producer is
/// still held.
#[test]
fn the_host_does_not_wait_for_what_it_may_not_see() {
    let scene = Scene::new();
    let offered = scene.offered(STANDARD, MultiWait);
    assert_eq!(offered.byte_size(), LENGTH);
    assert_eq!(offered.check_host().unwrap_err().rule(), Some(Rule::MemoryNotHost));
    let refused = offered.acquire_host().unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::MemoryNotHost));
    let offered = scene.offered(HOST_VISIBLE, MultiWait);
    offered.check_host().unwrap();
}
