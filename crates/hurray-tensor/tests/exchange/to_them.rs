//! Rust produces, C and C++ consume.

#![allow(unsafe_code, reason = "functions of C are called")]

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hurray_tensor::device::{Device, Event, EventKind, RawEvent, Stream};
use hurray_tensor::exchange::raw::{
    BUFFER_COPIED, BUFFER_MAY_CHANGE, BUFFER_READ_ONLY, HurraySync, HurrayTensor,
};
use hurray_tensor::exchange::{Exported, Releases};
use hurray_tensor::format::{
    CompositeHead, Composition, Descriptor, DeviceTag, Dtype, Layout, PerBlock, Quantization, Shard,
};
use hurray_tensor::{Buffer, BufferMut, Composite, DeclaredStream, Fence, Offered, Region, Tensor};

use crate::device::{TestDevice, device_memory, host_memory};
use crate::library::*;

fn bytes() -> Vec<u8> {
    (0_u8..12).flat_map(|number| f32::from(number).to_le_bytes()).collect()
}

fn tensor(memory: Buffer) -> Tensor {
    Tensor::dense(Dtype::Float32, &[3, 4], memory).unwrap()
}

/// Has a side consume a tensor, in one of its ways; the sum of its floats.
fn consume(side: &InUse, way: usize, mut raw: HurrayTensor) -> f64 {
    let mut sum = 0.0;
    // SAFETY: a tensor by the rules, and a place for the sum.
    let status = unsafe {
        (side.consume[way])(&raw mut raw, wait_for_nothing, ORDERED_STREAM, &raw mut sum)
    };
    assert_eq!(status, 0, "{}", side.name);
    assert!(raw.release.is_none());
    sum
}

unsafe extern "C" fn wait_for_nothing(event: u64, _: u64) -> i32 {
    i32::from(event == 0)
}

fn sides() -> impl Iterator<Item = (InUse, usize)> {
    [(in_c as fn() -> InUse, 0), (in_c, 1), (in_cpp, 0)]
        .into_iter()
        .map(|(side, way)| (side(), way))
}

#[test]
fn synced_memory_is_seen_where_it_is_and_released_once() {
    for (side, way) in sides() {
        let (memory, released) = host_memory(&bytes());
        let address = memory.region().host.cast();
        let exported = Exported::new(tensor(memory)).unwrap();
        assert_eq!(exported.buffers().next().unwrap().host, address);
        assert_eq!(consume(&side, way, exported.into_raw()), 66.0);
        assert_eq!(released.load(Ordering::Relaxed), 1);
    }
}

/// Memory that begins behind a multiple of 64 goes out from there on: what is in front of it is
/// somebody else's, and is not looked at.
#[test]
fn what_is_in_front_of_the_elements_is_left_alone() {
    #[repr(align(64))]
    struct Line([f32; 32]);
    for (side, way) in sides() {
        let mut line = Line([f32::NAN; 32]);
        for (number, place) in (0_u8..12).zip(&mut line.0[3..]) {
            *place = number.into();
        }
        let host = line.0[3..].as_mut_ptr().cast();
        // SAFETY: 48 bytes of the test's, which stay until they are released, by this very test.
        let memory = unsafe { Buffer::adopt(Region::host(host, 48), || ()) }.unwrap();
        let exported = Exported::new(tensor(memory)).unwrap();
        let first = exported.buffers().next().unwrap().host;
        assert_eq!(first.cast_const(), (&raw const line).cast());
        assert_eq!(consume(&side, way, exported.into_raw()), 66.0);
    }
}

#[test]
fn each_kind_of_event_is_released_once() {
    for (side, way) in sides() {
        for kind in [EventKind::Binary, EventKind::Timeline, EventKind::MultiWait] {
            let (memory, released) = device_memory(&bytes());
            let events = Arc::new(AtomicU64::new(0));
            let raw = RawEvent { kind, handle: 5, value: u64::from(kind == EventKind::Timeline) };
            let offered = Offered::new(tensor(memory), vec![Fence::Event(counted(&events, raw))]);
            let exported = Exported::offer(offered.unwrap()).unwrap();
            let sync = exported.buffers().next().unwrap().sync;
            assert_eq!((sync.event_kind, sync.event, sync.event_value), (kind as u8, 5, raw.value));
            assert_eq!(consume(&side, way, exported.into_raw()), 66.0);
            assert_eq!((events.load(Ordering::Relaxed), released.load(Ordering::Relaxed)), (1, 1));
        }
    }
}

