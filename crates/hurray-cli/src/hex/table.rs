//! The table itself: offset, bytes, section, field, value.

use std::fmt::Write as _;
use std::io::{self, Read, Seek, Write};
use std::ops::Range;

use hurray_tensor::format::{DeviceTag, Dtype, Field, MemoryClass, SyncMode, Trace, Value};

use super::window::Window;
use crate::escape::{Escaped, Quoted};
use crate::output::Output;
use crate::words;

/// Bytes on a line.
const LINE: u64 = 8;
/// The most lines that one field takes; what is left out is said.
const LINES: u64 = 32;
/// Text longer than this is cut where it stands beside its bytes.
const LONGEST_TEXT: usize = 64;

/// Rows are written as they are told, in the order in which their bytes lie; what was told
/// is not kept.
pub(super) struct Table<'o, 's> {
    out: &'o mut Output<'s>,
    /// Where what was not told yet starts.
    at: u64,
    /// Whether reading went well up to here: what belongs to no field is padding then.
    pub(super) is_read: bool,
    /// The digits of a line.
    digits: String,
}

impl<'o, 's> Table<'o, 's> {
    pub(super) fn new(out: &'o mut Output<'s>) -> io::Result<Self> {
        let ink = out.ink();
        let head =
            format!("{:>8}  {:23}  {:16}  {:26}  value", "offset", "bytes", "section", "field");
        writeln!(out, "{}", ink.bold(head))?;
        Ok(Self { out, at: 0, is_read: true, digits: String::new() })
    }

    /// Shows a few fields, which may be told in another order than they lie.
    pub(super) fn fields<S: Read + Seek>(
        &mut self,
        source: &mut Window<S>,
        fields: &mut [Field],
    ) -> io::Result<()> {
        fields.sort_by_key(|field| (field.offset, field.length));
        fields.iter().try_for_each(|field| self.field(source, field))
    }

    /// Shows what lies before `end` and was not told yet.
    pub(super) fn up_to<S: Read + Seek>(
        &mut self,
        source: &mut Window<S>,
        end: u64,
    ) -> io::Result<()> {
        if end > self.at {
            self.between(source, self.at..end)?;
            self.at = end;
        }
        Ok(())
    }

    fn field<S: Read + Seek>(&mut self, source: &mut Window<S>, field: &Field) -> io::Result<()> {
        if field.length == 0 {
            return Ok(());
        }
        self.up_to(source, field.offset)?;
        let end = field.offset.saturating_add(field.length);
        let shown_end = end.min(field.offset.saturating_add(LINE * LINES));
        let bytes = source.look(&(field.offset..shown_end))?;
        let meaning = meaning(field, bytes);
        match field.index {
            Some(index) => {
                let name = format!("{}[{index}]", field.name);
                self.lines(field.offset, bytes, field.section, &name, &meaning)?;
            }
            None => self.lines(field.offset, bytes, field.section, field.name, &meaning)?,
        }
        self.left_out(shown_end..end)?;
        self.at = self.at.max(end);
        Ok(())
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
            let Self { out, digits, .. } = self;
            digits.clear();
            for byte in line {
                let space = if digits.is_empty() { "" } else { " " };
                // Writing to a string cannot fail.
                let _ = write!(digits, "{space}{byte:02X}");
            }
            if number == 0 {
                let section = out.ink().dim(section);
                writeln!(out, "{at:>8}  {digits:23}  {section:16}  {name:26}  {value}")?;
            } else {
                writeln!(out, "{at:>8}  {digits}")?;
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
        range: &Range<u64>,
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
        )?;
        if range.start <= self.at {
            self.at = self.at.max(range.end);
        }
        Ok(())
    }

    /// What belongs to no field: padding where everything was read.
    fn between<S: Read + Seek>(
        &mut self,
        source: &mut Window<S>,
        range: Range<u64>,
    ) -> io::Result<()> {
        let start = range.start;
        let size = words::bytes(range.end.saturating_sub(start));
        if self.is_read && source.is_zero(range.clone())? {
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
        let bytes = source.look(&(start..shown_end))?;
        let (section, told) = if self.is_read { ("padding", "not zero") } else { ("", "not read") };
        self.lines(start, bytes, section, "", &format!("{told}, {size}"))?;
        self.left_out(shown_end..range.end)
    }
}

/// A trace that writes a row for each field it is told, for sections of any length.
pub(super) struct Rows<'t, 'o, 's, S> {
    pub(super) table: &'t mut Table<'o, 's>,
    pub(super) source: &'t mut Window<S>,
    /// Where the section starts, where its fields count from there.
    pub(super) start: u64,
    /// A decoder cannot be stopped by its trace: what goes wrong here is kept, and nothing
    /// is written any more.
    pub(super) written: io::Result<()>,
}

impl<S: Read + Seek> Trace for Rows<'_, '_, '_, S> {
    fn field(&mut self, mut field: Field) {
        if self.written.is_ok() {
            field.offset = field.offset.saturating_add(self.start);
            self.written = self.table.field(self.source, &field);
        }
    }
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
        "device_tag" => Some(DeviceTag::from_tag(tag).to_string()),
        "memory_class" => Some(MemoryClass::from_tag(tag).to_string()),
        "sync_mode" => Some(SyncMode::from_tag(tag).to_string()),
        _ => None,
    }
    // A tag without a name is shown by its number already.
    .filter(|name| !name.starts_with("0x"))
}
