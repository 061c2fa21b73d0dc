//! Every line of `vectors/files.jsonl`.

#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod support;

use std::ops::Range;

use hurray_format::*;
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};
use support::{hex, integer, integers, lines};

fn read(line: &Json) -> Vec<u8> {
    std::fs::read(support::path(line["file"].as_str().unwrap())).unwrap()
}

fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn slice(file: &[u8], range: &Range<u64>) -> String {
    sha256(&file[range.start as usize..range.end as usize])
}

#[test]
fn every_valid_file_is_read_as_expected() {
    let mut count = 0;
    for line in lines("files.jsonl").iter().filter(|line| line["valid"] == true) {
        let name = line["name"].as_str().unwrap();
        let bytes = read(line);
        assert_eq!(sha256(&bytes), line["sha256"], "{name}");
        let view = FileView::open(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        let container = view.container();
        assert_eq!(header(container), line["header"], "{name}");
        assert_eq!(kv(container), line["kv"], "{name}");

        let tensors = line["tensors"].as_array().unwrap();
        assert_eq!(container.index().len(), tensors.len(), "{name}");
        for tensor in tensors {
            check_tensor(&view, &bytes, tensor, name);
        }
        composites(&view, line, name);
        view.verify().unwrap_or_else(|error| panic!("{name}: {error}"));
        count += 1;
    }
    assert_eq!(count, 34);
}

fn check_tensor(view: &FileView<'_>, bytes: &[u8], tensor: &Json, name: &str) {
    let entry = view.container().find(tensor["name"].as_str().unwrap()).unwrap();
    assert_eq!(entry.descriptor_offset, integer(&tensor["descriptor_offset"]), "{name}");
    assert_eq!(u64::from(entry.descriptor_length), integer(&tensor["descriptor_length"]));
    assert_eq!(entry.data_offset, integer(&tensor["data_offset"]), "{name}");
    assert_eq!(entry.data_length, integer(&tensor["data_length"]), "{name}");
    assert_eq!(slice(bytes, &entry.data()), tensor["data_sha256"], "{name}");

    let read = view.read(&entry).unwrap();
    assert_eq!(json!(read.descriptor.dtype().tag()), tensor["type_tag"], "{name}");
    assert_eq!(read.descriptor.dtype().name(), tensor["type"], "{name}");
    assert_eq!(json!(read.descriptor.layout().tag()), tensor["layout_tag"], "{name}");
    assert_eq!(read.descriptor.shape(), integers(&tensor["shape"]), "{name}");
    let buffers = tensor["buffers"].as_array().unwrap();
    assert_eq!(read.buffers.len(), buffers.len(), "{name}");
    for (found, expected) in read.buffers.iter().zip(buffers) {
        assert_eq!(found.len() as u64, integer(&expected["length"]), "{name}");
        assert_eq!(sha256(found), expected["sha256"], "{name}");
        let offset = found.as_ptr() as usize - bytes.as_ptr() as usize;
        assert_eq!(offset as u64, integer(&expected["offset"]), "{name}");
    }
}

fn header(container: &Container) -> Json {
    let header = container.header();
    json!({
        "major": header.version().0, "minor": header.version().1, "flags": header.flags(),
        "alignment": header.alignment(), "first": header.first_descriptor(),
        "hint": header.count_hint().unwrap_or(u64::MAX).to_string(),
    })
}

fn kv(container: &Container) -> Json {
    if container.sections().kv().is_none() {
        return Json::Null;
    }
    let entry = |(key, value): (&str, KvValue<'_>)| json!({"key": key, "kind": value.kind().name(), "value": value_json(&value)});
    container.kv().iter().map(entry).collect()
}

fn value_json(value: &KvValue<'_>) -> Json {
    match value {
        KvValue::String(text) => json!(text),
        KvValue::I64(number) => json!(number.to_string()),
        KvValue::U64(number) => json!(number.to_string()),
        KvValue::F64(number) => json!(format!("{:016x}", number.to_bits())),
        KvValue::Bool(flag) => json!(flag),
        KvValue::Bytes(bytes) => json!(hex(bytes)),
        KvValue::Array(array) => json!({
            "element": array.element().name(),
            "values": array.iter().map(|item| value_json(&item)).collect::<Vec<_>>(),
        }),
    }
}

/// The vectors list every head, nested ones too, with its direct members.
fn composites(view: &FileView<'_>, line: &Json, name: &str) {
    let place = |entry: &Entry<'_>| view.read(entry).map(|tensor| tensor.descriptor);
    let limits = Limits::default();
    let listed = line["composites"].as_array().unwrap();
    for expected in listed {
        let head = view.container().find(expected["head"].as_str().unwrap()).unwrap();
        let bound = view.container().composite(&head, &limits, place).unwrap();
        let name_of = |number: u32| view.container().index().entry(number).unwrap().name;
        let members: Vec<&str> = bound.members.iter().map(|member| name_of(member.item)).collect();
        assert_eq!(json!(members), expected["members"], "{name}");
    }
    let bound = view.container().composites(&limits, place).unwrap();
    fn heads(bound: &[Composite<u32>]) -> usize {
        let is_head = |c: &Composite<u32>| usize::from(!c.members.is_empty());
        bound.iter().map(|c| is_head(c) + heads(&c.members)).sum()
    }
    let with_members = |c: &&Json| !c["members"].as_array().unwrap().is_empty();
    assert_eq!(heads(&bound), listed.iter().filter(with_members).count(), "{name}");
}

#[test]
fn every_invalid_file_is_refused_by_its_rule() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in lines("files.jsonl").iter().filter(|line| line["valid"] == false) {
        let name = line["name"].as_str().unwrap();
        let bytes = read(line);
        let rule = line["rule"].as_str().unwrap();
        match FileView::open(&bytes).and_then(|view| view.verify()) {
            Err(error) if error.rule().id() == finer(name, rule) => {
                assert!(error.offset() <= bytes.len() as u64, "{name}: {error}");
            }
            Err(error) => wrong.push(format!("{name}: wants {rule}: {error}")),
            Ok(()) => wrong.push(format!("{name}: wants {rule}: accepted")),
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(count, 107);
}

/// The vectors ask for a rule of the same family. These three have a finer one, or a
/// neighbour that is looked at first.
fn finer<'r>(name: &str, rule: &'r str) -> &'r str {
    match name {
        "i138_desc_type0" => "type.invalid-tag",
        "i163_comp_rule_ff" => "layout.composite.rule-invalid",
        "i172_comp_head_data" => "file.index.data-misaligned",
        _ => rule,
    }
}

#[test]
fn every_truncation_is_refused() {
    for line in lines("files.jsonl").iter().filter(|line| line["valid"] == true) {
        let bytes = read(line);
        if bytes.len() > 10_000 {
            continue;
        }
        for cut in 0..bytes.len() {
            assert!(FileView::open(&bytes[..cut]).is_err(), "{} cut at {cut}", line["name"]);
        }
    }
}

/// Which bytes of a file every flip must be found in: what the index's CRC covers, what is
/// zero by rule, magics, lengths. Not data, key-values and descriptors, which have no
/// checksum of their own here, nor the fields that are free: minor version and count hint.
#[test]
fn every_flipped_bit_of_structure_is_found() {
    let mut flips = 0;
    for line in lines("files.jsonl").iter().filter(|line| line["valid"] == true) {
        let bytes = read(line);
        let has_crc = integer(&line["header"]["flags"]) & 4 != 0;
        if bytes.len() > 9_000 || !has_crc {
            continue;
        }
        let view = FileView::open(&bytes).unwrap();
        let sections = view.container().sections();
        let mut free: Vec<Range<u64>> = vec![9..10, 28..36];
        free.extend(sections.kv());
        // Where the first tensor starts means nothing without one.
        free.extend(view.container().index().is_empty().then_some(20..28));
        for entry in view.container().index().iter() {
            free.extend([entry.descriptor(), entry.data()]);
        }
        for at in 0..bytes.len() as u64 {
            if free.iter().any(|range| range.contains(&at)) {
                continue;
            }
            for bit in 0..8 {
                // "Has key-values" is the trailer's to say, and "sorted" free where it is so.
                if at == 12 && bit < 2 {
                    continue;
                }
                let mut flipped = bytes.clone();
                flipped[at as usize] ^= 1 << bit;
                let found = FileView::open(&flipped).and_then(|view| view.verify());
                assert!(found.is_err(), "{}: byte {at} bit {bit}", line["name"]);
                flips += 1;
            }
        }
    }
    assert!(flips > 100_000, "{flips}");
}

/// A flip anywhere is refused, or what is read is still consistent: it verifies, and is
/// planned and read again as the same.
#[test]
fn every_flipped_bit_of_a_small_file_is_refused_or_consistent() {
    for line in lines("files.jsonl").iter().filter(|line| line["valid"] == true) {
        let bytes = read(line);
        if bytes.len() > 500 {
            continue;
        }
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let Ok(view) = FileView::open(&flipped) else {
                continue;
            };
            for entry in view.container().index().iter() {
                if let Ok(tensor) = view.read(&entry) {
                    assert_eq!(tensor.descriptor.encode().len(), entry.descriptor_length as usize);
                    assert_eq!(tensor.buffers.len(), tensor.descriptor.buffer_count());
                }
            }
            for (key, value) in view.container().kv().iter() {
                let found = view.container().kv().get(key);
                assert_eq!(found.map(|found| found.kind()), Some(value.kind()));
            }
        }
    }
}