fn counted(released: &Arc<AtomicU64>, raw: RawEvent) -> Event {
    let count = Arc::clone(released);
    let release = move || {
        count.fetch_add(1, Ordering::Relaxed);
    };
    // SAFETY: an event of no driver, which nobody waits for.
    unsafe { Event::borrow_until(release, DeviceTag::CUDA, None, raw) }
}

#[test]
fn the_consumers_stream_is_named() {
    for (side, way) in sides() {
        let (memory, released) = device_memory(&bytes());
        let device: Arc<dyn Device> = TestDevice::new(None);
        let ours = Stream::open(&device).unwrap();
        // SAFETY: a test's driver has every stream open.
        let theirs = unsafe { Stream::adopt(Arc::clone(&device), ORDERED_STREAM) };
        ours.order_before(&[&theirs]).unwrap();
        // SAFETY: nobody here waits for it.
        let declared = unsafe { DeclaredStream::adopt(DeviceTag::CUDA, None, theirs.handle()) };
        let fence = Fence::Stream(declared);
        let offered = Offered::new(tensor(memory), vec![fence]).unwrap();
        assert_eq!(consume(&side, way, Exported::offer(offered).unwrap().into_raw()), 66.0);
        assert_eq!(released.load(Ordering::Relaxed), 1);
    }
}

#[test]
fn several_buffers_are_released_once_each_in_any_order() {
    for (side, way) in sides() {
        let (data, data_released) = host_memory(&[0; 60]);
        let (scales, scales_released) = host_memory(&[0; 24]);
        let quantized = in_blocks([data, scales]);
        assert_eq!(consume(&side, way, Exported::new(quantized).unwrap().into_raw()), 0.0);
        let released = [data_released, scales_released].map(|count| count.load(Ordering::Relaxed));
        assert_eq!(released, [1, 1]);
    }
}

#[test]
fn composites_go_with_their_members() {
    for (side, way) in sides() {
        let (composite, released) = partition();
        let exported = Exported::composite(&composite).unwrap();
        drop(composite);
        assert_eq!(consume(&side, way, exported.into_raw()), 28.0);
        assert_eq!(released.map(|count| count.load(Ordering::Relaxed)), [1, 1]);
    }
    // Nobody consumes it.
    let (composite, released) = partition();
    drop(Exported::composite(&composite).unwrap());
    drop(composite);
    assert_eq!(released.map(|count| count.load(Ordering::Relaxed)), [1, 1]);
}

/// A head of [2, 4] and its halves, and how often each was released.
pub(crate) fn partition() -> (Composite, [Arc<AtomicU64>; 2]) {
    let head = CompositeHead { composition: Composition::Partition, member_count: 2 };
    let head = Descriptor::builder(Dtype::Float32, &[2, 4]).layout(Layout::Composite(head)).build();
    let half = |row: u8| {
        let shard = Shard::new(&[2, 4], &[u64::from(row), 0]);
        let descriptor = Descriptor::builder(Dtype::Float32, &[1, 4]).shard(shard).build();
        let four = (4 * row..4 * row + 4).flat_map(|number| f32::from(number).to_le_bytes());
        let (memory, released) = host_memory(&four.collect::<Vec<u8>>());
        (Tensor::new(descriptor.unwrap(), [memory]).unwrap(), released)
    };
    let ((upper, first), (lower, second)) = (half(0), half(1));
    let tensors = [Tensor::new(head.unwrap(), []).unwrap(), upper, lower];
    (Composite::new(tensors).unwrap(), [first, second])
}

#[test]
fn events_of_members_go_with_them() {
    for (side, way) in sides() {
        let events = Arc::new(AtomicU64::new(0));
        let group = CompositeHead { composition: Composition::Group, member_count: 2 };
        let group = Descriptor::builder(Dtype::Float32, &[2]).layout(Layout::Composite(group));
        let head = Tensor::new(group.build().unwrap(), []).unwrap();
        let (ready, ready_released) = host_memory(&bytes());
        let (waiting, waiting_released) = device_memory(&bytes());
        let composite = Composite::new([head, tensor(ready), tensor(waiting)]).unwrap();
        let raw = RawEvent { kind: EventKind::MultiWait, handle: 5, value: 0 };
        let fences = vec![Fence::Synced, Fence::Event(counted(&events, raw))];
        let offered = Offered::new(composite, fences).unwrap();
        let exported = Exported::offer_composite(offered).unwrap();
        assert_eq!(consume(&side, way, exported.into_raw()), 132.0);
        let counts = [ready_released, waiting_released, events];
        assert_eq!(counts.map(|count| count.load(Ordering::Relaxed)), [1, 1, 1]);
    }
}

