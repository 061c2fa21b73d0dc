//! Links of the Markdown files: each relative one leads to a file that is there and, where it
//! names a heading, to a heading that the file has.
//!
//! Links to other places are not followed: a check that needs the network fails when that does.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Outcome, run, tracked};

/// Every file of the repository by its path from the root; of Markdown also the text.
type Files = BTreeMap<String, Option<String>>;

pub(crate) fn check() -> Outcome {
    let faults = faults(&files()?);
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n").into()) }
}

fn files() -> Outcome<Files> {
    let text = |path: String| {
        let is_page = path.ends_with(".md");
        let text = is_page.then(|| run::read(&run::root().join(&path))).transpose()?;
        Ok((path, text))
    };
    tracked::files()?.into_iter().map(text).collect()
}

fn faults(files: &Files) -> Vec<String> {
    let headings: BTreeMap<&str, BTreeSet<String>> = files
        .iter()
        .filter_map(|(path, text)| Some((path.as_str(), anchors(text.as_ref()?))))
        .collect();
    let mut faults = Vec::new();
    for (path, text) in files {
        for target in text.iter().flat_map(|text| targets(text)) {
            if let Some(fault) = fault(path, &target, files, &headings) {
                faults.push(format!("{path}: the link {target:?} {fault}"));
            }
        }
    }
    faults
}

/// What is wrong with a link of the file at `path`, if anything is.
fn fault(
    path: &str,
    target: &str,
    files: &Files,
    headings: &BTreeMap<&str, BTreeSet<String>>,
) -> Option<&'static str> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = match target.split_once('#') {
        Some((file, anchor)) => (file, Some(anchor)),
        None => (target, None),
    };
    let Some(place) = resolve(path, file) else {
        return Some("leads out of the repository");
    };
    let folder = format!("{place}/");
    let is_folder = place.is_empty()
        || files.range(folder.clone()..).next().is_some_and(|(next, _)| next.starts_with(&folder));
    if !is_folder && !files.contains_key(&place) {
        return Some("leads to nothing");
    }
    match anchor {
        Some(anchor) if !headings.get(place.as_str()).is_some_and(|all| all.contains(anchor)) => {
            Some("names no heading there")
        }
        _ => None,
    }
}

/// Where a link of the file at `path` leads, as a path from the root; nowhere where it is
/// absolute or climbs above the root.
fn resolve(path: &str, link: &str) -> Option<String> {
    if link.is_empty() {
        return Some(path.to_owned());
    }
    if link.starts_with('/') {
        return None;
    }
    let mut words: Vec<&str> = path.split('/').collect();
    words.pop();
    for word in link.split('/') {
        match word {
            "" | "." => {}
            ".." => {
                words.pop()?;
            }
            word => words.push(word),
        }
    }
    Some(words.join("/"))
}

/// Where the links of a Markdown text lead, as they are written.
fn targets(text: &str) -> Vec<String> {
    let mut targets = Vec::new();
    for paragraph in prose(text).split("\n\n") {
        let paragraph = without_code(paragraph);
        for rest in paragraph.split("](").skip(1) {
            targets.push(destination(rest));
        }
        for line in paragraph.lines() {
            // [label]: target
            if let Some((_, rest)) = line.strip_prefix('[').and_then(|line| line.split_once("]: "))
            {
                targets.push(destination(&format!("{rest})")));
            }
        }
    }
    targets
}

/// The text up to the bracket that closes a link, without a title.
fn destination(rest: &str) -> String {
    if let Some((inside, _)) = rest.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        return inside.to_owned();
    }
    let mut open = 0_usize;
    let inside = rest.chars().take_while(|&letter| {
        match letter {
            '(' => open = open.saturating_add(1),
            ')' if open == 0 => return false,
            ')' => open = open.saturating_sub(1),
            _ => {}
        }
        true
    });
    inside.collect::<String>().split_whitespace().next().unwrap_or_default().to_owned()
}

