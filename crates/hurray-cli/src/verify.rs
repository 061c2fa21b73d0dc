//! `hurray verify`: proves inputs intact, or names the rule that each breaks.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use hurray_tensor::format::{self, Descriptor, Silent};
use hurray_tensor::{Error, File, StreamReader};
use serde_json::ser::CompactFormatter;
use serde_json::{Map, Value as Json};

use crate::console::Console;
use crate::escape::Escaped;
use crate::failure::{Failure, plain, shown};
use crate::input::{Input, Trouble};
use crate::json;
use crate::kind::Kind;
use crate::refusal;
use crate::words::{bytes, counted};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Files, streams or descriptors; - is standard input
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// What the inputs are; told by their first bytes where it is not said (what begins as
    /// a descriptor is one alone where nothing follows it, and else a stream)
    #[arg(long = "as", value_name = "KIND", value_enum)]
    kind: Option<Kind>,
    /// One line of JSON for each input: {"path", "ok": true}, or {"path", "ok": false, "rule",
    /// "field", "offset", "found", "expected"}, and "error" with a null rule where an input
    /// cannot be read
    #[arg(long)]
    json: bool,
}

impl Arguments {
    pub(crate) fn new(inputs: Vec<PathBuf>) -> Self {
        Self { inputs, kind: None, json: false }
    }
}

pub(crate) fn run(arguments: &Arguments, console: &mut Console<'_>) -> Result<(), Failure> {
    if arguments.inputs.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(Failure::Usage("standard input can be read once".into()));
    }
    let mut all_intact = true;
    for path in &arguments.inputs {
        let verdict = judge(path, arguments.kind, console);
        all_intact &= matches!(verdict, Verdict::Intact(_));
        let told = if arguments.json {
            write_json(console, path, &verdict)
        } else {
            write_text(console, path, &verdict).map_err(Failure::from)
        };
        // Each verdict is told when it is known. Where nobody listens any more, the exit
        // code still tells.
        match told.and_then(|()| Ok(console.output.flush()?)) {
            Err(failure) if !failure.is_closed() => return Err(failure),
            _ => {}
        }
    }
    if all_intact { Ok(()) } else { Err(Failure::Told) }
}

enum Verdict {
    /// What was found, in words.
    Intact(String),
    Broken(Box<Breach>),
    /// It could not be read.
    Failed {
        why: String,
        word: Option<&'static str>,
    },
}

/// A broken rule, where it was met, and what the input may be instead.
struct Breach {
    error: format::Error,
    place: Option<String>,
    word: Option<&'static str>,
}

impl Verdict {
    fn of(error: &Error, place: Option<String>, word: Option<&'static str>) -> Self {
        match error.format() {
            Some(broken) => {
                let tensor = error.place().tensor.as_deref();
                let tensor = tensor.map(|name| format!("tensor {}", Escaped::at_most(name, 200)));
                let place = place.or(tensor);
                Self::Broken(Box::new(Breach { error: *broken, place, word }))
            }
            None => Self::Failed { why: plain(error), word },
        }
    }
}

impl From<Trouble> for Verdict {
    fn from(trouble: Trouble) -> Self {
        Self::of(&trouble.error, None, trouble.word)
    }
}

fn judge(path: &Path, kind: Option<Kind>, console: &mut Console<'_>) -> Verdict {
    let accept = console.settings.accept();
    // Of standard input it is not known how long it is.
    let total = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let progress = console.progress("verifying", path, total);
    let mut tick = |done| progress.at(done);
    let (inputs, _) = console.inputs(accept);
    match inputs.open(path, kind) {
        Err(trouble) => trouble.into(),
        Ok(Input::File(file)) => match file.verify(&mut tick) {
            Ok(()) => Verdict::Intact(summary(&file)),
            Err(error) => {
                let place = error.format().and_then(|broken| place(&file, broken.offset()));
                Verdict::of(&error, place, None)
            }
        },
        Ok(Input::Stream(source)) => match StreamReader::with(source, accept).verify(&mut tick) {
            Ok(count) => Verdict::Intact(format!("plain stream, {}", counted(count, "tensor"))),
            Err(error) => Verdict::of(&error, None, None),
        },
        Ok(Input::Descriptor(bytes)) => {
            match Descriptor::decode_with(&bytes, &accept, &mut Silent) {
                Ok(descriptor) => Verdict::Intact(format!(
                    "descriptor, {} {}",
                    descriptor.dtype(),
                    crate::words::shape(descriptor.shape().iter().copied())
                )),
                Err(error) => Verdict::of(&error.into(), None, None),
            }
        }
    }
}

