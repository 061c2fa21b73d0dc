//! Simulated devices: as they are, and with waits left out.

#![allow(unsafe_code, reason = "waits are left out on purpose")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hurray_tensor::device::conformance::{Backend, CASES, Case, Open, Step, check};
use hurray_tensor::device::simulated::{Act, Call, Gate, Machine, Verdict};
use hurray_tensor::device::{Device, Stream};

/// A test that hangs fails.
const WATCHDOG: Duration = Duration::from_secs(120);

#[test]
fn each_simulated_device_is_one() {
    let machine = Machine::new(3);
    for ordinal in 0..3 {
        check(&Simulated { ordinal, ..Simulated::of(&machine) });
    }
    assert_nothing_left(&machine);
    assert_eq!(machine.faults(), [""; 0]);
}

/// While a check holds a stream, each wait for it keeps something from running that the check
/// looks at: leave one out, and the check fails.
#[test]
fn each_wait_is_needed() {
    let is_wait = |act| matches!(act, Act::StreamWait | Act::HostWait);
    let waiting = CASES.iter().filter_map(|(name, case)| {
        let waits = run(*case, is_wait, Skipped::None).unwrap_or_else(|()| panic!("{name}"));
        for wait in 0..waits {
            let found_out = run(*case, is_wait, Skipped::One(wait)).is_err();
            assert!(found_out, "{name} passes without its wait {wait}");
        }
        (waits > 0).then_some((*name, waits))
    });
    let expected = [
        // For each kind of event,
        ("events_are_released_and_forgotten", 3),
        // by two streams,
        ("makes_streams_wait", 6),
        ("makes_the_host_wait", 3),
        // and for each that can be exported.
        ("events_cross_processes", 2),
    ];
    assert_eq!(waiting.collect::<Vec<_>>(), expected);
}

/// Calls wait for what was queued before them: run one at once, and the check fails.
#[test]
fn each_call_waits() {
    for (name, calls) in [
        ("settles_when_all_that_can_run_has", 1),
        ("runs_calls_once_and_in_order", 102),
        ("closes_streams_with_work_in_them", 20),
    ] {
        let (_, case) = CASES.iter().find(|(known, _)| *known == name).unwrap();
        assert_eq!(run(*case, is_call, Skipped::None), Ok(calls), "{name}");
        for call in 0..calls {
            assert!(run(*case, is_call, Skipped::One(call)).is_err(), "{name}, call {call}");
        }
    }
}

/// Memory is held by several calls; without any of them it is not.
#[test]
fn memory_that_nothing_holds_is_found_out() {
    let name = "memory_is_held_until_work_is_done";
    let (_, case) = CASES.iter().find(|(known, _)| *known == name).unwrap();
    assert!(run(*case, is_call, Skipped::None).is_ok());
    assert!(run(*case, is_call, Skipped::All).is_err());
}

fn is_call(act: Act) -> bool {
    act == Act::Call
}

/// Which of the waits that are made while a stream is held is left out.
#[derive(Clone, Copy, PartialEq)]
enum Skipped {
    None,
    One(usize),
    All,
}

/// Runs a check; how many of those waits there were, or that it failed.
fn run(case: Case, is_wait: fn(Act) -> bool, skipped: Skipped) -> Result<usize, ()> {
    let machine = Machine::new(1);
    let backend = Simulated::of(&machine);
    let waits = Arc::clone(&backend.waits);
    let judge = move |call: &Call| {
        let mut waits = waits.lock().unwrap();
        // What waits on the held stream itself is behind what holds it.
        let of_others = |held| call.act == Act::Call || call.stream != Some(held);
        if !waits.held.is_some_and(of_others) || !is_wait(call.act) {
            return Verdict::Proceed;
        }
        let is_skipped = skipped == Skipped::All || skipped == Skipped::One(waits.count);
        waits.count += 1;
        if is_skipped { Verdict::SkipWait } else { Verdict::Proceed }
    };
    // SAFETY: a check that finds out that a wait is missing does so before it lets go of the
    // stream, and looks at no memory on the host before that.
    unsafe { machine.interfere(judge) };
    let passed = catch_unwind(AssertUnwindSafe(|| case(&backend)));
    assert_nothing_left(&machine);
    let count = backend.waits.lock().unwrap().count;
    passed.map(|()| count).map_err(drop)
}

/// Also where a check has failed.
fn assert_nothing_left(machine: &Machine) {
    assert!(machine.settle(WATCHDOG).unwrap().is_nobody());
    assert_eq!((machine.memory_held(), machine.events_held()), (0, 0));
}

struct Simulated {
    machine: Machine,
    ordinal: u8,
    waits: Arc<Mutex<Waits>>,
}

/// Waits that are made while a stream is held.
#[derive(Default)]
struct Waits {
    held: Option<u64>,
    count: usize,
}

impl Simulated {
    fn of(machine: &Machine) -> Self {
        Self { machine: machine.clone(), ordinal: 0, waits: Arc::default() }
    }
}

impl Backend for Simulated {
    fn device(&self) -> Arc<dyn Device> {
        self.machine.device(self.ordinal).unwrap()
    }

    fn hold(&self, stream: &Stream) -> Option<Open> {
        let gate = Gate::new().unwrap();
        // The gate's own wait is none of the check's.
        gate.hold(stream).unwrap();
        self.waits.lock().unwrap().held = Some(stream.handle());
        let waits = Arc::clone(&self.waits);
        Some(Box::new(move || {
            waits.lock().unwrap().held = None;
            gate.open().unwrap();
        }))
    }

    fn spawn(&self, step: Step) {
        drop(self.machine.spawn(step).unwrap());
    }

    fn settle(&self) {
        self.machine.settle(WATCHDOG).expect("something neither ends nor sleeps");
    }
}
