//! A consumer in another process: memory and events go over a Unix socket as file descriptors.
//!
//! The other process is this very test once more, told by its environment to be the consumer.

use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use hurray_tensor::device::simulated::{Act, Call, HOST_VISIBLE, Machine, Verdict};
use hurray_tensor::device::{Devices, EventKind, ExportedMemory, Stream};
use hurray_tensor::format::{DeviceTag, MemoryClass, Rule, SyncMode};
use hurray_tensor::{Alignment, Buffer, Crossing, ExportedBuffer, Offered};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use crate::scene::{LENGTH, Scene, WATCHDOG, assert_all_released, new, old};

const STANDARD: MemoryClass = MemoryClass::STANDARD;

/// Set for the consumer's process: whether its waits are skipped.
const ROLE: &str = "HURRAY_TEST_CONSUMER_SKIPS";

#[test]
fn another_process_waits_for_an_event() {
    if let Ok(skips) = std::env::var(ROLE) {
        return consume(skips == "true");
    }
    for class in [STANDARD, HOST_VISIBLE] {
        for kind in [EventKind::Binary, EventKind::MultiWait] {
            for skips in [false, true] {
                let scene = Scene::new();
                let offered = scene.offered(class, kind);
                let mut exports = offered.into_exports(&scene.machine.devices()).unwrap();
                assert_eq!(exports.crossings, [Crossing::EventExported]);
                assert!(exports.buffers[0].event.is_some());
                let mut consumer = Consumer::start("another_process_waits_for_an_event", skips);
                consumer.send(exports.buffers.remove(0));
                // The consumer has what it needs: nothing here has to stay.
                drop(exports);
                assert_eq!(consumer.state(), if skips { PAST } else { ASLEEP });
                let machine = scene.open_and_drop();
                assert_eq!(consumer.bytes(), if skips { old() } else { new() });
                assert_all_released(&machine);
            }
        }
    }
}

/// Where the device cannot export what is to be waited for, the producer waits by itself before
/// anything is sent, and says so.
#[test]
fn the_producer_waits_for_another_process_where_it_must() {
    if let Ok(skips) = std::env::var(ROLE) {
        return consume(skips == "true");
    }
    type Offer = fn(&Scene) -> Offered<Buffer>;
    let offers: [(Offer, Crossing); 2] = [
        (|scene| scene.offered(STANDARD, EventKind::Timeline), Crossing::WaitedForEvent),
        (
            |scene| {
                let declared = scene.stream(0);
                scene.ready(STANDARD).offer_on(&scene.producer, &declared).unwrap()
            },
            Crossing::WaitedForStream,
        ),
    ];
    for (offer, crossing) in offers {
        for skips in [false, true] {
            let scene = Scene::new();
            let offered = offer(&scene);
            let devices = scene.machine.devices();
            let judge = move |call: &Call| match call.act {
                Act::HostWait if skips => Verdict::SkipWait,
                _ => Verdict::Proceed,
            };
            // SAFETY: the host of this process looks at no memory.
            unsafe { scene.machine.interfere(judge) };
            let exporting = move || offered.into_exports(&devices).unwrap();
            let exporting = scene.machine.spawn(exporting).unwrap();
            assert_eq!(scene.machine.settle(WATCHDOG).unwrap().hosts, usize::from(!skips));
            if !skips {
                scene.gates[0].open().unwrap();
            }
            let mut exports = exporting.join().unwrap();
            assert_eq!(exports.crossings, [crossing]);
            assert!(exports.buffers[0].event.is_none());
            let name = "the_producer_waits_for_another_process_where_it_must";
            let mut consumer = Consumer::start(name, false);
            consumer.send(exports.buffers.remove(0));
            drop(exports);
            assert_eq!(consumer.state(), PAST, "there is nothing to wait for");
            let machine = scene.open_and_drop();
            assert_eq!(consumer.bytes(), if skips { old() } else { new() });
            assert_all_released(&machine);
        }
    }
}

/// What need not be waited for crosses as it is; what cannot cross is refused, not copied.
#[test]
fn what_crosses_is_said() {
    let scene = Scene::new();
    let devices = scene.machine.devices();
    let whole = Offered::synced(scene.memory(0, STANDARD).freeze());
    let exports = whole.into_exports(&devices).unwrap();
    assert_eq!(exports.crossings, [Crossing::Synced]);
    let [exported] = <[_; 1]>::try_from(exports.buffers).unwrap();
    assert!(exported.event.is_none());
    let imported = exported.import(&devices).unwrap();
    assert_eq!(imported.sync_mode(0), SyncMode::PRODUCER_SYNCED);
    assert_eq!(imported.byte_size(), LENGTH);

    let host = Offered::synced(Buffer::from_owner(vec![1; 64]).unwrap());
    let refused = host.into_exports(&devices).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::DeviceExport));
    let stranger = Offered::synced(scene.memory(0, STANDARD).freeze());
    let refused = stranger.into_exports(&Devices::default()).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::SyncDeviceUnknown));

    // And on the other side.
    let whole = Offered::synced(scene.memory(1, STANDARD).freeze());
    let mut exports = whole.into_exports(&devices).unwrap();
    let refused = exports.buffers.remove(0).import(&Devices::default()).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::SyncDeviceUnknown));
}