#[test]
fn an_empty_tensor_has_no_address() {
    let side = in_c();
    let empty = Tensor::dense(Dtype::Float32, &[0, 4], Buffer::empty()).unwrap();
    let exported = Exported::new(empty).unwrap();
    assert!(exported.buffers().next().unwrap().host.is_null());
    assert_eq!(consume(&side, 0, exported.into_raw()), 0.0);
}

#[test]
fn what_is_not_handed_over_is_released() {
    let (memory, released) = device_memory(&bytes());
    let events = Arc::new(AtomicU64::new(0));
    let raw = RawEvent { kind: EventKind::Binary, handle: 5, value: 0 };
    let offered = Offered::new(tensor(memory), vec![Fence::Event(counted(&events, raw))]).unwrap();
    let exported = Exported::offer(offered).unwrap();
    assert_eq!((events.load(Ordering::Relaxed), released.load(Ordering::Relaxed)), (0, 0));
    drop(exported);
    assert_eq!((events.load(Ordering::Relaxed), released.load(Ordering::Relaxed)), (1, 1));
}

#[test]
fn a_truncated_copy_releases_and_a_second_release_does_nothing() {
    let side = in_c();
    let (memory, released) = host_memory(&bytes());
    let mut raw = Exported::new(tensor(memory)).unwrap().into_raw();
    // SAFETY: a tensor by the rules.
    assert_eq!(unsafe { (side.release_truncated)(&raw const raw) }, 0);
    assert_eq!(released.load(Ordering::Relaxed), 1);

    let (memory, released) = host_memory(&bytes());
    let call = raw.release.unwrap();
    raw = Exported::new(tensor(memory)).unwrap().into_raw();
    // SAFETY: a tensor by the rules.
    unsafe { call(&raw mut raw) };
    assert!(raw.release.is_none());
    // SAFETY: a struct that is released.
    unsafe { call(&raw mut raw) };
    // SAFETY: null is let pass.
    unsafe { call(ptr::null_mut()) };
    assert_eq!(released.load(Ordering::Relaxed), 1);
}

#[test]
fn buffers_moved_out_are_released_by_different_threads() {
    let side = in_c();
    let (data, data_released) = host_memory(&[0; 64]);
    let (scales, scales_released) = host_memory(&[0; 24]);
    let descriptor =
        Descriptor::builder(Dtype::Int4, &[3, 40]).quantization(Quantization::PerBlock(PerBlock {
            axis: 1,
            block_size: 32,
            scales: 1,
            zero_points: None,
            scale_type: Dtype::Float32,
        }));
    let quantized = Tensor::new(descriptor.build().unwrap(), [data, scales]).unwrap();
    let raw = Exported::new(quantized).unwrap().into_raw();
    struct Sent<T>(T);
    // SAFETY: any thread may release.
    unsafe impl<T> Send for Sent<T> {}
    let raw = Sent(raw);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let raw = raw;
            consume(&side, 1, raw.0)
        });
    });
    assert_eq!(data_released.load(Ordering::Relaxed), 1);
    assert_eq!(scales_released.load(Ordering::Relaxed), 1);
}

#[test]
fn only_memory_that_is_given_away_may_be_written_to() {
    let flags = |exported: Exported| {
        let flags: Vec<u64> = exported.buffers().map(|buffer| buffer.flags).collect();
        flags
    };
    let memory = || BufferMut::copy_of(&bytes()).unwrap().freeze();
    assert_eq!(flags(Exported::new(tensor(memory())).unwrap()), [0]);
    assert_eq!(flags(Exported::new(tensor(memory())).unwrap().copied()), [BUFFER_COPIED]);
    // Shared with somebody, or with the tensor itself.
    let shared = memory();
    assert_eq!(flags(Exported::new(tensor(shared.clone())).unwrap()), [BUFFER_READ_ONLY]);
    assert_eq!(flags(Exported::share(&tensor(memory())).unwrap()), [BUFFER_READ_ONLY]);
    // Never to be written to.
    let owner = BufferMut::copy_of(&bytes()).unwrap();
    let region = owner.region().read_only();
    // SAFETY: memory that is kept until it is released.
    let constant = unsafe { Buffer::adopt(region, move || drop(owner)) }.unwrap();
    assert_eq!(flags(Exported::new(tensor(constant)).unwrap()), [BUFFER_READ_ONLY]);
    // Somebody else can write to it.
    let owner = BufferMut::copy_of(&bytes()).unwrap();
    let region = Region { may_change: true, ..owner.region() };
    // SAFETY: memory that is kept until it is released.
    let changing = unsafe { Buffer::adopt(region, move || drop(owner)) }.unwrap();
    assert_eq!(
        flags(Exported::new(tensor(changing)).unwrap()),
        [BUFFER_READ_ONLY | BUFFER_MAY_CHANGE]
    );
}