/// The names by which links reach the headings, as the places that show Markdown make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for line in prose(text).lines() {
        let title = line.trim_start_matches('#');
        let level = line.len().saturating_sub(title.len());
        if !(1..=6).contains(&level) || !title.starts_with(' ') {
            continue;
        }
        let anchor = anchor(title.trim().trim_end_matches('#').trim_end());
        let again = (1_usize..).map(|number| format!("{anchor}-{number}"));
        let mut names = [anchor.clone()].into_iter().chain(again);
        if let Some(free) = names.find(|name| !anchors.contains(name)) {
            anchors.insert(free);
        }
    }
    anchors
}

fn anchor(title: &str) -> String {
    // Of a link in a heading, what is read counts and not where it leads.
    let mut pieces = title.split("](");
    let mut shown = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        shown.push_str(piece.split_once(')').map_or("", |(_, after)| after));
    }
    let kept = |letter: &char| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_');
    shown.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
}

/// A Markdown text without its fenced blocks.
fn prose(text: &str) -> String {
    let mut prose = String::new();
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let trimmed = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(opened), Some(mark)) if opened == mark => fence = None,
            (None, None) => prose.push_str(line),
            (Some(_), _) => {}
        }
        prose.push('\n');
    }
    prose
}

/// A paragraph without what stands between backticks.
fn without_code(paragraph: &str) -> String {
    let mut text = String::new();
    let mut rest = paragraph;
    while let Some((before, after)) = rest.split_once('`') {
        text.push_str(before);
        let inside = after.trim_start_matches('`');
        let ticks = "`".repeat(after.len().saturating_sub(inside.len()).saturating_add(1));
        rest = match inside.split_once(&ticks) {
            Some((_, after)) => after,
            // Never closed: they are backticks and nothing more.
            None => inside,
        };
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(files: &[(&str, &str)]) -> Vec<String> {
        let files = files.iter().map(|(path, text)| {
            (path.to_string(), path.ends_with(".md").then(|| text.to_string()))
        });
        faults(&files.collect())
    }

    #[test]
    fn what_leads_somewhere_is_fine() {
        let text = "# One *page*, `two` things\n\n## Again\n\n## Again\n\n\
            [a](#one-page-two-things) [b](docs/other.md \"title\") [c](docs) [d](./docs/)";
        let other = "# Seen [here](../a.rs)\n\n[up](../README.md#again-1) [self](other.md)\n\n\
            [label]: ../a.rs\n\n[far](https://example.org/nothing) [post](mailto:a@example.org) \
            [![shown](../a.rs)](<../a.rs>) [self](#seen-here)";
        let files = [("README.md", text), ("a.rs", ""), ("docs/other.md", other)];
        assert_eq!(faults_of(&files), Vec::<String>::new());
    }

    #[test]
    fn what_leads_nowhere_is_told() {
        let text = "# Title\n\n[a](gone.md) [b](#gone) [c](../up.md) [d](/a.rs) [e](doc)\n\n\
            [label]: gone.rs\n\n[f](docs/x.md#titel) [g](a.rs#L1) [h](A.rs)";
        let files = [("README.md", text), ("a.rs", ""), ("docs/x.md", "# Title\n")];
        let told = [
            "README.md: the link \"gone.md\" leads to nothing",
            "README.md: the link \"#gone\" names no heading there",
            "README.md: the link \"../up.md\" leads out of the repository",
            "README.md: the link \"/a.rs\" leads out of the repository",
            "README.md: the link \"doc\" leads to nothing",
            "README.md: the link \"gone.rs\" leads to nothing",
            "README.md: the link \"docs/x.md#titel\" names no heading there",
            "README.md: the link \"a.rs#L1\" names no heading there",
            "README.md: the link \"A.rs\" leads to nothing",
        ];
        assert_eq!(faults_of(&files), told);
    }

    #[test]
    fn code_has_no_links_and_no_headings() {
        let text = "# Title\n\n`[a](b)` ``x`[a](b)`` and an open ` [c](#title)\n\n\
            ```sh\n# comment\nx[0](gone)\n```\n\n~~~\n```\n[a](b)\n~~~\n\n[d](#comment)";
        let told = ["README.md: the link \"#comment\" names no heading there"];
        assert_eq!(faults_of(&[("README.md", text)]), told);
    }
}
