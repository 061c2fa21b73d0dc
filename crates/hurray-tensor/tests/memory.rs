//! How much memory is taken: never more than the job needs, whatever the input says.

#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may fail loudly"
)]
#![allow(unsafe_code, reason = "the files that are mapped are the test's own")]

#[path = "support/counting.rs"]
mod counting;

use std::io::{self, Read, Seek, SeekFrom, Write};

use counting::most;
use hurray_tensor::format::*;
use hurray_tensor::{Access, Cut, File, FileWriter, StreamReader, Tensor, TensorRef, WriteOptions};

/// While memory grows, the old and the new are both counted: the strictest view.
const GROWS_IN_PLACE: bool = false;

const MIB: i64 = 1 << 20;

/// 256 MiB.
const LARGE: u64 = 1 << 28;

fn large() -> Descriptor {
    Descriptor::dense(Dtype::Float32, &[LARGE / 4]).unwrap()
}

#[test]
fn memory_is_counted() {
    let taken = most(|| drop(std::hint::black_box(vec![0_u8; 5 << 20])));
    assert!((5 * MIB..6 * MIB).contains(&taken), "{taken}");
    assert_eq!(most(|| ()), 0);
}

/// Counts and forgets.
#[derive(Default)]
struct Nowhere(u64);

impl Write for Nowhere {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += u64::try_from(bytes.len()).unwrap();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_large_tensor_is_written_in_little_memory() {
    let piece = vec![1_u8; 1 << 20];
    let taken = most(|| {
        let mut file = FileWriter::new(Nowhere::default(), WriteOptions::default()).unwrap();
        file.tensor_from("w", &large(), &mut |_, out| {
            (0..LARGE >> 20).try_for_each(|_| out.write_all(&piece))
        })
        .unwrap();
        assert!(file.finish().unwrap().0 > LARGE);
    });
    assert!(taken < MIB, "{taken}");
}

/// A file of one large tensor, a hole.
fn write_large(path: &std::path::Path) {
    let (mut plan, header) = FilePlan::new(FileOptions::default()).unwrap();
    let mut file = std::fs::File::create(path).unwrap();
    file.write_all(&header).unwrap();
    let tensor = plan.tensor("w", &large()).unwrap();
    file.write_all(&tensor.descriptor).unwrap();
    file.seek(SeekFrom::Start(plan.position())).unwrap();
    file.write_all(&plan.finish(crc32c).unwrap()).unwrap();
}

#[test]
fn a_large_tensor_is_copied_and_verified_in_little_memory_and_read_without_waste() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.hrry");
    write_large(&path);
    // SAFETY: the file is this test's own, and nobody writes to it.
    let mapped = || unsafe { File::map(&path) }.unwrap();
    for open in [&(|| File::open(&path).unwrap()) as &dyn Fn() -> File, &mapped] {
        let taken = most(|| drop(open()));
        assert!(taken < MIB, "{taken}");
        let taken = most(|| {
            let file = open();
            let copied = file.get("w").unwrap().copy_buffer(0, &mut io::sink()).unwrap();
            assert_eq!(copied, LARGE);
            file.verify(&mut |_| {}).unwrap();
        });
        assert!(taken < 8 * MIB, "{taken}");
        // S19: a copy that was asked for is one copy.
        let taken = most(|| drop(open().get("w").unwrap().read_buffer(0).unwrap()));
        assert!((256 * MIB..257 * MIB).contains(&taken), "{taken}");
        // A tensor of a mapped file is the mapping; of one that is read, one copy of it.
        let taken = most(|| drop(open().tensor("w").unwrap().slice_axis(0, 10..20).unwrap()));
        let copied = if matches!(open().access(), Access::Mapped) { 0 } else { 256 * MIB };
        assert!((copied..copied + MIB).contains(&taken), "{taken}");
    }
    let taken = most(|| {
        let options = WriteOptions { checksums: false, ..WriteOptions::default() };
        let mut out = FileWriter::new(Nowhere::default(), options).unwrap();
        out.write("w", &mapped().tensor("w").unwrap().borrowed().unwrap()).unwrap();
        assert!(out.finish().unwrap().0 > LARGE);
    });
    assert!(taken < MIB, "{taken}");
}

