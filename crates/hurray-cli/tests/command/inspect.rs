use hurray_tensor::format::{
    Accept, CompositeHead, Composition, Descriptor, Dtype, KvValue, Layout, Shard,
};
use serde_json::{Value as Json, json};

use crate::support::*;

#[test]
fn every_valid_descriptor_is_described_as_the_vectors_do() {
    let mut count = 0;
    for line in lines("descriptors.jsonl", true) {
        let bytes = unhex(&line["hex"]);
        let seen = hurray_cli::describe::bytes(&bytes, &Accept::every_private_tag()).unwrap();
        assert_eq!(seen["expected"], line["expected"], "{}", line["name"]);
        assert_eq!(seen["derived"], line["derived"], "{}", line["name"]);
        count += 1;
    }
    assert_eq!(count, 912);
}

#[test]
fn a_descriptor_alone_is_one_object_from_a_file_or_a_pipe() {
    let folder = folder();
    for line in lines("descriptors.jsonl", true).iter().step_by(97) {
        let bytes = unhex(&line["hex"]);
        let path = folder.path().join("x.bin");
        std::fs::write(&path, &bytes).unwrap();
        let expected = json!({ "expected": line["expected"], "derived": line["derived"] });
        for answer in [
            hurray(arguments!["inspect", "--json", path]),
            hurray_fed(&bytes, arguments!["inspect", "--json", "-"]),
            hurray_fed(&bytes, arguments!["inspect", "--json", "--as", "descriptor", "-"]),
        ] {
            assert_eq!(answer.code(0).json(), expected, "{}", line["name"]);
        }
        hurray_here(&bytes, arguments!["inspect", "-"]).code(0);
    }
}

#[test]
fn every_valid_file_is_shown_as_the_vectors_do() {
    for line in lines("files.jsonl", true) {
        let path = vector(line["file"].as_str().unwrap());
        let seen = hurray_here(b"", arguments!["inspect", "--json", path]).code(0).json();
        let name = &line["name"];
        assert_eq!(seen["kind"], "file");
        assert_eq!(plain(&seen["header"]), plain(&line["header"]), "{name}");
        let kv = if line["kv"].is_null() { json!([]) } else { line["kv"].clone() };
        assert_eq!(seen["kv"], kv, "{name}");
        // Ours come in the order of the file, the vectors' innermost first.
        let heads = |composites: &Json| {
            let mut heads = composites.as_array().unwrap().clone();
            heads.sort_by_key(|composite| composite["head"].to_string());
            heads
        };
        assert_eq!(heads(&seen["composites"]), heads(&line["composites"]), "{name}");
        let tensors = line["tensors"].as_array().unwrap();
        assert_eq!(seen["tensors"].as_array().unwrap().len(), tensors.len(), "{name}");
        for expected in tensors {
            let by_name = |tensor: &&Json| tensor["name"] == expected["name"];
            let tensor = seen["tensors"].as_array().unwrap().iter().find(by_name).unwrap();
            for key in ["descriptor_offset", "descriptor_length", "data_offset", "data_length"] {
                assert_eq!(plain(&tensor[key]), plain(&expected[key]), "{name} {key}");
            }
            assert_eq!(tensor["derived"]["type_name"], expected["type"], "{name}");
            assert_eq!(tensor["descriptor"]["layout_tag"], expected["layout_tag"], "{name}");
            assert_eq!(plain(&tensor["descriptor"]["shape"]), plain(&expected["shape"]), "{name}");
            let places = |buffers: &Json| -> Vec<(Json, Json)> {
                let buffers = buffers.as_array().unwrap().iter();
                buffers.map(|b| (plain(&b["offset"]), plain(&b["length"]))).collect()
            };
            assert_eq!(places(&tensor["buffers"]), places(&expected["buffers"]), "{name}");
        }
        hurray_here(b"", arguments!["inspect", path]).code(0);
    }
}

/// A number and its decimal text are the same here.
fn plain(value: &Json) -> Json {
    match value {
        Json::Number(number) => json!(number.to_string()),
        Json::Array(items) => items.iter().map(plain).collect(),
        Json::Object(map) => map.iter().map(|(key, v)| (key.clone(), plain(v))).collect(),
        other => other.clone(),
    }
}

