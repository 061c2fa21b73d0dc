//! Reading a common descriptor and writing it into a caller's buffer touch no heap.

#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]
#![allow(unsafe_code, reason = "an allocator that counts is an unsafe trait")]

#[path = "support/typical.rs"]
mod typical;

use std::alloc::{GlobalAlloc, Layout as Memory, System};
use std::cell::Cell;
use std::hint::black_box;

use hurray_format::*;
use typical::{per_block, row_major};

/// The system's allocator, counting what each thread asks of it.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // A thread that is ending has nobody left who asks.
    let _ = ALLOCATIONS.try_with(|allocations| allocations.set(allocations.get() + 1));
}

// SAFETY: every call goes to the system's allocator with the same arguments, and its answer
// comes back unchanged, so that its own guarantees hold; counting touches a thread-local
// number, allocates nothing and does not unwind.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, memory: Memory) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the promises of `alloc`, which are the same there.
        unsafe { System.alloc(memory) }
    }

    unsafe fn alloc_zeroed(&self, memory: Memory) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the promises of `alloc_zeroed`, which are the same there.
        unsafe { System.alloc_zeroed(memory) }
    }

    unsafe fn realloc(&self, place: *mut u8, memory: Memory, size: usize) -> *mut u8 {
        count();
        // SAFETY: `place` came from the system's allocator, through this one, and the caller
        // keeps the other promises of `realloc`, which are the same there.
        unsafe { System.realloc(place, memory, size) }
    }

    unsafe fn dealloc(&self, place: *mut u8, memory: Memory) {
        // SAFETY: `place` came from the system's allocator, through this one, with `memory`.
        unsafe { System.dealloc(place, memory) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often this thread asks for memory during `work`.
fn allocations<T>(work: impl FnOnce() -> T) -> u64 {
    let before = ALLOCATIONS.get();
    black_box(work());
    ALLOCATIONS.get() - before
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| Box::new(7)), 1);
    assert_eq!(allocations(|| 7), 0);
}

#[test]
fn common_descriptors_are_read_and_written_without_the_heap() {
    let strided = Descriptor::builder(Dtype::BFloat16, &[3; 8])
        .layout(Layout::strided([1, 3, 9, 27, 81, 243, 729, 2187]))
        .build()
        .unwrap();
    for descriptor in [row_major(), per_block(), strided] {
        let bytes = descriptor.encode();
        assert_eq!(allocations(|| DescriptorRef::read(black_box(&bytes)).unwrap()), 0);
        assert_eq!(allocations(|| Descriptor::decode(black_box(&bytes)).unwrap()), 0);
        let accept = Accept::every_private_tag();
        let read = || Descriptor::decode_with(black_box(&bytes), &accept, &mut Silent).unwrap();
        assert_eq!(allocations(read), 0);
        let permissive = || DescriptorRef::read_permissive(black_box(&bytes), &accept).unwrap();
        assert_eq!(allocations(permissive), 0);
        let mut out = [0; 256];
        assert_eq!(allocations(|| descriptor.encode_into(black_box(&mut out)).unwrap()), 0);
        assert_eq!(allocations(|| descriptor.clone()), 0);
    }
}

/// A view of a tensor in memory is a new descriptor: it costs no memory either.
#[test]
fn common_descriptors_are_built_without_the_heap() {
    for descriptor in [row_major(), per_block()] {
        assert_eq!(allocations(|| descriptor.rebuild().byte_offset(0).build().unwrap()), 0);
        let shape = descriptor.shape();
        assert_eq!(allocations(|| Descriptor::dense(Dtype::Float32, black_box(shape)).unwrap()), 0);
        assert_eq!(allocations(|| descriptor.strides().unwrap()), 0);
    }
}

/// In place, nothing is allocated for sections of any length either.
#[test]
fn long_sections_are_read_in_place_without_the_heap() {
    let statistics = Statistics::new(&StatisticsValues::default());
    let descriptor = Descriptor::builder(Dtype::UInt8, &[2; 40])
        .buffers([BufferHandle::cpu(1 << 40)])
        .shard(Shard::new(&[2; 40], &[0; 40]))
        .statistics(statistics)
        .member_role(MemberRole::Base)
        .build()
        .unwrap();
    let bytes = descriptor.encode();
    assert_eq!(allocations(|| DescriptorRef::read(black_box(&bytes)).unwrap()), 0);
    assert!(allocations(|| Descriptor::decode(black_box(&bytes)).unwrap()) > 0);
}

/// Refusing costs as little as accepting.
#[test]
fn a_refusal_allocates_nothing() {
    let bytes = row_major().encode();
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0xFF;
        let read = || Descriptor::decode(black_box(&changed)).is_err();
        assert_eq!(allocations(read), 0, "{at}");
        assert_eq!(allocations(|| Descriptor::decode(&bytes[..at]).is_err()), 0, "{at}");
    }
}

/// Counts that nothing stands behind size no allocation.
#[test]
fn a_hostile_count_allocates_nothing() {
    let mut bytes = row_major().encode();
    for rank in [64_u32, 65, u32::MAX] {
        bytes[16..20].copy_from_slice(&rank.to_le_bytes());
        assert_eq!(allocations(|| Descriptor::decode(black_box(&bytes)).is_err()), 0);
    }
    let mut bytes = row_major().encode();
    bytes[6..10].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(allocations(|| Descriptor::decode(black_box(&bytes)).is_err()), 0);
}
