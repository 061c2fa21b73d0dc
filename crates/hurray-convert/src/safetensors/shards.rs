//! A model in several files: the index that says which tensor is in which, and whether the
//! files say the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::header::{LONGEST, Pairs, duplicate};
use crate::error::{LISTED, Shown, Theirs};
use crate::report::Grouped;

/// An index: `{"metadata": {...}, "weight_map": {"tensor": "shard", ...}}`.
#[derive(Debug)]
pub(super) struct ShardIndex {
    pub(super) metadata: serde_json::Map<String, serde_json::Value>,
    /// The names of the tensors of each shard, by the shard's name.
    pub(super) shards: BTreeMap<String, BTreeSet<String>>,
}

/// What is wrong with the index of a sharded model, or with what it leads to.
#[derive(Debug)]
#[non_exhaustive]
pub enum ShardFault {
    /// It is longer than any index: so many bytes.
    TooLong(u64),
    /// It is no JSON, or not what an index says.
    Json(serde_json::Error),
    /// Two entries of the map are for the same tensor.
    DuplicateName(String),
    /// A shard's name that is more, or less, than the name of a file beside the index.
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A shard that is a link to another folder.
    Link(String),
    /// A shard that is no regular file.
    NoFile(String),
    /// The index and the shards do not list the same tensors.
    Mismatch {
        /// Shards that are not there.
        missing: Vec<String>,
        /// Tensors the index says are in a shard, and are not: the tensor, the shard.
        absent: Vec<(String, String)>,
        /// Tensors that are in a shard, and the index does not say so: the tensor, the shard.
        extra: Vec<(String, String)>,
    },
}

impl ShardIndex {
    /// Reads an index, which is all of `json`. The names of its shards are names of files and
    /// nothing else.
    pub(super) fn read(json: &[u8]) -> Result<Self, ShardFault> {
        let Raw { metadata, weight_map } =
            serde_json::from_slice(json).map_err(ShardFault::Json)?;
        if let Some(name) = duplicate(&weight_map) {
            return Err(ShardFault::DuplicateName(name.to_owned()));
        }
        let mut shards = BTreeMap::<_, BTreeSet<_>>::new();
        for (tensor, shard) in weight_map {
            shards.entry(shard).or_default().insert(tensor);
        }
        for name in shards.keys() {
            if let Some(why) = name_fault(name) {
                return Err(ShardFault::Name { name: name.clone(), why });
            }
        }
        Ok(Self { metadata, shards })
    }
}

/// What keeps `name` from being the name of a file beside the index, here and on the other
/// systems that the model may be carried to.
fn name_fault(name: &str) -> Option<&'static str> {
    let reserved = |stem: &str| {
        const NAMES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];
        let stem = stem.trim_end_matches(' ').to_lowercase();
        let port = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt"));
        let mut number = port.unwrap_or_default().chars();
        let is_port =
            matches!((number.next(), number.next()), (Some('0'..='9' | '¹' | '²' | '³'), None));
        is_port || NAMES.contains(&stem.as_str())
    };
    Some(match name {
        "" => "it is empty",
        "." | ".." => "it is a folder",
        _ if name.contains(['/', '\\']) => "it leads to another folder",
        _ if name.contains(':') => "a colon means a drive or a stream on Windows",
        _ if name.contains(char::is_control) => "it has control characters",
        _ if name.ends_with(['.', ' ']) => "Windows takes the end of it away",
        _ if reserved(name.split('.').next().unwrap_or(name)) => "it is a device on Windows",
        _ => return None,
    })
}

/// Where the index and the shards disagree.
#[derive(Default)]
pub(super) struct Disagreement {
    pub(super) missing: Vec<String>,
    absent: Vec<(String, String)>,
    extra: Vec<(String, String)>,
}

impl Disagreement {
    /// Compares what the index says is in `shard` with what is.
    pub(super) fn compare<'t>(
        &mut self,
        shard: &str,
        expected: &BTreeSet<String>,
        found: impl Iterator<Item = &'t str>,
    ) {
        let mut absent: BTreeSet<&str> = expected.iter().map(String::as_str).collect();
        for tensor in found {
            if !absent.remove(tensor) {
                self.extra.push((tensor.to_owned(), shard.to_owned()));
            }
        }
        self.absent.extend(absent.into_iter().map(|name| (name.to_owned(), shard.to_owned())));
    }

    /// Whether there is none.
    pub(super) fn settle(self) -> Result<(), ShardFault> {
        let Self { missing, absent, extra } = self;
        if missing.is_empty() && absent.is_empty() && extra.is_empty() {
            return Ok(());
        }
        Err(ShardFault::Mismatch { missing, absent, extra })
    }
}

