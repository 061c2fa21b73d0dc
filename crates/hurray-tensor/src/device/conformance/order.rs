//! What a device does with streams, events and calls.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

use hurray_format::Rule;

use super::held::Held;
use super::stranger::foreign_stream;
use super::{
    Backend, allocate, await_signal, filled, kinds, pattern, read_back, released_with_a_signal,
    stream,
};
use crate::buffer::{Buffer, BufferMut};
use crate::device::{EventKind, Stream};
use crate::offered::{Offered, Ready};

/// Queues a call that says when it ran.
fn mark(stream: &Stream, ran: &Arc<AtomicBool>) {
    let ran = Arc::clone(ran);
    let call = Box::new(move || ran.store(true, Ordering::SeqCst));
    // SAFETY: the stream is open while it is held.
    unsafe { stream.device().call(stream.handle(), call) }.unwrap();
}

/// The backend's own word, which the other checks rely on: settled is when all has run but what
/// waits for a stream that is held, however long a way it has.
pub fn settles_when_all_that_can_run_has(backend: &dyn Backend) {
    let device = backend.device();
    let [held, first, second] = [(); 3].map(|()| stream(&device));
    let [on_held, on_first, on_host] = [(); 3].map(|()| Arc::new(AtomicBool::new(false)));
    let ran = |mark: &Arc<AtomicBool>| mark.load(Ordering::SeqCst);
    for _ in 0..100 {
        first.order_before(&[&second]).unwrap();
        second.order_before(&[&first]).unwrap();
    }
    mark(&first, &on_first);
    let (last, host) = (first.record(EventKind::MultiWait).unwrap(), Arc::clone(&on_host));
    backend.spawn(Box::new(move || {
        let mut last = last;
        last.wait().unwrap();
        host.store(true, Ordering::SeqCst);
    }));
    backend.settle();
    assert!(ran(&on_first) && ran(&on_host), "something could still run");

    let hold = Held::new(backend, &held);
    mark(&held, &on_held);
    hold.let_go("a stream that is held", || ran(&on_held));
    backend.settle();
    assert!(ran(&on_held), "something could still run");
}

/// Each kind of event that the device has is waited for as often as it allows, and no more.
pub fn events_wait_as_their_kind(backend: &dyn Backend) {
    let device = backend.device();
    let (first, second) = (stream(&device), stream(&device));
    for kind in kinds(&first) {
        let event = first.record(kind).unwrap();
        match kind {
            EventKind::Binary | EventKind::Timeline => assert_eq!(event.kind(), kind),
            EventKind::MultiWait => assert_ne!(event.kind(), EventKind::Binary),
        }
        assert_eq!(event.device_tag(), device.identity().tag);
        for on_host in [true, false] {
            let mut event = first.record(kind).unwrap();
            let mut wait = |stream| match on_host {
                true => event.wait(),
                false => event.order(stream),
            };
            wait(&second).unwrap();
            let again = wait(&first);
            if kind == EventKind::Binary {
                assert_eq!(again.unwrap_err().rule(), Some(Rule::SyncEventSpent));
            } else {
                again.unwrap();
                wait(&second).unwrap();
            }
            second.synchronize().unwrap();
        }
    }
}

/// An event costs nothing once it is released, and may be released before it is complete.
pub fn events_are_released_and_forgotten(backend: &dyn Backend) {
    let device = backend.device();
    let (first, second) = (stream(&device), stream(&device));
    for kind in kinds(&first) {
        // More than a process may have files open.
        for _ in 0..3000 {
            let mut event = first.record(kind).unwrap();
            event.order(&second).unwrap();
        }
        second.synchronize().unwrap();

        let held = Held::new(backend, &first);
        let ran = Arc::new(AtomicBool::new(false));
        first.record(kind).unwrap().order(&second).unwrap();
        drop(first.record(kind).unwrap());
        mark(&second, &ran);
        held.let_go(kind, || ran.load(Ordering::SeqCst));
        second.synchronize().unwrap();
        assert!(ran.load(Ordering::SeqCst), "{kind:?}");
    }
}

