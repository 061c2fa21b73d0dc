//! What a conversion did: what moved, what was changed on the way, what was left out.

use std::fmt;

use hurray_tensor::format::KvKind;

use crate::error::{LISTED, Shown};
use crate::piece::as_length;

/// What a conversion did. Its `Display` is for a person; the fields are for programs.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// How many tensors were written, aliases not counted.
    pub tensors: u64,
    /// Bytes of their data as they were read.
    pub bytes: u64,
    /// Those of them that were written as they are; the others were transcoded.
    pub copied_bytes: u64,
    /// The tensors whose bytes are others than before, though their values are the same.
    pub transcoded: Vec<Transcoded>,
    /// Names that stand for a tensor of another name.
    pub aliases: Vec<Alias>,
    /// What became of names.
    pub names: Names,
    /// What was changed or left out besides the data.
    pub changes: Vec<Change>,
}

/// A tensor whose bytes are others than before, though its values are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transcoded {
    /// Its name.
    pub tensor: String,
    /// Its type before, and how it is stored.
    pub from: &'static str,
    /// Its type now, and how it is stored.
    pub to: &'static str,
    /// Its bytes before.
    pub bytes_before: u64,
    /// Its bytes now.
    pub bytes_after: u64,
}

/// A name that stands for a tensor of another name, so that its data is stored once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The name.
    pub name: String,
    /// The tensor.
    pub tensor: String,
}

/// What became of names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Names {
    /// They are the same.
    #[default]
    Kept,
    /// There were none: the caller gave them.
    Given,
    /// There were none: tensors are called `tensor.0`, `tensor.1`, …
    Numbered,
    /// The output has none.
    LeftOut,
}

/// Something besides the data that was changed or left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// A key of the metadata, or the tensor's name where it concerns one.
    pub subject: String,
    /// What was done.
    pub what: Changed,
}

/// What was changed or left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Changed {
    /// A value that is no text was written as JSON text.
    JsonText(KvKind),
    /// A value of an index of shards that is no text was written as JSON text.
    IndexJsonText,
    /// Left out: the key is one of Hurray's own, in a file of another kind.
    ReservedKey,
    /// Left out: the output has no place for this key of Hurray's own.
    OwnKey,
    /// Left out: the key has no character.
    EmptyKey,
    /// Left out: the key takes more than 65,535 bytes.
    LongKey,
    /// Left out: another shard, or an alias, has the key with another value.
    OtherValue,
    /// Left out: it says how large the shards are together.
    ShardSizes,
    /// Left out: the checksums of the tensor's data. They were right.
    Checksums,
    /// Left out: the token counts of a paged tensor.
    SequenceLengths,
    /// Left out: the statistics of the tensor.
    Statistics,
    /// Left out: fields of the tensor's descriptor from a later version of the format.
    NewerFields,
    /// Left out: a plain stream has no key-values.
    NoKeyValues,
}

impl Changed {
    /// A word for it that stays the same, for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::JsonText(_) => "json-text",
            Self::IndexJsonText => "index-json-text",
            Self::ReservedKey => "reserved-key",
            Self::OwnKey => "own-key",
            Self::EmptyKey => "empty-key",
            Self::LongKey => "long-key",
            Self::OtherValue => "other-value",
            Self::ShardSizes => "shard-sizes",
            Self::Checksums => "checksums",
            Self::SequenceLengths => "sequence-lengths",
            Self::Statistics => "statistics",
            Self::NewerFields => "newer-fields",
            Self::NoKeyValues => "no-key-values",
        }
    }

    /// Whether it is not in the output in any form.
    pub fn is_left_out(self) -> bool {
        !matches!(self, Self::JsonText(_) | Self::IndexJsonText)
    }
}

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::JsonText(kind) => write!(f, "{} written as JSON text", kind.name()),
            Self::IndexJsonText => f.write_str("written as JSON text"),
            Self::ReservedKey => f.write_str("left out, keys under \"hurray.\" are reserved"),
            Self::OwnKey => f.write_str("left out, safetensors has no place for it"),
            Self::EmptyKey => f.write_str("left out, a key is not empty"),
            Self::LongKey => f.write_str("left out, a key has at most 65,535 bytes"),
            Self::OtherValue => f.write_str("left out, another value has the same key"),
            Self::ShardSizes => f.write_str("left out, it is about the shards"),
            Self::Checksums => f.write_str("checksums compared, then left out"),
            Self::SequenceLengths => f.write_str("token counts left out"),
            Self::Statistics => f.write_str("statistics left out"),
            Self::NewerFields => f.write_str("fields of a later version left out"),
            Self::NoKeyValues => f.write_str("left out, a stream has no key-values"),
        }
    }
}

