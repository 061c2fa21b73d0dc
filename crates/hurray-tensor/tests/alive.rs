//! Tensors out of files and streams, and back into them.

#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail loudly"
)]
#![allow(unsafe_code, reason = "the files that are mapped are the test's own")]

mod support;

use std::path::{Path, PathBuf};

use hurray_tensor::format::*;
use hurray_tensor::{
    Access, Buffer, BufferMut, Composite, Cut, Error, File, FileWriter, Region, StreamReader,
    StreamWriter, Tensor, TensorRef, WriteOptions,
};
use support::{Sample, file_of, samples};

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, rule: Rule) -> Error {
    let error = result.unwrap_err();
    assert_eq!(error.rule(), Some(rule), "{error}");
    error
}

fn write(folder: &Path, bytes: &[u8]) -> PathBuf {
    let path = folder.join("model.hrry");
    std::fs::write(&path, bytes).unwrap();
    path
}

fn map(path: &Path) -> File {
    // SAFETY: the file is this test's own, and nobody writes to it.
    let file = unsafe { File::map(path) }.unwrap();
    assert_eq!(file.access(), &Access::Mapped);
    file
}

/// D34, S30: what is mapped stays where it is when the file is closed and gone, and cannot be
/// written to.
#[test]
fn a_tensor_of_a_mapped_file_is_the_mapping_and_keeps_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), &file_of(&samples(), WriteOptions::default()));
    let file = map(&path);
    let places: Vec<*const u8> = samples()
        .iter()
        .map(|sample| {
            file.get(sample.name).unwrap().mapped(0).map_or(std::ptr::null(), <[u8]>::as_ptr)
        })
        .collect();
    let tensors: Vec<Tensor> =
        samples().iter().map(|sample| file.tensor(sample.name).unwrap()).collect();
    drop(file);
    std::fs::remove_file(&path).unwrap();
    for ((tensor, sample), place) in tensors.iter().zip(samples()).zip(places) {
        assert_eq!(tensor.descriptor(), &sample.descriptor, "{}", sample.name);
        for (held, bytes) in tensor.buffers().iter().zip(&sample.buffers) {
            assert_eq!(held.host_bytes().unwrap(), bytes, "{}", sample.name);
            assert!(!held.is_writable());
            let error = held.clone().try_into_mut().unwrap_err().error;
            assert_eq!(error.rule(), Some(Rule::MemoryReadOnly), "{}", sample.name);
        }
        let first = tensor.buffers().first().filter(|first| !first.is_empty());
        if let Some(first) = first {
            assert_eq!(first.host_bytes().unwrap().as_ptr(), place, "{}", sample.name);
            assert!(first.alignment() >= 4096, "{}", sample.name);
        }
    }
    // One of them alone keeps all of it, on any thread.
    let last = tensors.into_iter().find(|t| t.descriptor().dtype() == Dtype::Float32).unwrap();
    let part = last.slice_axis(0, 2..3).unwrap();
    drop(last);
    std::thread::spawn(move || assert_eq!(part.as_bytes().unwrap().len(), 16)).join().unwrap();
}

/// What is read is the reader's own, aligned, and may be written to by its sole holder.
#[test]
fn a_tensor_of_a_file_that_is_read_is_a_copy_of_ones_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), &file_of(&samples(), WriteOptions::default()));
    let file = File::open(&path).unwrap();
    let tensor = file.tensor("dense f32").unwrap();
    drop(file);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(tensor.as_slice::<f32>().unwrap().len(), 12);
    let buffer = tensor.into_parts().1.next().unwrap();
    assert!(buffer.alignment() >= 64);
    buffer.try_into_mut().unwrap()[0] = 9;
}

