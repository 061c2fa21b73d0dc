//! The repository's vectors, judged and read through C.

#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may fail loudly"
)]
#![allow(unsafe_code, reason = "the calls of C")]

#[path = "../../hurray-format/tests/support/json.rs"]
mod read;

use std::ffi::CStr;
use std::fs;
use std::{ptr, slice};

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
use read::{integer, lines, path, unhex};
use serde_json::Value;

#[test]
fn descriptors_get_the_verdict_that_their_vector_names() {
    let (mut good, mut bad) = (0, 0);
    for line in lines("descriptors.jsonl") {
        let bytes = unhex(line["hex"].as_str().unwrap());
        let name = line["name"].as_str().unwrap();
        // SAFETY: so many bytes are there, and what is accepted and the verdict are beside the call.
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
    // SAFETY: so many bytes are there, and the rest is beside the call.
    let status = unsafe {
        hurray_descriptor_decode(bytes.as_ptr().cast(), bytes.len(), &accept(), &raw mut made)
    };
    assert_eq!(status, 0, "{name}");
    // SAFETY: it was made just now, and is freed below.
    let descriptor = unsafe { hurray_descriptor_borrow(made) };
    let expected = &line["expected"];
    // SAFETY: its owner is not freed yet; so below.
    assert_eq!(expected["type_tag"], unsafe { hurray_descriptor_dtype(descriptor) }, "{name}");
    let sizes = expected["shape"].as_array().unwrap();
    // SAFETY: as above.
    let rank = unsafe { hurray_descriptor_rank(descriptor) };
    // SAFETY: as above.
    let shape = unsafe { hurray_descriptor_shape(descriptor) };
    assert_eq!(rank, sizes.len(), "{name}");
    if rank > 0 {
        // SAFETY: there is a size for each dimension, as long as the descriptor is.
        let shape = unsafe { slice::from_raw_parts(shape, rank) };
        assert_eq!(shape, sizes.iter().map(integer).collect::<Vec<_>>(), "{name}");
    }
    // SAFETY: as above.
    let offset = unsafe { hurray_descriptor_byte_offset(descriptor) };
    assert_eq!(integer(&expected["byte_offset"]), offset, "{name}");

    // SAFETY: as above.
    let mut again = vec![0; unsafe { hurray_descriptor_encoded_length(descriptor) }];
    // SAFETY: as above; so many bytes are there.
    let status =
        unsafe { hurray_descriptor_encode(descriptor, again.as_mut_ptr().cast(), again.len()) };
    assert_eq!(status, 0, "{name}");
    if line["reencodes"] != false {
        assert_eq!(again, bytes, "{name}");
    }
    // SAFETY: it is used no more.
    unsafe { hurray_descriptor_free(made) };
}

#[test]
fn files_get_a_verdict_of_the_family_that_their_vector_names() {
    let (mut good, mut bad) = (0, 0);
    for line in lines("files.jsonl") {
        let name = line["name"].as_str().unwrap();
        let bytes = fs::read(path(line["file"].as_str().unwrap())).unwrap();
        // SAFETY: as above.
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
    // SAFETY: zeros are a value of every field.
    let mut verdict: HurrayVerdict = unsafe { std::mem::zeroed() };
    verdict.struct_size = u32::try_from(size_of::<HurrayVerdict>()).unwrap();
    assert_eq!(call(&raw mut verdict), 0);
    // SAFETY: whatever text the call left is good to the end of this thread's next call.
    let text = |text| unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned();
    assert_eq!(verdict.status == 0, verdict.rule.is_null());
    assert_eq!(verdict.status == 0, text(verdict.message).is_empty());
    (!verdict.rule.is_null()).then(|| text(verdict.rule))
}

fn accept() -> HurrayAccept {
    // SAFETY: zeros are a value of every field.
    let mut accept: HurrayAccept = unsafe { std::mem::zeroed() };
    accept.struct_size = u32::try_from(size_of::<HurrayAccept>()).unwrap();
    accept.dtypes = 0x7FFF;
    accept.layouts = 0x7FFF;
    accept.schemes = 0x7FFF;
    accept.devices = 0x7FFF;
    accept.compositions = 0x7FFF;
    accept
}
