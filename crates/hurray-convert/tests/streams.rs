//! Plain streams and files written anew: every valid file of the vectors, and what breaks.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod support;

use std::fs;

use hurray_convert::format::{
    Accept, CompositeHead, Composition, Descriptor, Dtype, FileView, KvValue, Layout, Rule,
    StreamView,
};
use hurray_convert::tensor::{File, OpenOptions};
use hurray_convert::{
    Changed, ConvertOptions, Error, Names, Report, Result, StreamSource, hurray_to_stream, rewrite,
    stream_to_hurray,
};
use support::{OnDisk, VECTORS, hurray, import, listing, one};

/// Every valid file of the vectors that opens without an agreement on private tags.
fn vectors() -> Vec<(String, File)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(format!("{VECTORS}/files")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.starts_with('v') {
            let accept = OpenOptions { accept: Accept::every_private_tag() };
            files.push((name, File::open_with(&path, &accept).unwrap()));
        }
    }
    assert!(files.len() > 30, "{}", files.len());
    files
}

/// A descriptor as it is encoded, and the buffers.
type Tensor = (Vec<u8>, Vec<Vec<u8>>);

fn tensors(file: &File) -> Vec<(String, Tensor)> {
    let tensors = file.in_file_order().map(|tensor| {
        let tensor = tensor.unwrap();
        let count = tensor.descriptor().buffer_count();
        let buffers = (0..count).map(|place| tensor.read_buffer(place).unwrap().to_vec());
        (tensor.name().to_owned(), (tensor.descriptor().encode(), buffers.collect()))
    });
    tensors.collect()
}

fn open(bytes: &[u8]) -> (OnDisk, File) {
    let on_disk = OnDisk::new(bytes);
    let accept = OpenOptions { accept: Accept::every_private_tag() };
    let file = File::open_with(&on_disk.path, &accept).unwrap();
    (on_disk, file)
}

#[test]
fn every_vector_written_anew_says_the_same() {
    for (name, file) in vectors() {
        for checksums in [true, false] {
            let options = ConvertOptions { alignment: 8192, sorted: true, checksums };
            let mut out = Vec::new();
            let report = match rewrite(&file, &mut out, &options, &mut |_, _| {}) {
                // The longest of names leaves no room for the key of its checksums.
                Err(error) if checksums => {
                    assert_eq!(error.rule(), Some(Rule::FileKvKeyTooLong), "{name}");
                    assert_eq!(error.tensor().map(str::len), Some(65_535), "{name}");
                    continue;
                }
                report => report.unwrap(),
            };
            let (_on_disk, again) = open(&out);
            assert_eq!(tensors(&again), tensors(&file), "{name}");
            assert_eq!(report.tensors as usize, file.len());
            let pairs = |file: &File| {
                let kv = file.kv().iter().filter(|(key, _)| !key.starts_with("hurray.crc32c."));
                kv.map(|(key, value)| format!("{key:?} {value:?}")).collect::<Vec<_>>()
            };
            let (mut left, mut right) = (pairs(&file), pairs(&again));
            left.sort();
            right.sort();
            assert_eq!(left, right, "{name}");
            let has_checksums = again.kv().iter().any(|(key, _)| key.starts_with("hurray.crc32c."));
            assert_eq!(has_checksums, checksums && !file.is_empty(), "{name}");
            again.composites().unwrap();
        }
    }
}

#[test]
fn every_vector_goes_through_a_stream_and_back() {
    let mut composites = 0;
    for (name, file) in vectors() {
        let mut stream = Vec::new();
        let report = hurray_to_stream(&file, &mut stream, &mut |_, _| {}).unwrap();
        assert_eq!(report.names, Names::LeftOut);
        assert_eq!(report.changes.len(), file.kv().len());
        let names: Vec<_> = tensors(&file).into_iter().map(|(name, _)| name).collect();
        let accept = Accept::every_private_tag();
        let kept = StreamView::with(&stream, &accept).count();
        assert_eq!(kept, names.len(), "{name}");
        let given = if names.is_empty() { Names::Numbered } else { Names::Given };
        let source = StreamSource { names, accept, ..source(&stream) };
        let options = ConvertOptions { checksums: false, ..ConvertOptions::default() };
        let mut again = Vec::new();
        let report = stream_to_hurray(source, &mut again, &options, &mut |_, _| {}).unwrap();
        assert_eq!(report.names, given);
        let (_on_disk, again) = open(&again);
        assert_eq!(tensors(&again), tensors(&file), "{name}");
        composites += again.composites().unwrap().len();
    }
    assert!(composites > 3, "{composites}");
}

fn source(stream: &[u8]) -> StreamSource<&[u8]> {
    StreamSource { input: stream, path: "in.hrrys".into(), ..StreamSource::default() }
}

fn into_file(source: StreamSource<&[u8]>) -> Result<(Vec<u8>, Report)> {
    let mut out = Vec::new();
    let options = ConvertOptions::default();
    let report = stream_to_hurray(source, &mut out, &options, &mut |_, _| {})?;
    Ok((out, report))
}

/// A stream of so many tensors of one byte.
fn bytes(count: u8) -> Vec<u8> {
    let descriptor = Descriptor::dense(Dtype::UInt8, &[1]).unwrap().encode();
    (0..count).flat_map(|n| [&descriptor[..], &[n]].concat()).collect()
}

