//! Plain streams, to and from Hurray files.

use std::io::{BufWriter, Read, Write};
use std::path::PathBuf;

use hurray_tensor::format::{
    ALIAS_KEY, Accept, CHECKSUM_KEY, Composite, Descriptor, LayoutKind, Limits,
    SEQUENCE_LENGTHS_KEY, bind,
};
use hurray_tensor::{File, FileWriter, StreamReader, StreamWriter};

use crate::error::{Error, Result};
use crate::file::{self, Window};
use crate::piece::{GATHERED, Meter, Through};
use crate::report::{Changed, Names, Report};
use crate::save::{ConvertOptions, Progress};

/// A plain stream to be read.
#[derive(Debug, Default)]
pub struct StreamSource<R> {
    /// Its bytes.
    pub input: R,
    /// What messages call it.
    pub path: PathBuf,
    /// A name for each tensor, composites and their members included, in order. Without any
    /// they are called `tensor.0`, `tensor.1`, …
    pub names: Vec<String>,
    /// How long it is, where that is known; for progress alone.
    pub bytes: Option<u64>,
    /// Private tags that were agreed, and limits.
    pub accept: Accept,
}

/// Writes the tensors of a plain stream as a Hurray file, in their order.
///
/// ```
/// use hurray_convert::format::{Descriptor, Dtype, FileView};
/// use hurray_convert::{ConvertOptions, StreamSource, stream_to_hurray};
///
/// let mut stream = Descriptor::dense(Dtype::UInt8, &[2])?.encode();
/// stream.extend([7, 8]);
/// let source = StreamSource { input: &stream[..], ..Default::default() };
/// let mut file = Vec::new();
/// stream_to_hurray(source, &mut file, &ConvertOptions::default(), &mut |_, _| {})?;
/// assert_eq!(FileView::open(&file)?.tensor("tensor.0")?.buffers, [[7, 8]]);
/// # Ok::<(), hurray_convert::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Tensor`]: the rules the stream breaks, those of composites included, and what
/// the system refuses. [`Error::Names`].
pub fn stream_to_hurray(
    source: StreamSource<impl Read>,
    out: impl Write,
    options: &ConvertOptions,
    progress: Progress<'_>,
) -> Result<Report> {
    let StreamSource { input, path, names, bytes, accept } = source;
    let in_stream = |error: hurray_tensor::Error| Error::from(error.in_file(&path));
    let miscounted = |found| Error::Names { path: path.clone(), given: names.len(), found };
    let given = if names.is_empty() { Names::Numbered } else { Names::Given };
    let mut report = Report { names: given, ..Report::default() };
    let mut writer = FileWriter::new(out, options.write(false, None))?;
    let mut meter = Meter::start(bytes.unwrap_or_default(), progress);
    let mut reader = StreamReader::with(input, accept);
    let mut composites = Composites::default();
    let mut count: usize = 0;
    while let Some(mut tensor) = reader.next_tensor().map_err(in_stream)? {
        let name = match names.get(count) {
            Some(name) => name.clone(),
            None if names.is_empty() => format!("tensor.{count}"),
            None => return Err(miscounted(count.saturating_add(1))),
        };
        count = count.saturating_add(1);
        let descriptor = tensor.descriptor().clone();
        let start = tensor.offset();
        composites.add(&descriptor, start);
        writer.tensor_from(&name, &descriptor, &mut |_, out| {
            let mut through = Through::all(out, &mut meter);
            let copied = tensor.copy_buffer(&mut through);
            copied.map(|_| ()).map_err(|error| in_stream(error.in_tensor(&name)).carried())
        })?;
        report.copied(descriptor.data_bytes());
        let length = reader.position().saturating_sub(start);
        if file::is_newer(&descriptor, length.saturating_sub(descriptor.data_bytes())) {
            report.change(&name, Changed::NewerFields);
        }
        // Descriptors are bytes of the stream too.
        meter.reach(reader.position());
    }
    if !names.is_empty() && names.len() != count {
        return Err(miscounted(count));
    }
    composites.check(&accept.limits).map_err(|error| in_stream(error.into()))?;
    writer.finish()?;
    Ok(report)
}

/// Writes the tensors of a Hurray file as a plain stream, in the order in which they lie.
/// Names, aliases and key-values are left out: a stream has none. Data is compared with the
/// checksums it has.
///
/// # Errors
///
/// [`Error::Tensor`]: the rules the file breaks, those of composites and checksums included,
/// and what the system refuses.
pub fn hurray_to_stream(file: &File, out: impl Write, progress: Progress<'_>) -> Result<Report> {
    file::check_keys(file)?;
    file.composites()?;
    let mut report = Report { names: Names::LeftOut, ..Report::default() };
    for (key, _) in file.kv().iter() {
        let own = [
            (CHECKSUM_KEY, Changed::Checksums),
            (SEQUENCE_LENGTHS_KEY, Changed::SequenceLengths),
            (ALIAS_KEY, Changed::NoKeyValues),
        ];
        let own = own.iter().find_map(|(prefix, what)| Some((key.strip_prefix(prefix)?, *what)));
        let (subject, what) = own.unwrap_or((key, Changed::NoKeyValues));
        report.change(subject, what);
    }
    let mut writer = StreamWriter::new(BufWriter::with_capacity(GATHERED, out));
    let mut meter = Meter::start(file::data_bytes(file.container().index().iter()), progress);
    for tensor in file.in_file_order() {
        let tensor = tensor?;
        writer.tensor_from(tensor.descriptor(), &mut |place, out| {
            file::copy(file, &tensor, place, Window::ALL, out, &mut meter).map_err(Error::carried)
        })?;
        report.copied(tensor.descriptor().data_bytes());
    }
    writer.finish()?;
    Ok(report)
}

/// The composites of a stream, held back until their members came.
#[derive(Default)]
struct Composites {
    /// From the first head on; empty while there is none.
    tensors: Vec<(Descriptor, u64)>,
}

impl Composites {
    fn add(&mut self, descriptor: &Descriptor, offset: u64) {
        if !self.tensors.is_empty() || descriptor.layout().kind() == LayoutKind::Virtual {
            self.tensors.push((descriptor.clone(), offset));
        }
    }

    /// Checks that each is whole.
    fn check(self, limits: &Limits) -> hurray_tensor::format::Result<()> {
        let mut rest = self.tensors.into_iter().map(Ok);
        while let Some((head, at)) = rest.next().transpose()? {
            let _: Composite<u64> = bind(head, at, &mut rest, |at| *at, limits)?;
        }
        Ok(())
    }
}
