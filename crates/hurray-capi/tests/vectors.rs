//! The repository's vectors, judged and read through C.

#![allow(
    missing_docs,
    unreachable_pub,
    unsafe_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::undocumented_unsafe_blocks,
    clippy::multiple_unsafe_ops_per_block,
    clippy::string_slice,
    reason = "a test may fail loudly; every pointer here is to a variable beside the call"
)]

use std::ffi::CStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::ptr;

use hurray::accept::HurrayAccept;
use hurray::descriptor::{
    hurray_descriptor_borrow, hurray_descriptor_decode, hurray_descriptor_encode,
    hurray_descriptor_encoded_length, hurray_descriptor_free,
};
use hurray::fields::{
    hurray_descriptor_byte_offset, hurray_descriptor_dtype, hurray_descriptor_rank,
    hurray_descriptor_shape,
};
use hurray::verdict::{HurrayVerdict, hurray_descriptor_verdict, hurray_file_verdict};
use serde_json::Value;

#[test]
fn descriptors_get_the_verdict_that_their_vector_names() {
    let (mut good, mut bad) = (0, 0);
    for line in lines("descriptors.jsonl") {
        let bytes = unhex(line["hex"].as_str().unwrap());
        let name = line["name"].as_str().unwrap();
        let said = verdict(|verdict| unsafe {
            hurray_descriptor_verdict(bytes.as_ptr().cast(), bytes.len(), &accept(), verdict)
        });
        if line["valid"] == true {
            assert_eq!(said, None, "{name}");
            read_and_written_again(&line, &bytes, name);
            good += 1;
        } else {
            assert_eq!(said.as_deref(), line["rule"].as_str(), "{name}");
            bad += 1;
        }
    }
    assert!(good > 100 && bad > 100, "{good} good, {bad} bad");
}

fn read_and_written_again(line: &Value, bytes: &[u8], name: &str) {
    let mut made = ptr::null_mut();
    unsafe {
        let status =
            hurray_descriptor_decode(bytes.as_ptr().cast(), bytes.len(), &accept(), &raw mut made);
        assert_eq!(status, 0, "{name}");
        let descriptor = hurray_descriptor_borrow(made);
        let expected = &line["expected"];
        assert_eq!(expected["type_tag"], hurray_descriptor_dtype(descriptor), "{name}");
        let shape = expected["shape"].as_array().unwrap();
        assert_eq!(hurray_descriptor_rank(descriptor), shape.len(), "{name}");
        for (k, size) in shape.iter().enumerate() {
            assert_eq!(number(size), *hurray_descriptor_shape(descriptor).add(k), "{name}");
        }
        let offset = hurray_descriptor_byte_offset(descriptor);
        assert_eq!(number(&expected["byte_offset"]), offset, "{name}");

        let mut again = vec![0; hurray_descriptor_encoded_length(descriptor)];
        let status = hurray_descriptor_encode(descriptor, again.as_mut_ptr().cast(), again.len());
        assert_eq!(status, 0, "{name}");
        if line["reencodes"] != false {
            assert_eq!(again, bytes, "{name}");
        }
        hurray_descriptor_free(made);
    }
}

#[test]
fn files_get_a_verdict_of_the_family_that_their_vector_names() {
    let (mut good, mut bad) = (0, 0);
    for line in lines("files.jsonl") {
        let name = line["name"].as_str().unwrap();
        let bytes = fs::read(vectors().join(line["file"].as_str().unwrap())).unwrap();
        let said = verdict(|verdict| unsafe {
            hurray_file_verdict(bytes.as_ptr().cast(), bytes.len(), &accept(), verdict)
        });
        if line["valid"] == true {
            assert_eq!(said, None, "{name}");
            good += 1;
        } else {
            let said = said.unwrap_or_else(|| panic!("{name} passed"));
            let family = |id: &str| id.split('.').next().unwrap().to_owned();
            let expected = line["rule"].as_str().unwrap();
            let inside = expected == "descriptor";
            assert!(inside || family(&said) == family(expected), "{name}: {said}, {expected}");
            bad += 1;
        }
    }
    assert!(good > 5 && bad > 50, "{good} good, {bad} bad");
}

/// The rule of the verdict that a call fills.
fn verdict(call: impl FnOnce(*mut HurrayVerdict) -> i32) -> Option<String> {
    let mut verdict: HurrayVerdict = unsafe { std::mem::zeroed() };
    verdict.struct_size = u32::try_from(size_of::<HurrayVerdict>()).unwrap();
    assert_eq!(call(&raw mut verdict), 0);
    let text = |text| unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned();
    assert_eq!(verdict.status == 0, verdict.rule.is_null());
    assert_eq!(verdict.status == 0, text(verdict.message).is_empty());
    (!verdict.rule.is_null()).then(|| text(verdict.rule))
}

fn accept() -> HurrayAccept {
    let mut accept: HurrayAccept = unsafe { std::mem::zeroed() };
    accept.struct_size = u32::try_from(size_of::<HurrayAccept>()).unwrap();
    accept.dtypes = 0x7FFF;
    accept.layouts = 0x7FFF;
    accept.schemes = 0x7FFF;
    accept.devices = 0x7FFF;
    accept.compositions = 0x7FFF;
    accept
}

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors")
}

fn lines(file: &str) -> Vec<Value> {
    let text = fs::read_to_string(vectors().join(file)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| value.as_str().unwrap().parse().unwrap())
}

fn unhex(digits: &str) -> Vec<u8> {
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}
