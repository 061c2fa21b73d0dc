//! Reading and writing one descriptor, beside the published implementation of the format.
//!
//! Both are given the same bytes. Ours checks every rule of the format; the other one
//! leaves most of them to later, and a quantization section unread.

#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark may fail loudly")]

#[path = "../tests/support/typical.rs"]
mod typical;

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use hurray_core::TensorDescriptor as Peer;
use hurray_format::{Descriptor, DescriptorRef};
use typical::{per_block, row_major};

fn decode(c: &mut Criterion) {
    for (name, descriptor) in [
        ("decode a row-major descriptor of rank 4", row_major()),
        ("decode a per-block int4 descriptor", per_block()),
    ] {
        let bytes = descriptor.encode();
        assert_eq!(Peer::decode(&bytes).unwrap().encode().unwrap(), bytes);

        let mut group = c.benchmark_group(name);
        group.bench_function("hurray", |b| {
            b.iter(|| {
                black_box(&Descriptor::decode(black_box(&bytes)));
            });
        });
        group.bench_function("hurray-in-place", |b| {
            b.iter(|| {
                black_box(&DescriptorRef::read(black_box(&bytes)));
            });
        });
        group.bench_function("hurray-core", |b| {
            b.iter(|| {
                black_box(&Peer::decode(black_box(&bytes)));
            });
        });
        group.finish();
    }
}

fn encode(c: &mut Criterion) {
    for (name, descriptor) in [
        ("encode a row-major descriptor of rank 4", row_major()),
        ("encode a per-block int4 descriptor", per_block()),
    ] {
        let bytes = descriptor.encode();
        let peer = Peer::decode(&bytes).unwrap();

        let mut group = c.benchmark_group(name);
        let mut out = [0; 256];
        group.bench_function("hurray", |b| {
            b.iter(|| {
                black_box(black_box(&descriptor).encode_into(&mut out).unwrap());
                black_box(&out);
            });
        });
        group.bench_function("hurray-allocating", |b| {
            b.iter(|| {
                black_box(&black_box(&descriptor).encode());
            });
        });
        // It writes into memory of its own only.
        group.bench_function("hurray-core", |b| {
            b.iter(|| {
                black_box(&black_box(&peer).encode().unwrap());
            });
        });
        group.finish();
    }
}

criterion_group!(benches, decode, encode);
criterion_main!(benches);
