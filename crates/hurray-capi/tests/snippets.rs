//! The programs in the README and in the guide, compiled and run.

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

use std::path::Path;
use std::process::Command;

use hurray_tensor::format::{Descriptor, Dtype};
use hurray_tensor::{WriteOptions, save};
use support::{compile, library_folder, run};

#[test]
fn the_readme_s_program_does_what_it_says() {
    let printed = run_all("README.md", "readme");
    assert_eq!(printed.len(), 1);
    assert!(printed[0].starts_with("m[1][2] = 6\ndescriptor.magic at byte 0: "), "{printed:?}");
}

#[test]
fn the_guide_s_programs_do_what_they_say() {
    let printed = run_all("../../docs/guide/c.md", "guide");
    let expected = [
        "weight: bfloat16 [2, 3]\nbias: float32 [3]\nbias[2] = 0.25\n",
        "3.5, at an address to read\n0.5, at an address to write\nlet go of\n",
        "the last element is 3\nthe buffer was released\nthe buffer was released\n\
         refused: exchange.stream-unexpected\n",
    ];
    assert_eq!(printed, expected);
}

/// The file that the guide's reader has.
fn model(path: &Path) {
    let bias = [1.0_f32, -2.0, 0.25].map(f32::to_le_bytes).concat();
    save(path, WriteOptions::default(), |file| {
        file.tensor("weight", &Descriptor::dense(Dtype::BFloat16, &[2, 3])?, &[&[0; 12]])?;
        file.tensor("bias", &Descriptor::dense(Dtype::Float32, &[3])?, &[&bias])
    })
    .unwrap();
}

/// Runs every C program of a page in a folder of its own, and answers what each printed.
fn run_all(page: &str, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap();
    let blocks = text.split("```c\n").skip(1).map(|rest| rest.split_once("```").unwrap().0);
    blocks
        .enumerate()
        .map(|(number, code)| {
            let name = format!("{name}-{number}");
            let source = library_folder().join(&name).with_extension("c");
            std::fs::write(&source, code).unwrap();
            let folder = tempfile::tempdir().unwrap();
            model(&folder.path().join("model.hrry"));
            run(Command::new(compile(&source, &name)).current_dir(folder.path()))
        })
        .collect()
}