impl Report {
    pub(crate) fn change(&mut self, subject: &str, what: Changed) {
        self.changes.push(Change { subject: subject.to_owned(), what });
    }

    pub(crate) fn alias(&mut self, name: &str, tensor: &str) {
        self.aliases.push(Alias { name: name.to_owned(), tensor: tensor.to_owned() });
    }

    /// A tensor whose `bytes` were copied.
    pub(crate) fn copied(&mut self, bytes: u64) {
        self.tensors = self.tensors.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
        self.copied_bytes = self.copied_bytes.saturating_add(bytes);
    }

    pub(crate) fn transcoded(&mut self, transcoded: Transcoded) {
        self.tensors = self.tensors.saturating_add(1);
        self.bytes = self.bytes.saturating_add(transcoded.bytes_before);
        self.transcoded.push(transcoded);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tensors, bytes, copied_bytes, .. } = self;
        let plural = if *tensors == 1 { "" } else { "s" };
        let (tensors, bytes, copied) = (Grouped(*tensors), Grouped(*bytes), Grouped(*copied_bytes));
        write!(f, "{tensors} tensor{plural}, {bytes} bytes, {copied} of them copied as they are")?;
        match self.names {
            Names::Kept | Names::Given => {}
            Names::Numbered => f.write_str("\nnames: there were none, so they are numbers")?,
            Names::LeftOut => f.write_str("\nnames: left out, a stream has none")?,
        }
        let transcoded = self.transcoded.iter().map(|one| {
            let Transcoded { tensor, from, to, bytes_before, bytes_after } = one;
            let (before, after) = (Grouped(*bytes_before), Grouped(*bytes_after));
            format!("{}: {from} ({before} bytes) to {to} ({after})", Shown(tensor))
        });
        lines(f, "transcoded", transcoded)?;
        let aliases = self.aliases.iter();
        let aliases =
            aliases.map(|one| format!("{} stands for {}", Shown(&one.name), Shown(&one.tensor)));
        lines(f, "alias", aliases)?;
        // One line for all that met the same fate, in the order in which they did first.
        let mut seen = Vec::new();
        for change in &self.changes {
            if !seen.contains(&change.what) {
                seen.push(change.what);
                let same = self.changes.iter().filter(|other| other.what == change.what);
                if change.what == Changed::Checksums {
                    // Every tensor has them; the names would say nothing.
                    let count = same.count();
                    let plural = if count == 1 { "" } else { "s" };
                    let count = Grouped(as_length(count));
                    write!(f, "\n{}: of {count} tensor{plural}", change.what)?;
                    continue;
                }
                write!(f, "\n{}: ", change.what)?;
                some(f, same.map(|change| Shown(&change.subject)))?;
            }
        }
        Ok(())
    }
}

/// A line for each of the first few.
fn lines(
    f: &mut fmt::Formatter<'_>,
    what: &str,
    mut items: impl ExactSizeIterator<Item = String>,
) -> fmt::Result {
    for item in items.by_ref().take(LISTED) {
        write!(f, "\n{what}: {item}")?;
    }
    match items.len() {
        0 => Ok(()),
        more => write!(f, "\n{what}: {} more", Grouped(as_length(more))),
    }
}

/// The first few in one line.
fn some(
    f: &mut fmt::Formatter<'_>,
    mut items: impl Iterator<Item = impl fmt::Display>,
) -> fmt::Result {
    for (place, item) in items.by_ref().take(LISTED).enumerate() {
        write!(f, "{}{item}", if place == 0 { "" } else { ", " })?;
    }
    match items.count() {
        0 => Ok(()),
        more => write!(f, " and {} more", Grouped(as_length(more))),
    }
}

/// A number with its digits in groups of three.
pub(crate) struct Grouped(pub(crate) u64);

impl fmt::Display for Grouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        let groups: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
        f.write_str(&String::from_utf8_lossy(&groups.join(&b',')))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_counts_what_is_alike() {
        assert_eq!(Grouped(0).to_string(), "0");
        assert_eq!(Grouped(999).to_string(), "999");
        assert_eq!(Grouped(1_000).to_string(), "1,000");
        assert_eq!(Grouped(u64::MAX).to_string(), "18,446,744,073,709,551,615");
        let mut report = Report::default();
        report.copied(12_345);
        report.change("w", Changed::Checksums);
        let told = "1 tensor, 12,345 bytes, 12,345 of them copied as they are\n\
                    checksums compared, then left out: of 1 tensor";
        assert_eq!(report.to_string(), told);
        report.change("v", Changed::Checksums);
        report.change("v", Changed::Statistics);
        let told = "left out: of 2 tensors\nstatistics left out: \"v\"";
        assert!(report.to_string().ends_with(told), "{report}");
    }
}
