//! `docs/promises.md`: that every "must" of the founding text is there, in its order, and that
//! what is said to keep it is there too.

use std::path::{Path, PathBuf};

use hurray_format::Rule;

use crate::{Outcome, run};

const PAGE: &str = "docs/promises.md";
const TEXT: &str = "docs/spec/buffer-protocol.md";

pub(crate) fn check() -> Outcome {
    let page = run::read(&run::root().join(PAGE))?;
    let text = run::read(&run::root().join(TEXT))?;
    let rows = rows(&page);
    let mut faults = missing(&musts(&text), &rows);
    for row in &rows {
        faults.extend(row.faults(&|place| run::read(place)));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n").into()) }
}

/// A row of the table: a sentence, and what keeps it.
struct Row<'p> {
    sentence: &'p str,
    keeper: &'p str,
}

fn rows(page: &str) -> Vec<Row<'_>> {
    let row = |line| {
        let (sentence, keeper) =
            str::strip_prefix(line, "| ")?.strip_suffix(" |")?.split_once(" | ")?;
        Some(Row { sentence, keeper })
    };
    // The first is the head of the table.
    page.lines().filter_map(row).skip(1).collect()
}

/// The sentences that bind, in their order.
fn musts(text: &str) -> Vec<&str> {
    let body = text.split("```").nth(1).unwrap_or_default();
    body.lines().flat_map(sentences).filter(|sentence| binds(sentence)).collect()
}

/// The sentences of a paragraph. One ends at a full stop before a capital.
fn sentences(paragraph: &str) -> Vec<&str> {
    let mut rest = paragraph.trim_start_matches("• ");
    let mut sentences = Vec::new();
    let mut from = 0;
    while let Some(stop) = rest.get(from..).and_then(|rest| rest.find(". ")) {
        let end = from.saturating_add(stop).saturating_add(1);
        let next = rest.get(end..).unwrap_or_default().trim_start();
        if next.starts_with(char::is_uppercase) {
            sentences.push(rest.get(..end).unwrap_or_default());
            (rest, from) = (next, 0);
        } else {
            from = end;
        }
    }
    sentences.push(rest);
    sentences
}

fn binds(sentence: &str) -> bool {
    const WORDS: [&str; 5] = ["MUST", "must", "REQUIRED", "SHALL", "FORBIDDEN"];
    let word =
        |wanted: &str| sentence.split(|c: char| !c.is_alphabetic()).any(|word| word == wanted);
    // That neither may is that both must not. The first mention of the words only lists them.
    let forbids = sentence.starts_with("Neither ") && word("MAY");
    let lists = sentence.contains("uses RFC 2119 key words");
    (forbids || WORDS.into_iter().any(word)) && !lists
}

/// Sentences without a row, rows without a sentence, and what is out of order.
fn missing(musts: &[&str], rows: &[Row<'_>]) -> Vec<String> {
    let has_row = |must: &&&str| !rows.iter().any(|row| row.sentence == **must);
    let lacking = musts.iter().filter(has_row);
    let mut faults: Vec<String> =
        lacking.map(|must| format!("{PAGE}: no row for {must:?}")).collect();
    let unknown = rows.iter().filter(|row| !musts.contains(&row.sentence));
    faults.extend(unknown.map(|row| format!("{PAGE}: not in {TEXT}: {:?}", row.sentence)));
    let rows = rows.iter().map(|row| row.sentence);
    if faults.is_empty() && !rows.eq(musts.iter().copied()) {
        faults.push(format!(
            "{PAGE}: the rows are not in the order of {TEXT}, or one is there twice"
        ));
    }
    faults
}

impl Row<'_> {
    /// What is named and not there. `read` gives a file's text.
    fn faults(&self, read: &dyn Fn(&Path) -> Outcome<String>) -> Vec<String> {
        let names = names(self.keeper);
        if names.is_empty() && !self.keeper.starts_with("No code: ") {
            return vec![format!("{PAGE}: nothing keeps {:?}", self.sentence)];
        }
        let missing = names.into_iter().filter(|(name, target)| !is_there(name, target, read));
        missing.map(|(name, target)| format!("{PAGE}: no {name} in {target}")).collect()
    }
}

