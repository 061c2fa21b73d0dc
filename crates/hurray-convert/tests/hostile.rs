//! Input that is broken, cut, or another kind of file.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod support;

use std::fs;

use hurray_convert::{
    ConvertOptions, Error, HeaderFault, Result, SafetensorsSource, safetensors_to_hurray, save,
};
use proptest::prelude::*;
use safetensors::SafeTensors;
use support::{import, listing, one, safetensors, safetensors_bytes};

fn fault(file: &[u8]) -> HeaderFault {
    match SafetensorsSource::from_bytes("in", file) {
        Err(Error::Safetensors { fault, .. }) => *fault,
        other => panic!("{other:?}"),
    }
}

/// A small file with everything in it.
fn small() -> Vec<u8> {
    let header = r#"{"__metadata__":{"k":"v","t":"a"},
        "a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
        "b":{"dtype":"BOOL","shape":[3],"data_offsets":[8,11]}}"#;
    safetensors(header, &[1, 2, 3, 4, 5, 6, 7, 8, 1, 0, 1])
}

#[test]
fn s1_two_tensors_of_one_name_are_called_that() {
    let record = |from, to| format!(r#"{{"dtype":"U8","shape":[1],"data_offsets":[{from},{to}]}}"#);
    let header = format!(r#"{{"a":{},"b":{},"a":{}}}"#, record(0, 1), record(1, 2), record(2, 3));
    let found = fault(&safetensors(&header, &[0; 3]));
    assert!(matches!(&found, HeaderFault::DuplicateName(name) if name == "a"), "{found}");
    // Also where the names are only the same once they are read.
    let header = format!(r#"{{"a":{},"\u0061":{}}}"#, record(0, 1), record(1, 2));
    let found = fault(&safetensors(&header, &[0; 2]));
    assert!(matches!(&found, HeaderFault::DuplicateName(name) if name == "a"), "{found}");
    let found = fault(&safetensors(r#"{"__metadata__":{"k":"1","k":"2"}}"#, &[]));
    assert!(matches!(&found, HeaderFault::DuplicateKey(key) if key == "k"), "{found}");
    let found = fault(&safetensors(r#"{"__metadata__":{},"__metadata__":{}}"#, &[]));
    assert!(matches!(&found, HeaderFault::Json(_)), "{found}");
}

#[test]
fn s2_tensors_that_overlap_or_leave_a_hole_are_named() {
    let two = |from, to| {
        let header = format!(
            r#"{{"a":{{"dtype":"U8","shape":[4],"data_offsets":[0,4]}},
                "b":{{"dtype":"U8","shape":[4],"data_offsets":[{from},{to}]}}}}"#
        );
        fault(&safetensors(&header, &[0; 8]))
    };
    for (from, to, what) in [(2, 6, "it overlaps"), (0, 4, "it overlaps"), (5, 9, "a hole")] {
        let found = two(from, to);
        assert_eq!(found.tensor(), Some("b"));
        assert!(found.to_string().contains(what), "{found}");
    }
}

#[test]
fn s5_offsets_outside_the_file_are_refused() {
    let max = u64::MAX;
    for (shape, from, to) in [
        ("[4]", 0, 5),
        ("[4]", 4, 0),
        ("[4]", max - 4, max),
        ("[4]", 0, max),
        ("[18446744073709551615]", 0, max),
        ("[18446744073709551615,18446744073709551615]", 0, 4),
        ("[4611686018427387904,4]", 0, 0),
    ] {
        let header =
            format!(r#"{{"x":{{"dtype":"U8","shape":{shape},"data_offsets":[{from},{to}]}}}}"#);
        let found = fault(&safetensors(&header, &[0; 4]));
        assert_eq!(found.tensor(), Some("x"), "{found}");
    }
    // Consistent in itself, and larger than the file, or smaller.
    for more in [-4, -1, 1, 4096] {
        let mut file = one("U8", &[4], &[0; 4]);
        file.resize(file.len().saturating_add_signed(more), 0);
        let found = fault(&file);
        assert!(matches!(found, HeaderFault::DataLength { expected: 4, .. }), "{found}");
    }
    // Sums of sizes do not wrap either: each of them fits.
    let huge = u64::MAX / 8;
    let records: Vec<_> = (0..9)
        .map(|n| {
            let (from, to) = (n * huge, (n + 1).min(8) * huge);
            format!(r#""{n}":{{"dtype":"U8","shape":[{huge}],"data_offsets":[{from},{to}]}}"#)
        })
        .collect();
    fault(&safetensors(&format!("{{{}}}", records[..8].join(",")), &[]));
    fault(&safetensors(&format!("{{{}}}", records.join(",")), &[]));
}

#[test]
fn s9_no_length_sizes_memory_before_the_file_is_seen_to_have_it() {
    for length in [1 << 63, u64::MAX, 100_000_001, 3] {
        let file = [&u64::to_le_bytes(length)[..], b"{}"].concat();
        assert!(matches!(fault(&file), HeaderFault::HeaderLength { .. }));
    }
    for bomb in ["[".repeat(1 << 20), "{\"a\":".repeat(1 << 18), {
        let deep = "[".repeat(1 << 20);
        format!(r#"{{"x":{{"dtype":"U8","shape":[0],"data_offsets":[0,0],"more":{deep}"#)
    }] {
        assert!(matches!(fault(&safetensors(&bomb, &[])), HeaderFault::Json(_)));
    }
}

#[test]
fn a_record_that_is_wrong_is_named() {
    for record in [
        r#"{"dtype":"F128","shape":[1],"data_offsets":[0,16]}"#,
        r#"{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}"#,
        r#"{"dtype":"U8","shape":[1.5],"data_offsets":[0,1]}"#,
        r#"{"dtype":"U8","shape":[1]}"#,
        r#"{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}"#,
        r#"{"dtype":"U8","shape":[1],"shape":[1],"data_offsets":[0,1]}"#,
        "null",
    ] {
        let found = fault(&safetensors(&format!(r#"{{"the one":{record}}}"#), &[0]));
        assert!(found.to_string().contains("\"the one\""), "{found}");
    }
    let found = fault(&safetensors(r#"{"__metadata__":{"steps":3}}"#, &[]));
    assert!(found.to_string().contains("\"steps\""), "{found}");
}

#[test]
fn s24_what_is_no_utf8_is_refused() {
    let record = &br#"":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#[..];
    let found = fault(&safetensors_bytes(&[b"{\"a\xFF", record].concat(), &[]));
    assert!(matches!(found, HeaderFault::NotUtf8(11)), "{found}");
    let found = fault(&safetensors_bytes(&[b"{\"\\ud800", record].concat(), &[]));
    assert!(matches!(found, HeaderFault::Json(_)), "{found}");
}

#[test]
fn another_kind_of_file_is_shown_by_its_first_bytes() {
    for (file, shown) in [
        (&b"<!DOCTYPE html><html></html>"[..], "\"<!DOCTYP\""),
        (b"version https://git-lfs.github.com/spec/v1\n", "\"version \""),
        (b"GGUF\x03\0\0\0\x01\0\0\0", "4747554603000000"),
        (b"PK\x03\x04\x14\0\0\0\0\0", "504B030414000000"),
    ] {
        let found = fault(file).to_string();
        assert!(found.contains(shown), "{found}");
    }
    assert!(matches!(fault(b""), HeaderFault::TooShort(0)));
}

#[test]
fn s15_a_file_cut_anywhere_is_refused_and_leaves_nothing() {
    let whole = small();
    import(&whole).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("in.safetensors"), folder.path().join("out.hrry"));
    for length in 0..whole.len() {
        fs::write(&from, &whole[..length]).unwrap();
        let converted = SafetensorsSource::open(&from).and_then(|source| {
            let options = ConvertOptions::default();
            save(&to, |out| safetensors_to_hurray(&source, out, &options, &mut |_, _| {}))
        });
        let error = converted.unwrap_err();
        assert!(error.to_string().contains("in.safetensors"), "{error}");
        assert_eq!(listing(&folder), ["in.safetensors"]);
    }
}

#[test]
fn an_error_in_the_middle_leaves_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("in.safetensors"), folder.path().join("out.hrry"));
    let mut file = small();
    *file.last_mut().unwrap() = 7;
    fs::write(&from, &file).unwrap();
    fs::write(&to, "before").unwrap();
    let source = SafetensorsSource::open(&from).unwrap();
    let options = ConvertOptions::default();
    let convert = || save(&to, |out| safetensors_to_hurray(&source, out, &options, &mut |_, _| {}));
    assert!(matches!(convert(), Err(Error::Refused { .. })));
    assert_eq!(fs::read(&to).unwrap(), b"before");
    assert_eq!(listing(&folder), ["in.safetensors", "out.hrry"]);
    // Cut while it is open: an error, and no signal.
    fs::File::options().write(true).open(&from).unwrap().set_len(20).unwrap();
    let error = convert().unwrap_err();
    assert!(error.to_string().contains("something cut it"), "{error}");
    assert_eq!(listing(&folder), ["in.safetensors", "out.hrry"]);
}

#[test]
fn what_is_no_regular_file_is_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let error = SafetensorsSource::open(folder.path()).unwrap_err();
    assert!(error.to_string().contains("no regular file"), "{error}");
    let error = SafetensorsSource::open(folder.path().join("absent")).unwrap_err();
    assert!(error.to_string().contains("absent"), "{error}");
}

/// We read what the safetensors crate reads, but for names that are there twice.
fn agree(file: &[u8]) -> Result<(), TestCaseError> {
    let ours = SafetensorsSource::from_bytes("in", file);
    match (SafeTensors::deserialize(file), ours) {
        (Ok(theirs), Ok(ours)) => {
            prop_assert_eq!(theirs.len(), ours.len());
            // Whatever it holds is moved or refused.
            let _ = import(file);
        }
        (Err(_), Err(_)) => {}
        (Ok(_), Err(Error::Safetensors { fault, .. })) => {
            let twice =
                matches!(*fault, HeaderFault::DuplicateName(_) | HeaderFault::DuplicateKey(_));
            prop_assert!(twice, "{}", fault);
        }
        (theirs, ours) => prop_assert!(false, "{:?} {:?}", theirs.map(|_| ()), ours.map(|_| ())),
    }
    Ok(())
}

#[test]
fn every_flipped_bit_is_judged_as_the_safetensors_crate_does() {
    let whole = small();
    for bit in 0..whole.len() * 8 {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        agree(&flipped).unwrap();
    }
}

proptest! {
    #[test]
    fn any_header_is_judged_as_the_safetensors_crate_does(
        pieces in proptest::collection::vec(proptest::sample::select(vec![
            "{", "}", "[", "]", ":", ",", "\"a\"", "\"b\"", "\"__metadata__\"", "null", "0", "1", "2",
            "{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}",
            "{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}",
            "{\"dtype\":\"F4\",\"shape\":[2],\"data_offsets\":[0,1]}",
            "{\"shape\":[],\"data_offsets\":[0,1],\"dtype\":\"BOOL\",\"x\":{}}",
            "{\"k\":\"v\"}", "{\"a\":\"a\"}", "{}",
        ]), 0..12),
        data in proptest::collection::vec(0..3_u8, 0..4),
    ) {
        agree(&safetensors(&pieces.concat(), &data))?;
    }

    #[test]
    fn any_records_are_judged_as_the_safetensors_crate_does(
        records in proptest::collection::vec(
            ("[ab]", proptest::sample::select(vec!["U8", "F4", "BOOL", "F32", "F7"]), 0..3_u8, 0..4_u8, 0..4_u8), 0..4),
        data in proptest::collection::vec(0..2_u8, 0..5),
    ) {
        let records: Vec<_> = records.iter().map(|(name, dtype, size, from, to)| {
            format!(r#""{name}":{{"dtype":"{dtype}","shape":[{size}],"data_offsets":[{from},{to}]}}"#)
        }).collect();
        agree(&safetensors(&format!("{{{}}}", records.join(",")), &data))?;
    }
}