/// Decision 16: what a file holds is checked, unless somebody says that it is trusted.
#[test]
fn contents_are_checked_where_they_lie() {
    let mut all = samples();
    let place = all.iter().position(|sample| sample.name == "csr").unwrap();
    all[place].buffers[1][8..16].copy_from_slice(&99_u64.to_le_bytes());
    let (folder, options) = (tempfile::tempdir().unwrap(), WriteOptions::default());
    let path = write(folder.path(), &file_of(&all, options));
    for file in [File::open(&path).unwrap(), map(&path)] {
        let error = refused(file.tensor("csr"), Rule::SparseCompressedOutOfBounds);
        let range = file.get("csr").unwrap().buffer_ranges()[1].clone();
        assert_eq!(error.format().unwrap().offset(), range.start + 8);
        assert_eq!(error.place().tensor.as_deref(), Some("csr"));
        assert_eq!(error.place().path.as_deref(), Some(&*path));
        let tensor = file.get("csr").unwrap().to_tensor_trusted().unwrap();
        // What was trusted is met where it is used.
        assert!(tensor.bits(&[2, 1]).unwrap() != 0);
        refused(tensor.entries(), Rule::SparseCompressedOutOfBounds);
        file.tensor("coo").unwrap();
    }

    let mut stream = StreamWriter::new(Vec::new());
    let csr: &Sample = &all[place];
    stream.tensor(&csr.descriptor, &csr.slices()).unwrap();
    let bytes = stream.finish().unwrap();
    let mut stream = StreamReader::new(&bytes[..]);
    let error = refused(
        stream.next_tensor().unwrap().unwrap().into_tensor(),
        Rule::SparseCompressedOutOfBounds,
    );
    let data = csr.descriptor.encoded_len() + csr.buffers[0].len();
    assert_eq!(error.format().unwrap().offset(), data as u64 + 8);
    let mut stream = StreamReader::new(&bytes[..]);
    let tensor = stream.next_tensor().unwrap().unwrap().into_tensor_trusted().unwrap();
    assert_eq!(tensor.buffers().len(), 3);
}

#[test]
fn every_kind_of_tensor_comes_out_of_a_stream() {
    let mut out = StreamWriter::new(Vec::new());
    for sample in samples() {
        out.tensor(&sample.descriptor, &sample.slices()).unwrap();
    }
    let bytes = out.finish().unwrap();

    // Alive, and written again from where it is: the same bytes.
    let mut stream = StreamReader::new(&bytes[..]);
    let mut again = StreamWriter::new(Vec::new());
    let mut names = samples().into_iter();
    while let Some(composite) = stream.next_composite().unwrap() {
        for tensor in composite.tensors() {
            let sample = names.next().unwrap();
            assert_eq!(tensor.descriptor(), &sample.descriptor, "{}", sample.name);
            again.write(&tensor.borrowed().unwrap()).unwrap();
        }
        if composite.head().descriptor().layout().kind() == LayoutKind::Virtual {
            assert_eq!(composite.members().len(), 2);
        }
    }
    assert_eq!(names.next().map(|sample| sample.name), None);
    assert_eq!(again.finish().unwrap(), bytes);
    assert!(stream.next_composite().unwrap().is_none());

    // Torn apart, a composite is none.
    let mut torn = StreamWriter::new(Vec::new());
    for sample in &support::partition()[..2] {
        torn.tensor(&sample.descriptor, &sample.slices()).unwrap();
    }
    let torn = torn.finish().unwrap();
    refused(StreamReader::new(&torn[..]).next_composite(), Rule::CompositeTorn);
    // A tensor some of whose buffers were taken before is not whole.
    let mut stream = StreamReader::new(&bytes[..]);
    let mut tensor = stream.next_tensor().unwrap().unwrap();
    tensor.copy_buffer(&mut std::io::sink()).unwrap();
    refused(tensor.into_tensor(), Rule::MemoryCount);
}

#[test]
fn composites_come_out_of_files_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), &file_of(&samples(), WriteOptions::default()));
    for file in [File::open(&path).unwrap(), map(&path)] {
        let composite = file.composite("partition").unwrap();
        assert_eq!(composite.members().len(), 2);
        let lower = &composite.members()[1].item;
        let sample = &support::partition()[2];
        assert_eq!(lower.buffers()[0].host_bytes().unwrap(), sample.buffers[0]);
        if let Some(mapped) = file.get("partition.lower").unwrap().mapped(0) {
            assert_eq!(lower.as_bytes().unwrap().as_ptr(), mapped.as_ptr());
        }
        assert_eq!(file.composite("coo").unwrap().members().len(), 0);
        assert!(file.tensor("partition").unwrap().buffers().is_empty());
        refused(file.composite("nobody"), Rule::FileIndexUnknownName);
    }
    // One more member than there are.
    let mut torn = std::fs::read(&path).unwrap();
    let head = File::open(&path).unwrap().get("partition").unwrap().entry().descriptor_offset;
    // Behind the header, two sizes, the byte offset, and what says how they make the whole.
    torn[usize::try_from(head).unwrap() + 20 + 16 + 8 + 4] = 3;
    std::fs::write(&path, torn).unwrap();
    refused(File::open(&path).unwrap().composite("partition"), Rule::CompositeTorn);
}

