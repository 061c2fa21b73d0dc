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

/// Compiles sources of C and C++ and links them, with a library perhaps, into a program. Options for
/// the linker are those that begin with `-Wl,`.
pub(crate) fn link(
    name: &str,
    sources: &[&str],
    options: &[&str],
    library: Option<&Path>,
) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (to_link, options): (Vec<&str>, Vec<&str>) =
        options.iter().partition(|option| option.starts_with("-Wl,"));
    let objects = sources.iter().map(|source| {
        let object = folder.join(format!("{name}-{source}.o"));
        let standard = if source.ends_with(".cpp") { "c++17" } else { "c11" };
        let mut command = compiler(standard);
        command.args(["-g", "-O1", "-pthread", "-c", "-o"]).arg(&object).args(&options);
        run(command.arg(here().join(source)));
        object
    });
    let program = folder.join(name);
    let mut command = Command::new("c++");
    command.args(["-pthread", "-o"]).arg(&program).args(objects).args(to_link);
    if let Some(library) = library {
        let there = library.parent().unwrap();
        command.arg(library).arg(format!("-Wl,-rpath,{}", there.display()));
    }
    run(&mut command);
    program
}

/// Builds the library in `copy` with a copy of hurray-tensor in it, in a profile of cargo's.
pub(crate) fn copy(profile: &str) -> PathBuf {
    let (copy, target) = (here().join("copy"), Path::new(env!("CARGO_TARGET_TMPDIR")).join("copy"));
    // The very versions that the workspace uses: cargo drops what the copy does not need.
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    std::fs::copy(workspace, copy.join("Cargo.lock")).unwrap();
    let mut command = Command::new(env!("CARGO"));
    command.args(["build", "--quiet", "--profile", profile, "--manifest-path"]);
    command.arg(copy.join("Cargo.toml")).arg("--target-dir").arg(&target);
    run(&mut command);
    let folder = if profile == "dev" { "debug" } else { profile };
    target.join(folder).join("libexchange_copy.so")
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
