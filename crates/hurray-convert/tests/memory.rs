//! A conversion takes a few MiB of memory, however large the model is.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may fail loudly"
)]
#![allow(unsafe_code, reason = "an allocator that counts is one")]

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use hurray_convert::tensor::File;
use hurray_convert::{
    ConvertOptions, SafetensorsSource, StreamSource, hurray_to_safetensors, hurray_to_stream,
    rewrite, safetensors_to_hurray, save, stream_to_hurray,
};

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call goes to the system's allocator as it came; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(NOW.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: `memory` came from `alloc` above, which is the system's, with this layout.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// The most memory that `work` holds at once, beyond what there was.
fn peak<T>(work: impl FnOnce() -> T) -> usize {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    work();
    PEAK.load(Relaxed) - before
}

#[test]
fn memory_stays_small() {
    const WIDE: u64 = 96 << 20;
    const BOOLEANS: u64 = 24 << 20;
    const MOST: usize = 12 << 20;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (model, hrry, stream) = (path("x.safetensors"), path("x.hrry"), path("x.hrrys"));
    let end = WIDE + BOOLEANS;
    let header = format!(
        r#"{{"w":{{"dtype":"F32","shape":[{}],"data_offsets":[0,{WIDE}]}},
            "b":{{"dtype":"BOOL","shape":[{BOOLEANS}],"data_offsets":[{WIDE},{end}]}}}}"#,
        WIDE / 4
    );
    let start = support::safetensors(&header, &[]);
    fs::write(&model, &start).unwrap();
    let file = fs::File::options().write(true).open(&model).unwrap();
    file.set_len(start.len() as u64 + end).unwrap();

    let options = ConvertOptions::default();
    let silent = &mut |_, _| {};
    let taken = peak(|| {
        let source = SafetensorsSource::open(&model).unwrap();
        save(&hrry, |out| safetensors_to_hurray(&source, out, &options, silent)).unwrap()
    });
    assert!(taken < MOST, "{taken} bytes into a file");

    let opened = File::open(&hrry).unwrap();
    let taken = peak(|| hurray_to_safetensors(&opened, io::sink(), silent).unwrap());
    assert!(taken < MOST, "{taken} bytes back to safetensors");
    let taken = peak(|| rewrite(&opened, io::sink(), &options, silent).unwrap());
    assert!(taken < MOST, "{taken} bytes to another file");
    let taken = peak(|| save(&stream, |out| hurray_to_stream(&opened, out, silent)).unwrap());
    assert!(taken < MOST, "{taken} bytes to a stream");
    let taken = peak(|| {
        let input = fs::File::open(&stream).unwrap();
        let source = StreamSource {
            input,
            path: stream.clone(),
            names: Vec::new(),
            bytes: None,
            accept: <_>::default(),
        };
        stream_to_hurray(source, io::sink(), &options, silent).unwrap()
    });
    assert!(taken < MOST, "{taken} bytes from a stream");
}
