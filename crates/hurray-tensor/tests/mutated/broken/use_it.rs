//! The ways in which a consumer takes a tensor, and lets it go.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use hurray_tensor::device::Stream;
use hurray_tensor::exchange::raw::{HurrayBuffer, HurrayTensor};
use hurray_tensor::exchange::{Exported, Foreign};
use hurray_tensor::format::{Accept, DeviceTag};
use hurray_tensor::{Buffer, Result, Tensor};

use super::asked::hand_out;
use super::device::devices;
use super::graph::Graph;
use super::released::{BufferContext, memory_of};

pub(crate) const WAYS: usize = 11;
/// From here on a producer hands it out.
const HANDED_OUT: usize = 9;

/// Takes it in some way, and answers what that came to.
pub(crate) fn take(graph: &Graph, way: usize) -> String {
    let accept = Accept::every_private_tag();
    let devices = devices(&graph.buffer_contexts);
    if way >= HANDED_OUT {
        return said(hand_out(graph, way > HANDED_OUT, &accept, &devices));
    }
    // SAFETY: what is wrong with the struct is what can be checked.
    let taken = unsafe { Foreign::take(graph.tensors[0]) };
    let foreign = match taken {
        Ok(foreign) => foreign,
        Err(error) => return named(&error),
    };
    let done: Result<()> = match way {
        0 => foreign.look(&accept).map(drop),
        1 => foreign.into_offered(&accept, &devices).and_then(|offered| {
            // An address may be wrong in a way that only its producer can know.
            read(graph, &offered.trusted().acquire()?);
            Ok(())
        }),
        2 => foreign.into_composite(&accept, &devices).and_then(|offered| {
            let composite = offered.trusted().acquire()?;
            composite.tensors().iter().for_each(|tensor| read(graph, tensor));
            Ok(())
        }),
        3 => foreign.into_offered(&accept, &devices).map(drop),
        4 => foreign.into_composite(&accept, &devices).map(drop),
        5 => foreign.into_offered(&accept, &devices).and_then(|offered| {
            let exported = Exported::offer(offered)?;
            // SAFETY: it is ours.
            unsafe { release_apart(exported.into_raw()) }
            Ok(())
        }),
        6 => foreign.into_offered(&accept, &devices).map(|offered| {
            std::thread::spawn(move || drop(offered)).join().unwrap();
        }),
        7 => foreign.into_composite(&accept, &devices).map(|offered| {
            let unwound = catch_unwind(AssertUnwindSafe(|| {
                let _held = offered;
                resume_unwind(Box::new(()));
            }));
            assert!(unwound.is_err());
        }),
        _ => foreign.into_offered(&accept, &devices).and_then(|offered| {
            let found = devices.find(DeviceTag::CUDA, -1, &[0; 16]);
            let stream = Stream::open(found.unwrap())?;
            drop(offered.acquire_on(&[&stream, &stream])?);
            Ok(())
        }),
    };
    said(done)
}

fn said(done: Result<()>) -> String {
    match done {
        Ok(()) => "taken".to_owned(),
        Err(error) => named(&error),
    }
}

fn named(error: &hurray_tensor::Error) -> String {
    error.rule().unwrap_or_else(|| panic!("{error}")).id().to_owned()
}

/// Reads memory that is what it really was.
fn read(graph: &Graph, tensor: &Tensor) {
    let is_whole = |buffer: &Buffer| {
        let host: *const c_void = buffer.region().host.cast_const().cast();
        let is_there = |context: &BufferContext| !host.is_null() && memory_of(context) == host;
        buffer.byte_size() <= 4096 && graph.buffer_contexts.iter().any(|context| is_there(context))
    };
    if tensor.buffers().iter().all(is_whole) && tensor.host_buffers().is_ok() {
        let _ = tensor.check_contents();
        if let Ok(elements) = tensor.iter_bits() {
            std::hint::black_box(elements.take(1000).count());
        }
    }
}

/// Each buffer is moved out, the tensor released, and then each buffer.
///
/// # Safety
///
/// The tensor must be what the header says.
unsafe fn release_apart(mut raw: HurrayTensor) {
    let mut moved: Vec<HurrayBuffer> = Vec::new();
    for place in 0..raw.buffer_count as usize {
        // SAFETY: the caller's.
        unsafe {
            let buffer = *raw.buffers.add(place);
            moved.push(*buffer);
            (*buffer).release = None;
        }
    }
    // SAFETY: the caller's.
    unsafe { raw.release.unwrap()(&raw mut raw) };
    assert!(raw.release.is_none());
    for buffer in &mut moved {
        if let Some(release) = buffer.sync.release_event {
            // SAFETY: before its buffer.
            unsafe { release(&raw mut buffer.sync) }
        }
        // SAFETY: moved out, and not released.
        unsafe { buffer.release.unwrap()(buffer) };
    }
}
