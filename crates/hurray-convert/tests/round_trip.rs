//! There and back: every type, any values, a real model.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod support;

use std::collections::HashMap;
use std::fs;

use hurray_convert::format::{Dtype as Ours, FileView, KvValue};
use hurray_convert::tensor::File;
use hurray_convert::{
    ConvertOptions, SafetensorsSource, hurray_to_safetensors, safetensors_to_hurray, save,
};
use proptest::prelude::*;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use support::{OnDisk, SAMPLE, export, import, one};

/// Each type of theirs with ours, and eight elements of it: bytes of every kind.
const TYPES: [(Dtype, Ours); 20] = [
    (Dtype::BOOL, Ours::Bool),
    (Dtype::F4, Ours::Float4E2M1),
    (Dtype::F6_E2M3, Ours::Float6E2M3),
    (Dtype::F6_E3M2, Ours::Float6E3M2),
    (Dtype::U8, Ours::UInt8),
    (Dtype::I8, Ours::Int8),
    (Dtype::F8_E5M2, Ours::Float8E5M2),
    (Dtype::F8_E4M3, Ours::Float8E4M3),
    (Dtype::F8_E8M0, Ours::Float8E8M0),
    (Dtype::I16, Ours::Int16),
    (Dtype::U16, Ours::UInt16),
    (Dtype::F16, Ours::Float16),
    (Dtype::BF16, Ours::BFloat16),
    (Dtype::I32, Ours::Int32),
    (Dtype::U32, Ours::UInt32),
    (Dtype::F32, Ours::Float32),
    (Dtype::C64, Ours::Complex64),
    (Dtype::F64, Ours::Float64),
    (Dtype::I64, Ours::Int64),
    (Dtype::U64, Ours::UInt64),
];

#[test]
fn each_type_keeps_its_bytes() {
    for (theirs, ours) in TYPES {
        // 0x00 and 0xFF are among them: codes that a scale of float8_e8m0 may not be.
        let data: Vec<u8> = match theirs {
            Dtype::BOOL => vec![1, 0, 0, 1, 1, 1, 0, 1],
            other => (0..other.bitsize()).map(|n| (n as u8).wrapping_mul(255)).collect(),
        };
        let (file, report) = import(&one(&theirs.to_string(), &[2, 4], &data)).unwrap();
        let view = FileView::open(&file).unwrap();
        view.verify().unwrap();
        let tensor = view.tensor("x").unwrap();
        assert_eq!((tensor.descriptor.dtype(), tensor.descriptor.shape()), (ours, &[2, 4][..]));
        if theirs == Dtype::BOOL {
            assert_eq!(tensor.buffers, [[0b1011_1001]]);
            assert_eq!((report.copied_bytes, report.transcoded.len()), (0, 1));
        } else {
            assert_eq!(tensor.buffers, [&data[..]]);
            assert_eq!((report.copied_bytes, report.transcoded.len()), (data.len() as u64, 0));
        }
        let (back, _) = export(&file).unwrap();
        let back = SafeTensors::deserialize(&back).unwrap();
        let tensor = back.tensor("x").unwrap();
        assert_eq!((tensor.dtype(), tensor.data()), (theirs, &data[..]));
    }
}

