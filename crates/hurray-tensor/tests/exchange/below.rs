//! What lies below a device's memory is handed on with it.

#![allow(unsafe_code, reason = "structs are filled and taken by hand")]

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hurray_tensor::device::Devices;
use hurray_tensor::exchange::raw::{HurrayBuffer, HurrayTensor};
use hurray_tensor::exchange::{Exported, Foreign};
use hurray_tensor::format::{Accept, DeviceTag, Dtype, MemoryClass, Rule};
use hurray_tensor::{Buffer, Cut, Region, Result, Tensor};

use crate::library::in_blocks;

const DRIVER: u64 = 0xD21E;

/// A buffer of Vulkan's that begins 256 bytes into its object.
fn vulkan(object: u64, length: u64, released: &Arc<AtomicU64>) -> Buffer {
    let region = Region {
        device: DeviceTag::VULKAN,
        class: MemoryClass::STANDARD,
        object,
        offset: 256,
        context: 0xDE71,
        length,
        ..Region::host(ptr::null_mut(), 0)
    };
    let count = Arc::clone(released);
    let release = move || {
        count.fetch_add(1, Ordering::Relaxed);
    };
    // SAFETY: nobody looks at memory of a class that keeps the CPU out.
    unsafe { Buffer::adopt(region, release) }.unwrap()
}

fn rows(released: &Arc<AtomicU64>) -> Tensor {
    Tensor::dense(Dtype::UInt8, &[4, 64], vulkan(0xB0, 256, released)).unwrap()
}

/// The structs of a producer that says what is below: another allocation for each buffer.
fn with_allocations(tensor: Tensor) -> HurrayTensor {
    let raw = Exported::new(tensor).unwrap().into_raw();
    for place in 0..raw.buffer_count {
        let buffer = buffer_of(&raw, place);
        (buffer.memory, buffer.memory_offset) = (0x3E30 + place, 4096 * (place + 1));
        buffer.driver = DRIVER;
    }
    raw
}

#[allow(clippy::mut_from_ref, reason = "a struct behind a pointer, used by one test alone")]
fn buffer_of(raw: &HurrayTensor, place: u64) -> &mut HurrayBuffer {
    // SAFETY: a tensor of ours, which has so many buffers.
    let buffer = unsafe { *raw.buffers.wrapping_add(usize::try_from(place).unwrap()) };
    // SAFETY: as above; it stays until the tensor is released.
    unsafe { &mut *buffer }
}

fn taken(mut raw: HurrayTensor) -> Result<Tensor> {
    // SAFETY: not released, and what is wrong with it is checked.
    let foreign = unsafe { Foreign::take(&raw mut raw) }?;
    foreign.into_offered(&Accept::default(), &Devices::default())?.acquire()
}

#[test]
fn it_is_handed_on_with_the_memory() {
    let released = Arc::new(AtomicU64::new(0));
    for (made, count) in [
        (rows(&released), 1),
        (in_blocks([vulkan(0xB0, 60, &released), vulkan(0xB1, 24, &released)]), 2),
    ] {
        let before = released.load(Ordering::Relaxed);
        let mut tensor = made;
        // As often as it is handed on, with the allocation that it came with.
        let mut raw = with_allocations(tensor);
        for _ in 0..3 {
            tensor = taken(raw).unwrap();
            raw = Exported::new(tensor).unwrap().into_raw();
            assert_eq!(raw.buffer_count, count);
            for place in 0..count {
                let buffer = buffer_of(&raw, place);
                let (memory, offset) = (buffer.memory, buffer.memory_offset);
                assert_eq!((memory, offset), (0x3E30 + place, 4096 * (place + 1)));
                assert_eq!((buffer.driver, buffer.device_context), (DRIVER, 0xDE71));
                assert_eq!((buffer.object, buffer.object_offset), (0xB0 + place, 256));
            }
        }
        assert_eq!(released.load(Ordering::Relaxed), before);
        drop(taken(raw).unwrap());
        assert_eq!(released.load(Ordering::Relaxed), before + count);
    }
}

#[test]
fn a_part_begins_further_in() {
    let released = Arc::new(AtomicU64::new(0));
    let tensor = taken(with_allocations(rows(&released))).unwrap();
    let part = tensor.slice([Cut::from(1..3)]).unwrap();
    let exported = Exported::share(&part).unwrap();
    let buffer = exported.buffers().next().unwrap();
    assert_eq!((buffer.object_offset, buffer.memory_offset), (256 + 64, 4096 + 64));
    assert_eq!((buffer.memory, buffer.driver), (0x3E30, DRIVER));
    drop((tensor, part, exported));
    assert_eq!(released.load(Ordering::Relaxed), 1);

    // An offset that is nowhere is not handed on.
    let raw = with_allocations(rows(&released));
    buffer_of(&raw, 0).memory_offset = u64::MAX;
    let part = taken(raw).unwrap().slice([Cut::from(1..3)]).unwrap();
    let exported = Exported::share(&part).unwrap();
    let buffer = exported.buffers().next().unwrap();
    assert_eq!((buffer.memory, buffer.memory_offset, buffer.driver), (0, 0, DRIVER));
}

/// Nothing is below memory of the CPU, and nothing below what says nothing.
#[test]
fn nothing_is_made_up() {
    let raw = with_allocations(Tensor::from_vec(vec![1_u8; 64], &[64]).unwrap());
    let said = |tensor: &Tensor| {
        let exported = Exported::share(tensor).unwrap();
        let buffer = exported.buffers().next().unwrap();
        [buffer.memory, buffer.memory_offset, buffer.driver]
    };
    assert_eq!(said(&taken(raw).unwrap()), [0; 3]);
    let released = Arc::new(AtomicU64::new(0));
    let plain = Exported::new(rows(&released)).unwrap().into_raw();
    assert_eq!(said(&taken(plain).unwrap()), [0; 3]);
}

/// No device here records the acquire that exclusive sharing wants.
#[test]
fn what_a_queue_family_owns_is_refused() {
    let released = Arc::new(AtomicU64::new(0));
    for (from, to) in [(0, 0), (0, 1), (u32::MAX, 1), (1, u32::MAX)] {
        let raw = with_allocations(rows(&released));
        let buffer = buffer_of(&raw, 0);
        (buffer.queue_family, buffer.queue_family_to) = (from, to);
        let before = released.load(Ordering::Relaxed);
        assert_eq!(taken(raw).unwrap_err().rule(), Some(Rule::ExchangeQueueFamily));
        assert_eq!(released.load(Ordering::Relaxed), before + 1);
    }
}
