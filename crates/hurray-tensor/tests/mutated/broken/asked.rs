//! Producers: one that hands out a graph, and ours, asked for anything.

use std::cell::Cell;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hurray_tensor::device::Devices;
use hurray_tensor::exchange::raw::{ABI_VERSION, HurrayProducer, HurrayRequest, HurrayTensor};
use hurray_tensor::exchange::{ExportedProducer, ForeignProducer, Request};
use hurray_tensor::format::{Accept, Dtype};
use hurray_tensor::{Buffer, Result, Tensor};

use super::choice::Choice;
use super::graph::Graph;

/// What is behind the producer of a graph.
struct HandsOut {
    outer: *mut HurrayTensor,
    released: Cell<usize>,
}

/// Has a producer hand out the graph, and takes it as a tensor or as a composite.
pub(super) fn hand_out(
    graph: &Graph,
    as_composite: bool,
    accept: &Accept,
    devices: &Devices,
) -> Result<()> {
    let behind = HandsOut { outer: graph.tensors[0], released: Cell::new(0) };
    let mut raw = HurrayProducer {
        abi_version: ABI_VERSION,
        struct_size: size_of::<HurrayProducer>() as u32,
        release: Some(release),
        private_data: (&raw const behind).cast_mut().cast(),
        describe: None,
        produce: Some(produce),
        last_error: None,
    };
    // SAFETY: made just now; its callbacks keep the rules, but for what is wrong with the graph.
    let mut producer = unsafe { ForeignProducer::take(&raw mut raw) }?;
    let request = Request::any();
    let done = match as_composite {
        false => producer.produce(&request, accept, devices).map(drop),
        true => producer.produce_composite(&request, accept, devices).map(drop),
    };
    // There is nothing to be had a second time.
    assert!(producer.produce(&request, accept, devices).is_err());
    drop(producer);
    assert_eq!(behind.released.get(), 1);
    done
}

/// Has a tensor of ours answer a request of any numbers.
pub(super) fn answer(choice: &mut impl Choice) {
    let mut request = *Request::any().as_raw();
    let first = (&raw mut request).cast::<u64>();
    for _ in 0..choice.below(6) {
        let place = choice.below(size_of::<HurrayRequest>() / 8);
        // SAFETY: inside the struct, of numbers alone.
        unsafe { *first.add(place) = choice.any() }
    }
    let released = Arc::new(AtomicUsize::new(0));
    let memory = Counted(vec![7; 64], Arc::clone(&released));
    let tensor = Tensor::dense(Dtype::UInt8, &[64], Buffer::from_owner(memory).unwrap());
    let mut producer = ExportedProducer::new(tensor.unwrap()).into_raw();
    let mut out = HurrayTensor {
        abi_version: ABI_VERSION,
        struct_size: size_of::<HurrayTensor>() as u32,
        release: None,
        private_data: ptr::null_mut(),
        descriptor: ptr::null(),
        descriptor_length: 0,
        buffer_count: 0,
        buffers: ptr::null_mut(),
        member_count: 0,
        members: ptr::null_mut(),
        flags: 0,
    };
    // SAFETY: a producer of ours that uses no stream, a request that is all there, and room.
    let status =
        unsafe { producer.produce.unwrap()(&raw mut producer, &raw const request, &raw mut out) };
    assert_eq!(status == 0, out.release.is_some());
    // SAFETY: ours, and not released.
    unsafe { producer.release.unwrap()(&raw mut producer) };
    if let Some(release) = out.release {
        // SAFETY: handed out just now.
        unsafe { release(&raw mut out) }
    }
    assert_eq!(released.load(Ordering::SeqCst), 1);
}

/// Memory that counts how often it is let go of.
struct Counted(Vec<u8>, Arc<AtomicUsize>);

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::SeqCst);
    }
}

unsafe extern "C" fn produce(
    it: *mut HurrayProducer,
    _: *const HurrayRequest,
    out: *mut HurrayTensor,
) -> i32 {
    // SAFETY: made by `hand_out`, whose variable it is.
    let behind = unsafe { &*(*it).private_data.cast::<HandsOut>() };
    // SAFETY: the graph's struct, and room for one by the header's rules.
    unsafe {
        out.write(*behind.outer);
        (*behind.outer).release = None;
    }
    0
}

unsafe extern "C" fn release(it: *mut HurrayProducer) {
    // SAFETY: as above.
    let behind = unsafe { &*(*it).private_data.cast::<HandsOut>() };
    behind.released.set(behind.released.get() + 1);
    // SAFETY: as above.
    unsafe { (*it).release = None };
}
