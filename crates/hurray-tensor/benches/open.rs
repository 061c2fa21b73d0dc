//! Opening a file of very many tensors and finding one, against the `safetensors` crate on
//! the same tensors.
//!
//! Both files are mapped, and in the page cache. What is opened is dropped outside the time
//! taken. Theirs takes no header of a million tensors (its limit is 100 MB), so there ours
//! stands alone: its cost for an entry is to be compared with that among ten thousand.

#![allow(
    missing_docs,
    unsafe_code,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a benchmark may fail loudly, and maps its own files"
)]

use std::fs;
use std::hint::black_box;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Instant;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use hurray_kernels::checksum::crc32c;
use hurray_tensor::File;
use hurray_tensor::format::{Descriptor, Dtype, FileOptions, FilePlan};
use safetensors::SafeTensors;
use safetensors::tensor::TensorView;

/// Bytes of every tensor: 2 x 8 floats.
const SHAPE: [usize; 2] = [2, 8];
const DATA: [u8; 64] = [1; 64];

criterion_group!(benches, open, find);
criterion_main!(benches);

/// How a file of ours is written.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    tensors: usize,
    sorted: bool,
    checksums: bool,
}

const KINDS: [Kind; 4] = [
    Kind { name: "10000 tensors", tensors: 10_000, sorted: false, checksums: false },
    Kind { name: "10000 tensors, sorted", tensors: 10_000, sorted: true, checksums: false },
    Kind { name: "10000 tensors, checksums", tensors: 10_000, sorted: false, checksums: true },
    Kind { name: "1000000 tensors", tensors: 1_000_000, sorted: false, checksums: false },
];

fn open(c: &mut Criterion) {
    let mut group = c.benchmark_group("open a file");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");

    write_safetensors(&path, 10_000);
    for kind in KINDS.iter().filter(|kind| kind.tensors == 10_000) {
        group.bench_function(BenchmarkId::new("safetensors", kind.name), |b| {
            b.iter_custom(|times| {
                let open = |_| {
                    let start = Instant::now();
                    let map = map(&path);
                    let tensors = SafeTensors::deserialize(&map).unwrap();
                    let took = start.elapsed();
                    drop(black_box(tensors));
                    took
                };
                (0..times).map(open).sum()
            });
        });
    }
    for kind in KINDS {
        write_hurray(&path, kind);
        assert_eq!(open_hurray(&path).len(), kind.tensors);
        group.bench_function(BenchmarkId::new("hurray", kind.name), |b| {
            b.iter_custom(|times| {
                let open = |_| {
                    let start = Instant::now();
                    let file = open_hurray(&path);
                    let took = start.elapsed();
                    drop(black_box(file));
                    took
                };
                (0..times).map(open).sum()
            });
        });
    }
}

/// Finding a tensor and knowing what it is and where its bytes are.
fn find(c: &mut Criterion) {
    let mut group = c.benchmark_group("find a tensor");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");

    write_safetensors(&path, 10_000);
    let map = map(&path);
    let theirs = SafeTensors::deserialize(&map).unwrap();
    let wanted = name(5_000);
    group.bench_function(BenchmarkId::new("safetensors", "among 10000"), |b| {
        b.iter(|| theirs.tensor(black_box(&wanted)).unwrap().data().len());
    });
    for kind in [KINDS[0], KINDS[3]] {
        write_hurray(&path, kind);
        let ours = open_hurray(&path);
        let wanted = name(kind.tensors / 2);
        group.bench_function(BenchmarkId::new("hurray", format!("among {}", kind.tensors)), |b| {
            b.iter(|| ours.get(black_box(&wanted)).unwrap().mapped(0).unwrap().len());
        });
    }
}

fn open_hurray(path: &Path) -> File {
    // SAFETY: the file is this benchmark's own, and nobody writes to it now.
    unsafe { File::map(path) }.unwrap()
}

fn map(path: &Path) -> memmap2::Mmap {
    let file = fs::File::open(path).unwrap();
    // SAFETY: the file is this benchmark's own, and nobody writes to it now.
    unsafe { memmap2::Mmap::map(&file) }.unwrap()
}

/// Such as a mixture of experts has them.
fn name(number: usize) -> String {
    const PARTS: [&str; 4] = ["up_proj", "down_proj", "gate_proj", "router"];
    let (layer, rest) = (number / 400, number % 400);
    format!("model.layers.{layer}.mlp.experts.{}.{}.weight", rest / 4, PARTS[rest % 4])
}

/// Writes only what opening and finding read: the data and, of a million tensors, all
/// descriptors but one are holes in the file, which would be gigabytes.
fn write_hurray(path: &Path, kind: Kind) {
    let shape = SHAPE.map(|size| u64::try_from(size).unwrap());
    let descriptor = Descriptor::dense(Dtype::Float32, &shape).unwrap();
    let options =
        FileOptions { key_values: kind.checksums, sorted: kind.sorted, ..FileOptions::default() };
    let (mut plan, header) = FilePlan::new(options).unwrap();
    // A new file, since the one before may still be mapped.
    let _ = fs::remove_file(path);
    let mut out = BufWriter::new(fs::File::create(path).unwrap());
    out.write_all(&header).unwrap();
    for number in 0..kind.tensors {
        let name = name(number);
        let start = plan.position();
        let tensor = plan.tensor(&name, &descriptor).unwrap();
        if kind.checksums {
            plan.checksums(&name, &[crc32c(0, &DATA)]).unwrap();
        }
        if kind.tensors <= 10_000 || number == kind.tensors / 2 {
            out.seek(SeekFrom::Start(start + tensor.padding)).unwrap();
            out.write_all(&tensor.descriptor).unwrap();
        }
    }
    out.seek(SeekFrom::Start(plan.position())).unwrap();
    out.write_all(&plan.finish(crc32c).unwrap()).unwrap();
    out.flush().unwrap();
}

fn write_safetensors(path: &Path, tensors: usize) {
    let tensor = || TensorView::new(safetensors::Dtype::F32, SHAPE.to_vec(), &DATA).unwrap();
    let tensors = (0..tensors).map(|number| (name(number), tensor()));
    safetensors::serialize_to_file(tensors, None, path).unwrap();
}
