//! Tensors in the memory of devices start at multiples of 4096, as whoever writes them owes; what
//! others placed at less is taken as it is, and said to be at less.

#![cfg(target_os = "linux")]
#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::integer_division,
    clippy::unwrap_used,
    reason = "tests fail loudly"
)]
#![allow(unsafe_code, reason = "memory is adopted, and structs are handed over")]

use hurray_tensor::device::simulated::{HOST_VISIBLE, Machine};
use hurray_tensor::device::{Devices, Stream};
use hurray_tensor::exchange::{Exported, Foreign};
use hurray_tensor::format::{
    Accept, Descriptor, DeviceTag, Dtype, MemoryClass, PerChannel, Quantization, Rule,
};
use hurray_tensor::{Alignment, Buffer, BufferMut, Offered, Ready, Tensor};

const STANDARD: MemoryClass = MemoryClass::STANDARD;

fn bytes(length: u64) -> Vec<u8> {
    (0..251).cycle().take(usize::try_from(length).unwrap()).collect()
}

/// Memory that was asked to be aligned to 64 only, with bytes that tell places apart.
fn memory(machine: &Machine, length: u64, class: MemoryClass) -> Buffer {
    let device = machine.device(0).unwrap();
    let stream = Stream::open(&device).unwrap();
    let source = Ready::everywhere(BufferMut::copy_of(&bytes(length)).unwrap().freeze());
    let target = device.allocate(length, Alignment::LINE, class).unwrap();
    stream.copy(&source, target).unwrap().acquire().unwrap()
}

/// Memory of the device that starts 64 bytes behind a multiple of 4096, as a program that makes
/// its own calls to a driver may have it.
fn placed_at_less(machine: &Machine, class: MemoryClass) -> Buffer {
    let whole = memory(machine, 8192, class);
    let region = whole.slice(64..4160).unwrap().region().read_only();
    let device = machine.device(0).unwrap();
    // SAFETY: the region is a part of what `whole` holds until the release; nobody writes to it.
    unsafe { device.adopt(region, Box::new(move || drop(whole))) }.unwrap()
}

fn declared(tensor: &Tensor) -> Vec<u32> {
    tensor.descriptor().buffers().iter().map(|handle| handle.alignment()).collect()
}

fn address(tensor: &Tensor) -> u64 {
    let region = tensor.buffers()[0].region();
    region.address + region.offset
}

#[test]
fn memory_of_a_device_is_described_at_4096_however_little_was_asked() {
    let machine = Machine::new(1);
    for class in machine.device(0).unwrap().classes() {
        let buffer = memory(&machine, 100, *class);
        assert_eq!(buffer.handle().unwrap().alignment(), 4096);
        let tensor = Tensor::dense(Dtype::UInt8, &[100], buffer).unwrap();
        assert_eq!(declared(&tensor), [4096]);
    }
}

/// A part begins at the multiple below, and its offset counts from there.
#[test]
fn parts_of_a_tensor_on_a_device_keep_its_alignment() {
    let machine = Machine::new(1);
    let tensor =
        Tensor::dense(Dtype::UInt8, &[9, 1000], memory(&machine, 9000, HOST_VISIBLE)).unwrap();
    let first = address(&tensor);
    for row in 0..9 {
        let part = tensor.index_axis(0, row).unwrap();
        assert_eq!(declared(&part), [4096]);
        let start = row * 1000 / 4096 * 4096;
        assert_eq!(address(&part), first + start);
        assert_eq!(part.descriptor().byte_offset(), row * 1000 - start);
        assert_eq!(part.buffers()[0].byte_size(), (row + 1) * 1000 - start);
        let from = usize::try_from(row).unwrap() * 1000;
        assert_eq!(part.to_vec::<u8>().unwrap(), bytes(9000)[from..from + 1000]);
        // A part of a part too.
        let end = part.slice([900..]).unwrap();
        assert_eq!(declared(&end), [4096]);
        assert_eq!(end.to_vec::<u8>().unwrap(), bytes(9000)[from + 900..from + 1000]);
    }
    // On the host a part begins at the multiple of 64, and keeps less.
    let host = BufferMut::zeroed_at(Alignment::PAGE, 9000).unwrap().freeze();
    let descriptor = Descriptor::builder(Dtype::UInt8, &[9, 1000])
        .buffers([host.handle_at(Alignment::PAGE).unwrap()])
        .build()
        .unwrap();
    let part = Tensor::new(descriptor, [host]).unwrap().index_axis(0, 1).unwrap();
    assert_eq!((declared(&part), part.descriptor().byte_offset()), (vec![64], 1000 - 960));
}

