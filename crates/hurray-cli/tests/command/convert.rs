use serde_json::json;

use crate::support::*;

#[test]
fn the_sample_goes_there_and_back() {
    let folder = folder();
    let (file, back) = (folder.path().join("x.hrry"), folder.path().join("back.safetensors"));
    let answer = hurray(arguments!["convert", sample(), file]).code(0);
    assert!(answer.text().contains("x.hrry (Hurray file)\n  30 tensors, "), "{}", answer.text());
    assert_eq!(answer.errors, "");
    hurray(arguments!["verify", file]).code(0);
    hurray(arguments!["convert", file, back]).code(0);
    let (one, other) = (
        hurray_convert::SafetensorsSource::open(sample()),
        hurray_convert::SafetensorsSource::open(&back),
    );
    assert_eq!(one.unwrap().difference(&other.unwrap()).unwrap(), None);
}

#[test]
fn the_report_is_json_when_asked() {
    let folder = folder();
    let model = folder.path().join("x.safetensors");
    let header = br#"{"m":{"dtype":"BOOL","shape":[10],"data_offsets":[0,10]},"__metadata__":{"hurray.x":"1","k":"v"}}"#;
    let length = u64::try_from(header.len()).unwrap().to_le_bytes();
    let data = [1, 0, 1, 1, 0, 0, 0, 0, 0, 1];
    std::fs::write(&model, [&length[..], header, &data].concat()).unwrap();
    let file = folder.path().join("x.hrry");
    let report = hurray(arguments!["convert", "--json", model, file]).code(0).json();
    assert_eq!(
        report,
        json!({
            "input": model, "output": file, "to": "hrry",
            "tensors": 1, "bytes": 10, "copied_bytes": 0,
            "transcoded": [{
                "tensor": "m", "from": "BOOL, a byte each", "to": "bool, a bit each",
                "bytes_before": 10, "bytes_after": 2,
            }],
            "aliases": [], "names": "kept",
            "changes": [{ "subject": "hurray.x", "what": "reserved-key", "left_out": true }],
        })
    );
    assert_eq!(hurray(arguments!["cat", file, "m"]).code(0).bytes, [0x0D, 0x02]);
}

#[test]
fn streams_become_files_and_files_streams() {
    let folder = folder();
    let (stream, file) = (folder.path().join("x.hrrys"), folder.path().join("x.hrry"));
    std::fs::write(&stream, small_stream()).unwrap();
    hurray(arguments!["convert", stream, file]).code(0);
    let out = hurray(arguments!["convert", file, "-", "--to", "hrrys"]).code(0);
    assert_eq!(out.bytes, small_stream());
    assert!(out.errors.contains("standard output (plain stream)"), "{}", out.errors);
    let piped =
        hurray_fed(&small_stream(), arguments!["convert", "-", "-", "--to", "hrry"]).code(0);
    assert_eq!(piped.bytes, std::fs::read(&file).unwrap());
    let again = hurray_fed(&piped.bytes, arguments!["convert", "-", "-", "--to", "hrrys"]).code(0);
    assert_eq!(again.bytes, small_stream());
}

#[test]
fn a_file_is_rewritten_in_its_place() {
    let folder = folder();
    let path = hurray_file(&folder, "x.hrry", |file| {
        file.tensor("b", &bytes_descriptor(1), &[&[1]])?;
        file.tensor("a", &bytes_descriptor(1), &[&[2]])
    });
    hurray(arguments!["convert", "--sorted", "--alignment", "64K", "--no-checksums", path, path])
        .code(0);
    let seen = hurray(arguments!["inspect", "--json", path]).code(0).json();
    assert_eq!((&seen["header"]["alignment"], &seen["kv"]), (&json!(65536), &json!([])));
    assert_eq!(hurray(arguments!["ls", path]).text(), "a\tuint8\t[1]\t1\nb\tuint8\t[1]\t1\n");
    hurray(arguments!["verify", path]).code(0);
}

