//! Tensors coming in, one after the other.

use std::io::{self, Read, Write};

use hurray_format::{
    Accept, Descriptor, Error as FormatError, Expected, LENGTH_PREFIX, Rule, Silent, Value,
};

use crate::buffer::HostBuffer;
use crate::error::{Error, Result};
use crate::memory::Room;
use crate::tensor::{Composite, Tensor, check};

/// Reads a plain stream. The end of the input between two tensors is its end.
#[derive(Debug)]
pub struct StreamReader<R> {
    input: R,
    pub(super) accept: Accept,
    /// Bytes taken from the input.
    position: u64,
    /// Bytes of the last tensor that were not read.
    unread: u64,
    /// After an error of the input nothing follows.
    done: bool,
}

/// A tensor of a stream: its descriptor, with its buffers still to be read, in order.
/// What is left unread when it is dropped is skipped.
#[derive(Debug)]
pub struct StreamTensor<'s, R> {
    stream: &'s mut StreamReader<R>,
    descriptor: Descriptor,
    offset: u64,
    next: usize,
}

/// How much memory is taken before the bytes that fill it have come.
const STEP: u64 = 1 << 20;

impl<R: Read> StreamReader<R> {
    /// Reads from `input`, which need not be buffered.
    pub fn new(input: R) -> Self {
        Self::with(input, Accept::default())
    }

    /// Reads from `input`, with private tags that were agreed and other limits.
    pub fn with(input: R, accept: Accept) -> Self {
        Self { input, accept, position: 0, unread: 0, done: false }
    }

    /// The next tensor, or `None` at the end of the stream.
    ///
    /// # Errors
    ///
    /// Every rule of descriptors, `stream.truncated`, and what the input refuses. After an
    /// error there is no next tensor: where it would start is not known.
    pub fn next_tensor(&mut self) -> Result<Option<StreamTensor<'_, R>>> {
        if self.done {
            return Ok(None);
        }
        self.done = true;
        self.skip(self.unread)?;
        let offset = self.position;
        let located = |error: FormatError| Error::from(error.shifted(offset));
        let mut bytes = Vec::new();
        self.take(as_length(LENGTH_PREFIX), &mut bytes)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let length = u64::from(Descriptor::length_of(&bytes).map_err(located)?);
        let limit = u64::from(self.accept.limits.descriptor_bytes);
        // Beyond the limit only as much is read as tells it.
        let length = length.min(limit.saturating_add(1));
        self.take(length.saturating_sub(as_length(LENGTH_PREFIX)), &mut bytes)?;
        let descriptor = match Descriptor::decode_with(&bytes, &self.accept, &mut Silent) {
            Ok(descriptor) => descriptor,
            Err(_) if length > limit => return Err(located(self.above_limit(&bytes))),
            Err(error) => return Err(located(error)),
        };
        self.unread = descriptor.data_bytes();
        self.done = false;
        Ok(Some(StreamTensor { stream: self, descriptor, offset, next: 0 }))
    }

    /// The next tensor, alive; of a composite, its head and all its members. What they hold is
    /// checked as [`into_tensor`](StreamTensor::into_tensor) checks it.
    ///
    /// # Errors
    ///
    /// As [`next_tensor`](Self::next_tensor) and [`into_tensor`](StreamTensor::into_tensor);
    /// the rules of `composite.*`.
    pub fn next_composite(&mut self) -> Result<Option<Composite>> {
        let limits = self.accept.limits;
        let mut next = || {
            self.next_tensor().transpose().map(|tensor| tensor.and_then(StreamTensor::into_tensor))
        };
        let Some(head) = next().transpose()? else {
            return Ok(None);
        };
        Composite::bind(head, &mut std::iter::from_fn(next), &limits).map(Some)
    }

    /// How many bytes of the stream were read.
    pub fn position(&self) -> u64 {
        self.position
    }

    #[cold]
    fn above_limit(&self, bytes: &[u8]) -> FormatError {
        let found = Descriptor::length_of(bytes).unwrap_or(u32::MAX);
        let expected = Expected::AtMost(u64::from(self.accept.limits.descriptor_bytes));
        let rule = Rule::DescriptorLengthAboveLimit;
        let found = Value::Unsigned(u64::from(found));
        FormatError::new(rule, "descriptor_length", 6, found, expected)
    }

    /// Appends up to `length` bytes to `out`.
    fn take(&mut self, length: u64, out: &mut Vec<u8>) -> Result<()> {
        let read = self.input.by_ref().take(length).read_to_end(out);
        self.moved(read.map(as_length)).map(drop)
    }

    /// Skips `count` bytes of the last tensor.
    fn skip(&mut self, count: u64) -> Result<()> {
        let start = self.position;
        let skipped = io::copy(&mut self.input.by_ref().take(count), &mut io::sink());
        let skipped = self.moved(skipped)?;
        self.unread = self.unread.saturating_sub(skipped);
        if skipped == count { Ok(()) } else { Err(self.truncated(start, skipped, count)) }
    }

    /// Moves the next `length` bytes, which belong to the last tensor, to `out`.
    fn copy(&mut self, length: u64, out: &mut dyn Write) -> Result<()> {
        let start = self.position;
        let mut left = length;
        let mut piece = Vec::new();
        while left > 0 {
            piece.clear();
            self.take(left.min(STEP), &mut piece)?;
            if piece.is_empty() {
                return Err(self.truncated(start, length.saturating_sub(left), length));
            }
            left = left.saturating_sub(as_length(piece.len()));
            self.unread = self.unread.saturating_sub(as_length(piece.len()));
            out.write_all(&piece).map_err(|error| Error::io("write", error))?;
        }
        Ok(())
    }

    /// Reads the next `length` bytes, which belong to the last tensor. Memory grows with
    /// what has come, not with what was announced.
    fn read(&mut self, length: u64) -> Result<HostBuffer> {
        let start = self.position;
        let room = |left: u64| usize::try_from(left).unwrap_or(usize::MAX);
        let mut bytes = Room::for_bytes(room(length.min(STEP))).map_err(read_failed)?;
        let mut left = length;
        while left > 0 {
            let step = left.min(STEP.max(as_length(bytes.len())));
            bytes.reserve(room(step)).map_err(read_failed)?;
            let got = self.fill(bytes.tail(), room(step))?;
            left = left.saturating_sub(got);
            self.unread = self.unread.saturating_sub(got);
            if got < step {
                return Err(self.truncated(start, length.saturating_sub(left), length));
            }
        }
        HostBuffer::filled(bytes)
    }

    /// Appends the next `step` bytes to `out`, which has room for them and so does not
    /// move, or as many as there are.
    fn fill(&mut self, out: &mut Vec<u8>, step: usize) -> Result<u64> {
        let start = out.len();
        let mut end = start;
        out.resize(start.saturating_add(step), 0);
        while let Some(rest) = out.get_mut(end..).filter(|rest| !rest.is_empty()) {
            match self.input.read(rest) {
                Ok(0) => break,
                Ok(read) => end = end.saturating_add(read),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return self.moved(Err(error)),
            }
        }
        out.truncate(end);
        self.moved(Ok(as_length(end.saturating_sub(start))))
    }

    /// Counts bytes that were taken from the input. How many a failing input gave before it
    /// failed is not known, so that nothing can follow.
    fn moved(&mut self, taken: io::Result<u64>) -> Result<u64> {
        self.done |= taken.is_err();
        let taken = taken.map_err(read_failed)?;
        self.position = self.position.saturating_add(taken);
        Ok(taken)
    }

    #[cold]
    fn truncated(&mut self, start: u64, found: u64, expected: u64) -> Error {
        self.done = true;
        let at = start.saturating_add(found);
        let (found, expected) = (Value::Unsigned(found), Expected::AtLeast(expected));
        FormatError::new(Rule::StreamTruncated, "buffer", at, found, expected).into()
    }
}