fn summary(file: &File) -> String {
    let count = u64::try_from(file.len()).unwrap_or(u64::MAX);
    let checksums = file.names().filter(|name| file.kv().checksums(name).is_some()).count();
    let size = bytes(file.container().sections().size());
    let checksums = match checksums {
        0 => "no checksums".into(),
        some if some == file.len() => "all with checksums".into(),
        some => format!("{some} with checksums"),
    };
    match file.len() {
        0 => format!("file, no tensors, {size}"),
        _ => format!("file, {} ({checksums}), {size}", counted(count, "tensor")),
    }
}

/// What lies at `offset` of a file.
fn place(file: &File, offset: u64) -> Option<String> {
    let sections = file.container().sections();
    if offset < sections.tensors().start {
        return Some("in the header".into());
    }
    if sections.index().contains(&offset) {
        return Some("in the index".into());
    }
    if sections.kv().is_some_and(|kv| kv.contains(&offset)) {
        return Some("in the key-values".into());
    }
    let named = |what: &str, name: &str| format!("{what} {}", Escaped::at_most(name, 200));
    file.container().index().iter().find_map(|entry| {
        if entry.descriptor().contains(&offset) {
            Some(named("in the descriptor of", entry.name))
        } else if entry.data().contains(&offset) {
            Some(named("in the data of", entry.name))
        } else {
            None
        }
    })
}

fn write_json(console: &mut Console<'_>, path: &Path, verdict: &Verdict) -> Result<(), Failure> {
    let mut line = Map::new();
    line.insert("path".into(), path.to_string_lossy().into());
    line.insert("ok".into(), matches!(verdict, Verdict::Intact(_)).into());
    match verdict {
        Verdict::Intact(_) => {}
        Verdict::Broken(breach) => refusal::put(&mut line, &breach.error),
        Verdict::Failed { why, .. } => {
            for key in ["rule", "field", "offset", "found", "expected"] {
                line.insert(key.into(), Json::Null);
            }
            line.insert("error".into(), why.as_str().into());
        }
    }
    json::write(&mut console.output, &line, CompactFormatter)?;
    if let Some(word) = verdict.word() {
        console.remark(&format!("{}: {word}", shown(path)));
    }
    Ok(())
}

fn write_text(console: &mut Console<'_>, path: &Path, verdict: &Verdict) -> io::Result<()> {
    let out = &mut console.output;
    let ink = out.ink();
    let path = ink.bold(shown(path));
    match verdict {
        Verdict::Intact(what) => writeln!(out, "{path}: {}, {what}", ink.good("intact"))?,
        Verdict::Broken(breach) => {
            writeln!(out, "{path}: {}", ink.bad("broken"))?;
            refusal::tell(out, &breach.error, breach.place.as_deref())?;
        }
        Verdict::Failed { why, .. } => writeln!(out, "{path}: {}", ink.bad(why))?,
    }
    match verdict.word() {
        Some(word) => writeln!(out, "  hint      {word}"),
        None => Ok(()),
    }
}

impl Verdict {
    fn word(&self) -> Option<&'static str> {
        match self {
            Self::Intact(_) => None,
            Self::Broken(breach) => breach.word,
            Self::Failed { word, .. } => *word,
        }
    }
}
