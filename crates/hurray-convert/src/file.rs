//! A Hurray file as what is converted: its data, compared with the checksums it has.

use std::io::Write;

use hurray_tensor::format::{Container, Descriptor, Entry};
use hurray_tensor::{File, FileTensor};

use crate::error::{Error, Result};
use crate::piece::{Meter, Through, as_length};
use crate::report::{Changed, Report};

/// The part of a buffer that is wanted: so many bytes are skipped, so many passed on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) skip: u64,
    pub(crate) pass: u64,
}

impl Window {
    pub(crate) const ALL: Self = Self { skip: 0, pass: u64::MAX };
}

/// Checks that Hurray's own keys name tensors of the file, before they are relied on.
pub(crate) fn check_keys(file: &File) -> Result<()> {
    let checked = file.container().check_keys();
    checked.map_err(|error| Error::from(error).in_file(file.path()))
}

/// The bytes of data of these tensors, the padding between buffers included.
pub(crate) fn data_bytes<'f>(entries: impl Iterator<Item = Entry<'f>>) -> u64 {
    entries.fold(0, |sum, entry| sum.saturating_add(entry.data_length))
}

/// Whether a descriptor of `length` bytes says more than this version of the format knows.
/// It is written anew without that.
pub(crate) fn is_newer(descriptor: &Descriptor, length: u64) -> bool {
    as_length(descriptor.encode().len()) != length
}

/// Reports what is lost of a descriptor that says more than is known.
pub(crate) fn report_newer(tensor: &FileTensor<'_>, report: &mut Report) {
    let length = u64::from(tensor.entry().descriptor_length);
    if is_newer(tensor.descriptor(), length) {
        report.change(tensor.name(), Changed::NewerFields);
    }
}

/// Writes a part of buffer `place` of a tensor. All of the buffer is read, and compared
/// with its checksum where the file has one.
pub(crate) fn copy(
    file: &File,
    tensor: &FileTensor<'_>,
    place: usize,
    window: Window,
    out: &mut dyn Write,
    meter: &mut Meter<'_>,
) -> Result<()> {
    let located = |error| {
        let error = hurray_tensor::Error::from(error);
        Error::from(error.in_tensor(tensor.name()).in_file(file.path()))
    };
    let kept = file.container().tensor_checksums(&tensor.entry(), tensor.descriptor());
    let expected = kept.map_err(located)?.and_then(|sums| sums.get(place).copied());
    let Window { skip, pass } = window;
    let mut through = Through::part(out, meter, skip, pass, expected.is_some());
    tensor.copy_buffer(place, &mut through)?;
    let (Some(expected), Some(found)) = (expected, through.checksum()) else {
        return Ok(());
    };
    let at = tensor.buffer_ranges().get(place).map_or(0, |range| range.start);
    Container::compare_checksum(at, expected, found).map_err(located)
}
