//! The rule table, and what a refusal says to a person.

#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod support;

use std::collections::BTreeSet;

use hurray_format::*;
use serde_json::Value as Json;
use support::{lines, unhex};

#[test]
fn every_id_is_one_of_a_kind_and_spelt_alike() {
    let mut seen = BTreeSet::new();
    for rule in Rule::ALL {
        let id = rule.id();
        assert!(seen.insert(id), "{id} twice");
        assert_eq!(Rule::from_id(id), Some(*rule));
        assert_eq!((format!("{rule}"), format!("{rule:?}")), (id.to_owned(), id.to_owned()));
        let parts: Vec<&str> = id.split('.').collect();
        assert!(parts.len() >= 2, "{id}");
        let is_kebab = |part: &&str| {
            !part.is_empty()
                && !part.starts_with('-')
                && !part.ends_with('-')
                && !part.contains("--")
                && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        };
        assert!(parts.iter().all(is_kebab), "{id}");
        let pages = ["01", "02", "03", "04", "05", "06", "08", "09", "10"];
        assert!(pages.contains(&rule.page()), "{id}: {}", rule.page());
    }
    assert_eq!(Rule::from_id(""), None);
    assert_eq!(Rule::from_id("descriptor.Magic"), None);
}

/// A sentence that goes on: "…: magic at byte 0 (found …) [descriptor.magic]".
#[test]
fn every_meaning_is_half_a_sentence() {
    for rule in Rule::ALL {
        let meaning = rule.meaning();
        assert!(meaning.len() >= 8 && meaning.len() <= 100, "{rule}: {meaning}");
        assert!(!meaning.ends_with(['.', ' ', ':']) && !meaning.starts_with(' '), "{rule}");
        assert!(!meaning.contains("  ") && !meaning.contains('\n'), "{rule}: {meaning}");
        // Sentences start small, unless with a name such as CPU or KV.
        let mut letters = meaning.chars();
        let (first, second) = (letters.next().unwrap(), letters.next().unwrap());
        assert!(!first.is_uppercase() || second.is_uppercase(), "{rule}: {meaning}");
        assert!(
            ["corrupt", "unsupported", "refused", "peer", "system", "misuse"]
                .contains(&rule.fault().name())
        );
    }
}

/// The rules of the vectors are ours; those of messages and sessions are for those who
/// speak to peers.
#[test]
fn every_rule_of_the_vectors_is_in_the_table() {
    let text = std::fs::read_to_string(support::path("rules.json")).unwrap();
    let listed: Vec<Json> = serde_json::from_str(&text).unwrap();
    let mut count = 0;
    for rule in &listed {
        let id = rule["id"].as_str().unwrap();
        if id.starts_with("message.") || id.starts_with("session.") {
            continue;
        }
        assert!(Rule::from_id(id).is_some(), "{id}");
        count += 1;
    }
    assert!(count > 200, "{count}");
}

/// Every refusal of the vectors: what is wrong, where, and by which rule, on one line.
#[test]
fn a_refusal_says_what_is_wrong_where_and_by_which_rule() {
    let mut seen = BTreeSet::new();
    for line in lines("descriptors.jsonl").iter().filter(|line| line["valid"] == false) {
        let bytes = unhex(line["hex"].as_str().unwrap());
        let accept = Accept::every_private_tag();
        let error = Descriptor::decode_with(&bytes, &accept, &mut Silent).unwrap_err();
        seen.insert(error.rule());
        let text = error.to_string();
        assert!(text.starts_with(error.rule().meaning()), "{text}");
        assert!(text.ends_with(&format!(" [{}]", error.rule())), "{text}");
        assert!(text.contains(&format!("{} at byte {}", error.field(), error.offset())), "{text}");
        assert!(!text.contains('\n') && text.is_ascii() && text.len() < 250, "{text}");
        // Names are the specification's, not the program's.
        for word in ["Some(", "None", "Value::", "Expected::", "Unsaid", "0xFFFFFFFFFFFF"] {
            assert!(!text.contains(word), "{text}");
        }
        // What was found can be looked at in the bytes: a field lies inside them.
        assert!(error.offset() <= bytes.len() as u64, "{text}");
    }
    assert!(seen.len() > 130, "{}", seen.len());
}

