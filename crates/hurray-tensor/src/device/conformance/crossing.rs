//! What a device hands to other processes. Both ends are in this one here.

use std::sync::Arc;

use hurray_format::{MemoryClass, Rule};

use super::held::Held;
use super::{Backend, filled, kinds, pattern, read_back, stream};
use crate::buffer::Buffer;
use crate::device::{Device, Event, EventKind, ExportedMemory, Stream};
use crate::error::Result;
use crate::memory::Alignment;

/// Whether it was done: a device that cannot says so, and nothing else.
fn done<T>(result: Result<T>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            assert_eq!(error.rule(), Some(Rule::DeviceExport), "{error}");
            None
        }
    }
}

/// Memory that is exported is the same memory where it is imported, as long as it is there
/// and no longer than it is.
pub fn memory_crosses_processes(backend: &dyn Backend) {
    let device = backend.device();
    let stream = stream(&device);
    for class in device.classes() {
        let bytes = pattern(10_000);
        let buffer = filled(&stream, *class, &bytes);
        let Some(exported) = done(device.export_memory(&buffer)) else {
            continue;
        };
        assert_eq!((exported.length, exported.class), (buffer.byte_size(), *class));
        let imported = device.import_memory(exported).unwrap();
        check_imported(&device, &stream, *class, &imported, &bytes);
        // It is memory, and not a view of the exporter's.
        let part = buffer.slice(640..9000).unwrap();
        let exported = device.export_memory(&part).unwrap();
        drop((buffer, part));
        let part = device.import_memory(exported).unwrap();
        check_imported(&device, &stream, *class, &part, &bytes[640..9000]);
        // And it can be handed on.
        let again = device.import_memory(device.export_memory(&part).unwrap()).unwrap();
        check_imported(&device, &stream, *class, &again, &bytes[640..9000]);
        lies_are_refused(&device, &imported);
        no_bytes_cross(&device, *class);
    }
}

fn no_bytes_cross(device: &Arc<dyn Device>, class: MemoryClass) {
    let empty = device.allocate(0, Alignment::LINE, class).unwrap().freeze();
    let exported = device.export_memory(&empty).unwrap();
    assert_eq!((exported.length, exported.handle.is_some()), (0, false));
    let imported = device.import_memory(exported).unwrap();
    assert!(imported.is_empty() && device.identity().owns(&imported.region()));
    assert_eq!(imported.class(), class);
}

fn check_imported(
    device: &Arc<dyn Device>,
    stream: &Stream,
    class: MemoryClass,
    imported: &Buffer,
    bytes: &[u8],
) {
    assert!(device.identity().owns(&imported.region()));
    assert_eq!(imported.class(), class);
    assert!(!imported.is_writable(), "what another process gave is not written to");
    assert_eq!(*read_back(stream, imported), *bytes);
    let rule = match imported.host_bytes() {
        Ok(host) => {
            assert_eq!(host, bytes);
            None
        }
        Err(error) => error.rule(),
    };
    let expected = match (device.host_can_read(class), imported.region().may_change) {
        (false, _) => Some(Rule::MemoryNotHost),
        (true, true) => Some(Rule::MemoryMayChange),
        (true, false) => None,
    };
    assert_eq!(rule, expected, "{class}");
}

fn lies_are_refused(device: &Arc<dyn Device>, buffer: &Buffer) {
    let lie = |change: &dyn Fn(&mut ExportedMemory)| {
        let mut exported = device.export_memory(buffer).unwrap();
        change(&mut exported);
        device.import_memory(exported).unwrap_err().rule()
    };
    assert_eq!(lie(&|memory| memory.length = 1 << 40), Some(Rule::MemorySize));
    assert_eq!(lie(&|memory| memory.length = u64::MAX), Some(Rule::MemorySize));
    assert_eq!(lie(&|memory| memory.offset = u64::MAX), Some(Rule::MemorySize));
    assert_eq!(lie(&|memory| memory.offset = 1 << 40), Some(Rule::MemorySize));
    let other = MemoryClass::from_tag(0x7F);
    assert_eq!(lie(&|memory| memory.class = other), Some(Rule::DeviceClass));
    assert_eq!(lie(&|memory| memory.handle = None), Some(Rule::DeviceImport));
}

/// An event that is exported is complete when the original is.
pub fn events_cross_processes(backend: &dyn Backend) {
    let device = backend.device();
    let (first, second) = (stream(&device), stream(&device));
    for kind in kinds(&first) {
        let held = Held::new(backend, &first);
        let original = first.record(kind).unwrap();
        // SAFETY: the event is open while it is held.
        let exported = unsafe { device.export_event(original.raw()) };
        let Some(exported) = done(exported) else {
            continue;
        };
        // The handle stands for itself.
        drop(original);
        let raw = device.import_event(exported, kind).unwrap();
        // SAFETY: it was imported for us.
        let mut imported = unsafe { Event::adopt(Arc::clone(&device), raw) };
        imported.order(&second).unwrap();
        let (sender, ran) = std::sync::mpsc::channel();
        let call = Box::new(move || sender.send(()).unwrap());
        // SAFETY: the stream is open while it is held.
        unsafe { device.call(second.handle(), call) }.unwrap();
        held.let_go(kind, || ran.try_recv().is_ok());
        super::await_signal(&ran);
        if kind != EventKind::Binary {
            imported.wait().unwrap();
        }
    }
}