#[test]
fn memory_behind_a_boundary_is_described_from_there_and_not_written_to() {
    let memory = BufferMut::zeroed(128).unwrap();
    let mut region = memory.region();
    region.address += 16;
    region.host = region.host.wrapping_add(16);
    region.length = 48;
    // SAFETY: memory that is kept until it is released.
    let behind = unsafe { Buffer::adopt(region, move || drop(memory)) }.unwrap();
    let tensor = Tensor::dense(Dtype::Float32, &[3, 4], behind).unwrap();
    assert_eq!(tensor.descriptor().byte_offset(), 16);
    let exported = Exported::new(tensor).unwrap();
    let buffer = exported.buffers().next().unwrap();
    assert_eq!((buffer.host.addr() % 64, buffer.flags), (0, BUFFER_READ_ONLY));
}

#[test]
fn memory_is_released_in_stream_order() {
    let driver = TestDevice::new(None);
    let device: Arc<dyn Device> = Arc::<TestDevice>::clone(&driver);
    let releases = Releases::open(&device).unwrap();
    let export = || {
        let (memory, released) = device_memory(&bytes());
        let exported = Exported::new(tensor(memory)).unwrap().released_in(&releases);
        (exported.into_raw(), released)
    };
    static EVENTS: AtomicU64 = AtomicU64::new(0);
    unsafe extern "C" fn release_event(sync: *mut HurraySync) {
        EVENTS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the struct that is released.
        unsafe { (*sync).release_event = None };
    }
    let (mut raw, _) = export();
    let nothing = first_buffer(&raw).sync;
    release(&mut raw);
    let event =
        HurraySync { event_kind: 3, event: 9, release_event: Some(release_event), ..nothing };
    let of_stream = HurraySync { stream: 11, ..nothing };

    for (done, events) in [(event, 1), (of_stream, 0)] {
        let (mut raw, released) = export();
        driver.queue();
        EVENTS.store(0, Ordering::Relaxed);
        let mut done = done;
        let buffer = first_buffer(&raw);
        let release_after = buffer.release_after.unwrap();
        // SAFETY: a buffer of ours, and an event or a stream of the test's driver.
        assert_eq!(unsafe { release_after(&raw mut *buffer, &raw mut done) }, 0);
        assert!(buffer.release.is_none() && done.release_event.is_none());
        assert_eq!(EVENTS.load(Ordering::Relaxed), events);
        release(&mut raw);
        assert_eq!(released.load(Ordering::Relaxed), 0);
        driver.run();
        assert_eq!(released.load(Ordering::Relaxed), 1);
    }

    // What is refused changes no hands.
    let elsewhere = HurraySync { device_tag: 2, ..event };
    let both = HurraySync { stream: 11, ..event };
    let unknown = HurraySync { event_kind: 4, ..event };
    let later = HurraySync { spare: [0, 1], ..event };
    let refused = [(elsewhere, -4), (both, -4), (nothing, -4), (unknown, -2), (later, -4)];
    for (done, status) in refused {
        let (mut raw, released) = export();
        let buffer = first_buffer(&raw);
        let mut given = done;
        let release_after = buffer.release_after.unwrap();
        // SAFETY: a buffer of ours.
        assert_eq!(unsafe { release_after(&raw mut *buffer, &raw mut given) }, status);
        assert_eq!(given.release_event.is_some(), done.release_event.is_some());
        assert!(buffer.release.is_some());
        assert_eq!(released.load(Ordering::Relaxed), 0);
        release(&mut raw);
        assert_eq!(released.load(Ordering::Relaxed), 1);
    }
}
