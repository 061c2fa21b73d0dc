//! A tensor as a producer of itself.

use hurray_format::{BufferHandle, Descriptor};

use super::export::Exported;
use super::produce::Produce;
use super::request::Request;
use crate::buffer::{Buffer, BufferMut};
use crate::copying::Copying;
use crate::error::Result;
use crate::memory::Alignment;
use crate::tensor::Tensor;

/// Hands out shares in itself, to be read; and copies in host memory where a request asks for one,
/// or allows one and wants to write, or wants a larger alignment than the memory has.
impl Produce for Tensor {
    fn describe(&self) -> Option<Descriptor> {
        Some(self.descriptor().clone())
    }

    fn produce(&mut self, request: &Request) -> Result<Exported> {
        let alignment = Alignment::new(request.least_alignment().max(Alignment::LINE.bytes()))?;
        let falls_short =
            |buffer: &Buffer| !buffer.is_empty() && buffer.alignment() < alignment.bytes();
        let copies = match request.may_copy() {
            Copying::Always => true,
            Copying::WhenNeeded => {
                request.wants_writable() || self.buffers().iter().any(falls_short)
            }
            Copying::Never => false,
        };
        let own = self.buffers().iter();
        let buffers: Vec<Buffer> = match copies {
            false => own.cloned().collect(),
            true => own
                .map(|buffer| buffer.copy_to_host_at(alignment).map(BufferMut::freeze))
                .collect::<Result<_>>()?,
        };
        let declares = |handle: &BufferHandle| {
            handle.byte_size() == 0 || handle.alignment() >= alignment.bytes()
        };
        let descriptor = self.descriptor();
        let tensor = if descriptor.buffers().iter().all(declares) {
            Self::new(descriptor.clone(), buffers)?
        } else {
            // What the memory has and its handle does not say.
            let handle = |buffer: &Buffer| match falls_short(buffer) {
                true => buffer.handle(),
                false => buffer.handle_at(alignment),
            };
            let handles = buffers.iter().map(handle).collect::<Result<Vec<_>>>()?;
            Self::new(descriptor.rebuild().buffers(handles).build()?, buffers)?
        };
        let exported = Exported::new(tensor)?;
        Ok(if copies { exported.copied() } else { exported })
    }
}