/// A stream that waits for another's event runs after it; one that does not, does not.
pub fn makes_streams_wait(backend: &dyn Backend) {
    let device = backend.device();
    let bytes = pattern(5000);
    for kind in kinds(&stream(&device)) {
        let [first, second, third, free] = [(); 4].map(|()| stream(&device));
        let memory = allocate(&device, 5000, device.classes()[0]);
        let source = Ready::everywhere(BufferMut::copy_of(&bytes).unwrap().freeze());
        let held = Held::new(backend, &first);
        let produced = first.copy(&source, memory).unwrap().acquire_on(&[&first]).unwrap();
        let offered = produced.offer_after(&first, kind).unwrap();
        let ready = offered.acquire_on(&[&second, &third]).unwrap();
        let ran = Arc::new(AtomicBool::new(false));
        mark(&second, &ran);
        mark(&third, &ran);
        let host =
            |stream: &Stream| stream.copy(&ready, BufferMut::zeroed(5000).unwrap().into()).unwrap();
        let copies = [host(&second), host(&third)];
        let on_free = Arc::new(AtomicBool::new(false));
        mark(&free, &on_free);
        held.let_go(kind, || {
            assert!(on_free.load(Ordering::SeqCst), "{kind:?}: waited for nothing");
            ran.load(Ordering::SeqCst)
        });
        free.synchronize().unwrap();
        assert!(on_free.load(Ordering::SeqCst));
        for copy in copies {
            assert_eq!(*copy.acquire_host().unwrap(), bytes, "{kind:?}");
        }
        let on_another = ready.regions_on(&free);
        if !free.is(&second) {
            assert_eq!(on_another.unwrap_err().rule(), Some(Rule::SyncNotReady));
        }
    }
}

/// The host waits until an event is complete.
pub fn makes_the_host_wait(backend: &dyn Backend) {
    let device = backend.device();
    let stream = stream(&device);
    let bytes = pattern(5000);
    for kind in kinds(&stream) {
        let memory = allocate(&device, 5000, device.classes()[0]);
        let source = Ready::everywhere(BufferMut::copy_of(&bytes).unwrap().freeze());
        let held = Held::new(backend, &stream);
        let produced = stream.copy(&source, memory).unwrap().acquire_on(&[&stream]).unwrap();
        let offered = produced.offer_after(&stream, kind).unwrap();
        let (sender, returned) = channel();
        backend.spawn(Box::new(move || {
            // Where the check has failed nobody listens any more.
            let _ = sender.send(offered.acquire());
        }));
        held.let_go(kind, || returned.try_recv().is_ok());
        let acquired = await_signal(&returned).unwrap();
        assert_eq!(*read_back(&stream, &acquired), bytes, "{kind:?}");
    }
}

/// Calls run once each, in order, after what was queued before them; a panic in one breaks
/// nothing.
pub fn runs_calls_once_and_in_order(backend: &dyn Backend) {
    let device = backend.device();
    let stream = stream(&device);
    let order = Arc::new(Mutex::new(Vec::new()));
    let held = Held::new(backend, &stream);
    let (sender, last) = channel();
    for place in 0..100 {
        let order = Arc::clone(&order);
        let call = Box::new(move || order.lock().unwrap().push(place));
        // SAFETY: the stream is open while it is held.
        unsafe { device.call(stream.handle(), call) }.unwrap();
    }
    let panics = Box::new(|| std::panic::resume_unwind(Box::new("on purpose")));
    // SAFETY: as above.
    unsafe { device.call(stream.handle(), panics) }.unwrap();
    // SAFETY: as above.
    unsafe { device.call(stream.handle(), Box::new(move || sender.send(()).unwrap())) }.unwrap();
    held.let_go("calls", || !order.lock().unwrap().is_empty() || last.try_recv().is_ok());
    await_signal(&last);
    assert_eq!(*order.lock().unwrap(), (0..100).collect::<Vec<i32>>());
    stream.synchronize().unwrap();
    assert_eq!(order.lock().unwrap().len(), 100);
}

