//! Every line of `vectors/descriptors.jsonl` and `handle-triples.json`.

#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod support;

use std::collections::BTreeSet;

use hurray_format::*;
use serde_json::{Map, Value as Json, json};
use support::{hex, lines, unhex};

#[test]
fn every_valid_descriptor_reads_as_expected_and_writes_the_same_bytes() {
    let mut count = 0;
    for line in lines("descriptors.jsonl").iter().filter(|line| line["valid"] == true) {
        let name = line["name"].as_str().unwrap();
        let bytes = unhex(line["hex"].as_str().unwrap());
        let mut trace = Recording::default();
        let accept = Accept::every_private_tag();
        let read = Descriptor::decode_with(&bytes, &accept, &mut trace)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(expected(&read), line["expected"], "{name}");
        assert_eq!(derived(&read, &bytes), line["derived"], "{name}");

        let again = read.encode();
        assert_eq!(again.len(), read.encoded_len(), "{name}");
        if line["reencodes"] == false {
            assert_eq!(Descriptor::decode_with(&again, &accept, &mut Silent), Ok(read), "{name}");
        } else {
            assert_eq!(hex(&again), hex(&bytes), "{name}");
        }
        covers(&trace, bytes.len(), name);
        count += 1;
    }
    assert_eq!(count, 912);
}

/// The trace of a descriptor names every byte exactly once, in order.
fn covers(trace: &Recording, length: usize, name: &str) {
    let mut at = 0;
    let mut fields = trace.fields.clone();
    fields.sort_by_key(|field| field.offset);
    for field in &fields {
        assert_eq!(field.offset, at, "{name}: {field:?}");
        at += field.length;
    }
    assert_eq!(at, length as u64, "{name}");
}

#[test]
fn every_invalid_descriptor_is_refused_by_its_rule() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in lines("descriptors.jsonl").iter().filter(|line| line["valid"] == false) {
        let name = line["name"].as_str().unwrap();
        let bytes = unhex(line["hex"].as_str().unwrap());
        let read = DescriptorRef::read_with(&bytes, &Accept::every_private_tag(), &mut Silent);
        match read {
            Err(error) if error.rule().id() == line["rule"] => {
                assert!(error.offset() <= bytes.len() as u64, "{name}: {error}");
            }
            Err(error) => wrong.push(format!("{name}: {error}")),
            Ok(_) => wrong.push(format!("{name}: accepted")),
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(count, 501);
}

#[test]
fn private_tags_are_refused_unless_agreed() {
    for line in lines("descriptors.jsonl").iter().filter(|line| line["valid"] == true) {
        let bytes = unhex(line["hex"].as_str().unwrap());
        let private = !line["private"].as_array().unwrap().is_empty();
        let read = DescriptorRef::read(&bytes);
        assert_eq!(read.is_err(), private, "{}", line["name"]);
        if let Err(error) = read {
            assert_eq!(error.fault(), Fault::Unsupported, "{}: {error}", line["name"]);
        }
    }
}

#[test]
fn the_legal_triples_are_legal_and_no_others() {
    let text = std::fs::read_to_string(support::path("handle-triples.json")).unwrap();
    let legal: BTreeSet<(u8, u8, u8)> = serde_json::from_str::<Vec<[u8; 3]>>(&text)
        .unwrap()
        .into_iter()
        .map(|[device, class, sync]| (device, class, sync))
        .collect();
    for device in 0..=255 {
        for class in 0..=255 {
            for sync in [0, 1, 2, 3, 4, 0x7F, 0x80, 0xF0, 0xFE, 0xFF] {
                let handle = BufferHandle::new(
                    64,
                    64,
                    DeviceTag::from_tag(device),
                    SyncMode::from_tag(sync),
                    MemoryClass::from_tag(class),
                );
                let expected = legal.contains(&(device, class, sync));
                assert_eq!(handle.is_ok(), expected, "{device} {class} {sync}");
            }
        }
    }
}

#[test]
fn every_prefix_and_every_flipped_bit_is_refused_or_consistent() {
    let vectors = lines("descriptors.jsonl");
    let accept = Accept::every_private_tag();
    for line in vectors.iter().filter(|line| line["valid"] == true).step_by(7) {
        let bytes = unhex(line["hex"].as_str().unwrap());
        for cut in 0..bytes.len() {
            assert!(DescriptorRef::read_with(&bytes[..cut], &accept, &mut Silent).is_err());
        }
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            if let Ok(read) = Descriptor::decode_with(&flipped, &accept, &mut Silent) {
                let again = read.encode();
                assert_eq!(Descriptor::decode_with(&again, &accept, &mut Silent), Ok(read));
            }
            let _ = DescriptorRef::read_permissive(&flipped, &accept);
        }
    }
}

fn put(map: &mut Map<String, Json>, key: &str, value: impl Into<Json>) {
    map.insert(key.into(), value.into());
}