#[test]
fn tensors_without_names_are_numbered_or_get_the_names_given() {
    let stream = bytes(3);
    let (file, report) = into_file(source(&stream)).unwrap();
    assert_eq!(report.names, Names::Numbered);
    let view = FileView::open(&file).unwrap();
    assert_eq!(view.tensor("tensor.2").unwrap().buffers, [[2]]);

    let given = |names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        into_file(StreamSource { names, ..source(&stream) })
    };
    let (file, _) = given(&["x", "y", "z"]).unwrap();
    assert_eq!(FileView::open(&file).unwrap().tensor("z").unwrap().buffers, [[2]]);
    for (names, given_count, found_count) in
        [(&["x", "y"][..], 2, 3), (&["x", "y", "z", "w"], 4, 3)]
    {
        match given(names).unwrap_err() {
            Error::Names { given, found, .. } => {
                assert_eq!((given, found), (given_count, found_count))
            }
            other => panic!("{other}"),
        }
    }
    let twice = given(&["x", "y", "x"]).unwrap_err();
    assert_eq!(twice.rule(), Some(Rule::FileIndexNameDuplicate));
}

#[test]
fn a_stream_cut_anywhere_is_refused_with_its_name() {
    let whole = bytes(2);
    let half = whole.len() / 2;
    for length in 1..whole.len() {
        let converted = into_file(source(&whole[..length]));
        if length == half {
            converted.unwrap();
            continue;
        }
        let error = converted.map(|_| ()).unwrap_err();
        assert!(error.rule().is_some(), "{error}");
        assert!(error.to_string().contains("in.hrrys"), "{error}");
    }
    // A stream of nothing is one.
    assert_eq!(into_file(source(&[])).unwrap().1.tensors, 0);
}

#[test]
fn a_composite_that_is_cut_is_refused() {
    let head = CompositeHead { composition: Composition::Group, member_count: 3 };
    let head = Descriptor::builder(Dtype::UInt8, &[1]).layout(Layout::Composite(head));
    let stream = [head.build().unwrap().encode(), bytes(2)].concat();
    let error = into_file(source(&stream)).map(|_| ()).unwrap_err();
    assert_eq!(error.rule(), Some(Rule::CompositeTorn));
    assert!(error.to_string().contains("in.hrrys"), "{error}");
    let whole = [stream, bytes(1)].concat();
    let (file, _) = into_file(source(&whole)).unwrap();
    FileView::open(&file).unwrap().verify().unwrap();
}

#[test]
fn progress_reaches_the_length_of_the_stream() {
    let stream = bytes(3);
    let mut last = None;
    let with_length = StreamSource { bytes: Some(stream.len() as u64), ..source(&stream) };
    let options = ConvertOptions::default();
    let mut progress = |done, total| last = Some((done, total));
    stream_to_hurray(with_length, Vec::new(), &options, &mut progress).unwrap();
    assert_eq!(last, Some((stream.len() as u64, stream.len() as u64)));
}

#[test]
fn damage_is_not_given_a_new_checksum() {
    let (file, _) = import(&one("U8", &[3], &[1, 2, 3])).unwrap();
    let (on_disk, opened) = open(&file);
    let at = opened.get("x").unwrap().buffer_ranges()[0].start as usize;
    let mut damaged = file;
    damaged[at] ^= 1;
    fs::write(&on_disk.path, &damaged).unwrap();
    let opened = File::open(&on_disk.path).unwrap();
    let options = ConvertOptions::default();
    let path = on_disk.path.clone();
    let anew = hurray_convert::save(&path, |out| rewrite(&opened, out, &options, &mut |_, _| {}));
    let error = anew.unwrap_err();
    assert_eq!(error.rule(), Some(Rule::FileTensorChecksumMismatch));
    assert_eq!((error.tensor(), error.path()), (Some("x"), Some(&*path)));
    assert_eq!(fs::read(&path).unwrap(), damaged);
    assert_eq!(listing(&on_disk.folder), ["file"]);
    let error = hurray_to_stream(&opened, Vec::new(), &mut |_, _| {}).unwrap_err();
    assert_eq!(error.rule(), Some(Rule::FileTensorChecksumMismatch));
}

#[test]
fn a_key_that_names_no_tensor_is_refused() {
    let descriptor = Descriptor::dense(Dtype::UInt8, &[1]).unwrap();
    let kv = [("hurray.alias.y", KvValue::String("absent"))];
    let (_on_disk, file) = open(&hurray(&[("x", &descriptor, &[1])], &kv));
    let options = ConvertOptions::default();
    let error = rewrite(&file, Vec::new(), &options, &mut |_, _| {}).unwrap_err();
    assert_eq!(error.rule(), Some(Rule::FileTensorAliasKey));
    assert_eq!(support::export_file(&file).unwrap_err().rule(), Some(Rule::FileTensorAliasKey));
}

#[test]
fn fields_of_a_later_version_are_left_out_and_reported() {
    let mut descriptor = Descriptor::dense(Dtype::UInt8, &[1]).unwrap().encode();
    descriptor[5] = 7;
    descriptor.extend([1, 2, 3]);
    let length = u32::try_from(descriptor.len()).unwrap();
    descriptor[6..10].copy_from_slice(&length.to_le_bytes());
    let stream = [&descriptor[..], &[5], &bytes(1)].concat();
    let (file, report) = into_file(source(&stream)).unwrap();
    let [change] = &report.changes[..] else { panic!("{report}") };
    assert_eq!((change.subject.as_str(), change.what), ("tensor.0", Changed::NewerFields));
    let view = FileView::open(&file).unwrap();
    assert_eq!(view.tensor("tensor.0").unwrap().descriptor.version(), (1, 7));
}
