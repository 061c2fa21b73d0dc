//! `cargo xtask rules`: docs/rules.md from the rule table of the format.

use std::{collections::BTreeMap, fmt::Write};

use hurray_format::Rule;

use crate::{
    Outcome,
    generated::{Mode, settle},
    run,
};

pub(crate) fn command(arguments: &[String]) -> Outcome {
    generate(Mode::from_arguments(arguments)?)
}

pub(crate) fn generate(mode: Mode) -> Outcome {
    settle(&run::root().join("docs/rules.md"), page()?.as_bytes(), mode)
}

fn page() -> Outcome<String> {
    let mut families: BTreeMap<(&str, &str), Vec<Rule>> = BTreeMap::new();
    for rule in Rule::ALL {
        let family = rule.id().split('.').next().unwrap_or_default();
        families.entry((rule.page(), family)).or_default().push(*rule);
    }
    let mut text = String::from(
        "# Rules\n\n\
         Every \"must\" of the format that a reader checks, by its id. `hurray verify` prints\n\
         it, `hurray explain ID` explains it. Ids are never renamed or reused.\n\n\
         Made by `cargo xtask rules` from `crates/hurray-format/src/rules.rs`.\n\n\
         *corrupt*: these bytes break a rule. *unsupported*: legal, but not understood here,\n\
         or by agreement only. *refused*: over a limit the reader set, or not done unless asked\n\
         for by name. *peer*: the other side of an exchange broke its rules. *system*: the\n\
         operating system or a driver said no. *misuse*: a mistake of the calling program.\n",
    );
    for ((page, family), rules) in families {
        write!(
            text,
            "\n## `{family}` (page {page})\n\n| id | fault | it means |\n|---|---|---|\n"
        )?;
        for rule in rules {
            let (id, fault, meaning) = (rule.id(), rule.fault().name(), rule.meaning());
            writeln!(text, "| `{id}` | {fault} | {meaning} |")?;
        }
    }
    Ok(text)
}
