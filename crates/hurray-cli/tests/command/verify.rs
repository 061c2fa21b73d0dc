use serde_json::{Value as Json, json};

use crate::support::*;

fn verdict(answer: &Answer) -> Json {
    let lines = answer.json_lines();
    assert_eq!(lines.len(), 1, "{answer:?}");
    lines[0].clone()
}

/// The vectors ask for the very rule in descriptors, and for its family in files.
fn same_family(found: &Json, rule: &Json) -> bool {
    let family = |rule: &Json| rule.as_str().unwrap().split('.').next().unwrap().to_owned();
    found == rule || family(found) == family(rule)
}

#[test]
fn valid_files_are_intact() {
    for line in lines("files.jsonl", true) {
        let path = vector(line["file"].as_str().unwrap());
        for arguments in
            [arguments!["verify", "--json", path], arguments!["verify", "--json", "--no-map", path]]
        {
            let answer = hurray_here(b"", arguments).code(0);
            assert_eq!(verdict(&answer), json!({ "path": path, "ok": true }));
        }
        hurray_here(b"", arguments!["verify", path]).code(0);
    }
}

#[test]
fn invalid_files_are_broken_by_their_rule() {
    let mut count = 0;
    for line in lines("files.jsonl", false) {
        let path = vector(line["file"].as_str().unwrap());
        for arguments in
            [arguments!["verify", "--json", path], arguments!["verify", "--json", "--no-map", path]]
        {
            let found = verdict(&hurray_here(b"", arguments).code(1));
            assert_eq!(found["ok"], false, "{}", line["name"]);
            assert!(same_family(&found["rule"], &line["rule"]), "{}: {found}", line["name"]);
            let keys: Vec<&String> = found.as_object().unwrap().keys().collect();
            assert_eq!(keys, ["path", "ok", "rule", "field", "offset", "found", "expected"]);
            assert!(found["field"].is_string() && found["offset"].is_number(), "{found}");
        }
        let text = hurray_here(b"", arguments!["verify", path]).code(1);
        assert!(text.text().contains("  more      hurray explain "), "{}", text.text());
        count += 1;
    }
    assert_eq!(count, 107);
}

#[test]
fn descriptors_are_judged_by_the_very_rule() {
    let arguments = arguments!["verify", "--json", "--accept-private", "--as", "descriptor", "-"];
    for line in lines("descriptors.jsonl", false) {
        let found = verdict(&hurray_here(&unhex(&line["hex"]), &arguments).code(1));
        assert_eq!(found["rule"], line["rule"], "{}", line["name"]);
    }
    for line in lines("descriptors.jsonl", true) {
        let bytes = unhex(&line["hex"]);
        hurray_here(&bytes, &arguments).code(0);
        let strict = hurray_here(&bytes, arguments!["verify", "--as", "descriptor", "-"]);
        let is_private = !line["private"].as_array().unwrap().is_empty();
        assert_eq!(strict.code, u8::from(is_private), "{}", line["name"]);
    }
}

#[test]
fn a_breach_is_told_with_its_sentence_and_its_place() {
    let folder = folder();
    let path = small_file(&folder);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[4096 + 2] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let answer = hurray(arguments!["verify", path]).code(1);
    let path = path.to_str().unwrap();
    let lines: Vec<&str> = answer.text().lines().collect();
    assert_eq!(lines[0], format!("{path}: broken"));
    let rule = "file.tensor.checksum-mismatch";
    assert!(lines[1].starts_with(&format!("  rule      {rule}: a buffer does not match")));
    assert!(lines[2].contains("buffer, byte 4096") && lines[2].ends_with(" of w)"), "{}", lines[2]);
    assert!(lines[3].starts_with("  found     0x"));
    assert!(lines[4].starts_with("  expected  "));
    assert_eq!(lines[5], format!("  more      hurray explain {rule}"));
}

#[test]
fn several_inputs_are_judged_each_for_itself() {
    let folder = folder();
    let good = small_file(&folder);
    let (bad, none) = (folder.path().join("bad.hrry"), folder.path().join("none.hrry"));
    std::fs::write(&bad, b"HRRYFILE").unwrap();
    let answer = hurray(arguments!["verify", "--json", good, bad, none, good]).code(1);
    let lines = answer.json_lines();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[0], json!({ "path": good, "ok": true }));
    assert_eq!(lines[1]["rule"], "file.header.truncated");
    assert_eq!((&lines[2]["ok"], &lines[2]["rule"]), (&json!(false), &Json::Null));
    assert!(lines[2]["error"].as_str().unwrap().starts_with("cannot open: "), "{}", lines[2]);
    assert_eq!(lines[3], lines[0]);
    let answer = hurray(arguments!["verify", good, none]).code(1);
    assert!(answer.text().contains("small.hrry: intact, file, 1 tensor (all with checksums), "));
    assert!(answer.text().contains("none.hrry: cannot open: "), "{}", answer.text());
}

