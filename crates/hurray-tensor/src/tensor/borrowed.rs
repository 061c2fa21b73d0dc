//! Tensors that are only looked at, to be written somewhere: a descriptor and bytes.

use std::borrow::Cow;
use std::io::{self, Write};

use hurray_format::{BufferHandle, Descriptor};
use smallvec::SmallVec;

use super::Tensor;
use crate::element::Element;
use crate::error::Result;
use crate::exact::{need_buffers, write_zeros};
use crate::memory::as_u64;

/// A tensor in somebody else's memory, for as long as it is borrowed. It owns nothing, and to
/// make one allocates nothing (but what a rank above 8 or more than three buffers need).
///
/// ```
/// use hurray_tensor::format::FileView;
/// use hurray_tensor::{FileWriter, TensorRef, WriteOptions};
///
/// let weights = [0.5_f32, 1.0, 1.5, 2.0];
/// let mut file = FileWriter::new(Vec::new(), WriteOptions::default())?;
/// file.write("w", &TensorRef::of(&weights, &[2, 2])?)?;
/// let bytes = file.finish()?;
/// assert_eq!(FileView::open(&bytes)?.tensor("w")?.buffers[0].len(), 16);
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TensorRef<'t> {
    descriptor: Cow<'t, Descriptor>,
    buffers: SmallVec<[Piece<'t>; 3]>,
}

/// One buffer of it: so many zeros, then the bytes.
#[derive(Clone, Copy, Debug)]
struct Piece<'t> {
    lead: u64,
    bytes: &'t [u8],
}

impl<'t> TensorRef<'t> {
    /// A row-major tensor of some elements, wherever they lie.
    ///
    /// # Errors
    ///
    /// `layout.buffer-too-small` where the shape has more elements than there are.
    pub fn of<T: Element>(elements: &'t [T], shape: &[u64]) -> Result<Self> {
        let bytes = T::bytes_of(elements);
        let handle = BufferHandle::cpu(as_u64(bytes.len()));
        let descriptor = Descriptor::builder(T::DTYPE, shape).buffers([handle]).build()?;
        let buffers = SmallVec::from_slice(&[Piece { lead: 0, bytes }]);
        Ok(Self { descriptor: Cow::Owned(descriptor), buffers })
    }

    /// A tensor of any kind, whose buffers are in memory, in table order.
    ///
    /// # Errors
    ///
    /// `file.tensor.buffer-count` and `.buffer-length` where they are not what the descriptor
    /// says.
    pub fn new(descriptor: &'t Descriptor, buffers: &[&'t [u8]]) -> Result<Self> {
        need_buffers(descriptor, buffers)?;
        let buffers = buffers.iter().map(|bytes| Piece { lead: 0, bytes }).collect();
        Ok(Self { descriptor: Cow::Borrowed(descriptor), buffers })
    }

    /// What it is.
    pub fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// The bytes of buffer `place`, where they are, without what is in front of adopted
    /// memory: see [`lead`](crate::Buffer::lead).
    pub fn buffer(&self, place: usize) -> Option<&'t [u8]> {
        self.buffers.get(place).map(|piece| piece.bytes)
    }

    /// Writes buffer `place`, with zeros for what is in front of adopted memory.
    pub(crate) fn write_buffer(&self, place: usize, out: &mut dyn Write) -> io::Result<()> {
        let Some(Piece { lead, bytes }) = self.buffers.get(place) else {
            return Ok(());
        };
        write_zeros(out, *lead)?;
        out.write_all(bytes)
    }
}

impl Tensor {
    /// The tensor to be written somewhere, where it is.
    ///
    /// # Errors
    ///
    /// `memory.not-host`, `memory.may-change`.
    pub fn borrowed(&self) -> Result<TensorRef<'_>> {
        let mut buffers = SmallVec::new();
        for buffer in self.buffers() {
            buffers.push(Piece { lead: buffer.lead(), bytes: buffer.host_bytes()? });
        }
        Ok(TensorRef { descriptor: Cow::Borrowed(self.descriptor()), buffers })
    }
}
