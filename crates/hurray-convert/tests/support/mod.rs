//! Files made by hand, and conversions between memory and memory.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::fs;
use std::path::PathBuf;

use hurray_convert::format::{Descriptor, KvValue};
use hurray_convert::tensor::{File, FileWriter, WriteOptions};
use hurray_convert::{
    ConvertOptions, Report, Result, SafetensorsSource, hurray_to_safetensors, safetensors_to_hurray,
};
use tempfile::TempDir;

/// A safetensors file with this header and data.
pub(crate) fn safetensors(header: &str, data: &[u8]) -> Vec<u8> {
    safetensors_bytes(header.as_bytes(), data)
}

pub(crate) fn safetensors_bytes(header: &[u8], data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes()[..], header, data].concat()
}

/// A safetensors file with one tensor, called `x`.
pub(crate) fn one(dtype: &str, shape: &[u64], data: &[u8]) -> Vec<u8> {
    let length = data.len();
    safetensors(
        &format!(r#"{{"x":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[0,{length}]}}}}"#),
        data,
    )
}

/// The Hurray file that a safetensors file becomes.
pub(crate) fn import(safetensors: &[u8]) -> Result<(Vec<u8>, Report)> {
    let source = SafetensorsSource::from_bytes("in.safetensors", safetensors)?;
    let mut out = Vec::new();
    let options = ConvertOptions::default();
    let report = safetensors_to_hurray(&source, &mut out, &options, &mut |_, _| {})?;
    Ok((out, report))
}

/// The safetensors file that a Hurray file becomes.
pub(crate) fn export(hurray: &[u8]) -> Result<(Vec<u8>, Report)> {
    let on_disk = OnDisk::new(hurray);
    export_file(&File::open(&on_disk.path)?)
}

pub(crate) fn export_file(file: &File) -> Result<(Vec<u8>, Report)> {
    let mut out = Vec::new();
    let report = hurray_to_safetensors(file, &mut out, &mut |_, _| {})?;
    Ok((out, report))
}

/// A file in a folder of its own, removed when dropped.
pub(crate) struct OnDisk {
    pub(crate) folder: TempDir,
    pub(crate) path: PathBuf,
}

impl OnDisk {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, bytes).unwrap();
        Self { folder, path }
    }

    pub(crate) fn open(&self) -> File {
        File::open(&self.path).unwrap()
    }
}

/// The names of what is in a folder.
pub(crate) fn listing(folder: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A Hurray file with these tensors, each of one buffer, and these key-values.
pub(crate) fn hurray(
    tensors: &[(&str, &Descriptor, &[u8])],
    kv: &[(&str, KvValue<'_>)],
) -> Vec<u8> {
    let mut file = FileWriter::new(Vec::new(), WriteOptions::default()).unwrap();
    for (name, descriptor, buffer) in tensors {
        file.tensor(name, descriptor, &[buffer]).unwrap();
    }
    for (key, value) in kv {
        file.key_value(key, value).unwrap();
    }
    file.finish().unwrap()
}

/// The bundled sample of a real model.
pub(crate) const SAMPLE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../samples/all-minilm-l6-v2.sample.safetensors");
/// The test vectors.
pub(crate) const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors");
