//! Tensors going out, one after the other.

use std::io::{self, Write};

use hurray_format::Descriptor;

use crate::error::Result;
use crate::exact::{Exact, need_buffers};
use crate::file::write_failed;
use crate::tensor::TensorRef;

/// Writes tensors to a plain stream: each descriptor, then each buffer's bytes.
///
/// ```
/// use hurray_tensor::format::{Descriptor, Dtype};
/// use hurray_tensor::{StreamReader, StreamWriter};
///
/// let descriptor = Descriptor::dense(Dtype::UInt8, &[2])?;
/// let mut stream = StreamWriter::new(Vec::new());
/// stream.tensor(&descriptor, &[&[7, 8]])?;
/// let bytes = stream.finish()?;
///
/// let mut stream = StreamReader::new(&bytes[..]);
/// while let Some(tensor) = stream.next_tensor()? {
///     assert_eq!(tensor.descriptor(), &descriptor);
///     assert_eq!(tensor.read_buffers()?[0][..], [7, 8]);
/// }
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
#[derive(Debug)]
pub struct StreamWriter<W: Write> {
    out: W,
    /// Whether a tensor was left half written.
    broken: bool,
}

impl<W: Write> StreamWriter<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        Self { out, broken: false }
    }

    /// Writes a tensor whose buffers are in memory, in table order. Members of a
    /// composite follow their head.
    ///
    /// # Errors
    ///
    /// `file.tensor.buffer-count` and `.buffer-length` where `buffers` are not what the
    /// descriptor says, with nothing written; what `out` refuses.
    pub fn tensor(&mut self, descriptor: &Descriptor, buffers: &[&[u8]]) -> Result<()> {
        need_buffers(descriptor, buffers)?;
        self.tensor_from(descriptor, &mut |place, out| {
            out.write_all(buffers.get(place).copied().unwrap_or_default())
        })
    }

    /// Writes a tensor that is in memory, from where it is: see
    /// [`Tensor::borrowed`](crate::Tensor::borrowed) and [`TensorRef::of`]. Members of a
    /// composite follow their head.
    ///
    /// # Errors
    ///
    /// What `out` refuses.
    pub fn write(&mut self, tensor: &TensorRef<'_>) -> Result<()> {
        let fill = &mut |place, out: &mut dyn Write| tensor.write_buffer(place, out);
        self.tensor_from(tensor.descriptor(), fill)
    }

    /// Writes a tensor whose buffers `fill` writes, one after the other: it is called once
    /// for each, with its place in the table.
    ///
    /// # Errors
    ///
    /// As [`tensor`](Self::tensor), and what `fill` refuses. After a tensor that was left
    /// half written nothing can follow.
    pub fn tensor_from(
        &mut self,
        descriptor: &Descriptor,
        fill: &mut dyn FnMut(usize, &mut dyn Write) -> io::Result<()>,
    ) -> Result<()> {
        self.need_whole()?;
        self.broken = true;
        self.out.write_all(&descriptor.encode()).map_err(write_failed)?;
        for (place, handle) in descriptor.buffers().iter().enumerate() {
            let mut out = Exact::new(&mut self.out, handle.byte_size(), false);
            let filled = fill(place, &mut out);
            out.finish(filled)?;
        }
        self.broken = false;
        Ok(())
    }

    /// Flushes and gives the output back. A stream has no end mark.
    ///
    /// # Errors
    ///
    /// What `out` refuses; a tensor that was left half written.
    pub fn finish(mut self) -> Result<W> {
        self.need_whole()?;
        self.out.flush().map_err(write_failed)?;
        Ok(self.out)
    }

    fn need_whole(&self) -> Result<()> {
        if !self.broken {
            return Ok(());
        }
        Err(write_failed(io::Error::other("a tensor was left half written")))
    }
}
