use crate::support::*;

#[test]
fn a_buffer_comes_out_as_it_lies() {
    let folder = folder();
    let path = hurray_file(&folder, "x.hrry", |file| {
        file.tensor("--help", &bytes_descriptor(3), &[&[1, 2, 3]])?;
        file.tensor("w", &bytes_descriptor(2), &[b"\n\r"])?;
        file.alias("also w", "w")
    });
    assert_eq!(hurray(arguments!["cat", path, "w"]).code(0).bytes, b"\n\r");
    assert_eq!(hurray(arguments!["cat", path, "also w"]).code(0).bytes, b"\n\r");
    assert_eq!(hurray(arguments!["cat", "--no-map", path, "w"]).code(0).bytes, b"\n\r");
    assert_eq!(hurray(arguments!["cat", path, "--", "--help"]).code(0).bytes, [1, 2, 3]);
    let piped = std::fs::read(&path).unwrap();
    assert_eq!(hurray_fed(&piped, arguments!["cat", "-", "w"]).code(0).bytes, b"\n\r");
}

#[test]
fn every_buffer_of_a_tensor_can_be_had() {
    let path = vector("files/v16_coo.hrry");
    let seen = hurray(arguments!["inspect", "--json", path]).code(0).json();
    let file = std::fs::read(&path).unwrap();
    let tensor = &seen["tensors"][0];
    for (place, buffer) in tensor["buffers"].as_array().unwrap().iter().enumerate() {
        let number = |key: &str| usize::try_from(buffer[key].as_u64().unwrap()).unwrap();
        let start = number("offset");
        let (name, place) = (tensor["name"].as_str().unwrap(), place.to_string());
        let answer = hurray(arguments!["cat", path, name, "--buffer", place]).code(0);
        assert_eq!(answer.bytes, file[start..start + number("length")]);
    }
    let name = tensor["name"].as_str().unwrap();
    let answer = hurray(arguments!["cat", path, name, "--buffer", "2"]).code(1);
    assert!(answer.errors.contains("has buffers 0 to 1"), "{}", answer.errors);
}

#[test]
fn a_tensor_comes_out_as_a_stream() {
    let folder = folder();
    let path = small_file(&folder);
    let stream = [bytes_descriptor(6).encode(), vec![1, 2, 3, 4, 5, 6]].concat();
    assert_eq!(hurray(arguments!["cat", "--stream", path, "w"]).code(0).bytes, stream);
}

#[test]
fn a_composite_comes_out_whole() {
    for (file, members) in [("v23_partition", 3), ("v24_overlay", 3), ("v29_nested_depth8", 9)] {
        let path = vector(&format!("files/{file}.hrry"));
        let head = if file.starts_with("v29") { "h0" } else { "h" };
        let answer = hurray(arguments!["cat", path, head]).code(1);
        assert!(answer.errors.contains("--stream"), "{}", answer.errors);
        let stream = hurray(arguments!["cat", "--stream", path, head]).code(0).bytes;
        let told = hurray_fed(&stream, arguments!["verify", "-"]).code(0);
        assert!(told.text().contains(&format!("plain stream, {members} tensors")));
        // Of a stream, the same.
        let again = hurray_fed(&stream, arguments!["cat", "--stream", "-", "0"]).code(0);
        assert_eq!(again.bytes, stream);
    }
}

#[test]
fn tensors_of_a_stream_are_numbered() {
    let stream = small_stream();
    assert_eq!(hurray_fed(&stream, arguments!["cat", "-", "0"]).code(0).bytes, [1, 2]);
    assert_eq!(hurray_fed(&stream, arguments!["cat", "-", "1"]).code(0).bytes, [3]);
    let last = hurray_fed(&stream, arguments!["cat", "--stream", "-", "1"]).code(0).bytes;
    assert_eq!(last, stream[55..]);
    let beyond = hurray_fed(&stream, arguments!["cat", "-", "2"]).code(1);
    assert!(beyond.errors.contains("has 2 tensors, 0 to 1"), "{}", beyond.errors);
    let named = hurray_fed(&stream, arguments!["cat", "-", "w"]).code(1);
    assert!(named.errors.contains("a stream has no names"), "{}", named.errors);
}

#[test]
fn a_name_that_is_not_there_is_told() {
    let folder = folder();
    let answer = hurray(arguments!["cat", small_file(&folder), "v\n"]).code(1);
    assert!(answer.errors.contains(r#"no tensor has the name "v\n""#), "{}", answer.errors);
    assert!(answer.bytes.is_empty());
    let near = hurray(arguments!["cat", sample_as_hurray(&folder), "embeddings.LayerNorm.bais"]);
    assert!(near.errors.contains("near to it: embeddings.LayerNorm.bias"), "{}", near.errors);
    hurray_fed(&bytes_descriptor(1).encode(), arguments!["cat", "-", "0"]).code(1);
}

#[test]
fn corrupt_bytes_are_told_when_they_were_written() {
    let folder = folder();
    let path = corrupt_file(&folder);
    for stream in [false, true] {
        for map in [false, true] {
            let mut arguments = arguments!["cat", path, "w"];
            arguments.extend(stream.then(|| "--stream".into()));
            arguments.extend((!map).then(|| "--no-map".into()));
            let answer = hurray(&arguments).code(1);
            assert!(answer.bytes.ends_with(&[9, 2, 3, 4, 5, 6]));
            assert!(answer.errors.contains("tensor w"), "{}", answer.errors);
            let rule = "file.tensor.checksum-mismatch";
            assert!(answer.errors.contains(rule), "{}", answer.errors);
            // Both in hexadecimal.
            assert!(answer.errors.contains(", expected 0x"), "{}", answer.errors);
            arguments.push("--no-verify".into());
            let same = hurray(&arguments).code(0);
            assert_eq!(same.bytes, answer.bytes);
        }
    }
}
