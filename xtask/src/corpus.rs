//! `cargo xtask corpus`: the seeds the fuzz targets start from, taken from the vectors; but for structs
//! in memory, which are made of choices.
//!
//! A seed is named `seed-*`; anything else in a corpus folder (an input that once failed) is left
//! alone. The vectors say what they are in JSON, so nothing here reads the format itself.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{
    Outcome,
    generated::{self, Mode},
    run,
};

/// Larger containers teach a fuzzer little that smaller ones do not, and cost it speed.
const LARGEST_FILE: usize = 10 * 1024;
/// The same for the data behind a descriptor in a stream.
const LARGEST_STREAM_DATA: u64 = 512;

pub(crate) fn command(arguments: &[String]) -> Outcome {
    let mode = Mode::from_arguments(arguments)?;
    generate(mode)?;
    for target in ["descriptor", "dlpack", "exchange", "file", "stream"] {
        let (count, bytes) = size_of(&folder(target))?;
        println!("fuzz/corpus/{target}: {count} inputs, {bytes} bytes");
    }
    Ok(())
}

pub(crate) fn generate(mode: Mode) -> Outcome {
    settle("descriptor", &descriptors()?, mode)?;
    settle("file", &files()?, mode)?;
    settle("stream", &streams()?, mode)?;
    for target in ["dlpack", "exchange"] {
        settle(target, &choices(), mode)?;
    }
    Ok(())
}

/// As many as it takes to come by most kinds of structs.
const CHOICES: usize = 64;

/// A seed's name and its bytes.
type Seed = (String, Vec<u8>);

/// Every descriptor of the vectors, good or bad.
fn descriptors() -> Outcome<Vec<Seed>> {
    lines("descriptors.jsonl")?.iter().map(|line| Ok((name(line)?, bytes(line)?))).collect()
}

/// The small containers of the vectors, good or bad.
fn files() -> Outcome<Vec<Seed>> {
    let mut seeds = Vec::new();
    for line in lines("files.jsonl")? {
        let path = vectors().join(text(&line, "file")?);
        let contents = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        if contents.len() < LARGEST_FILE {
            seeds.push((name(&line)?, contents));
        }
    }
    Ok(seeds)
}

/// A plain stream of one tensor for each layout and each quantization scheme, and one of them all.
fn streams() -> Outcome<Vec<Seed>> {
    let mut seen = BTreeSet::new();
    let mut seeds = Vec::new();
    let mut all = Vec::new();
    for line in lines("descriptors.jsonl")? {
        let Some(expected) = line.get("expected") else { continue };
        let public = line.get("private").and_then(Value::as_array).is_some_and(Vec::is_empty);
        let data = data_size(expected);
        let kind = (expected.get("layout_tag").and_then(Value::as_u64), scheme(expected));
        if !public || data > LARGEST_STREAM_DATA || !seen.insert(kind) {
            continue;
        }
        let mut stream = bytes(&line)?;
        stream.resize(stream.len().saturating_add(usize::try_from(data)?), 0);
        all.extend_from_slice(&stream);
        seeds.push((name(&line)?, stream));
    }
    seeds.push(("all".into(), all));
    Ok(seeds)
}

/// Bytes that decide how a struct is made: any will do, of which these are the same in every run.
fn choices() -> Vec<Seed> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state.to_be_bytes()[0]
    };
    (0..CHOICES).map(|number| (number.to_string(), (0..64).map(|_| next()).collect())).collect()
}

/// How many bytes follow a descriptor in a plain stream: its buffers, unpadded.
fn data_size(expected: &Value) -> u64 {
    let buffers = expected.get("buffers").and_then(Value::as_array).into_iter().flatten();
    buffers.fold(0, |sum: u64, buffer| sum.saturating_add(integer(buffer, "byte_size")))
}

fn scheme(expected: &Value) -> Option<u64> {
    expected.get("quantization")?.get("scheme_tag")?.as_u64()
}

/// Integers beyond 2^53 are strings in the vectors, and no size to fuzz with.
fn integer(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or(u64::MAX)
}

fn settle(target: &str, seeds: &[Seed], mode: Mode) -> Outcome {
    let folder = folder(target);
    let mut made = BTreeSet::new();
    for (name, contents) in seeds {
        let path = folder.join(format!("seed-{name}"));
        generated::settle(&path, contents, mode)?;
        made.insert(path);
    }
    for path in inputs(&folder)? {
        let is_seed =
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("seed-"));
        if is_seed && !made.contains(&path) {
            generated::settle_absent(&path, mode)?;
        }
    }
    Ok(())
}

/// The corpus folder of a target.
pub(crate) fn folder(target: &str) -> PathBuf {
    run::root().join("fuzz/corpus").join(target)
}

fn size_of(folder: &Path) -> Outcome<(usize, u64)> {
    let inputs = inputs(folder)?;
    let mut bytes = 0_u64;
    for input in &inputs {
        bytes = bytes.saturating_add(fs::metadata(input)?.len());
    }
    Ok((inputs.len(), bytes))
}

fn inputs(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    entries.map(|entry| Ok(entry?.path())).collect()
}

fn vectors() -> PathBuf {
    run::root().join("vectors")
}

fn lines(file: &str) -> Outcome<Vec<Value>> {
    let text = run::read(&vectors().join(file))?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

fn name(line: &Value) -> Outcome<String> {
    Ok(text(line, "name")?.to_owned())
}

fn text<'a>(line: &'a Value, key: &str) -> Outcome<&'a str> {
    Ok(line.get(key).and_then(Value::as_str).ok_or_else(|| format!("a vector without {key}"))?)
}

fn bytes(line: &Value) -> Outcome<Vec<u8>> {
    let digits = text(line, "hex")?.as_bytes();
    let (pairs, rest) = digits.as_chunks::<2>();
    if !rest.is_empty() {
        return Err("an odd number of hex digits".into());
    }
    pairs.iter().map(|pair| Ok(u8::from_str_radix(std::str::from_utf8(pair)?, 16)?)).collect()
}
