//! Opening what is no Hurray file, a broken one, one that changes meanwhile, a huge one.

#![allow(
    missing_docs,
    unsafe_code,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail loudly, and maps its own files"
)]

mod support;

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use hurray_tensor::format::*;
use hurray_tensor::{Access, Error, File, OpenOptions, WriteOptions};
use proptest::prelude::*;
use support::{file_of, samples, small_file};
use tempfile::tempdir;

/// Opens a file both ways, which must come to the same, and verifies it.
fn open_and_verify(path: &Path, options: &OpenOptions) -> hurray_tensor::Result<()> {
    // SAFETY: the file is this test's own, and nobody writes to it.
    let mapped = unsafe { File::map_with(path, options) };
    let mapped = mapped.and_then(|file| file.verify(&mut |_| {}));
    let read = File::open_with(path, options).and_then(|file| file.verify(&mut |_| {}));
    match (&read, &mapped) {
        (Ok(()), Ok(())) => {}
        (Err(read), Err(mapped)) => assert_eq!(read.to_string(), mapped.to_string()),
        (read, mapped) => panic!("{path:?} read: {read:?}, mapped: {mapped:?}"),
    }
    read
}

fn refused(path: &Path) -> Error {
    let error = open_and_verify(path, &OpenOptions::default()).unwrap_err();
    assert_eq!(error.place().path.as_deref(), Some(path));
    error
}

/// S7.
#[test]
fn files_of_other_kinds_are_told_by_what_they_begin_with() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("model.hrry");
    let lfs = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 90868376\n";
    let kinds: [(&[u8], &str); 7] = [
        (b"<!DOCTYPE html><html><title>404</title></html>", "<!DOCTYP"),
        (lfs, "version "),
        (b"PK\x03\x04\x14\0\0\0\x08\0", "50 4B 03 04"),
        (b"GGUF\x03\0\0\0", "47 47 55 46"),
        (b"HRRY\x01\0\x3D\0\0\0", "48 52 52 59 01"),
        (b"\x08\x01\0\0\0\0\0\0{\"w\":", "08 01 00"),
        (&[0; 4096], "00 00 00"),
    ];
    for (bytes, found) in kinds {
        fs::write(&path, bytes).unwrap();
        let error = refused(&path);
        assert_eq!(error.rule(), Some(Rule::FileHeaderMagic));
        let text = error.to_string();
        assert!(text.contains(found) && text.contains("HRRYFILE"), "{text}");
        assert!(text.contains("model.hrry"), "{text}");
    }
    // Of these there are too few bytes to tell.
    for bytes in [&b""[..], b"H", b"HRRYFILE"] {
        fs::write(&path, bytes).unwrap();
        assert_eq!(refused(&path).rule(), Some(Rule::FileHeaderTruncated));
    }
}

#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let folder = tempdir().unwrap();
    let text = refused(folder.path()).to_string();
    assert!(text.contains("folder"), "{text}");
    let text = refused(&folder.path().join("none")).to_string();
    assert!(text.contains("cannot open"), "{text}");
}

#[cfg(unix)]
#[test]
fn a_pipe_is_refused_at_once_also_where_nobody_writes_to_it() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("pipe");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    for path in [&path, Path::new("/dev/null")] {
        let text = refused(path).to_string();
        assert!(text.contains("not a regular file"), "{text}");
    }
}

#[test]
fn every_vector_is_read_and_mapped_as_it_is_from_memory() {
    let accept = Accept::every_private_tag();
    let mut count = 0;
    for entry in fs::read_dir(support::vector("files")).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        let expected = FileView::open_with(&bytes, &accept).and_then(|view| view.verify());
        match (open_and_verify(&path, &OpenOptions { accept }), expected) {
            (Ok(()), Ok(())) => {}
            (Err(found), Err(expected)) => assert_eq!(found.format(), Some(&expected)),
            (found, expected) => panic!("{path:?}: {found:?} but from memory {expected:?}"),
        }
        count += 1;
    }
    assert!(count > 100);
}

/// S15.
#[test]
fn a_file_cut_anywhere_is_refused() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("cut.hrry");
    let mut files = vec![small_file(&[1, 2, 3])];
    for entry in fs::read_dir(support::vector("files")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let bytes = fs::read(&path).unwrap();
        if name.starts_with('v') && bytes.len() < 6000 {
            files.push(bytes);
        }
    }
    assert!(files.len() > 3);
    for bytes in files {
        fs::write(&path, &bytes).unwrap();
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        for length in (0..bytes.len() as u64).rev() {
            file.set_len(length).unwrap();
            assert!(refused(&path).rule().is_some(), "{length}");
        }
    }
}