/// Scales have no offset: a part of them that would start at less is refused.
#[test]
fn parts_of_scales_on_a_device_start_at_4096_or_are_refused() {
    let machine = Machine::new(1);
    let on_device = |length| memory(&machine, length, STANDARD);
    let on_host =
        |length: u64| BufferMut::zeroed(usize::try_from(length).unwrap()).unwrap().freeze();
    let channels = |values: Buffer, scales: Buffer| {
        let scheme = PerChannel { axis: 0, scales: 1, zero_points: None };
        let parts = Descriptor::builder(Dtype::Int8, &[2048, 2])
            .quantization(Quantization::PerChannel(scheme));
        Tensor::build(parts, [values, scales]).unwrap()
    };
    let tensor = channels(on_device(4096), on_device(8192));
    let half = tensor.slice_axis(0, 1024..).unwrap();
    assert_eq!(declared(&half), [4096, 4096]);
    assert_eq!(half.descriptor().byte_offset(), 2048);
    assert_eq!(declared(&tensor.slice_axis(0, ..16).unwrap()), [4096, 4096]);
    let refused = tensor.slice_axis(0, 16..).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::ViewQuantization));
    // Of no channels there are no scales to align.
    assert_eq!(tensor.slice_axis(0, 16..16).unwrap().buffers()[1].byte_size(), 0);

    let tensor = channels(on_host(4096), on_host(8192));
    assert_eq!(declared(&tensor.slice_axis(0, 16..).unwrap()), [64, 64]);
}

/// What another program placed is handed on in this process at what it is aligned to; a consumer
/// that needs more says so in its request.
#[test]
fn what_others_placed_at_less_is_taken_and_described_at_less() {
    let machine = Machine::new(1);
    let tensor =
        Tensor::dense(Dtype::UInt8, &[4096], placed_at_less(&machine, HOST_VISIBLE)).unwrap();
    assert_eq!(declared(&tensor), [64]);
    assert_eq!(tensor.to_vec::<u8>().unwrap(), bytes(8192)[64..4160]);
    assert_eq!(declared(&tensor.slice([128..]).unwrap()), [64]);

    let mut raw = Exported::new(tensor).unwrap().into_raw();
    // SAFETY: a tensor of ours, and not released.
    let foreign = unsafe { Foreign::take(&raw mut raw) }.unwrap();
    let accept = Accept::every_private_tag();
    let taken = foreign.into_offered(&accept, &machine.devices()).unwrap().acquire().unwrap();
    assert_eq!(
        (declared(&taken), taken.buffers()[0].device()),
        (vec![64], DeviceTag::from_tag(0xF0))
    );
    assert_eq!(taken.to_vec::<u8>().unwrap(), bytes(8192)[64..4160]);
}

/// Whoever writes to another process owes it whatever placed the memory. Nothing is copied to
/// get there.
#[test]
fn what_goes_to_another_process_starts_at_4096_or_is_refused() {
    let machine = Machine::new(1);
    let devices: Devices = machine.devices();
    let refused = |buffer: Buffer| {
        let error = Offered::synced(buffer).into_exports(&devices).unwrap_err();
        assert_eq!(error.rule(), Some(Rule::DeviceExportUnaligned));
    };
    for class in machine.device(0).unwrap().classes() {
        refused(placed_at_less(&machine, *class));
        let whole = memory(&machine, 8192, *class);
        refused(whole.slice(64..8192).unwrap());
        for part in [whole.slice(0..100), whole.slice(4096..4097)] {
            let exports = Offered::synced(part.unwrap()).into_exports(&devices).unwrap();
            assert_eq!(exports.buffers[0].memory.offset % 4096, 0);
        }
        // Where there is nothing there is nothing to align.
        let nothing = Offered::synced(whole.slice(64..64).unwrap());
        assert_eq!(nothing.into_exports(&devices).unwrap().buffers[0].memory.length, 0);
        // A part of a tensor is one that can go.
        let part = Tensor::dense(Dtype::UInt8, &[8192], whole).unwrap().slice([5000..]).unwrap();
        let exports = Offered::synced(part).into_exports(&devices).unwrap();
        assert_eq!(exports.buffers[0].memory.offset % 4096, 0);
    }
    assert_eq!(machine.memory_held(), 0);
}
