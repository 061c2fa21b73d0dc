//! Every input of the fuzz corpora through its target, without a fuzzer: what once failed stays
//! fixed, and the targets keep working where no fuzzer is installed.

use std::{fs, io, path::Path};

use hurray_format::fuzzing;

#[test]
fn descriptor() -> io::Result<()> {
    replay("descriptor", fuzzing::descriptor)
}

#[test]
fn file() -> io::Result<()> {
    replay("file", fuzzing::file)
}

#[test]
fn stream() -> io::Result<()> {
    replay("stream", fuzzing::stream)
}

fn replay(target: &str, run: fn(&[u8])) -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let mut inputs = Vec::new();
    for entry in fs::read_dir(folder)? {
        inputs.push(entry?.path());
    }
    inputs.sort();
    assert!(!inputs.is_empty());
    for input in inputs {
        // Shown when the test fails: the last one is at fault.
        println!("{}", input.display());
        run(&fs::read(&input)?);
    }
    Ok(())
}
