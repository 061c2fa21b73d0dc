//! A descriptor as JSON, with the keys of the test vectors: `expected` holds the fields of
//! the wire, `derived` what follows from them.
//!
//! Integers beyond 2^53 are decimal strings, which every reader of JSON keeps exactly;
//! keys that end in `_bits` are raw IEEE bits.

mod fields;
mod key_value;

use hurray_tensor::format::{
    Accept, Array, BufferHandle, Descriptor, Dtype, ExtensionType, Foreign, Kind, List,
    Quantization, RawStatistics, Result, Shard, Silent,
};
use serde_json::{Map, Value as Json, json};

pub use key_value::key_value;

/// The description of the descriptor that is all of `bytes`:
/// `{"expected": {…}, "derived": {…}}`.
///
/// # Errors
///
/// The first rule that the descriptor breaks.
pub fn bytes(bytes: &[u8], accept: &Accept) -> Result<Json> {
    let descriptor = Descriptor::decode_with(bytes, accept, &mut Silent)?;
    Ok(json!({ "expected": expected(&descriptor), "derived": derived(&descriptor, bytes.len()) }))
}

/// What can be told of a descriptor that is not wholly understood: `{"foreign": {…}}`.
pub fn foreign(foreign: &Foreign<'_>) -> Json {
    let buffers = foreign.buffers().map(|buffers| buffers.iter().map(|b| handle(&b)).collect());
    json!({ "foreign": {
        "type_tag": foreign.type_tag(),
        "layout_tag": foreign.layout_tag(),
        "shape": numbers(&foreign.shape()),
        "buffers": buffers.unwrap_or(Json::Null),
        "rule": foreign.reason().rule().id(),
    }})
}

/// The fields of the wire.
pub fn expected(d: &Descriptor) -> Json {
    let mut map = Map::new();
    let mut put = |key: &str, value: Json| map.insert(key.into(), value);
    put("version_major", d.version().0.into());
    put("version_minor", d.version().1.into());
    put("type_tag", d.dtype().tag().into());
    put("layout_tag", d.layout().tag().into());
    put("shape", numbers(&List::new(d.shape())));
    put("byte_offset", number(d.byte_offset()));
    put("layout", fields::layout(d.layout(), d.rank()));
    put("buffers", d.buffers().iter().map(handle).collect());
    if let Some(scheme) = d.quantization() {
        put("quantization", fields::quantization(scheme));
    }
    if let Some(box_of) = d.shard() {
        put("shard", shard(box_of));
    }
    if let Some(advice) = d.statistics() {
        put("statistics", statistics(&advice.raw()));
    }
    if let Dtype::Private(private) = d.dtype() {
        put("extension_type", extension_type(private.record()));
    }
    if let Some(role) = d.member_role() {
        put("composite_member", json!({ "member_role": role.tag() }));
    }
    Json::Object(map)
}

/// What follows from the fields; `length` is the descriptor's, in bytes.
pub fn derived(d: &Descriptor, length: usize) -> Json {
    let mut map = Map::new();
    let mut put = |key: &str, value: Json| map.insert(key.into(), value);
    put("descriptor_length", length.into());
    put("flags", d.flags().into());
    put("rank", d.rank().into());
    put("type_name", d.dtype().name().into());
    put("layout_name", d.layout().name().into());
    put("buffer_count", d.buffer_count().into());
    if let Some(scheme) = d.quantization() {
        put("scheme_name", scheme.name().into());
    }
    if let Some(Quantization::PerTensor(scheme)) = d.quantization() {
        put("scale", shortest(f64::from(scheme.scale)).into());
    }
    if let Some(statistics) = d.statistics() {
        let raw = statistics.raw();
        put("sparsity_ratio", shortest(raw.sparsity_ratio).into());
        put("value_min", shortest(raw.value_min).into());
        put("value_max", shortest(raw.value_max).into());
        put("value_abs_max", shortest(raw.value_abs_max).into());
        put("value_mean", shortest(raw.value_mean).into());
        put("value_stddev", shortest(raw.value_stddev).into());
    }
    Json::Object(map)
}

