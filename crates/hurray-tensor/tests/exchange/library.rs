//! The C and C++ sides, compiled and loaded.

#![allow(unsafe_code, reason = "functions of a shared library are called as their header says")]

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use hurray_tensor::exchange::Foreign;
use hurray_tensor::exchange::raw::{HurrayBuffer, HurrayProducer, HurrayTensor};
use hurray_tensor::format::{Descriptor, Dtype, PerBlock, Quantization};
use hurray_tensor::{Buffer, Tensor};
use libloading::Library;

use crate::compile::{self, Into, compile};

/// The tensors that `producer.h` lists.
pub(crate) const SYNCED: u32 = 0;
pub(crate) const MULTI_WAIT: u32 = 1;
pub(crate) const TIMELINE: u32 = 2;
pub(crate) const BINARY: u32 = 3;
pub(crate) const STREAM: u32 = 4;
pub(crate) const COMPOSITE: u32 = 5;
pub(crate) const QUANTIZED: u32 = 6;
pub(crate) const EMPTY: u32 = 7;
pub(crate) const NESTED: u32 = 8;
pub(crate) const DEEP: u32 = 9;

/// The stream that it orders.
pub(crate) const ORDERED_STREAM: u64 = 0x5EED;

/// How often each was made and released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Counts {
    pub(crate) made: u64,
    pub(crate) tensors: u64,
    pub(crate) buffers: u64,
    pub(crate) events: u64,
    pub(crate) waits: u64,
}

pub(crate) type Raw = HurrayTensor;
pub(crate) type Wait = unsafe extern "C" fn(u64, u64) -> i32;
pub(crate) type Consume = unsafe extern "C" fn(*mut HurrayTensor, Wait, u64, *mut f64) -> i32;

/// A library that produces and consumes, for one test at a time, since it counts for all.
pub(crate) struct Side {
    pub(crate) name: &'static str,
    make: unsafe extern "C" fn(u32, *mut HurrayTensor) -> i32,
    producer: unsafe extern "C" fn(*mut HurrayProducer) -> i32,
    reset: unsafe extern "C" fn(),
    counts: unsafe extern "C" fn(*mut Counts),
    signal: unsafe extern "C" fn(u64),
    pub(crate) wait: Wait,
    pub(crate) consume: [Consume; 2],
    pub(crate) release_truncated: unsafe extern "C" fn(*const HurrayTensor) -> i32,
    in_use: Mutex<()>,
    /// Where the functions are, for as long as the program runs.
    _library: Library,
}

/// The side written in C.
pub(crate) fn in_c() -> InUse {
    static SIDE: OnceLock<Side> = OnceLock::new();
    InUse::of(
        SIDE.get_or_init(|| Side::load("C", compile("one.c", "c11", Into::Library, "libone.so"))),
    )
}

/// The side written in C++.
pub(crate) fn in_cpp() -> InUse {
    static SIDE: OnceLock<Side> = OnceLock::new();
    InUse::of(SIDE.get_or_init(|| {
        Side::load("C++", compile("both.cpp", "c++17", Into::Library, "libboth.so"))
    }))
}

/// Two copies of hurray-tensor, built apart: for looking at and for running.
pub(crate) fn copies() -> [InUse; 2] {
    static SIDES: OnceLock<[Side; 2]> = OnceLock::new();
    let sides = SIDES.get_or_init(|| {
        [("debug", "dev"), ("release", "release")]
            .map(|(name, profile)| Side::load(name, compile::copy(profile)))
    });
    let [debug, release] = sides;
    [InUse::of(debug), InUse::of(release)]
}

impl Side {
    fn load(name: &'static str, path: PathBuf) -> Self {
        // SAFETY: compiled just now, it runs nothing when it is loaded.
        let library = unsafe { Library::new(&path) }.unwrap();
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: of this type, as its header says.
                *unsafe { library.get($name) }.unwrap()
            };
        }
        Self {
            name,
            make: function!(b"test_make"),
            producer: function!(b"test_producer"),
            reset: function!(b"test_reset"),
            counts: function!(b"test_counts"),
            signal: function!(b"test_signal"),
            wait: function!(b"test_wait"),
            consume: [function!(b"test_consume"), function!(b"test_consume_apart")],
            release_truncated: function!(b"test_release_truncated"),
            in_use: Mutex::new(()),
            _library: library,
        }
    }
}

