//! Memory that must be waited for, and the event that says when.

use std::sync::Arc as StdArc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hurray_tensor::Offered;
use hurray_tensor::device::{Device, Event, EventKind};
use loom::thread;

use super::device::{Fault, Model};
use super::{Watched, model};

fn event_of(device: &StdArc<Model>) -> Event {
    let raw = device.event(EventKind::MultiWait);
    let device: StdArc<dyn Device> = device.clone();
    // SAFETY: the event was made for this.
    unsafe { Event::adopt(device, raw) }
}

/// A consumer on the host waits, and then reads.
fn wait_before_read(fault: Fault) {
    model(move || {
        let device = Model::new(fault);
        let (watched, buffer) = Watched::new();
        let event = event_of(&device);
        let handle = event.raw().handle;
        let offer = Offered::after(buffer, event);
        let producer = {
            let (device, watched) = (device.clone(), watched.clone());
            thread::spawn(move || {
                watched.write(7);
                device.complete(handle);
            })
        };
        let host = offer.acquire_host().unwrap();
        // The event is not needed any more; the memory is.
        assert_eq!((device.releases(), watched.releases()), (vec![1], 0));
        assert_eq!((watched.read(), host.first()), (7, Some(&7)));
        drop(host);
        producer.join().unwrap();
        assert_eq!((device.releases(), watched.releases()), (vec![1], 1));
    });
}

#[test]
fn a_consumer_reads_what_was_written_before_the_event() {
    wait_before_read(Fault::None);
}

#[test]
#[should_panic]
fn it_is_noticed_where_the_wait_is_dropped() {
    wait_before_read(Fault::WaitsAreDropped);
}

/// Nobody waits for the offer: it is dropped where it arrived, and its producer goes on.
#[test]
fn an_offer_that_nobody_takes_is_released_once_while_its_producer_goes_on() {
    model(|| {
        let device = Model::new(Fault::None);
        let (watched, buffer) = Watched::new();
        let own = buffer.clone();
        let event = event_of(&device);
        let handle = event.raw().handle;
        let offer = Offered::after(buffer, event);
        let consumer = thread::spawn(move || drop(offer));
        // The producer still has the memory, which nobody else ever reads.
        watched.write(7);
        device.complete(handle);
        watched.read();
        drop(own);
        consumer.join().unwrap();
        assert_eq!((device.releases(), watched.releases()), (vec![1], 1));
    });
}

/// An event of another library's, given back by a call of its own.
#[test]
fn a_borrowed_event_is_given_back_once_whoever_drops_it() {
    model(|| {
        let device = Model::new(Fault::None);
        let (watched, buffer) = Watched::new();
        let raw = device.event(EventKind::Binary);
        let count = StdArc::new(AtomicUsize::new(0));
        let release = {
            let count = StdArc::clone(&count);
            move || {
                count.fetch_add(1, Ordering::SeqCst);
            }
        };
        let tag = device.identity().tag;
        let waiter: StdArc<dyn Device> = device.clone();
        // SAFETY: the event is open for as long as the device is.
        let event = unsafe { Event::borrow_until(release, tag, Some(waiter), raw) };
        let offer = Offered::after(buffer, event);
        let producer = {
            let (device, watched) = (device.clone(), watched.clone());
            thread::spawn(move || {
                watched.write(7);
                device.complete(raw.handle);
            })
        };
        let consumer = {
            let watched = watched.clone();
            thread::spawn(move || {
                let buffer = offer.acquire().unwrap();
                assert_eq!(watched.read(), 7);
                drop(buffer);
            })
        };
        producer.join().unwrap();
        consumer.join().unwrap();
        assert_eq!((count.load(Ordering::SeqCst), watched.releases()), (1, 1));
        // The device was not asked to release what is not its own.
        assert_eq!(device.releases(), [0]);
    });
}
