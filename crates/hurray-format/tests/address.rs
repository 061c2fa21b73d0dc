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
use support::layouts::dense;
use support::{integer, integers, lines};

#[test]
fn every_element_lies_where_the_vectors_say() {
    let vectors = lines("address.jsonl");
    assert_eq!(vectors.len(), 81);
    for line in &vectors {
        let name = line["id"].as_str().unwrap();
        let tensor = dense(line);
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
        let found = dense(line).locate(&integers(&line["index"])).unwrap();
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