impl Scene {
    /// Lets the producers run to their end, and releases all that the scene has.
    fn open_and_drop(self) -> Machine {
        for gate in &self.gates {
            gate.open().unwrap();
        }
        assert!(self.machine.settle(WATCHDOG).unwrap().is_nobody());
        self.machine.clone()
    }
}

/// What the consumer says once its work is queued: that it sleeps in a wait, or has run past.
const ASLEEP: u8 = b'a';
const PAST: u8 = b'p';

/// The other process, as the producer sees it.
struct Consumer {
    socket: UnixStream,
    process: Child,
}

impl Consumer {
    fn start(test: &str, skips: bool) -> Self {
        let (socket, theirs) = UnixStream::pair().unwrap();
        socket.set_read_timeout(Some(WATCHDOG)).unwrap();
        let process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture"])
            .arg(format!("crossing::{test}"))
            .env(ROLE, skips.to_string())
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self { socket, process }
    }

    fn send(&mut self, exported: ExportedBuffer) {
        let ExportedBuffer { device, uuid, memory, event } = exported;
        let mut message = [0; MESSAGE];
        message[0] = device.tag();
        message[1] = memory.class.tag();
        message[2] = event.as_ref().map_or(0, |(_, kind)| *kind as u8);
        message[8..24].copy_from_slice(&uuid);
        message[24..32].copy_from_slice(&memory.offset.to_le_bytes());
        message[32..40].copy_from_slice(&memory.length.to_le_bytes());
        let event = event.map(|(handle, _)| handle);
        let mut handles = vec![memory.handle.as_ref().unwrap().as_fd()];
        handles.extend(event.as_ref().map(AsFd::as_fd));
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&handles)));
        let parts = [IoSlice::new(&message)];
        let sent = sendmsg(&self.socket, &parts, &mut control, SendFlags::empty());
        assert_eq!(sent, Ok(MESSAGE));
    }

    fn state(&mut self) -> u8 {
        let mut state = [0];
        self.socket.read_exact(&mut state).unwrap();
        state[0]
    }

    /// What the consumer's work saw, once all of it is done.
    fn bytes(mut self) -> Vec<u8> {
        self.socket.write_all(b"g").unwrap();
        let mut bytes = old();
        self.socket.read_exact(&mut bytes).unwrap();
        assert!(self.process.wait().unwrap().success());
        bytes
    }
}

const MESSAGE: usize = 40;

fn receive(socket: &UnixStream) -> ExportedBuffer {
    let mut message = [0; MESSAGE];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(&mut message)];
    let received = recvmsg(socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC).unwrap();
    assert_eq!(received.bytes, MESSAGE);
    let mut handles = Vec::new();
    for part in control.drain() {
        if let RecvAncillaryMessage::ScmRights(files) = part {
            handles.extend(files);
        }
    }
    let mut handles = handles.into_iter();
    let number = |at: usize| u64::from_le_bytes(message[at..at + 8].try_into().unwrap());
    let memory = ExportedMemory {
        handle: handles.next(),
        offset: number(24),
        length: number(32),
        class: MemoryClass::from_tag(message[1]),
    };
    let kinds = [EventKind::Binary, EventKind::Timeline, EventKind::MultiWait];
    let kind = kinds.into_iter().find(|kind| *kind as u8 == message[2]);
    let event = handles.next().zip(kind);
    let uuid = message[8..24].try_into().unwrap();
    ExportedBuffer { device: DeviceTag::from_tag(message[0]), uuid, memory, event }
}

/// The consumer: takes what comes, queues a copy behind its wait, says where it is, and, when
/// the producer is done, what it saw.
fn consume(skips: bool) {
    let mut socket = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned().unwrap());
    socket.set_read_timeout(Some(WATCHDOG)).unwrap();
    let machine = Machine::new(1);
    if skips {
        let judge = |call: &Call| match call.act {
            Act::StreamWait => Verdict::SkipWait,
            _ => Verdict::Proceed,
        };
        // SAFETY: the host looks at no memory that is written to.
        unsafe { machine.interfere(judge) };
    }
    let offered = receive(&socket).import(&machine.devices()).unwrap();
    let is_host_visible = offered.class() == HOST_VISIBLE;
    // The producer may still write, and the host gives out no slices of that.
    let expected = if is_host_visible { Rule::MemoryMayChange } else { Rule::MemoryNotHost };
    assert_eq!(offered.check_host().unwrap_err().rule(), Some(expected));
    let stream = Stream::open(&machine.device(0).unwrap()).unwrap();
    let ready = offered.acquire_on(&[&stream]).unwrap();
    let memory = stream.device().allocate(LENGTH, Alignment::PAGE, STANDARD).unwrap();
    let address = memory.region().address;
    let copy = stream.copy(&ready, memory).unwrap();
    drop(ready);
    let asleep = machine.settle(WATCHDOG).unwrap();
    socket.write_all(&[if asleep.is_nobody() { PAST } else { ASLEEP }]).unwrap();
    socket.read_exact(&mut [0]).unwrap();
    assert!(machine.settle(WATCHDOG).unwrap().is_nobody());
    socket.write_all(&machine.peek(address, LENGTH).unwrap()).unwrap();
    drop(copy);
    assert_all_released(&machine);
}