/// S14.
#[test]
fn a_file_cut_while_it_is_read_gives_an_error_and_no_zeros() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("shrinking.hrry");
    fs::write(&path, file_of(&samples(), WriteOptions::default())).unwrap();
    let file = File::open(&path).unwrap();
    let tensor = file.get("larger than what is gathered").unwrap();
    let range = tensor.buffer_ranges()[0].clone();
    let writer = fs::OpenOptions::new().write(true).open(&path).unwrap();
    for length in [range.end - 1, range.start + 1, range.start, 0] {
        writer.set_len(length).unwrap();
        let mut copy = Vec::new();
        for error in [
            tensor.read_buffer(0).unwrap_err(),
            tensor.copy_buffer(0, &mut copy).unwrap_err(),
            file.verify(&mut |_| {}).unwrap_err(),
        ] {
            assert!(matches!(error, Error::Io { .. }));
            let text = error.to_string();
            assert!(text.contains("something cut it"), "{text}");
        }
        assert!(copy.iter().any(|byte| *byte != 0) || copy.is_empty());
    }
    assert!(matches!(file.get("dense f32"), Err(Error::Io { .. })));
}

/// A file of one tensor of `length` bytes, all of them a hole but the last.
fn write_with_hole(file: &mut fs::File, dtype: Dtype, length: u64) {
    let descriptor = Descriptor::dense(dtype, &[length]).unwrap();
    let (mut plan, header) = FilePlan::new(FileOptions::default()).unwrap();
    file.write_all(&header).unwrap();
    let tensor = plan.tensor("w", &descriptor).unwrap();
    file.write_all(&tensor.descriptor).unwrap();
    let end = plan.position();
    file.seek(SeekFrom::Start(end - 1)).unwrap();
    file.write_all(&[0x5A]).unwrap();
    file.write_all(&plan.finish(crc32c).unwrap()).unwrap();
}

/// S29.
#[test]
fn offsets_are_right_at_the_end_of_a_tensor_beyond_two_gibi_elements() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("large.hrry");
    let count = (1 << 31) + 1;
    for dtype in [Dtype::UInt8, Dtype::Float32] {
        write_with_hole(&mut fs::File::create(&path).unwrap(), dtype, count);
        // SAFETY: the file is this test's own, and nobody writes to it.
        let file = unsafe { File::map(&path) }.unwrap();
        let tensor = file.get("w").unwrap();
        let descriptor = tensor.descriptor();
        assert_eq!(descriptor.element_count(), Some(count));
        let width = u64::from(dtype.bits()) / 8;
        let range = tensor.buffer_ranges()[0].clone();
        assert_eq!(range.end - range.start, count * width);
        let last = descriptor.locate(&[count - 1]).unwrap().byte;
        assert_eq!(last, (count - 1) * width);
        let bytes = tensor.mapped(0).unwrap();
        assert_eq!(bytes[last as usize + width as usize - 1], 0x5A);
        assert_eq!(bytes.len() as u64, last + width);
    }
}

/// S16: the address space has no room for this file, so the system refuses to map it. It
/// has no name either, and takes no room on any disk.
#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_mapped_is_read_and_says_why() {
    use std::os::fd::AsRawFd;

    let memory = rustix::fs::memfd_create("huge", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    let mut file = fs::File::from(memory);
    write_with_hole(&mut file, Dtype::UInt8, 1 << 48);
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    // SAFETY: the file is this test's own, and nobody writes to it.
    let file = unsafe { File::map(&path) }.unwrap();
    match file.access() {
        Access::Read { refused: Some(why) } => assert!(!why.is_empty()),
        other => panic!("{other:?}"),
    }
    let tensor = file.get("w").unwrap();
    assert_eq!(tensor.mapped(0), None);
    assert_eq!(tensor.descriptor().element_count(), Some(1 << 48));
    // Nor has memory room for it, which is an error and no abort.
    assert!(matches!(tensor.read_buffer(0), Err(Error::Io { .. })));
}

/// A file whose index was changed by `change`, with the checksum of the changed index.
fn with_index(bytes: &[u8], change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    let trailer_at = bytes.len() - FILE_TRAILER_LEN;
    let trailer = Trailer::decode(&bytes[trailer_at..], trailer_at as u64, &mut Silent).unwrap();
    let (start, length) = (trailer.index_offset as usize, trailer.index_length as usize);
    let index = &mut changed[start..start + length];
    change(index);
    let index_crc32c = crc32c(0, index);
    changed[trailer_at..].copy_from_slice(&Trailer { index_crc32c, ..trailer }.encode());
    changed
}

/// Entries of names of one byte: count 8, then name 3, offset 8, length 4, data 8 and 8.
const ENTRY: usize = 3 + 32;
const DESCRIPTOR_OFFSET: usize = 3;
const DATA_OFFSET: usize = 3 + 12;
const DATA_LENGTH: usize = 3 + 20;