#[test]
fn the_sample_is_the_same_byte_for_byte_both_ways() {
    let folder = tempfile::tempdir().unwrap();
    let (hrry, back) = (folder.path().join("model.hrry"), folder.path().join("back.safetensors"));
    let source = SafetensorsSource::open(SAMPLE).unwrap();
    let mut told = Vec::new();
    let mut progress = |done, total| told.push((done, total));
    let options = ConvertOptions::default();
    let report =
        save(&hrry, |out| safetensors_to_hurray(&source, out, &options, &mut progress)).unwrap();
    assert_eq!((report.tensors, report.copied_bytes), (30, source.data_bytes()));
    assert_eq!((&report.transcoded[..], &report.changes[..]), (&[][..], &[][..]));
    assert_eq!(told.first(), Some(&(0, source.data_bytes())));
    assert_eq!(told.last(), Some(&(source.data_bytes(), source.data_bytes())));

    let file = File::open(&hrry).unwrap();
    file.verify(&mut |_| {}).unwrap();
    let original = fs::read(SAMPLE).unwrap();
    let theirs = SafeTensors::deserialize(&original).unwrap();
    assert_eq!(file.len(), theirs.len());
    for (name, tensor) in theirs.iter() {
        let ours = file.get(name).unwrap();
        assert_eq!(ours.read_buffer(0).unwrap()[..], *tensor.data(), "{name}");
        assert_eq!(ours.buffer_ranges()[0].start % 4096, 0);
    }

    save(&back, |out| hurray_to_safetensors(&file, out, &mut |_, _| {})).unwrap();
    assert_eq!(fs::read(&back).unwrap(), original);
    assert_eq!(source.difference(&SafetensorsSource::open(&back).unwrap()).unwrap(), None);
}

#[test]
fn s11_a_wide_tensor_after_a_narrow_one_is_aligned_in_both() {
    let header = r#"{"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},
        "b":{"dtype":"F64","shape":[2],"data_offsets":[3,19]}}"#;
    let data: Vec<u8> = (0..19).collect();
    let (file, _) = import(&support::safetensors(header, &data)).unwrap();
    let on_disk = OnDisk::new(&file);
    for tensor in on_disk.open().in_file_order() {
        assert_eq!(tensor.unwrap().buffer_ranges()[0].start % 4096, 0);
    }
    let (back, _) = export(&file).unwrap();
    let start = 8 + u64::from_le_bytes(back[..8].try_into().unwrap()) as usize;
    assert_eq!(start % 8, 0);
    assert_eq!(back[start..], [&data[3..], &data[..3]].concat());
}

#[test]
fn s27_tied_weights_are_stored_once_and_their_names_come_back() {
    let header = r#"{"__metadata__":{"format":"pt","lm_head.weight":"embed.weight"},
        "embed.weight":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
    let (file, report) = import(&support::safetensors(header, &[7; 8])).unwrap();
    assert_eq!(report.aliases.len(), 1);
    let view = FileView::open(&file).unwrap();
    assert_eq!(view.container().index().len(), 1);
    assert_eq!(view.tensor("lm_head.weight").unwrap(), view.tensor("embed.weight").unwrap());
    assert_eq!(view.container().kv().get("lm_head.weight"), None);

    let (back, report) = export(&file).unwrap();
    assert_eq!(report.aliases.len(), 1);
    let (_, metadata) = SafeTensors::read_metadata(&back).unwrap();
    let pairs = [("format", "pt"), ("lm_head.weight", "embed.weight")];
    let pairs = pairs.map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(metadata.metadata(), &Some(HashMap::from(pairs)));
}

#[test]
fn s24_odd_names_and_no_metadata_survive() {
    let long = "n".repeat(60_000);
    for name in ["a\0b", "\u{202E}txt", "é 世", "\"\\", "__metadata", "hurray.x", &long] {
        for metadata in ["", r#""__metadata__":{},"#, r#""__metadata__":null,"#] {
            let key = serde_json::to_string(name).unwrap();
            let record = r#"{"dtype":"U8","shape":[1],"data_offsets":[0,1]}"#;
            let original = support::safetensors(&format!("{{{metadata}{key}:{record}}}"), &[5]);
            let (file, report) = import(&original).unwrap();
            assert_eq!(FileView::open(&file).unwrap().tensor(name).unwrap().buffers, [[5]]);
            // What people see is escaped.
            assert!(!report.to_string().contains(['\0', '\u{202E}']));
            let (back, _) = export(&file).unwrap();
            let source = SafetensorsSource::from_bytes("a", &original).unwrap();
            let back = SafetensorsSource::from_bytes("b", &back).unwrap();
            assert_eq!(source.difference(&back).unwrap(), None);
        }
    }
}

