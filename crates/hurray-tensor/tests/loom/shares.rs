//! Several holders of one memory.

use std::sync::Arc as StdArc;
use std::sync::atomic::Ordering;

use hurray_tensor::{Buffer, DeviceMemory, weaken};
use loom::sync::Arc;
use loom::sync::atomic::AtomicBool;
use loom::thread;

use super::{Outcome, Watched, model, model_within};

/// The last of several holders releases, after all that the others did.
fn last_of_three() {
    model_within(5, || {
        let (watched, buffer) = Watched::new();
        let reader = |buffer: Buffer| {
            let watched = watched.clone();
            thread::spawn(move || {
                watched.read();
                drop(buffer);
            })
        };
        let threads = [reader(buffer.clone()), reader(buffer.clone())];
        watched.read();
        drop(buffer);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(watched.releases(), 1);
    });
}

#[test]
fn the_last_holder_releases_after_all_that_others_did() {
    last_of_three();
}

#[test]
fn of_two_holders_the_last_releases_after_all_that_the_other_did() {
    model(|| {
        let (watched, buffer) = Watched::new();
        let other = {
            let (watched, buffer) = (watched.clone(), buffer.clone());
            thread::spawn(move || {
                watched.read();
                drop(buffer);
            })
        };
        watched.read();
        drop(buffer);
        other.join().unwrap();
        assert_eq!(watched.releases(), 1);
    });
}

#[test]
#[should_panic(expected = "Causality violation")]
fn it_is_noticed_where_a_holder_that_leaves_does_not_say_what_it_did() {
    weaken(Ordering::AcqRel, Ordering::Acquire);
    last_of_three();
}

#[test]
#[should_panic(expected = "Causality violation")]
fn it_is_noticed_where_the_last_holder_does_not_ask_what_others_did() {
    weaken(Ordering::AcqRel, Ordering::Release);
    last_of_three();
}

#[test]
#[should_panic(expected = "Causality violation")]
fn it_is_noticed_where_a_holder_left_alone_does_not_ask_what_others_did() {
    weaken(Ordering::Acquire, Ordering::Relaxed);
    last_of_three();
}

#[test]
fn holders_that_come_and_go_on_their_own_threads_release_once() {
    model_within(4, || {
        let (watched, buffer) = Watched::new();
        let other = {
            let (watched, buffer) = (watched.clone(), buffer.clone());
            thread::spawn(move || {
                let part = buffer.slice(0..64).unwrap();
                drop(buffer);
                let again = part.clone();
                watched.read();
                drop(part);
                drop(again);
            })
        };
        let again = buffer.clone();
        drop(buffer);
        watched.read();
        drop(again);
        other.join().unwrap();
        assert_eq!(watched.releases(), 1);
    });
}

/// One who may write comes after all that others read.
fn write_when_alone() {
    static ALONE: Outcome = Outcome::new();
    static SHARED: Outcome = Outcome::new();
    model(|| {
        let (watched, buffer) = Watched::new();
        let reader = {
            let (watched, buffer) = (watched.clone(), buffer.clone());
            thread::spawn(move || {
                watched.read();
                drop(buffer);
            })
        };
        match buffer.try_into_mut() {
            Ok(mut memory) => {
                ALONE.reached();
                watched.write(1);
                memory[1] = 1;
                assert_eq!(watched.releases(), 0);
            }
            Err(returned) => {
                SHARED.reached();
                drop(returned);
            }
        }
        reader.join().unwrap();
        assert_eq!(watched.releases(), 1);
    });
    Outcome::all([&ALONE, &SHARED]);
}

#[test]
fn one_who_writes_comes_after_all_who_read() {
    write_when_alone();
}

#[test]
#[should_panic(expected = "Causality violation")]
fn it_is_noticed_where_one_who_writes_does_not_ask_who_read() {
    weaken(Ordering::Acquire, Ordering::Relaxed);
    write_when_alone();
}

