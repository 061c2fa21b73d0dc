//! What a device does with memory.

use std::sync::Arc;

use hurray_format::{DeviceTag, MemoryClass, Rule};

use super::stranger::{FOREIGN, foreign_region, foreign_stream};
use super::{Backend, allocate, filled, pattern, read_back, released_with_a_signal, stream};
use crate::buffer::{Buffer, BufferMut, DeviceMemory};
use crate::device::Device;
use crate::memory::{Alignment, Region};
use crate::offered::Ready;

/// It says the same about itself each time, and knows its own memory.
pub fn is_one_device(backend: &dyn Backend) {
    let (device, again) = (backend.device(), backend.device());
    let identity = device.identity();
    assert_eq!(identity, again.identity());
    assert!(!identity.name.is_empty());
    assert!(device.can_wait_for(identity));
    assert!(!device.can_wait_for(foreign_stream().device().identity()));
    assert!(!device.classes().is_empty());
    for class in device.classes() {
        assert!(identity.tag.pairs_with(*class), "{} with {class}", identity.tag);
        let memory = allocate(&device, 64, *class);
        assert!(identity.owns(&memory.region()));
        let mut elsewhere = memory.region();
        elsewhere.device = FOREIGN;
        assert!(!identity.owns(&elsewhere));
    }
}

/// Memory of every class, length and alignment is what was asked for, and nobody else's.
pub fn allocates_each_class(backend: &dyn Backend) {
    let device = backend.device();
    let mut held: Vec<DeviceMemory> = Vec::new();
    for class in device.classes() {
        for alignment in [Alignment::LINE, Alignment::PAGE, Alignment::HUGE_PAGE] {
            for length in [0, 1, 63, 64, 4097, 1 << 20] {
                let memory = device.allocate(length, alignment, *class).unwrap();
                check_region(&device, &memory.region(), length, alignment, *class);
                held.push(memory);
            }
        }
        // More than there is is an error, and not the end of the process.
        assert!(device.allocate(u64::MAX, Alignment::LINE, *class).is_err());
        assert!(device.allocate(1 << 60, Alignment::HUGE_PAGE, *class).is_err());
    }
    for (place, memory) in held.iter().enumerate() {
        for other in &held[..place] {
            let (one, two) = (memory.region(), other.region());
            let apart = one.position() + one.length <= two.position()
                || two.position() + two.length <= one.position();
            assert!(apart || one.object != two.object || one.length * two.length == 0);
        }
    }
    for memory in held {
        let length = memory.byte_size();
        let buffer = memory.freeze();
        let owed =
            if buffer.device() == DeviceTag::CPU { Alignment::LINE } else { Alignment::PAGE };
        assert!(length == 0 || buffer.handle().unwrap().alignment() >= owed.bytes());
        if device.host_can_read(buffer.class()) {
            assert_eq!(buffer.host_bytes().unwrap(), vec![0; length.try_into().unwrap()]);
        }
        let memory = DeviceMemory::new(buffer).expect("memory with a single holder");
        assert_eq!(memory.byte_size(), length);
    }
}

fn check_region(
    device: &Arc<dyn Device>,
    region: &Region,
    length: u64,
    alignment: Alignment,
    class: MemoryClass,
) {
    assert_eq!((region.length, region.class), (length, class));
    if length == 0 {
        return;
    }
    let identity = device.identity();
    assert_eq!(region.device, identity.tag);
    assert_eq!((region.ordinal, region.uuid), (identity.ordinal, identity.uuid));
    let alignment = match identity.tag {
        DeviceTag::CPU => alignment,
        _ => alignment.max(Alignment::PAGE),
    };
    assert_eq!(region.position() % u64::from(alignment.bytes()), 0, "{length} at {alignment:?}");
    assert_eq!(!region.host.is_null(), device.host_can_read(class));
    assert!(region.writable && !region.may_change);
}

/// A class that it does not list is refused.
pub fn refuses_other_classes(backend: &dyn Backend) {
    let device = backend.device();
    for tag in 0..=u8::MAX {
        let class = MemoryClass::from_tag(tag);
        let refused = device.allocate(64, Alignment::LINE, class).err();
        let rule = refused.map(|error| error.rule().expect("a rule"));
        let listed = device.classes().contains(&class);
        assert_eq!(rule, (!listed).then_some(Rule::DeviceClass), "{class}");
    }
}

/// The host looks at memory exactly where the device says that it can.
pub fn says_what_the_host_may_look_at(backend: &dyn Backend) {
    let device = backend.device();
    let stream = stream(&device);
    for class in device.classes() {
        let bytes = pattern(300);
        let buffer = filled(&stream, *class, &bytes);
        match buffer.into_host() {
            Ok(host) => {
                assert!(device.host_can_read(*class), "{class}");
                assert_eq!(*host, bytes);
            }
            Err(returned) => {
                assert!(!device.host_can_read(*class), "{class}");
                assert_eq!(returned.error.rule(), Some(Rule::MemoryNotHost));
            }
        }
    }
}

