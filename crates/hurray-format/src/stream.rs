//! Plain streams (decision 31): a descriptor, then each buffer's bytes, unpadded; then the
//! next. No names, no index, no end mark.

use alloc::vec::Vec;

use crate::accept::Accept;
use crate::composite::{Composite, bind};
use crate::contents::Contents;
use crate::descriptor::Descriptor;
use crate::error::{Error, Expected, Result, Value};
use crate::layout::LayoutKind;
use crate::rules::Rule;
use crate::wire::{Silent, as_index, as_offset};

/// A plain stream in memory: an iterator over its tensors.
///
/// ```
/// use hurray_format::{Descriptor, Dtype, StreamView};
/// let descriptor = Descriptor::dense(Dtype::UInt8, &[3])?;
/// let stream = [&descriptor.encode()[..], &[1, 2, 3], &descriptor.encode(), &[4, 5, 6]].concat();
/// let mut tensors = StreamView::new(&stream);
/// assert_eq!(tensors.next().unwrap()?.buffers, [[1, 2, 3]]);
/// assert_eq!(tensors.next().unwrap()?.buffers, [[4, 5, 6]]);
/// assert!(tensors.next().is_none());
/// # Ok::<(), hurray_format::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct StreamView<'a> {
    bytes: &'a [u8],
    at: usize,
    accept: Accept,
}

/// A tensor of a stream in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamTensor<'a> {
    /// Where its descriptor starts in the stream.
    pub offset: u64,
    /// Where its first buffer starts in the stream.
    pub data_offset: u64,
    /// What it is.
    pub descriptor: Descriptor,
    /// Its buffers, in table order.
    pub buffers: Vec<&'a [u8]>,
}

impl<'a> StreamView<'a> {
    /// The tensors of a stream, which is all of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self::with(bytes, &Accept::default())
    }

    /// The same with private tags that were agreed, and other limits.
    pub fn with(bytes: &'a [u8], accept: &Accept) -> Self {
        Self { bytes, at: 0, accept: *accept }
    }

    fn read(&mut self) -> Result<StreamTensor<'a>> {
        let offset = as_offset(self.at);
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let shifted = |error: Error| error.shifted(offset);
        let length = as_index(u64::from(Descriptor::length_of(rest).map_err(shifted)?));
        let bytes = rest.get(..length).unwrap_or(rest);
        let descriptor =
            Descriptor::decode_with(bytes, &self.accept, &mut Silent).map_err(shifted)?;
        let mut at = length;
        let mut buffers = Vec::with_capacity(descriptor.buffer_count());
        for handle in descriptor.buffers() {
            let bytes = rest.get(at..).unwrap_or_default();
            let size = as_index(handle.byte_size());
            let Some(buffer) = bytes.get(..size) else {
                let found = Value::Unsigned(as_offset(bytes.len()));
                let at = offset.saturating_add(as_offset(at));
                let expected = Expected::AtLeast(handle.byte_size());
                return Err(Error::new(Rule::StreamTruncated, "buffer", at, found, expected));
            };
            buffers.push(buffer);
            at = at.saturating_add(size);
        }
        self.at = self.at.saturating_add(at);
        let data_offset = offset.saturating_add(as_offset(length));
        Ok(StreamTensor { offset, data_offset, descriptor, buffers })
    }
}

impl<'a> Iterator for StreamView<'a> {
    type Item = Result<StreamTensor<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let read = self.read();
        if read.is_err() {
            // Where the next tensor would start is not known.
            self.at = self.bytes.len();
        }
        Some(read)
    }
}

impl StreamView<'_> {
    /// Checks everything that is left: each tensor, the contents of its buffers, and
    /// composites.
    ///
    /// # Errors
    ///
    /// The first rule that the stream breaks.
    pub fn verify(mut self) -> Result<()> {
        let limits = self.accept.limits;
        while let Some(tensor) = self.next().transpose()? {
            tensor.check()?;
            if tensor.descriptor.layout().kind() == LayoutKind::Virtual {
                let mut rest = self.by_ref().map(|tensor| {
                    let tensor = tensor?;
                    tensor.check()?;
                    Ok::<_, Error>((tensor.descriptor, tensor.offset))
                });
                let (head, at) = (tensor.descriptor, tensor.offset);
                let _: Composite<u64> = bind(head, at, &mut rest, |at| *at, &limits)?;
            }
        }
        Ok(())
    }
}

impl StreamTensor<'_> {
    /// Checks the contents of the buffers, at offsets of the stream.
    fn check(&self) -> Result<()> {
        let mut offset = self.data_offset;
        let mut contents = Vec::with_capacity(self.buffers.len());
        for bytes in &self.buffers {
            contents.push(Contents { bytes, offset });
            offset = offset.saturating_add(as_offset(bytes.len()));
        }
        self.descriptor.check_parameters(&contents)
    }
}

/// The fewest bytes that tell how long a descriptor is: magic, version, length.
pub const LENGTH_PREFIX: usize = 10;
