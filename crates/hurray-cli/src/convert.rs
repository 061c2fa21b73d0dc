//! `hurray convert`: a tensor file into one of another kind.

use std::fs;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use serde_json::ser::CompactFormatter;
use serde_json::{Value as Json, json};

use crate::console::Console;
use crate::conversion::{
    Conversion, ConvertOptions, Report, Source, Target, alignment, open_safetensors, report,
};
use crate::failure::{Failure, shown};
use crate::input::{Input, Inputs};
use crate::json;
use crate::kind::{self, HEAD, Told, told_by};
use crate::output::{Ink, Output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// What to convert: a safetensors file, the .safetensors.index.json of a sharded model, a
    /// Hurray file or a plain stream; - is standard input (not for safetensors)
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// Where to write; a file there is replaced once the new one is whole; - is standard
    /// output
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// What to make; told by the ending of OUT where it is not said
    #[arg(long, value_name = "KIND", value_enum)]
    to: Option<Target>,
    /// Every buffer of a Hurray file starts at a multiple of this: a power of two from 4K to
    /// 2M
    #[arg(long, value_name = "BYTES", value_parser = alignment)]
    alignment: Option<u32>,
    /// Sort the index of a Hurray file by name
    #[arg(long)]
    sorted: bool,
    /// Leave the checksums of data out of a Hurray file
    #[arg(long)]
    no_checksums: bool,
    /// Let shards be links that lead out of the folder of their index, as in the caches of
    /// download tools; whoever may write into the folder can lead them to any file then
    #[arg(long)]
    linked_shards: bool,
    /// Report as one JSON object what moved, what was transcoded and what was left out
    #[arg(long)]
    json: bool,
}

impl Arguments {
    pub(crate) fn new(input: PathBuf, output: PathBuf) -> Self {
        Self {
            input,
            output,
            to: None,
            alignment: None,
            sorted: false,
            no_checksums: false,
            linked_shards: false,
            json: false,
        }
    }

    fn target(&self) -> Result<Target, Failure> {
        let target = self.to.or_else(|| Target::of_path(&self.output)).ok_or_else(|| {
            let output = shown_output(&self.output);
            Failure::Usage(format!(
                "the ending of {output} tells no kind; name one with --to hrry, hrrys or safetensors"
            ))
        })?;
        let given = [
            ("--alignment", self.alignment.is_some()),
            ("--sorted", self.sorted),
            ("--no-checksums", self.no_checksums),
        ];
        match given.iter().find(|(_, is_given)| *is_given && target != Target::Hrry) {
            Some((name, _)) => {
                Err(Failure::Usage(format!("{name} is for Hurray files, and not for what OUT is")))
            }
            None => Ok(target),
        }
    }

    fn options(&self) -> ConvertOptions {
        let defaults = ConvertOptions::default();
        ConvertOptions {
            alignment: self.alignment.unwrap_or(defaults.alignment),
            sorted: self.sorted,
            checksums: !self.no_checksums,
        }
    }
}

pub(crate) fn run(arguments: &Arguments, console: &mut Console<'_>) -> Result<(), Failure> {
    let (input, output) = (&arguments.input, &arguments.output);
    let target = arguments.target()?;
    let accept = console.settings.accept();
    let is_piped = output.as_os_str() == "-";
    let needs_pipe = !is_piped && is_special(output)?;
    if is_piped && console.output_is_terminal {
        return Err(terminal(output));
    }
    let progress = console.progress("converting", input, 0);
    let (inputs, out) = console.inputs(accept);
    let source = open(input, arguments.linked_shards, inputs)?;
    let conversion = Conversion::new(source, input, target, accept)?;
    let options = arguments.options();
    let done = if is_piped {
        conversion.write(out, &options, &progress)?
    } else if needs_pipe {
        let failed = |error| Failure::new(format!("{}: cannot open: {error}", shown(output)));
        let mut file = fs::OpenOptions::new().write(true).open(output).map_err(failed)?;
        if file.is_terminal() {
            return Err(terminal(output));
        }
        let mut out = Output::new(&mut file, Ink::default());
        let done = conversion.write(&mut out, &options, &progress)?;
        out.flush()?;
        done
    } else {
        conversion.save(output, &options, &progress)?
    };
    drop(progress);
    if let Some(count) = shards(input) {
        let (input, count) = (shown(input), crate::words::grouped(count));
        let told = writeln!(
            console.errors,
            "hurray: {input} is one of {count} shards; the whole model is converted by its index, \
             the .safetensors.index.json beside it"
        );
        // Where even a remark cannot be written, there is nobody to tell.
        let _ = told.and_then(|()| console.errors.flush());
    }
    // What standard output carries is the result itself then, by whichever name.
    let out = if is_piped || needs_pipe { &mut console.errors } else { &mut console.output };
    if arguments.json {
        write_json(out, arguments, target, &done)
    } else {
        write_text(out, arguments, target, &done)
    }
}

