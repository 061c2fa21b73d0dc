//! `cargo xtask test`: every test there is, in parts.
//!
//! A part that fails does not keep the others from running; the last lines say how each went.
//! A part that needs something only an administrator can install is skipped, and says so; with
//! `--no-skip` that is a failure too.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use crate::{Outcome, capi, forbidden, loom, memcheck, metadata, python, run};

/// A part's name and what runs it.
type Part = (&'static str, fn() -> Outcome<Ran>);

/// The parts in the order they run.
const PARTS: &[Part] = &[
    ("rust", rust),
    ("forbidden", programs_that_must_not_compile),
    ("loom", models),
    ("adapters", adapters),
    ("capi", with_c),
    ("memcheck", with_checkers),
    ("python", with_python),
    ("pyhurray", with_pyhurray),
];

/// What hands tensors and buffers to other crates, which nothing else turns on.
pub(crate) const ADAPTERS: [&str; 4] =
    ["--package", "hurray-tensor", "--features", "ndarray,candle,complex,half,bytes"];

/// A part that did not fail.
enum Ran {
    Passed,
    /// Did not run, and why.
    Skipped(String),
}

pub(crate) fn command(arguments: &[String]) -> Outcome {
    let no_skip = arguments.iter().any(|argument| argument == "--no-skip");
    let wanted: Vec<&String> =
        arguments.iter().filter(|argument| *argument != "--no-skip").collect();
    if let Some(unknown) = wanted.iter().find(|name| !PARTS.iter().any(|(part, _)| part == *name)) {
        let parts: Vec<&str> = PARTS.iter().map(|(part, _)| *part).collect();
        return Err(format!("no part {unknown:?}; there are {}", parts.join(", ")).into());
    }

    let mut report = Vec::new();
    let mut good = true;
    for (name, part) in PARTS {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| wanted == name) {
            continue;
        }
        println!("\n== {name}");
        let start = Instant::now();
        let answer = part();
        let seconds = start.elapsed().as_secs_f64();
        report.push(match answer {
            Ok(Ran::Passed) => format!("{name}: passed ({seconds:.0} s)"),
            Ok(Ran::Skipped(why)) => {
                good &= !no_skip;
                format!("{name}: SKIPPED, {why}")
            }
            Err(error) => {
                good = false;
                format!("{name}: FAILED, {error}")
            }
        });
    }
    println!("\n{}", report.join("\n"));
    if good { Ok(()) } else { Err("not everything passed".into()) }
}

fn rust() -> Outcome<Ran> {
    run::show(&mut run::cargo(&["test", "--workspace", "--features", "hurray-tensor/bytes"]))?;
    Ok(Ran::Passed)
}

/// What the types forbid, by the errors of the compiler.
fn programs_that_must_not_compile() -> Outcome<Ran> {
    forbidden::check()?;
    Ok(Ran::Passed)
}

/// The models of how threads meet.
fn models() -> Outcome<Ran> {
    loom::check()?;
    Ok(Ran::Passed)
}

/// libhurray installed, and used by programs in C and C++, under Valgrind.
fn with_c() -> Outcome<Ran> {
    Ok(capi::check()?.map_or(Ran::Passed, Ran::Skipped))
}

/// The exchange of tensors with C, under checkers of memory.
fn with_checkers() -> Outcome<Ran> {
    Ok(memcheck::check()?.map_or(Ran::Passed, Ran::Skipped))
}

/// Tensors as those of other crates, which take longer to build than all of ours.
fn adapters() -> Outcome<Ran> {
    run::show(run::cargo(&["test"]).args(ADAPTERS))?;
    Ok(Ran::Passed)
}

/// Checks with the Python libraries that own the formats we convert from and to.
fn with_python() -> Outcome<Ran> {
    pytest(".venv-test", "tests/python", &["samples/whole_models.py"])
}

/// Exchanges with an independent implementation. Its module is called `hurray` too, as our own
/// will be, so it lives in an environment of its own.
fn with_pyhurray() -> Outcome<Ran> {
    pytest(".venv-pyhurray", "tests/pyhurray", &[])
}

/// Runs scripts that prepare, then pytest, over a folder with its own requirements.
fn pytest(environment: &str, folder: &str, before: &[&str]) -> Outcome<Ran> {
    if let Some(python::Missing(what)) = python::missing() {
        return Ok(Ran::Skipped(what));
    }
    let hurray = build_hurray()?;
    let folder = run::root().join(folder);
    let python = python::environment(environment, &folder.join("requirements.txt"))?;
    for script in before {
        run::show(Command::new(&python).arg(run::root().join(script)))?;
    }
    run::show(&mut pytest_command(&python, &folder, &hurray))?;
    Ok(Ran::Passed)
}

/// pytest ends with 5 when it finds no test, which counts as a failure here as any other does.
fn pytest_command(python: &Path, folder: &Path, hurray: &Path) -> Command {
    let mut command = Command::new(python);
    command.args(["-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider"]).arg(folder);
    command.current_dir(run::root()).env("HURRAY_BIN", hurray).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// The `hurray` command, built as the tests build it.
fn build_hurray() -> Outcome<PathBuf> {
    run::show(&mut run::cargo(&["build", "--package", "hurray-cli", "--bin", "hurray"]))?;
    let program = if cfg!(windows) { "debug/hurray.exe" } else { "debug/hurray" };
    Ok(metadata::read()?.target_directory.join(program))
}
