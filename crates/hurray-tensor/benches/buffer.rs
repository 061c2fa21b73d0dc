//! Holding memory: what a share costs, what memory costs, and what writing again costs.
//!
//! A `Buffer` is compared with the shared owners that Rust programs hold bytes by: an `Arc` of a
//! vector, an `Arc` of a slice, and `Bytes`.

#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark may fail loudly")]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::hint::black_box;
use std::sync::Arc;

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use hurray_tensor::{Alignment, Buffer, BufferMut, Region, Unfilled};

criterion_group!(benches, share, own, allocate, write_again);
criterion_main!(benches);

/// Another share in memory that is held, dropped again.
fn share(c: &mut Criterion) {
    let mut group = c.benchmark_group("share a buffer and drop the share");
    let buffer = BufferMut::zeroed(4096).unwrap().freeze();
    group.bench_function("hurray", |b| b.iter(|| black_box(&buffer).clone()));
    let vector = Arc::new(vec![0_u8; 4096]);
    group.bench_function("Arc<Vec<u8>>", |b| b.iter(|| Arc::clone(black_box(&vector))));
    let slice: Arc<[u8]> = Arc::from(vec![0_u8; 4096]);
    group.bench_function("Arc<[u8]>", |b| b.iter(|| Arc::clone(black_box(&slice))));
    let bytes = Bytes::from_owner(vec![0_u8; 4096]);
    group.bench_function("Bytes", |b| b.iter(|| black_box(&bytes).clone()));
    group.bench_function("hurray slice", |b| b.iter(|| black_box(&buffer).slice(64..128).unwrap()));
    group.bench_function("Bytes slice", |b| b.iter(|| black_box(&bytes).slice(64..128)));
    group.finish();
}

/// 64 bytes taken as an owner that holds them within itself, and dropped by the only one who
/// holds it; and memory of somebody else's, given back by a call.
#[allow(unsafe_code, reason = "the memory of somebody else's is the benchmark's own")]
fn own(c: &mut Criterion) {
    let mut group = c.benchmark_group("adopt an owner and drop it");
    let owner = [0_u8; 64];
    group.bench_function("hurray", |b| b.iter(|| Buffer::from_owner(black_box(owner)).unwrap()));
    group.bench_function("Arc<[u8; 64]>", |b| b.iter(|| Arc::new(black_box(owner))));
    group.bench_function("Bytes", |b| b.iter(|| Bytes::from_owner(black_box(owner))));
    let region = Region::host(owner.as_ptr().cast_mut(), owner.len()).read_only();
    group.bench_function("hurray, given back by a call", |b| {
        b.iter(|| {
            let place = region.host.addr();
            let release = move || {
                black_box(place);
            };
            // SAFETY: the memory is there for as long as the benchmark runs.
            unsafe { Buffer::adopt(black_box(region), release) }.unwrap()
        });
    });
    group.finish();
}

/// Zeroed memory at a multiple of 64, given back.
fn allocate(c: &mut Criterion) {
    let mut group = c.benchmark_group("allocate zeroed memory and drop it");
    for length in [256, 64 << 10, 16 << 20] {
        let name = |who| BenchmarkId::new(who, format!("{length} bytes"));
        group.bench_function(name("hurray"), |b| {
            b.iter(|| BufferMut::zeroed(black_box(length)).unwrap());
        });
        group.bench_function(name("hurray, whole pages"), |b| {
            b.iter(|| BufferMut::zeroed_at(Alignment::PAGE, black_box(length)).unwrap());
        });
        group.bench_function(name("the allocator"), |b| b.iter(|| Aligned::zeroed(length)));
        group.bench_function(name("Vec"), |b| b.iter(|| vec![0_u8; black_box(length)]));
    }
    group.finish();

    let mut group = c.benchmark_group("allocate memory, copy into it and drop it");
    for length in [256, 64 << 10, 16 << 20] {
        let name = |who| BenchmarkId::new(who, format!("{length} bytes"));
        let source = vec![1_u8; length];
        group.bench_function(name("hurray"), |b| {
            b.iter(|| BufferMut::copy_of(black_box(&source)).unwrap());
        });
        group.bench_function(name("hurray, from a reader"), |b| {
            b.iter(|| {
                let mut memory = Unfilled::new(Alignment::LINE, length).unwrap();
                memory.read_exact_from(&mut black_box(&source[..])).unwrap();
                memory.finish().unwrap()
            });
        });
        group.bench_function(name("Vec"), |b| b.iter(|| black_box(&source).clone()));
    }
    group.finish();
}

/// Memory of the allocator at a multiple of 64, and nothing around it.
struct Aligned(*mut u8, Layout);

#[allow(unsafe_code, reason = "this is what ours is compared with")]
impl Aligned {
    fn zeroed(length: usize) -> Self {
        let layout = Layout::from_size_align(black_box(length), 64).unwrap();
        // SAFETY: the lengths here are not 0.
        Self(unsafe { alloc_zeroed(layout) }, layout)
    }
}

#[allow(unsafe_code, reason = "as above")]
impl Drop for Aligned {
    fn drop(&mut self) {
        // SAFETY: it came from the allocator with this layout.
        unsafe { dealloc(self.0, self.1) }
    }
}

/// From memory to write to, to a buffer, and back.
fn write_again(c: &mut Criterion) {
    let mut group = c.benchmark_group("freeze memory and take it back to write to");
    group.bench_function("hurray", |b| {
        let mut memory = Some(BufferMut::zeroed(4096).unwrap());
        b.iter(|| {
            let buffer = memory.take().unwrap().freeze();
            memory = Some(black_box(buffer).try_into_mut().unwrap());
        });
    });
    group.bench_function("Bytes", |b| {
        let mut memory = Some(bytes::BytesMut::zeroed(4096));
        b.iter(|| {
            let bytes = memory.take().unwrap().freeze();
            memory = Some(black_box(bytes).try_into_mut().unwrap());
        });
    });
    group.bench_function("Arc<Vec<u8>>", |b| {
        let mut memory = Some(vec![0_u8; 4096]);
        b.iter(|| {
            let shared = Arc::new(memory.take().unwrap());
            memory = Some(Arc::try_unwrap(black_box(shared)).unwrap());
        });
    });
    group.finish();
}