#[derive(Default)]
struct Raw {
    metadata: serde_json::Map<String, serde_json::Value>,
    weight_map: Vec<(String, String)>,
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Raw;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an index of shards: a map with \"weight_map\"")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
                let (mut metadata, mut weight_map) = (None, None);
                while let Some(key) = map.next_key::<String>()? {
                    let again = match key.as_str() {
                        "metadata" => metadata.replace(map.next_value::<Option<_>>()?).is_some(),
                        "weight_map" => weight_map.replace(map.next_value::<Pairs>()?).is_some(),
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                            false
                        }
                    };
                    if again {
                        return Err(de::Error::custom(format_args!("{key:?} is there twice")));
                    }
                }
                let weight_map =
                    weight_map.ok_or_else(|| de::Error::missing_field("weight_map"))?.0;
                Ok(Raw { metadata: metadata.flatten().unwrap_or_default(), weight_map })
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

impl fmt::Display for ShardFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong(size) => {
                let (size, most) = (Grouped(*size), Grouped(LONGEST));
                write!(f, "{size} bytes are no index of shards, which has at most {most}")
            }
            Self::Json(error) => write!(f, "no index of shards: {}", Theirs(error)),
            Self::DuplicateName(name) => write!(
                f,
                "the tensor {} is in the map twice: which shard is meant cannot be told",
                Shown(name)
            ),
            Self::Name { name, why } => write!(
                f,
                "the shard name {} is refused, since {why}: a shard is a file beside the index, \
                 called by its name alone",
                Shown(name)
            ),
            Self::Link(name) => write!(
                f,
                "the shard {} is a link that leads out of the folder of the index: copy the file \
                 into it, or allow linked shards if you trust the folder",
                Shown(name)
            ),
            Self::NoFile(name) => write!(f, "the shard {} is no regular file", Shown(name)),
            Self::Mismatch { missing, absent, extra } => {
                f.write_str("the index and the shards do not fit together; get the model again")?;
                let missing = missing.iter().map(|shard| Shown(shard).to_string());
                list(f, "shards that are not there", missing)?;
                let tensor = |(name, shard): &(String, String)| {
                    format!("{} of {}", Shown(name), Shown(shard))
                };
                let what = "in the index, and not in the shard";
                list(f, what, absent.iter().map(tensor))?;
                list(f, "in the shard, and not in the index", extra.iter().map(tensor))
            }
        }
    }
}

/// A line with the first few items, where there are any.
fn list(
    f: &mut fmt::Formatter<'_>,
    what: &str,
    mut items: impl ExactSizeIterator<Item = String>,
) -> fmt::Result {
    if items.len() == 0 {
        return Ok(());
    }
    write!(f, "\n  {what}: ")?;
    for (place, item) in items.by_ref().take(LISTED).enumerate() {
        write!(f, "{}{item}", if place == 0 { "" } else { ", " })?;
    }
    match items.len() {
        0 => Ok(()),
        more => write!(f, ", and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s20_a_shard_is_the_name_of_a_file_and_nothing_else() {
        for name in [
            "",
            ".",
            "..",
            "/abs",
            "../../etc/x",
            "a/b",
            "a\\b",
            "\\\\host\\share",
            "C:x",
            "a:b",
            "a\0b",
            "a\nb",
            "CON",
            "con.safetensors",
            "Nul.tar.gz",
            "COM1",
            "lpt9.x",
            "aux ",
            "COM¹.x",
            "CONIN$",
            "x.",
            "x ",
        ] {
            assert!(name_fault(name).is_some(), "{name:?}");
        }
        for name in
            ["model-00001-of-00002.safetensors", "...x", ".x", "conx", "COM10", "com", "é 世"]
        {
            assert_eq!(name_fault(name), None, "{name:?}");
        }
    }

    #[test]
    fn an_index_says_where_each_tensor_is() {
        let json =
            br#"{"metadata":{"total_size":8},"weight_map":{"b":"1","a":"2","c":"1"},"x":[]}"#;
        let index = ShardIndex::read(json).unwrap();
        let shards: Vec<_> =
            index.shards.iter().map(|(shard, names)| (shard.as_str(), names.len())).collect();
        assert_eq!(shards, [("1", 2), ("2", 1)]);
        assert_eq!(index.metadata["total_size"], 8);
        assert!(ShardIndex::read(br#"{"weight_map":{},"metadata":null}"#).is_ok());
    }

    #[test]
    fn what_is_no_index_is_refused() {
        let deep = [&b"{\"x\":"[..], &[b'['; 100_000]].concat();
        for json in [
            &b"{}"[..],
            b"[]",
            b"{\"weight_map\":{\"a\":1}}",
            b"{\"weight_map\":{},\"weight_map\":{}}",
            b"{\"weight_map\":{}} x",
            b"<html>",
            &deep,
        ] {
            assert!(matches!(ShardIndex::read(json), Err(ShardFault::Json(_))), "{json:?}");
        }
        let twice = ShardIndex::read(br#"{"weight_map":{"a":"1","a":"2"}}"#);
        assert!(matches!(twice, Err(ShardFault::DuplicateName(name)) if name == "a"));
    }
}
