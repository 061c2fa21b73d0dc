//! `hurray cat`: a tensor's bytes, as they lie in the file.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use hurray_tensor::format::{Composite, LayoutKind, Limits};
use hurray_tensor::{Error, File, FileTensor, StreamReader, StreamTensor, StreamWriter};

use crate::console::Console;
use crate::escape::Escaped;
use crate::failure::{Failure, shown};
use crate::input::Input;
use crate::kind::Kind;
use crate::nearest::nearest;
use crate::output::Output;
use crate::words::counted;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A file or a stream; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// The tensor: its name, or one that stands for it; in a stream its number, from 0
    #[arg(allow_hyphen_values = true)]
    name: String,
    /// Which of its buffers to write: 0 holds the values, others indices and scales
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "stream")]
    buffer: usize,
    /// Write it as a plain stream instead: its descriptor, then all its buffers; of a
    /// composite, all its members after it
    #[arg(long)]
    stream: bool,
    /// Do not compare the bytes with their checksums, where the file has them; otherwise what
    /// is written was corrupt where the exit code is 1
    #[arg(long)]
    no_verify: bool,
    /// What FILE is; told by its first bytes where it is not said
    #[arg(long = "as", value_name = "KIND", value_enum)]
    kind: Option<Kind>,
}

pub(crate) fn run(arguments: &Arguments, console: &mut Console<'_>) -> Result<(), Failure> {
    let path = &arguments.input;
    let accept = console.settings.accept();
    if console.output_is_terminal {
        return Err(Failure::Usage(
            "standard output is a terminal, which raw bytes would garble: redirect it, as in \
             `hurray cat FILE NAME > FILE`, or into a program"
                .into(),
        ));
    }
    let (inputs, out) = console.inputs(accept);
    let input = inputs.open(path, arguments.kind);
    match input.map_err(|trouble| trouble.into_failure(path))? {
        Input::File(file) => from_file(arguments, &file, &accept.limits, out),
        Input::Stream(source) => {
            from_stream(arguments, &mut StreamReader::with(source, accept), out)
        }
        Input::Descriptor(_) => {
            Err(Failure::new(format!("{}: a descriptor alone has no data", shown(path))))
        }
    }
}

fn from_file(
    arguments: &Arguments,
    file: &File,
    limits: &Limits,
    out: &mut Output<'_>,
) -> Result<(), Failure> {
    let path = &arguments.input;
    let failed = |error: Error| Failure::tensor(path, &error);
    if file.container().find(&arguments.name).is_err() {
        let aliases = file.kv().aliases().map(|(alias, _)| alias);
        let near = nearest(&arguments.name, file.names().chain(aliases));
        let hint = match near.as_slice() {
            [] => "hurray ls lists the names".into(),
            some => {
                let some: Vec<_> =
                    some.iter().map(|name| Escaped::at_most(name, 80).to_string()).collect();
                format!("near to it: {}; hurray ls lists all", some.join(", "))
            }
        };
        return Err(unknown(path, &arguments.name, hint));
    }
    let tensor = file.get(&arguments.name).map_err(failed)?;
    if !arguments.stream {
        need_buffer(arguments, tensor.descriptor().buffer_count())?;
        let copied = match arguments.no_verify {
            true => tensor.copy_buffer(arguments.buffer, out),
            false => tensor.copy_checked(arguments.buffer, out),
        };
        return copied.map(drop).map_err(failed);
    }
    let mut stream =
        Stream { file, to: StreamWriter::new(out), verifies: !arguments.no_verify, mismatch: None };
    if tensor.descriptor().layout().kind() == LayoutKind::Virtual {
        let whole = composite(file, &tensor, limits).map_err(failed)?;
        stream.composite(&whole).map_err(failed)?;
    } else {
        stream.tensor(&tensor).map_err(failed)?;
    }
    stream.to.finish().map_err(failed)?.flush()?;
    stream.mismatch.map_or(Ok(()), |error| Err(failed(error)))
}

/// A head with its members, which follow it in the file.
fn composite(file: &File, head: &FileTensor<'_>, limits: &Limits) -> Result<Composite<u32>, Error> {
    file.container().composite(&head.entry(), limits, |entry| {
        Ok::<_, Error>(file.read(&file.container().find(entry.name)?)?.descriptor().clone())
    })
}

/// Tensors of a file going out as a stream.
struct Stream<'o, 's, 'f> {
    file: &'f File,
    to: StreamWriter<&'o mut Output<'s>>,
    verifies: bool,
    /// The first checksum that bytes did not have; it is told when all are written.
    mismatch: Option<Error>,
}