/// A side, and the right to be the only one who uses it.
pub(crate) struct InUse {
    side: &'static Side,
    _alone: MutexGuard<'static, ()>,
}

impl InUse {
    fn of(side: &'static Side) -> Self {
        let alone = side.in_use.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: without arguments.
        unsafe { (side.reset)() };
        Self { side, _alone: alone }
    }

    /// A tensor of theirs, in memory of ours.
    pub(crate) fn make(&self, which: u32) -> HurrayTensor {
        let mut out = empty_tensor();
        // SAFETY: room for a tensor.
        assert_eq!(unsafe { (self.side.make)(which, &raw mut out) }, 0);
        out
    }

    /// A tensor of theirs, taken.
    pub(crate) fn take(&self, which: u32) -> Foreign {
        let mut raw = self.make(which);
        // SAFETY: just made by the rules.
        let taken = unsafe { Foreign::take(&raw mut raw) }.unwrap();
        assert!(raw.release.is_none());
        taken
    }

    pub(crate) fn producer(&self) -> HurrayProducer {
        let mut out = HurrayProducer {
            abi_version: 0,
            struct_size: 0,
            release: None,
            private_data: std::ptr::null_mut(),
            describe: None,
            produce: None,
            last_error: None,
        };
        // SAFETY: room for a producer.
        assert_eq!(unsafe { (self.side.producer)(&raw mut out) }, 0);
        out
    }

    /// Lets the event of the first buffer come.
    pub(crate) fn signal(&self, tensor: &HurrayTensor) {
        let event = first_buffer(tensor).sync.event;
        // SAFETY: an event of theirs.
        unsafe { (self.side.signal)(event) }
    }

    pub(crate) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        // SAFETY: room for the counts.
        unsafe { (self.side.counts)(&raw mut counts) };
        counts
    }

    /// Everything that was made is released, once.
    pub(crate) fn expect_released(&self, buffers: u64, events: u64) {
        let counts = self.counts();
        assert_eq!(counts.tensors, counts.made, "{}: {counts:?}", self.side.name);
        assert_eq!((counts.buffers, counts.events), (buffers, events), "{}", self.side.name);
    }
}

impl std::ops::Deref for InUse {
    type Target = Side;

    fn deref(&self) -> &Side {
        self.side
    }
}

/// A tensor's struct with nothing in it but its own size.
pub(crate) fn empty_tensor() -> HurrayTensor {
    HurrayTensor {
        abi_version: 1,
        struct_size: u32::try_from(size_of::<HurrayTensor>()).unwrap(),
        release: None,
        private_data: std::ptr::null_mut(),
        descriptor: std::ptr::null(),
        descriptor_length: 0,
        buffer_count: 0,
        buffers: std::ptr::null_mut(),
        member_count: 0,
        members: std::ptr::null_mut(),
        flags: 0,
    }
}

/// A tensor of int4 in blocks with scales of their own: 60 bytes and 24.
pub(crate) fn in_blocks(buffers: [Buffer; 2]) -> Tensor {
    let scheme = PerBlock {
        axis: 1,
        block_size: 32,
        scales: 1,
        zero_points: None,
        scale_type: Dtype::Float32,
    };
    let parts = Descriptor::builder(Dtype::Int4, &[3, 40]);
    Tensor::build(parts.quantization(Quantization::PerBlock(scheme)), buffers).unwrap()
}

/// The first buffer's struct.
#[allow(clippy::mut_from_ref, reason = "a struct behind a pointer of theirs")]
pub(crate) fn first_buffer(tensor: &HurrayTensor) -> &mut HurrayBuffer {
    // SAFETY: a tensor of a test, with a buffer, used by that test alone.
    let pointer = unsafe { *tensor.buffers };
    // SAFETY: as above.
    unsafe { &mut *pointer }
}

/// Releases what a test took by hand.
pub(crate) fn release(tensor: &mut HurrayTensor) {
    if let Some(release) = tensor.release {
        // SAFETY: a tensor that was not released.
        unsafe { release(&raw mut *tensor) }
    }
}
