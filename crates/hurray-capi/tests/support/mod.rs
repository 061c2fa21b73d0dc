//! The library as a C compiler finds it, and what the header declares.

#![allow(dead_code, reason = "not every test file needs all of it")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The shared library that cargo built beside this test, under the names a linker and a loader
/// look for.
pub(crate) fn library_folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        let built =
            test.parent().unwrap().join(format!("libhurray{}", std::env::consts::DLL_SUFFIX));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test.file_name().unwrap());
        std::fs::create_dir_all(&folder).unwrap();
        for name in ["libhurray.so", "libhurray.so.1", "libhurray.dylib", "libhurray.1.dylib"] {
            let link = folder.join(name);
            let _ = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(&built, link).unwrap();
        }
        folder
    })
}

/// Where the headers are: ours, and the one of the exchange structs.
pub(crate) fn header_folders() -> [PathBuf; 2] {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR"));
    [ours.join("include"), ours.join("../hurray-tensor/include")]
}

/// Compiles a C program against the library.
pub(crate) fn compile(source: &Path, name: &str) -> PathBuf {
    let program = library_folder().join(name);
    let mut command = Command::new("cc");
    command.args(["-std=c11", "-D_POSIX_C_SOURCE=200809L", "-g", "-O1", "-pthread"]);
    command.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-missing-field-initializers"]);
    for folder in header_folders() {
        command.arg("-I").arg(folder);
    }
    command.arg("-I").arg(programs()).arg("-o").arg(&program).arg(source);
    command.arg("-L").arg(library_folder()).arg("-lhurray");
    command.arg(format!("-Wl,-rpath,{}", library_folder().display()));
    run(&mut command);
    program
}

/// The folder of the test programs in C.
pub(crate) fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c")
}

/// Runs a command and answers what it printed; panics with what it said where it fails.
pub(crate) fn run(command: &mut Command) -> String {
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => panic!("cannot run {command:?}: {error}; these tests need a C compiler"),
    };
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}\n{err}", output.status);
    out.into_owned()
}

/// The header's text.
pub(crate) fn header() -> String {
    let [ours, _] = header_folders();
    std::fs::read_to_string(ours.join("hurray.h")).unwrap()
}

/// A call that the header declares.
#[derive(Debug)]
pub(crate) struct Call {
    /// The comment above it.
    pub(crate) comment: String,
    pub(crate) answer: String,
    pub(crate) name: String,
    /// The type and the name of each parameter.
    pub(crate) parameters: Vec<(String, String)>,
}

/// Every call of the header.
pub(crate) fn calls() -> Vec<Call> {
    let header = header();
    let mut calls = Vec::new();
    let mut comment = String::new();
    let mut declaration = String::new();
    for line in header.lines() {
        if let Some(words) = line.strip_prefix("//") {
            comment.push_str(words);
            continue;
        }
        // A declaration goes over as many lines as it needs, the first not indented.
        let starts = line.contains(" *hurray_") || line.contains(" hurray_");
        if declaration.is_empty()
            && (line.starts_with(' ') || line.starts_with("typedef") || !starts)
        {
            comment.clear();
            continue;
        }
        declaration.push_str(line);
        if line.ends_with(';') {
            calls.push(call(&declaration, std::mem::take(&mut comment)));
            declaration.clear();
        }
    }
    assert!(calls.len() > 60, "only {} calls", calls.len());
    calls
}

fn call(declaration: &str, comment: String) -> Call {
    let (head, rest) = declaration.split_once('(').unwrap();
    let (answer, name) = typed(head);
    let inside = rest.strip_suffix(");").unwrap();
    let parameters =
        if inside == "void" { Vec::new() } else { inside.split(',').map(typed).collect() };
    Call { comment, answer, name, parameters }
}

/// `const char *name` as its type and its name.
fn typed(words: &str) -> (String, String) {
    let words = words.trim();
    let at = words.rfind([' ', '*']).unwrap() + 1;
    (words[..at].trim().to_owned(), words[at..].to_owned())
}
