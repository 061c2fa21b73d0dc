//! Memory that is used by work on a stream, after whoever queued it has let go.

use std::sync::Arc as StdArc;

use hurray_tensor::device::{Device, Event, EventKind, Stream};
use hurray_tensor::{Offered, Ready};
use loom::thread;

use super::device::{Fault, Model};
use super::{Watched, model, model_within};

fn stream_of(device: &StdArc<Model>) -> Stream {
    let device: StdArc<dyn Device> = device.clone();
    Stream::open(&device).unwrap()
}

/// Whoever queued work drops all it has, while the work is still to run.
fn drop_before_the_work(fault: Fault) {
    model(move || {
        let device = Model::new(fault);
        let (watched, buffer) = Watched::new();
        let stream = stream_of(&device);
        let worker = {
            let device = device.clone();
            thread::spawn(move || device.run())
        };
        let ready = Offered::synced(buffer).acquire_on(&[&stream]).unwrap();
        let work = {
            let watched = watched.clone();
            move || {
                watched.read();
            }
        };
        device.queue(work);
        drop(ready);
        drop(stream);
        device.close();
        worker.join().unwrap();
        assert_eq!(watched.releases(), 1);
    });
}

#[test]
fn memory_is_released_after_the_work_that_uses_it() {
    drop_before_the_work(Fault::None);
}

#[test]
#[should_panic]
fn it_is_noticed_where_memory_is_not_held_for_the_work() {
    drop_before_the_work(Fault::CallsAreEarly);
}

#[test]
fn memory_that_is_held_by_hand_is_released_after_the_work_that_uses_it() {
    model(|| {
        let device = Model::new(Fault::None);
        let (watched, buffer) = Watched::new();
        let stream = stream_of(&device);
        let worker = {
            let device = device.clone();
            thread::spawn(move || device.run())
        };
        let ready = Ready::everywhere(buffer.clone());
        let work = {
            let watched = watched.clone();
            move || {
                watched.read();
            }
        };
        device.queue(work);
        stream.hold(buffer).unwrap();
        drop((ready, stream));
        device.close();
        worker.join().unwrap();
        assert_eq!(watched.releases(), 1);
    });
}

/// A producer on the host completes an event; the stream waits for it, and the host does not.
fn order_before_the_work(fault: Fault) {
    model_within(4, move || {
        let device = Model::new(fault);
        let (watched, buffer) = Watched::new();
        let stream = stream_of(&device);
        let raw = device.event(EventKind::Binary);
        let waiter: StdArc<dyn Device> = device.clone();
        // SAFETY: the event was made for this.
        let event = unsafe { Event::adopt(waiter, raw) };
        let worker = {
            let device = device.clone();
            thread::spawn(move || device.run())
        };
        let producer = {
            let (device, watched) = (device.clone(), watched.clone());
            thread::spawn(move || {
                watched.write(7);
                device.complete(raw.handle);
            })
        };
        let ready = Offered::after(buffer, event).acquire_on(&[&stream]).unwrap();
        // The wait is queued, so that the event is not needed any more.
        assert_eq!(device.releases(), [1]);
        let work = {
            let watched = watched.clone();
            move || assert_eq!(watched.read(), 7)
        };
        device.queue(work);
        drop((ready, stream));
        device.close();
        producer.join().unwrap();
        worker.join().unwrap();
        assert_eq!((device.releases(), watched.releases()), (vec![1], 1));
    });
}

#[test]
fn work_on_a_stream_reads_what_was_written_before_the_event() {
    order_before_the_work(Fault::None);
}

#[test]
#[should_panic]
fn it_is_noticed_where_a_stream_does_not_wait() {
    order_before_the_work(Fault::OrderIsDropped);
}
