//! Everything that is asked of `hurray-convert`, in one place.

use std::io::{Read, Write};
use std::path::Path;

pub(crate) use hurray_convert::{ConvertOptions, Report};

use hurray_convert::{
    Error, Names, SafetensorsOptions, SafetensorsSource, ShardFault, StreamSource,
    hurray_to_safetensors, hurray_to_stream, rewrite, safetensors_to_hurray, save,
    stream_to_hurray,
};
use hurray_tensor::File;
use hurray_tensor::format::{Accept, FileOptions, FilePlan};
use serde_json::{Value as Json, json};

use crate::describe::number;
use crate::failure::{Failure, explain, shown};
use crate::kind;
use crate::progress::Progress;

/// What a conversion makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Target {
    /// A Hurray file (.hrry)
    Hrry,
    /// A plain stream (.hrrys)
    Hrrys,
    /// A safetensors file (.safetensors)
    Safetensors,
}

impl Target {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hrry => "Hurray file",
            Self::Hrrys => "plain stream",
            Self::Safetensors => "safetensors",
        }
    }

    /// What a name like this promises.
    pub(crate) fn of_path(path: &Path) -> Option<Self> {
        let known =
            [("hrry", Self::Hrry), ("hrrys", Self::Hrrys), ("safetensors", Self::Safetensors)];
        let found = known.iter().find(|(extension, _)| kind::has_extension(path, extension));
        found.map(|(_, target)| *target)
    }
}

/// What a conversion reads.
pub(crate) enum Source<'c> {
    File(Box<File>),
    Stream { input: Box<dyn Read + 'c>, bytes: Option<u64> },
    Safetensors(Box<SafetensorsSource<'static>>),
}

/// Opens a safetensors model. `word` is about what the file may be instead.
pub(crate) fn open_safetensors(
    path: &Path,
    linked_shards: bool,
    word: Option<&'static str>,
) -> Result<Source<'static>, Failure> {
    match SafetensorsSource::open_with(path, &SafetensorsOptions { linked_shards }) {
        Ok(source) => Ok(Source::Safetensors(Box::new(source))),
        Err(error) => Err(match (failure(&error), word) {
            (Failure::Failed { what, .. }, Some(word)) => Failure::with_hint(what, word),
            (failure, _) => failure,
        }),
    }
}

