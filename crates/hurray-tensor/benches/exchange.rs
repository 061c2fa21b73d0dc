//! Handing one tensor over and back: export, import with every check, release; against a DLPack
//! tensor of the same memory by the `dlpark` crate, which is exported, imported, validated and
//! deleted.
//!
//! Both share the memory by one atomic count, and both know the rank at run time only. Theirs carries
//! a shape and strides; ours carries a descriptor, which is encoded, decoded and checked as a whole,
//! and a buffer's handle, device and synchronisation.

#![allow(
    missing_docs,
    unsafe_code,
    clippy::unwrap_used,
    reason = "a benchmark may fail loudly, and takes structs that it made itself"
)]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use dlpark::ffi::{DLDataType, DLDevice};
use dlpark::metadata::Dynamic;
use dlpark::versioned::Dlpack;
use hurray_tensor::device::Devices;
use hurray_tensor::exchange::{Exported, Foreign};
use hurray_tensor::format::{Accept, Dtype};
use hurray_tensor::{Buffer, BufferMut, Tensor};

criterion_group!(benches, hand_over);
criterion_main!(benches);

const SHAPE: [u64; 4] = [2, 3, 4, 8];

fn hand_over(c: &mut Criterion) {
    let mut group = c.benchmark_group("hand a tensor over");
    let memory: Buffer = BufferMut::zeroed(2 * 3 * 4 * 8 * 4).unwrap().freeze();

    let tensor = Tensor::dense(Dtype::Float32, &SHAPE, memory.clone()).unwrap();
    let (accept, devices) = (Accept::default(), Devices::default());
    // As far as the other goes: all of it is checked, and used where it lies.
    group.bench_function("hurray", |b| {
        b.iter(|| {
            let mut out = Exported::share(black_box(&tensor)).unwrap().into_raw();
            // SAFETY: filled just now.
            let foreign = unsafe { Foreign::take(black_box(&raw mut out)) }.unwrap();
            assert!(black_box(&foreign.look(&accept)).is_ok());
        });
    });
    // Further: a tensor of ours is made of it, with a descriptor and memory of its own to hold.
    group.bench_function("hurray-tensor", |b| {
        b.iter(|| {
            let mut out = Exported::share(black_box(&tensor)).unwrap().into_raw();
            // SAFETY: filled just now.
            let foreign = unsafe { Foreign::take(black_box(&raw mut out)) }.unwrap();
            assert!(black_box(&foreign.into_offered(&accept, &devices)).is_ok());
        });
    });
    group.bench_function("hurray-export", |b| {
        b.iter(|| drop(black_box(Exported::share(black_box(&tensor)).unwrap())));
    });

    let memory = Arc::new(memory);
    let shape = SHAPE.map(|size| i64::try_from(size).unwrap());
    let strides = [96, 32, 8, 1_i64];
    let data = memory.region().host.cast();
    group.bench_function("dlpark", |b| {
        b.iter(|| {
            let (shape, strides) = (black_box(&shape[..]), black_box(&strides[..]));
            let metadata = Dynamic::new(shape, strides);
            let mut initialized = metadata.initialize(Arc::clone(&memory)).unwrap();
            initialized.set_data(data).set_dtype(DLDataType::F32).set_device(DLDevice::CPU);
            // SAFETY: the memory is held by the context, and as large as the shape says.
            let exported: Dlpack = unsafe { initialized.finish() };
            let raw = black_box(exported.into_raw());
            // SAFETY: exported just now.
            let imported: Dlpack = unsafe { Dlpack::from_raw(raw) }.unwrap();
            black_box(imported.validate().unwrap());
        });
    });
    group.finish();
}
