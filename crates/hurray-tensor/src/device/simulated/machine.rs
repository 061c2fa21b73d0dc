//! A machine: some devices, and what a test may do to them and see of them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hurray_format::{Expected, Rule, Value};

use super::device::Simulated;
use super::memory::Mapping;
use super::watch::{Asleep, Watch};
use super::{CAPACITY, failed, locked};
use crate::device::{Device, Devices};
use crate::error::{Error, Result};
use crate::memory::refuse;

/// Some simulated devices, which can wait for each other and are watched as one.
///
/// Devices of the same ordinal are the same device to every machine and process, as drivers
/// that open a device twice have it; what is watched and interfered with is a machine's own.
#[derive(Clone, Debug)]
pub struct Machine {
    devices: Vec<Arc<Simulated>>,
    bench: Arc<Bench>,
}

/// What the devices of a machine share.
#[derive(Debug)]
pub(super) struct Bench {
    pub(super) watch: Arc<Watch>,
    /// Events made and not yet released.
    events: AtomicU64,
    interference: Mutex<Interference>,
}

/// One call of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Call {
    /// What is to be done.
    pub act: Act,
    /// The stream, where it is one's.
    pub stream: Option<u64>,
}

/// What a call of the driver is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Act {
    /// Open a stream.
    Open,
    /// Queue a copy.
    Copy,
    /// Record an event.
    Record,
    /// Make a stream wait for an event.
    StreamWait,
    /// Wait for an event on the host.
    HostWait,
    /// Queue a call, which waits for what was queued before it.
    Call,
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// What it is for.
    Proceed,
    /// Everything but the waiting: a wait is left out, and says that it was done; a call is
    /// run at once. Calls that do not wait proceed.
    SkipWait,
    /// `device.failed`, and nothing is done.
    Fail,
}

type Judge = Box<dyn FnMut(&Call) -> Verdict + Send>;

#[derive(Default)]
struct Interference(Option<Judge>);

impl std::fmt::Debug for Interference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Interference({})", self.0.is_some())
    }
}

impl Machine {
    /// A machine with that many devices, of the ordinals from 0 on.
    pub fn new(devices: u8) -> Self {
        let bench = Arc::new(Bench {
            watch: Watch::new(),
            events: AtomicU64::new(0),
            interference: Mutex::default(),
        });
        let device = |ordinal| Arc::new(Simulated::new(ordinal, Arc::clone(&bench)));
        Self { devices: (0..devices).map(device).collect(), bench }
    }

    /// One of its devices.
    ///
    /// # Errors
    ///
    /// `sync.device-unknown` where there are not as many.
    pub fn device(&self, ordinal: u8) -> Result<Arc<dyn Device>> {
        match self.devices.get(usize::from(ordinal)) {
            Some(device) => Ok(Arc::<Simulated>::clone(device)),
            None => {
                let found = Value::Unsigned(u64::from(ordinal));
                Err(refuse(Rule::SyncDeviceUnknown, "ordinal", found, Expected::Unsaid))
            }
        }
    }

    /// All of its devices, and the CPU.
    pub fn devices(&self) -> Devices {
        let with = |devices: Devices, device: &Arc<Simulated>| {
            devices.with(Arc::<Simulated>::clone(device))
        };
        self.devices.iter().fold(Devices::default(), with)
    }

    /// Waits until whatever was queued and every thread of [`spawn`](Self::spawn) either is
    /// done or sleeps in a wait that nothing has completed yet, and says who sleeps. None
    /// where that is not so within this time.
    pub fn settle(&self, within: Duration) -> Option<Asleep> {
        self.bench.watch.settle(within)
    }

    /// Runs `step` on a thread of the host that [`settle`](Self::settle) waits for.
    ///
    /// # Errors
    ///
    /// What the system refused.
    pub fn spawn<T: Send + 'static>(
        &self,
        step: impl FnOnce() -> T + Send + 'static,
    ) -> Result<JoinHandle<T>> {
        // From now on, not only from when the thread has started.
        let at_work = self.bench.watch.work();
        let step = move || {
            at_work.is_this_thread();
            let made = step();
            drop(at_work);
            made
        };
        thread::Builder::new()
            .name("host".to_owned())
            .spawn(step)
            .map_err(|error| Error::io("start a thread", error))
    }

    /// The `length` bytes that are at an address of a device at this moment, whatever is queued.
    /// The caller holds the memory: an address is used again once it is free.
    ///
    /// # Errors
    ///
    /// `device.failed` for what is no memory of a device, or not any more.
    pub fn peek(&self, address: u64, length: u64) -> Result<Vec<u8>> {
        let found = Mapping::of(address, length).zip(usize::try_from(length).ok());
        let ((mapping, start), length) = found.ok_or_else(|| failed("memory"))?;
        let mut bytes = vec![0; length];
        mapping.peek(start, &mut bytes)?;
        Ok(bytes)
    }

    /// How many bytes are allocated on its devices.
    pub fn memory_held(&self) -> u64 {
        let held = |device: &Arc<Simulated>| CAPACITY.saturating_sub(device.capacity.left());
        self.devices.iter().map(held).fold(0, u64::saturating_add)
    }

    /// How many events were made and not released.
    pub fn events_held(&self) -> u64 {
        self.bench.events.load(Ordering::Acquire)
    }

    /// What must not happen and did: memory was released while work used it, an event could
    /// not be waited for, or was released more often than made.
    pub fn faults(&self) -> Vec<&'static str> {
        self.bench.watch.faults()
    }

    /// Lets `judge` decide what becomes of each call from now on. It must not call the
    /// machine.
    ///
    /// # Safety
    ///
    /// Without its waits a device breaks what it promises: whoever skips them keeps everybody
    /// from looking at memory on the host while it is written to, by other means.
    pub unsafe fn interfere(&self, judge: impl FnMut(&Call) -> Verdict + Send + 'static) {
        *locked(&self.bench.interference) = Interference(Some(Box::new(judge)));
    }

    /// Every call does what it is for again.
    pub fn leave_alone(&self) {
        *locked(&self.bench.interference) = Interference(None);
    }
}

impl Bench {
    /// Whether the call's wait is to be left out.
    pub(super) fn skips(&self, act: Act, stream: Option<u64>) -> Result<bool> {
        let verdict = match &mut locked(&self.interference).0 {
            Some(judge) => judge(&Call { act, stream }),
            None => Verdict::Proceed,
        };
        match verdict {
            Verdict::Proceed => Ok(false),
            Verdict::SkipWait => Ok(true),
            Verdict::Fail => Err(failed("call")),
        }
    }

    pub(super) fn event_made(&self) {
        self.events.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn event_released(&self) {
        let less = |events: u64| events.checked_sub(1);
        if self.events.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).is_err() {
            self.watch.fault("an event was released more often than made");
        }
    }
}
