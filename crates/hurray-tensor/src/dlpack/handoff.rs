//! What is asked of a handoff, and what it did.

use super::stream::StreamOrder;

/// Why elements were copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// It was asked for.
    Asked,
    /// A bool is a bit here and a byte in DLPack.
    BoolWidth,
    /// Elements narrower than a byte were padded to one.
    Padded,
    /// The last group of 6-bit elements was cut short.
    Tail,
    /// Elements were not aligned for their type.
    Misaligned,
    /// The layout is none that DLPack has.
    Layout,
    /// The consumer wants to write, or cannot be told that it must not.
    ReadOnly,
}

/// What a handoff did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Why elements were copied; `None` where memory was handed over where it is.
    pub copied: Option<Reason>,
    /// How many bytes the copy takes; 0 without one.
    pub copied_bytes: u64,
    /// What the stream that was named came to.
    pub order: StreamOrder,
    /// What a tensor has and DLPack does not carry.
    pub omitted: Omitted,
}

/// What describes a tensor here, changes no element, and stayed behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Omitted {
    /// Which box of a larger tensor it is.
    pub shard: bool,
    /// Advice about its values.
    pub statistics: bool,
    /// The part it plays in an overlay.
    pub member_role: bool,
}

/// What holds of a managed tensor beside what is in it: its struct says nothing of who else is in
/// the memory. Whoever takes one over answers for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// What others do with the memory meanwhile.
    pub others: Others,
    /// The `stream` that the producer was given, if it was.
    pub stream: Option<i64>,
}

/// What others may do with memory for as long as a managed tensor of it is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Others {
    /// Read it. It is read-only here too.
    #[default]
    Read,
    /// Write to it, as a library does that goes on with its own array. The memory is never given
    /// out as a slice; a copy is one that the CPU may look at.
    Write,
    /// Nothing: the producer gave it away. It may be written to here, unless it is marked
    /// read-only. A struct that says it is a copy is given away too, unless others
    /// [write](Self::Write) to it by the caller's word.
    Nothing,
}
