//! `cargo xtask bench`: every benchmark, kept in `docs/benchmarks.json`, shown in
//! `docs/benchmarks.md`.
//!
//! Numbers belong to the machine and the day they were measured on, so `--check` measures nothing:
//! it compares the page with the record it is made from. `--page` makes the page from it again.

mod command;
mod criterion;
mod page;

use std::{fs, process::Command};

use serde_json::{Value, json};

use crate::{
    Outcome,
    generated::{self, Mode},
    metadata, run,
};

const RECORD: &str = "docs/benchmarks.json";
const PAGE: &str = "docs/benchmarks.md";

pub(crate) fn command(arguments: &[String]) -> Outcome {
    if matches!(arguments, [only] if only == "--page") {
        return render(Mode::Write);
    }
    let mode = Mode::from_arguments(arguments)?;
    if mode == Mode::Write {
        measure()?;
    }
    render(mode)
}

/// Makes the page from the record. Where nothing was ever measured there is neither.
pub(crate) fn render(mode: Mode) -> Outcome {
    let (record, page) = (run::root().join(RECORD), run::root().join(PAGE));
    if !record.exists() {
        return if page.exists() { generated::settle_absent(&page, mode) } else { Ok(()) };
    }
    let record: Value = serde_json::from_str(&run::read(&record)?)?;
    generated::settle(&page, page::of(&record).as_bytes(), mode)
}

fn measure() -> Outcome {
    let target = metadata::read()?.target_directory;
    let results = target.join("criterion");
    // What an earlier run left would pass for this one's.
    if results.exists() {
        fs::remove_dir_all(&results)?;
    }
    run::show(&mut run::cargo(&["bench", "--workspace", "--benches"]))?;
    let record = json!({
        "machine": machine()?,
        "benches": criterion::results(&results)?,
        "commands": command::results(&target)?,
    });
    let mut text = serde_json::to_string_pretty(&record)?;
    text.push('\n');
    generated::settle(&run::root().join(RECORD), text.as_bytes(), Mode::Write)
}

/// What the numbers depend on.
fn machine() -> Outcome<Value> {
    let said = |program: &str, arguments: &[&str]| -> Outcome<String> {
        let output = run::keep(Command::new(program).args(arguments).current_dir(run::root()))?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        processors.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    Ok(json!({
        "processor": model.map_or(std::env::consts::ARCH, |(_, name)| name),
        "cores": std::thread::available_parallelism()?.get(),
        "system": std::env::consts::OS,
        "compiler": said("rustc", &["--version"])?,
        "commit": said("git", &["describe", "--always", "--dirty"])?,
    }))
}
