//! What simulated devices are made of: files, event descriptors and threads of the kernel.

#![cfg(target_os = "linux")]
#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail loudly"
)]
#![allow(unsafe_code, reason = "events are made, and memory is mapped, as other programs do it")]

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hurray_tensor::device::simulated::{CAPACITY, Gate, HOST_VISIBLE, Machine, PEER, TAG, Verdict};
use hurray_tensor::device::{Device, Event, EventKind, ExportedMemory, RawEvent, Stream};
use hurray_tensor::format::{MemoryClass, Rule};
use hurray_tensor::{Alignment, Buffer, BufferMut, Offered, Ready};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::{MemfdFlags, SealFlags};

const STANDARD: MemoryClass = MemoryClass::STANDARD;
const WATCHDOG: Duration = Duration::from_secs(120);

fn device() -> (Machine, Arc<dyn Device>, Stream) {
    let machine = Machine::new(1);
    let device = machine.device(0).unwrap();
    let stream = Stream::open(&device).unwrap();
    (machine, device, stream)
}

#[test]
fn a_device_is_the_same_to_every_machine() {
    let (one, two) = (Machine::new(3), Machine::new(3));
    let mut seen = Vec::new();
    for ordinal in 0..3 {
        let device = one.device(ordinal).unwrap();
        let identity = device.identity();
        assert_eq!(identity, two.device(ordinal).unwrap().identity());
        assert_eq!((identity.tag, identity.ordinal), (TAG, i64::from(ordinal)));
        assert!(!seen.contains(&identity.uuid));
        seen.push(identity.uuid);
        let devices = one.devices();
        // By either of its numbers, and by none only where it is the only one.
        for (ordinal, uuid) in [(-1, identity.uuid), (identity.ordinal, [0; 16])] {
            let found = devices.find(TAG, ordinal, &uuid).unwrap();
            assert_eq!(found.identity(), identity);
        }
        assert!(devices.find(TAG, -1, &[0; 16]).is_none());
        assert!(Machine::new(1).devices().find(TAG, -1, &[0; 16]).is_some());
    }
    assert_eq!(one.device(3).unwrap_err().rule(), Some(Rule::SyncDeviceUnknown));
}

/// An event of another process that turns out to be none: what was to wait for it is not done.
#[test]
fn nothing_is_copied_behind_a_wait_that_failed() {
    let (machine, device, stream) = device();
    let mut ones = device.allocate(64, Alignment::PAGE, HOST_VISIBLE).unwrap().freeze();
    let mut memory = ones.try_into_mut().unwrap();
    memory.fill(1);
    ones = memory.freeze();
    let mut exports = Offered::synced(ones).into_exports(&machine.devices()).unwrap();
    let mut exported = exports.buffers.remove(0);
    let no_event = rustix::event::epoll::create(rustix::event::epoll::CreateFlags::CLOEXEC);
    exported.event = Some((no_event.unwrap(), EventKind::Binary));
    let offered = exported.import(&machine.devices()).unwrap();

    let gate = Gate::new().unwrap();
    gate.hold(&stream).unwrap();
    let ready = offered.acquire_on(&[&stream]).unwrap();
    let into = device.allocate(64, Alignment::PAGE, HOST_VISIBLE).unwrap();
    let copied = stream.copy(&ready, into).unwrap();
    gate.open().unwrap();
    assert_eq!(copied.acquire_host().unwrap()[..], [0; 64]);
    assert_eq!(machine.faults(), ["an event could not be waited for"]);
}

#[test]
fn a_device_has_an_end() {
    let (machine, device, _) = device();
    let most = device.allocate(CAPACITY - 4096, Alignment::LINE, PEER).unwrap();
    assert_eq!(machine.memory_held(), CAPACITY - 4096);
    assert!(device.allocate(4097, Alignment::LINE, STANDARD).is_err());
    drop(device.allocate(4096, Alignment::LINE, STANDARD).unwrap());
    drop(most);
    assert_eq!(machine.memory_held(), 0);
}

/// The descriptor that is an event's number.
fn descriptor(event: &Event) -> BorrowedFd<'_> {
    let number = i32::try_from(event.raw().handle).unwrap();
    // SAFETY: the event keeps it open.
    unsafe { BorrowedFd::borrow_raw(number) }
}

fn is_readable(file: impl AsFd, timeout: Option<&Timespec>) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(file.as_fd(), PollFlags::IN)];
    poll(&mut polled, timeout).unwrap() == 1
}

const NOW: Option<&Timespec> = Some(&Timespec { tv_sec: 0, tv_nsec: 0 });

