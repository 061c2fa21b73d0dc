//! The header, as C and C++ compilers read it, against the Rust side.

use std::collections::BTreeMap;
use std::process::Command;

use hurray_tensor::exchange::{Status, raw};
use hurray_tensor::format::{DeviceTag, MemoryClass, Rule, SyncMode};

use crate::compile::{self, C, CPP, Into};

#[test]
fn every_field_is_where_c_puts_it() {
    let (_, printed) = printed();
    let mut fields = 0;
    for (name, size, offsets) in raw::LAYOUT {
        assert_eq!(printed[*name], i64::try_from(*size).unwrap(), "{name}");
        for (field, at) in *offsets {
            let name = format!("{name}.{field}");
            assert_eq!(printed[&name], i64::try_from(*at).unwrap(), "{name}");
            fields += 1;
        }
    }
    assert_eq!(printed.keys().filter(|name| name.contains('.')).count(), fields);
}

#[test]
fn the_statuses_are_one_table() {
    let (header, printed) = printed();
    for status in Status::ALL {
        assert_eq!(printed[status.c_name()], i64::from(status.code()), "{status:?}");
        assert_eq!(Status::from_code(status.code()), Some(*status));
    }
    // Everything between these two comments of the header is in the table.
    let (_, section) = header.split_once("---- Status").unwrap();
    let (section, _) = section.split_once("\n/* ----").unwrap();
    assert_eq!(section.matches("#define HURRAY_").count(), Status::ALL.len());
    assert_eq!(Status::from_code(1), None);
}

#[test]
fn the_constants_are_the_same() {
    let (_, printed) = printed();
    let same = [
        ("HURRAY_ABI_VERSION", u64::from(raw::ABI_VERSION)),
        ("HURRAY_DEVICE_CPU", DeviceTag::CPU.tag().into()),
        ("HURRAY_DEVICE_CUDA", DeviceTag::CUDA.tag().into()),
        ("HURRAY_DEVICE_ROCM", DeviceTag::ROCM.tag().into()),
        ("HURRAY_DEVICE_METAL", DeviceTag::METAL.tag().into()),
        ("HURRAY_DEVICE_VULKAN", DeviceTag::VULKAN.tag().into()),
        ("HURRAY_DEVICE_WEBGPU", DeviceTag::WEBGPU.tag().into()),
        ("HURRAY_DEVICE_HEXAGON", DeviceTag::HEXAGON.tag().into()),
        ("HURRAY_DEVICE_LEVEL_ZERO", DeviceTag::LEVEL_ZERO.tag().into()),
        ("HURRAY_DEVICE_OPENCL", DeviceTag::OPENCL.tag().into()),
        ("HURRAY_DEVICE_ANY", raw::DEVICE_ANY.into()),
        ("HURRAY_SYNC_PRODUCER_SYNCED", SyncMode::PRODUCER_SYNCED.tag().into()),
        ("HURRAY_SYNC_EVENT", SyncMode::EVENT.tag().into()),
        ("HURRAY_SYNC_CONSUMER_STREAM", SyncMode::CONSUMER_STREAM.tag().into()),
        ("HURRAY_CLASS_STANDARD", MemoryClass::STANDARD.tag().into()),
        ("HURRAY_CLASS_HOST_PINNED", MemoryClass::HOST_PINNED.tag().into()),
        ("HURRAY_CLASS_UNIFIED", MemoryClass::UNIFIED.tag().into()),
        ("HURRAY_CLASS_PEER", MemoryClass::PEER.tag().into()),
        ("HURRAY_EVENT_NONE", raw::EVENT_NONE.into()),
        ("HURRAY_EVENT_BINARY", raw::EVENT_BINARY.into()),
        ("HURRAY_EVENT_TIMELINE", raw::EVENT_TIMELINE.into()),
        ("HURRAY_EVENT_MULTI_WAIT", raw::EVENT_MULTI_WAIT.into()),
        ("HURRAY_BUFFER_READ_ONLY", raw::BUFFER_READ_ONLY),
        ("HURRAY_BUFFER_COPIED", raw::BUFFER_COPIED),
        ("HURRAY_BUFFER_MAY_CHANGE", raw::BUFFER_MAY_CHANGE),
        ("HURRAY_NO_QUEUE_FAMILY", raw::NO_QUEUE_FAMILY.into()),
        ("HURRAY_REQUEST_ALLOW_COPY", raw::REQUEST_ALLOW_COPY),
        ("HURRAY_REQUEST_WRITABLE", raw::REQUEST_WRITABLE),
        ("HURRAY_REQUEST_MUST_COPY", raw::REQUEST_MUST_COPY),
        ("HURRAY_ACCEPT(HURRAY_SYNC_EVENT)", 1 << 1),
        ("HURRAY_ACCEPT_CLASS(HURRAY_CLASS_PEER)", 1 << 3),
        ("HURRAY_ACCEPT_CLASS(0xF0)", 1 << 48),
        ("HURRAY_ACCEPT_CLASS(0xFE)", 1 << 62),
    ];
    for (name, value) in same {
        assert_eq!(printed[name], i64::try_from(value).unwrap(), "{name}");
    }
}

#[test]
fn the_page_says_what_each_rule_is_for() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/spec/10-exchange.md");
    let page = std::fs::read_to_string(page).unwrap();
    for rule in Rule::ALL.iter().filter(|rule| rule.id().starts_with("exchange.")) {
        assert!(page.contains(&format!("`{rule}`")), "{rule}");
    }
}

#[test]
fn every_standard_takes_the_headers() {
    let twice = "#include \"hurray_abi.h\"\n#include \"hurray_abi.h\"\nint nothing;\n";
    for standard in C {
        compile::accepts(twice, standard, &format!("header-{standard}.c"));
    }
    for standard in CPP {
        compile::accepts(twice, standard, &format!("header-{standard}.cpp"));
    }
    let wrapped = "#include \"hurray_abi.hpp\"\n#include \"hurray_abi.hpp\"\nint nothing;\n";
    for standard in ["c++17", "c++20"] {
        compile::accepts(wrapped, standard, &format!("wrapper-{standard}.cpp"));
    }
}

/// The header, and what `layout.c` prints, by name.
fn printed() -> (String, BTreeMap<String, i64>) {
    let header = concat!(env!("CARGO_MANIFEST_DIR"), "/include/hurray_abi.h");
    let header = std::fs::read_to_string(header).unwrap();
    let name = format!("layout-{:?}", std::thread::current().id());
    let program = compile::compile("layout.c", "c11", Into::Program, &name);
    let printed = compile::run(&mut Command::new(program));
    let line = |line: &str| {
        let (name, number) = line.rsplit_once(' ').unwrap();
        (name.to_owned(), number.parse().unwrap())
    };
    (header, printed.lines().map(line).collect())
}
