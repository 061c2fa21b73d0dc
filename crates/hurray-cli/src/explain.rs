//! `hurray explain`: what a rule asks, by its id.

use std::io::Write;

use hurray_tensor::format::{Fault, Rule};

use crate::console::Console;
use crate::escape::Escaped;
use crate::failure::Failure;
use crate::nearest::nearest;

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
    let nearest = nearest(id, Rule::ALL.iter().map(|rule| rule.id()));
    let shown = Escaped::at_most(id, 80);
    Err(Failure::Usage(match nearest.as_slice() {
        [] => format!("no rule has the id {shown}; hurray explain lists all"),
        [one] => format!("no rule has the id {shown}; the nearest is {one}"),
        some => format!("no rule has the id {shown}; the nearest are {}", some.join(", ")),
    }))
}

fn one(console: &mut Console<'_>, rule: Rule) -> Result<(), Failure> {
    let out = &mut console.output;
    let ink = out.ink();
    writeln!(out, "{}", ink.bold(rule))?;
    writeln!(out, "  broken when  {}", rule.meaning())?;
    writeln!(out, "  fault        {}: {}", rule.fault().name(), fault(rule.fault()))?;
    writeln!(out, "  page         {} of the specification, {}", rule.page(), page(rule.page()))?;
    if let Some(file) = file(rule.page()) {
        writeln!(out, "  to read      docs/spec/{file} of the repository")?;
    }
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
        Fault::Refused => {
            "legal and understood, but it would copy, fall back to something else, or pass a limit"
        }
        Fault::Peer => "the other side of an exchange broke its rules",
        Fault::System => "the operating system or a driver said no",
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
        "08" => "handoff through C, and Python",
        "10" => "the exchange structs",
        _ => "decisions and plain streams",
    }
}

fn file(page: &str) -> Option<&'static str> {
    Some(match page {
        "01" => "01-buffer-handle.md",
        "02" => "02-descriptor.md",
        "03" => "03-elements.md",
        "04" => "04-layouts.md",
        "05" => "05-quantization.md",
        "06" => "06-file.md",
        "08" => "08-c-abi-and-python.md",
        "09" => "09-decisions.md",
        "10" => "10-exchange.md",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_of_a_rule_has_a_title() {
        for rule in Rule::ALL {
            assert!(
                ["01", "02", "03", "04", "05", "06", "07", "08", "09", "10"].contains(&rule.page())
            );
            let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/spec");
            assert!(file(rule.page()).is_none_or(|file| folder.join(file).is_file()), "{rule}");
        }
    }
}
