//! A device for models: one stream, whose work another thread runs.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc as StdArc;

use hurray_tensor::device::{Device, EventKind, Identity, RawEvent};
use hurray_tensor::format::{DeviceTag, MemoryClass};
use hurray_tensor::{Alignment, DeviceMemory, Region, Result};
use loom::sync::{Condvar, Mutex};

/// What it leaves out, to show that a model notices.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    /// Waits on the host are over at once.
    WaitsAreDropped,
    /// A stream's wait for an event is over at once.
    OrderIsDropped,
    /// Calls are made when they are queued.
    CallsAreEarly,
}

type Work = Box<dyn FnOnce() + Send>;

enum Step {
    Work(Work),
    Complete(u64),
    /// Wait for an event that is open, or was when it was queued.
    Wait(u64),
}

pub(super) struct Model {
    identity: Identity,
    fault: Fault,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Step>,
    /// Whether nothing more will be queued.
    closed: bool,
    events: Vec<Event>,
}

#[derive(Default)]
struct Event {
    complete: bool,
    releases: usize,
}

impl Model {
    pub(super) fn new(fault: Fault) -> StdArc<Self> {
        let tag = DeviceTag::from_tag(0xF0);
        let identity = Identity { tag, ordinal: 0, uuid: [0; 16], name: "model".to_owned() };
        let (state, changed) = (Mutex::default(), Condvar::new());
        StdArc::new(Self { identity, fault, state, changed })
    }

    /// An event that somebody completes.
    pub(super) fn event(&self, kind: EventKind) -> RawEvent {
        let mut state = self.state.lock().unwrap();
        state.events.push(Event::default());
        let handle = u64::try_from(state.events.len()).unwrap();
        RawEvent { kind, handle, value: 0 }
    }

    pub(super) fn complete(&self, event: u64) {
        self.state.lock().unwrap().event(event).complete = true;
        self.changed.notify_all();
    }

    /// How often each event was released.
    pub(super) fn releases(&self) -> Vec<usize> {
        self.state.lock().unwrap().events.iter().map(|event| event.releases).collect()
    }

    /// Queues work of the driver's own, of which the library knows nothing.
    pub(super) fn queue(&self, work: impl FnOnce() + Send + 'static) {
        self.push(Step::Work(Box::new(work)));
    }

    /// No more is queued: the thread that runs the stream ends when it has done it all.
    pub(super) fn close(&self) {
        self.state.lock().unwrap().closed = true;
        self.changed.notify_all();
    }

    /// Runs what is queued, in order, until the stream is closed.
    pub(super) fn run(&self) {
        loop {
            let mut state = self.state.lock().unwrap();
            let step = loop {
                match state.queue.pop_front() {
                    Some(step) => break step,
                    None if state.closed => return,
                    None => state = self.changed.wait(state).unwrap(),
                }
            };
            drop(state);
            match step {
                Step::Work(work) => work(),
                Step::Complete(event) => self.complete(event),
                Step::Wait(event) => self.wait_until_complete(event),
            }
        }
    }

    fn wait_until_complete(&self, event: u64) {
        let mut state = self.state.lock().unwrap();
        while !state.event(event).complete {
            state = self.changed.wait(state).unwrap();
        }
    }

    fn push(&self, step: Step) {
        self.state.lock().unwrap().queue.push_back(step);
        self.changed.notify_all();
    }
}

impl State {
    fn event(&mut self, handle: u64) -> &mut Event {
        let place = usize::try_from(handle - 1).unwrap();
        self.events.get_mut(place).unwrap()
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Model")
    }
}

// SAFETY: work runs in the order it was queued in, and a wait that returned has waited, unless a
// fault was asked for, which only tests do.
unsafe impl Device for Model {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn classes(&self) -> &[MemoryClass] {
        &[]
    }

    fn host_can_read(&self, _class: MemoryClass) -> bool {
        true
    }

    fn allocate(&self, _: u64, _: Alignment, _: MemoryClass) -> Result<DeviceMemory> {
        panic!("models adopt their memory")
    }

    fn open_stream(&self) -> Result<u64> {
        Ok(1)
    }

    unsafe fn close_stream(&self, _stream: u64) {}

    unsafe fn copy(&self, _stream: u64, _from: &Region, _to: &Region) -> Result<()> {
        panic!("models queue their own work")
    }

    unsafe fn record(&self, _stream: u64, kind: EventKind) -> Result<RawEvent> {
        let event = self.event(kind);
        self.push(Step::Complete(event.handle));
        Ok(event)
    }

    unsafe fn wait(&self, _stream: u64, event: RawEvent) -> Result<()> {
        if self.fault != Fault::OrderIsDropped {
            self.push(Step::Wait(event.handle));
        }
        Ok(())
    }

    unsafe fn wait_on_host(&self, event: RawEvent) -> Result<()> {
        if self.fault != Fault::WaitsAreDropped {
            self.wait_until_complete(event.handle);
        }
        Ok(())
    }

    unsafe fn release_event(&self, event: RawEvent) {
        if !std::thread::panicking() {
            self.state.lock().unwrap().event(event.handle).releases += 1;
        }
    }

    unsafe fn call(&self, _stream: u64, work: Work) -> Result<()> {
        match self.fault {
            Fault::CallsAreEarly => work(),
            _ => self.push(Step::Work(work)),
        }
        Ok(())
    }
}
