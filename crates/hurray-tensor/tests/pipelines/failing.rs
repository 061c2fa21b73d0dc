//! Devices that fail, at every call: nothing is released twice, too early, or not at all.

use std::sync::{Arc, Mutex};

use hurray_tensor::device::simulated::{Act, Call, HOST_VISIBLE, Machine, Verdict};
use hurray_tensor::device::{EventKind, Stream};
use hurray_tensor::format::{DeviceTag, MemoryClass, Rule, SyncMode};
use hurray_tensor::{Buffer, BufferMut, DeclaredStream, Fence, Offered, Ready};

use crate::scene::{LENGTH, Scene, WATCHDOG, assert_all_released, new, old};

const STANDARD: MemoryClass = MemoryClass::STANDARD;

/// Lets the call of that number fail, and those behind it if `for_good`; counts them.
fn fail(machine: &Machine, number: usize, for_good: bool) -> Arc<Mutex<Vec<Act>>> {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&calls);
    let judge = move |call: &Call| {
        let mut seen = seen.lock().unwrap();
        seen.push(call.act);
        let place = seen.len() - 1;
        let fails = place == number || (for_good && place > number);
        if fails { Verdict::Fail } else { Verdict::Proceed }
    };
    // SAFETY: nothing is skipped.
    unsafe { machine.interfere(judge) };
    calls
}

type Steps = fn(&Scene, Ready<Buffer>, &[Stream; 3]) -> hurray_tensor::Result<()>;

/// Runs the steps with every call failing in turn, once and for good, and with none.
fn each_call_fails(calls: &[Act], steps: Steps) {
    for (number, for_good) in (0..=calls.len()).flat_map(|n| [(n, false), (n, true)]) {
        let scene = Scene::new();
        let ready = scene.ready(STANDARD);
        let streams = [0; 3].map(|ordinal| scene.stream(ordinal));
        let made = fail(&scene.machine, number, for_good);
        let result = steps(&scene, ready, &streams);
        scene.machine.leave_alone();
        let made = made.lock().unwrap().clone();
        match result {
            Ok(()) => assert_eq!(made, calls, "the steps make other calls"),
            Err(error) => {
                assert_eq!(error.rule(), Some(Rule::DeviceFailed));
                assert_eq!(made[..=number], calls[..=number]);
            }
        }
        for gate in &scene.gates {
            gate.open().unwrap();
        }
        let machine = scene.machine.clone();
        drop((scene, streams));
        // Where memory could not be held it is kept for ever, rather than released too early.
        let a_hold_failed = calls.get(number) == Some(&Act::Call)
            || (for_good && made.get(number..).is_some_and(|made| made.contains(&Act::Call)));
        if a_hold_failed {
            assert!(machine.settle(WATCHDOG).unwrap().is_nobody());
            assert_eq!(machine.faults(), [""; 0]);
            assert_eq!(machine.events_held(), 0);
            assert!(machine.memory_held() > 0, "released although work may use it");
        } else {
            assert_all_released(&machine);
        }
    }
}

#[test]
fn acquiring_on_streams_fails_half_way() {
    use Act::{Call, Record, StreamWait};
    let calls = [Record, StreamWait, StreamWait, StreamWait, Call, Call, Call, Call];
    each_call_fails(&calls, |scene, ready, streams| {
        let offered = ready.offer_after(&scene.producer, EventKind::MultiWait)?;
        drop(offered.acquire_on(&streams.each_ref())?);
        drop(ready);
        Ok(())
    });
}

#[test]
fn sharing_the_one_wait_fails_half_way() {
    use Act::{Call, Record, StreamWait};
    let calls = [Record, StreamWait, Record, StreamWait, StreamWait, Call, Call, Call, Call];
    each_call_fails(&calls, |scene, ready, streams| {
        let offered = ready.offer_after(&scene.producer, EventKind::Binary)?;
        drop(offered.acquire_on(&streams.each_ref())?);
        drop(ready);
        Ok(())
    });
}

#[test]
fn ordering_a_declared_stream_fails_half_way() {
    use Act::{Call, Record, StreamWait};
    let calls = [Record, StreamWait, Record, StreamWait, StreamWait, Call, Call, Call, Call];
    each_call_fails(&calls, |scene, ready, streams| {
        let offered = ready.offer_on(&scene.producer, &streams[0])?;
        drop(offered.acquire_on(&streams.each_ref())?);
        drop(ready);
        Ok(())
    });
}

#[test]
fn copying_fails_half_way() {
    use Act::{Call, Copy, Record, StreamWait};
    let calls = [Record, StreamWait, Copy, Call, Call, Record, Call, Call];
    each_call_fails(&calls, |scene, ready, [stream, ..]| {
        let offered = ready.offer_after(&scene.producer, EventKind::Timeline)?;
        let acquired = offered.acquire_on(&[stream])?;
        drop(stream.copy(&acquired, scene.memory(0, STANDARD))?);
        drop(acquired);
        drop(ready);
        Ok(())
    });
}