#[test]
fn shards_are_taken_by_their_index() {
    let folder = folder();
    let shard = |name: &str, byte: u8| {
        let header = format!(r#"{{"{name}":{{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}}}"#);
        let length = u64::try_from(header.len()).unwrap().to_le_bytes();
        let path = folder.path().join(format!("{name}.safetensors"));
        std::fs::write(path, [&length[..], header.as_bytes(), &[byte]].concat()).unwrap();
    };
    shard("a", 1);
    shard("b", 2);
    let index = folder.path().join("model.safetensors.index.json");
    let map = r#"{"metadata":{},"weight_map":{"a":"a.safetensors","b":"b.safetensors"}}"#;
    std::fs::write(&index, map).unwrap();
    let file = folder.path().join("x.hrry");
    hurray(arguments!["convert", index, file]).code(0);
    assert_eq!(hurray(arguments!["cat", file, "b"]).code(0).bytes, [2]);
    std::fs::write(&index, map.replace("b.safetensors", "../b.safetensors")).unwrap();
    let answer = hurray(arguments!["convert", index, file]).code(1);
    assert!(answer.errors.contains("../b.safetensors"), "{}", answer.errors);
    // What was there stays.
    assert_eq!(hurray(arguments!["cat", file, "b"]).code(0).bytes, [2]);
}

#[cfg(unix)]
#[test]
fn s20_a_shard_that_is_a_link_out_of_the_folder_is_taken_only_by_request() {
    let (folder, elsewhere) = (folder(), folder());
    let header = br#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#;
    let length = u64::try_from(header.len()).unwrap().to_le_bytes();
    let blob = elsewhere.path().join("blob");
    std::fs::write(&blob, [&length[..], header, &[7]].concat()).unwrap();
    std::os::unix::fs::symlink(&blob, folder.path().join("a.safetensors")).unwrap();
    let index = folder.path().join("model.safetensors.index.json");
    std::fs::write(&index, r#"{"weight_map":{"a":"a.safetensors"}}"#).unwrap();
    let file = folder.path().join("x.hrry");
    let answer = hurray(arguments!["convert", index, file]).code(1);
    assert!(answer.errors.contains("a.safetensors"), "{}", answer.errors);
    assert!(!file.exists());
    hurray(arguments!["convert", "--linked-shards", index, file]).code(0);
    assert_eq!(hurray(arguments!["cat", file, "a"]).code(0).bytes, [7]);
}

#[test]
fn what_has_no_equal_is_refused_by_name_and_leaves_nothing() {
    let folder = folder();
    let out = folder.path().join("out");
    std::fs::create_dir(&out).unwrap();
    let answer = hurray(arguments![
        "convert",
        vector("files/v21_quant_per_block.hrry"),
        out.join("x.safetensors"),
    ])
    .code(1);
    assert!(answer.errors.contains("tensor \"q\""), "{}", answer.errors);
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), 0);
}