impl<R: Read> StreamTensor<'_, R> {
    /// What it is.
    pub fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// Where its descriptor starts in the stream.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// How many bytes of the stream were read: where its next buffer starts.
    pub fn position(&self) -> u64 {
        self.stream.position
    }

    /// Reads the tensor, alive, into aligned memory of the host, whatever device its descriptor
    /// names. Index arrays, scales and zero points are checked.
    ///
    /// # Errors
    ///
    /// The rules of `sparse.*` and of `quant.*` values, at their offset in the stream; as
    /// [`read_buffers`](Self::read_buffers); `memory.count` where some were read before.
    pub fn into_tensor(self) -> Result<Tensor> {
        let (start, handles) = (self.position(), self.descriptor.buffers().to_vec());
        let tensor = self.into_tensor_trusted()?;
        let before = |place: usize| handles.iter().take(place);
        let start =
            |place| before(place).fold(start, |at: u64, h| at.saturating_add(h.byte_size()));
        check::contents(&tensor, start)?;
        Ok(tensor)
    }

    /// The same, without a look at index arrays, scales and zero points: whoever calls this
    /// trusts whoever wrote the stream. What is out of place in them is then met where it is
    /// used.
    ///
    /// # Errors
    ///
    /// As [`read_buffers`](Self::read_buffers); `memory.count` where some were read before.
    pub fn into_tensor_trusted(self) -> Result<Tensor> {
        let descriptor = self.descriptor.clone();
        let buffers = self.read_buffers()?;
        Tensor::read(descriptor, buffers.into_iter().map(HostBuffer::into_buffer).collect())
    }

    /// Reads the buffers that are left, in table order, into aligned memory.
    ///
    /// # Errors
    ///
    /// `stream.truncated`; what the input refuses; out of memory.
    pub fn read_buffers(mut self) -> Result<Vec<HostBuffer>> {
        let mut buffers = Vec::new();
        while let Some(length) = self.next_length()? {
            buffers.push(self.stream.read(length)?);
        }
        Ok(buffers)
    }

    /// Writes the next buffer to `out`, in pieces, and says how long it was; `None` when
    /// none is left.
    ///
    /// # Errors
    ///
    /// `stream.truncated`; what the input or `out` refuses. Where it was `out`, the buffers
    /// and tensors that follow can still be read.
    pub fn copy_buffer(&mut self, out: &mut dyn Write) -> Result<Option<u64>> {
        let Some(length) = self.next_length()? else {
            return Ok(None);
        };
        self.stream.copy(length, out)?;
        Ok(Some(length))
    }

    /// The length of the next buffer, whose first byte is the next of the stream.
    fn next_length(&mut self) -> Result<Option<u64>> {
        if self.stream.done {
            return Err(read_failed(io::Error::other("the stream broke off before")));
        }
        let buffers = self.descriptor.buffers().get(self.next..).unwrap_or_default();
        let Some(handle) = buffers.first() else {
            return Ok(None);
        };
        // An `out` that failed may have left some of the buffer before.
        let left = buffers.iter().fold(0, |left: u64, h| left.saturating_add(h.byte_size()));
        self.stream.skip(self.stream.unread.saturating_sub(left))?;
        self.next = self.next.saturating_add(1);
        Ok(Some(handle.byte_size()))
    }
}

fn read_failed(error: io::Error) -> Error {
    Error::io("read", error)
}

fn as_length(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