/// Looking at a tensor and lending it out take no memory at all; cutting and turning it take what a
/// descriptor takes, which clones share.
#[test]
fn what_copies_nothing_allocates_next_to_nothing() {
    let weights = vec![1.0_f32; 6 << 10];
    let tensor = Tensor::from_vec(weights, &[2, 3, 1024]).unwrap();
    let first = tensor.as_slice::<f32>().unwrap().as_ptr();
    let nothing = |work: &dyn Fn()| assert_eq!(most(work), 0);
    // With the two counts of an `Arc`.
    let descriptor = i64::try_from(size_of::<Descriptor>() + 2 * size_of::<usize>()).unwrap();
    let descriptors = |count: i64, work: &dyn Fn()| assert_eq!(most(work), count * descriptor);
    nothing(&|| assert_eq!(tensor.as_slice::<f32>().unwrap().len(), 6 << 10));
    nothing(&|| assert_eq!(tensor.element::<f32>(&[1, 2, 1023]).unwrap(), 1.0));
    nothing(&|| assert_eq!(tensor.iter::<f32>().unwrap().len(), 6 << 10));
    let view = || {
        let part = tensor.slice([Cut::from(1..2), Cut::ALL.by(-1)]).unwrap();
        let turned = part.transpose().unwrap().index_axis(0, 7).unwrap();
        let wide = turned.squeeze(1).unwrap().unsqueeze(0).unwrap().broadcast(&[4, 3]).unwrap();
        let place = wide.descriptor().locate(&[3, 2]).unwrap();
        let found = wide.buffers()[0].region().host.wrapping_add(place.byte as usize);
        assert_eq!(found.cast_const().cast(), first.wrapping_add(3 * 1024 + 7));
        assert_eq!(wide.iter_bits().unwrap().count(), 12);
    };
    descriptors(5, &view);
    nothing(&|| assert_eq!(tensor.clone().buffers().len(), 1));
    descriptors(1, &|| {
        assert_eq!(tensor.reshape(&[6, 32, 32]).unwrap().as_slice::<f32>().unwrap().as_ptr(), first)
    });
    nothing(&|| {
        let borrowed = tensor.borrowed().unwrap();
        assert_eq!(borrowed.buffer(0).unwrap().as_ptr(), first.cast());
    });
    let elements = [1_u16, 2, 3, 4];
    nothing(&|| {
        let borrowed = TensorRef::of(&elements, &[2, 2]).unwrap();
        assert_eq!(borrowed.buffer(0).unwrap().as_ptr(), elements.as_ptr().cast());
    });
    // The vector itself comes back.
    let taken = most(|| {
        let back = tensor.try_into_vec::<f32>().unwrap();
        assert_eq!(back.as_ptr(), first);
    });
    assert_eq!(taken, 0);
}

/// A copy is one copy: of what is one run, and of what is not.
#[test]
fn a_copy_takes_the_memory_of_the_copy() {
    let tensor = Tensor::from_vec(vec![1_u8; 1 << 20], &[1 << 10, 1 << 10]).unwrap();
    let turned = tensor.transpose().unwrap();
    for tensor in [&tensor, &turned] {
        let taken = most(|| drop(tensor.to_vec::<u8>().unwrap()));
        assert!((MIB..MIB + 4096).contains(&taken), "{taken}");
        let taken = most(|| drop(tensor.to_row_major().unwrap()));
        assert!((MIB..MIB + 4096).contains(&taken), "{taken}");
    }
    // What is spread out is paid for only where that was allowed.
    let row = tensor.slice_axis(0, 0..1).unwrap().broadcast(&[1 << 30, 1 << 10]).unwrap();
    assert!(most(|| drop(row.to_vec::<u8>().unwrap_err())) < 4096);
}

/// What many tensors cost: a file being written holds names and places, no more.
#[test]
fn a_file_of_many_tensors_holds_only_its_index() {
    let descriptor = Descriptor::dense(Dtype::UInt8, &[1]).unwrap();
    let count = 10_000;
    let taken = most(|| {
        let options = WriteOptions { checksums: false, ..WriteOptions::default() };
        let mut file = FileWriter::new(Nowhere::default(), options).unwrap();
        for n in 0..count {
            file.tensor(&format!("layer.{n}.weight"), &descriptor, &[&[1]]).unwrap();
        }
        file.finish().unwrap();
    });
    assert!(taken < count * 300, "{taken}");
}

