//! The C programs beside this file, compiled and run.

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

use std::process::Command;

use support::{compile, programs, run};

fn compile_and_run(name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(&programs().join(name).with_extension("c"), name);
    run(Command::new(program).arg(folder.path()));
}

#[test]
fn descriptors_are_built_and_read() {
    compile_and_run("descriptors");
}

#[test]
fn every_layout_is_built_and_read() {
    compile_and_run("layouts");
}

#[test]
fn errors_are_told() {
    compile_and_run("errors");
}

#[test]
fn files_are_written_and_read() {
    compile_and_run("files");
}

#[test]
fn tensors_are_held_and_let_go_of() {
    compile_and_run("tensors");
}

#[test]
fn tensors_of_others_are_taken() {
    compile_and_run("imports");
}

#[test]
fn tensors_are_handed_over() {
    compile_and_run("exports");
}

#[test]
fn composites_go_both_ways() {
    compile_and_run("composites");
}

#[test]
fn careless_programs_and_files_of_strangers_get_an_answer() {
    compile_and_run("hostile");
}