/// Integers beyond 2^53 are decimal strings in the vectors.
fn number(value: u64) -> Json {
    if value <= 1 << 53 { json!(value) } else { json!(value.to_string()) }
}

fn numbers(values: &impl Array<u64>) -> Json {
    values.iter().map(number).collect()
}

fn signed(values: &impl Array<i64>) -> Json {
    let number = |value: i64| {
        if value.unsigned_abs() <= 1 << 53 { json!(value) } else { json!(value.to_string()) }
    };
    values.iter().map(number).collect()
}

fn expected(d: &Descriptor) -> Json {
    let mut map = Map::new();
    put(&mut map, "version_major", d.version().0);
    put(&mut map, "version_minor", d.version().1);
    put(&mut map, "type_tag", d.dtype().tag());
    put(&mut map, "layout_tag", d.layout().tag());
    put(&mut map, "shape", numbers(&List::new(d.shape())));
    put(&mut map, "byte_offset", number(d.byte_offset()));
    put(&mut map, "layout", layout(d.layout(), d.rank()));
    let handle = |b: &BufferHandle| {
        json!({
            "byte_size": number(b.byte_size()), "alignment": b.alignment(),
            "device_tag": b.device().tag(), "sync_mode": b.sync().tag(),
            "memory_class": b.class().tag(),
        })
    };
    put(&mut map, "buffers", d.buffers().iter().map(handle).collect::<Vec<_>>());
    if let Some(scheme) = d.quantization() {
        put(&mut map, "quantization", quantization(scheme));
    }
    if let Some(shard) = d.shard() {
        let (parent, offset) = (numbers(&shard.parent_shape()), numbers(&shard.offset()));
        put(&mut map, "shard", json!({"parent_shape": parent, "shard_offset": offset}));
    }
    if let Some(statistics) = d.statistics() {
        let raw = statistics.raw();
        let bits = |value: f64| number(value.to_bits());
        put(
            &mut map,
            "statistics",
            json!({
                "computed_mask": raw.computed_mask, "nnz": number(raw.nnz),
                "sparsity_ratio_bits": bits(raw.sparsity_ratio),
                "value_min_bits": bits(raw.value_min), "value_max_bits": bits(raw.value_max),
                "value_abs_max_bits": bits(raw.value_abs_max),
                "value_mean_bits": bits(raw.value_mean), "value_stddev_bits": bits(raw.value_stddev),
                "nm_n": raw.nm_n, "nm_m": raw.nm_m, "has_nan": raw.has_nan, "has_inf": raw.has_inf,
            }),
        );
    }
    if let Dtype::Private(private) = d.dtype() {
        let record = private.record();
        let float = record.float_format();
        put(
            &mut map,
            "extension_type",
            json!({
                "bit_width": record.bit_width(), "packing_factor": record.packing_factor(),
                "is_float": u8::from(float.is_some()),
                "is_signed": u8::from(record.kind() == Kind::Signed),
                "sign_bits": float.map_or(0, |f| f.sign_bits),
                "exponent_bits": float.map_or(0, |f| f.exponent_bits),
                "mantissa_bits": float.map_or(0, |f| f.mantissa_bits),
                "exponent_bias": float.map_or(0, |f| f.exponent_bias),
                "has_nan": float.map_or(0, |f| u8::from(f.has_nan)),
                "has_inf": float.map_or(0, |f| u8::from(f.has_inf)),
            }),
        );
    }
    if let Some(role) = d.member_role() {
        put(&mut map, "composite_member", json!({"member_role": role.tag()}));
    }
    Json::Object(map)
}

fn layout(layout: &Layout, rank: usize) -> Json {
    match layout {
        Layout::Strided(strides) => json!({"strides": signed(strides)}),
        Layout::Tiled(tiled) => tile(&tiled.levels, &tiled.inner),
        Layout::Morton(morton) => json!({"morton_bits": morton.bits.to_vec()}),
        Layout::Coo(coo) => json!({"nnz": number(coo.nnz), "is_sorted": u8::from(coo.is_sorted)}),
        Layout::Csr(c) | Layout::Csc(c) => json!({"nnz": number(c.nnz)}),
        Layout::Csf(csf) => json!({"nnz": number(csf.nnz), "mode_order": csf.mode_order.to_vec()}),
        Layout::BlockPaged(paged) => json!({
            "page_size": paged.page_size, "num_pages": number(paged.num_pages), "paged_axis": 0,
            "num_seqs": paged.num_seqs, "kv_role": match paged.kv_role {
                KvRole::Key => 0, KvRole::Value => 1, KvRole::Fused => 2,
            },
            "layer_index": paged.layer_index.unwrap_or(u32::MAX),
            "block_table_index_type": u8::from(paged.wide_indices),
        }),
        Layout::Composite(head) => {
            let (rule, op) = match head.composition {
                Composition::Partition => (1, 0),
                Composition::OverlayReplace => (2, 1),
                Composition::OverlayAdd => (2, 2),
                Composition::Group => (3, 0),
                Composition::Private(rule, op) => (rule, op),
                other => panic!("{other:?}"),
            };
            json!({"composition_rule": rule, "combine_op": op, "member_count": head.member_count})
        }
        Layout::Hilbert(hilbert) => {
            json!({"hilbert_order": hilbert.order, "hilbert_rank": rank})
        }
        Layout::Private(private) => json!({
            "extension_layout_id": number(private.id), "extension_data": hex(&private.data),
        }),
        _ => json!({}),
    }
}