#[test]
fn a_refusal_shows_what_was_found_and_what_was_expected() {
    let text = |bytes: &[u8]| Descriptor::decode(bytes).unwrap_err().to_string();
    assert_eq!(
        text(b"GGUF\x03\x00\x00\x00"),
        "magic is not HRRY: magic at byte 0 (found 47 47 55 46 03 00 00 00, expected \"HRRY\") \
         [descriptor.magic]",
    );
    assert_eq!(
        text(b"<html>\n"),
        "magic is not HRRY: magic at byte 0 (found 3C 68 74 6D 6C 3E 0A, expected \"HRRY\") \
         [descriptor.magic]",
    );
    assert_eq!(
        text(b"<!DOCTYPE html>"),
        "magic is not HRRY: magic at byte 0 (found \"<!DOCTYP\", expected \"HRRY\") \
         [descriptor.magic]",
    );
    assert_eq!(
        text(b"HRRY\x01"),
        "fewer input bytes than descriptor_length: descriptor at byte 5 (found 5, expected at \
         least 10) [descriptor.truncated]",
    );
    let good = Descriptor::dense(Dtype::Float32, &[3, 4]).unwrap().encode();
    let changed = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        text(&bytes)
    };
    assert_eq!(
        changed(14, 0x5A),
        "unassigned tag in 0x01-0x7F: type_tag at byte 14 (found 0x5A) [type.unknown-tag]",
    );
    assert_eq!(
        changed(45, 0),
        "dense data buffer below the layout's minimum: byte_size at byte 45 (found 0, expected \
         at least 48) [layout.buffer-too-small]",
    );
    assert_eq!(
        changed(53, 0x41),
        "alignment is 0 or not a power of two: alignment at byte 53 (found 65, expected a power \
         of two) [buffer.alignment-not-power-of-two]",
    );
    let scheme = PerTensor { scale: f32::INFINITY, zero_point: 0 };
    let error = Descriptor::builder(Dtype::Int8, &[4])
        .quantization(Quantization::PerTensor(scheme))
        .build()
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "scale NaN or infinite: scale at byte 61 (found inf, expected a finite number) \
         [quant.per-tensor.scale-not-finite]",
    );
}

#[test]
fn values_and_expectations_are_shown_as_a_person_writes_them() {
    let shown = [
        (Value::None, "nothing"),
        (Value::Unsigned(u64::MAX), "18446744073709551615"),
        (Value::Signed(-3), "-3"),
        (Value::Tag(0xA), "0x0A"),
        (Value::Tag(0x1_0000), "0x10000"),
        (Value::Float32(0x3F80_0000), "1"),
        (Value::Float32(0x7FC0_0000), "NaN"),
        (Value::Float64(0xBFE0_0000_0000_0000), "-0.5"),
        (Value::first_of(b"HRRY"), "\"HRRY\""),
        (Value::first_of(b"HRRYFILE and more"), "\"HRRYFILE\""),
        (Value::first_of(&[0, 255]), "00 FF"),
        (Value::first_of(b""), "\"\""),
        (Value::Opaque(300), "300 bytes"),
        (Value::BeyondU64, "more than 2^64"),
    ];
    for (value, text) in shown {
        assert_eq!(value.to_string(), text);
    }
    let shown = [
        (Expected::Exactly(4), "4"),
        (Expected::AtLeast(4), "at least 4"),
        (Expected::AtMost(4), "at most 4"),
        (Expected::OneOf("0 or 1"), "0 or 1"),
    ];
    for (expected, text) in shown {
        assert_eq!(expected.to_string(), text);
    }
    let error = Error::new(Rule::IndexRank, "index", 3, Value::None, Expected::Exactly(2));
    assert_eq!(
        error.shifted(4).to_string(),
        "not one index for each dimension: index at byte 7 (expected 2) [index.rank]",
    );
    assert_eq!(error.shifted(u64::MAX).offset(), u64::MAX);
    // An error is small: it is returned by value from everything.
    assert!(size_of::<Error>() <= 80, "{}", size_of::<Error>());
}
