use hurray_tensor::format::{DYNAMIC, Descriptor, Dtype};
use serde_json::json;

use crate::support::*;

fn tied() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = folder();
    let path = hurray_file(&folder, "x.hrry", |file| {
        let matrix = Descriptor::dense(Dtype::Float16, &[2, 3])?;
        file.tensor("wte", &matrix, &[&[0; 12]])?;
        file.tensor("a b", &Descriptor::dense(Dtype::Int8, &[])?, &[&[0]])?;
        file.alias("lm_head", "wte")
    });
    (folder, path)
}

#[test]
fn tensors_are_lines_with_tabs() {
    let (_folder, path) = tied();
    let answer = hurray(arguments!["ls", path]).code(0);
    let expected = "\
wte\tfloat16\t[2, 3]\t12
\"a b\"\tint8\t[]\t1
lm_head\tfloat16\t[2, 3]\t12\t-> wte
";
    assert_eq!(answer.text(), expected);
}

#[test]
fn tensors_are_lines_of_json() {
    let (_folder, path) = tied();
    let answer = hurray(arguments!["ls", "--json", path]).code(0);
    assert_eq!(
        answer.json_lines(),
        [
            json!({ "name": "wte", "type": "float16", "shape": [2, 3], "bytes": 12 }),
            json!({ "name": "a b", "type": "int8", "shape": [], "bytes": 1 }),
            json!({
                "name": "lm_head", "type": "float16", "shape": [2, 3], "bytes": 12,
                "alias_of": "wte",
            }),
        ]
    );
}

#[test]
fn tensors_of_a_stream_have_numbers() {
    let answer = hurray_fed(&small_stream(), arguments!["ls", "-"]).code(0);
    assert_eq!(answer.text(), "0\tuint8\t[2]\t2\n1\tuint8\t[1]\t1\n");
    let handle = hurray_tensor::format::BufferHandle::cpu(8);
    let batch = Descriptor::builder(Dtype::UInt8, &[DYNAMIC, 2]).buffers([handle]).build();
    let answer = hurray_fed(&batch.unwrap().encode(), arguments!["ls", "-"]).code(0);
    assert_eq!(answer.text(), "0\tuint8\t[?, 2]\t8\n");
}

#[test]
fn a_broken_tensor_is_listed_as_such() {
    let (_folder, path) = tied();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[64 + 15] = 0x33;
    std::fs::write(&path, bytes).unwrap();
    let answer = hurray(arguments!["ls", path]).code(1);
    assert!(answer.text().starts_with("wte\tbroken: layout.unknown-tag\n\"a b\"\tint8"));
    let answer = hurray(arguments!["ls", "--json", path]).code(1);
    assert_eq!(answer.json_lines()[0]["error"]["rule"], "layout.unknown-tag");
}
