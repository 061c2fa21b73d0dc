//! The keys that Hurray itself puts into a file's key-values (decision 30). A reader that
//! does not know them loses nothing.

use alloc::vec::Vec;

use super::kv::{Kv, KvKind, KvValue};
use crate::rules::Rule;

/// What all of them start with.
pub const RESERVED_KEYS: &str = "hurray.";
/// Before a tensor's name: the CRC-32C of each of its buffers, an array of u64.
pub const CHECKSUM_KEY: &str = "hurray.crc32c.";
/// Before a name: the tensor it stands for, a string.
pub const ALIAS_KEY: &str = "hurray.alias.";
/// Before a block-paged tensor's name: the token count of each sequence, an array of u64.
pub const SEQUENCE_LENGTHS_KEY: &str = "hurray.seq_lens.";

/// The rule that a value breaks under one of Hurray's own keys, whatever the file holds.
pub(super) fn kind_fault(key: &str, value: &KvValue<'_>) -> Option<Rule> {
    if key.starts_with(ALIAS_KEY) {
        return (value.kind() != KvKind::String).then_some(Rule::FileTensorAliasKey);
    }
    let (_, rule) = of_numbers(key)?;
    let is_numbers = matches!(value, KvValue::Array(array) if array.element() == KvKind::U64);
    (!is_numbers).then_some(rule)
}

/// The tensor that a key has numbers for, and the rule that other values break.
pub(super) fn of_numbers(key: &str) -> Option<(&str, Rule)> {
    let checksums = (CHECKSUM_KEY, Rule::FileTensorChecksumKey);
    let lengths = (SEQUENCE_LENGTHS_KEY, Rule::FileTensorSequenceLengthsKey);
    let named = |(prefix, rule)| Some((key.strip_prefix(prefix)?, rule));
    [checksums, lengths].into_iter().find_map(named)
}

impl Kv {
    /// The names that stand for a tensor, each with the tensor's own name. A value that
    /// is no string is left out; `verify` reports it.
    pub fn aliases(&self) -> impl Iterator<Item = (&str, &str)> {
        self.iter().filter_map(|(key, value)| match (key.strip_prefix(ALIAS_KEY), value) {
            (Some(name), KvValue::String(target)) => Some((name, target)),
            _ => None,
        })
    }

    /// The checksums of the tensor's buffers, where the file has them and they are one
    /// number of 32 bits each.
    pub fn checksums(&self, tensor: &str) -> Option<Vec<u32>> {
        let numbers = self.numbers(CHECKSUM_KEY, tensor)?;
        numbers.into_iter().map(|number| u32::try_from(number).ok()).collect()
    }

    /// The token count of each sequence of a block-paged tensor.
    pub fn sequence_lengths(&self, tensor: &str) -> Option<Vec<u64>> {
        self.numbers(SEQUENCE_LENGTHS_KEY, tensor)
    }

    fn numbers(&self, prefix: &str, tensor: &str) -> Option<Vec<u64>> {
        let key = alloc::format!("{prefix}{tensor}");
        match self.get(&key)? {
            KvValue::Array(array) => array.iter().map(|value| value.as_u64()).collect(),
            _ => None,
        }
    }
}
