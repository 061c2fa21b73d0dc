//! The tensors that the lines of `vectors/address.jsonl` and `vectors/sparse.jsonl` are about.

#![allow(
    dead_code,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "each test file uses a part of it, and may fail loudly"
)]

use hurray_format::*;
use serde_json::Value as Json;

use super::json::{integer, integers};

/// An index array of u64.
pub(crate) fn words(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
}

/// The dense tensor that a line of `address.jsonl` is about.
pub(crate) fn dense(line: &Json) -> Descriptor {
    let dtype = Dtype::from_tag(line["type_tag"].as_u64().unwrap() as u8).unwrap();
    assert_eq!(dtype.name(), line["type"]);
    let builder = Descriptor::builder(dtype, &integers(&line["shape"]))
        .byte_offset(integer(&line["byte_offset"]))
        .layout(layout(&line["layout"]));
    builder.build().unwrap_or_else(|error| panic!("{}: {error}", line["id"]))
}

fn layout(json: &Json) -> Layout {
    match json["kind"].as_str().unwrap() {
        "row" => Layout::RowMajor,
        "col" => Layout::ColumnMajor,
        "strided" => Layout::strided(signed(&json["strides"])),
        "morton" => {
            Layout::morton(integers(&json["bits"]).iter().map(|n| *n as u32).collect::<Vec<_>>())
        }
        "hilbert" => Layout::Hilbert(Hilbert { order: integer(&json["order"]) as u32 }),
        "tiled" => {
            let mut levels = Vec::new();
            let inner = tile(json, &mut levels);
            Layout::tiled(Tiled { levels, inner })
        }
        other => panic!("{other}"),
    }
}

/// Appends the record and those nested in it; gives the order inside the smallest tile.
fn tile(json: &Json, levels: &mut Vec<TileLevel>) -> Order {
    levels.push(TileLevel {
        tile_shape: integers(&json["tile_shape"]).into(),
        outer: order(&json["outer"], &json["outer_strides"]),
    });
    match json["inner"].as_str().unwrap() {
        "tiled" => tile(&json["inner_tiled"], levels),
        _ => order(&json["inner"], &json["inner_strides"]),
    }
}

fn order(name: &Json, strides: &Json) -> Order {
    match name.as_str().unwrap() {
        "row" => Order::RowMajor,
        "col" => Order::ColumnMajor,
        "strided" => Order::Strided(signed(strides).into()),
        other => panic!("{other}"),
    }
}

fn signed(json: &Json) -> Vec<i64> {
    json.as_array().unwrap().iter().map(|n| n.as_i64().unwrap()).collect()
}

/// The sparse or paged tensor that a line of `sparse.jsonl` is about, and its buffers.
pub(crate) fn sparse(line: &Json) -> (Descriptor, Vec<Vec<u8>>) {
    let dtype = Dtype::from_name(line["type"].as_str().unwrap()).unwrap();
    let nnz = line["nnz"].as_u64().unwrap_or_default();
    let arrays = &line["buffers"];
    let array = |key: &str| words(&integers(&arrays[key]));
    let values = |key: &str| pack(dtype, &arrays[key]);
    let (layout, buffers) = match line["layout"].as_str().unwrap() {
        "coo" => (
            Layout::Coo(Coo { nnz, is_sorted: line["is_sorted"] == 1 }),
            vec![values("values"), array("indices")],
        ),
        "csr" => (
            Layout::Csr(Compressed { nnz }),
            vec![values("values"), array("col_indices"), array("row_ptr")],
        ),
        "csc" => (
            Layout::Csc(Compressed { nnz }),
            vec![values("values"), array("row_indices"), array("col_ptr")],
        ),
        "csf" => {
            let mode_order: Vec<u32> =
                integers(&line["mode_order"]).iter().map(|mode| *mode as u32).collect();
            let mut buffers = vec![values("values")];
            for level in 0..mode_order.len() {
                buffers.push(words(&integers(&arrays["pos"][level])));
                buffers.push(words(&integers(&arrays["crd"][level])));
            }
            (Layout::Csf(Csf { nnz, mode_order: mode_order.into() }), buffers)
        }
        "block_paged" => (
            Layout::BlockPaged(BlockPaged {
                page_size: integer(&line["page_size"]) as u32,
                num_pages: integer(&line["num_pages"]),
                num_seqs: integer(&line["num_seqs"]) as u32,
                kv_role: KvRole::Key,
                layer_index: None,
                wide_indices: true,
            }),
            vec![values("page_pool"), array("block_table"), array("seq_ptr")],
        ),
        other => panic!("{other}"),
    };
    let handles: Vec<_> = buffers.iter().map(|b| BufferHandle::cpu(b.len() as u64)).collect();
    let builder = Descriptor::builder(dtype, &integers(&line["shape"]));
    let tensor = builder.layout(layout).buffers(handles).build();
    (tensor.unwrap_or_else(|error| panic!("{}: {error}", line["id"])), buffers)
}

/// Numbers as the type stores them, packed.
fn pack(dtype: Dtype, values: &Json) -> Vec<u8> {
    let values: Vec<f64> = values.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
    let width = u64::from(dtype.bits());
    let mut bytes = vec![0; dtype.bytes_for(values.len() as u128).unwrap() as usize];
    for (n, value) in values.iter().enumerate() {
        let code = code_of(dtype, *value);
        for bit in 0..width {
            let at = n as u64 * width + bit;
            bytes[(at / 8) as usize] |= ((code >> bit & 1) as u8) << (at % 8);
        }
    }
    bytes
}

/// The bits of a number of the vectors.
pub(crate) fn code_of(dtype: Dtype, value: f64) -> u128 {
    let mask = u128::MAX >> (128 - dtype.bits());
    match dtype {
        Dtype::Float32 => u128::from((value as f32).to_bits()),
        Dtype::Float64 => u128::from(value.to_bits()),
        _ => u128::from((value as i64).cast_unsigned()) & mask,
    }
}
