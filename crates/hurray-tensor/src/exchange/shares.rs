//! A tensor as a producer of itself.

use hurray_format::Descriptor;

use super::export::Exported;
use super::produce::Produce;
use super::request::Request;
use crate::buffer::{Buffer, BufferMut};
use crate::copying::Copying;
use crate::error::Result;
use crate::tensor::Tensor;

/// Hands out shares in itself, to be read; and copies in host memory where a request asks for one,
/// or allows one and wants to write.
impl Produce for Tensor {
    fn describe(&self) -> Option<Descriptor> {
        Some(self.descriptor().clone())
    }

    fn produce(&mut self, request: &Request) -> Result<Exported> {
        let copies = match request.may_copy() {
            Copying::Always => true,
            Copying::WhenNeeded => request.wants_writable(),
            Copying::Never => false,
        };
        if !copies {
            return Exported::share(self);
        }
        let copy = |buffer: &Buffer| buffer.copy_to_host().map(BufferMut::freeze);
        let buffers = self.buffers().iter().map(copy).collect::<Result<Vec<_>>>()?;
        Ok(Exported::new(Self::new(self.descriptor().clone(), buffers)?)?.copied())
    }
}
