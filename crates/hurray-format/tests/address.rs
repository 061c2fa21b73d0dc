//! Every line of `vectors/address.jsonl`: where an element of a dense tensor lies.

#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod support;

use hurray_format::*;
use serde_json::Value as Json;
use support::{integer, integers, lines};

#[test]
fn every_element_lies_where_the_vectors_say() {
    let vectors = lines("address.jsonl");
    assert_eq!(vectors.len(), 81);
    for line in &vectors {
        let name = line["id"].as_str().unwrap();
        let tensor = tensor(line).unwrap_or_else(|error| panic!("{name}: {error}"));
        let index = integers(&line["index"]);
        let found = tensor.locate(&index).unwrap_or_else(|error| panic!("{name}: {error}"));

        let expected = (integer(&line["byte"]), integer(&line["bit"]));
        assert_eq!((found.byte, u64::from(found.bit)), expected, "{name}");
        assert_eq!(u64::from(tensor.dtype().bits()), integer(&line["bits"]), "{name}");
        let offset = line["offset"].as_i64().unwrap();
        assert_eq!(offset, offset_of(found, &tensor), "{name}: {}", line["note"]);

        // A table of the least sizes holds what the layout stores, and not a bit more.
        if let Some(stored) = line["stored_elements"].as_u64() {
            let bytes = tensor.dtype().bytes_for(u128::from(stored)).unwrap();
            let held = tensor.buffers()[0].byte_size() - tensor.byte_offset();
            assert_eq!(u128::from(held), bytes, "{name}");
        }
        // A borrowed descriptor finds the same place.
        let bytes = tensor.encode();
        assert_eq!(DescriptorRef::read(&bytes).unwrap().locate(&index), Ok(found), "{name}");
    }
}

/// Six-bit elements are addressed by their group of four: three bytes, slots of six bits.
#[test]
fn six_bit_elements_lie_in_their_slot_of_their_group() {
    let mut count = 0;
    for line in lines("address.jsonl").iter().filter(|line| line["group_byte"].is_u64()) {
        let found = tensor(line).unwrap().locate(&integers(&line["index"])).unwrap();
        let first_bit = integer(&line["group_byte"]) * 8 + integer(&line["group_slot"]) * 6;
        assert_eq!(found.byte * 8 + u64::from(found.bit), first_bit, "{}", line["id"]);
        count += 1;
    }
    assert_eq!(count, 10);
}

/// The element offset of a place, from the start of the tensor.
fn offset_of(place: Location, tensor: &Descriptor) -> i64 {
    let bits = place.byte as i64 * 8 + i64::from(place.bit) - tensor.byte_offset() as i64 * 8;
    let width = i64::from(tensor.dtype().bits());
    assert_eq!(bits % width, 0);
    bits / width
}

fn tensor(line: &Json) -> Result<Descriptor> {
    let dtype = Dtype::from_tag(line["type_tag"].as_u64().unwrap() as u8).unwrap();
    assert_eq!(dtype.name(), line["type"]);
    Descriptor::builder(dtype, &integers(&line["shape"]))
        .byte_offset(integer(&line["byte_offset"]))
        .layout(layout(&line["layout"]))
        .build()
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