#[test]
fn the_sample_looks_like_this() {
    let folder = folder();
    let file = folder.path().join("sample.hrry");
    hurray(arguments!["convert", sample(), file]).code(0);
    let answer = hurray(arguments!["inspect", file]).code(0);
    let seen = answer.text().replace(file.to_str().unwrap(), "sample.hrry");
    let expected = include_str!("sample.tree.txt");
    assert_eq!(seen, expected, "what `hurray inspect` prints of the sample changed");
    assert_eq!(answer.errors, "");
}

#[test]
fn composites_are_branches_with_everything_there_is_to_say() {
    let seen = hurray(arguments!["inspect", vector("files/v24_overlay.hrry")]).code(0);
    let expected = "\
tensors, all of them cpu standard producer-synced
└─ h        float32  [4, 4]   0 bytes  composite, overlay that replaces, 2 members
   ├─ base  float32  [4, 4]  64 bytes  row-major
   │     shard       of [4, 4] at [0, 0]
   │     role        base of an overlay
   └─ fix   float32  [4, 4]  20 bytes  coo, 1 stored, sorted
         buffer      0: 4 bytes, aligned to 64
         buffer      1: 16 bytes, aligned to 64
         shard       of [4, 4] at [0, 0]
         role        correction of an overlay
";
    assert!(seen.text().ends_with(expected), "{}", seen.text());
}

#[test]
fn places_are_told_for_each_tensor_where_they_differ() {
    use hurray_tensor::format::{BufferHandle, DeviceTag, MemoryClass, SyncMode};
    let (cuda, pinned, event) = (DeviceTag::CUDA, MemoryClass::HOST_PINNED, SyncMode::EVENT);
    let handle = BufferHandle::new(4, 4096, cuda, event, pinned).unwrap();
    let on_cuda = Descriptor::builder(Dtype::Float32, &[1]).buffers([handle]).build().unwrap();
    let stream = [small_stream(), on_cuda.encode(), vec![0; 4]].concat();
    let seen = hurray_fed(&stream, arguments!["inspect", "-"]).code(0);
    assert!(seen.text().starts_with("standard input: plain stream, 3 tensors in 166 bytes\n"));
    assert!(
        seen.text().contains("0  uint8    [2]  2 bytes  row-major  cpu standard producer-sync")
    );
    assert!(seen.text().contains("2  float32  [1]  4 bytes  row-major  cuda host-pinned event\n"));
}

#[test]
fn aliases_are_listed() {
    let folder = folder();
    let path = hurray_file(&folder, "x.hrry", |file| {
        file.tensor("wte", &bytes_descriptor(1), &[&[7]])?;
        file.alias("lm head", "wte")
    });
    let seen = hurray(arguments!["inspect", path]).code(0);
    assert!(seen.text().ends_with("\naliases\n└─ \"lm head\" -> wte\n"), "{}", seen.text());
    let seen = hurray(arguments!["inspect", "--json", path]).code(0).json();
    assert_eq!(seen["aliases"], json!({ "lm head": "wte" }));
}

#[test]
fn names_keys_and_values_of_strangers_are_escaped() {
    let folder = folder();
    let hostile = "\u{1b}[2J\u{202e}gpj.exe\0\u{200b}\n";
    let path = hurray_file(&folder, "x.hrry", |file| {
        file.tensor(hostile, &bytes_descriptor(1), &[&[7]])?;
        file.key_value(hostile, &KvValue::String(hostile))?;
        file.alias("\u{2066}\r", hostile)
    });
    let shown = r#""\u{1b}[2J\u{202e}gpj.exe\u{0}\u{200b}\n""#;
    for arguments in
        [arguments!["inspect", path], arguments!["inspect", "--hex", path], arguments!["ls", path]]
    {
        let seen = hurray(arguments).code(0);
        assert!(seen.text().contains(shown), "{}", seen.text());
        let deceiving = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
        let is_hidden = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{2069}');
        assert!(!seen.text().contains(|c| deceiving(c) || is_hidden(c)), "{}", seen.text());
    }
    let names = hurray(arguments!["inspect", "--json", path]).code(0).json();
    assert_eq!(names["tensors"][0]["name"], hostile);
}