/// Memory of others is taken where it is, and given back once, also where it is refused.
pub fn adopts_memory(backend: &dyn Backend) {
    let device = backend.device();
    let stream = stream(&device);
    for class in device.classes() {
        let bytes = pattern(200);
        let original = filled(&stream, *class, &bytes);
        let place = original.region();
        let (adopted, released) = released_with_a_signal(&device, original);
        assert_eq!(adopted.region().position(), place.position());
        assert!(device.identity().owns(&adopted.region()));
        assert_eq!(*read_back(&stream, &adopted), bytes);
        stream.synchronize().unwrap();
        drop(adopted);
        super::await_signal(&released);
        assert!(released.recv().is_err(), "released twice");
    }
    let (sender, released) = std::sync::mpsc::channel();
    let release = move || sender.send(()).unwrap();
    let mut beyond = foreign_region(device.identity().tag, u64::MAX);
    beyond.address = 64;
    beyond.host = std::ptr::without_provenance_mut(64);
    // SAFETY: it is refused.
    let refused = unsafe { device.adopt(beyond, Box::new(release)) };
    assert_eq!(refused.unwrap_err().rule(), Some(Rule::MemoryAddressBeyond));
    assert_eq!(released.iter().count(), 1);
}

/// Bytes come through every memory of the device unchanged, whatever their length.
pub fn copies_between_all_memory(backend: &dyn Backend) {
    let device = backend.device();
    let stream = stream(&device);
    for length in [0, 1, 64, 4095, 1 << 20] {
        let bytes = pattern(length);
        for first in device.classes() {
            let buffer = filled(&stream, *first, &bytes);
            assert_eq!(*read_back(&stream, &buffer), bytes, "{length} through {first}");
            for second in device.classes() {
                let memory = allocate(&device, length, *second);
                let from = Ready::everywhere(buffer.clone());
                let copied = stream.copy(&from, memory).unwrap().acquire().unwrap();
                assert_eq!(*read_back(&stream, &copied), bytes, "{length}, {first} to {second}");
            }
        }
    }
    // A part of memory is copied from where it is.
    let bytes = pattern(4096);
    for class in device.classes() {
        let part = filled(&stream, *class, &bytes).slice(640..1000).unwrap();
        assert_eq!(*read_back(&stream, &part), bytes[640..1000]);
    }
    // Another length is refused before anything is queued.
    let small = allocate(&device, 64, device.classes()[0]);
    let refused = stream.copy(&Ready::everywhere(Buffer::from_owner(vec![1; 65]).unwrap()), small);
    assert_eq!(refused.unwrap_err().rule(), Some(Rule::MemorySize));
}

/// What lies in front of adopted memory is neither read nor written.
pub fn copies_what_was_adopted(backend: &dyn Backend) {
    let device = backend.device();
    let stream = stream(&device);
    for start in [0, 1, 13, 63] {
        let bytes = pattern(200);
        let buffer = Buffer::from_owner(Behind::new(start, &bytes)).unwrap();
        assert_eq!(buffer.lead(), u64::try_from(start).unwrap());
        for class in device.classes() {
            let memory = allocate(&device, buffer.byte_size(), *class);
            let from = Ready::everywhere(buffer.clone());
            let copied = stream.copy(&from, memory).unwrap().acquire().unwrap();
            assert_eq!(read_back(&stream, &copied)[start..], bytes);
        }
    }
    // A target that starts further behind a boundary than its source would be written to in
    // front.
    let memory = BufferMut::zeroed(256).unwrap().freeze();
    let behind = memory.region().part(16, 184);
    // SAFETY: the region is what `memory` holds, until it is released; nobody else uses it.
    let into = unsafe { Buffer::adopt(behind, move || drop(memory)) }.unwrap();
    let into = DeviceMemory::new(into).unwrap();
    let whole = filled(&stream, device.classes()[0], &pattern(into.byte_size()));
    let refused = stream.copy(&Ready::everywhere(whole), into);
    assert_eq!(refused.unwrap_err().rule(), Some(Rule::MemoryUnaligned));
}

/// Bytes that start behind a multiple of 64.
struct Behind(BufferMut, usize);

impl Behind {
    fn new(start: usize, bytes: &[u8]) -> Self {
        let mut all = vec![0; start];
        all.extend(bytes);
        Self(BufferMut::copy_of(&all).unwrap(), start)
    }
}

impl AsRef<[u8]> for Behind {
    fn as_ref(&self) -> &[u8] {
        &self.0[self.1..]
    }
}

/// Memory of a device that it knows nothing of is refused.
pub fn refuses_what_it_cannot_reach(backend: &dyn Backend) {
    let device = backend.device();
    let stream = stream(&device);
    let own = allocate(&device, 64, device.classes()[0]).region();
    let foreign = foreign_region(FOREIGN, 64);
    for (from, to) in [(&own, &foreign), (&foreign, &own)] {
        // SAFETY: the stream is open; nothing is queued, since the copy is refused.
        let refused = unsafe { device.copy(stream.handle(), from, to) };
        assert_eq!(refused.unwrap_err().rule(), Some(Rule::SyncDeviceMismatch));
    }
    assert_ne!(device.identity().tag, FOREIGN);
    assert_ne!(DeviceTag::CPU, FOREIGN);
}

/// Memory that must not be written to is no target.
pub fn refuses_targets_that_are_read_only(backend: &dyn Backend) {
    let device = backend.device();
    let stream = stream(&device);
    for class in device.classes() {
        let (zeros, bytes) = (allocate(&device, 64, *class), pattern(64));
        let target = filled(&stream, *class, &bytes);
        let (from, to) = (zeros.region(), target.region().read_only());
        // SAFETY: the stream is open; nothing is queued, since the copy is refused.
        let refused = unsafe { device.copy(stream.handle(), &from, &to) };
        assert_eq!(refused.unwrap_err().rule(), Some(Rule::MemoryReadOnly), "{class}");
        stream.synchronize().unwrap();
        assert_eq!(*read_back(&stream, &target), bytes, "{class}");
    }
}
