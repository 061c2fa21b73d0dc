//! `cargo xtask COMMAND`: the workspace's generators, checks and tests.
//!
//! One file per command. A command prints what it runs, lets the tools it calls speak for
//! themselves, and fails as soon as a step does, unless it says that it goes on.

mod bench;
mod capi;
mod corpus;
mod floors;
mod forbidden;
mod fuzz;
mod generated;
mod header;
mod install;
mod links;
mod lint;
mod loom;
mod memcheck;
mod metadata;
mod no_std;
mod promises;
mod python;
mod rules;
mod run;
mod test;
mod tracked;

use std::process::ExitCode;

/// What a command answers: nothing, or why it failed.
type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// A command's name, its arguments, what it does, and the function that does it.
type Command = (&'static str, &'static str, &'static str, fn(&[String]) -> Outcome);

const COMMANDS: &[Command] = &[
    ("test", "[--no-skip] [PART..]", "every test, in parts", test::command),
    (
        "lint",
        "",
        "format, clippy, rustdoc, links, promises, and what is generated is current",
        lint::command,
    ),
    (
        "floors",
        "",
        "no crate imports upwards or sideways, hurray-format links no std",
        floors::command,
    ),
    ("loom", "", "models: every order in which threads can meet over memory", loom::command),
    ("fuzz", "[--seconds N] [TARGET..]", "each fuzz target for a minute", fuzz::command),
    ("corpus", "[--check]", "the fuzz targets' seeds, from the vectors", corpus::command),
    ("header", "[--check]", "hurray.h, from the sources of hurray-capi", header::command),
    (
        "install-capi",
        "[--debug] PREFIX",
        "libhurray, headers, pkg-config and CMake files",
        install::command,
    ),
    ("rules", "[--check]", "docs/rules.md, from the rule table", rules::command),
    (
        "bench",
        "[--check | --page]",
        "every benchmark, and docs/benchmarks.md from it",
        bench::command,
    ),
];

fn main() -> ExitCode {
    if let Some(rustdoc) = forbidden::stands_for() {
        return forbidden::as_rustdoc(&rustdoc).unwrap_or_else(|error| {
            eprintln!("xtask in place of {}: {error}", rustdoc.display());
            ExitCode::FAILURE
        });
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        print!("{}", usage(COMMANDS));
        return ExitCode::SUCCESS;
    };
    if is_help(name) || name == "help" {
        print!("{}", usage(COMMANDS));
        return ExitCode::SUCCESS;
    }
    let Some(found) = COMMANDS.iter().find(|(known, ..)| known == name) else {
        eprint!("xtask: no command {name:?}\n\n{}", usage(COMMANDS));
        return ExitCode::from(2);
    };
    if rest.iter().any(|argument| is_help(argument)) {
        print!("{}", usage(std::slice::from_ref(found)));
        return ExitCode::SUCCESS;
    }
    let (_, _, _, command) = found;
    match command(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask {name}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn is_help(argument: &str) -> bool {
    matches!(argument, "--help" | "-h")
}

fn usage(commands: &[Command]) -> String {
    let mut text = String::from("cargo xtask COMMAND\n\n");
    for (name, arguments, purpose, _) in commands {
        let call = format!("{name} {arguments}");
        text.push_str(&format!("  {call:<32}{purpose}\n"));
    }
    text
}

/// Refuses arguments a command does not take.
fn no_arguments(arguments: &[String]) -> Outcome {
    match arguments {
        [] => Ok(()),
        [first, ..] => Err(format!("no argument is taken, but {first:?} was given").into()),
    }
}
