//! safetensors to a Hurray file.

use std::collections::HashSet;
use std::io::{self, Write};

use hurray_tensor::FileWriter;
use hurray_tensor::format::{DYNAMIC, Descriptor, KvValue};

use super::dtype::{self, Bytes};
use super::source::{SafetensorsSource, SourceTensor};
use super::{boolean, metadata};
use crate::error::{Error, Reason, Refusal, Result};
use crate::piece::{Meter, as_length};
use crate::report::{Report, Transcoded};
use crate::save::{ConvertOptions, Progress};

/// Writes a safetensors model as a Hurray file: tensors in the order in which their data
/// lies, metadata as key-values of text, entries that name a tensor as aliases.
///
/// Every tensor is looked at before anything is written. Bytes are copied as they are, but
/// for booleans, which are packed.
///
/// # Errors
///
/// [`Error::Refused`] for tensors that Hurray has no equal of, and for booleans that are
/// neither 0 nor 1; [`Error::Io`] where the source cannot be read; [`Error::Tensor`] where
/// `out` refuses.
pub fn safetensors_to_hurray(
    source: &SafetensorsSource<'_>,
    out: impl Write,
    options: &ConvertOptions,
    progress: Progress<'_>,
) -> Result<Report> {
    refuse_others(source)?;
    let mut report = Report { changes: source.changes.clone(), ..Report::default() };
    let names: HashSet<&str> = source.names().collect();
    let texts = metadata::to_hurray(&source.metadata, &names, &mut report);

    let key_values = !texts.is_empty() || !report.aliases.is_empty();
    let count = as_length(source.len());
    let mut writer = FileWriter::new(out, options.write(key_values, Some(count)))?;
    for (key, value) in texts {
        writer.key_value(key, &KvValue::String(value))?;
    }
    let mut meter = Meter::start(source.data_bytes(), progress);
    let mut moving = Moving { source, memory: Vec::new(), packed: Vec::new() };
    for tensor in &source.tensors {
        let (descriptor, bytes) = descriptor(tensor)
            .map_err(|reason| Error::refused(source.file_of(tensor), &tensor.name, reason))?;
        writer.tensor_from(&tensor.name, &descriptor, &mut |_, out| match bytes {
            Bytes::Same => moving.copy(tensor, out, &mut meter),
            Bytes::Packed => moving.pack(tensor, out, &mut meter),
        })?;
        match bytes {
            Bytes::Same => report.copied(tensor.bytes()),
            Bytes::Packed => report.transcoded(Transcoded {
                tensor: tensor.name.clone(),
                from: "BOOL, a byte each",
                to: "bool, a bit each",
                bytes_before: tensor.bytes(),
                bytes_after: descriptor.data_bytes(),
            }),
        }
    }
    for alias in &report.aliases {
        writer.alias(&alias.name, &alias.tensor)?;
    }
    writer.finish()?;
    Ok(report)
}

/// Refuses the tensors that Hurray has no equal of, all at once.
fn refuse_others(source: &SafetensorsSource<'_>) -> Result<()> {
    let refusals: Vec<Refusal> = source
        .tensors
        .iter()
        .filter_map(|tensor| {
            let reason = descriptor(tensor).err()?;
            Some(Refusal { tensor: tensor.name.clone(), reason })
        })
        .collect();
    if refusals.is_empty() {
        return Ok(());
    }
    Err(Error::Refused { path: source.path().to_owned(), refusals })
}

/// What a tensor becomes, and how its bytes move.
fn descriptor(tensor: &SourceTensor) -> Result<(Descriptor, Bytes), Reason> {
    let (dtype, bytes) =
        dtype::ours(tensor.dtype).ok_or_else(|| Reason::NoHurrayType(tensor.dtype.to_string()))?;
    if tensor.shape.contains(&DYNAMIC) {
        return Err(Reason::DynamicLookalike);
    }
    let descriptor = Descriptor::dense(dtype, &tensor.shape).map_err(Reason::Rule)?;
    Ok((descriptor, bytes))
}

/// Data on its way, with the memory it takes.
struct Moving<'s> {
    source: &'s SafetensorsSource<'s>,
    memory: Vec<u8>,
    packed: Vec<u8>,
}

impl Moving<'_> {
    fn copy(
        &mut self,
        tensor: &SourceTensor,
        out: &mut dyn Write,
        meter: &mut Meter<'_>,
    ) -> io::Result<()> {
        self.source.pieces(tensor, &mut self.memory, &mut |_, bytes| {
            out.write_all(bytes)?;
            meter.add(bytes.len());
            Ok(())
        })
    }

    fn pack(
        &mut self,
        tensor: &SourceTensor,
        out: &mut dyn Write,
        meter: &mut Meter<'_>,
    ) -> io::Result<()> {
        let Self { source, memory, packed } = self;
        source.pieces(tensor, memory, &mut |at, bytes| {
            packed.clear();
            boolean::pack(bytes, packed).map_err(|place| {
                let offset = at.saturating_add(as_length(place));
                let reason = Reason::BooleanByte {
                    found: bytes.get(place).copied().unwrap_or_default(),
                    element: offset.saturating_sub(tensor.offset()),
                    offset,
                };
                Error::refused(source.file_of(tensor), &tensor.name, reason).carried()
            })?;
            out.write_all(packed)?;
            meter.add(bytes.len());
            Ok(())
        })
    }
}
