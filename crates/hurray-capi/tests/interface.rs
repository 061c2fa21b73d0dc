//! The header against the library: the same calls, each with its fence, none that a null pointer
//! brings down.

#![cfg(unix)]
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::string_slice,
    reason = "a test may fail loudly"
)]

mod support;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::process::Command;

use support::{Call, calls, compile, library_folder, run};

#[test]
#[cfg(target_os = "linux")]
fn the_library_exports_what_the_header_declares_and_nothing_else() {
    let library = library_folder().join("libhurray.so");
    let symbols = run(Command::new("nm").args(["-D", "--defined-only", "-P"]).arg(library));
    let exported: BTreeSet<String> =
        symbols.lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect();
    let declared: BTreeSet<String> = calls().into_iter().map(|call| call.name).collect();
    let difference: Vec<_> = exported.symmetric_difference(&declared).collect();
    assert!(difference.is_empty(), "only on one side: {difference:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn programs_ask_for_the_library_by_the_version_of_its_interface() {
    let library = library_folder().join("libhurray.so");
    let said = run(Command::new("readelf").arg("-d").arg(library));
    assert!(said.contains("[libhurray.so.1]"), "{said}");
    assert!(support::header().contains("#define HURRAY_C_ABI_VERSION 1\n"));
}

#[test]
fn the_header_suits_every_standard() {
    let source = library_folder().join("only.c");
    std::fs::write(&source, "#include <hurray.h>\n#include <hurray.h>\n").unwrap();
    for standard in ["c99", "c11", "c17", "c++98", "c++11", "c++17", "c++20"] {
        let is_c = !standard.starts_with("c++");
        let mut command = Command::new(if is_c { "cc" } else { "c++" });
        command.arg(format!("-std={standard}")).arg("-fsyntax-only");
        command.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-long-long"]);
        command.args(["-x", if is_c { "c" } else { "c++" }]).arg(&source);
        for folder in support::header_folders() {
            command.arg("-I").arg(folder);
        }
        run(&mut command);
    }
}

/// No panic may cross into C: the first thing that a call does is to raise the fence.
#[test]
fn every_call_is_fenced() {
    let sources = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut seen = 0;
    for entry in std::fs::read_dir(sources).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let code = std::fs::read_to_string(&path).unwrap();
        for call in code.split("#[unsafe(no_mangle)]").skip(1) {
            let (head, body) = call.split_once(" {\n").unwrap();
            let first = body.lines().map(str::trim).find(|line| !line.starts_with("//")).unwrap();
            let fences = ["fence(|| ", "fence_or(", "unsafe { ask("];
            assert!(fences.iter().any(|fence| first.starts_with(fence)), "{head}: {first}");
            seen += 1;
        }
    }
    assert_eq!(seen, calls().len());
}

/// What a tensor lends ends where its memory goes to somebody else, and the header says so.
#[test]
fn what_a_tensor_lends_is_good_until_it_is_given_away() {
    let calls = calls();
    for name in ["hurray_tensor_descriptor", "hurray_tensor_region"] {
        let call = calls.iter().find(|call| call.name == name).unwrap();
        let words: Vec<&str> = call.comment.split_whitespace().collect();
        let until = "ood until the tensor is given away or freed.";
        assert!(words.join(" ").contains(until), "{name}");
    }
}

/// Each pointer of each call is NULL in turn, while all else is as it should be.
#[test]
fn null_is_an_error_and_never_a_crash() {
    let mut body = String::new();
    for call in calls() {
        nulls(&call, &mut body);
    }
    let template = std::fs::read_to_string(support::programs().join("nulls.c")).unwrap();
    let source = library_folder().join("nulls.c");
    std::fs::write(&source, template.replace("/* CALLS */", &body)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let done = run(Command::new(compile(&source, "nulls")).arg(folder.path()));
    let count: usize = done.trim().parse().unwrap();
    assert!(count > 200, "only {count} nulls");
}

fn nulls(call: &Call, body: &mut String) {
    for (place, (kind, name)) in call.parameters.iter().enumerate() {
        let is_callback = matches!(kind.as_str(), "HurrayVisit" | "HurrayWrite" | "HurrayProgress");
        let may_be_null = call.comment.contains(&format!("`{name}` may be NULL"))
            || call.comment.contains(&format!("`{name}`, which may be NULL"))
            || call.comment.contains(&format!("`{name}` is NULL"))
            || name == "context"
            || call.name.ends_with("_free");
        if !(kind.ends_with('*') || is_callback) || may_be_null {
            continue;
        }
        let arguments: Vec<String> = call
            .parameters
            .iter()
            .enumerate()
            .map(|(other, (kind, name))| match other == place {
                true => "NULL".to_owned(),
                false => sample(call, kind, name),
            })
            .collect();
        let made = format!("{}({})", call.name, arguments.join(", "));
        match call.answer.as_str() {
            "int32_t" => writeln!(body, "    STATUS({made});").unwrap(),
            answer if answer.ends_with('*') => {
                writeln!(body, "    VALUE({made} == NULL);").unwrap()
            }
            _ => writeln!(body, "    VALUE({made} == 0);").unwrap(),
        }
    }
    if call.name.ends_with("_free") {
        writeln!(body, "    {}(NULL);", call.name).unwrap();
    }
}

/// What is good for a parameter; `nulls.c` defines it.
fn sample(call: &Call, kind: &str, name: &str) -> String {
    let text = match kind {
        "size_t" | "uint8_t" | "uint16_t" | "uint32_t" | "uint64_t" | "int64_t" => "1",
        "const char *" => "\"m\"",
        "void *" if name == "context" => "NULL",
        "void *" | "const void *" => "room",
        "const hurray_descriptor_ref *" => "descriptor",
        "const uint64_t *" | "uint64_t *" => "numbers",
        "const int64_t *" | "int64_t *" => "steps",
        "uint32_t *" => "&u32",
        "uint8_t *" => "&u8",
        "size_t *" => "&size",
        "const size_t *" => "&size",
        "void **" => "&pointer",
        "const hurray_tensor *const *" => "tensors",
        "HurrayTensor *" if name == "from" => "handed_over(a_tensor)",
        "HurrayProducer *" if name == "from" => "producing(a_tensor)",
        "HurrayVisit" => "visit",
        "HurrayWrite" => "write_nothing",
        "HurrayProgress" => "NULL",
        _ => {
            let bare = kind.trim_start_matches("const ").trim_end_matches(['*', ' ']);
            let stars = kind.matches('*').count();
            assert!(stars == 1 || stars == 2, "{}: no sample for {kind} {name}", call.name);
            return match (bare.starts_with("hurray_"), stars) {
                (true, 1) => bare.replace("hurray_", "a_"),
                (true, _) => format!("&{}", bare.replace("hurray_", "new_")),
                (false, _) => format!("&{bare}_"),
            };
        }
    };
    text.to_owned()
}
