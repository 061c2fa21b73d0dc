//! Memory lives until work that uses it is done; events and memory are released once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use hurray_tensor::device::simulated::{Act, Call, HOST_VISIBLE, Machine, Verdict};
use hurray_tensor::device::{Event, EventKind, RawEvent, Stream};
use hurray_tensor::format::{MemoryClass, Rule};
use hurray_tensor::{Buffer, Fence, Offered, Ready, Region};

use crate::scene::{LENGTH, Scene, WATCHDOG, assert_all_released};

const STANDARD: MemoryClass = MemoryClass::STANDARD;

/// Steps queue work behind the gates, drop all they have, and say how many bytes the work uses.
/// With every hold the memory is there until the work is done; without one of them,
/// memory is released under work.
fn each_hold_is_needed(holds: usize, steps: fn(&Scene) -> u64) {
    let faults = |skipped, first| {
        let (made, faults) = run(skipped, first, steps);
        assert_eq!(made, holds, "another number of holds");
        faults
    };
    for first in [0, 1] {
        assert_eq!(faults(None, first), [""; 0]);
    }
    for skipped in 0..holds {
        let seen = [0, 1].map(|first| faults(Some(skipped), first)).concat();
        let expected = "memory was released while work used it";
        assert!(seen.contains(&expected), "nothing depends on the hold {skipped}");
    }
}

fn run(
    skipped: Option<usize>,
    first: usize,
    steps: fn(&Scene) -> u64,
) -> (usize, Vec<&'static str>) {
    let scene = Scene::new();
    let count = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&count);
    let judge = move |call: &Call| {
        if call.act != Act::Call {
            return Verdict::Proceed;
        }
        let mut count = counted.lock().unwrap();
        *count += 1;
        if Some(*count - 1) == skipped { Verdict::SkipWait } else { Verdict::Proceed }
    };
    // SAFETY: the host looks at no memory.
    unsafe { scene.machine.interfere(judge) };
    let held = steps(&scene);
    if skipped.is_none() {
        assert!(scene.machine.settle(WATCHDOG).is_some());
        assert_eq!(scene.machine.memory_held(), held, "released before the work is done");
    }
    for gate in [first, 1 - first] {
        scene.gates[gate].open().unwrap();
        assert!(scene.machine.settle(WATCHDOG).is_some());
    }
    assert!(scene.machine.settle(WATCHDOG).unwrap().is_nobody());
    assert_eq!(scene.machine.memory_held(), 0, "never released");
    let faults = scene.machine.faults();
    let made = *count.lock().unwrap();
    (made, faults)
}

#[test]
fn a_copy_holds_both_of_its_ends() {
    each_hold_is_needed(2, |scene| {
        let source = scene.memory(0, STANDARD).freeze();
        let target = scene.memory(0, STANDARD);
        let offered = scene.producer.copy(&Ready::everywhere(source), target).unwrap();
        drop(offered);
        2 * LENGTH
    });
}

/// Work that the consumer queued by the driver's own calls, on memory that it then forgot.
fn copy_by_hand(stream: &Stream, from: &Ready<Buffer>, to: &Region) {
    for from in from.regions_on(stream).unwrap() {
        // SAFETY: the stream is open; the source is held by what is ready, and the target by
        // the scene's machine for as long as the test needs.
        unsafe { stream.device().copy(stream.handle(), &from, to) }.unwrap();
    }
}

#[test]
fn what_is_ready_is_held_on_each_of_its_streams() {
    each_hold_is_needed(3, |scene| {
        let memory = scene.memory(0, HOST_VISIBLE).freeze();
        let target = scene.memory(0, STANDARD);
        let streams = [&scene.producer, &scene.other_producer];
        let ready = Offered::synced(memory).acquire_on(&streams).unwrap();
        for stream in streams {
            copy_by_hand(stream, &ready, &target.region());
        }
        drop(ready);
        // The target is somebody's who waits for both.
        scene.other_producer.order_before(&[&scene.producer]).unwrap();
        scene.producer.hold(target).unwrap();
        2 * LENGTH
    });
}

/// Work that was queued before the rest of it failed, or before a panic, has its memory.
#[test]
fn what_is_produced_half_way_is_held() {
    each_hold_is_needed(2, |scene| {
        let source = scene.memory(0, STANDARD).freeze();
        let target = scene.memory(0, STANDARD);
        let work = |to: &Region| {
            let ready = Offered::synced(source).acquire_on(&[&scene.producer])?;
            copy_by_hand(&scene.producer, &ready, to);
            Err(ready.regions_on(&scene.other_producer).unwrap_err())
        };
        // SAFETY: the work is a copy inside the target, of a source that is held.
        let refused = unsafe { scene.producer.produce(target, work) }.unwrap_err();
        assert_eq!(refused.rule(), Some(Rule::SyncNotReady));
        2 * LENGTH
    });
    each_hold_is_needed(2, |scene| {
        let source = scene.memory(0, STANDARD).freeze();
        let target = scene.memory(0, STANDARD);
        let work = |to: &Region| {
            let ready = Offered::synced(source).acquire_on(&[&scene.producer])?;
            copy_by_hand(&scene.producer, &ready, to);
            std::panic::resume_unwind(Box::new("on purpose"))
        };
        // SAFETY: as above.
        let produce = || unsafe { scene.producer.produce(target, work) };
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(produce));
        drop(panicked.unwrap_err());
        2 * LENGTH
    });
}

