//! Watching a machine: who is at work, who sleeps in a wait, what went wrong.
//!
//! A test that holds a producer behind a gate has to know when the consumer either sleeps in
//! its wait or has run past the place where it should have waited. Then it opens the gate;
//! nothing depends on how fast anybody is.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::locked;
use super::signal::Signal;
use crate::error::Result;

/// Who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiter {
    Stream(u64),
    Host,
}

/// What of a machine sleeps in a wait while nothing of it is at work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asleep {
    /// The streams that sleep in a wait, by their numbers.
    pub streams: Vec<u64>,
    /// How many threads of the host do.
    pub hosts: usize,
}

impl Asleep {
    /// Whether nobody does: everything that was queued is done.
    pub fn is_nobody(&self) -> bool {
        self.streams.is_empty() && self.hosts == 0
    }
}

#[derive(Debug)]
pub(super) struct Watch {
    id: u64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Streams with something to do, and threads of steps, that do not sleep in a wait.
    at_work: usize,
    asleep: Vec<Sleeper>,
    faults: Vec<&'static str>,
}

#[derive(Debug)]
struct Sleeper {
    waiter: Waiter,
    signal: Arc<Signal>,
}

thread_local! {
    /// The watch that counts this thread as at work; 0 for none.
    static COUNTED_BY: Cell<u64> = const { Cell::new(0) };
}

impl Watch {
    pub(super) fn new() -> Arc<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Arc::new(Self { id, state: Mutex::default(), changed: Condvar::new() })
    }

    /// Counts somebody as at work, until what is returned is dropped.
    pub(super) fn work(self: &Arc<Self>) -> AtWork {
        let mut state = locked(&self.state);
        state.at_work = state.at_work.saturating_add(1);
        AtWork(Arc::clone(self))
    }

    /// Notes something that must not happen.
    pub(super) fn fault(&self, what: &'static str) {
        locked(&self.state).faults.push(what);
    }

    pub(super) fn faults(&self) -> Vec<&'static str> {
        locked(&self.state).faults.clone()
    }

    /// Sleeps until `signal` is complete and uses it up, seen by whoever watches.
    pub(super) fn sleep(&self, waiter: Waiter, signal: Signal) -> Result<()> {
        let signal = Arc::new(signal);
        // Whether this thread counts as at work when it does not sleep.
        let works = COUNTED_BY.get() == self.id;
        let mut sleeps = false;
        loop {
            {
                let mut state = locked(&self.state);
                // Under the lock, so that a signal that was used up has nobody asleep.
                let taken = signal.take();
                let done = !matches!(taken, Ok(false));
                if done && sleeps {
                    state.asleep.retain(|sleeper| !Arc::ptr_eq(&sleeper.signal, &signal));
                    state.at_work = state.at_work.saturating_add(usize::from(works));
                } else if !done && !sleeps {
                    sleeps = true;
                    state.asleep.push(Sleeper { waiter, signal: Arc::clone(&signal) });
                    state.at_work = state.at_work.saturating_sub(usize::from(works));
                }
                self.changed.notify_all();
                if done {
                    return taken.map(drop);
                }
            }
            if let Err(error) = signal.sleep() {
                let mut state = locked(&self.state);
                state.asleep.retain(|sleeper| !Arc::ptr_eq(&sleeper.signal, &signal));
                state.at_work = state.at_work.saturating_add(usize::from(works));
                self.changed.notify_all();
                return Err(error);
            }
        }
    }

    /// Waits until nobody is at work and nobody asleep is about to wake, and says who sleeps;
    /// none where that is not so within this time.
    pub(super) fn settle(&self, within: Duration) -> Option<Asleep> {
        let end = Instant::now().checked_add(within)?;
        let mut state = locked(&self.state);
        loop {
            if state.is_settled() {
                return Some(state.asleep());
            }
            let left = end.checked_duration_since(Instant::now())?;
            let woken = self.changed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl State {
    fn is_settled(&self) -> bool {
        let wakes = |sleeper: &Sleeper| !matches!(sleeper.signal.is_complete(), Ok(false));
        self.at_work == 0 && !self.asleep.iter().any(wakes)
    }

    fn asleep(&self) -> Asleep {
        let mut asleep = Asleep::default();
        for sleeper in &self.asleep {
            match sleeper.waiter {
                Waiter::Stream(stream) => asleep.streams.push(stream),
                Waiter::Host => asleep.hosts = asleep.hosts.saturating_add(1),
            }
        }
        asleep
    }
}

/// Somebody who is at work for as long as this is held.
#[derive(Debug)]
pub(super) struct AtWork(Arc<Watch>);

impl AtWork {
    /// From now on this thread is who that is: while it sleeps in a wait, it is not at work.
    pub(super) fn is_this_thread(&self) {
        COUNTED_BY.set(self.0.id);
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        let mut state = locked(&self.0.state);
        state.at_work = state.at_work.saturating_sub(1);
        self.0.changed.notify_all();
    }
}