fn set(index: &mut [u8], entry: usize, field: usize, value: u64) {
    let at = 8 + entry * ENTRY + field;
    index[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// S2, S4, S5.
#[test]
fn an_index_that_lies_is_refused_on_opening() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("lying.hrry");
    let row = Descriptor::dense(Dtype::UInt8, &[100]).unwrap();
    let mut file = hurray_tensor::FileWriter::new(Vec::new(), WriteOptions::default()).unwrap();
    file.tensor("a", &row, &[&[1; 100]]).unwrap();
    file.tensor("b", &row, &[&[2; 100]]).unwrap();
    let honest = file.finish().unwrap();
    /// Entry, field, value.
    type Change = (usize, usize, u64);
    let cases: [(&[Change], Rule); 9] = [
        // The whole of another tensor, its data alone, a part of it.
        (&[(1, DESCRIPTOR_OFFSET, 64), (1, DATA_OFFSET, 4096)], Rule::FileIndexTensorsOverlap),
        (&[(0, DATA_OFFSET, 8192)], Rule::FileIndexTensorsOverlap),
        (&[(0, DATA_LENGTH, 4097)], Rule::FileIndexTensorsOverlap),
        (&[(1, DATA_LENGTH, 1 << 20)], Rule::FileIndexDataOutOfRange),
        (&[(1, DATA_LENGTH, u64::MAX)], Rule::FileIndexDataOverflow),
        (&[(1, DATA_OFFSET, u64::MAX - 4095)], Rule::FileIndexDataOutOfRange),
        (&[(1, DESCRIPTOR_OFFSET, u64::MAX - 7)], Rule::FileIndexDescriptorOverflow),
        (&[(1, DESCRIPTOR_OFFSET, 1 << 40)], Rule::FileIndexDescriptorOutOfRange),
        (&[(0, DATA_OFFSET, 0)], Rule::FileIndexDataBeforeDescriptor),
    ];
    for (changes, rule) in cases {
        let change = |index: &mut [u8]| {
            changes.iter().for_each(|(entry, field, value)| set(index, *entry, *field, *value));
        };
        fs::write(&path, with_index(&honest, change)).unwrap();
        assert_eq!(File::open(&path).unwrap_err().rule(), Some(rule), "{changes:?}");
        refused(&path);
    }
    for more in 1..=40 {
        let longer = [&honest[..], &vec![0; more]].concat();
        fs::write(&path, longer).unwrap();
        assert_eq!(refused(&path).rule(), Some(Rule::FileTrailerMagic));
    }
    // The same trailer again, further on.
    let trailer = &honest[honest.len() - FILE_TRAILER_LEN..];
    fs::write(&path, [&honest[..], trailer].concat()).unwrap();
    refused(&path);
}

#[test]
fn limits_hold_on_opening() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("model.hrry");
    fs::write(&path, file_of(&samples(), WriteOptions::default())).unwrap();
    let with = |limits| OpenOptions { accept: Accept::default().limits(limits) };
    let index = with(Limits { index_bytes: 100, ..Limits::default() });
    let error = open_and_verify(&path, &index).unwrap_err();
    assert_eq!(error.rule(), Some(Rule::FileIndexAboveLimit));
    let kv = with(Limits { kv_bytes: 100, ..Limits::default() });
    let error = open_and_verify(&path, &kv).unwrap_err();
    assert_eq!(error.rule(), Some(Rule::FileKvAboveLimit));
    let descriptor = with(Limits { descriptor_bytes: 60, ..Limits::default() });
    let error = open_and_verify(&path, &descriptor).unwrap_err();
    assert_eq!(error.rule(), Some(Rule::DescriptorLengthAboveLimit));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// S13: whatever the lengths of names, descriptors and data.
    #[test]
    fn every_offset_is_aligned(
        power in 12_u32..=16,
        tensors in prop::collection::vec((0_usize..=64, 0_u64..9000, "[a-z]{1,40}"), 0..6),
        key in "[a-z]{0,20}",
    ) {
        let mut options = WriteOptions::default();
        options.file.alignment = 1 << power;
        let mut file = hurray_tensor::FileWriter::new(Vec::new(), options).unwrap();
        file.key_value(&format!("k{key}"), &KvValue::Bool(true)).unwrap();
        for (n, (rank, length, name)) in tensors.iter().enumerate() {
            let mut shape = vec![1; *rank];
            if let Some(last) = shape.last_mut() {
                *last = *length;
            }
            let descriptor = Descriptor::dense(Dtype::UInt8, &shape).unwrap();
            let bytes = vec![7; descriptor.data_bytes() as usize];
            file.tensor(&format!("{name}{n}"), &descriptor, &[&bytes]).unwrap();
        }
        let bytes = file.finish().unwrap();
        let view = FileView::open(&bytes).unwrap();
        view.verify().unwrap();
        prop_assert!(view.container().sections().index().start.is_multiple_of(8));
        prop_assert!(view.container().sections().kv().unwrap().start.is_multiple_of(8));
        for entry in view.container().index().iter() {
            prop_assert!(entry.descriptor_offset.is_multiple_of(8));
            prop_assert!(entry.data_offset.is_multiple_of(1 << power));
        }
    }
}