/// Another library of the process waits for an event by its number alone.
#[test]
fn others_wait_for_an_event_by_its_number() {
    let (_machine, _device, stream) = device();
    for kind in [EventKind::MultiWait, EventKind::Binary] {
        let gate = Gate::new().unwrap();
        gate.hold(&stream).unwrap();
        let mut event = stream.record(kind).unwrap();
        assert!(!is_readable(descriptor(&event), NOW));
        gate.open().unwrap();
        assert!(is_readable(descriptor(&event), None));
        // A multi-wait event stays complete; the one wait of a binary event uses it up.
        event.wait().unwrap();
        assert_eq!(is_readable(descriptor(&event), NOW), kind == EventKind::MultiWait);
    }
}

/// And signals one that streams and the host wait for.
#[test]
fn others_make_and_signal_events() {
    let (machine, device, stream) = device();
    for kind in [EventKind::MultiWait, EventKind::Binary] {
        // As a C program does: blocking, and kept by itself.
        let theirs = eventfd(0, EventfdFlags::empty()).unwrap();
        let released = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&released);
        let release = move || {
            count.fetch_add(1, Ordering::SeqCst);
        };
        let handle = u64::try_from(theirs.as_raw_fd()).unwrap();
        let raw = RawEvent { kind, handle, value: 0 };
        // SAFETY: it is open until the end of the test.
        let event = unsafe { Event::borrow_until(release, TAG, Some(Arc::clone(&device)), raw) };
        let memory = device.allocate(64, Alignment::LINE, STANDARD).unwrap();
        let offered = Offered::after(memory.freeze(), event);
        let ready = offered.acquire_on(&[&stream]).unwrap();
        assert_eq!(released.load(Ordering::SeqCst), 1, "as soon as the wait is queued");
        let asleep = machine.settle(WATCHDOG).unwrap();
        assert_eq!(asleep.streams, [stream.handle()]);
        rustix::io::write(&theirs, &1_u64.to_ne_bytes()).unwrap();
        drop(ready.finish().unwrap());
        assert!(machine.settle(WATCHDOG).unwrap().is_nobody());
        assert_eq!(is_readable(&theirs, NOW), kind == EventKind::MultiWait);
    }
}

#[test]
fn a_timeline_stays_in_its_process() {
    let (_machine, device, stream) = device();
    let event = stream.record(EventKind::Timeline).unwrap();
    // SAFETY: the event is open while it is held.
    let refused = unsafe { device.export_event(event.raw()) }.unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::DeviceExport));
    let other = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
    let refused = device.import_event(other, EventKind::Timeline).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::DeviceExport));
    // Values are waited for one by one.
    let gate = Gate::new().unwrap();
    let mut first = stream.record(EventKind::Timeline).unwrap();
    gate.hold(&stream).unwrap();
    let second = stream.record(EventKind::Timeline).unwrap();
    assert_eq!(first.raw().handle, second.raw().handle);
    assert_eq!(first.raw().value + 1, second.raw().value);
    first.wait().unwrap();
}

/// What is no event is not taken for one: a file or a pipe could say that it is complete.
#[test]
fn only_events_are_imported_as_events() {
    let (machine, device, _) = device();
    let (pipe, _writer) = std::io::pipe().unwrap();
    let file = tempfile::tempfile().unwrap();
    let socket = std::os::unix::net::UnixDatagram::unbound().unwrap();
    let handles = [OwnedFd::from(pipe), OwnedFd::from(file), OwnedFd::from(socket)];
    for handle in handles {
        let refused = device.import_event(handle, EventKind::MultiWait).unwrap_err();
        assert_eq!(refused.rule(), Some(Rule::DeviceImport));
    }
    assert_eq!(machine.events_held(), 0);
}

/// A handle that is not open, or stands for nothing, is an error where that can be seen.
#[test]
fn numbers_that_mean_nothing_fail() {
    let (_machine, device, stream) = device();
    let timeline = RawEvent { kind: EventKind::Timeline, handle: u64::MAX, value: 1 };
    let event = RawEvent { kind: EventKind::Binary, handle: u64::MAX, value: 0 };
    for raw in [timeline, event] {
        // SAFETY: what is no event of the device is looked up, and found to be none.
        let refused = unsafe { device.wait(stream.handle(), raw) }.unwrap_err();
        assert_eq!(refused.rule(), Some(Rule::DeviceFailed));
        // SAFETY: as above.
        let refused = unsafe { device.wait_on_host(raw) }.unwrap_err();
        assert_eq!(refused.rule(), Some(Rule::DeviceFailed));
    }
    // SAFETY: as above; the call is dropped.
    let refused = unsafe { device.call(u64::MAX, Box::new(|| ())) }.unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::DeviceFailed));
    // SAFETY: as above.
    unsafe { device.close_stream(u64::MAX) };
    // SAFETY: as above.
    let refused = unsafe { device.record(u64::MAX, EventKind::Binary) }.unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::DeviceFailed));
}

