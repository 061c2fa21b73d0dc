//! What is written is what is opened, by reading and by mapping.

#![allow(
    missing_docs,
    unsafe_code,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test may fail loudly, and maps its own files"
)]

mod support;

use std::fs;
use std::path::Path;

use hurray_tensor::format::*;
use hurray_tensor::{Access, File, FileWriter, WriteOptions, save};
use support::{Sample, file_of, key_values, samples};
use tempfile::tempdir;

/// The same file opened by reading and by mapping.
fn both(path: &Path) -> [File; 2] {
    // SAFETY: the file is this test's own, and nobody writes to it.
    let mapped = unsafe { File::map(path) }.unwrap();
    assert_eq!(mapped.access(), &Access::Mapped);
    let read = File::open(path).unwrap();
    assert_eq!(read.access(), &Access::Read { refused: None });
    [read, mapped]
}

fn same(file: &File, sample: &Sample) {
    let name = sample.name;
    let tensor = file.get(name).unwrap();
    assert_eq!(tensor.name(), name);
    assert_eq!(tensor.descriptor(), &sample.descriptor, "{name}");
    assert_eq!(tensor.buffer_ranges().len(), sample.buffers.len(), "{name}");
    let alignment = u64::from(file.container().header().alignment());
    for (place, bytes) in sample.buffers.iter().enumerate() {
        let range = tensor.buffer_ranges()[place].clone();
        assert!(range.start.is_multiple_of(alignment), "{name}");
        assert_eq!(range.end - range.start, bytes.len() as u64, "{name}");
        let read = tensor.read_buffer(place).unwrap();
        assert_eq!(&read[..], bytes, "{name}");
        assert!(read.is_empty() || read.as_ptr().addr().is_multiple_of(64), "{name}");
        let mut copy = Vec::new();
        assert_eq!(tensor.copy_buffer(place, &mut copy).unwrap(), bytes.len() as u64);
        assert_eq!(&copy, bytes, "{name}");
        match file.access() {
            Access::Mapped => assert_eq!(tensor.mapped(place), Some(&bytes[..]), "{name}"),
            Access::Read { .. } => assert_eq!(tensor.mapped(place), None, "{name}"),
        }
    }
    let alive = tensor.to_tensor().unwrap();
    assert_eq!(alive.descriptor(), &sample.descriptor, "{name}");
    for (place, bytes) in sample.buffers.iter().enumerate() {
        let held = alive.buffers()[place].host_bytes().unwrap();
        assert_eq!(held, bytes, "{name}");
        if let Some(mapped) = tensor.mapped(place).filter(|mapped| !mapped.is_empty()) {
            assert_eq!(held.as_ptr(), mapped.as_ptr(), "{name}");
        }
    }
    let beyond = sample.buffers.len();
    assert_eq!(tensor.mapped(beyond), None);
    let error = tensor.read_buffer(beyond).unwrap_err();
    assert_eq!(error.rule(), Some(Rule::FileTensorBufferCount));
    assert_eq!(error.place().tensor.as_deref(), Some(name));
}

#[test]
fn every_kind_of_tensor_comes_back() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("all.hrry");
    let samples = samples();
    for (sorted, checksums, alignment) in
        [(false, true, 4096), (true, true, 4096), (false, false, 2 << 20), (true, false, 8192)]
    {
        let mut options = WriteOptions { checksums, ..WriteOptions::default() };
        options.file.sorted = sorted;
        options.file.alignment = alignment;
        options.file.tensor_count = Some(samples.len() as u64);
        save(&path, options, |file| {
            samples.iter().try_for_each(|s| file.tensor(s.name, &s.descriptor, &s.slices()))
        })
        .unwrap();

        let mut names: Vec<&str> = samples.iter().map(|sample| sample.name).collect();
        let in_file_order = names.clone();
        if sorted {
            names.sort_unstable();
        }
        for file in both(&path) {
            assert_eq!(file.len(), samples.len());
            assert!(!file.is_empty());
            assert_eq!(file.names().collect::<Vec<_>>(), names);
            let walked = file.in_file_order().map(|tensor| tensor.unwrap().name());
            assert_eq!(walked.collect::<Vec<_>>(), in_file_order);
            samples.iter().for_each(|sample| same(&file, sample));
            file.verify(&mut |_| {}).unwrap();
            let keys = if checksums { samples.len() } else { 0 };
            assert_eq!(file.kv().len(), keys);
        }
    }
}

#[test]
fn composites_of_a_file_are_bound_in_its_order() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("composite.hrry");
    let mut options = WriteOptions::default();
    options.file.sorted = true;
    fs::write(&path, file_of(&samples(), options)).unwrap();
    for file in both(&path) {
        let name = |number| file.container().index().entry(number).unwrap().name;
        let composites = file.composites().unwrap();
        assert_eq!(composites.len(), 1);
        assert_eq!(name(composites[0].item), "partition");
        let members = composites[0].members.iter().map(|member| name(member.item));
        assert_eq!(members.collect::<Vec<_>>(), ["partition.upper", "partition.lower"]);
    }
}

