//! JSON as it is printed: piece by piece, and with nothing in it that a terminal acts on.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CharEscape, Formatter, Serializer};

use crate::escape::is_deceiving;

/// Writes `value` and ends the line. `formatter` says how it is laid out; whatever it is,
/// characters that would act on a terminal, or deceive who reads it, are `\uXXXX`.
///
/// # Errors
///
/// Where `out` takes no more.
pub(crate) fn write(
    mut out: impl Write,
    value: &impl Serialize,
    formatter: impl Formatter,
) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(&mut out, Harmless(formatter)))?;
    writeln!(out)
}

/// A formatter whose text holds no character that deceives.
struct Harmless<F>(F);

impl<F: Formatter> Formatter for Harmless<F> {
    fn write_string_fragment<W>(&mut self, out: &mut W, fragment: &str) -> io::Result<()>
    where
        W: ?Sized + Write,
    {
        let mut rest = fragment;
        while let Some((at, character)) = rest.char_indices().find(|(_, c)| is_deceiving(*c)) {
            let (before, after) = rest.split_at(at);
            out.write_all(before.as_bytes())?;
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
            rest = after.get(character.len_utf8()..).unwrap_or_default();
        }
        out.write_all(rest.as_bytes())
    }

    fn write_char_escape<W>(&mut self, out: &mut W, escape: CharEscape) -> io::Result<()>
    where
        W: ?Sized + Write,
    {
        self.0.write_char_escape(out, escape)
    }

    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_array(out)
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array(out)
    }

    fn begin_array_value<W>(&mut self, out: &mut W, first: bool) -> io::Result<()>
    where
        W: ?Sized + Write,
    {
        self.0.begin_array_value(out, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array_value(out)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object(out)
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object(out)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(out, first)
    }

    fn end_object_key<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object_key(out)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object_value(out)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object_value(out)
    }
}

/// An array of what `items` gives, none of which is kept.
pub(crate) struct Items<F>(pub(crate) F);

impl<F, I> Serialize for Items<F>
where
    F: Fn() -> I,
    I: IntoIterator<Item: Serialize>,
{
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq((self.0)())
    }
}

/// An object of the keys and values that `entries` gives, none of which is kept.
pub(crate) struct Entries<F>(pub(crate) F);

impl<F, I, K, V> Serialize for Entries<F>
where
    F: Fn() -> I,
    I: IntoIterator<Item = (K, V)>,
    K: Serialize,
    V: Serialize,
{
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map((self.0)())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::ser::{CompactFormatter, PrettyFormatter};
    use serde_json::{Value as Json, json};

    use super::*;

    fn written(value: &Json, formatter: impl Formatter) -> String {
        let mut bytes = Vec::new();
        write(&mut bytes, value, formatter).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn what_a_terminal_acts_on_is_escaped_and_reads_back_the_same() {
        let cases = [
            ("plain, é, 重み \"\\", r#""plain, é, 重み \"\\""#),
            ("\u{1b}[2J\n", r#""\u001b[2J\n""#),
            ("\u{7f}x\u{9b}2J", r#""\u007fx\u009b2J""#),
            ("\u{202e}gpj.exe\u{2066}", r#""\u202egpj.exe\u2066""#),
            ("\u{200b}\u{feff}\u{2028}", r#""\u200b\ufeff\u2028""#),
            ("\u{e0041}", r#""\udb40\udc41""#),
        ];
        for (text, expected) in cases {
            let line = written(&json!(text), CompactFormatter);
            assert_eq!(line, format!("{expected}\n"));
            assert_eq!(serde_json::from_str::<Json>(&line).unwrap(), text);
            let key = written(&json!({ text: 1 }), CompactFormatter);
            assert_eq!(key, format!("{{{expected}:1}}\n"));
        }
    }

    #[test]
    fn it_is_laid_out_as_the_formatter_says() {
        let value = json!({ "a": [1, "b", {}, []], "c": { "d": null, "e": -1.5 }, "f": true });
        let (line, lines) = (value.to_string(), format!("{value:#}"));
        assert_eq!(written(&value, CompactFormatter).trim_end(), line);
        assert_eq!(written(&value, PrettyFormatter::new()).trim_end(), lines);
    }

    #[test]
    fn items_and_entries_are_written_as_they_come() {
        let mut out = Vec::new();
        write(&mut out, &Items(|| (0..3).filter(|n| *n != 1)), CompactFormatter).unwrap();
        write(&mut out, &Items(std::iter::empty::<u8>), PrettyFormatter::new()).unwrap();
        write(&mut out, &Entries(|| [("a", 1), ("b", 2)]), CompactFormatter).unwrap();
        assert_eq!(out, b"[0,2]\n[]\n{\"a\":1,\"b\":2}\n");
    }
}