#[test]
fn a_file_without_tensors_survives() {
    let (file, report) = import(&support::safetensors("{}", &[])).unwrap();
    assert_eq!(report.tensors, 0);
    let (back, _) = export(&file).unwrap();
    assert_eq!(back, support::safetensors("{}      ", &[]));
}

#[test]
fn text_stays_text_whatever_it_looks_like() {
    let header = r#"{"__metadata__":{"b":"1","a":"true","e":"","j":"{\"x\":[1]}"}}"#;
    let (file, report) = import(&support::safetensors(header, &[])).unwrap();
    assert_eq!(report.changes, []);
    let view = FileView::open(&file).unwrap();
    let pairs: Vec<_> = view.container().kv().iter().collect();
    let texts = [("b", "1"), ("a", "true"), ("e", ""), ("j", "{\"x\":[1]}")];
    assert_eq!(pairs, texts.map(|(key, value)| (key, KvValue::String(value))));
    // In the same order, too.
    let (back, _) = export(&file).unwrap();
    let length = u64::from_le_bytes(back[..8].try_into().unwrap()) as usize;
    let text = std::str::from_utf8(&back[8..8 + length]).unwrap();
    assert_eq!(text.trim_end(), header);
}

/// A tensor of any type and shape, its bytes, and its name.
fn any_tensor() -> impl Strategy<Value = (Dtype, Vec<usize>, Vec<u8>)> {
    let shape = proptest::collection::vec(0..5_usize, 0..4);
    (proptest::sample::select(&TYPES[..]), shape).prop_flat_map(|((dtype, _), mut shape)| {
        let count: usize = shape.iter().product();
        // The last bytes are filled: eight elements of any width are whole bytes.
        if !(count * dtype.bitsize()).is_multiple_of(8) {
            shape.push(8);
        }
        let length = shape.iter().product::<usize>() * dtype.bitsize() / 8;
        let byte = if dtype == Dtype::BOOL { (0..2_u8).boxed() } else { any::<u8>().boxed() };
        (Just(dtype), Just(shape), proptest::collection::vec(byte, length))
    })
}

proptest! {
    #[test]
    fn any_model_comes_back_as_it_was(
        tensors in proptest::collection::btree_map(".{1,12}", any_tensor(), 0..8),
        metadata in proptest::collection::hash_map("[a-z]{1,6}", ".*", 0..4),
    ) {
        let views = tensors.iter().filter(|(name, _)| *name != "__metadata__").map(|(name, t)| {
            (name.as_str(), TensorView::new(t.0, t.1.clone(), &t.2).unwrap())
        });
        // With no tensor and an empty map their writer's header is no JSON.
        let metadata = Some(metadata).filter(|metadata| !metadata.is_empty());
        let original = safetensors::serialize(views, metadata).unwrap();
        let (file, report) = import(&original).unwrap();
        FileView::open(&file).unwrap().verify().unwrap();
        let transcoded: u64 = report.transcoded.iter().map(|one| one.bytes_before).sum();
        prop_assert_eq!(report.bytes, report.copied_bytes + transcoded);

        let (back, _) = export(&file).unwrap();
        let source = SafetensorsSource::from_bytes("a", &original).unwrap();
        let again = SafetensorsSource::from_bytes("b", &back).unwrap();
        prop_assert_eq!(source.difference(&again).unwrap(), None);
        // As the crate would have written it, but for the order of the metadata.
        let (left, right) = (SafeTensors::deserialize(&original).unwrap(), SafeTensors::deserialize(&back).unwrap());
        for (name, tensor) in left.iter() {
            prop_assert_eq!(&right.tensor(name).unwrap(), &tensor);
        }
        prop_assert_eq!(original.len(), back.len());
        let data = original.len() - source.data_bytes() as usize;
        prop_assert_eq!(&original[data..], &back[data..]);
    }
}