/// An integer: beyond 2^53 a decimal string.
pub fn number(value: u64) -> Json {
    if value <= 1 << 53 { json!(value) } else { json!(value.to_string()) }
}

fn signed(value: i64) -> Json {
    if value.unsigned_abs() <= 1 << 53 { json!(value) } else { json!(value.to_string()) }
}

fn numbers(values: &impl Array<u64>) -> Json {
    values.iter().map(number).collect()
}

/// The hexadecimal digits of `bytes`.
pub fn hexadecimal(bytes: &[u8]) -> String {
    key_value::Hexadecimal(bytes).to_string()
}

fn handle(handle: &BufferHandle) -> Json {
    json!({
        "byte_size": number(handle.byte_size()),
        "alignment": handle.alignment(),
        "device_tag": handle.device().tag(),
        "sync_mode": handle.sync().tag(),
        "memory_class": handle.class().tag(),
    })
}

fn shard(shard: &Shard) -> Json {
    json!({
        "parent_shape": numbers(&shard.parent_shape()),
        "shard_offset": numbers(&shard.offset()),
    })
}

fn statistics(raw: &RawStatistics) -> Json {
    let bits = |value: f64| number(value.to_bits());
    json!({
        "computed_mask": raw.computed_mask,
        "nnz": number(raw.nnz),
        "sparsity_ratio_bits": bits(raw.sparsity_ratio),
        "value_min_bits": bits(raw.value_min),
        "value_max_bits": bits(raw.value_max),
        "value_abs_max_bits": bits(raw.value_abs_max),
        "value_mean_bits": bits(raw.value_mean),
        "value_stddev_bits": bits(raw.value_stddev),
        "nm_n": raw.nm_n,
        "nm_m": raw.nm_m,
        "has_nan": raw.has_nan,
        "has_inf": raw.has_inf,
    })
}

fn extension_type(record: ExtensionType) -> Json {
    let float = record.float_format();
    json!({
        "bit_width": record.bit_width(),
        "packing_factor": record.packing_factor(),
        "is_float": u8::from(float.is_some()),
        "is_signed": u8::from(record.kind() == Kind::Signed),
        "sign_bits": float.map_or(0, |f| f.sign_bits),
        "exponent_bits": float.map_or(0, |f| f.exponent_bits),
        "mantissa_bits": float.map_or(0, |f| f.mantissa_bits),
        "exponent_bias": float.map_or(0, |f| f.exponent_bias),
        "has_nan": float.map_or(0, |f| u8::from(f.has_nan)),
        "has_inf": float.map_or(0, |f| u8::from(f.has_inf)),
    })
}

/// The shortest text that reads back as `value`, as the vectors spell it: positional from
/// 1e-4 to below 1e16, with an exponent of two digits or more elsewhere.
fn shortest(value: f64) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    let scientific = format!("{value:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return format!("{value:?}");
    };
    match exponent.parse::<i32>() {
        Ok(power) if !(-4..16).contains(&power) => {
            let sign = if power < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", power.unsigned_abs())
        }
        _ => format!("{value:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_spelled_as_in_the_vectors() {
        let cases = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1e15, "1000000000000000.0"),
            (9999999999999998.0, "9999999999999998.0"),
            (1e16, "1e+16"),
            (1.5e-300, "1.5e-300"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ];
        for (value, text) in cases {
            assert_eq!(shortest(value), text);
        }
    }

    #[test]
    fn integers_beyond_two_to_the_53_are_text() {
        assert_eq!(number(1 << 53), json!(9_007_199_254_740_992_u64));
        assert_eq!(number((1 << 53) + 1), json!("9007199254740993"));
        assert_eq!(signed(i64::MIN), json!("-9223372036854775808"));
    }
}