#[test]
fn a_composite_that_is_cut_short_is_refused_when_bound_and_never_written() {
    let path = support::vector("files/i143_comp_torn_none.hrry");
    for file in both(&path) {
        let name = file.names().next().unwrap().to_owned();
        assert!(file.get(&name).is_ok());
        assert_eq!(file.composites().unwrap_err().rule(), Some(Rule::CompositeTorn));
        let error = file.verify(&mut |_| {}).unwrap_err();
        assert_eq!(error.rule(), Some(Rule::CompositeTorn));
        assert_eq!(error.place().tensor.as_deref(), Some(&*name));
    }
    let [head, upper, _] = support::partition();
    let mut file = FileWriter::new(Vec::new(), WriteOptions::default()).unwrap();
    for tensor in [&head, &upper] {
        file.tensor(tensor.name, &tensor.descriptor, &tensor.slices()).unwrap();
    }
    assert_eq!(file.finish().unwrap_err().rule(), Some(Rule::CompositeTorn));
}

#[test]
fn key_values_of_every_type_come_back() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("kv.hrry");
    save(&path, WriteOptions::default(), |file| {
        key_values().iter().try_for_each(|(key, value)| file.key_value(key, value))
    })
    .unwrap();
    for file in both(&path) {
        assert!(file.is_empty());
        assert_eq!(file.kv().iter().collect::<Vec<_>>(), key_values());
        for (key, value) in key_values() {
            assert_eq!(file.kv().get(key), Some(value), "{key}");
        }
        assert_eq!(file.kv().get("none such"), None);
        file.verify(&mut |_| {}).unwrap();
    }
}

#[test]
fn a_key_that_is_no_key_is_refused_and_the_file_goes_on() {
    let mut file = FileWriter::new(Vec::new(), WriteOptions::default()).unwrap();
    file.key_value("k", &KvValue::U64(1)).unwrap();
    let long = "k".repeat(65_536);
    for (key, rule) in [
        ("k", Rule::FileKvKeyDuplicate),
        ("", Rule::FileKvKeyEmpty),
        (long.as_str(), Rule::FileKvKeyTooLong),
    ] {
        assert_eq!(file.key_value(key, &KvValue::U64(2)).unwrap_err().rule(), Some(rule));
    }
    file.key_value(&long[1..], &KvValue::U64(3)).unwrap();
    let bytes = file.finish().unwrap();
    let view = FileView::open(&bytes).unwrap();
    assert_eq!(view.container().kv().len(), 2);
}

#[test]
fn without_key_values_none_can_be_added() {
    let mut options = WriteOptions { checksums: false, ..WriteOptions::default() };
    options.file.key_values = false;
    let mut file = FileWriter::new(Vec::new(), options).unwrap();
    let byte = Descriptor::dense(Dtype::UInt8, &[1]).unwrap();
    file.tensor("w", &byte, &[&[1]]).unwrap();
    let undeclared = Some(Rule::FileHeaderWriterKvUndeclared);
    assert_eq!(file.key_value("k", &KvValue::U64(1)).unwrap_err().rule(), undeclared);
    assert_eq!(file.alias("v", "w").unwrap_err().rule(), undeclared);
    let bytes = file.finish().unwrap();
    assert!(FileView::open(&bytes).unwrap().container().sections().kv().is_none());

    // No tensors, no key-values: the smallest file there is.
    let empty = FileWriter::new(Vec::new(), options).unwrap().finish().unwrap();
    assert_eq!(empty.len(), 112);
}

