//! The functions of `producer.h` and `consumer.h`, by hurray-tensor: for programs of C to be linked
//! with, and for two copies in one process to meet.

mod device;
mod make;

use std::sync::atomic::{AtomicU64, Ordering};

use hurray_tensor::exchange::raw::{HurrayProducer, HurrayTensor};
use hurray_tensor::exchange::{Exported, ExportedProducer, Foreign, Produce, Request, Status};
use hurray_tensor::format::{Accept, Composite, Descriptor};
use hurray_tensor::{Error, Result, Tensor};

use device::Driver;

/// What a consumer of the tests waits with.
pub(crate) type Wait = unsafe extern "C" fn(u64, u64) -> i32;

pub(crate) static MADE: AtomicU64 = AtomicU64::new(0);
pub(crate) static BUFFERS: AtomicU64 = AtomicU64::new(0);
pub(crate) static EVENTS: AtomicU64 = AtomicU64::new(0);
static WAITS: AtomicU64 = AtomicU64::new(0);

/// Forgets what was counted.
#[unsafe(no_mangle)]
pub extern "C" fn test_reset() {
    for count in [&MADE, &BUFFERS, &EVENTS, &WAITS] {
        count.store(0, Ordering::Relaxed);
    }
}

/// What was counted: tensors made, tensors released, buffers, events, waits.
///
/// # Safety
///
/// `out` must be room for five numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn test_counts(out: *mut [u64; 5]) {
    let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
    // Tensors release nothing of their own here that could be counted.
    let made = count(&MADE);
    let counts = [made, made, count(&BUFFERS), count(&EVENTS), count(&WAITS)];
    // SAFETY: passed on to the caller.
    unsafe { out.write(counts) }
}

/// A tensor by its number.
///
/// # Safety
///
/// `out` must be room for a tensor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn test_make(which: u32, out: *mut HurrayTensor) -> i32 {
    status(|| {
        let exported = make::tensor(which)?;
        // SAFETY: passed on to the caller.
        unsafe { out.write(exported.into_raw()) };
        Ok(())
    })
}

/// A producer of the first of them, which it keeps.
///
/// # Safety
///
/// `out` must be room for a producer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn test_producer(out: *mut HurrayProducer) -> i32 {
    status(|| {
        let producer = ExportedProducer::new(Kept(make::dense(false)?));
        // SAFETY: passed on to the caller.
        unsafe { out.write(producer.into_raw()) };
        Ok(())
    })
}

struct Kept(Tensor);

impl Produce for Kept {
    fn describe(&self) -> Option<Descriptor> {
        Some(self.0.descriptor().clone())
    }

    fn produce(&mut self, _: &Request) -> Result<Exported> {
        Exported::share(&self.0)
    }
}

/// Lets an event come.
///
/// # Safety
///
/// It must be an event of a tensor made here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn test_signal(event: u64) {
    // SAFETY: passed on to the caller.
    unsafe { device::event(event) }.store(7, Ordering::Release);
}

/// Whether an event has come.
///
/// # Safety
///
/// It must be an event of a tensor made here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn test_wait(event: u64, value: u64) -> i32 {
    WAITS.fetch_add(1, Ordering::Relaxed);
    // SAFETY: passed on to the caller.
    let reached = unsafe { device::event(event) }.load(Ordering::Acquire);
    if reached >= value.max(1) { 0 } else { Status::System.code() }
}

/// Takes a tensor, waits for it and adds up its floats.
///
/// # Safety
///
/// As `Foreign::take`; `sum` must be a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn test_consume(
    tensor: *mut HurrayTensor,
    wait: Wait,
    _stream: u64,
    sum: *mut f64,
) -> i32 {
    status(|| {
        // SAFETY: passed on to the caller.
        let foreign = unsafe { Foreign::take(tensor) }?;
        let devices = Driver::at_hand(wait);
        let composite = foreign.into_composite(&Accept::default(), &devices)?.acquire_host()?;
        let added = add_up(composite.as_bound())?;
        // SAFETY: passed on to the caller.
        unsafe { *sum += added };
        Ok(())
    })
}

/// The same.
///
/// # Safety
///
/// As [`test_consume`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn test_consume_apart(
    tensor: *mut HurrayTensor,
    wait: Wait,
    stream: u64,
    sum: *mut f64,
) -> i32 {
    // SAFETY: passed on to the caller.
    unsafe { test_consume(tensor, wait, stream, sum) }
}

fn add_up(composite: &Composite<Tensor>) -> Result<f64> {
    let mut sum = 0.0;
    if let Some(buffer) = composite.item.buffers().first() {
        for number in buffer.host_bytes()?.as_chunks().0 {
            sum += f64::from(f32::from_le_bytes(*number));
        }
    }
    for member in &composite.members {
        sum += add_up(member)?;
    }
    Ok(sum)
}

/// Releases a tensor by a copy of its first four fields.
///
/// # Safety
///
/// `tensor` must be one that is not released.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn test_release_truncated(tensor: *const HurrayTensor) -> i32 {
    // SAFETY: the first four fields are 24 bytes at a multiple of 8.
    let mut head = Box::new(unsafe { *tensor.cast::<[u64; 3]>() });
    // SAFETY: passed on to the caller.
    if let Some(release) = unsafe { (*tensor).release } {
        // SAFETY: not released, and all that releasing takes.
        unsafe { release(head.as_mut_ptr().cast()) };
    }
    if head[1] == 0 { 0 } else { Status::Peer.code() }
}

fn status(work: impl FnOnce() -> Result<(), Error>) -> i32 {
    match work() {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("{error}");
            Status::from(&error).code()
        }
    }
}
