//! Models in several files.

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
use std::path::{Path, PathBuf};

use hurray_convert::format::{FileView, KvValue};
use hurray_convert::{
    ConvertOptions, Error, SafetensorsOptions, SafetensorsSource, ShardFault, safetensors_to_hurray,
};
use support::safetensors;
use tempfile::TempDir;

/// A folder with an index, and a way to fill it.
struct Model {
    folder: TempDir,
    index: PathBuf,
}

impl Model {
    fn new(index: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors.index.json");
        fs::write(&path, index).unwrap();
        Self { folder, index: path }
    }

    /// Writes a shard with these tensors of one byte each, and this metadata.
    fn shard(self, name: &str, tensors: &[(&str, u8)], metadata: &str) -> Self {
        fs::write(self.folder.path().join(name), shard(tensors, metadata)).unwrap();
        self
    }

    fn open(&self) -> hurray_convert::Result<SafetensorsSource<'static>> {
        SafetensorsSource::open(&self.index)
    }

    fn fault(&self) -> ShardFault {
        match self.open() {
            Err(Error::Shards { path, fault }) => {
                assert_eq!(path, self.index);
                *fault
            }
            other => panic!("{other:?}"),
        }
    }
}

fn shard(tensors: &[(&str, u8)], metadata: &str) -> Vec<u8> {
    let records = tensors.iter().enumerate().map(|(n, (name, _))| {
        format!(r#","{name}":{{"dtype":"U8","shape":[1],"data_offsets":[{n},{}]}}"#, n + 1)
    });
    let records: String = records.collect();
    let data: Vec<u8> = tensors.iter().map(|(_, byte)| *byte).collect();
    safetensors(&format!(r#"{{"__metadata__":{metadata}{records}}}"#), &data)
}

#[test]
fn several_files_become_one() {
    let model = Model::new(
        r#"{"metadata":{"total_size":4,"origin":"here","steps":9007199254740993},
            "weight_map":{"b":"2.safetensors","a":"1.safetensors","c":"2.safetensors"}}"#,
    )
    .shard("2.safetensors", &[("c", 3), ("b", 2)], r#"{"format":"pt","tied":"a","mine":"2"}"#)
    .shard("1.safetensors", &[("a", 1)], r#"{"format":"pt","mine":"1"}"#);
    let source = model.open().unwrap();
    assert_eq!((source.len(), source.data_bytes()), (3, 3));
    let mut file = Vec::new();
    let options = ConvertOptions::default();
    let report = safetensors_to_hurray(&source, &mut file, &options, &mut |_, _| {}).unwrap();

    let view = FileView::open(&file).unwrap();
    let names: Vec<_> = view.container().index().iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["a", "c", "b"]);
    for (name, byte) in [("a", 1), ("b", 2), ("c", 3), ("tied", 1)] {
        assert_eq!(view.tensor(name).unwrap().buffers, [[byte]], "{name}");
    }
    let kv = view.container().kv();
    for (key, text) in
        [("format", "pt"), ("mine", "1"), ("origin", "here"), ("steps", "9007199254740993")]
    {
        assert_eq!(kv.get(key), Some(KvValue::String(text)), "{key}");
    }
    assert_eq!(kv.get("total_size"), None);
    let changes = report.changes.iter().map(|change| (change.subject.as_str(), change.what.name()));
    let expected =
        [("mine", "other-value"), ("total_size", "shard-sizes"), ("steps", "index-json-text")];
    assert_eq!(changes.collect::<Vec<_>>(), expected);
}

#[test]
fn a_shard_at_fault_is_the_file_that_is_named() {
    let index = r#"{"weight_map":{"a":"1.safetensors"}}"#;
    let model = Model::new(index).shard("1.safetensors", &[("a", 1)], "{}");
    fs::write(model.folder.path().join("1.safetensors"), "short").unwrap();
    let error = model.open().unwrap_err();
    assert!(error.to_string().contains("1.safetensors"), "{error}");
    let bool_of_2 = r#"{"a":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}}"#;
    fs::write(model.folder.path().join("1.safetensors"), safetensors(bool_of_2, &[2])).unwrap();
    let source = model.open().unwrap();
    let options = ConvertOptions::default();
    let error = safetensors_to_hurray(&source, Vec::new(), &options, &mut |_, _| {}).unwrap_err();
    assert!(error.path().unwrap().ends_with("1.safetensors"), "{error}");
}

#[test]
fn s20_a_shard_name_that_leads_elsewhere_is_refused_before_it_is_opened() {
    for name in
        ["../outside", "/etc/passwd", "a\\\\b", "sub/x", "", ".", "..", "a\\u0000b", "CON", "nul.x"]
    {
        let model = Model::new(&format!(r#"{{"weight_map":{{"a":"{name}"}}}}"#));
        assert!(matches!(model.fault(), ShardFault::Name { .. }), "{name}");
    }
}

#[cfg(unix)]
#[test]
fn s20_a_link_out_of_the_folder_is_refused_unless_allowed() {
    use std::os::unix::fs::symlink;

    let index = r#"{"weight_map":{"a":"1.safetensors"}}"#;
    let elsewhere = tempfile::tempdir().unwrap();
    let target = elsewhere.path().join("blob");
    fs::write(&target, shard(&[("a", 1)], "{}")).unwrap();
    let model = Model::new(index);
    let link = model.folder.path().join("1.safetensors");
    symlink(&target, &link).unwrap();
    assert!(matches!(model.fault(), ShardFault::Link(name) if name == "1.safetensors"));
    let allowed = SafetensorsOptions { linked_shards: true };
    assert_eq!(SafetensorsSource::open_with(&model.index, &allowed).unwrap().len(), 1);

    // A link to a file beside it leads nowhere else.
    let model = Model::new(index).shard("real.safetensors", &[("a", 1)], "{}");
    symlink("real.safetensors", model.folder.path().join("1.safetensors")).unwrap();
    assert_eq!(model.open().unwrap().len(), 1);

    // The folder itself may be reached by a link.
    let other = tempfile::tempdir().unwrap();
    let linked = other.path().join("folder");
    symlink(model.folder.path(), &linked).unwrap();
    let source = SafetensorsSource::open(linked.join("model.safetensors.index.json")).unwrap();
    assert_eq!(source.len(), 1);

    // To nowhere, and round in a circle.
    let model = Model::new(index);
    symlink("absent", model.folder.path().join("1.safetensors")).unwrap();
    assert!(matches!(model.fault(), ShardFault::Mismatch { .. }));
    let model = Model::new(index);
    symlink("1.safetensors", model.folder.path().join("1.safetensors")).unwrap();
    assert!(matches!(model.open(), Err(Error::Io { .. })));
}

#[test]
fn a_shard_that_is_a_folder_is_refused() {
    let model = Model::new(r#"{"weight_map":{"a":"1.safetensors"}}"#);
    fs::create_dir(model.folder.path().join("1.safetensors")).unwrap();
    assert!(matches!(model.fault(), ShardFault::NoFile(_)));
}

#[test]
fn s21_all_that_does_not_fit_is_listed_on_both_sides() {
    let model = Model::new(r#"{"weight_map":{"a":"1","b":"1","c":"2","gone":"3","moved":"1"}}"#)
        .shard("1", &[("a", 1), ("extra", 2)], "{}")
        .shard("2", &[("c", 3), ("moved", 4), ("a", 5)], "{}");
    let fault = model.fault();
    let message = fault.to_string();
    let ShardFault::Mismatch { missing, absent, extra } = fault else { panic!("{fault}") };
    let pair = |tensor: &str, shard: &str| (tensor.to_owned(), shard.to_owned());
    assert_eq!(missing, ["3"]);
    assert_eq!(absent, [pair("b", "1"), pair("moved", "1")]);
    let mut extra = extra;
    extra.sort();
    assert_eq!(extra, [pair("a", "2"), pair("extra", "1"), pair("moved", "2")]);
    for part in ["not there: \"3\"", "\"b\" of \"1\"", "\"extra\" of \"1\""] {
        assert!(message.contains(part), "{message}");
    }
    // Of many, the first few are shown.
    let names: Vec<_> = (0..1000).map(|n| format!(r#""{n:04}":"x{n:04}""#)).collect();
    let model = Model::new(&format!(r#"{{"weight_map":{{{}}}}}"#, names.join(",")));
    let message = model.fault().to_string();
    assert!(message.ends_with(", and 992 more") && message.len() < 500, "{message}");
}

#[test]
fn an_index_that_is_none_is_refused() {
    for index in ["", "{}", "[]", "{\"weight_map\":[]}", "{\"weight_map\":{\"a\":1}}", "\u{FEFF}{}"]
    {
        assert!(matches!(Model::new(index).fault(), ShardFault::Json(_)), "{index:?}");
    }
    let twice = r#"{"weight_map":{"a":"1","a":"2"}}"#;
    assert!(matches!(Model::new(twice).fault(), ShardFault::DuplicateName(_)));
    assert!(SafetensorsSource::open(Path::new("absent.json")).is_err());
}