/// Decision 17: how many tokens there are is said beside the tensor.
#[test]
fn sequence_lengths_travel_with_a_paged_tensor() {
    let folder = tempfile::tempdir().unwrap();
    let all = samples();
    let paged = all.iter().find(|sample| sample.name == "paged").unwrap();
    let file = |lengths: &dyn Fn(&mut FileWriter<Vec<u8>>)| {
        let mut file = FileWriter::new(Vec::new(), WriteOptions::default()).unwrap();
        file.tensor("kv", &paged.descriptor, &paged.slices()).unwrap();
        lengths(&mut file);
        File::open(write(folder.path(), &file.finish().unwrap())).unwrap()
    };
    let said = file(&|file| file.sequence_lengths("kv", &[3, 2]).unwrap());
    said.verify(&mut |_| {}).unwrap();
    let lengths = said.get("kv").unwrap().sequence_lengths().unwrap().unwrap();
    let tensor = said.tensor("kv").unwrap();
    let tokens = tensor.pages().unwrap().with_lengths(&lengths).unwrap();
    assert_eq!(tokens.iter_bits().unwrap().len(), 5 * 2 * 4);
    assert_eq!(file(&|_| ()).get("kv").unwrap().sequence_lengths().unwrap(), None);
    // More than its pages hold.
    let lying = file(&|file| file.sequence_lengths("kv", &[3, 3]).unwrap());
    let lengths = lying.get("kv").unwrap().sequence_lengths().unwrap().unwrap();
    let tensor = lying.tensor("kv").unwrap();
    refused(tensor.pages().unwrap().with_lengths(&lengths), Rule::SparseBlockPagedTokenCounts);
}

/// Decision 1: what is in front of adopted memory is zeros in a file, and not read from memory.
#[test]
fn adopted_memory_is_written_with_zeros_in_front() {
    let memory: Vec<u64> = vec![u64::MAX; 40];
    // Eight bytes behind a multiple of 64, whatever the allocator gave.
    let skip = (72 - memory.as_ptr().addr() % 64) % 64 / 8;
    let first = memory[skip..].as_ptr();
    // SAFETY: the vector is not touched until the release has dropped it.
    let buffer = unsafe {
        Buffer::adopt(Region::host(first.cast_mut().cast(), 16).read_only(), move || drop(memory))
    };
    let buffer = buffer.unwrap();
    assert_eq!(buffer.lead(), 8);
    let in_front = Descriptor::builder(Dtype::UInt64, &[2]).buffers([BufferHandle::cpu(24)]);
    let in_front = Tensor::new(in_front.build().unwrap(), [buffer.clone()]);
    refused(in_front, Rule::MemoryBeforeStart);
    let tensor = Tensor::laid_out(Dtype::UInt64, &[2], Layout::RowMajor, 0, buffer).unwrap();
    assert_eq!(tensor.as_slice::<u64>().unwrap().as_ptr(), first);
    let mut expected = vec![0_u8; 8];
    expected.extend([0xFF; 16]);
    let mut file = FileWriter::new(Vec::new(), WriteOptions::default()).unwrap();
    file.write("w", &tensor.borrowed().unwrap()).unwrap();
    let bytes = file.finish().unwrap();
    let view = FileView::open(&bytes).unwrap();
    assert_eq!(view.tensor("w").unwrap().buffers, [&expected[..]]);
    view.verify().unwrap();
    let mut stream = StreamWriter::new(Vec::new());
    stream.write(&tensor.borrowed().unwrap()).unwrap();
    assert!(stream.finish().unwrap().ends_with(&expected));
}