#[test]
fn streams_are_judged_to_their_end() {
    let folder = folder();
    let stream = small_stream();
    let path = folder.path().join("x.hrrys");
    std::fs::write(&path, &stream).unwrap();
    let told = hurray(arguments!["verify", path]).code(0);
    assert!(told.text().ends_with("x.hrrys: intact, plain stream, 2 tensors\n"));
    hurray_fed(&stream, arguments!["verify", "-"]).code(0);
    hurray_fed(b"", arguments!["verify", "--as", "stream", "-"]).code(0);
    for cut in 0..stream.len() {
        let arguments = arguments!["verify", "--json", "--as", "stream", "-"];
        // A stream has no end mark: it may end between two tensors.
        let code = u8::from(![0, 55].contains(&cut));
        let answer = hurray_here(&stream[..cut], arguments).code(code);
        let verdict = verdict(&answer);
        assert_eq!(verdict["ok"], code == 0, "{cut}");
        assert!(verdict["offset"].as_u64().unwrap_or_default() <= 110, "{cut}: {verdict}");
    }
    let two = hurray_fed(&stream, arguments!["verify", "--json", "--as", "descriptor", "-"]);
    assert_eq!(verdict(&two.code(1))["rule"], "descriptor.extra-bytes");
}

#[test]
fn contents_of_sparse_tensors_in_streams_are_checked() {
    use hurray_tensor::format::{Coo, Descriptor, Dtype, Layout};
    let coo = Layout::Coo(Coo { nnz: 1, is_sorted: true });
    let coo = Descriptor::builder(Dtype::UInt8, &[3, 3]).layout(coo).build().unwrap();
    let stream = |index: [u64; 2]| {
        let index = index.map(u64::to_le_bytes).concat();
        [small_stream(), coo.encode(), vec![9], index].concat()
    };
    let arguments = arguments!["verify", "--json", "-"];
    hurray_here(&stream([1, 2]), &arguments).code(0);
    let found = verdict(&hurray_here(&stream([1, 7]), &arguments).code(1));
    assert_eq!(found["rule"], "sparse.coo.out-of-bounds");
}

#[test]
fn a_file_of_another_kind_gets_a_helpful_word() {
    let folder = folder();
    let cases: [(&str, &[u8], &str); 12] = [
        ("model.gguf", b"GGUF\x03\0\0\0", "GGUF"),
        ("model.pkl", b"\x80\x04\x95\0\0", "pickle"),
        ("model.pt", b"PK\x03\x04\x14\0\0\0", "PyTorch"),
        ("model.onnx", b"\x08\x07\x12\x07pytorch", "ONNX"),
        ("model.safetensors", b"\x10\0\0\0\0\0\0\0{\"__metadata__\":{}}", "hurray convert"),
        ("model.hrry", b"<!DOCTYPE html><html>", "web page"),
        ("model2.hrry", b"version https://git-lfs.github.com/spec/v1\noid", "git lfs pull"),
        ("model.hrry.gz", b"\x1f\x8b\x08\0", "gunzip"),
        ("model3.hrry", b"", "empty"),
        ("a.npy", b"\x93NUMPY\x01\0", "NumPy"),
        ("model.safetensors.index.json", b"{\"weight_map\": {}}", "JSON"),
        ("unknown", b"no such thing", ""),
    ];
    for (name, bytes, word) in cases {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let answer = hurray(arguments!["verify", path]).code(1);
        assert!(answer.text().contains("file.header."), "{name}: {}", answer.text());
        assert_eq!(answer.text().contains("  hint  "), !word.is_empty(), "{}", answer.text());
        assert!(answer.text().contains(word), "{name}: {}", answer.text());
        // The JSON has its fixed keys; the word goes beside it.
        let answer = hurray(arguments!["verify", "--json", path]).code(1);
        assert_eq!(verdict(&answer)["ok"], false);
        assert!(answer.errors.contains(word), "{name}: {}", answer.errors);
        for command in ["inspect", "ls"] {
            let answer = hurray(arguments![command, path]).code(1);
            assert!(answer.errors.contains(word), "{name}: {}", answer.errors);
        }
    }
}

#[test]
fn a_folder_is_no_input() {
    let folder = folder();
    let answer = hurray(arguments!["verify", "--json", folder.path()]).code(1);
    let verdict = verdict(&answer);
    assert_eq!(verdict["rule"], Json::Null);
    assert!(verdict["error"].is_string());
}
