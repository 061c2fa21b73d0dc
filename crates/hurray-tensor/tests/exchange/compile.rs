//! Compiles the C and C++ files beside this one, which include `hurray_abi.h` and nothing of ours
//! besides.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What a source file becomes.
#[derive(Clone, Copy)]
pub(crate) enum Into {
    Program,
    Library,
}

/// The standards that the headers promise to suit.
pub(crate) const C: &[&str] = &["c99", "c11", "c17"];
pub(crate) const CPP: &[&str] = &["c++98", "c++11", "c++17", "c++20"];

/// Compiles `tests/exchange/<source>` by that standard, as `name`.
pub(crate) fn compile(source: &str, standard: &str, into: Into, name: &str) -> PathBuf {
    let compiled = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut command = compiler(standard);
    command.args(["-g", "-O1", "-pthread", "-o"]).arg(&compiled).arg(here().join(source));
    if let Into::Library = into {
        command.args(["-shared", "-fPIC"]);
    }
    run(&mut command);
    compiled
}

/// Compiles a text, to see that it is accepted.
pub(crate) fn accepts(text: &str, standard: &str, name: &str) {
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&source, text).unwrap();
    run(compiler(standard).arg("-fsyntax-only").arg(source));
}

/// The system's compiler for a standard, as strict as it gets.
fn compiler(standard: &str) -> Command {
    let plus_plus = standard.starts_with("c++");
    let mut command = Command::new(if plus_plus { "c++" } else { "cc" });
    command.arg(format!("-std={standard}"));
    command.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-long-long"]);
    command.arg("-I").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"));
    command
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exchange")
}

/// Runs a command and answers what it printed; panics with what it said where it fails.
pub(crate) fn run(command: &mut Command) -> String {
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            panic!("cannot run {command:?}: {error}; these tests need a C and C++ compiler")
        }
    };
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}\n{err}", output.status);
    out.into_owned()
}
