//! Timelines: counters of this process that go up, and whose values are waited for.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::{failed, locked};
use crate::error::Result;

/// A counter that others wait for.
#[derive(Debug, Default)]
pub(super) struct Counter {
    reached: Mutex<u64>,
    changed: Condvar,
}

impl Counter {
    pub(super) fn reached(&self) -> u64 {
        *locked(&self.reached)
    }

    /// Goes up to `value`, never down.
    pub(super) fn reach(&self, value: u64) {
        let mut reached = locked(&self.reached);
        *reached = (*reached).max(value);
        self.changed.notify_all();
    }

    pub(super) fn wait_for(&self, value: u64) {
        let reached = locked(&self.reached);
        let woken = self.changed.wait_while(reached, |reached| *reached < value);
        drop(woken.unwrap_or_else(PoisonError::into_inner));
    }
}

/// A timeline, as the stream that drives it has it.
#[derive(Debug)]
pub(super) struct Timeline {
    pub(super) handle: u64,
    pub(super) counter: Arc<Counter>,
    /// The last value that was asked for.
    pub(super) last: u64,
}

struct Open {
    counter: Arc<Counter>,
    /// How many events there are on it.
    events: u64,
}

/// The timelines of this process that events are on.
static TIMELINES: Mutex<BTreeMap<u64, Open>> = Mutex::new(BTreeMap::new());

impl Timeline {
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let handle = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { handle, counter: Arc::default(), last: 0 }
    }

    /// The next value, and an event on it.
    pub(super) fn event(&mut self) -> u64 {
        self.last = self.last.saturating_add(1);
        let mut timelines = locked(&TIMELINES);
        let open = timelines
            .entry(self.handle)
            .or_insert_with(|| Open { counter: Arc::clone(&self.counter), events: 0 });
        open.events = open.events.saturating_add(1);
        self.last
    }
}

/// The counter of a timeline that has events.
pub(super) fn counter(handle: u64) -> Result<Arc<Counter>> {
    let timelines = locked(&TIMELINES);
    let open = timelines.get(&handle).ok_or_else(|| failed("event"))?;
    Ok(Arc::clone(&open.counter))
}

/// Releases one of its events.
pub(super) fn release(handle: u64) {
    let mut timelines = locked(&TIMELINES);
    if let Some(open) = timelines.get_mut(&handle) {
        open.events = open.events.saturating_sub(1);
        if open.events == 0 {
            timelines.remove(&handle);
        }
    }
}
