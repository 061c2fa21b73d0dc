//! Copies of elements, made only when they are asked for by name.

use std::io;

use hurray_format::{Error as FormatError, Expected, Layout, LayoutKind, Rule, Value};

use super::Tensor;
use super::bits::packed;
use super::typed::element_count;
use crate::buffer::Buffer;
use crate::element::Element;
use crate::error::{Error, Result};

impl Tensor {
    /// A copy of the elements, in index order.
    ///
    /// ```
    /// use hurray_tensor::Tensor;
    /// let tensor = Tensor::from_vec(vec![1_i32, 2, 3, 4], &[2, 2])?.transpose()?;
    /// assert_eq!(tensor.to_vec::<i32>()?, [1, 3, 2, 4]);
    /// # Ok::<(), hurray_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `view.expands` where the elements need more bytes than the buffer they are in, as those
    /// of a sparse or broadcast tensor do: see [`to_vec_within`](Self::to_vec_within). As
    /// [`iter`](Self::iter); out of memory, as an error and not as an abort.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.to_vec_within(self.own_bytes())
    }

    /// A copy of the elements, in index order, of at most `most` bytes. What a sparse tensor
    /// does not store is 0.
    ///
    /// # Errors
    ///
    /// `view.expands`; as [`to_vec`](Self::to_vec).
    pub fn to_vec_within<T: Element>(&self, most: u64) -> Result<Vec<T>> {
        self.need_type::<T>()?;
        self.copied_bytes(most)?;
        let elements = self.iter::<T>()?;
        let mut copy = Vec::new();
        copy.try_reserve_exact(elements.len()).map_err(out_of_memory)?;
        copy.extend(elements);
        Ok(copy)
    }

    /// The same tensor, row-major in memory of its own that starts at a multiple of 64. Scales
    /// and zero points are shared, and what the descriptor says besides is kept.
    ///
    /// # Errors
    ///
    /// As [`to_vec`](Self::to_vec), for any type of up to 128 bits; `view.quantization` for
    /// quantized sparse tensors, of whose missing elements nobody says what their code is.
    pub fn to_row_major(&self) -> Result<Self> {
        self.to_row_major_within(self.own_bytes())
    }

    /// The same, of at most `most` bytes.
    ///
    /// # Errors
    ///
    /// `view.expands`; as [`to_row_major`](Self::to_row_major).
    pub fn to_row_major_within(&self, most: u64) -> Result<Self> {
        let descriptor = self.descriptor();
        let is_sparse = descriptor.layout().kind() == LayoutKind::Sparse;
        if let Some(scheme) = descriptor.quantization().filter(|_| is_sparse) {
            let (rule, found) = (Rule::ViewQuantization, Value::Tag(u64::from(scheme.tag())));
            let error = FormatError::new(rule, "scheme_tag", 0, found, Expected::Unsaid);
            return Err(error.into());
        }
        let values = self.packed(self.copied_bytes(most)?)?;
        let parameters = self.buffers().iter().skip(1).filter(|_| !is_sparse).cloned();
        let buffers: Vec<Buffer> = std::iter::once(values).chain(parameters).collect();
        let mut handles = descriptor.buffers().to_vec();
        handles.truncate(buffers.len());
        if let (Some(handle), Some(values)) = (handles.first_mut(), buffers.first()) {
            *handle = values.handle()?;
        }
        let copied = descriptor.rebuild().layout(Layout::RowMajor).byte_offset(0).buffers(handles);
        Self::new(copied.build()?, buffers)
    }

    /// The elements in index order, packed, in memory of their own: `length` bytes.
    fn packed(&self, length: usize) -> Result<Buffer> {
        packed(length, |out| match self.as_bytes() {
            Ok(run) => {
                out.extend_from_slice(run);
                Ok(())
            }
            Err(_) => self.iter_bits()?.pack(out),
        })
    }

    /// How many bytes a copy of all elements has.
    fn copied_bytes(&self, most: u64) -> Result<usize> {
        let count = element_count(self.descriptor())?;
        let needed = self.descriptor().dtype().bytes_for(u128::from(count));
        let needed = needed.and_then(|needed| u64::try_from(needed).ok());
        match needed {
            Some(needed) if needed <= most => usize::try_from(needed)
                .map_err(|_| out_of_memory_of(io::ErrorKind::OutOfMemory.into())),
            _ => {
                let found = needed.map_or(Value::BeyondU64, Value::Unsigned);
                let rule = Rule::ViewExpands;
                Err(FormatError::new(rule, "shape", 20, found, Expected::AtMost(most)).into())
            }
        }
    }

    fn own_bytes(&self) -> u64 {
        let own = |buffer: &Buffer| buffer.byte_size().saturating_sub(buffer.lead());
        self.buffers().first().map_or(0, own)
    }
}

fn out_of_memory(error: std::collections::TryReserveError) -> Error {
    out_of_memory_of(error.into())
}

fn out_of_memory_of(error: io::Error) -> Error {
    Error::io("allocate", error)
}
