//! The table itself: offset, bytes, section, field, value.

use std::io::{self, Read, Seek, Write};
use std::ops::Range;

use hurray_tensor::format::{Device, Dtype, Field, MemoryClass, SyncMode, Value};

use super::read;
use crate::escape::{Escaped, Quoted};
use crate::output::Output;
use crate::words;

/// What some bytes of an input are.
pub(super) enum Piece {
    Field(Field),
    Data { range: Range<u64>, place: usize, name: String },
}

impl Piece {
    fn range(&self) -> Range<u64> {
        match self {
            Self::Field(field) => field.offset..field.offset.saturating_add(field.length),
            Self::Data { range, .. } => range.clone(),
        }
    }
}

/// Bytes on a line.
const LINE: u64 = 8;
/// The most lines that one field takes; what is left out is said.
const LINES: u64 = 32;
/// Text longer than this is cut where it stands beside its bytes.
const LONGEST_TEXT: usize = 64;
/// Padding is looked at in pieces of this many bytes.
const LOOKED_AT: u64 = 1 << 20;

pub(super) struct Table<'o, 's> {
    out: &'o mut Output<'s>,
}

impl<'o, 's> Table<'o, 's> {
    pub(super) fn new(out: &'o mut Output<'s>) -> io::Result<Self> {
        let ink = out.ink();
        let head =
            format!("{:>8}  {:23}  {:16}  {:26}  value", "offset", "bytes", "section", "field");
        writeln!(out, "{}", ink.bold(head))?;
        Ok(Self { out })
    }

    /// Shows the pieces of `whole`, and what lies between them: padding, unless reading was
    /// given up.
    pub(super) fn write<S: Read + Seek>(
        &mut self,
        source: &mut S,
        whole: Range<u64>,
        mut pieces: Vec<Piece>,
        is_complete: bool,
    ) -> io::Result<()> {
        pieces.sort_by_key(|piece| (piece.range().start, piece.range().end));
        let mut at = whole.start;
        for piece in &pieces {
            let range = piece.range();
            if range.start > at {
                self.between(source, at..range.start, is_complete)?;
            }
            match piece {
                Piece::Field(field) => self.field(source, field)?,
                Piece::Data { range, place, name } => {
                    self.data(range.clone(), *place, Some(name))?;
                }
            }
            at = at.max(range.end);
        }
        if at < whole.end {
            self.between(source, at..whole.end, is_complete)?;
        }
        Ok(())
    }

    fn field<S: Read + Seek>(&mut self, source: &mut S, field: &Field) -> io::Result<()> {
        if field.length == 0 {
            return Ok(());
        }
        let end = field.offset.saturating_add(field.length);
        let shown_end = end.min(field.offset.saturating_add(LINE * LINES));
        let bytes = read(source, &(field.offset..shown_end))?;
        let name = match field.index {
            Some(index) => format!("{}[{index}]", field.name),
            None => field.name.into(),
        };
        let meaning = meaning(field, &bytes);
        self.lines(field.offset, &bytes, field.section, &name, &meaning)?;
        self.left_out(shown_end..end)
    }

    fn lines(
        &mut self,
        offset: u64,
        bytes: &[u8],
        section: &str,
        name: &str,
        value: &str,
    ) -> io::Result<()> {
        let step = usize::try_from(LINE).unwrap_or(usize::MAX);
        let mut at = offset;
        for (number, line) in bytes.chunks(step).enumerate() {
            let digits: Vec<String> = line.iter().map(|byte| format!("{byte:02X}")).collect();
            let digits = digits.join(" ");
            if number == 0 {
                let ink = self.out.ink();
                let section = ink.dim(section);
                writeln!(self.out, "{at:>8}  {digits:23}  {section:16}  {name:26}  {value}")?;
            } else {
                writeln!(self.out, "{at:>8}  {digits}")?;
            }
            at = at.saturating_add(LINE);
        }
        Ok(())
    }

    fn left_out(&mut self, range: Range<u64>) -> io::Result<()> {
        match range.end.saturating_sub(range.start) {
            0 => Ok(()),
            more => {
                writeln!(self.out, "{:>8}  … {} more, not shown", range.start, words::bytes(more))
            }
        }
    }

    /// A buffer, of which no byte is shown.
    pub(super) fn data(
        &mut self,
        range: Range<u64>,
        place: usize,
        name: Option<&str>,
    ) -> io::Result<()> {
        let (ink, size) = (self.out.ink(), words::bytes(range.end.saturating_sub(range.start)));
        let section = ink.dim("data");
        let of = name.map(|name| format!("of {}, ", Escaped::at_most(name, 80)));
        let of = of.unwrap_or_default();
        let field = format!("buffer {place}");
        writeln!(
            self.out,
            "{:>8}  {:23}  {section:16}  {field:26}  {of}{size}, not shown",
            range.start, "…",
        )
    }

    /// What belongs to no field: padding where everything was read.
    fn between<S: Read + Seek>(
        &mut self,
        source: &mut S,
        range: Range<u64>,
        is_complete: bool,
    ) -> io::Result<()> {
        let start = range.start;
        let size = words::bytes(range.end.saturating_sub(start));
        if is_complete && is_zero(source, range.clone())? {
            let ink = self.out.ink();
            let section = ink.dim("padding");
            let zeros = format!("all zero, {size}");
            return writeln!(
                self.out,
                "{start:>8}  {:23}  {section:16}  {:26}  {zeros}",
                "00 …", ""
            );
        }
        let shown_end = range.end.min(start.saturating_add(LINE * LINES));
        let bytes = read(source, &(start..shown_end))?;
        let (section, told) = if is_complete { ("padding", "not zero") } else { ("", "not read") };
        self.lines(start, &bytes, section, "", &format!("{told}, {size}"))?;
        self.left_out(shown_end..range.end)
    }
}

fn is_zero<S: Read + Seek>(source: &mut S, range: Range<u64>) -> io::Result<bool> {
    let mut at = range.start;
    while at < range.end {
        let end = range.end.min(at.saturating_add(LOOKED_AT));
        let bytes = read(source, &(at..end))?;
        if bytes.is_empty() || bytes.iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        at = end;
    }
    Ok(true)
}

/// The value with its name, where the specification names it, and text as text.
fn meaning(field: &Field, bytes: &[u8]) -> String {
    let value = field.value.to_string();
    match field.value {
        Value::Tag(tag) => match tag_name(field.name, tag) {
            Some(name) => format!("{value} {name}"),
            None => value,
        },
        Value::Unsigned(u64::MAX) => format!("{value} (all ones)"),
        Value::Opaque(_) => match std::str::from_utf8(bytes) {
            Ok(text) if bytes.iter().any(|byte| *byte != 0) => {
                Quoted::at_most(text, LONGEST_TEXT).to_string()
            }
            _ => value,
        },
        _ => value,
    }
}

fn tag_name(field: &str, tag: u64) -> Option<String> {
    let tag = u8::try_from(tag).ok()?;
    match field {
        "type_tag" | "scale_type_tag" => Dtype::from_tag(tag).ok().map(|t| t.name().into()),
        "device_tag" => Some(Device::from_tag(tag).to_string()),
        "memory_class" => Some(MemoryClass::from_tag(tag).to_string()),
        "sync_mode" => Some(SyncMode::from_tag(tag).to_string()),
        _ => None,
    }
    // A tag without a name is shown by its number already.
    .filter(|name| !name.starts_with("0x"))
}