/// A memory file, as another program makes one.
fn file(bytes: &[u8], seals: SealFlags) -> OwnedFd {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = rustix::fs::memfd_create("theirs", flags).unwrap();
    assert_eq!(rustix::io::write(&file, bytes), Ok(bytes.len()));
    rustix::fs::fcntl_add_seals(&file, seals).unwrap();
    file
}

fn import(
    device: &Arc<dyn Device>,
    handle: OwnedFd,
    offset: u64,
    length: u64,
) -> hurray_tensor::Result<Buffer> {
    let handle = Some(handle);
    device.import_memory(ExportedMemory { handle, offset, length, class: HOST_VISIBLE })
}

#[test]
fn memory_that_is_sealed_is_looked_at() {
    let (_machine, device, _) = device();
    let bytes: Vec<u8> = (1..=200).cycle().take(70_000).collect();
    let sealed = SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    for offset in [0, 64, 4096, 65_536, 66_001] {
        let buffer = import(&device, file(&bytes, sealed), offset, 999).unwrap();
        let start = usize::try_from(offset).unwrap();
        let lead = usize::try_from(buffer.lead()).unwrap();
        assert_eq!(lead, start % 64);
        let host = buffer.into_host().unwrap();
        assert_eq!(*host, bytes[start..start + 999]);
        let refused = host.into_buffer().try_into_mut().unwrap_err().error;
        assert_eq!(refused.rule(), Some(Rule::MemoryReadOnly));
    }
    let empty = import(&device, file(&bytes, sealed), 0, 0).unwrap();
    assert!(empty.host_bytes().unwrap().is_empty());
}

#[test]
fn memory_that_others_can_write_to_is_copied_out() {
    let (_machine, device, stream) = device();
    let theirs = file(&[7; 128], SealFlags::SHRINK);
    let buffer = import(&device, theirs.try_clone().unwrap(), 0, 128).unwrap();
    assert_eq!(buffer.host_bytes().unwrap_err().rule(), Some(Rule::MemoryMayChange));
    assert_eq!(rustix::io::pwrite(&theirs, &[8; 128], 0), Ok(128));
    let host = BufferMut::zeroed(128).unwrap();
    let copy = stream.copy(&Ready::everywhere(buffer), host.into()).unwrap();
    assert_eq!(*copy.acquire_host().unwrap(), [8; 128]);
}

/// Nothing that a stranger sends can end the process, or show it what it was not given.
#[test]
fn memory_of_strangers_is_checked() {
    let (_machine, device, _) = device();
    let refused = |handle, offset, length| {
        let refused = import(&device, handle, offset, length).unwrap_err();
        refused.rule().unwrap()
    };
    let fixed = SealFlags::SHRINK;
    // It could be cut short while it is read.
    assert_eq!(refused(file(&[1; 64], SealFlags::GROW), 0, 64), Rule::DeviceImport);
    let (pipe, _writer) = std::io::pipe().unwrap();
    assert_eq!(refused(pipe.into(), 0, 64), Rule::DeviceImport);
    assert_eq!(refused(tempfile::tempfile().unwrap().into(), 0, 64), Rule::DeviceImport);
    for (offset, length) in [(0, 65), (1, 64), (64, 1), (u64::MAX, 1), (1, u64::MAX)] {
        assert_eq!(refused(file(&[1; 64], fixed), offset, length), Rule::MemorySize);
    }
    let exported = ExportedMemory {
        handle: Some(file(&[1; 64], fixed)),
        offset: 0,
        length: 64,
        class: MemoryClass::PEER,
    };
    let refused = device.import_memory(exported).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::DeviceClass));
}

/// Whoever takes exported memory can read it, and has no way to write to it.
#[test]
fn exported_memory_is_not_written_to_by_others() {
    let (_machine, device, _) = device();
    let buffer = device.allocate(4096, Alignment::PAGE, HOST_VISIBLE).unwrap().freeze();
    let exported = device.export_memory(&buffer).unwrap();
    let handle = exported.handle.as_ref().unwrap();
    assert!(rustix::io::pwrite(handle, &[1], 0).is_err());
    assert!(rustix::fs::ftruncate(handle, 0).is_err());
    assert!(rustix::fs::ftruncate(handle, 1 << 20).is_err());
    let (read, write) = (rustix::mm::ProtFlags::READ, rustix::mm::ProtFlags::WRITE);
    let shared = rustix::mm::MapFlags::SHARED;
    let nowhere = std::ptr::null_mut();
    // SAFETY: the system chooses a place where nothing is, or refuses.
    let mapped = unsafe { rustix::mm::mmap(nowhere, 4096, read | write, shared, handle, 0) };
    assert!(mapped.is_err());
    // Here it is still what it was.
    let place = buffer.host_bytes().unwrap().as_ptr();
    let mut memory = buffer.try_into_mut().unwrap();
    memory[0] = 9;
    let imported = device.import_memory(exported).unwrap();
    assert!(imported.region().may_change);
    let buffer = memory.freeze();
    assert_eq!(buffer.host_bytes().unwrap().as_ptr(), place);
}

