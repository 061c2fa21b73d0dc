//! A file going out in one pass, to anything that can be written to.

use std::io::{self, BufWriter, Write};

use hurray_format::{Descriptor, Error as FormatError, FileOptions, FilePlan, KvArray, KvKind};
use hurray_format::{KvValue, SEQUENCE_LENGTHS_KEY, TensorPlan};
use hurray_kernels::checksum::crc32c;

use crate::error::{Error, Result};
use crate::exact::{Exact, need_buffers, write_zeros};
use crate::tensor::TensorRef;

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    /// Alignment, key-values, order of the index.
    pub file: FileOptions,
    /// Whether each buffer's CRC-32C goes into the key-values, which there are then.
    pub checksums: bool,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self { file: FileOptions::default(), checksums: true }
    }
}

/// A file being written. It holds the index and the key-values, and no tensor.
///
/// ```
/// use hurray_tensor::format::{Descriptor, Dtype, FileView};
/// use hurray_tensor::{FileWriter, WriteOptions};
///
/// let descriptor = Descriptor::dense(Dtype::Int16, &[2])?;
/// let mut file = FileWriter::new(Vec::new(), WriteOptions::default())?;
/// file.tensor("steps", &descriptor, &[&[1, 0, 2, 0]])?;
/// file.alias("strides", "steps")?;
/// let bytes = file.finish()?;
/// assert_eq!(FileView::open(&bytes)?.tensor("strides")?.buffers, [[1, 0, 2, 0]]);
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
#[derive(Debug)]
pub struct FileWriter<W: Write> {
    out: BufWriter<W>,
    plan: FilePlan,
    checksums: bool,
    /// Whether a tensor was left half written.
    broken: bool,
}

/// Small writes are gathered; a buffer of a tensor goes out as it comes.
const GATHERED: usize = 256 << 10;

impl<W: Write> FileWriter<W> {
    /// Starts a file.
    ///
    /// # Errors
    ///
    /// The rules of `file.header.alignment-*`; what `out` refuses.
    pub fn new(out: W, options: WriteOptions) -> Result<Self> {
        let mut file = options.file;
        file.key_values |= options.checksums;
        let (plan, header) = FilePlan::new(file)?;
        let mut out = BufWriter::with_capacity(GATHERED, out);
        out.write_all(&header).map_err(write_failed)?;
        Ok(Self { out, plan, checksums: options.checksums, broken: false })
    }

    /// Writes a tensor whose buffers are in memory, in table order. Members of a
    /// composite follow their head.
    ///
    /// # Errors
    ///
    /// `file.index.name-*`; `file.kv.key-too-long` for a name of more than 65,521 bytes, too
    /// long for the key of its checksums where there are any; `file.tensor.buffer-count` and
    /// `.buffer-length` where `buffers` are not what the descriptor says. Nothing is written
    /// then. What `out` refuses.
    pub fn tensor(&mut self, name: &str, descriptor: &Descriptor, buffers: &[&[u8]]) -> Result<()> {
        need_buffers(descriptor, buffers).map_err(|error| error.in_tensor(name))?;
        self.tensor_from(name, descriptor, &mut |place, out| {
            out.write_all(buffers.get(place).copied().unwrap_or_default())
        })
    }

    /// Writes a tensor that is in memory, from where it is: see
    /// [`Tensor::borrowed`](crate::Tensor::borrowed) and [`TensorRef::of`]. Members of a
    /// composite follow their head.
    ///
    /// # Errors
    ///
    /// As [`tensor`](Self::tensor).
    pub fn write(&mut self, name: &str, tensor: &TensorRef<'_>) -> Result<()> {
        let fill = &mut |place, out: &mut dyn Write| tensor.write_buffer(place, out);
        self.tensor_from(name, tensor.descriptor(), fill)
    }