/// A part of a tensor is saved as a part, not with all that it was cut out of.
#[test]
fn a_part_is_saved_as_a_part() {
    let tensor = Tensor::from_vec((0..4096_u32).collect(), &[64, 64]).unwrap();
    let part = tensor.slice([Cut::from(10..12), Cut::ALL.by(2)]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.hrry");
    hurray_tensor::save(&path, WriteOptions::default(), |file| {
        file.write("part", &part.borrowed()?)
    })
    .unwrap();
    let file = map(&path);
    assert!(file.get("part").unwrap().descriptor().data_bytes() < 2 * 256 + 64);
    let back = file.tensor("part").unwrap();
    assert_eq!(back.descriptor(), part.descriptor());
    assert_eq!(back.to_vec::<u32>().unwrap(), part.to_vec::<u32>().unwrap());
}

/// What is written from slices is what they say, or nothing.
#[test]
fn borrowed_tensors_are_checked() {
    let elements = [1.0_f64, 2.0, 3.0];
    refused(TensorRef::of(&elements, &[4]), Rule::LayoutBufferTooSmall);
    let descriptor = Descriptor::dense(Dtype::UInt8, &[3]).unwrap();
    refused(TensorRef::new(&descriptor, &[]), Rule::FileTensorBufferCount);
    refused(TensorRef::new(&descriptor, &[&[1, 2]]), Rule::FileTensorBufferLength);
    let good = TensorRef::new(&descriptor, &[&[1, 2, 3]]).unwrap();
    assert_eq!((good.buffer(0), good.buffer(1)), (Some(&[1, 2, 3][..]), None));
    let less = TensorRef::of(&elements, &[2]).unwrap();
    assert_eq!(less.descriptor().data_bytes(), 24);
}

/// Memory that the CPU may not look at is not saved, and not looked at.
#[test]
fn device_memory_and_memory_that_changes_are_refused() {
    let region = Region {
        device: DeviceTag::CUDA,
        host: std::ptr::null_mut(),
        address: 0x1000,
        ..Region::host(std::ptr::null_mut(), 16)
    };
    // SAFETY: nobody looks at memory that has no host address.
    let buffer = unsafe { Buffer::adopt(region, || ()) }.unwrap();
    let tensor = Tensor::dense(Dtype::Float32, &[2, 2], buffer).unwrap();
    refused(tensor.borrowed().map(drop), Rule::MemoryNotHost);
    refused(tensor.as_slice::<f32>(), Rule::MemoryNotHost);
    refused(tensor.bits(&[0, 0]), Rule::MemoryNotHost);
    refused(tensor.iter::<f32>().map(drop), Rule::MemoryNotHost);
    refused(tensor.to_vec::<f32>(), Rule::MemoryNotHost);
    // Its parts are described all the same.
    let row = tensor.transpose().unwrap().index_axis(1, 1).unwrap();
    assert_eq!(row.buffers()[0].device(), DeviceTag::CUDA);
    assert_eq!(row.descriptor().byte_offset(), 8);

    let mut memory = vec![0_u64; 16];
    let region = Region { may_change: true, ..Region::host(memory.as_mut_ptr().cast(), 128) };
    // SAFETY: the vector lives until the release drops it.
    let buffer = unsafe { Buffer::adopt(region, move || drop(memory)) }.unwrap();
    let tensor = Tensor::laid_out(Dtype::UInt8, &[8], Layout::RowMajor, 0, buffer).unwrap();
    refused(tensor.borrowed().map(drop), Rule::MemoryMayChange);
    refused(tensor.as_bytes(), Rule::MemoryMayChange);
    refused(tensor.iter_bits().map(drop), Rule::MemoryMayChange);
}

/// A tensor that was on a device when it was written is on the host once it is read.
#[test]
fn what_is_read_is_on_the_host() {
    let handle = BufferHandle::new(
        64,
        1 << 21,
        DeviceTag::CUDA,
        SyncMode::PRODUCER_SYNCED,
        MemoryClass::STANDARD,
    );
    let descriptor =
        Descriptor::builder(Dtype::UInt8, &[64]).buffers([handle.unwrap()]).build().unwrap();
    let mut file = FileWriter::new(Vec::new(), WriteOptions::default()).unwrap();
    file.tensor("w", &descriptor, &[&[7; 64]]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), &file.finish().unwrap());
    for file in [File::open(&path).unwrap(), map(&path)] {
        assert_eq!(file.get("w").unwrap().descriptor(), &descriptor);
        let tensor = file.tensor("w").unwrap();
        assert_eq!(tensor.as_slice::<u8>().unwrap(), [7; 64]);
        let own = tensor.descriptor().buffers()[0];
        assert_eq!((own.device(), own.byte_size()), (DeviceTag::CPU, 64));
        assert!(own.alignment() >= 64);
    }
}

/// A composite of tensors in memory goes out in the order in which it is read.
#[test]
fn a_composite_is_written_tensor_by_tensor() {
    let tensors = support::partition().map(|sample| {
        let buffers = sample.buffers.iter().map(|b| BufferMut::copy_of(b).unwrap().freeze());
        Tensor::new(sample.descriptor.clone(), buffers).unwrap()
    });
    let composite = Composite::new(tensors).unwrap();
    let mut stream = StreamWriter::new(Vec::new());
    for tensor in composite.tensors() {
        stream.write(&tensor.borrowed().unwrap()).unwrap();
    }
    let bytes = stream.finish().unwrap();
    let again = StreamReader::new(&bytes[..]).next_composite().unwrap().unwrap();
    assert_eq!(again.members().len(), 2);
    let bytes_of = |composite: &Composite| {
        let tensors = composite.tensors();
        let all = tensors
            .iter()
            .flat_map(|tensor| tensor.buffers())
            .map(|b| b.host_bytes().unwrap().to_vec());
        all.collect::<Vec<_>>()
    };
    assert_eq!(bytes_of(&again), bytes_of(&composite));
}
