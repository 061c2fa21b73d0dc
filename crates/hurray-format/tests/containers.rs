//! Public reports about files of tensors (S3, S10, S25, S28) that concern the container.

#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

use hurray_format::*;

/// A file of so many one-byte tensors, and what was given as checksums of the first.
fn file_of(count: usize, checksums: Option<&[u32]>) -> Vec<u8> {
    let descriptor = Descriptor::dense(Dtype::UInt8, &[1]).unwrap();
    let (mut plan, header) = FilePlan::new(FileOptions::default()).unwrap();
    let mut file = header.to_vec();
    let zeros = |file: &mut Vec<u8>, count: u64| {
        file.resize(file.len() + usize::try_from(count).unwrap(), 0);
    };
    for number in 0..count {
        let name = format!("encoder.layer.{number}.weight");
        let tensor = plan.tensor(&name, &descriptor).unwrap();
        zeros(&mut file, tensor.padding);
        file.extend(&tensor.descriptor);
        zeros(&mut file, tensor.buffers[0].0);
        file.push(7);
    }
    if let Some(checksums) = checksums {
        plan.checksums("encoder.layer.0.weight", checksums).unwrap();
    }
    file.extend(plan.finish(crc32c).unwrap());
    file
}

fn verified(file: &[u8]) -> Result<()> {
    FileView::open(file)?.verify()
}

#[test]
fn s3_bytes_hidden_between_tensors_are_found() {
    let file = file_of(2, None);
    assert_eq!(verified(&file), Ok(()));
    // Before the first data, after it, and before the next.
    for at in [1000, 4097, 5000] {
        let mut hidden = file.clone();
        hidden[at..at + 2].copy_from_slice(b"PK");
        // Opening does not look there.
        assert!(FileView::open(&hidden).is_ok());
        assert_eq!(verified(&hidden).unwrap_err().rule(), Rule::FilePaddingNotZero, "{at}");
    }
}

#[test]
fn s10_a_file_is_opened_by_reading_its_ends_and_its_index() {
    let file = file_of(3000, None);
    let range = |range: std::ops::Range<u64>| {
        let end = usize::try_from(range.end).unwrap();
        file[usize::try_from(range.start).unwrap()..end].to_vec()
    };
    let size = u64::try_from(file.len()).unwrap();
    let (first, last) = (range(0..64), range(size - 40..size));
    let sections = Sections::decode(&first, &last, size, &Limits::default(), &mut Silent).unwrap();
    assert!(sections.index().end - sections.index().start > 100_000);
    let (index, kv) = (range(sections.index()), sections.kv().map(range));
    let container = Container::new(sections, index, kv, crc32c, &mut Silent).unwrap();
    let entry = container.find("encoder.layer.2999.weight").unwrap();
    let bytes = range(entry.descriptor());
    let tensor = container.place(&entry, &bytes, &Accept::default(), &mut Silent).unwrap();
    assert_eq!(range(tensor.buffers[0].clone()), [7]);
}

#[test]
fn s25_there_are_as_many_checksums_as_buffers() {
    let right = crc32c(0, &[7]);
    assert_eq!(verified(&file_of(1, Some(&[right]))), Ok(()));
    let wrong = verified(&file_of(1, Some(&[right ^ 1]))).unwrap_err();
    assert_eq!(wrong.rule(), Rule::FileTensorChecksumMismatch);
    for checksums in [&[][..], &[right, right]] {
        let error = verified(&file_of(1, Some(checksums))).unwrap_err();
        assert_eq!(error.rule(), Rule::FileTensorChecksumKey);
    }
}

#[test]
fn s28_what_was_written_the_other_way_round_is_told() {
    let mut file = file_of(1, None);
    file[..8].reverse();
    assert_eq!(FileView::open(&file).unwrap_err().rule(), Rule::FileHeaderMagic);
    let mut descriptor = Descriptor::dense(Dtype::UInt8, &[1]).unwrap().encode();
    descriptor[..4].reverse();
    assert_eq!(Descriptor::decode(&descriptor).unwrap_err().rule(), Rule::DescriptorMagic);
    // The magic alone the right way round, numbers big-endian.
    let mut descriptor = Descriptor::dense(Dtype::UInt8, &[1]).unwrap().encode();
    descriptor[6..10].reverse();
    assert_eq!(Descriptor::decode(&descriptor).unwrap_err().rule(), Rule::DescriptorTruncated);
    let mut file = file_of(1, None);
    file[16..20].reverse();
    assert!(FileView::open(&file).is_err());
}
