//! The value of every code of the small floats, against the vectors.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

use hurray_format::Dtype;
use hurray_kernels::numbers::{self, Minifloat, Overflow};
use serde_json::Value;

fn tables() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/tables.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn bits(value: &Value) -> u32 {
    match value.as_str().unwrap() {
        "nan" => f32::NAN.to_bits(),
        text => u32::from_str_radix(text, 16).unwrap(),
    }
}

/// Equal bit for bit; any NaN is any other.
fn assert_same(found: f32, expected: u32, of: &str) {
    let expected = f32::from_bits(expected);
    let same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
    assert!(same, "{of}: {found} and {expected}");
}

#[test]
fn each_code_has_its_value() {
    let tables = tables();
    let types = [
        Dtype::Float8E4M3,
        Dtype::Float8E5M2,
        Dtype::Float4E2M1,
        Dtype::Float6E2M3,
        Dtype::Float6E3M2,
    ];
    for dtype in types {
        let (format, values) = (Minifloat::of_dtype(dtype).unwrap(), &tables[dtype.name()]);
        assert_eq!(values.as_array().unwrap().len(), 1 << format.bits());
        for (code, value) in (0..).zip(values.as_array().unwrap()) {
            assert_same(format.decode(code), bits(value), &format!("{dtype} {code:#X}"));
        }
    }
}

#[test]
fn halves_have_the_values_of_the_samples() {
    for dtype in [Dtype::Float16, Dtype::BFloat16] {
        let format = Minifloat::of_dtype(dtype).unwrap();
        let tables = tables();
        let samples = tables[dtype.name()].as_array().unwrap();
        assert!(samples.len() > 40);
        for sample in samples {
            let code = u16::try_from(bits(&sample[0])).unwrap();
            let value = format.decode(code);
            assert_same(value, bits(&sample[1]), &format!("{dtype} {code:#X}"));
            if !value.is_nan() {
                assert_eq!(format.encode(value, Overflow::Special), code);
            }
        }
    }
}

#[test]
fn scales_and_nf4_have_theirs() {
    let tables = tables();
    for (code, value) in (0..=u8::MAX).zip(tables["float8_e8m0"].as_array().unwrap()) {
        assert_same(numbers::e8m0(code), bits(value), &format!("float8_e8m0 {code:#X}"));
    }
    for (found, value) in numbers::NF4_TABLE.iter().zip(tables["nf4"].as_array().unwrap()) {
        assert_same(*found, bits(value), "nf4");
    }
}