/// Whether `path` leads to a pipe, a device or another thing whose bytes are never replaced,
/// but written to. What can be told to be in the way is told before anything is read.
fn is_special(path: &Path) -> Result<bool, Failure> {
    let hint = "name a file to write";
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            Err(Failure::with_hint(format!("{} is a directory", shown(path)), hint))
        }
        Ok(metadata) => Ok(!metadata.is_file()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            match folder.filter(|folder| fs::metadata(folder).is_err()) {
                None => Ok(false),
                Some(folder) => {
                    let what = format!("there is no directory {} to write in", shown(folder));
                    Err(Failure::with_hint(what, "make it first"))
                }
            }
        }
        // Whoever opens it tells.
        Err(_) => Ok(false),
    }
}

/// How many shards there are, where the file is called as one of several is:
/// `NAME-00001-of-00002.safetensors`.
fn shards(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?.strip_suffix(".safetensors")?;
    let (start, count) = name.rsplit_once("-of-")?;
    let (_, number) = start.rsplit_once('-')?;
    let is_number = |text: &str| text.len() == 5 && text.bytes().all(|c| c.is_ascii_digit());
    let count = count.parse().ok().filter(|_| is_number(number) && is_number(count))?;
    (count > 1).then_some(count)
}

fn terminal(output: &Path) -> Failure {
    let to = shown_output(output);
    Failure::Usage(format!(
        "{to} is a terminal, which raw bytes would garble: name a file as OUT, or redirect it, as \
         in `hurray convert IN - --to hrry > FILE`"
    ))
}

fn shown_output(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard output".into() } else { shown(path) }
}

fn open<'c>(
    path: &Path,
    linked_shards: bool,
    inputs: Inputs<'c, '_>,
) -> Result<Source<'c>, Failure> {
    if kind::has_extension(path, "json") {
        return open_safetensors(path, linked_shards, None);
    }
    if path.as_os_str() != "-" {
        let head = head(path)?;
        let named_so = kind::has_extension(path, "safetensors") && told_by(&head) == Told::Other;
        if kind::is_safetensors(&head) || named_so {
            let word = kind::word(&head, path).filter(|_| !kind::is_safetensors(&head));
            return open_safetensors(path, linked_shards, word);
        }
    }
    let opened = inputs.open(path, None).map_err(|trouble| trouble.into_failure(path))?;
    match opened {
        Input::File(file) => Ok(Source::File(file)),
        Input::Stream(input) => {
            let bytes = fs::metadata(path).ok().map(|metadata| metadata.len());
            Ok(Source::Stream { input, bytes })
        }
        Input::Descriptor(_) => {
            Err(Failure::new(format!("{}: a descriptor alone has no data to convert", shown(path))))
        }
    }
}

/// The first bytes of a regular file. Anything else is not even opened: its bytes come
/// once.
fn head(path: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |error| Failure::new(format!("{}: cannot open: {error}", shown(path)));
    let mut head = Vec::new();
    if fs::metadata(path).map_err(failed)?.is_file() {
        let most = u64::try_from(HEAD).unwrap_or(u64::MAX);
        let file = fs::File::open(path).map_err(failed)?;
        file.take(most).read_to_end(&mut head).map_err(failed)?;
    }
    Ok(head)
}

fn write_json(
    out: &mut Output<'_>,
    arguments: &Arguments,
    target: Target,
    done: &Report,
) -> Result<(), Failure> {
    let mut answer = json!({
        "input": arguments.input.to_string_lossy(),
        "output": arguments.output.to_string_lossy(),
        "to": match target {
            Target::Hrry => "hrry",
            Target::Hrrys => "hrrys",
            Target::Safetensors => "safetensors",
        },
    });
    if let (Json::Object(answer), Json::Object(report)) = (&mut answer, report(done)) {
        answer.extend(report);
    }
    json::write(&mut *out, &answer, CompactFormatter)?;
    out.flush()?;
    Ok(())
}

fn write_text(
    out: &mut Output<'_>,
    arguments: &Arguments,
    target: Target,
    done: &Report,
) -> Result<(), Failure> {
    let ink = out.ink();
    let output = shown_output(&arguments.output);
    let from = shown(&arguments.input);
    writeln!(out, "{from} -> {} ({})", ink.bold(output), target.name())?;
    for line in done.to_string().lines() {
        writeln!(out, "  {line}")?;
    }
    out.flush()?;
    Ok(())
}
