//! Values of key-values. They may be as long as a file: they are written from where they
//! lie, and nothing is built of them.

use std::fmt;

use hurray_tensor::format::{KvArray, KvValue};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::json::Items;

/// A value of a file's key-values: 64-bit integers are decimal strings, floats their bits
/// in hexadecimal, bytes hexadecimal, and arrays tell the kind of their elements.
pub fn key_value<'v>(value: &'v KvValue<'v>) -> impl Serialize + 'v {
    Described(value)
}

struct Described<'v>(&'v KvValue<'v>);

impl Serialize for Described<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            KvValue::String(text) => to.serialize_str(text),
            KvValue::I64(number) => to.collect_str(number),
            KvValue::U64(number) => to.collect_str(number),
            KvValue::F64(number) => to.collect_str(&format_args!("{:016x}", number.to_bits())),
            KvValue::Bool(flag) => to.serialize_bool(*flag),
            KvValue::Bytes(bytes) => to.collect_str(&Hexadecimal(bytes)),
            KvValue::Array(array) => {
                let mut map = to.serialize_map(None)?;
                map.serialize_entry("element", array.element().name())?;
                map.serialize_entry("values", &Items(|| items(array)))?;
                map.end()
            }
        }
    }
}

fn items<'v>(array: &'v KvArray<'v>) -> impl Iterator<Item: Serialize> {
    array.iter().map(Item)
}

/// A value that is made when its turn comes.
struct Item<'v>(KvValue<'v>);

impl Serialize for Item<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Described(&self.0).serialize(to)
    }
}

/// The hexadecimal digits of bytes.
pub(super) struct Hexadecimal<'b>(pub(super) &'b [u8]);

impl fmt::Display for Hexadecimal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