/// S27, and S2: what shares bytes says so.
#[test]
fn an_alias_is_stored_once_and_found_under_both_names() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("tied.hrry");
    let row = Descriptor::dense(Dtype::UInt8, &[3]).unwrap();
    save(&path, WriteOptions::default(), |file| {
        file.tensor("wte", &row, &[&[1, 2, 3]])?;
        file.alias("lm_head", "wte")?;
        // Neither an alias of nothing, nor of an alias, nor of itself, nor twice.
        for (name, tensor) in [("a", "none"), ("a", "lm_head"), ("wte", "wte")] {
            let error = file.alias(name, tensor).unwrap_err();
            assert_eq!(error.rule(), Some(Rule::FileTensorAliasKey));
        }
        let error = file.alias("lm_head", "wte").unwrap_err();
        assert_eq!(error.rule(), Some(Rule::FileKvKeyDuplicate));
        // A tensor cannot take a name that is an alias.
        let error = file.tensor("lm_head", &row, &[&[4, 5, 6]]).unwrap_err();
        assert_eq!(error.rule(), Some(Rule::FileTensorAliasKey));
        Ok::<_, hurray_tensor::Error>(())
    })
    .unwrap();
    for file in both(&path) {
        assert_eq!(file.names().collect::<Vec<_>>(), ["wte"]);
        assert_eq!(file.kv().aliases().collect::<Vec<_>>(), [("lm_head", "wte")]);
        let (own, tied) = (file.get("wte").unwrap(), file.get("lm_head").unwrap());
        assert_eq!(tied.name(), "wte");
        assert_eq!(own.buffer_ranges(), tied.buffer_ranges());
        assert_eq!(tied.read_buffer(0).unwrap()[..], [1, 2, 3]);
        file.verify(&mut |_| {}).unwrap();
        let error = file.get("none").unwrap_err();
        assert_eq!(error.rule(), Some(Rule::FileIndexUnknownName));
        assert_eq!(error.place().tensor.as_deref(), Some("none"));
    }
}

/// S23.
#[test]
fn a_flipped_byte_is_found_with_the_name_of_its_tensor() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("flipped.hrry");
    let samples = samples();
    let bytes = file_of(&samples, WriteOptions::default());
    let view = FileView::open(&bytes).unwrap();
    for sample in &samples {
        let entry = view.container().find(sample.name).unwrap();
        let tensor = view.read(&entry).unwrap();
        for buffer in tensor.buffers.iter().filter(|buffer| !buffer.is_empty()) {
            let start = buffer.as_ptr().addr() - bytes.as_ptr().addr();
            for at in [start, start + buffer.len() / 2, start + buffer.len() - 1] {
                let mut flipped = bytes.clone();
                flipped[at] ^= 0x40;
                fs::write(&path, &flipped).unwrap();
                for file in both(&path) {
                    assert!(file.get(sample.name).is_ok(), "only verify looks at data");
                    let error = file.verify(&mut |_| {}).unwrap_err();
                    assert_eq!(error.rule(), Some(Rule::FileTensorChecksumMismatch));
                    assert_eq!(error.place().tensor.as_deref(), Some(sample.name));
                    let text = error.to_string();
                    assert!(text.contains(&format!("{:?}", sample.name)), "{text}");
                    assert!(text.contains("flipped.hrry"), "{text}");
                }
            }
        }
    }
}

#[test]
fn verify_names_no_tensor_where_the_fault_is_in_none() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("padding.hrry");
    let mut bytes = support::small_file(&[1, 2, 3]);
    // The descriptor ends before the data, which is at 4096.
    bytes[4000] = 1;
    fs::write(&path, &bytes).unwrap();
    for file in both(&path) {
        let error = file.verify(&mut |_| {}).unwrap_err();
        assert_eq!(error.rule(), Some(Rule::FilePaddingNotZero));
        assert_eq!(error.format().unwrap().offset(), 4000);
        assert_eq!(error.place().tensor, None);
        assert_eq!(error.place().path.as_deref(), Some(&*path));
    }
}

#[test]
fn verify_tells_how_far_it_is() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("all.hrry");
    fs::write(&path, file_of(&samples(), WriteOptions::default())).unwrap();
    let size = fs::metadata(&path).unwrap().len();
    for file in both(&path) {
        let mut steps = vec![0];
        file.verify(&mut |done| steps.push(done)).unwrap();
        assert!(steps.is_sorted());
        let last = steps.pop();
        assert_eq!(last, Some(size));
        assert!(steps.iter().all(|done| *done < size));
    }
}

/// S24.
#[test]
fn any_text_is_a_name() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("names.hrry");
    let row = Descriptor::dense(Dtype::UInt8, &[1]).unwrap();
    let long = "é".repeat(32_760);
    let names = ["\0", "a\0b", "\u{202E}gnp.exe", "../../etc/passwd", " ", "\u{1F600}", &long];
    save(&path, WriteOptions::default(), |file| {
        (1_u8..).zip(names).try_for_each(|(n, name)| file.tensor(name, &row, &[&[n]]))
    })
    .unwrap();
    for file in both(&path) {
        assert_eq!(file.names().collect::<Vec<_>>(), names);
        for (n, name) in (1_u8..).zip(names) {
            assert_eq!(file.get(name).unwrap().read_buffer(0).unwrap()[..], [n]);
        }
        file.verify(&mut |_| {}).unwrap();
        let text = file.get("\u{202E}no\0").unwrap_err().to_string();
        assert!(!text.contains(['\u{202E}', '\0']), "{text}");
    }
}