    /// Writes a tensor whose buffers `fill` writes, one after the other: it is called once
    /// for each, with its place in the table.
    ///
    /// # Errors
    ///
    /// As [`tensor`](Self::tensor), and what `fill` refuses. Where `fill` failed or wrote
    /// another length than the descriptor says, the file cannot be finished.
    pub fn tensor_from(
        &mut self,
        name: &str,
        descriptor: &Descriptor,
        fill: &mut dyn FnMut(usize, &mut dyn Write) -> io::Result<()>,
    ) -> Result<()> {
        self.need_whole()?;
        let in_tensor = |error: FormatError| Error::from(error).in_tensor(name);
        if self.checksums {
            self.plan.check_name_with_checksums(name).map_err(in_tensor)?;
        }
        let plan = self.plan.tensor(name, descriptor).map_err(in_tensor)?;
        self.broken = true;
        let checksums = self.write_planned(&plan, fill).map_err(|error| error.in_tensor(name))?;
        if self.checksums {
            self.plan.checksums(name, &checksums)?;
        }
        self.broken = false;
        Ok(())
    }

    fn write_planned(
        &mut self,
        plan: &TensorPlan,
        fill: &mut dyn FnMut(usize, &mut dyn Write) -> io::Result<()>,
    ) -> Result<Vec<u32>> {
        write_zeros(&mut self.out, plan.padding).map_err(write_failed)?;
        self.out.write_all(&plan.descriptor).map_err(write_failed)?;
        let mut checksums = Vec::with_capacity(plan.buffers.len());
        for (place, (padding, length)) in plan.buffers.iter().enumerate() {
            write_zeros(&mut self.out, *padding).map_err(write_failed)?;
            let mut out = Exact::new(&mut self.out, *length, self.checksums);
            let filled = fill(place, &mut out);
            checksums.extend(out.finish(filled)?);
        }
        Ok(checksums)
    }

    /// Lets `name` stand for a tensor that was written already.
    ///
    /// # Errors
    ///
    /// `file.tensor.alias-key`; as [`key_value`](Self::key_value).
    pub fn alias(&mut self, name: &str, tensor: &str) -> Result<()> {
        Ok(self.plan.alias(name, tensor)?)
    }

    /// Says how many tokens each sequence of a block-paged tensor has, which the format leaves
    /// to its callers.
    ///
    /// # Errors
    ///
    /// As [`key_value`](Self::key_value).
    pub fn sequence_lengths(&mut self, tensor: &str, lengths: &[u64]) -> Result<()> {
        let lengths = lengths.iter().map(|length| KvValue::U64(*length));
        let lengths = KvValue::Array(KvArray::new(KvKind::U64, lengths)?);
        self.key_value(&format!("{SEQUENCE_LENGTHS_KEY}{tensor}"), &lengths)
    }

    /// Adds a key-value.
    ///
    /// # Errors
    ///
    /// The rules of `file.kv.*`; `file.header.writer-kv-undeclared` where the options
    /// said there would be none.
    pub fn key_value(&mut self, key: &str, value: &KvValue<'_>) -> Result<()> {
        Ok(self.plan.key_value(key, value)?)
    }

    /// How many bytes of the file were written so far.
    pub fn position(&self) -> u64 {
        self.plan.position()
    }

    /// Writes key-values, index and trailer, flushes, and gives the output back.
    ///
    /// # Errors
    ///
    /// What `out` refuses; a tensor that was left half written.
    pub fn finish(mut self) -> Result<W> {
        self.need_whole()?;
        let tail = self.plan.finish(crc32c)?;
        self.out.write_all(&tail).and_then(|()| self.out.flush()).map_err(write_failed)?;
        self.out.into_inner().map_err(|error| write_failed(error.into_error()))
    }

    fn need_whole(&self) -> Result<()> {
        if !self.broken {
            return Ok(());
        }
        let text = "a tensor was left half written; start the file again";
        Err(write_failed(io::Error::other(text)))
    }
}

pub(crate) fn write_failed(error: io::Error) -> Error {
    Error::io("write", error)
}
