//! The harness: producers held behind gates, and consumers that are watched.
//!
//! A pipeline states its steps once. It is run as it is, and must see the new bytes; and once
//! for each wait that it made with that wait left out, and must see old ones. A gate opens
//! when everybody else sleeps in a wait or has run past it, so that nothing depends on time.
//! Where there are two producers, either may be first.

use std::any::Any;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use hurray_tensor::device::simulated::{Act, Call, Gate, Machine, Verdict};
use hurray_tensor::device::{EventKind, Stream};
use hurray_tensor::format::MemoryClass;
use hurray_tensor::{Alignment, Buffer, BufferMut, DeviceMemory, Held, Offered, Ready};

pub(crate) const LENGTH: u64 = 5000;

/// A test that hangs fails.
pub(crate) const WATCHDOG: Duration = Duration::from_secs(120);

/// What is in memory until the producer has run.
pub(crate) fn old() -> Vec<u8> {
    vec![0; 5000]
}

/// What the producer writes.
pub(crate) fn new() -> Vec<u8> {
    (1..=250).cycle().take(5000).collect()
}

pub(crate) struct Scene {
    pub(crate) machine: Machine,
    /// A stream of the device 0, held by the first gate.
    pub(crate) producer: Stream,
    /// Another, held by the second.
    pub(crate) other_producer: Stream,
    pub(crate) gates: [Gate; 2],
    waits: Arc<Mutex<Waits>>,
    seen: Vec<JoinHandle<Seen>>,
}

/// What a consumer made of the bytes, to be looked at when all is done.
pub(crate) enum Seen {
    /// Bytes that the host saw.
    Bytes(Vec<u8>),
    /// The address of memory that work of a stream wrote, and what keeps it alive.
    Memory(u64, Box<dyn Any + Send>),
}

/// The waits of the consumers, counted.
#[derive(Default)]
struct Waits {
    are_counted: bool,
    count: usize,
    skipped: Option<usize>,
}

impl Waits {
    fn judge(&mut self, act: Act) -> Verdict {
        if !self.are_counted || !matches!(act, Act::StreamWait | Act::HostWait) {
            return Verdict::Proceed;
        }
        let is_skipped = self.skipped == Some(self.count);
        self.count += 1;
        if is_skipped { Verdict::SkipWait } else { Verdict::Proceed }
    }
}

/// Runs the pipeline with all of its waits, and with each of them left out.
pub(crate) fn each_wait_is_needed(waits: usize, steps: fn(&mut Scene)) {
    for first in [0, 1] {
        let (seen, made) = run(None, first, steps);
        assert!(!seen.is_empty());
        for bytes in seen {
            assert_eq!(bytes, new(), "old bytes although everybody waited");
        }
        assert_eq!(made, waits, "the pipeline makes another number of waits");
    }
    for skipped in 0..waits {
        let seen = [0, 1].map(|first| run(Some(skipped), first, steps).0).concat();
        assert!(seen.iter().all(|bytes| *bytes == old() || *bytes == new()));
        assert!(seen.contains(&old()), "nothing depends on the wait {skipped}");
    }
}

/// What the consumers saw, and how many waits there were.
fn run(skipped: Option<usize>, first: usize, steps: fn(&mut Scene)) -> (Vec<Vec<u8>>, usize) {
    let mut scene = Scene::new();
    let waits = Arc::clone(&scene.waits);
    let judge = {
        let waits = Arc::clone(&waits);
        move |call: &Call| waits.lock().unwrap().judge(call.act)
    };
    // SAFETY: what the host sees is copied before a gate is opened, and nobody writes to
    // memory before that.
    unsafe { scene.machine.interfere(judge) };
    *waits.lock().unwrap() = Waits { are_counted: true, count: 0, skipped };
    steps(&mut scene);

    let asleep = scene.machine.settle(WATCHDOG).expect("somebody is neither done nor asleep");
    assert!(asleep.streams.contains(&scene.producer.handle()), "the producer was not held");
    let others = asleep.streams.len() - 2 + asleep.hosts;
    assert!(skipped.is_some() || others > 0, "nobody waited for the producer");
    for gate in [first, 1 - first] {
        scene.gates[gate].open().unwrap();
        assert!(scene.machine.settle(WATCHDOG).is_some(), "somebody is neither done nor asleep");
    }
    assert!(scene.machine.settle(WATCHDOG).unwrap().is_nobody(), "somebody still sleeps");

    let machine = scene.machine.clone();
    let seen = scene.seen.drain(..).map(|step| bytes_of(&machine, step)).collect();
    drop(scene);
    assert_all_released(&machine);
    let count = waits.lock().unwrap().count;
    (seen, count)
}

