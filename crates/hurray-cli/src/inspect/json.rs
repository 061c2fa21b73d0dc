//! The same as JSON, for programs. Keys are only ever added. It is made piece by piece, as
//! it is written: of a tensor or a value only what stands on the listing is kept.

use hurray_tensor::File;
use hurray_tensor::format::{Container, KvValue};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value as Json, json};

use super::listing::{Listing, Seen};
use crate::describe::{derived, expected, key_value, number};
use crate::json::{Entries, Items};
use crate::refusal;

pub(super) fn file<'l>(file: &'l File, listing: &'l Listing) -> impl Serialize + 'l {
    Whole { file: Some(file), listing }
}

pub(super) fn stream(listing: &Listing) -> impl Serialize + '_ {
    Whole { file: None, listing }
}

/// A file, or a stream.
struct Whole<'l> {
    file: Option<&'l File>,
    listing: &'l Listing,
}

impl Serialize for Whole<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self { file, listing } = self;
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("kind", if file.is_some() { "file" } else { "stream" })?;
        if let Some(file) = file {
            map.serialize_entry("header", &header(file.container()))?;
        }
        map.serialize_entry("tensors", &Items(|| listing.tensors.iter().map(tensor)))?;
        map.serialize_entry("composites", &Items(|| listing.heads().into_iter().map(Bound)))?;
        if let Some(file) = file {
            map.serialize_entry("aliases", &Entries(|| file.kv().aliases()))?;
            map.serialize_entry("kv", &Items(|| file.kv().iter().map(Pair)))?;
        }
        map.end()
    }
}

/// A key with its value.
struct Pair<'l>((&'l str, KvValue<'l>));

impl Serialize for Pair<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self((key, value)) = self;
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("key", key)?;
        map.serialize_entry("kind", value.kind().name())?;
        map.serialize_entry("value", &key_value(value))?;
        map.end()
    }
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

/// A head with its direct members, with the keys of the vectors.
struct Bound<'l>((&'l Seen, Vec<&'l Seen>));

impl Serialize for Bound<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self((head, members)) = self;
        let fields = head.descriptor().map(expected);
        let field = |name: &str| fields.as_ref()?.get("layout")?.get(name);
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("head", &head.name)?;
        map.serialize_entry("rule", &field("composition_rule"))?;
        map.serialize_entry("op", &field("combine_op"))?;
        map.serialize_entry("members", &Items(|| members.iter().map(|member| &*member.name)))?;
        map.end()
    }
}