/// A stream that announces `sizes` of bytes, of which `given` come.
fn announced(sizes: &[u64], given: u64) -> impl Read + std::fmt::Debug {
    let handles: Vec<BufferHandle> = sizes.iter().map(|size| BufferHandle::cpu(*size)).collect();
    // Of a private layout nothing is known, so that it may have any buffers.
    let layout = PrivateLayout { tag: 0xF1, id: 0, data: <_>::default() };
    let descriptor = Descriptor::builder(Dtype::UInt8, &[1])
        .layout(Layout::Private(layout))
        .buffers(handles)
        .build()
        .unwrap();
    io::Cursor::new(descriptor.encode()).chain(io::repeat(7).take(given))
}

#[test]
fn a_stream_takes_memory_for_what_came_and_not_for_what_was_announced() {
    let accept = Accept::default().layout(0xF1);
    for size in [1 << 40, 1 << 60, u64::MAX] {
        for given in [0, 1000, 3 << 20] {
            let came = i64::try_from(given).unwrap();
            for sizes in [&[size][..], &[size, size, size], &[10, size]] {
                let taken = most(|| {
                    let mut stream = StreamReader::with(announced(sizes, given), accept);
                    let tensor = stream.next_tensor().unwrap().unwrap();
                    let error = tensor.read_buffers().unwrap_err();
                    assert_eq!(error.rule(), Some(Rule::StreamTruncated));
                });
                assert!(taken < 4 * came + 3 * MIB, "{taken} for {given} of {size}");
                let taken = most(|| {
                    let mut stream = StreamReader::with(announced(sizes, given), accept);
                    let mut tensor = stream.next_tensor().unwrap().unwrap();
                    while tensor.copy_buffer(&mut io::sink()).is_ok_and(|n| n.is_some()) {}
                    assert!(stream.next_tensor().unwrap().is_none());
                });
                assert!(taken < 4 * MIB, "{taken} for {given} of {size}");
                let taken = most(|| {
                    let mut stream = StreamReader::with(announced(sizes, given), accept);
                    assert!(stream.next_tensor().unwrap().is_some());
                    let error = stream.next_tensor().unwrap_err();
                    assert_eq!(error.rule(), Some(Rule::StreamTruncated));
                });
                assert!(taken < MIB, "{taken} for {given} of {size}");
            }
        }
    }
}

#[test]
fn a_descriptor_takes_memory_for_what_came_too() {
    // Four gigabytes are announced; with the limit raised, they may be.
    let mut bytes = Descriptor::dense(Dtype::UInt8, &[1]).unwrap().encode();
    bytes.splice(6..10, u32::MAX.to_le_bytes());
    let limits = Limits { descriptor_bytes: u32::MAX, ..Limits::default() };
    for accept in [Accept::default(), Accept::default().limits(limits)] {
        let taken = most(|| {
            let mut stream = StreamReader::with(&bytes[..], accept);
            assert!(stream.next_tensor().unwrap_err().rule().is_some());
        });
        assert!(taken < MIB, "{taken}");
    }
}

/// S9, and counts that lie: what is announced is held against what is there.
#[test]
fn a_file_takes_memory_for_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lying.hrry");
    let mut file = FileWriter::new(Vec::new(), WriteOptions::default()).unwrap();
    file.tensor("w", &Descriptor::dense(Dtype::UInt8, &[1]).unwrap(), &[&[1]]).unwrap();
    let honest = file.finish().unwrap();
    let at = honest.len() - FILE_TRAILER_LEN;
    let start = u64::try_from(at).unwrap();
    let trailer = Trailer::decode(honest.get(at..).unwrap(), start, &mut Silent).unwrap();
    for count in [2, 1 << 32, 1 << 61, u64::MAX] {
        let mut changed = honest.clone();
        let place = usize::try_from(trailer.index_offset).unwrap();
        changed.splice(place..place + 8, u64::to_le_bytes(count));
        let index_crc32c = crc32c(0, changed.get(place..at).unwrap());
        changed.splice(at.., Trailer { index_crc32c, ..trailer }.encode());
        std::fs::write(&path, &changed).unwrap();
        let taken = most(|| {
            let error = File::open(&path).unwrap_err();
            assert!(error.rule().is_some_and(|rule| rule.id().starts_with("file.index")));
        });
        assert!(taken < MIB, "{taken}");
    }
    for (index_length, kv_length) in [(u64::MAX, 4), (1 << 60, 4), (8, u32::MAX)] {
        let mut changed = honest.clone();
        let lying = Trailer { index_length, kv_length, ..trailer };
        changed.splice(at.., lying.encode());
        std::fs::write(&path, &changed).unwrap();
        let taken = most(|| assert!(File::open(&path).is_err()));
        assert!(taken < MIB, "{taken}");
    }
}
