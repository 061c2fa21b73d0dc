//! `hurray demo`: the whole of it on a small real model, with every step told.

use std::fmt::Display;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::console::Console;
use crate::conversion::compare;
use crate::escape::Escaped;
use crate::failure::{Failure, shown};
use crate::{convert, inspect, verify, words};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Write the files into this folder, and leave them there
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

/// 30 tensors of a sentence encoder; samples/README.md tells where they are from.
const SAMPLE: &[u8] = include_bytes!("../../../samples/all-minilm-l6-v2.sample.safetensors");

pub(crate) fn run(arguments: &Arguments, console: &mut Console<'_>) -> Result<(), Failure> {
    let temporary;
    let folder = match &arguments.keep {
        Some(folder) => {
            fs::create_dir_all(folder).map_err(|error| cannot("make", folder, &error))?;
            folder.clone()
        }
        None => {
            let made = tempfile::Builder::new().prefix("hurray-demo-").tempdir();
            temporary = made.map_err(|error| {
                Failure::new(format!("cannot make a temporary folder: {error}"))
            })?;
            temporary.path().to_owned()
        }
    };
    let [model, file, back] =
        ["model.safetensors", "model.hrry", "back.safetensors"].map(|name| folder.join(name));

    if arguments.keep.is_some() {
        for path in [&model, &file, &back] {
            if fs::symlink_metadata(path).is_ok() {
                let what = format!("{} is there already", shown(path));
                return Err(Failure::with_hint(what, "name another folder with --keep"));
            }
        }
    }

    step(console, "A piece of a real model: 30 tensors of the sentence encoder all-MiniLM-L6-v2")?;
    fs::write(&model, SAMPLE).map_err(|error| cannot("write", &model, &error))?;
    let size = words::bytes(u64::try_from(SAMPLE.len()).unwrap_or(u64::MAX));
    writeln!(console.output, "{} ({size})", shown(&model))?;

    step(console, "Turned into a Hurray file, with a checksum for each tensor")?;
    command(console, "convert", &[&model, &file])?;
    convert::run(&convert::Arguments::new(model.clone(), file.clone()), console)?;

    step(console, "Looked into, without touching the data")?;
    command(console, "inspect", &[&file])?;
    inspect::run(&inspect::Arguments::new(file.clone()), console)?;

    step(console, "Proved intact: structure, padding, every checksum")?;
    command(console, "verify", &[&file])?;
    verify::run(&verify::Arguments::new(vec![file.clone()]), console)?;

    step(console, "Turned back")?;
    command(console, "convert", &[&file, &back])?;
    convert::run(&convert::Arguments::new(file, back.clone()), console)?;

    step(console, "Compared with what there was at first, tensor by tensor")?;
    equal(console, &model, &back)?;

    let out = &mut console.output;
    match &arguments.keep {
        Some(folder) => writeln!(out, "\nThe files are in {}.", shown(folder))?,
        None => writeln!(out, "\nThe files are gone again; --keep DIR leaves them.")?,
    }
    Ok(())
}

fn equal(console: &mut Console<'_>, model: &Path, back: &Path) -> Result<(), Failure> {
    let equal = compare(model, back)?.map_err(|difference| {
        Failure::new(format!("{} and {} differ: {difference}", shown(model), shown(back)))
    })?;
    let out = &mut console.output;
    let ink = out.ink();
    for name in &equal.names {
        writeln!(out, "{} {}", ink.good("equal"), Escaped::new(name))?;
    }
    let count = words::counted(u64::try_from(equal.names.len()).unwrap_or(u64::MAX), "tensor");
    let told = "names, types, shapes and every byte are equal, and so is all metadata";
    writeln!(out, "{}: {count}, {}: {told}", ink.good("nothing lost"), words::bytes(equal.bytes))?;
    Ok(())
}

fn step(console: &mut Console<'_>, what: impl Display) -> Result<(), Failure> {
    let out = &mut console.output;
    let ink = out.ink();
    writeln!(out, "\n{}", ink.bold(format_args!("# {what}")))?;
    Ok(())
}

/// The command a person would give.
fn command(console: &mut Console<'_>, name: &str, paths: &[&Path]) -> Result<(), Failure> {
    let out = &mut console.output;
    let ink = out.ink();
    let paths: Vec<String> = paths.iter().map(|path| shown(path)).collect();
    writeln!(out, "{}", ink.dim(format_args!("$ hurray {name} {}", paths.join(" "))))?;
    // What follows may take a moment.
    out.flush()?;
    Ok(())
}

fn cannot(doing: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot {doing} {}: {error}", shown(path)))
}