/// The two together: what was written is frozen, shared, read and released.
#[test]
fn what_was_written_is_seen_by_those_it_is_shared_with() {
    static WROTE_AGAIN: Outcome = Outcome::new();
    static REFUSED: Outcome = Outcome::new();
    model(|| {
        let (watched, buffer) = Watched::new();
        let memory = buffer.try_into_mut().unwrap();
        watched.write(7);
        let buffer = memory.freeze();
        let reader = {
            let (watched, buffer) = (watched.clone(), buffer.clone());
            thread::spawn(move || {
                assert_eq!(watched.read(), 7);
                assert_eq!(buffer.host_bytes().unwrap().first(), Some(&7));
            })
        };
        // Refused or not, it is dropped here.
        match DeviceMemory::new(buffer) {
            Ok(_memory) => {
                watched.write(8);
                WROTE_AGAIN.reached();
            }
            Err(_returned) => REFUSED.reached(),
        }
        reader.join().unwrap();
        assert_eq!((watched.releases(), watched.read()), (1, 0xFF));
    });
    Outcome::all([&WROTE_AGAIN, &REFUSED]);
}

/// An owner is given back to one thread at most, and not dropped then.
#[test]
fn an_owner_comes_back_to_one_of_two_or_is_dropped_once() {
    static HERE: Outcome = Outcome::new();
    static THERE: Outcome = Outcome::new();
    static NOWHERE: Outcome = Outcome::new();
    struct Owner(Watched, StdArc<std::sync::atomic::AtomicUsize>);
    impl AsRef<[u8]> for Owner {
        fn as_ref(&self) -> &[u8] {
            &[1, 2, 3]
        }
    }
    impl Drop for Owner {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                self.0.write(1);
                self.1.fetch_add(1, Ordering::SeqCst);
            }
        }
    }
    model(|| {
        let (watched, unused) = Watched::new();
        let drops = StdArc::default();
        let owner = Owner(watched.clone(), StdArc::clone(&drops));
        let buffer = Buffer::from_owner(owner).unwrap();
        let other = {
            let (watched, buffer) = (watched.clone(), buffer.clone());
            thread::spawn(move || {
                watched.read();
                buffer.try_into_owner::<Owner>().is_ok()
            })
        };
        watched.read();
        let came_back = buffer.try_into_owner::<Owner>().is_ok();
        let came_back_there = other.join().unwrap();
        match (came_back, came_back_there) {
            (true, false) => HERE.reached(),
            (false, true) => THERE.reached(),
            (false, false) => NOWHERE.reached(),
            (true, true) => panic!("one owner in two places"),
        }
        assert_eq!(drops.load(Ordering::SeqCst), 1);
        drop(unused);
    });
    Outcome::all([&HERE, &THERE, &NOWHERE]);
}

/// A pool: memory is used again once it was released, and not before.
#[test]
fn a_producer_uses_memory_again_after_every_consumer_is_done_with_it() {
    static FREE_AT_ONCE: Outcome = Outcome::new();
    static FREE_LATER: Outcome = Outcome::new();
    model(|| {
        let free = Arc::new(AtomicBool::new(false));
        let (watched, inner) = Watched::new();
        let buffer = {
            let (free, region) = (Arc::clone(&free), inner.region());
            let release = move || free.store(true, Ordering::Release);
            // SAFETY: `inner` holds the memory for longer.
            unsafe { Buffer::adopt(region, release) }.unwrap()
        };
        let consumer = |buffer: Buffer| {
            let watched = watched.clone();
            thread::spawn(move || {
                watched.read();
                drop(buffer);
            })
        };
        let consumers = [consumer(buffer.clone()), consumer(buffer)];
        if free.load(Ordering::Acquire) {
            watched.write(2);
            FREE_AT_ONCE.reached();
        } else {
            FREE_LATER.reached();
        }
        consumers.into_iter().for_each(|consumer| consumer.join().unwrap());
        assert!(free.load(Ordering::Acquire));
        watched.write(3);
        drop(inner);
    });
    Outcome::all([&FREE_AT_ONCE, &FREE_LATER]);
}
