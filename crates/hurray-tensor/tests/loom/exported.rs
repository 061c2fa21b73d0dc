//! A tensor that was handed over by the structs of C: what is behind it is one allocation, which
//! whoever releases last gives back. That it is noticed where an ordering is weaker is shown in
//! `shares.rs`, over the same count: a panic does not come out of a callback of C, and ends all.

use hurray_tensor::exchange::Exported;
use hurray_tensor::exchange::raw::HurrayBuffer;
use hurray_tensor::format::{Descriptor, Dtype, PerBlock, Quantization};
use hurray_tensor::{BufferMut, Tensor};
use loom::thread;

use super::model;

/// A buffer that was moved out, on its way to another thread.
struct Moved(HurrayBuffer);

// SAFETY: any thread may release, as the header says.
unsafe impl Send for Moved {}

/// One buffer is released by another thread; the tensor, and with it the other buffer, by this.
fn release_in_two_places() {
    model(|| {
        let mut raw = Exported::new(quantized()).unwrap().into_raw();
        // SAFETY: a tensor of ours has as many pointers as buffers.
        let first = unsafe { *raw.buffers };
        // SAFETY: a struct of ours, used by this thread alone.
        let first = unsafe { &mut *first };
        let moved = Moved(*first);
        first.release = None;
        let other = thread::spawn(move || {
            let Moved(mut buffer) = { moved };
            // SAFETY: moved here, and not released until now.
            unsafe { buffer.release.unwrap()(&raw mut buffer) }
        });
        // SAFETY: not released until now.
        unsafe { raw.release.unwrap()(&raw mut raw) }
        other.join().unwrap();
    });
}

/// A tensor of two buffers.
fn quantized() -> Tensor {
    let scheme = PerBlock {
        axis: 0,
        block_size: 64,
        scales: 1,
        zero_points: None,
        scale_type: Dtype::Float32,
    };
    let descriptor =
        Descriptor::builder(Dtype::Int4, &[128]).quantization(Quantization::PerBlock(scheme));
    let buffers = [64, 8].map(|size| BufferMut::zeroed(size).unwrap().freeze());
    Tensor::new(descriptor.build().unwrap(), buffers).unwrap()
}

#[test]
fn what_is_behind_a_tensor_ends_after_all_who_held_it() {
    release_in_two_places();
}