/// A buffer and an event that count how often they are released.
struct Counted {
    machine: Machine,
    memory: Arc<AtomicUsize>,
    event: Arc<AtomicUsize>,
}

impl Counted {
    fn releases(&self) -> [usize; 2] {
        [&self.memory, &self.event].map(|count| count.load(Ordering::SeqCst))
    }
}

/// An offer of a foreign library's, in another driver's terms: both come with callbacks.
fn offered(scene: &Scene, class: MemoryClass) -> (Offered<Buffer>, Counted) {
    let machine = scene.machine.clone();
    let counted = Counted { machine, memory: Arc::default(), event: Arc::default() };
    let device = scene.machine.device(0).unwrap();
    let original = scene.memory(0, class).freeze();
    let region = original.region();
    let count = Arc::clone(&counted.memory);
    let release = move || {
        drop(original);
        count.fetch_add(1, Ordering::SeqCst);
    };
    // SAFETY: the region is what `original` holds, until it is released.
    let buffer = unsafe { device.adopt(region, Box::new(release)) }.unwrap();
    let original = scene.producer.record(EventKind::Binary).unwrap();
    let raw = original.raw();
    let count = Arc::clone(&counted.event);
    let release = move || {
        drop(original);
        count.fetch_add(1, Ordering::SeqCst);
    };
    let tag = device.identity().tag;
    // SAFETY: the event is open until it is released.
    let event = unsafe { Event::borrow_until(release, tag, Some(device), raw) };
    (Offered::after(buffer, event), counted)
}

/// Whatever becomes of an offer, its event and its memory are released once each.
#[test]
fn an_offer_is_released_once_whatever_becomes_of_it() {
    type Fate = fn(&Scene, Offered<Buffer>);
    let fates: [(&str, MemoryClass, Fate); 8] = [
        ("dropped", STANDARD, |_, offered| drop(offered)),
        ("dropped on another thread", STANDARD, |_, offered| {
            std::thread::spawn(move || drop(offered)).join().unwrap();
        }),
        ("refused by the host", STANDARD, |_, offered| {
            assert_eq!(offered.acquire_host().unwrap_err().rule(), Some(Rule::MemoryNotHost));
        }),
        ("acquired on no stream", STANDARD, |_, offered| {
            assert_eq!(offered.acquire_on(&[]).unwrap_err().rule(), Some(Rule::SyncNoStream));
        }),
        ("refused for a stream of the CPU", STANDARD, |scene, offered| {
            let devices = scene.machine.devices();
            let cpu = Stream::open(devices.iter().next().unwrap()).unwrap();
            let refused = offered.acquire_on(&[&cpu, &scene.producer]).unwrap_err();
            assert_eq!(refused.rule(), Some(Rule::SyncDeviceMismatch));
        }),
        ("lost in a panic", STANDARD, |_, offered| {
            let consumer = move || {
                let _offered = offered;
                std::panic::resume_unwind(Box::new("on purpose"));
            };
            std::thread::spawn(consumer).join().unwrap_err();
        }),
        ("acquired on a stream", STANDARD, |scene, offered| {
            let consumer = scene.stream(0);
            drop(offered.acquire_on(&[&consumer, &scene.producer]).unwrap());
        }),
        ("acquired on the host", HOST_VISIBLE, |scene, offered| {
            scene.gates[0].open().unwrap();
            drop(offered.acquire_host().unwrap());
        }),
    ];
    for (name, class, fate) in fates {
        let scene = Scene::new();
        let (offered, counted) = offered(&scene, class);
        assert_eq!(counted.releases(), [0, 0], "{name}");
        fate(&scene, offered);
        let [memory, event] = counted.releases();
        assert_eq!(event, 1, "{name}: the event");
        let is_used = name == "acquired on a stream";
        assert_eq!(memory, usize::from(!is_used), "{name}: the memory");
        scene.gates[0].open().unwrap();
        scene.gates[1].open().unwrap();
        assert!(scene.machine.settle(WATCHDOG).unwrap().is_nobody());
        assert_eq!(counted.releases(), [1, 1], "{name}");
        drop(scene);
        assert_all_released(&counted.machine);
    }
}

/// An offer for which no device at hand can wait is refused, and released once.
#[test]
fn an_offer_of_an_unknown_device_is_released_once() {
    let scene = Scene::new();
    for on_host in [true, false] {
        let released = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&released);
        let release = move || {
            count.fetch_add(1, Ordering::SeqCst);
        };
        let raw = RawEvent { kind: EventKind::Binary, handle: 7, value: 0 };
        let tag = hurray_tensor::format::DeviceTag::CUDA;
        // SAFETY: nobody waits for it, since no device is named.
        let event = unsafe { Event::borrow_until(release, tag, None, raw) };
        let memory = scene.memory(0, HOST_VISIBLE).freeze();
        let offered = Offered::new(memory, vec![Fence::Event(event)]).unwrap();
        let refused = match on_host {
            true => offered.acquire_host().map(drop),
            false => offered.acquire_on(&[&scene.producer]).map(drop),
        };
        assert_eq!(refused.unwrap_err().rule(), Some(Rule::SyncDeviceUnknown));
        assert_eq!(released.load(Ordering::SeqCst), 1);
    }
}