/// S1, S24: a name that cannot be is refused before anything is written.
#[test]
fn a_name_that_is_no_name_is_refused_and_the_file_goes_on() {
    let row = Descriptor::dense(Dtype::UInt8, &[1]).unwrap();
    let longest = "n".repeat(65_535);
    let refused = |file: &mut FileWriter<Vec<u8>>, name: &str, rule| {
        let before = file.position();
        let error = file.tensor(name, &row, &[&[1]]).unwrap_err();
        assert_eq!(error.rule(), Some(rule));
        assert_eq!(error.place().tensor.as_deref(), Some(name));
        assert_eq!(file.position(), before);
    };
    for checksums in [true, false] {
        let options = WriteOptions { checksums, ..WriteOptions::default() };
        let mut file = FileWriter::new(Vec::new(), options).unwrap();
        file.tensor("w", &row, &[&[1]]).unwrap();
        refused(&mut file, "w", Rule::FileIndexNameDuplicate);
        refused(&mut file, "", Rule::FileIndexNameEmpty);
        refused(&mut file, &format!("{longest}n"), Rule::FileIndexNameTooLong);
        // The key of its checksums would be too long.
        match checksums {
            true => refused(&mut file, &longest, Rule::FileKvKeyTooLong),
            false => file.tensor(&longest, &row, &[&[1]]).unwrap(),
        }
        file.tensor(&longest[..65_521], &row, &[&[1]]).unwrap();
        let bytes = file.finish().unwrap();
        let view = FileView::open(&bytes).unwrap();
        view.verify().unwrap();
        assert_eq!(view.container().index().len(), if checksums { 2 } else { 3 });
    }
}

#[test]
fn a_checksum_that_is_there_already_is_not_written_over() {
    let row = Descriptor::dense(Dtype::UInt8, &[1]).unwrap();
    let mut file = FileWriter::new(Vec::new(), WriteOptions::default()).unwrap();
    let other = KvArray::new(KvKind::U64, [KvValue::U64(1)]).unwrap();
    file.key_value("hurray.crc32c.w", &KvValue::Array(other)).unwrap();
    let error = file.tensor("w", &row, &[&[1]]).unwrap_err();
    assert_eq!(error.rule(), Some(Rule::FileKvKeyDuplicate));
    file.tensor("v", &row, &[&[1]]).unwrap();
    file.finish().unwrap();
}

/// S11.
#[test]
fn a_tensor_of_odd_length_moves_none_that_follows() {
    let bytes = file_of(&samples()[1..3], WriteOptions::default());
    let view = FileView::open(&bytes).unwrap();
    let starts: Vec<u64> = view.container().index().iter().map(|entry| entry.data_offset).collect();
    assert_eq!(starts, [4096, 8192]);
    assert_eq!(view.tensor("dense f64[2]").unwrap().buffers[0].len(), 16);
}

#[test]
fn one_file_is_read_by_many_threads() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("shared.hrry");
    let samples = samples();
    fs::write(&path, file_of(&samples, WriteOptions::default())).unwrap();
    for file in both(&path) {
        std::thread::scope(|scope| {
            for first in 0..8 {
                let (file, samples) = (&file, &samples);
                scope.spawn(move || {
                    for at in 0..100 {
                        same(file, &samples[(first + at) % samples.len()]);
                    }
                });
            }
        });
    }
}

#[test]
fn one_tensor_is_verified_alone() {
    let mut bytes = file_of(&samples(), WriteOptions::default());
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.hrry");
    fs::write(&path, &bytes).unwrap();
    let whole = File::open(&path).unwrap();
    let (mut broken, mut at) = (String::new(), 0);
    for tensor in whole.in_file_order() {
        let tensor = tensor.unwrap();
        tensor.verify().unwrap();
        for (place, range) in tensor.buffer_ranges().iter().enumerate() {
            let mut copy = Vec::new();
            let length = tensor.copy_checked(place, &mut copy).unwrap();
            assert_eq!(length, range.end - range.start);
            assert_eq!(copy, *tensor.read_buffer(place).unwrap());
            if place == 0 && !range.is_empty() {
                (broken, at) = (tensor.name().to_owned(), range.start as usize);
            }
        }
    }
    bytes[at] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let file = File::open(&path).unwrap();
    for tensor in file.in_file_order() {
        let tensor = tensor.unwrap();
        let verified = tensor.verify();
        if tensor.name() != broken {
            verified.unwrap();
            continue;
        }
        let mut copy = Vec::new();
        for error in [verified, tensor.copy_checked(0, &mut copy).map(drop)] {
            let error = error.unwrap_err();
            assert_eq!(error.rule(), Some(Rule::FileTensorChecksumMismatch));
            assert_eq!(error.place().tensor.as_deref(), Some(broken.as_str()));
        }
        assert_eq!(copy[0], bytes[at]);
        assert_eq!(copy, *tensor.read_buffer(0).unwrap());
    }
}
