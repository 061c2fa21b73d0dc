//! Buffers, and tensors that come from others and go to them, under two checkers of memory.
//!
//! Valgrind runs the tests of the exchange, and the programs of C, C++ and Rust that they leave
//! behind, as they are; AddressSanitizer runs the tests compiled for it, which finds what does not
//! reach the heap, and those of what is hostile or goes wrong: structs with any field broken, tensors
//! of any parts, DLPack, calls of a device that fail half way.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{Outcome, metadata, run};

/// The test, and the tests of it that only look at headers, or build other programs.
const TEST: &str = "exchange";
const OTHERS: &[&str] = &["--skip", "layout::", "--skip", "alone::"];

/// How many programs the test leaves behind.
const PROGRAMS: usize = 6;

/// Runs everything; says what it takes, where something is missing.
pub(crate) fn check() -> Outcome<Option<String>> {
    if !cfg!(target_os = "linux") {
        return Ok(Some("the exchange tests run on Linux".to_owned()));
    }
    let valgrind = run::keep(Command::new("valgrind").arg("--version"));
    if !valgrind.is_ok_and(|output| output.status.success()) {
        return Ok(Some("without valgrind; as root: apt-get install valgrind".to_owned()));
    }
    // Builds the tests and the programs.
    let built = ["test", "--package", "hurray-tensor", "--test", TEST, "--", "alone::"];
    run::show(&mut run::cargo(&built))?;
    let target = metadata::read()?.target_directory;
    for program in programs(&target.join("tmp"))? {
        run::show(under_valgrind(&program).current_dir(run::root()))?;
    }
    let test = test_program()?;
    run::show(under_valgrind(&test).arg("--test-threads=1").args(OTHERS))?;
    address_sanitizer(&target)?;
    Ok(None)
}

fn under_valgrind(program: &Path) -> Command {
    let mut command = Command::new("valgrind");
    command.args(["-q", "--leak-check=full", "--show-leak-kinds=definite"]);
    command.args(["--errors-for-leak-kinds=definite", "--error-exitcode=9"]).arg(program);
    // As cargo runs it.
    command.current_dir(run::root().join("crates/hurray-tensor"));
    command
}

/// What the test built to be run alone.
fn programs(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let mut programs = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("alone-") && path.extension().is_none() {
            programs.push(path);
        }
    }
    programs.sort();
    match programs.len() {
        PROGRAMS => Ok(programs),
        other => Err(format!("{other} programs in {}, not {PROGRAMS}", folder.display()).into()),
    }
}

/// Where cargo put the test itself.
fn test_program() -> Outcome<PathBuf> {
    let arguments = ["test", "--package", "hurray-tensor", "--test", TEST, "--no-run", "--quiet"];
    let mut command = run::cargo(&arguments);
    let output = run::keep(command.arg("--message-format=json"))?;
    let messages = String::from_utf8_lossy(&output.stdout);
    let executable = messages.lines().rev().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(PathBuf::from(message.get("executable")?.as_str()?))
    });
    executable.ok_or_else(|| format!("cargo names no executable of the test {TEST}").into())
}

fn address_sanitizer(target: &Path) -> Outcome {
    let mut exchange = sanitized(target, &[TEST, "exchange_memory"])?;
    // The copies are built by flags of their own, which are not those of this build.
    run::show(exchange.arg("--").args(OTHERS).args(["--skip", "copies::"]))?;
    run::show(&mut sanitized(target, &["buffers", "mutated", "dlpack", "extremes"])?)?;
    // What a device does that fails is never known to be done: the memory is kept for ever.
    let pipelines = ["pipelines"];
    let failing = "failing::";
    run::show(sanitized(target, &pipelines)?.args(["--", "--skip", failing]))?;
    let kept = format!("{NO_MEMORY}:detect_leaks=0");
    run::show(sanitized(target, &pipelines)?.args(["--", failing]).env("ASAN_OPTIONS", kept))
}

/// Some tests ask for more memory than there is, and want to be told as the system would.
const NO_MEMORY: &str = "allocator_may_return_null=1";

/// Tests compiled for it, in a folder of their own.
fn sanitized(target: &Path, tests: &[&str]) -> Outcome<Command> {
    let mut command = run::cargo(&["test", "--package", "hurray-tensor", "--target", &host()?]);
    command.arg("--target-dir").arg(target.join("asan"));
    command.args(tests.iter().flat_map(|test| ["--test", test]));
    // The sanitizer is in the stable compiler, behind a flag that is not.
    command.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=address");
    command.env("ASAN_OPTIONS", NO_MEMORY);
    Ok(command)
}

/// The machine that the compiler runs on. With a target named, flags do not reach build scripts.
fn host() -> Outcome<String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = run::keep(Command::new(rustc).arg("-vV"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("rustc does not say what its host is")?.to_owned())
}
