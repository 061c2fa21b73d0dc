use crate::support::*;

#[test]
fn a_descriptor_is_told_byte_by_byte() {
    let bytes =
        hurray_tensor::format::Descriptor::dense(hurray_tensor::format::Dtype::Float32, &[3, 4]);
    let seen = hurray_fed(&bytes.unwrap().encode(), arguments!["inspect", "--hex", "-"]).code(0);
    let expected = include_str!("descriptor.hex.txt");
    assert_eq!(seen.text(), expected);
}

/// The bytes that the table shows, each at its offset.
fn shown(table: &str) -> Vec<(usize, u8)> {
    let mut bytes = Vec::new();
    for line in table.lines().skip(1) {
        let offset: usize = line.get(..8).unwrap().trim().parse().unwrap();
        let digits: String = line.chars().skip(10).take(23).collect();
        for (at, pair) in digits.split_whitespace().enumerate() {
            match u8::from_str_radix(pair, 16) {
                Ok(byte) => bytes.push((offset + at, byte)),
                Err(_) => break,
            }
        }
    }
    bytes
}

#[test]
fn every_byte_of_every_descriptor_is_shown_once() {
    for line in lines("descriptors.jsonl", true) {
        let bytes = unhex(&line["hex"]);
        let seen = hurray_here(&bytes, arguments!["inspect", "--hex", "-"]).code(0);
        let expected: Vec<(usize, u8)> = bytes.iter().copied().enumerate().collect();
        if bytes.len() < 256 {
            assert_eq!(shown(seen.text()), expected, "{}", line["name"]);
        }
    }
}

#[test]
fn what_a_file_shows_is_what_it_holds() {
    for line in lines("files.jsonl", true) {
        let path = vector(line["file"].as_str().unwrap());
        let bytes = std::fs::read(&path).unwrap();
        let seen = hurray_here(b"", arguments!["inspect", "--hex", path]).code(0);
        let shown = shown(seen.text());
        assert!(shown.iter().all(|(at, byte)| bytes[*at] == *byte), "{}", line["name"]);
        assert!(shown.is_sorted_by_key(|(at, _)| *at), "{}", line["name"]);
        // What is left out is padding or data, and is said to be.
        for tensor in line["tensors"].as_array().unwrap() {
            for buffer in tensor["buffers"].as_array().unwrap() {
                let offset = buffer["offset"].as_u64().unwrap();
                let told = format!("\n{offset:>8}  … ");
                assert!(seen.text().contains(&told), "{}: {offset}", line["name"]);
            }
        }
    }
}

#[test]
fn a_stream_is_shown_with_its_data_left_out() {
    let seen = hurray_fed(&small_stream(), arguments!["inspect", "--hex", "-"]).code(0);
    let data = "      53  …                        data              buffer 0                    \
                2 bytes, not shown\n      55  48 52 52 59";
    assert!(seen.text().contains(data), "{}", seen.text());
}

#[test]
fn a_broken_file_shows_what_was_read_and_what_was_not() {
    let path = vector("files/i022_align_2048.hrry");
    let seen = hurray(arguments!["inspect", "--hex", path]).code(1);
    assert!(seen.text().contains("data_buffer_alignment       2048"), "{}", seen.text());
    assert!(seen.text().contains("not read"), "{}", seen.text());
    assert!(seen.errors.contains("file.header.alignment-too-small"), "{}", seen.errors);
    for line in lines("files.jsonl", false) {
        let path = vector(line["file"].as_str().unwrap());
        let seen = hurray_here(b"", arguments!["inspect", "--hex", path]);
        assert!(seen.code <= 1, "{}", line["name"]);
    }
    for line in lines("descriptors.jsonl", false) {
        let bytes = unhex(&line["hex"]);
        let seen = hurray_here(&bytes, arguments!["inspect", "--hex", "--as", "descriptor", "-"]);
        assert!(seen.code(1).errors.contains(line["rule"].as_str().unwrap()), "{}", line["name"]);
    }
}

#[test]
fn what_is_broken_does_not_hide_the_other_sections() {
    let path = vector("files/i058_kv_cut_value.hrry");
    let seen = hurray(arguments!["inspect", "--hex", path]).code(1);
    assert!(seen.text().contains("not read, 5 bytes"), "{}", seen.text());
    assert!(seen.text().contains("index             name                        \"w\""));
    assert!(seen.errors.contains("file.kv."), "{}", seen.errors);
    let path = vector("files/i086_count_2_60.hrry");
    let seen = hurray(arguments!["inspect", "--hex", path]).code(1);
    assert!(seen.text().contains("kv                key                         \"producer\""));
    assert!(seen.errors.contains("file.index.count-too-large"), "{}", seen.errors);
}

#[test]
fn a_file_from_a_pipe_is_shown_too() {
    let folder = folder();
    let path = small_file(&folder);
    let piped = std::fs::read(&path).unwrap();
    let by_path = hurray(arguments!["inspect", "--hex", path]).code(0);
    let by_pipe = hurray_fed(&piped, arguments!["inspect", "--hex", "-"]).code(0);
    assert_eq!(by_path.text(), by_pipe.text());
}

#[test]
fn hex_and_json_exclude_each_other() {
    let answer = hurray(arguments!["inspect", "--hex", "--json", "x"]).code(2);
    assert!(answer.errors.contains("cannot be used with"), "{}", answer.errors);
}
