//! Handing one tensor over by DLPack and taking it back: export, import with every check, release;
//! ours and the `dlpark` crate's. The latter does not check what the memory is to become.

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
use dlpark::versioned;
use hurray_tensor::dlpack::{Export, Exported, Foreign, Import};
use hurray_tensor::format::Dtype;
use hurray_tensor::{BufferMut, Tensor};

criterion_group!(benches, by_dlpack);
criterion_main!(benches);

fn by_dlpack(c: &mut Criterion) {
    let mut group = c.benchmark_group("hand a tensor over by DLPack");
    let memory = BufferMut::zeroed(2 * 3 * 4 * 8 * 4).unwrap().freeze();
    let tensor = Tensor::dense(Dtype::Float32, &[2, 3, 4, 8], memory.clone()).unwrap();
    let (export, import) = (Export::default(), Import::default());
    group.bench_function("hurray", |b| {
        b.iter(|| {
            let exported: Exported = export.share(black_box(&tensor)).unwrap();
            let foreign = black_box(Foreign::from(exported));
            drop(black_box(foreign.import(&import).unwrap()));
        });
    });
    group.bench_function("hurray-export", |b| {
        b.iter(|| drop(black_box::<Exported>(export.share(black_box(&tensor)).unwrap())));
    });

    let memory = Arc::new(memory);
    let data = memory.region().host.cast();
    group.bench_function("dlpark", |b| {
        b.iter(|| {
            let (shape, strides) = (black_box(&[2, 3, 4, 8_i64][..]), &[96, 32, 8, 1_i64][..]);
            let metadata = Dynamic::new(shape, strides);
            let mut exported = metadata.initialize(Arc::clone(&memory)).unwrap();
            exported.set_data(data).set_dtype(DLDataType::F32).set_device(DLDevice::CPU);
            // SAFETY: the memory is held by the context, and as large as the shape says.
            let exported = unsafe { exported.finish() }.into_raw();
            // SAFETY: exported just now.
            let imported = unsafe { versioned::Dlpack::from_raw(black_box(exported)) }.unwrap();
            black_box(imported.validate().unwrap());
        });
    });
    group.finish();
}
