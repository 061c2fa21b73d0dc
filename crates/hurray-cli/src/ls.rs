//! `hurray ls`: the tensors of a file, one per line.

use std::io::Write;
use std::path::{Path, PathBuf};

use hurray_tensor::format::{self, Accept, Descriptor, Silent};
use hurray_tensor::{Error, File, StreamReader};
use serde_json::ser::CompactFormatter;
use serde_json::{Map, json};

use crate::console::Console;
use crate::describe::number;
use crate::escape::Escaped;
use crate::failure::Failure;
use crate::input::Input;
use crate::kind::Kind;
use crate::output::Output;
use crate::{json, refusal, words};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A file, a stream (whose tensors have numbers for names) or a descriptor; - is
    /// standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// What it is; told by its first bytes where it is not said
    #[arg(long = "as", value_name = "KIND", value_enum)]
    kind: Option<Kind>,
    /// One JSON object a line: {"name", "type", "shape", "bytes"}, and "alias_of" for another
    /// name of a tensor
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, console: &mut Console<'_>) -> Result<(), Failure> {
    let path = &arguments.input;
    // Only descriptors are looked at.
    let accept = Accept::every_private_tag();
    let (inputs, out) = console.inputs(accept);
    let mut lines = Lines { out, json: arguments.json };
    let input = inputs.open(path, arguments.kind);
    match input.map_err(|trouble| trouble.into_failure(path))? {
        Input::File(file) => lines.file(path, &file),
        Input::Stream(source) => {
            let mut stream = StreamReader::with(source, accept);
            let broken = |error: Error| Failure::tensor(path, &error);
            let mut count: u64 = 0;
            while let Some(tensor) = stream.next_tensor().map_err(broken)? {
                lines.one(&count.to_string(), tensor.descriptor(), None)?;
                count += 1;
            }
            Ok(())
        }
        Input::Descriptor(bytes) => {
            let descriptor = Descriptor::decode_with(&bytes, &accept, &mut Silent);
            let descriptor = descriptor.map_err(|error| Failure::broken(path, &error))?;
            lines.one("0", &descriptor, None)
        }
    }
}

struct Lines<'o, 's> {
    out: &'o mut Output<'s>,
    json: bool,
}

impl Lines<'_, '_> {
    /// A tensor whose descriptor is broken is listed as such, and the others after it.
    fn file(&mut self, path: &Path, file: &File) -> Result<(), Failure> {
        let mut first_broken = None;
        for entry in file.container().index().iter() {
            match file.read(&entry) {
                Ok(tensor) => self.one(entry.name, tensor.descriptor(), None)?,
                Err(error) => match error.format() {
                    Some(broken) => {
                        self.broken(entry.name, broken)?;
                        first_broken.get_or_insert(*broken);
                    }
                    None => return Err(Failure::tensor(path, &error)),
                },
            }
        }
        for (alias, target) in file.kv().aliases() {
            // An alias of nothing is for `verify` to tell.
            if let Ok(tensor) = file.get(alias) {
                self.one(alias, tensor.descriptor(), Some(target))?;
            }
        }
        first_broken.map_or(Ok(()), |error| Err(Failure::broken(path, &error)))
    }

    fn one(&mut self, name: &str, d: &Descriptor, alias_of: Option<&str>) -> Result<(), Failure> {
        if self.json {
            let mut line = Map::new();
            line.insert("name".into(), name.into());
            line.insert("type".into(), d.dtype().name().into());
            line.insert("shape".into(), d.shape().iter().map(|size| number(*size)).collect());
            line.insert("bytes".into(), number(d.data_bytes()));
            if let Some(target) = alias_of {
                line.insert("alias_of".into(), target.into());
            }
            return Ok(json::write(&mut self.out, &line, CompactFormatter)?);
        }
        let (dtype, shape, bytes) =
            (d.dtype(), words::shape(d.shape().iter().copied()), d.data_bytes());
        write!(self.out, "{}\t{dtype}\t{shape}\t{bytes}", Escaped::new(name))?;
        match alias_of {
            Some(target) => writeln!(self.out, "\t-> {}", Escaped::new(target))?,
            None => writeln!(self.out)?,
        }
        Ok(())
    }

    fn broken(&mut self, name: &str, error: &format::Error) -> Result<(), Failure> {
        if self.json {
            let mut refused = Map::new();
            refusal::put(&mut refused, error);
            let line = json!({ "name": name, "error": refused });
            json::write(&mut self.out, &line, CompactFormatter)?;
        } else {
            writeln!(self.out, "{}\tbroken: {}", Escaped::new(name), error.rule())?;
        }
        Ok(())
    }
}
