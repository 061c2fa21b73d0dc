//! Metadata: text under text in safetensors, key-values of several kinds in Hurray.

use std::collections::HashSet;

use hurray_tensor::format::{
    ALIAS_KEY, CHECKSUM_KEY, Kv, KvArray, KvValue, RESERVED_KEYS, SEQUENCE_LENGTHS_KEY,
};

use crate::report::{Changed, Report};

/// What becomes a key-value of text. Names that stand for tensors, and what is left out,
/// go into the report.
pub(super) fn to_hurray<'m>(
    metadata: &'m [(String, String)],
    tensors: &HashSet<&str>,
    report: &mut Report,
) -> Vec<(&'m str, &'m str)> {
    let mut texts = Vec::new();
    for (key, value) in metadata {
        // How safetensors says that two names share one tensor.
        let is_alias = tensors.contains(value.as_str()) && !tensors.contains(key.as_str());
        let prefix = if is_alias { ALIAS_KEY } else { "" };
        if key.is_empty() {
            report.change(key, Changed::EmptyKey);
        } else if prefix.len().saturating_add(key.len()) > usize::from(u16::MAX) {
            report.change(key, Changed::LongKey);
        } else if is_alias {
            report.alias(key, value);
        } else if key.starts_with(RESERVED_KEYS) {
            report.change(key, Changed::ReservedKey);
        } else {
            texts.push((key.as_str(), value.as_str()));
        }
    }
    texts
}

/// The metadata of a safetensors file with these key-values, in their order, aliases last.
pub(super) fn to_safetensors(kv: &Kv, report: &mut Report) -> Vec<(String, String)> {
    let aliases: Vec<(&str, &str)> = kv.aliases().collect();
    let names: HashSet<&str> = aliases.iter().map(|(name, _)| *name).collect();
    let mut metadata = Vec::new();
    for (key, value) in kv.iter() {
        if key.starts_with(ALIAS_KEY) {
            continue;
        }
        if let Some(tensor) = key.strip_prefix(CHECKSUM_KEY) {
            report.change(tensor, Changed::Checksums);
        } else if let Some(tensor) = key.strip_prefix(SEQUENCE_LENGTHS_KEY) {
            report.change(tensor, Changed::SequenceLengths);
        } else if key.starts_with(RESERVED_KEYS) {
            report.change(key, Changed::OwnKey);
        } else if names.contains(key) {
            report.change(key, Changed::OtherValue);
        } else if let KvValue::String(text) = value {
            metadata.push((key.to_owned(), text.to_owned()));
        } else {
            report.change(key, Changed::JsonText(value.kind()));
            metadata.push((key.to_owned(), json_text(&value)));
        }
    }
    for (name, tensor) in aliases {
        report.alias(name, tensor);
        metadata.push((name.to_owned(), tensor.to_owned()));
    }
    metadata
}

/// A value as JSON: integers exactly, floats so that they read back the same, those that
/// are no numbers as text; bytes as text of hexadecimal digits.
fn json_text(value: &KvValue<'_>) -> String {
    match value {
        KvValue::String(text) => serde_json::Value::from(*text).to_string(),
        KvValue::I64(number) => number.to_string(),
        KvValue::U64(number) => number.to_string(),
        KvValue::F64(number) => match serde_json::Number::from_f64(*number) {
            Some(number) => number.to_string(),
            None if number.is_nan() => "\"NaN\"".to_owned(),
            None if *number > 0.0 => "\"Infinity\"".to_owned(),
            None => "\"-Infinity\"".to_owned(),
        },
        KvValue::Bool(flag) => flag.to_string(),
        KvValue::Bytes(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("\"{digits}\"")
        }
        KvValue::Array(array) => json_list(array),
    }
}

fn json_list(array: &KvArray<'_>) -> String {
    let items: Vec<String> = array.iter().map(|item| json_text(&item)).collect();
    format!("[{}]", items.join(","))
}

#[cfg(test)]
mod tests {
    use hurray_tensor::format::KvKind;

    use super::*;

    fn texts(pairs: &[(&str, &str)], report: &mut Report) -> Vec<(String, String)> {
        let pairs: Vec<_> = pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        let tensors = HashSet::from(["w", "format"]);
        let texts = to_hurray(&pairs, &tensors, report);
        texts.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect()
    }

    #[test]
    fn s27_a_key_that_names_a_tensor_is_an_alias_unless_it_is_a_tensor() {
        let mut report = Report::default();
        let left = texts(&[("lm_head", "w"), ("format", "w"), ("note", "v")], &mut report);
        assert_eq!(left, [("format".into(), "w".into()), ("note".into(), "v".into())]);
        assert_eq!(report.aliases.len(), 1);
        assert_eq!((&*report.aliases[0].name, &*report.aliases[0].tensor), ("lm_head", "w"));
        assert_eq!(report.changes, []);
    }

    #[test]
    fn keys_that_cannot_be_kept_are_left_out_and_reported() {
        let long = "k".repeat(65_536);
        let mut report = Report::default();
        let pairs = [("", "x"), (&*long, "x"), ("hurray.crc32c.w", "x"), ("hurrah", "x")];
        assert_eq!(texts(&pairs, &mut report), [("hurrah".into(), "x".into())]);
        let changes: Vec<_> = report.changes.iter().map(|change| change.what.name()).collect();
        assert_eq!(changes, ["empty-key", "long-key", "reserved-key"]);
    }

    #[test]
    fn values_go_out_as_json_text_and_exactly() {
        let array = |kind, items: &[KvValue<'static>]| {
            KvValue::Array(KvArray::new(kind, items.iter().cloned()).unwrap())
        };
        for (value, text) in [
            (KvValue::I64(i64::MIN), "-9223372036854775808"),
            (KvValue::U64(u64::MAX), "18446744073709551615"),
            (KvValue::U64((1 << 53) + 1), "9007199254740993"),
            (KvValue::F64(0.1), "0.1"),
            (KvValue::F64(-0.0), "-0.0"),
            (KvValue::F64(f64::NAN), "\"NaN\""),
            (KvValue::F64(f64::INFINITY), "\"Infinity\""),
            (KvValue::F64(f64::NEG_INFINITY), "\"-Infinity\""),
            (KvValue::Bool(true), "true"),
            (KvValue::Bytes(&[0, 0xAB]), "\"00ab\""),
            (array(KvKind::I64, &[KvValue::I64(1), KvValue::I64(-2)]), "[1,-2]"),
            (array(KvKind::String, &[KvValue::String("a\"b\n")]), r#"["a\"b\n"]"#),
            (array(KvKind::Bool, &[]), "[]"),
        ] {
            assert_eq!(json_text(&value), text);
            assert!(serde_json::from_str::<serde_json::Value>(text).is_ok());
        }
    }
}