#[test]
fn waiting_on_the_host_fails() {
    use Act::{Call, HostWait, Record};
    let calls = [Record, HostWait, Record, HostWait];
    each_call_fails(&calls, |scene, ready, _| {
        scene.gates[0].open()?;
        let offered = ready.offer_after(&scene.producer, EventKind::Binary)?;
        drop(offered.acquire()?);
        drop(ready.finish()?);
        Ok(())
    });
    let calls = [Record, StreamWait, Record, HostWait, Call];
    use Act::StreamWait;
    each_call_fails(&calls, |scene, ready, [stream, ..]| {
        scene.gates[0].open()?;
        drop(ready.offer_on(&scene.producer, stream)?.acquire()?);
        drop(ready);
        Ok(())
    });
}

#[test]
fn opening_a_stream_fails() {
    let machine = Machine::new(1);
    fail(&machine, 0, true);
    let refused = Stream::open(&machine.device(0).unwrap()).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::DeviceFailed));
}

/// A stream on which something went wrong takes no more work, and nobody waits for ever.
#[test]
fn a_stream_whose_work_failed_takes_no_more() {
    let scene = Scene::new();
    let (source, target) = (scene.memory(0, STANDARD), scene.memory(0, STANDARD));
    let (from, to) = (source.region(), target.region());
    // SAFETY: the stream is open. The memory is not held, on purpose: that is noticed.
    unsafe { scene.producer.device().copy(scene.producer.handle(), &from, &to) }.unwrap();
    drop(source);
    // What was queued behind it is not done either.
    let bytes = BufferMut::copy_of(&new()).unwrap();
    // SAFETY: the stream is open, and both regions are held to the end.
    unsafe { scene.producer.device().copy(scene.producer.handle(), &bytes.region(), &to) }.unwrap();
    let mut event = scene.producer.record(EventKind::MultiWait).unwrap();
    scene.gates[0].open().unwrap();
    event.wait().unwrap();
    assert_eq!(scene.machine.faults(), ["memory was released while work used it"]);
    assert_eq!(scene.machine.peek(to.address, LENGTH).unwrap(), old());
    let refused = scene.producer.record(EventKind::MultiWait).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::DeviceFailed));
    assert!(scene.producer.synchronize().is_err());
}

/// What is wrong with a request is refused before any wait is queued or used up.
#[test]
fn a_wrong_request_makes_no_wait() {
    let scene = Scene::new();
    let devices = scene.machine.devices();
    let cpu = Stream::open(devices.iter().next().unwrap()).unwrap();
    for kind in [EventKind::Binary, EventKind::Timeline, EventKind::MultiWait] {
        let offered = scene.offered(STANDARD, kind);
        let made = fail(&scene.machine, usize::MAX, false);
        let refused = offered.acquire_on(&[&scene.producer, &cpu]).unwrap_err();
        assert_eq!(refused.rule(), Some(Rule::SyncDeviceMismatch));
        assert_eq!(*made.lock().unwrap(), []);
        scene.machine.leave_alone();
    }
    let offered = scene.ready(STANDARD).offer_on(&scene.producer, &scene.producer).unwrap();
    let refused = offered.acquire_on(&[&scene.producer, &cpu]).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::SyncDeviceMismatch));
    // One buffer in order and one that nobody can wait for.
    let unknown = DeviceTag::CUDA;
    // SAFETY: nobody waits for it, since no device is named.
    let declared = unsafe { DeclaredStream::adopt(unknown, None, 7) };
    assert_eq!((declared.device_tag(), declared.handle()), (unknown, 7));
    let fence = Fence::Stream(declared);
    let offered = Offered::new(scene.memory(0, STANDARD).freeze(), vec![fence]).unwrap();
    assert_eq!(offered.sync_mode(0), SyncMode::CONSUMER_STREAM);
    let refused = offered.acquire_on(&[&scene.producer]).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::SyncDeviceUnknown));
}

/// A binary event has one wait, whoever takes it.
#[test]
fn a_binary_event_is_waited_for_once() {
    let scene = Scene::new();
    scene.gates[0].open().unwrap();
    let consumer = scene.stream(0);
    let spent = Some(Rule::SyncEventSpent);

    let mut event = scene.producer.record(EventKind::Binary).unwrap();
    event.order(&consumer).unwrap();
    assert_eq!(event.order(&consumer).unwrap_err().rule(), spent);
    assert_eq!(event.wait().unwrap_err().rule(), spent);
    let offered = Offered::after(scene.memory(0, STANDARD).freeze(), event);
    assert_eq!(offered.acquire_on(&[&consumer]).unwrap_err().rule(), spent);

    let mut event = scene.producer.record(EventKind::Binary).unwrap();
    event.wait().unwrap();
    let offered = Offered::after(scene.memory(0, HOST_VISIBLE).freeze(), event);
    assert_eq!(offered.acquire_host().unwrap_err().rule(), spent);
}

/// A fence for each buffer, no more and no less.
#[test]
fn fences_are_as_many_as_buffers() {
    let scene = Scene::new();
    for count in [0, 2] {
        let fences = std::iter::repeat_with(|| Fence::Synced).take(count).collect();
        let refused = Offered::new(scene.memory(0, STANDARD).freeze(), fences).unwrap_err();
        assert_eq!(refused.rule(), Some(Rule::MemoryCount));
    }
}