/// One conversion there is, with what it reads.
pub(crate) enum Conversion<'c> {
    Import(Box<SafetensorsSource<'static>>),
    Export(Box<File>),
    Rewrite(Box<File>),
    ToStream(Box<File>),
    FromStream(StreamSource<Box<dyn Read + 'c>>),
}

impl<'c> Conversion<'c> {
    /// The conversion of a source, whose path is for messages, to a target.
    pub(crate) fn new(
        source: Source<'c>,
        path: &Path,
        target: Target,
        accept: Accept,
    ) -> Result<Self, Failure> {
        let none = |from: &str| {
            let text = format!(
                "{}: there is no conversion from a {from} to a {}",
                shown(path),
                target.name()
            );
            Err(Failure::with_hint(text, "convert to a Hurray file (.hrry), and that one further"))
        };
        Ok(match (source, target) {
            (Source::Safetensors(source), Target::Hrry) => Self::Import(source),
            (Source::File(file), Target::Hrry) => Self::Rewrite(file),
            (Source::File(file), Target::Hrrys) => Self::ToStream(file),
            (Source::File(file), Target::Safetensors) => Self::Export(file),
            (Source::Stream { input, bytes }, Target::Hrry) => {
                let (path, names) = (path.to_owned(), Vec::new());
                Self::FromStream(StreamSource { input, path, names, bytes, accept })
            }
            (Source::Safetensors(_), _) => return none(Target::Safetensors.name()),
            (Source::Stream { .. }, _) => return none(Target::Hrrys.name()),
        })
    }

    /// Converts to a file, which appears whole or not at all.
    pub(crate) fn save(
        self,
        path: &Path,
        options: &ConvertOptions,
        progress: &Progress,
    ) -> Result<Report, Failure> {
        save(path, |out| self.run(out, options, progress)).map_err(|error| failure(&error))
    }

    /// Converts to a stream of bytes.
    pub(crate) fn write(
        self,
        out: impl Write,
        options: &ConvertOptions,
        progress: &Progress,
    ) -> Result<Report, Failure> {
        self.run(out, options, progress).map_err(|error| failure(&error))
    }

    fn run(
        self,
        out: impl Write,
        options: &ConvertOptions,
        progress: &Progress,
    ) -> hurray_convert::Result<Report> {
        let mut tick = |done, total| progress.at_of(done, total);
        match self {
            Self::Import(source) => safetensors_to_hurray(&source, out, options, &mut tick),
            Self::Export(file) => hurray_to_safetensors(&file, out, &mut tick),
            Self::Rewrite(file) => rewrite(&file, out, options, &mut tick),
            Self::ToStream(file) => hurray_to_stream(&file, out, &mut tick),
            Self::FromStream(source) => stream_to_hurray(source, out, options, &mut tick),
        }
    }
}

fn failure(error: &Error) -> Failure {
    if let Some(closed) = Failure::closed(error) {
        return closed;
    }
    if let Error::Shards { fault, .. } = error
        && matches!(**fault, ShardFault::Link(_))
    {
        return Failure::with_hint(error.to_string(), "--linked-shards allows them");
    }
    if let Error::Tensor(inner) = error
        && let Some(path) = error.path()
    {
        return Failure::tensor(path, inner);
    }
    match error.rule() {
        Some(rule) => Failure::with_hint(error.to_string(), explain(rule)),
        None => Failure::new(error.to_string()),
    }
}

/// An alignment that a file may have; what may be is for the format to say.
pub(crate) fn alignment(text: &str) -> Result<u32, String> {
    let bytes = crate::arguments::bytes(text)?;
    let wrong = || "it is 4K to 2M, a power of two".to_owned();
    let alignment = u32::try_from(bytes).map_err(|_| wrong())?;
    let options = FileOptions { alignment, ..FileOptions::default() };
    FilePlan::new(options).map(|_| alignment).map_err(|_| wrong())
}

/// What moved, what was changed and what was left out, as JSON.
pub(crate) fn report(report: &Report) -> Json {
    let transcoded = report.transcoded.iter().map(|one| {
        json!({
            "tensor": one.tensor,
            "from": one.from,
            "to": one.to,
            "bytes_before": number(one.bytes_before),
            "bytes_after": number(one.bytes_after),
        })
    });
    let aliases = report.aliases.iter();
    let aliases = aliases.map(|one| json!({ "name": one.name, "tensor": one.tensor }));
    let changes = report.changes.iter().map(|change| {
        json!({
            "subject": change.subject,
            "what": change.what.name(),
            "left_out": change.what.is_left_out(),
        })
    });
    json!({
        "tensors": number(report.tensors),
        "bytes": number(report.bytes),
        "copied_bytes": number(report.copied_bytes),
        "transcoded": transcoded.collect::<Json>(),
        "aliases": aliases.collect::<Json>(),
        "names": match report.names {
            Names::Kept => "kept",
            Names::Given => "given",
            Names::Numbered => "numbered",
            Names::LeftOut => "left-out",
        },
        "changes": changes.collect::<Json>(),
    })
}

/// How many tensors two safetensors files have, where they say the same; or how they
/// differ.
pub(crate) fn compare(one: &Path, other: &Path) -> Result<Result<Equal, String>, Failure> {
    let open = |path| SafetensorsSource::open(path).map_err(|error| failure(&error));
    let (one, other) = (open(one)?, open(other)?);
    let difference = one.difference(&other).map_err(|error| failure(&error))?;
    Ok(match difference {
        Some(difference) => Err(difference.to_string()),
        None => {
            Ok(Equal { names: one.names().map(str::to_owned).collect(), bytes: one.data_bytes() })
        }
    })
}

/// What two models have in common: everything.
pub(crate) struct Equal {
    pub(crate) names: Vec<String>,
    pub(crate) bytes: u64,
}