impl Stream<'_, '_, '_> {
    fn composite(&mut self, whole: &Composite<u32>) -> Result<(), Error> {
        if let Some(entry) = self.file.container().index().entry(whole.item) {
            self.tensor(&self.file.read(&entry)?)?;
        }
        whole.members.iter().try_for_each(|member| self.composite(member))
    }

    fn tensor(&mut self, tensor: &FileTensor<'_>) -> Result<(), Error> {
        let Self { to, verifies, mismatch, .. } = self;
        to.tensor_from(tensor.descriptor(), &mut |place, out| {
            if !*verifies {
                return tensor.copy_buffer(place, out).map(drop).map_err(system);
            }
            match tensor.copy_checked(place, out) {
                Err(error) if error.format().is_some() => {
                    mismatch.get_or_insert(error);
                    Ok(())
                }
                copied => copied.map(drop).map_err(system),
            }
        })
    }
}

/// What the system said, where it was the system.
fn system(error: Error) -> io::Error {
    match error {
        Error::Io { source, .. } => source,
        other => io::Error::other(other),
    }
}

fn from_stream<R: io::Read>(
    arguments: &Arguments,
    stream: &mut StreamReader<R>,
    out: &mut Output<'_>,
) -> Result<(), Failure> {
    let path = &arguments.input;
    let failed = |error: Error| Failure::tensor(path, &error);
    let wanted: u64 = arguments.name.parse().map_err(|_| {
        let name = Escaped::at_most(&arguments.name, 80);
        Failure::new(format!("{}: a stream has no names, so {name} is none", shown(path)))
    })?;
    let mut number = 0;
    // Of a composite, how many tensors are still to come.
    let mut left: u64 = 0;
    while let Some(mut tensor) = stream.next_tensor().map_err(failed)? {
        let is_wanted = number == wanted;
        number += 1;
        if !arguments.stream && is_wanted {
            return one_buffer(arguments, &mut tensor, out);
        }
        if is_wanted {
            left = 1;
        }
        if left == 0 {
            continue;
        }
        left -= 1;
        if let hurray_tensor::format::Layout::Composite(head) = tensor.descriptor().layout() {
            left = left.saturating_add(u64::from(head.member_count));
        }
        copy(&mut tensor, out).map_err(failed)?;
        if left == 0 {
            return Ok(());
        }
    }
    if left > 0 {
        return Err(Failure::new(format!("{}: the stream ends inside a composite", shown(path))));
    }
    let hint = match number {
        0 => "the stream has no tensors".into(),
        1 => "the stream has one tensor, 0".into(),
        _ => format!("the stream has {}, 0 to {}", counted(number, "tensor"), number - 1),
    };
    Err(unknown(path, &arguments.name, hint))
}

fn one_buffer<R: io::Read>(
    arguments: &Arguments,
    tensor: &mut StreamTensor<'_, R>,
    out: &mut Output<'_>,
) -> Result<(), Failure> {
    let failed = |error: Error| Failure::tensor(&arguments.input, &error);
    need_buffer(arguments, tensor.descriptor().buffer_count())?;
    for _ in 0..arguments.buffer {
        tensor.copy_buffer(&mut io::sink()).map_err(failed)?;
    }
    tensor.copy_buffer(out).map_err(failed)?;
    Ok(())
}

fn copy<R: io::Read>(tensor: &mut StreamTensor<'_, R>, out: &mut Output<'_>) -> Result<(), Error> {
    let descriptor = tensor.descriptor().clone();
    StreamWriter::new(out)
        .tensor_from(&descriptor, &mut |_, out| tensor.copy_buffer(out).map(|_| ()).map_err(system))
}

fn need_buffer(arguments: &Arguments, count: usize) -> Result<(), Failure> {
    if arguments.buffer < count {
        return Ok(());
    }
    let name = Escaped::at_most(&arguments.name, 80);
    let path = shown(&arguments.input);
    Err(match count {
        0 => Failure::with_hint(
            format!("{path}: {name} is a composite head, which has no bytes of its own"),
            "--stream writes it with all its members",
        ),
        1 => Failure::new(format!("{path}: {name} has one buffer, number 0")),
        _ => Failure::new(format!("{path}: {name} has buffers 0 to {}", count - 1)),
    })
}

fn unknown(path: &Path, name: &str, hint: String) -> Failure {
    let what = format!("{}: no tensor has the name {}", shown(path), Escaped::at_most(name, 80));
    Failure::with_hint(what, hint)
}
