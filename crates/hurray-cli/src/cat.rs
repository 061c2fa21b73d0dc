//! `hurray cat`: a tensor's bytes, as they lie in the file.

use std::io;
use std::path::{Path, PathBuf};

use hurray_tensor::format::{Composite, LayoutKind};
use hurray_tensor::{Error, File, FileTensor, StreamReader, StreamTensor, StreamWriter};

use crate::console::Console;
use crate::escape::Escaped;
use crate::failure::{Failure, shown};
use crate::input::{Input, Inputs};
use crate::kind::Kind;
use crate::output::Output;

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
    /// What FILE is; told by its first bytes where it is not said
    #[arg(long = "as", value_name = "KIND", value_enum)]
    kind: Option<Kind>,
}

pub(crate) fn run(arguments: &Arguments, console: &mut Console<'_>) -> Result<(), Failure> {
    let path = &arguments.input;
    let accept = console.settings.accept();
    let inputs = Inputs {
        stdin: &mut *console.input,
        errors: &mut console.errors,
        settings: &console.settings,
        accept,
    };
    let out = &mut console.output;
    let input = inputs.open(path, arguments.kind);
    match input.map_err(|trouble| trouble.into_failure(path))? {
        Input::File(file) => from_file(arguments, &file, out),
        Input::Stream(source) => {
            from_stream(arguments, &mut StreamReader::with(source, accept), out)
        }
        Input::Descriptor(_) => {
            Err(Failure::new(format!("{}: a descriptor alone has no data", shown(path))))
        }
    }
}

fn from_file(arguments: &Arguments, file: &File, out: &mut Output<'_>) -> Result<(), Failure> {
    let path = &arguments.input;
    let failed = |error: Error| Failure::tensor(path, &error);
    if file.container().find(&arguments.name).is_err() {
        return Err(unknown(path, &arguments.name));
    }
    let tensor = file.get(&arguments.name).map_err(failed)?;
    if !arguments.stream {
        need_buffer(arguments, tensor.descriptor().buffer_count())?;
        tensor.copy_buffer(arguments.buffer, out).map_err(failed)?;
        return Ok(());
    }
    let mut stream = StreamWriter::new(out);
    if tensor.descriptor().layout().kind() == LayoutKind::Virtual {
        let whole = composite(file, &tensor).map_err(failed)?;
        write_composite(file, &whole, &mut stream).map_err(failed)?;
    } else {
        write(&tensor, &mut stream).map_err(failed)?;
    }
    stream.finish().map_err(failed)?;
    Ok(())
}

/// A head with its members, which follow it in the file.
fn composite(file: &File, head: &FileTensor<'_>) -> Result<Composite<u32>, Error> {
    let limits = hurray_tensor::format::Limits::default();
    file.container().composite(&head.entry(), &limits, |entry| {
        Ok::<_, Error>(file.read(&file.container().find(entry.name)?)?.descriptor().clone())
    })
}

fn write_composite(
    file: &File,
    whole: &Composite<u32>,
    stream: &mut StreamWriter<&mut Output<'_>>,
) -> Result<(), Error> {
    if let Some(entry) = file.container().index().entry(whole.item) {
        write(&file.read(&entry)?, stream)?;
    }
    whole.members.iter().try_for_each(|member| write_composite(file, member, stream))
}

fn write(tensor: &FileTensor<'_>, stream: &mut StreamWriter<&mut Output<'_>>) -> Result<(), Error> {
    stream.tensor_from(tensor.descriptor(), &mut |place, out| {
        tensor.copy_buffer(place, out).map(|_| ()).map_err(system)
    })
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
    Err(unknown(path, &arguments.name))
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

fn unknown(path: &Path, name: &str) -> Failure {
    let what = format!("{}: no tensor has the name {}", shown(path), Escaped::at_most(name, 80));
    Failure::with_hint(what, "hurray ls lists the names")
}
