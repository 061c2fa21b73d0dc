//! The same as JSON, for programs. Keys are only ever added.

use hurray_tensor::File;
use hurray_tensor::format::Container;
use serde_json::{Map, Value as Json, json};

use super::listing::{Listing, Seen};
use crate::describe::{derived, expected, key_value, number};
use crate::refusal;

pub(super) fn file(file: &File, listing: &Listing) -> Json {
    let key_values = file.kv().iter().map(|(key, value)| {
        json!({
            "key": key, "kind": value.kind().name(), "value": key_value(&value),
        })
    });
    let aliases: Map<String, Json> =
        file.kv().aliases().map(|(name, target)| (name.into(), target.into())).collect();
    json!({
        "kind": "file",
        "header": header(file.container()),
        "tensors": tensors(listing),
        "composites": composites(listing),
        "aliases": aliases,
        "kv": key_values.collect::<Json>(),
    })
}

pub(super) fn stream(listing: &Listing) -> Json {
    json!({
        "kind": "stream",
        "tensors": tensors(listing),
        "composites": composites(listing),
    })
}

/// The keys of the vectors.
fn header(container: &Container) -> Json {
    let header = container.header();
    let (major, minor) = header.version();
    json!({
        "major": major,
        "minor": minor,
        "flags": header.flags(),
        "alignment": header.alignment(),
        "first": number(header.first_descriptor()),
        // All ones is unknown; the vectors always write it as text.
        "hint": header.count_hint().unwrap_or(u64::MAX).to_string(),
    })
}

fn tensors(listing: &Listing) -> Json {
    listing.tensors.iter().map(tensor).collect()
}

fn tensor(tensor: &Seen) -> Json {
    let mut map = Map::new();
    let length = tensor.descriptor.end.saturating_sub(tensor.descriptor.start);
    map.insert("name".into(), tensor.name.as_str().into());
    map.insert("descriptor_offset".into(), number(tensor.descriptor.start));
    map.insert("descriptor_length".into(), number(length));
    map.insert("data_offset".into(), number(tensor.data.start));
    let data_length = tensor.data.end.saturating_sub(tensor.data.start);
    map.insert("data_length".into(), number(data_length));
    match &tensor.known {
        Ok((descriptor, buffers)) => {
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            let buffer = |range: &std::ops::Range<u64>| {
                json!({
                    "offset": number(range.start),
                    "length": number(range.end.saturating_sub(range.start)),
                })
            };
            map.insert("buffers".into(), buffers.iter().map(buffer).collect());
            map.insert("descriptor".into(), expected(descriptor));
            map.insert("derived".into(), derived(descriptor, length));
        }
        Err(error) => {
            let mut refused = Map::new();
            refusal::put(&mut refused, error);
            map.insert("error".into(), Json::Object(refused));
        }
    }
    Json::Object(map)
}

/// Each head with its direct members, with the keys of the vectors.
fn composites(listing: &Listing) -> Json {
    listing.heads().into_iter().map(|(head, members)| composite(head, &members)).collect()
}

fn composite(head: &Seen, members: &[&Seen]) -> Json {
    let fields = head.descriptor().map(expected);
    let field = |name: &str| {
        let layout = fields.as_ref().and_then(|fields| fields.get("layout"));
        layout.and_then(|layout| layout.get(name)).cloned()
    };
    let names = members.iter().map(|member| Json::from(member.name.as_str()));
    json!({
        "head": head.name,
        "rule": field("composition_rule"),
        "op": field("combine_op"),
        "members": names.collect::<Json>(),
    })
}
