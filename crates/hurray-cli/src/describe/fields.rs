//! The fields of layouts and of quantization schemes.

use hurray_tensor::format::{
    Array, BlockPaged, CompositeHead, Composition, KvRole, Layout, Mxfp, Nf4, Order, Quantization,
    TileLevel,
};
use serde_json::{Map, Value as Json, json};

use super::{hexadecimal, number, numbers, signed};

/// A buffer or layer that is not there.
const ABSENT: u32 = u32::MAX;

pub(super) fn layout(layout: &Layout, rank: usize) -> Json {
    match layout {
        Layout::Strided(strides) => json!({ "strides": steps(strides) }),
        Layout::Tiled(tiled) => tile(&tiled.levels, &tiled.inner),
        Layout::Morton(morton) => json!({ "morton_bits": morton.bits.to_vec() }),
        Layout::Coo(coo) => {
            json!({ "nnz": number(coo.nnz), "is_sorted": u8::from(coo.is_sorted) })
        }
        Layout::Csr(compressed) | Layout::Csc(compressed) => {
            json!({ "nnz": number(compressed.nnz) })
        }
        Layout::Csf(csf) => {
            json!({ "nnz": number(csf.nnz), "mode_order": csf.mode_order.to_vec() })
        }
        Layout::BlockPaged(paged) => block_paged(paged),
        Layout::Composite(head) => composite(head),
        Layout::Hilbert(hilbert) => {
            json!({ "hilbert_order": hilbert.order, "hilbert_rank": rank })
        }
        Layout::Private(private) => json!({
            "extension_layout_id": number(private.id),
            "extension_data": hexadecimal(&private.data),
        }),
        // Row-major and column-major have no fields.
        _ => json!({}),
    }
}

fn block_paged(paged: &BlockPaged) -> Json {
    json!({
        "page_size": paged.page_size,
        "num_pages": number(paged.num_pages),
        "paged_axis": 0,
        "num_seqs": paged.num_seqs,
        "kv_role": match paged.kv_role {
            KvRole::Key => 0,
            KvRole::Value => 1,
            KvRole::Fused => 2,
        },
        "layer_index": paged.layer_index.unwrap_or(ABSENT),
        "block_table_index_type": u8::from(paged.wide_indices),
    })
}

fn composite(head: &CompositeHead) -> Json {
    let (rule, combine) = match head.composition {
        Composition::Partition => (1, 0),
        Composition::OverlayReplace => (2, 1),
        Composition::OverlayAdd => (2, 2),
        Composition::Group => (3, 0),
        Composition::Private(rule, combine) => (rule, combine),
        // The enum may grow; a description says what is known of it.
        _ => return json!({ "member_count": head.member_count }),
    };
    json!({
        "composition_rule": rule,
        "combine_op": combine,
        "member_count": head.member_count,
    })
}

/// One tiled record, with the records inside it.
fn tile(levels: &[TileLevel], innermost: &Order) -> Json {
    let mut map = Map::new();
    let Some((level, nested)) = levels.split_first() else {
        return Json::Object(map);
    };
    map.insert("tile_shape".into(), numbers(&level.tile_shape));
    order(&mut map, "outer_layout", "outer_strides", &level.outer);
    if nested.is_empty() {
        order(&mut map, "inner_layout", "inner_strides", innermost);
    } else {
        map.insert("inner_layout".into(), 4.into());
        map.insert("inner".into(), tile(nested, innermost));
    }
    Json::Object(map)
}

fn order(map: &mut Map<String, Json>, layout_key: &str, strides_key: &str, order: &Order) {
    let tag = match order {
        Order::RowMajor => 1,
        Order::ColumnMajor => 2,
        Order::Strided(_) => 3,
    };
    map.insert(layout_key.into(), tag.into());
    if let Order::Strided(strides) = order {
        map.insert(strides_key.into(), steps(strides));
    }
}

fn steps(values: &impl Array<i64>) -> Json {
    values.iter().map(signed).collect()
}

pub(super) fn quantization(scheme: &Quantization) -> Json {
    let (version, flags) = scheme.header();
    let mut map = Map::new();
    let mut put = |key: &str, value: Json| map.insert(key.into(), value);
    put("scheme_tag", scheme.tag().into());
    put("scheme_version", version.into());
    put("flags", flags.into());
    match scheme {
        Quantization::PerTensor(scheme) => {
            put("scale_bits", scheme.scale.to_bits().into());
            put("zero_point", scheme.zero_point.into());
        }
        Quantization::PerChannel(scheme) => {
            put("axis", scheme.axis.into());
            put("scale_buffer_index", scheme.scales.into());
            put("zero_point_buffer_index", scheme.zero_points.unwrap_or(ABSENT).into());
            // The format has one type of scale for it: float32.
            put("scale_type_tag", hurray_tensor::format::Dtype::Float32.tag().into());
        }
        Quantization::PerBlock(scheme) => {
            put("axis", scheme.axis.into());
            put("block_size", scheme.block_size.into());
            put("scale_buffer_index", scheme.scales.into());
            put("zero_point_buffer_index", scheme.zero_points.unwrap_or(ABSENT).into());
            put("scale_type_tag", scheme.scale_type.tag().into());
        }
        Quantization::Nf4(Nf4 { axis, block_size, scales })
        | Quantization::Mxfp(Mxfp { axis, block_size, scales }) => {
            put("axis", (*axis).into());
            put("block_size", (*block_size).into());
            put("scale_buffer_index", (*scales).into());
        }
        Quantization::Private { payload, .. } => {
            put("payload", hexadecimal(payload).into());
        }
        // A scheme of a later version: its header is all that is known.
        _ => {}
    }
    Json::Object(map)
}
