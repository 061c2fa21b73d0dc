//! A Hurray file to safetensors.

use std::io::{self, BufWriter, Write};

use ::safetensors::tensor::TensorInfo;
use hurray_tensor::format::{Descriptor, DeviceTag, Entry, Layout};
use hurray_tensor::{File, FileTensor};

use super::dtype::{self, Bytes};
use super::header::{Header, HeaderFault, LENGTH, LONGEST, METADATA};
use super::{boolean, metadata};
use crate::error::{Error, Reason, Refusal, Result};
use crate::file::{self, Window};
use crate::piece::{GATHERED, Meter, PIECE, as_index, as_length};
use crate::report::{Changed, Report, Transcoded};
use crate::save::Progress;

/// Writes the tensors of a Hurray file as a safetensors file, in the order the `safetensors`
/// crate gives them: the widest types first, then by name. Key-values become metadata, those
/// that are no text as JSON text; aliases become entries that name their tensor.
///
/// Every tensor is looked at before anything is written. Bytes are copied as they are, but
/// for booleans, which are unpacked; checksums are compared on the way.
///
/// # Errors
///
/// [`Error::Refused`] for tensors that safetensors has no equal of; [`Error::Tensor`] where
/// the file breaks a rule (`file.tensor.checksum-mismatch`, keys that name no tensor, and
/// those of descriptors), and where it cannot be read or `out` refuses.
pub fn hurray_to_safetensors(
    file: &File,
    out: impl Write,
    progress: Progress<'_>,
) -> Result<Report> {
    file::check_keys(file)?;
    let mut report = Report::default();
    let (header, order) = plan(file, &mut report)?;
    let mut out = BufWriter::with_capacity(GATHERED, out);
    out.write_all(&header).map_err(Error::uncarried)?;

    let total = file::data_bytes(order.iter().filter_map(|n| file.container().index().entry(*n)));
    let mut meter = Meter::start(total, progress);
    for entry in order.iter().filter_map(|number| file.container().index().entry(*number)) {
        let tensor = file.read(&entry)?;
        let Target { bytes, data, .. } = target(&entry, tensor.descriptor())
            .map_err(|reason| Error::refused(file.path(), entry.name, reason))?;
        let window = Window { skip: tensor.descriptor().byte_offset(), pass: data };
        match bytes {
            Bytes::Same => {
                file::copy(file, &tensor, 0, window, &mut out, &mut meter)?;
                report.copied(data);
            }
            Bytes::Packed => {
                let count = tensor.descriptor().element_count().unwrap_or_default();
                unpack(file, &tensor, window, count, &mut out, &mut meter)?;
                report.transcoded(Transcoded {
                    tensor: entry.name.to_owned(),
                    from: "bool, a bit each",
                    to: "BOOL, a byte each",
                    bytes_before: data,
                    bytes_after: count,
                });
            }
        }
    }
    out.flush().map_err(Error::uncarried)?;
    Ok(report)
}

/// The start of the file, and the numbers of the entries in the order of their data.
fn plan(file: &File, report: &mut Report) -> Result<(Vec<u8>, Vec<u32>)> {
    let mut tensors = Vec::with_capacity(file.len());
    let mut refusals = Vec::new();
    for tensor in file.in_file_order() {
        let tensor = tensor?;
        let entry = tensor.entry();
        file::report_newer(&tensor, report);
        if tensor.descriptor().statistics().is_some() {
            report.change(entry.name, Changed::Statistics);
        }
        match target(&entry, tensor.descriptor()) {
            Ok(target) => tensors.push((entry.name.to_owned(), target, entry.number)),
            Err(reason) => refusals.push(Refusal { tensor: entry.name.to_owned(), reason }),
        }
    }
    if !refusals.is_empty() {
        return Err(Error::Refused { path: file.path().to_owned(), refusals });
    }
    tensors.sort_unstable_by(|(left, a, _), (right, b, _)| {
        b.info.dtype.cmp(&a.info.dtype).then_with(|| left.cmp(right))
    });

    let mut header = Header::default();
    let mut order = Vec::with_capacity(tensors.len());
    let mut at: usize = 0;
    for (name, Target { mut info, .. }, number) in tensors {
        let end = at.saturating_add(info.data_offsets.1);
        info.data_offsets = (at, end);
        at = end;
        header.tensors.push((name, info));
        order.push(number);
    }
    header.check().map_err(|fault| unwritable(file, fault))?;
    header.metadata = metadata::to_safetensors(file.kv(), report);
    let bytes = header.write().map_err(|error| Error::uncarried(error.into()))?;
    let length = as_length(bytes.len()).saturating_sub(LENGTH);
    if length > LONGEST {
        let text = format!("the header takes {length} bytes, and readers take {LONGEST} at most");
        return Err(Error::uncarried(io::Error::new(io::ErrorKind::FileTooLarge, text)));
    }
    Ok((bytes, order))
}