fn tile(levels: &[TileLevel], innermost: &Order) -> Json {
    let tag = |order: &Order| match order {
        Order::RowMajor => 1,
        Order::ColumnMajor => 2,
        Order::Strided(_) => 3,
    };
    let mut map = Map::new();
    put(&mut map, "tile_shape", numbers(&levels[0].tile_shape));
    put(&mut map, "outer_layout", tag(&levels[0].outer));
    if let Order::Strided(strides) = &levels[0].outer {
        put(&mut map, "outer_strides", signed(strides));
    }
    if levels.len() > 1 {
        put(&mut map, "inner_layout", 4);
        put(&mut map, "inner", tile(&levels[1..], innermost));
    } else {
        put(&mut map, "inner_layout", tag(innermost));
        if let Order::Strided(strides) = innermost {
            put(&mut map, "inner_strides", signed(strides));
        }
    }
    Json::Object(map)
}

fn quantization(scheme: &Quantization) -> Json {
    let (version, flags) = scheme.header();
    let mut map = Map::new();
    put(&mut map, "scheme_tag", scheme.tag());
    put(&mut map, "scheme_version", version);
    put(&mut map, "flags", flags);
    match scheme {
        Quantization::PerTensor(s) => {
            put(&mut map, "scale_bits", s.scale.to_bits());
            put(&mut map, "zero_point", s.zero_point);
        }
        Quantization::PerChannel(s) => {
            put(&mut map, "axis", s.axis);
            put(&mut map, "scale_buffer_index", s.scales);
            put(&mut map, "zero_point_buffer_index", s.zero_points.unwrap_or(u32::MAX));
            put(&mut map, "scale_type_tag", 3);
        }
        Quantization::PerBlock(s) => {
            put(&mut map, "axis", s.axis);
            put(&mut map, "block_size", s.block_size);
            put(&mut map, "scale_buffer_index", s.scales);
            put(&mut map, "zero_point_buffer_index", s.zero_points.unwrap_or(u32::MAX));
            put(&mut map, "scale_type_tag", s.scale_type.tag());
        }
        Quantization::Nf4(Nf4 { axis, block_size, scales })
        | Quantization::Mxfp(Mxfp { axis, block_size, scales }) => {
            put(&mut map, "axis", *axis);
            put(&mut map, "block_size", *block_size);
            put(&mut map, "scale_buffer_index", *scales);
        }
        Quantization::Private { payload, .. } => put(&mut map, "payload", hex(payload)),
        other => panic!("{other:?}"),
    }
    Json::Object(map)
}

fn derived(d: &Descriptor, bytes: &[u8]) -> Json {
    let mut map = Map::new();
    put(&mut map, "descriptor_length", bytes.len());
    put(&mut map, "flags", d.flags());
    put(&mut map, "rank", d.rank());
    put(&mut map, "type_name", d.dtype().name());
    put(&mut map, "layout_name", d.layout().name());
    put(&mut map, "buffer_count", d.buffer_count());
    if let Some(scheme) = d.quantization() {
        put(&mut map, "scheme_name", scheme.name());
    }
    if let Some(Quantization::PerTensor(scheme)) = d.quantization() {
        put(&mut map, "scale", python_float(f64::from(scheme.scale)));
    }
    if let Some(statistics) = d.statistics() {
        let raw = statistics.raw();
        for (key, value) in [
            ("sparsity_ratio", raw.sparsity_ratio),
            ("value_min", raw.value_min),
            ("value_max", raw.value_max),
            ("value_abs_max", raw.value_abs_max),
            ("value_mean", raw.value_mean),
            ("value_stddev", raw.value_stddev),
        ] {
            put(&mut map, key, python_float(value));
        }
    }
    Json::Object(map)
}

/// A float as Python's `repr` writes it, which is what the vectors hold.
fn python_float(value: f64) -> String {
    let exponent = if value == 0.0 { 0.0 } else { value.abs().log10().floor() };
    if value.is_nan() {
        "nan".into()
    } else if !value.is_finite() || (-4.0..16.0).contains(&exponent) {
        format!("{value:?}")
    } else {
        let text = format!("{value:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap();
        let exponent: i32 = exponent.parse().unwrap();
        format!("{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
    }
}