/// Memory lives until work that was queued on it is done, and no longer.
pub fn memory_is_held_until_work_is_done(backend: &dyn Backend) {
    let device = backend.device();
    let stream = stream(&device);
    let bytes = pattern(3000);
    for class in device.classes() {
        let (buffer, released) = released_with_a_signal(&device, filled(&stream, *class, &bytes));
        stream.synchronize().unwrap();
        let held = Held::new(backend, &stream);
        let ready = Offered::synced(buffer).acquire_on(&[&stream]).unwrap();
        let host = BufferMut::zeroed(3000).unwrap();
        let copy = stream.copy(&ready, host.into()).unwrap();
        drop(ready);
        held.let_go(class, || released.try_recv().is_ok());
        assert_eq!(*copy.acquire_host().unwrap(), bytes);
        await_signal(&released);
    }
}

/// What was queued runs after its stream is closed.
pub fn closes_streams_with_work_in_them(backend: &dyn Backend) {
    let device = backend.device();
    let ran = Arc::new(AtomicUsize::new(0));
    for _ in 0..20 {
        let short = stream(&device);
        let held = Held::new(backend, &short);
        let (sender, done) = channel();
        let counted = Arc::clone(&ran);
        let call = move || {
            counted.fetch_add(1, Ordering::SeqCst);
            sender.send(()).unwrap();
        };
        // SAFETY: the stream is open while it is held.
        unsafe { device.call(short.handle(), Box::new(call)) }.unwrap();
        drop(short);
        held.let_go("a closed stream", || done.try_recv().is_ok());
        await_signal(&done);
    }
    assert_eq!(ran.load(Ordering::SeqCst), 20);
}

/// Streams and devices that cannot wait for this one's events are refused, and nothing is
/// queued on the others.
pub fn keeps_streams_of_others_out(backend: &dyn Backend) {
    let device = backend.device();
    let (own, foreign) = (stream(&device), foreign_stream());
    let mismatch = Some(Rule::SyncDeviceMismatch);
    for kind in kinds(&own) {
        let mut event = own.record(kind).unwrap();
        assert_eq!(event.order(&foreign).unwrap_err().rule(), mismatch);
        // It was not used up.
        event.order(&own).unwrap();
    }
    let refused = own.order_before(&[&own, &foreign]);
    assert_eq!(refused.unwrap_err().rule(), mismatch);
    let buffer = Buffer::from_owner(vec![1; 64]).unwrap();
    let event = own.record(EventKind::MultiWait).unwrap();
    let refused = Offered::after(buffer, event).acquire_on(&[&own, &foreign]);
    assert_eq!(refused.unwrap_err().rule(), mismatch);
}

/// All of it at once, from several threads.
pub fn is_used_from_many_threads(backend: &dyn Backend) {
    let device = backend.device();
    thread::scope(|scope| {
        for thread in 0..4_u8 {
            let device = &device;
            scope.spawn(move || {
                for round in 0..20_u8 {
                    let (first, second) = (stream(device), stream(device));
                    let bytes = vec![thread.wrapping_mul(40).wrapping_add(round); 1000];
                    let source = Ready::everywhere(BufferMut::copy_of(&bytes).unwrap().freeze());
                    let memory = allocate(device, 1000, device.classes()[0]);
                    let offered = first.copy(&source, memory).unwrap();
                    let ready = offered.acquire_on(&[&second]).unwrap();
                    let host = BufferMut::zeroed(1000).unwrap();
                    let copy = second.copy(&ready, host.into()).unwrap();
                    assert_eq!(*copy.acquire_host().unwrap(), bytes);
                }
            });
        }
    });
}
