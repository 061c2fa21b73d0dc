//! Names and keys made safe to print: they come from files of strangers, and may hold
//! what moves the cursor, turns text around or cannot be seen.

use std::fmt;

/// Text as it may be shown. What has nothing odd in it is shown as it is; anything else in
/// quotes, with escapes that tell what stands there.
pub(crate) struct Escaped<'a> {
    text: &'a str,
    longest: usize,
}

impl<'a> Escaped<'a> {
    /// All of `text`.
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, longest: usize::MAX }
    }

    /// The start of `text`, at most `longest` characters, and how long it is where that is
    /// not all of it.
    pub(crate) fn at_most(text: &'a str, longest: usize) -> Self {
        Self { text, longest }
    }

    fn shown(&self) -> &'a str {
        let cut = self.text.char_indices().nth(self.longest).map_or(self.text.len(), |(at, _)| at);
        self.text.get(..cut).unwrap_or(self.text)
    }

    /// How long the text is, where not all of it is shown.
    fn tell_length(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.text.len();
        if self.shown().len() < all { write!(f, "… ({all} bytes)") } else { Ok(()) }
    }
}

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.shown();
        if is_plain(shown) {
            f.write_str(shown)?;
        } else {
            quoted(f, shown)?;
        }
        self.tell_length(f)
    }
}

/// Text always in quotes, for values.
pub(crate) struct Quoted<'a>(Escaped<'a>);

impl<'a> Quoted<'a> {
    /// The start of `text`, as in [`Escaped::at_most`].
    pub(crate) fn at_most(text: &'a str, longest: usize) -> Self {
        Self(Escaped::at_most(text, longest))
    }
}

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        quoted(f, self.0.shown())?;
        self.0.tell_length(f)
    }
}

fn quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for character in text.chars() {
        match character {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            other if is_deceiving(other) => write!(f, "\\u{{{:x}}}", u32::from(other))?,
            other => write!(f, "{other}")?,
        }
    }
    f.write_str("\"")
}

/// Whether the text can stand without quotes and mean itself alone.
fn is_plain(text: &str) -> bool {
    let is_odd = |c: char| matches!(c, '"' | '\\') || c.is_whitespace() || is_deceiving(c);
    !text.is_empty() && !text.chars().any(is_odd)
}

/// Characters that a terminal acts on, that turn the text beside them around, or that
/// nobody sees.
pub(crate) fn is_deceiving(character: char) -> bool {
    let is_blank = character.is_whitespace() && character != ' ';
    is_blank
        || character.is_control()
        || matches!(
            character,
            // Soft hyphen, grapheme joiner, Arabic letter mark, Hangul and Khmer fillers.
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            // Mongolian selectors, zero widths, marks, embeddings, overrides and isolates.
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}'
            // Variation selectors, byte order mark, annotations, noncharacters, tags.
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff0}'..='\u{ffff}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        Escaped::new(text).to_string()
    }

    #[test]
    fn plain_names_stay_as_they_are() {
        for name in ["encoder.layer.0.weight", "a/b", "é", "重み", "וקטור", "--help", "0"] {
            assert_eq!(shown(name), name);
        }
    }

    #[test]
    fn odd_names_are_quoted_and_escaped() {
        let cases = [
            ("", r#""""#),
            (" ", r#"" ""#),
            ("a b", r#""a b""#),
            ("a\nb\tc\rd", r#""a\nb\tc\rd""#),
            ("\u{1b}[2J", r#""\u{1b}[2J""#),
            ("\0", r#""\u{0}""#),
            ("\u{202e}x", r#""\u{202e}x""#),
            ("zero\u{200b}width", r#""zero\u{200b}width""#),
            ("no\u{a0}break", r#""no\u{a0}break""#),
            (r"\u{202e}", r#""\\u{202e}""#),
            ("say \"x\"", r#""say \"x\"""#),
            ("\u{e0041}", r#""\u{e0041}""#),
        ];
        for (name, expected) in cases {
            assert_eq!(shown(name), expected);
        }
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        let name = "é".repeat(100);
        assert_eq!(Escaped::at_most(&name, 3).to_string(), "ééé… (200 bytes)");
        assert_eq!(Escaped::at_most(&name, 100).to_string(), name);
    }
}