/// What was read is planned again: with the same order, the same bytes.
#[test]
fn a_planned_file_reads_back() {
    for line in lines("files.jsonl").iter().filter(|line| line["valid"] == true) {
        let bytes = read(line);
        let name = line["name"].as_str().unwrap();
        let view = FileView::open(&bytes).unwrap();
        let container = view.container();
        let options = FileOptions {
            alignment: container.header().alignment(),
            key_values: container.sections().kv().is_some(),
            sorted: container.header().is_sorted(),
            tensor_count: container.header().count_hint(),
        };
        let (mut plan, header) = FilePlan::new(options).unwrap();
        let mut file = header.to_vec();
        for entry in container.index().in_file_order() {
            let tensor = view.read(&entry).unwrap();
            let planned = plan.tensor(entry.name, &tensor.descriptor).unwrap();
            file.resize(file.len() + planned.padding as usize, 0);
            file.extend(&planned.descriptor);
            for (buffer, (padding, length)) in tensor.buffers.iter().zip(&planned.buffers) {
                file.resize(file.len() + *padding as usize, 0);
                assert_eq!(buffer.len() as u64, *length);
                file.extend(*buffer);
            }
        }
        for (key, value) in container.kv().iter() {
            plan.key_value(key, &value).unwrap();
        }
        file.extend(plan.finish(crc32c).unwrap());

        let again = FileView::open(&file).unwrap_or_else(|error| panic!("{name}: {error}"));
        again.verify().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(again.container().kv().as_bytes(), container.kv().as_bytes(), "{name}");
        for entry in container.index().iter() {
            let (one, two) = (view.read(&entry).unwrap(), again.tensor(entry.name).unwrap());
            assert_eq!(one, two, "{name}");
        }
        let order = |view: &FileView<'_>| -> Vec<String> {
            view.container().index().iter().map(|entry| entry.name.to_owned()).collect()
        };
        if !options.sorted {
            assert_eq!(order(&view).len(), order(&again).len(), "{name}");
        } else {
            assert_eq!(order(&view), order(&again), "{name}");
        }
    }
}
