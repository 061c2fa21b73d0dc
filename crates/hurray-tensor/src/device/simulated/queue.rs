//! Streams: a thread each, which works off a queue.

#![allow(unsafe_code, reason = "copies between mappings that are held")]

use std::collections::{BTreeMap, VecDeque};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread;

use super::memory::Mapping;
use super::signal::Signal;
use super::timeline::Timeline;
use super::watch::{AtWork, Waiter, Watch};
use super::{failed, locked};
use crate::device::cpu::copy_what_changes;
use crate::error::{Error, Result};
use crate::memory::{Region, Release};

/// Every stream that is open in this process, by its number.
static STREAMS: Mutex<BTreeMap<u64, Arc<Queue>>> = Mutex::new(BTreeMap::new());

/// What a stream does, one after another.
pub(super) enum Work {
    /// The last says that somebody else may write to what is copied.
    Copy {
        from: Stretch,
        to: Stretch,
        length: usize,
        changes: bool,
    },
    Complete(Signal),
    Wait(Signal),
    Call(Box<dyn FnOnce() + Send>),
}

/// Where work reads or writes.
pub(super) enum Stretch {
    /// In a mapping, which is looked for when the work runs, and how far in.
    Mapped(Weak<Mapping>, usize),
    /// Memory that the machine does not know: of the host, or of a stranger. That it is true
    /// and held was promised by whoever queued the work.
    Unknown(*mut u8),
}

// SAFETY: memory belongs to no thread; `copy` uses the pointer as whoever queued it promised.
unsafe impl Send for Stretch {}

impl Stretch {
    /// Where a region is, and whether it may be written to, as far as is known.
    pub(super) fn of(region: &Region) -> Self {
        let address = region.position();
        if let Some((mapping, start)) = Mapping::of(address, region.length) {
            return Self::Mapped(Arc::downgrade(&mapping), start);
        }
        if region.host.is_null() {
            // An address of a stranger's that runs in this process.
            let address = usize::try_from(address).unwrap_or(0);
            return Self::Unknown(ptr::with_exposed_provenance_mut(address));
        }
        Self::Unknown(region.host)
    }
}

/// A stream.
pub(super) struct Queue {
    handle: u64,
    state: Mutex<State>,
    /// There is work, or the end.
    changed: Condvar,
    watch: Arc<Watch>,
}

struct State {
    work: VecDeque<Work>,
    /// There while there is something to do.
    at_work: Option<AtWork>,
    is_closed: bool,
    /// Whether something went wrong: nothing more is taken then.
    has_failed: bool,
    timeline: Timeline,
}

/// Opens a stream.
pub(super) fn open(watch: &Arc<Watch>) -> Result<u64> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let handle = NEXT.fetch_add(1, Ordering::Relaxed);
    let state = State {
        work: VecDeque::new(),
        at_work: None,
        is_closed: false,
        has_failed: false,
        timeline: Timeline::new(),
    };
    let (state, changed) = (Mutex::new(state), Condvar::new());
    let queue = Arc::new(Queue { handle, state, changed, watch: Arc::clone(watch) });
    let own = Arc::clone(&queue);
    thread::Builder::new()
        .name(format!("stream {handle}"))
        .spawn(move || own.run())
        .map_err(|error| Error::io("start a stream's thread", error))?;
    locked(&STREAMS).insert(handle, queue);
    Ok(handle)
}

/// The stream of that number.
pub(super) fn find(handle: u64) -> Result<Arc<Queue>> {
    locked(&STREAMS).get(&handle).cloned().ok_or_else(|| failed("stream"))
}

/// Closes a stream. Its thread ends when the queue is empty.
pub(super) fn close(handle: u64) {
    let queue = locked(&STREAMS).remove(&handle);
    if let Some(queue) = queue {
        locked(&queue.state).is_closed = true;
        queue.changed.notify_all();
    }
}

impl Queue {
    pub(super) fn push(&self, work: Work) -> Result<()> {
        self.push_with(|_| Ok((work, ())))
    }

    /// Queues work that is made together with its place in the queue.
    pub(super) fn push_with<T>(
        &self,
        make: impl FnOnce(&mut Timeline) -> Result<(Work, T)>,
    ) -> Result<T> {
        let mut state = locked(&self.state);
        if state.has_failed {
            return Err(failed("stream"));
        }
        let (work, made) = make(&mut state.timeline)?;
        state.at_work.get_or_insert_with(|| self.watch.work());
        state.work.push_back(work);
        self.changed.notify_all();
        Ok(made)
    }

    fn run(&self) {
        while let Some(work) = self.next() {
            if let Err(fault) = self.do_one(work) {
                self.watch.fault(fault);
                locked(&self.state).has_failed = true;
            }
        }
    }

    fn next(&self) -> Option<Work> {
        let mut state = locked(&self.state);
        loop {
            if let Some(work) = state.work.pop_front() {
                if let Some(at_work) = &state.at_work {
                    at_work.is_this_thread();
                }
                return Some(work);
            }
            state.at_work = None;
            if state.is_closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn do_one(&self, work: Work) -> Result<(), &'static str> {
        match work {
            // Behind a wait that failed nobody knows whose turn it is.
            Work::Copy { .. } if locked(&self.state).has_failed => Ok(()),
            Work::Copy { from, to, length, changes } => copy(&from, &to, length, changes),
            Work::Complete(signal) => signal.complete().map_err(|_| "an event was not signalled"),
            Work::Wait(signal) => {
                let waited = self.watch.sleep(Waiter::Stream(self.handle), signal);
                waited.map_err(|_| "an event could not be waited for")
            }
            Work::Call(work) => {
                // Run as it is dropped, with a fence around panics.
                drop(Release::new(work));
                Ok(())
            }
        }
    }
}

fn copy(from: &Stretch, to: &Stretch, length: usize, changes: bool) -> Result<(), &'static str> {
    let (from, _held) = place(from)?;
    let (to, _also_held) = place(to)?;
    if changes {
        // SAFETY: mapped memory is held here and has the length, as was found when the copy was
        // queued; of other memory whoever queued the copy promised it.
        unsafe { copy_what_changes(from, to, length) }
        return Ok(());
    }
    // SAFETY: as above. The two may be one memory.
    unsafe { ptr::copy(from, to, length) }
    Ok(())
}

fn place(stretch: &Stretch) -> Result<(*mut u8, Option<Arc<Mapping>>), &'static str> {
    match stretch {
        Stretch::Mapped(mapping, start) => {
            let mapping = mapping.upgrade().ok_or("memory was released while work used it")?;
            Ok((mapping.first.wrapping_add(*start), Some(mapping)))
        }
        Stretch::Unknown(first) => Ok((*first, None)),
    }
}
