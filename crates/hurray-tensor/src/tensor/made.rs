//! Tensors made of what another language has: parts and memory, or parts alone.

use hurray_format::{Descriptor, DescriptorBuilder, LayoutKind, Limits};

use super::{Buffers, Tensor};
use crate::buffer::{Buffer, BufferMut};
use crate::error::Result;
use crate::memory::Alignment;

impl Tensor {
    /// A tensor of the builder's parts in these buffers, in table order; its buffer table is made
    /// from them. For a dense tensor the builder's byte offset counts from the first byte of buffer
    /// 0, and the descriptor's from the multiple of 64 below.
    ///
    /// ```
    /// use hurray_tensor::format::{Descriptor, Dtype, Layout};
    /// use hurray_tensor::{Buffer, Tensor};
    ///
    /// let rows = Buffer::from_elements::<f32, _>(vec![4.0, 5.0, 6.0, 1.0, 2.0, 3.0])?;
    /// let upside_down = Descriptor::builder(Dtype::Float32, &[2, 3])
    ///     .layout(Layout::strided([-3, 1]))
    ///     .byte_offset(12);
    /// let tensor = Tensor::build(upside_down, [rows])?;
    /// let lead = tensor.buffers()[0].lead();
    /// assert_eq!(tensor.descriptor().locate(&[0, 0])?.byte, lead + 12);
    /// # Ok::<(), hurray_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Every rule the parts break; those of [`new`](Self::new).
    pub fn build(
        parts: DescriptorBuilder,
        buffers: impl IntoIterator<Item = Buffer>,
    ) -> Result<Self> {
        // One more than there can be is enough to be refused.
        let buffers = buffers.into_iter().take(Limits::BUFFERS.saturating_add(1));
        let buffers: Buffers = buffers.collect();
        let handles = buffers.iter().map(Buffer::handle).collect::<Result<Vec<_>>>()?;
        let mut descriptor = parts.buffers(handles).build()?;
        let lead = buffers.first().map_or(0, Buffer::lead);
        if lead != 0 && descriptor.layout().kind() == LayoutKind::Dense {
            let byte_offset = descriptor.byte_offset().saturating_add(lead);
            descriptor = descriptor.rebuild().byte_offset(byte_offset).build()?;
        }
        Self::new(descriptor, buffers)
    }

    /// A tensor in host memory of its own, aligned as its handles say, all of it zeros.
    ///
    /// # Errors
    ///
    /// `memory.device` for a descriptor of other memory than the host's; out of memory.
    pub fn zeroed(descriptor: Descriptor) -> Result<Self> {
        let zeroed = |handle: &hurray_format::BufferHandle| -> Result<Buffer> {
            let least = handle.alignment().max(Alignment::LINE.bytes());
            let length = usize::try_from(handle.byte_size()).unwrap_or(usize::MAX);
            Ok(BufferMut::zeroed_at(Alignment::new(least)?, length)?.freeze())
        };
        let buffers = descriptor.buffers().iter().map(zeroed).collect::<Result<Vec<_>>>()?;
        Self::new(descriptor, buffers)
    }

    /// Where the CPU finds what the handle of buffer `place` counts from, to write behind its
    /// [`lead`](Buffer::lead): for callers that must know no lifetimes. `None` where there is no
    /// such buffer. The pointer is good until the tensor is next used.
    ///
    /// # Errors
    ///
    /// As [`Buffer::try_into_mut`].
    pub fn host_mut(&mut self, place: usize) -> Option<Result<*mut u8>> {
        self.0.host_mut(place)
    }
}
