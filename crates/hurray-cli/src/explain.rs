//! `hurray explain`: what a rule asks, by its id.

use std::io::Write;

use hurray_tensor::format::{Fault, Rule};

use crate::console::Console;
use crate::escape::Escaped;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A rule's id, such as descriptor.magic, or the part before a dot, such as layout.coo;
    /// without it all are listed
    rule: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, console: &mut Console<'_>) -> Result<(), Failure> {
    let Some(id) = &arguments.rule else {
        return list(console, Rule::ALL.iter().copied());
    };
    if let Some(rule) = Rule::from_id(id) {
        return one(console, rule);
    }
    let family = format!("{}.", id.trim_end_matches('.'));
    let members = Rule::ALL.iter().copied().filter(|rule| rule.id().starts_with(&family));
    if members.clone().next().is_some() {
        return list(console, members);
    }
    let nearest: Vec<&str> = nearest(id).iter().map(|rule| rule.id()).collect();
    Err(Failure::Usage(format!(
        "no rule has the id {}; the nearest are {}",
        Escaped::at_most(id, 80),
        nearest.join(", ")
    )))
}

fn one(console: &mut Console<'_>, rule: Rule) -> Result<(), Failure> {
    let out = &mut console.output;
    let ink = out.ink();
    writeln!(out, "{}", ink.bold(rule))?;
    writeln!(out, "  broken when  {}", rule.meaning())?;
    writeln!(out, "  fault        {}: {}", rule.fault().name(), fault(rule.fault()))?;
    writeln!(out, "  page         {} of the specification, {}", rule.page(), page(rule.page()))?;
    Ok(())
}

fn list(console: &mut Console<'_>, rules: impl Iterator<Item = Rule>) -> Result<(), Failure> {
    let out = &mut console.output;
    for rule in rules {
        writeln!(out, "{:<48} {}", rule.id(), rule.meaning())?;
    }
    Ok(())
}

fn fault(fault: Fault) -> &'static str {
    match fault {
        Fault::Corrupt => "the bytes break a rule of the format",
        Fault::Unsupported => {
            "legal, but not understood here, or private and not agreed (see --accept-private)"
        }
        Fault::Refused => "legal and understood, but over a limit of this reader",
        Fault::Misuse => "a mistake of the program that called, or of a name it gave",
        // The enum may grow.
        _ => "see the specification",
    }
}

fn page(number: &str) -> &'static str {
    match number {
        "01" => "the buffer handle",
        "02" => "the tensor descriptor",
        "03" => "element types",
        "04" => "layouts and composites",
        "05" => "quantization",
        "06" => "the file",
        "07" => "interchange",
        _ => "decisions and plain streams",
    }
}

/// The five rules whose ids differ least from `id`.
fn nearest(id: &str) -> Vec<Rule> {
    let mut rules: Vec<(usize, Rule)> =
        Rule::ALL.iter().map(|rule| (distance(id, rule.id()), *rule)).collect();
    rules.sort_by_key(|(distance, rule)| (*distance, rule.id()));
    rules.into_iter().take(5).map(|(_, rule)| rule).collect()
}

/// How many characters to change, add or remove to make one text of the other. Beyond the
/// length of any id the first characters are enough.
fn distance(one: &str, other: &str) -> usize {
    let one: Vec<char> = one.chars().take(100).collect();
    let mut row: Vec<usize> = (0..=one.len()).collect();
    for (number, wanted) in other.chars().enumerate() {
        let mut diagonal = number;
        let mut left = number + 1;
        for (found, above) in one.iter().zip(row.iter_mut().skip(1)) {
            let same = diagonal + usize::from(*found != wanted);
            diagonal = *above;
            left = same.min(left + 1).min(*above + 1);
            *above = left;
        }
        if let Some(first) = row.first_mut() {
            *first = number + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_rule_to_a_misspelled_one_is_that_one() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", ""), 3);
        assert_eq!(nearest("descriptor.majic").first(), Some(&Rule::DescriptorMagic));
        assert_eq!(nearest(&"x".repeat(1_000_000)).len(), 5);
    }

    #[test]
    fn every_page_of_a_rule_has_a_title() {
        for rule in Rule::ALL {
            assert!(["01", "02", "03", "04", "05", "06", "07", "09"].contains(&rule.page()));
        }
    }
}