/// The thread of a stream, by its name in the kernel.
fn thread_of(stream: u64) -> Option<PathBuf> {
    let name = format!("stream {stream}\n");
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    threads.map(|thread| thread.unwrap().path()).find(|thread| {
        std::fs::read_to_string(thread.join("comm")).is_ok_and(|found| found == name)
    })
}

/// Waits for something that comes by itself.
fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + WATCHDOG;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_stream_sleeps_in_the_kernel_while_it_waits_and_ends_when_it_is_closed() {
    let (machine, _device, stream) = device();
    let gate = Gate::new().unwrap();
    gate.hold(&stream).unwrap();
    assert_eq!(machine.settle(WATCHDOG).unwrap().streams, [stream.handle()]);
    let handle = stream.handle();
    let thread = thread_of(handle).unwrap();
    let is_asleep = || {
        let state = std::fs::read_to_string(thread.join("stat")).unwrap();
        state.rsplit(')').next().unwrap().trim_start().starts_with('S')
    };
    eventually("a waiting stream is busy", is_asleep);
    drop(stream);
    assert!(thread_of(handle).is_some(), "work is left in the queue");
    gate.open().unwrap();
    eventually("the thread of a closed stream goes on", || thread_of(handle).is_none());
}

/// A judge that panics breaks the call it judged, and nothing behind it.
#[test]
fn a_panic_under_a_lock_is_no_end() {
    let (machine, _device, stream) = device();
    // SAFETY: nothing is skipped.
    unsafe {
        machine.interfere(|_| -> Verdict { std::panic::resume_unwind(Box::new("on purpose")) });
    }
    let judged = stream.clone();
    std::thread::spawn(move || judged.synchronize()).join().unwrap_err();
    machine.leave_alone();
    stream.synchronize().unwrap();
}

/// A stream may be closed by its own work.
#[test]
fn a_stream_is_closed_by_its_own_work() {
    let (machine, device, stream) = device();
    let handle = stream.handle();
    let held = stream.clone();
    stream.hold(held).unwrap();
    drop(stream);
    assert!(machine.settle(WATCHDOG).unwrap().is_nobody());
    eventually("the thread of a closed stream goes on", || thread_of(handle).is_none());
    // SAFETY: it is no stream any more, which is found out.
    let refused = unsafe { device.record(handle, EventKind::Binary) }.unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::DeviceFailed));
}

/// A host that waits while a stream's work waits too is seen, whoever it is.
#[test]
fn everybody_who_sleeps_is_seen() {
    let (machine, device, stream) = device();
    let gate = Gate::new().unwrap();
    gate.hold(&stream).unwrap();
    let mut event = gate.event(&device).unwrap();
    let host = machine.spawn(move || event.wait()).unwrap();
    let asleep = machine.settle(WATCHDOG).unwrap();
    assert_eq!((asleep.streams.as_slice(), asleep.hosts), (&[stream.handle()][..], 1));
    assert!(!asleep.is_nobody());
    // Somebody who is at work, and not asleep, is waited for.
    let (let_go, held) = std::sync::mpsc::channel::<()>();
    let busy = machine.spawn(move || held.recv()).unwrap();
    assert_eq!(machine.settle(Duration::from_millis(1)), None);
    let_go.send(()).unwrap();
    busy.join().unwrap().unwrap();
    gate.open().unwrap();
    host.join().unwrap().unwrap();
    assert!(machine.settle(WATCHDOG).unwrap().is_nobody());
}

#[test]
fn a_binary_event_is_used_up_by_one_wait_whichever_process_has_it() {
    let (machine, device, stream) = device();
    let event = stream.record(EventKind::Binary).unwrap();
    stream.synchronize().unwrap();
    // SAFETY: the event is open while it is held.
    let exported = unsafe { device.export_event(event.raw()) }.unwrap();
    let raw = device.import_event(exported, EventKind::Binary).unwrap();
    // SAFETY: it was imported for us.
    let mut imported = unsafe { Event::adopt(Arc::clone(&device), raw) };
    imported.wait().unwrap();
    assert!(!is_readable(descriptor(&event), NOW));
    drop((event, imported));
    assert_eq!(machine.events_held(), 0);
}