#[test]
fn another_kind_of_file_is_refused_with_a_word_and_leaves_nothing() {
    let folder = folder();
    let out = folder.path().join("out");
    std::fs::create_dir(&out).unwrap();
    let cases: [(&[u8], &str); 7] = [
        (b"<!DOCTYPE html><html>", "web page"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        (b"PK\x03\x04", "PyTorch"),
        (b"\x80\x02}q\0.", "pickle"),
        (b"GGUF\x03\0\0\0", "GGUF"),
        (b"\x1f\x8b\x08\0", "gunzip"),
        (b"", "empty"),
    ];
    for name in ["model.safetensors", "model.bin"] {
        for (bytes, word) in cases {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            let answer = hurray(arguments!["convert", path, out.join("x.hrry")]).code(1);
            assert!(answer.errors.contains(word), "{name} {bytes:?}: {}", answer.errors);
            assert_eq!(std::fs::read_dir(&out).unwrap().count(), 0);
        }
    }
}

#[test]
fn damaged_data_is_not_passed_on() {
    let folder = folder();
    let path = small_file(&folder);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[4096] ^= 0x80;
    std::fs::write(&path, bytes).unwrap();
    for name in ["x.hrry", "x.hrrys", "x.safetensors"] {
        let out = folder.path().join(name);
        let answer = hurray(arguments!["convert", path, out]).code(1);
        assert!(answer.errors.contains("checksum-mismatch"), "{name}: {}", answer.errors);
        assert!(!out.exists());
    }
}

#[test]
fn there_is_no_conversion_between_these() {
    let folder = folder();
    let out = folder.path().join("x.safetensors");
    let answer = hurray(arguments!["convert", sample(), out]).code(1);
    assert!(answer.errors.contains("no conversion"), "{}", answer.errors);
    hurray_fed(&small_stream(), arguments!["convert", "-", out]).code(1);
    hurray_fed(&bytes_descriptor(0).encode(), arguments!["convert", "-", out]).code(1);
    hurray(arguments!["convert", folder.path().join("none"), out]).code(1);
    assert!(!out.exists());
}

#[test]
fn private_tags_are_converted_when_they_were_agreed() {
    let all = lines("descriptors.jsonl", true);
    let private = all.iter().find(|line| line["private"] == json!(["layout"])).unwrap();
    let size = &private["expected"]["buffers"][0]["byte_size"];
    let data = vec![0; usize::try_from(size.as_u64().unwrap()).unwrap()];
    let stream = [unhex(&private["hex"]), data].concat();
    let answer = hurray_fed(&stream, arguments!["convert", "-", "-", "--to", "hrry"]).code(1);
    assert!(answer.errors.contains("layout.private-tag"), "{}", answer.errors);
    let agreed = arguments!["convert", "--accept-private", "-", "-", "--to", "hrry"];
    let file = hurray_fed(&stream, agreed).code(0).bytes;
    hurray_fed(&file, arguments!["verify", "-"]).code(1);
    hurray_fed(&file, arguments!["verify", "--accept-private", "-"]).code(0);
}

#[test]
fn what_is_in_the_way_of_the_output_is_told_before_anything_is_read() {
    let folder = folder();
    let nothing = folder.path().join("nothing.hrry");
    let answer = hurray(arguments!["convert", nothing, folder.path(), "--to", "hrry"]).code(1);
    let told = format!("{} is a directory", folder.path().display());
    assert!(answer.errors.contains(&told), "{}", answer.errors);
    let missing = folder.path().join("missing");
    let answer = hurray(arguments!["convert", nothing, missing.join("x.hrry")]).code(1);
    let told = format!("no directory {} to write in", missing.display());
    assert!(answer.errors.contains(&told), "{}", answer.errors);
}

#[test]
fn raw_bytes_do_not_go_to_a_terminal() {
    let folder = folder();
    let path = small_file(&folder);
    for arguments in [
        arguments!["convert", path, "-", "--to", "hrry"],
        arguments!["cat", path, "w"],
        arguments!["cat", "--stream", path, "w"],
    ] {
        let answer = hurray_on_terminal(&arguments).code(2);
        assert!(answer.errors.contains("is a terminal"), "{}", answer.errors);
        assert!(answer.errors.contains("> FILE"), "{}", answer.errors);
        assert!(answer.bytes.is_empty());
        hurray_here(b"", &arguments).code(0);
    }
}

#[test]
fn what_is_cut_or_comes_the_wrong_way_gets_a_hint() {
    let folder = folder();
    let path = small_file(&folder);
    let model = std::fs::read(sample()).unwrap();
    let out = folder.path().join("x.hrry");
    let answer = hurray_fed(&model, arguments!["convert", "-", out]).code(1);
    assert!(answer.errors.contains("not read from standard input"), "{}", answer.errors);
    let answer = hurray(arguments!["convert", path, "-"]).code(2);
    assert!(answer.errors.contains("the ending of standard output"), "{}", answer.errors);
    let answer = hurray(arguments!["convert", path, out, "--alignment", "64"]).code(2);
    assert!(answer.errors.contains("4K to 2M, a power of two"), "{}", answer.errors);

    let mut bytes = std::fs::read(&path).unwrap();
    bytes.truncate(bytes.len() - 5);
    std::fs::write(&path, bytes).unwrap();
    for arguments in [arguments!["convert", path, out], arguments!["inspect", path]] {
        let answer = hurray(arguments).code(1);
        assert!(answer.errors.contains("it was cut"), "{}", answer.errors);
    }
    let answer = hurray(arguments!["verify", path]).code(1);
    assert!(answer.text().contains("it was cut"), "{}", answer.text());
    assert!(!out.exists());
}

#[test]
fn one_shard_alone_is_remarked_on() {
    let folder = folder();
    let out = folder.path().join("x.hrry");
    for (name, is_shard) in [
        ("model-00001-of-00002.safetensors", true),
        ("model-00001-of-00001.safetensors", false),
        ("one-of-many.safetensors", false),
    ] {
        let shard = folder.path().join(name);
        std::fs::copy(sample(), &shard).unwrap();
        let answer = hurray(arguments!["convert", shard, out]).code(0);
        assert_eq!(answer.errors.contains("is one of 2 shards"), is_shard, "{}", answer.errors);
    }
}

#[cfg(unix)]
#[test]
fn a_shard_that_is_a_link_names_the_option() {
    let (folder, elsewhere) = (folder(), folder());
    let shard = elsewhere.path().join("shard");
    std::fs::copy(sample(), &shard).unwrap();
    std::os::unix::fs::symlink(&shard, folder.path().join("a.safetensors")).unwrap();
    let index = folder.path().join("model.safetensors.index.json");
    std::fs::write(&index, r#"{"weight_map":{"w":"a.safetensors"}}"#).unwrap();
    let answer = hurray(arguments!["convert", index, folder.path().join("x.hrry")]).code(1);
    assert!(answer.errors.contains("--linked-shards allows them"), "{}", answer.errors);
}

#[cfg(target_os = "linux")]
#[test]
fn a_path_that_is_no_text_is_shown_by_its_bytes() {
    use std::os::unix::ffi::OsStrExt;
    let folder = folder();
    let path = folder.path().join(std::ffi::OsStr::from_bytes(b"\xff.hrry"));
    let answer = hurray(arguments!["ls", path]).code(1);
    assert!(answer.errors.contains(r"\xFF.hrry"), "{}", answer.errors);
}

#[test]
fn a_checksum_that_differs_is_told_in_one_notation() {
    let folder = folder();
    let path = corrupt_file(&folder);
    let out = folder.path().join("x.safetensors");
    for arguments in [arguments!["convert", path, out], arguments!["cat", path, "w"]] {
        let answer = hurray(arguments).code(1);
        assert!(answer.errors.contains("tensor w"), "{}", answer.errors);
        assert!(answer.errors.contains("found 0x"), "{}", answer.errors);
        assert!(answer.errors.contains("expected 0x"), "{}", answer.errors);
    }
    assert!(!out.exists());
}
