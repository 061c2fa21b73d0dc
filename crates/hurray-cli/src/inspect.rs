//! `hurray inspect`: what is in a file, a stream or a descriptor.

mod json;
mod listing;
mod tree;

use std::io::Write;
use std::path::{Path, PathBuf};

use hurray_tensor::format::{self, Accept, Array, DescriptorRef, Permissive};
use hurray_tensor::{File, StreamReader};
use serde::Serialize;
use serde_json::ser::PrettyFormatter;

use crate::console::Console;
use crate::describe;
use crate::failure::{Failure, shown};
use crate::hex;
use crate::input::{Input, Raw, Trouble};
use crate::kind::Kind;
use crate::words;
use listing::Listing;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A file, a stream or a descriptor; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// What it is; told by its first bytes where it is not said
    #[arg(long = "as", value_name = "KIND", value_enum)]
    kind: Option<Kind>,
    /// Every byte with the field it belongs to and what it means; data is left out
    #[arg(long, conflicts_with = "json")]
    hex: bool,
    /// One JSON object: {"expected", "derived"} for a descriptor, with the keys of the test
    /// vectors ({"foreign"} where it is not wholly understood), and {"kind", "tensors", …} for files and streams
    #[arg(long)]
    json: bool,
}

impl Arguments {
    pub(crate) fn new(input: PathBuf) -> Self {
        Self { input, kind: None, hex: false, json: false }
    }
}

pub(crate) fn run(arguments: &Arguments, console: &mut Console<'_>) -> Result<(), Failure> {
    let path = &arguments.input;
    // An inspector looks at no data, so every private tag may be shown.
    let accept = Accept::every_private_tag();
    let (inputs, out) = console.inputs(accept);
    let unusable = |trouble: Trouble| trouble.into_failure(path);
    if arguments.hex {
        return match inputs.open_raw(path, arguments.kind).map_err(unusable)? {
            Raw::Descriptor(bytes) => hex::descriptor(out, path, &bytes, &accept),
            Raw::Stream(source) => hex::stream(out, path, source, &accept),
            Raw::File(raw) => hex::file(out, path, raw.file, &accept),
        };
    }
    match inputs.open(path, arguments.kind).map_err(unusable)? {
        Input::Descriptor(bytes) => descriptor(arguments, out, &bytes, &accept),
        Input::Stream(source) => {
            stream(arguments, out, &mut StreamReader::with(source, accept), &accept)
        }
        Input::File(file) => self::file(arguments, out, &file, &accept),
    }
}

type Out<'o, 's> = &'o mut crate::output::Output<'s>;

fn descriptor(
    arguments: &Arguments,
    out: Out<'_, '_>,
    bytes: &[u8],
    accept: &Accept,
) -> Result<(), Failure> {
    let path = &arguments.input;
    let listing = match Listing::of_descriptor(bytes, accept) {
        Ok(listing) => listing,
        Err(error) => {
            foreign(arguments, out, bytes, accept)?;
            return Err(Failure::broken(path, &error));
        }
    };
    let broken = |error: format::Error| Failure::broken(path, &error);
    if arguments.json {
        return write_json(out, &describe::bytes(bytes, accept).map_err(broken)?);
    }
    let (ink, size) = (out.ink(), words::bytes(u64::try_from(bytes.len()).unwrap_or(u64::MAX)));
    writeln!(out, "{}: one descriptor, {size}", ink.bold(shown(path)))?;
    tree::tensors(out, &listing)?;
    Ok(())
}

/// Shows what can be told of a descriptor whose type, layout or scheme is not known, where
/// it is that which keeps it from being read.
fn foreign(
    arguments: &Arguments,
    out: Out<'_, '_>,
    bytes: &[u8],
    accept: &Accept,
) -> Result<(), Failure> {
    let Ok(Permissive::Foreign(foreign)) = DescriptorRef::read_permissive(bytes, accept) else {
        return Ok(());
    };
    if arguments.json {
        return write_json(out, &describe::foreign(&foreign));
    }
    let (ink, path) = (out.ink(), shown(&arguments.input));
    writeln!(out, "{}: one descriptor, not wholly understood", ink.bold(path))?;
    writeln!(out, "  type    0x{:02X}", foreign.type_tag())?;
    writeln!(out, "  layout  0x{:02X}", foreign.layout_tag())?;
    writeln!(out, "  shape   {}", words::shape(foreign.shape().iter()))?;
    match foreign.data_bytes() {
        Some(size) => writeln!(out, "  data    {}", words::bytes(size))?,
        None => writeln!(out, "  data    hidden behind the unknown layout")?,
    }
    Ok(())
}

fn file(
    arguments: &Arguments,
    out: Out<'_, '_>,
    file: &File,
    accept: &Accept,
) -> Result<(), Failure> {
    let path = &arguments.input;
    let listing =
        Listing::of_file(file, &accept.limits).map_err(|error| Failure::tensor(path, &error))?;
    if arguments.json {
        write_json(out, &json::file(file, &listing))?;
    } else {
        tree::file(out, &shown(path), file, &listing)?;
    }
    whole(path, &listing)
}

fn stream<R: std::io::Read>(
    arguments: &Arguments,
    out: Out<'_, '_>,
    stream: &mut StreamReader<R>,
    accept: &Accept,
) -> Result<(), Failure> {
    let path = &arguments.input;
    let (listing, failed) = Listing::of_stream(stream, &accept.limits);
    if arguments.json {
        write_json(out, &json::stream(&listing))?;
    } else {
        let count = u64::try_from(listing.tensors.len()).unwrap_or(u64::MAX);
        let (ink, size) = (out.ink(), words::bytes(stream.position()));
        let count = words::counted(count, "tensor");
        writeln!(out, "{}: plain stream, {count} in {size}", ink.bold(shown(path)))?;
        tree::tensors(out, &listing)?;
    }
    match failed {
        Some(error) => Err(Failure::tensor(path, &error)),
        None => whole(path, &listing),
    }
}

/// Fails where something shown is broken: what there is to see was shown.
fn whole(path: &Path, listing: &Listing) -> Result<(), Failure> {
    listing.broken().map_or(Ok(()), |error| Err(Failure::broken(path, &error)))
}

fn write_json(out: Out<'_, '_>, value: &impl Serialize) -> Result<(), Failure> {
    Ok(crate::json::write(out, value, PrettyFormatter::new())?)
}