/// What the `safetensors` crate would not read, though each tensor seemed to have an equal.
fn unwritable(file: &File, fault: HeaderFault) -> Error {
    match fault {
        HeaderFault::Tensor { name, .. } => Error::refused(file.path(), &name, Reason::TooLarge),
        fault => Error::Safetensors { path: file.path().to_owned(), fault: Box::new(fault) },
    }
}

/// What a tensor becomes.
struct Target {
    /// Its record; it ends where its data would if it came first.
    info: TensorInfo,
    /// How its bytes move.
    bytes: Bytes,
    /// How many bytes of its buffer are its elements.
    data: u64,
}

fn target(entry: &Entry<'_>, descriptor: &Descriptor) -> Result<Target, Reason> {
    if entry.name == METADATA {
        return Err(Reason::ReservedName);
    }
    if let Some(scheme) = descriptor.quantization() {
        return Err(Reason::Quantized(scheme.name()));
    }
    if descriptor.is_dynamic() {
        return Err(Reason::Dynamic);
    }
    if !lies_in_rows(descriptor) {
        return Err(Reason::Layout(descriptor.layout().name()));
    }
    if descriptor.shard().is_some() {
        return Err(Reason::Shard);
    }
    let device = descriptor.buffer(0).map_or(DeviceTag::CPU, |handle| handle.device());
    if device != DeviceTag::CPU {
        return Err(Reason::Device(device));
    }
    let dtype = descriptor.dtype();
    let (theirs, bytes) = dtype::theirs(dtype).ok_or(Reason::NoSafetensorsType(dtype))?;
    // They count bits, and ask for whole bytes.
    let count = descriptor.element_count().ok_or(Reason::TooLarge)?;
    let bits = as_length(theirs.bitsize()).checked_mul(count).ok_or(Reason::TooLarge)?;
    if !bits.is_multiple_of(8) {
        return Err(Reason::PartialByte(count, dtype.bits()));
    }
    let data = dtype.bytes_for(u128::from(count)).ok_or(Reason::TooLarge)?;
    let shape = descriptor.shape().iter().map(|size| usize::try_from(*size));
    let info = TensorInfo {
        dtype: theirs,
        shape: shape.collect::<Result<_, _>>().map_err(|_| Reason::TooLarge)?,
        data_offsets: (0, as_index(bits.div_euclid(8))),
    };
    let data = u64::try_from(data).map_err(|_| Reason::TooLarge)?;
    Ok(Target { info, bytes, data })
}

/// Whether its elements lie one after the other, the last dimension fastest. That is
/// row-major by whatever name: of one dimension with more than one element, say.
fn lies_in_rows(descriptor: &Descriptor) -> bool {
    let shape = descriptor.shape();
    match descriptor.layout() {
        Layout::RowMajor => true,
        Layout::ColumnMajor => {
            shape.contains(&0) || shape.iter().filter(|size| **size > 1).count() <= 1
        }
        Layout::Strided(strides) => {
            let mut step: u64 = 1;
            let steps = shape.iter().zip(strides.iter()).rev().all(|(size, stride)| {
                let fits = *size <= 1 || u64::try_from(*stride) == Ok(step);
                step = step.saturating_mul((*size).max(1));
                fits
            });
            steps || shape.contains(&0)
        }
        _ => false,
    }
}

/// Moves the booleans of a tensor, a byte each.
fn unpack(
    file: &File,
    tensor: &FileTensor<'_>,
    window: Window,
    count: u64,
    out: &mut dyn Write,
    meter: &mut Meter<'_>,
) -> Result<()> {
    let mut out = Unpacked { out, left: count, bytes: Vec::new() };
    file::copy(file, tensor, 0, window, &mut out, meter)
}

/// A writer that takes bits and passes on bytes.
struct Unpacked<'w> {
    out: &'w mut dyn Write,
    /// So many booleans; the bits after them only fill the last byte.
    left: u64,
    bytes: Vec<u8>,
}

impl Write for Unpacked<'_> {
    fn write(&mut self, packed: &[u8]) -> io::Result<usize> {
        let piece = packed.get(..PIECE / 8).unwrap_or(packed);
        self.bytes.clear();
        boolean::unpack(piece, &mut self.bytes);
        self.bytes.truncate(as_index(self.left));
        self.left = self.left.saturating_sub(as_length(self.bytes.len()));
        self.out.write_all(&self.bytes)?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