#[test]
fn json_holds_nothing_that_a_terminal_acts_on() {
    let folder = folder();
    let hostile = "\u{7f}\u{9b}2J\u{202e}gpj.exe\u{e0041}";
    let path = hurray_file(&folder, "x.hrry", |file| {
        file.tensor(hostile, &bytes_descriptor(1), &[&[7]])?;
        file.key_value(hostile, &KvValue::String(hostile))?;
        file.alias("\u{2066}\u{85}", hostile)
    });
    let seen = hurray(arguments!["inspect", "--json", path]).code(0);
    assert!(seen.text().is_ascii(), "{}", seen.text());
    assert!(seen.text().contains(r#""\u007f\u009b2J\u202egpj.exe\udb40\udc41""#));
    let seen = seen.json();
    assert_eq!(seen["tensors"][0]["name"], hostile);
    assert_eq!(seen["aliases"], json!({ "\u{2066}\u{85}": hostile }));
    assert!(seen["kv"].as_array().unwrap().iter().any(|pair| pair["value"] == hostile));
}

#[test]
fn a_name_longer_than_a_line_is_cut_and_told_to_be() {
    let seen = hurray(arguments!["inspect", vector("files/v37_name_max.hrry")]).code(0);
    assert!(seen.text().contains("nnn… (65535 bytes)  uint8  [1]"), "{}", seen.text());
}

#[test]
fn private_tags_are_shown_without_being_agreed_on() {
    for line in lines("descriptors.jsonl", true) {
        if !line["private"].as_array().unwrap().is_empty() {
            let bytes = unhex(&line["hex"]);
            hurray_here(&bytes, arguments!["inspect", "-"]).code(0);
            hurray_here(&bytes, arguments!["inspect", "--accept-private", "-"]).code(0);
        }
    }
}

#[test]
fn a_broken_descriptor_does_not_hide_the_other_tensors() {
    let folder = folder();
    let path = hurray_file(&folder, "x.hrry", |file| {
        file.tensor("broken", &bytes_descriptor(1), &[&[7]])?;
        file.tensor("good", &bytes_descriptor(1), &[&[7]])
    });
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[64 + 15] = 0x33;
    std::fs::write(&path, bytes).unwrap();
    let seen = hurray(arguments!["inspect", path]).code(1);
    assert!(seen.text().contains("broken  broken: unassigned tag"), "{}", seen.text());
    assert!(seen.text().contains("good    uint8  [1]"), "{}", seen.text());
    assert!(seen.errors.contains("hurray explain layout.unknown-tag"), "{}", seen.errors);
    let seen = hurray(arguments!["inspect", "--json", path]).code(1).json();
    assert_eq!(seen["tensors"][0]["error"]["rule"], "layout.unknown-tag");
    assert_eq!(seen["tensors"][1]["derived"]["type_name"], "uint8");
}

#[test]
fn a_torn_composite_is_listed_flat_and_refused() {
    let head = CompositeHead { composition: Composition::Partition, member_count: 2 };
    let head = Descriptor::builder(Dtype::UInt8, &[2]).layout(Layout::Composite(head));
    let half = Descriptor::builder(Dtype::UInt8, &[1]).shard(Shard::new(&[2], &[0]));
    let stream = [head.build().unwrap().encode(), half.build().unwrap().encode(), vec![1]].concat();
    let seen = hurray_fed(&stream, arguments!["inspect", "-"]).code(1);
    assert!(seen.text().contains("├─ 0  uint8  [2]"), "{}", seen.text());
    assert!(seen.text().contains("└─ 1  uint8  [1]"), "{}", seen.text());
    assert!(seen.errors.contains("composite.torn"), "{}", seen.errors);
}

#[test]
fn a_stream_that_ends_too_early_is_shown_up_to_there() {
    let stream = small_stream();
    let cut = &stream[..stream.len() - 1];
    let seen = hurray_fed(cut, arguments!["inspect", "--json", "-"]).code(1);
    assert_eq!(seen.json()["tensors"].as_array().unwrap().len(), 2);
    assert!(seen.errors.contains("stream.truncated"), "{}", seen.errors);
}

#[test]
fn what_is_known_of_an_unknown_layout_is_shown_and_its_rule_named() {
    let bytes = unknown_layout().unwrap();
    let seen = hurray_fed(&bytes, arguments!["inspect", "--json", "-"]).code(1).json();
    assert_eq!(seen["foreign"]["rule"], "layout.unknown-tag");
    assert_eq!(seen["foreign"]["buffers"], serde_json::Value::Null);
    let seen = hurray_fed(&bytes, arguments!["inspect", "-"]).code(1);
    assert!(seen.text().contains("not wholly understood"), "{}", seen.text());
    assert!(seen.errors.contains("[layout.unknown-tag]"), "{}", seen.errors);
}
