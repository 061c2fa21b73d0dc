//! A stream checked as it comes: nothing is kept of a tensor but what has a rule.

use std::io::{self, Read, Write};

use hurray_format::{Composite, Contents, Descriptor, LayoutKind, bind};

use super::reader::StreamReader;
use crate::error::Result;

impl<R: Read> StreamReader<R> {
    /// Checks everything that is left: each tensor, the contents of index and parameter
    /// buffers, and composites. `progress` is told how many bytes of the stream are done.
    /// Gives the number of tensors.
    ///
    /// ```
    /// use hurray_tensor::StreamReader;
    /// use hurray_tensor::format::{Descriptor, Dtype};
    ///
    /// let descriptor = Descriptor::dense(Dtype::UInt8, &[3])?.encode();
    /// let stream = [&descriptor[..], &[1, 2, 3]].concat();
    /// assert_eq!(StreamReader::new(&stream[..]).verify(&mut |_| {})?, 1);
    /// assert!(StreamReader::new(&stream[..55]).verify(&mut |_| {}).is_err());
    /// # Ok::<(), hurray_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first rule that the stream breaks, with its offset from the start of the
    /// stream; what the input refuses.
    pub fn verify(&mut self, progress: &mut dyn FnMut(u64)) -> Result<u64> {
        let limits = self.accept.limits;
        let mut count: u64 = 0;
        while let Some((descriptor, offset)) = checked(self, &mut count, progress)? {
            if descriptor.layout().kind() == LayoutKind::Virtual {
                let mut rest =
                    std::iter::from_fn(|| checked(self, &mut count, progress).transpose());
                let _: Composite<u64> = bind(descriptor, offset, &mut rest, |at| *at, &limits)?;
            }
        }
        Ok(count)
    }
}

/// Reads the next tensor to its end and checks it; gives what it is and where it starts.
fn checked<R: Read>(
    stream: &mut StreamReader<R>,
    count: &mut u64,
    progress: &mut dyn FnMut(u64),
) -> Result<Option<(Descriptor, u64)>> {
    let Some(mut tensor) = stream.next_tensor()? else {
        return Ok(None);
    };
    *count = count.saturating_add(1);
    let (descriptor, offset) = (tensor.descriptor().clone(), tensor.offset());
    let start = tensor.position();
    let mut skipped = Skipped { at: start, progress };
    // Of the values themselves nothing is checked, so they are not kept.
    tensor.copy_buffer(&mut skipped)?;
    if descriptor.has_checked_contents() {
        let parameters = tensor.read_buffers()?;
        let mut offset = start;
        let mut contents = Vec::with_capacity(descriptor.buffer_count());
        // In the place of the values is nothing.
        let bytes = std::iter::once(&[][..]).chain(parameters.iter().map(|bytes| &bytes[..]));
        for (handle, bytes) in descriptor.buffers().iter().zip(bytes) {
            contents.push(Contents { bytes, offset });
            offset = offset.saturating_add(handle.byte_size());
        }
        descriptor.check_parameters(&contents)?;
    } else {
        while tensor.copy_buffer(&mut skipped)?.is_some() {}
    }
    Ok(Some((descriptor, offset)))
}

/// Where bytes go that nobody looks at, but for how many they were.
struct Skipped<'p> {
    at: u64,
    progress: &'p mut dyn FnMut(u64),
}

impl Write for Skipped<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.at = self.at.saturating_add(length(bytes.len()));
        (self.progress)(self.at);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
