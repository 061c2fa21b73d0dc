//! A broken rule, as JSON and as sentences.

use std::io::{self, Write};

use hurray_tensor::format::{Error, Expected, Value};
use serde_json::{Map, Value as Json};

use crate::describe::number;
use crate::output::Output;

/// Adds `rule`, `field`, `offset`, `found` and `expected`, the last two as text or null.
pub(crate) fn put(map: &mut Map<String, Json>, error: &Error) {
    map.insert("rule".into(), error.rule().id().into());
    map.insert("field".into(), error.field().into());
    map.insert("offset".into(), number(error.offset()));
    map.insert("found".into(), found(error).into());
    map.insert("expected".into(), expected(error).into());
}

/// The error in one sentence.
pub(crate) fn sentence(error: &Error) -> String {
    let mut text =
        format!("{}: {} at byte {}", error.rule().meaning(), error.field(), error.offset());
    match (found(error), expected(error)) {
        (None, None) => {}
        (None, Some(expected)) => text += &format!(" (expected {expected})"),
        (Some(found), None) => text += &format!(" (found {found})"),
        (Some(found), Some(expected)) => text += &format!(" (found {found}, expected {expected})"),
    }
    text + &format!(" [{}]", error.rule())
}

fn found(error: &Error) -> Option<String> {
    match error.found() {
        Value::None => None,
        value => Some(value.to_string()),
    }
}

fn expected(error: &Error) -> Option<String> {
    match error.expected() {
        Expected::Unsaid => None,
        // What was found in hexadecimal is compared with that.
        Expected::Exactly(value) if matches!(error.found(), Value::Tag(_)) => {
            Some(Value::Tag(value).to_string())
        }
        expected => Some(expected.to_string()),
    }
}

/// The lines that tell a person: the rule and its sentence, where, what, and how to learn
/// more.
pub(crate) fn tell(output: &mut Output<'_>, error: &Error, place: Option<&str>) -> io::Result<()> {
    let ink = output.ink();
    let rule = error.rule();
    writeln!(output, "  rule      {}: {}", ink.bold(rule), rule.meaning())?;
    write!(output, "  where     {}, byte {}", error.field(), error.offset())?;
    match place {
        Some(place) => writeln!(output, " ({place})")?,
        None => writeln!(output)?,
    }
    if let Some(found) = found(error) {
        writeln!(output, "  found     {found}")?;
    }
    if let Some(expected) = expected(error) {
        writeln!(output, "  expected  {expected}")?;
    }
    writeln!(output, "  more      hurray explain {rule}")
}
