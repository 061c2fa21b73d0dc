//! What handing a tensor over costs in memory: one allocation on each side, and no byte copied.

#![cfg(target_pointer_width = "64")]
#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    reason = "a test may fail loudly"
)]
#![allow(unsafe_code, reason = "structs that the test made are taken")]

#[path = "support/counting.rs"]
mod counting;

use std::hint::black_box;

use counting::{most, times};
use hurray_tensor::device::{Devices, Event, EventKind, RawEvent};
use hurray_tensor::exchange::raw::HurrayTensor;
use hurray_tensor::exchange::{Exported, Foreign};
use hurray_tensor::format::StatisticsValues;
use hurray_tensor::format::{Accept, Descriptor, Dtype, PerBlock, Quantization, Statistics};
use hurray_tensor::format::{DeviceTag, MemoryClass};
use hurray_tensor::{Buffer, BufferMut, DeclaredStream, Fence, Offered, Region, Tensor};

const GROWS_IN_PLACE: bool = false;

/// 64 MiB: a copy would be seen.
const LARGE: usize = 64 << 20;

fn memory(length: usize) -> Buffer {
    BufferMut::zeroed(length).unwrap().freeze()
}

/// int4 with scales and zero points of its own: three buffers.
fn quantized() -> Tensor {
    let scheme = PerBlock {
        axis: 1,
        block_size: 32,
        scales: 1,
        zero_points: Some(2),
        scale_type: Dtype::Float32,
    };
    let descriptor = Descriptor::builder(Dtype::Int4, &[3, 40])
        .quantization(Quantization::PerBlock(scheme))
        .build();
    Tensor::new(descriptor.unwrap(), [memory(60), memory(24), memory(24)]).unwrap()
}

fn import(mut raw: HurrayTensor) -> Offered<Tensor> {
    // SAFETY: exported by the test.
    let foreign = unsafe { Foreign::take(&raw mut raw) }.unwrap();
    foreign.into_offered(&Accept::default(), &Devices::default()).unwrap()
}

#[test]
fn one_allocation_exports_and_one_imports() {
    let tensor = Tensor::dense(Dtype::Float32, &[2, 3, 4, 8], memory(768)).unwrap();
    let first = tensor.buffers()[0].host_bytes().unwrap().as_ptr();
    // The devices are made when they are first asked for.
    drop(black_box(Devices::default()));
    let (accept, devices) = (Accept::default(), Devices::default());

    let (mut raw, taken) = times(|| Exported::share(&tensor).unwrap().into_raw());
    assert_eq!(taken, 1);
    // SAFETY: exported just now.
    let (foreign, taken) = times(|| unsafe { Foreign::take(&raw mut raw) }.unwrap());
    assert_eq!(taken, 0);
    let (_, taken) = times(|| black_box(foreign.look(&accept).unwrap().rank()));
    assert_eq!(taken, 0);
    let (offered, taken) = times(|| foreign.into_offered(&accept, &devices).unwrap());
    assert_eq!(taken, 1);
    let (imported, taken) = times(|| offered.acquire_host().unwrap());
    assert_eq!(taken, 0);
    assert_eq!(imported.buffers()[0].host_bytes().unwrap().as_ptr(), first);
    let ((), taken) = times(|| drop(imported));
    assert_eq!(taken, 0);
}

#[test]
fn long_descriptors_and_several_buffers_are_one_allocation_too() {
    let values = StatisticsValues::default();
    let shape = [1; 20];
    let long = Descriptor::builder(Dtype::Float32, &shape).statistics(Statistics::new(&values));
    let long = Tensor::new(long.build().unwrap(), [memory(4)]).unwrap();
    assert!(long.descriptor().encoded_len() > 256);
    for tensor in [long, quantized()] {
        let (exported, taken) = times(|| Exported::share(&tensor).unwrap());
        assert_eq!(taken, 1);
        drop(exported);
        let (exported, taken) = times(|| Exported::new(tensor).unwrap());
        assert_eq!(taken, 1);
        drop(exported);
    }
}

#[test]
fn buffers_that_are_held_apart_are_an_allocation_each() {
    let (accept, devices) = (Accept::default(), Devices::default());
    let mut raw = Exported::share(&quantized()).unwrap().into_raw();
    // SAFETY: exported just now.
    let foreign = unsafe { Foreign::take(&raw mut raw) }.unwrap();
    let (imported, taken) = times(|| foreign.into_offered(&accept, &devices).unwrap());
    assert_eq!(taken, 3);
    drop(imported);
}

/// The exception: what is to be waited for is kept apart.
#[test]
fn what_is_to_be_waited_for_costs_more() {
    let (accept, devices) = (Accept::default(), Devices::default());
    let bytes = BufferMut::zeroed(768).unwrap().freeze();
    let host = bytes.host_bytes().unwrap().as_ptr();
    let region = Region {
        device: DeviceTag::CUDA,
        class: MemoryClass::UNIFIED,
        address: u64::try_from(host.addr()).unwrap(),
        ..Region::host(host.cast_mut(), 768)
    };
    let waited_for = |event: bool| {
        // SAFETY: the buffer's memory, which is there until the end, and is not looked at.
        let memory = unsafe { Buffer::adopt(Region { writable: false, ..region }, || ()) };
        let tensor = Tensor::dense(Dtype::Float32, &[2, 3, 4, 8], memory.unwrap()).unwrap();
        let raw = RawEvent { kind: EventKind::MultiWait, handle: 5, value: 0 };
        let fence = match event {
            // SAFETY: an event of no driver, which nobody waits for.
            true => Fence::Event(unsafe { Event::borrow_until(|| (), DeviceTag::CUDA, None, raw) }),
            // SAFETY: a stream of no driver, likewise.
            false => Fence::Stream(unsafe { DeclaredStream::adopt(DeviceTag::CUDA, None, 5) }),
        };
        let offered = Offered::new(tensor, vec![fence]).unwrap();
        let mut raw = Exported::offer(offered).unwrap().into_raw();
        // SAFETY: exported just now.
        let foreign = unsafe { Foreign::take(&raw mut raw) }.unwrap();
        let (offered, taken) = times(|| foreign.into_offered(&accept, &devices).unwrap());
        drop(offered);
        taken
    };
    // The buffer, the descriptor as it arrives and once it is waited for, the list of what to wait
    // for; and the event's release.
    let (of_a_stream, of_an_event) = (waited_for(false), waited_for(true));
    assert!(of_a_stream <= 5 && of_an_event <= of_a_stream + 1, "{of_a_stream} {of_an_event}");
}

#[test]
fn nothing_is_copied_however_large_it_is() {
    let large = Tensor::dense(Dtype::UInt8, &[LARGE as u64], memory(LARGE)).unwrap();
    let first = large.buffers()[0].host_bytes().unwrap().as_ptr();
    let mut found = std::ptr::null();
    let taken = most(|| {
        let exported = Exported::new(large).unwrap();
        assert_eq!(exported.buffers().next().unwrap().host.cast_const().cast(), first);
        let imported = import(exported.into_raw()).acquire_host().unwrap();
        found = imported.buffers()[0].host_bytes().unwrap().as_ptr();
    });
    assert_eq!(found, first);
    assert!(taken < 4096, "{taken}");
}