fn bytes_of(machine: &Machine, step: JoinHandle<Seen>) -> Vec<u8> {
    match step.join().unwrap() {
        Seen::Bytes(bytes) => bytes,
        Seen::Memory(address, _kept) => machine.peek(address, LENGTH).unwrap(),
    }
}

/// Nothing is left of what a test made.
pub(crate) fn assert_all_released(machine: &Machine) {
    assert!(machine.settle(WATCHDOG).unwrap().is_nobody());
    assert_eq!(machine.faults(), [""; 0]);
    assert_eq!(machine.events_held(), 0, "events");
    assert_eq!(machine.memory_held(), 0, "bytes");
}

impl Scene {
    pub(crate) fn new() -> Self {
        let machine = Machine::new(2);
        let device = machine.device(0).unwrap();
        let held = |gate: &Gate| {
            let stream = Stream::open(&device).unwrap();
            gate.hold(&stream).unwrap();
            stream
        };
        let gates = [Gate::new().unwrap(), Gate::new().unwrap()];
        let [producer, other_producer] = gates.each_ref().map(held);
        Self { machine, producer, other_producer, gates, waits: Arc::default(), seen: Vec::new() }
    }

    /// A new stream of that device.
    pub(crate) fn stream(&self, ordinal: u8) -> Stream {
        Stream::open(&self.machine.device(ordinal).unwrap()).unwrap()
    }

    /// Memory with old bytes.
    pub(crate) fn memory(&self, ordinal: u8, class: MemoryClass) -> DeviceMemory {
        self.machine.device(ordinal).unwrap().allocate(LENGTH, Alignment::PAGE, class).unwrap()
    }

    /// Memory that a producer fills when its gate is open, as the producer itself has it.
    pub(crate) fn ready_by(&self, producer: &Stream, class: MemoryClass) -> Ready<Buffer> {
        self.uncounted(|| {
            let source = Ready::everywhere(BufferMut::copy_of(&new()).unwrap().freeze());
            let produced = producer.copy(&source, self.memory(0, class)).unwrap();
            produced.acquire_on(&[producer]).unwrap()
        })
    }

    /// The same of the first producer.
    pub(crate) fn ready(&self, class: MemoryClass) -> Ready<Buffer> {
        self.ready_by(&self.producer, class)
    }

    /// The same, offered to a consumer.
    pub(crate) fn offered(&self, class: MemoryClass, kind: EventKind) -> Offered<Buffer> {
        self.ready(class).offer_after(&self.producer, kind).unwrap()
    }

    fn uncounted<T>(&self, steps: impl FnOnce() -> T) -> T {
        let before = std::mem::take(&mut self.waits.lock().unwrap().are_counted);
        let made = steps();
        self.waits.lock().unwrap().are_counted = before;
        made
    }

    /// A consumer's work: a copy into memory of its own, looked at in the end.
    pub(crate) fn see_on(&mut self, stream: &Stream, ready: &Ready<Buffer>) {
        let ordinal = u8::try_from(stream.device().identity().ordinal).unwrap();
        let memory = self.memory(ordinal, MemoryClass::STANDARD);
        let address = memory.region().address;
        let copy = stream.copy(ready, memory).unwrap();
        self.see(move || Seen::Memory(address, Box::new(copy)));
    }

    /// What a thread of the host makes of it.
    pub(crate) fn see(&mut self, step: impl FnOnce() -> Seen + Send + 'static) {
        self.seen.push(self.machine.spawn(step).unwrap());
    }

    /// The bytes that the host sees as soon as it has acquired them.
    pub(crate) fn see_on_host<T>(&mut self, offered: Offered<T>)
    where
        T: Held<OnHost: AsRef<[u8]>>,
    {
        self.see(move || Seen::Bytes(offered.acquire_host().unwrap().as_ref().to_vec()));
    }
}