/// Each link in backticks: its name and its target.
fn names(keeper: &str) -> Vec<(&str, &str)> {
    let link = |rest| {
        let (name, rest) = str::split_once(rest, "`](")?;
        Some((name, rest.split_once(')')?.0))
    };
    keeper.split("[`").skip(1).filter_map(link).collect()
}

/// Whether a rule is in the table, or something of that name is defined in that file.
fn is_there(name: &str, target: &str, read: &dyn Fn(&Path) -> Outcome<String>) -> bool {
    if target == "rules.md" {
        return Rule::ALL.iter().any(|rule| rule.id() == name);
    }
    let Some(place) = target.strip_prefix("../").map(|path| run::root().join(PathBuf::from(path)))
    else {
        return false;
    };
    let last = name.rsplit("::").next().unwrap_or(name);
    read(&place).is_ok_and(|source| defines(&source, last))
}

fn defines(source: &str, name: &str) -> bool {
    const KINDS: [&str; 5] = ["fn ", "struct ", "enum ", "trait ", "const "];
    let begins = |rest: &str| {
        let after = rest.strip_prefix(name);
        after.is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    KINDS.iter().any(|kind| source.split(kind).skip(1).any(begins))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_keeps_what_it_promises() {
        check().unwrap();
    }

    const BODY: &str = "\
# A page

```text
This section uses RFC 2119 key words: MUST and MAY.

A reader MUST look. It MAY look away (e.g. up). see it must.

• If so, a writer MUST NOT write. Neither of them MAY copy. The mustard is good.
```
A reader MUST NOT find this.
";

    #[test]
    fn sentences_that_bind_are_found() {
        let expected = [
            "A reader MUST look.",
            "It MAY look away (e.g. up). see it must.",
            "If so, a writer MUST NOT write.",
            "Neither of them MAY copy.",
        ];
        assert_eq!(musts(BODY), expected);
    }

    #[test]
    fn every_sentence_has_a_row_in_its_order() {
        let rows_of = |sentences: &[&'static str]| -> Vec<Row<'static>> {
            sentences.iter().map(|sentence| Row { sentence, keeper: "" }).collect()
        };
        assert_eq!(missing(&["a", "b"], &rows_of(&["a", "b"])), [""; 0]);
        assert_eq!(missing(&["a", "b"], &rows_of(&["a"])).len(), 1);
        assert_eq!(missing(&["a"], &rows_of(&["a", "c"])).len(), 1);
        assert_eq!(missing(&["a", "b"], &rows_of(&["b", "a"])).len(), 1);
        assert_eq!(missing(&["a"], &rows_of(&["a", "a"])).len(), 1);
    }

    #[test]
    fn what_is_named_is_looked_up() {
        let read = |place: &Path| -> Outcome<String> {
            assert!(place.ends_with("a/b.rs"), "{}", place.display());
            Ok("pub struct Kept<T>;\nimpl Kept<u8> { fn keeps(&self) {} }".to_owned())
        };
        let faults = |keeper| Row { sentence: "s", keeper }.faults(&read).len();
        assert_eq!(faults("[`Kept::keeps`](../a/b.rs) and [`Kept`](../a/b.rs)"), 0);
        assert_eq!(faults("[`Kep`](../a/b.rs), [`keep`](../a/b.rs)"), 2);
        assert_eq!(faults("[`buffer.cpu-sync`](rules.md), [`buffer.cpu`](rules.md)"), 1);
        assert_eq!(faults("No code: not yet"), 0);
        assert_eq!(faults("hope"), 1);
    }

    #[test]
    fn rows_are_read_from_the_table() {
        let page = "# Page\n\n| a | b |\n|---|---|\n| One. | [`x`](y) |\n| Two. | No code: yet |\n";
        let rows = rows(page);
        assert_eq!(rows.iter().map(|row| row.sentence).collect::<Vec<_>>(), ["One.", "Two."]);
        assert_eq!(names(rows[0].keeper), [("x", "y")]);
    }
}
