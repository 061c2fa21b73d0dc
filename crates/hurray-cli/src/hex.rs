//! `hurray inspect --hex`: every byte with the field it belongs to, as the one decoder
//! tells it to a trace. Tensors' data is left out, and said to be.

mod table;

use std::cell::RefCell;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use hurray_tensor::StreamReader;
use hurray_tensor::format::{
    self, Accept, Container, Descriptor, FILE_HEADER_LEN, FILE_TRAILER_LEN, Field, Recording,
    Sections, crc32c,
};

use crate::failure::Failure;
use crate::input::failed;
use crate::output::Output;
use table::{Piece, Table};

/// One descriptor.
pub(crate) fn descriptor(
    out: &mut Output<'_>,
    path: &Path,
    bytes: &[u8],
    accept: &Accept,
) -> Result<(), Failure> {
    let mut trace = Recording::default();
    let read = Descriptor::decode_with(bytes, accept, &mut trace);
    let mut table = Table::new(out)?;
    let pieces = trace.fields.into_iter().map(Piece::Field).collect();
    let mut source = io::Cursor::new(bytes);
    table.write(&mut source, 0..length(bytes.len()), pieces, read.is_ok())?;
    read.map(|_| ()).map_err(|error| Failure::broken(path, &error))
}

/// A stream, tensor by tensor.
pub(crate) fn stream(
    out: &mut Output<'_>,
    path: &Path,
    source: impl Read,
    accept: &Accept,
) -> Result<(), Failure> {
    let kept = RefCell::new(Vec::new());
    let mut stream = StreamReader::with(Kept { source, kept: &kept }, *accept);
    let mut table = Table::new(out)?;
    let mut start = 0;
    loop {
        kept.borrow_mut().clear();
        let next = stream.next_tensor();
        // What went by was the descriptor and nothing else: all data was read before.
        let bytes = kept.take();
        let mut trace = Recording::default();
        // The stream tells what is wrong, where it starts.
        let decoded = Descriptor::decode_with(&bytes, accept, &mut trace);
        let fields = trace.fields.into_iter().map(|field| moved(field, start));
        let pieces = fields.map(Piece::Field).collect();
        let end = start + length(bytes.len());
        let mut shown = Shifted { bytes: io::Cursor::new(bytes), start };
        table.write(&mut shown, start..end, pieces, decoded.is_ok())?;
        let mut tensor = match next {
            Ok(Some(tensor)) => tensor,
            Ok(None) => return Ok(()),
            Err(error) => return Err(Failure::tensor(path, &error)),
        };
        let mut place = 0;
        start = end;
        loop {
            let copied = tensor.copy_buffer(&mut io::sink());
            let Some(count) = copied.map_err(|error| Failure::tensor(path, &error))? else {
                break;
            };
            table.data(start..start + count, place, None)?;
            start += count;
            place += 1;
        }
    }
}

fn moved(mut field: Field, by: u64) -> Field {
    field.offset = field.offset.saturating_add(by);
    field
}

/// A reader that keeps what went through it.
struct Kept<'k, R> {
    source: R,
    kept: &'k RefCell<Vec<u8>>,
}

impl<R: Read> Read for Kept<'_, R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(bytes)?;
        let mut kept = self.kept.borrow_mut();
        // A descriptor is short; of data, which is not shown, nothing needs to be kept.
        if kept.len() <= 1 << 21 {
            kept.extend_from_slice(bytes.get(..count).unwrap_or_default());
        }
        Ok(count)
    }
}

/// Bytes that start later in a larger input.
struct Shifted {
    bytes: io::Cursor<Vec<u8>>,
    start: u64,
}

impl Read for Shifted {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.bytes.read(bytes)
    }
}

impl Seek for Shifted {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match to {
            SeekFrom::Start(at) => self.bytes.seek(SeekFrom::Start(at.saturating_sub(self.start))),
            other => self.bytes.seek(other),
        }
    }
}

/// A whole file. What it holds is read as far as its rules let it be: a broken one shows
/// what was read before the rule that it breaks.
pub(crate) fn file(
    out: &mut Output<'_>,
    path: &Path,
    mut file: fs::File,
    accept: &Accept,
) -> Result<(), Failure> {
    let reading = |error| Failure::tensor(path, &failed("read", error));
    let size = file.metadata().map_err(reading)?.len();
    let mut walk = Walk { file: &mut file, pieces: Vec::new(), broken: None };
    walk.all(size, accept).map_err(reading)?;
    let Walk { pieces, broken, .. } = walk;
    let mut table = Table::new(out)?;
    table.write(&mut file, 0..size, pieces, broken.is_none())?;
    broken.map_or(Ok(()), |error| Err(Failure::broken(path, &error)))
}

struct Walk<'f> {
    file: &'f mut fs::File,
    pieces: Vec<Piece>,
    /// The first rule that was met broken.
    broken: Option<format::Error>,
}

impl Walk<'_> {
    fn all(&mut self, size: u64, accept: &Accept) -> io::Result<()> {
        let first = self.read(0..size.min(length(FILE_HEADER_LEN)))?;
        let last = self.read(size.saturating_sub(length(FILE_TRAILER_LEN))..size)?;
        let limits = &accept.limits;
        let Some(sections) =
            self.traced(|trace| Sections::decode(&first, &last, size, limits, trace))
        else {
            return Ok(());
        };
        let kv = sections.kv().map(|range| self.read(range)).transpose()?;
        let index = self.read(sections.index())?;
        let Some(container) =
            self.traced(|trace| Container::new(sections, index, kv, crc32c, trace))
        else {
            return Ok(());
        };
        for entry in container.index().in_file_order() {
            let bytes = self.read(entry.descriptor())?;
            let placed = self.traced(|trace| container.place(&entry, &bytes, accept, trace));
            let buffers = placed.map(|placed| placed.buffers).unwrap_or_default();
            for (place, range) in buffers.into_iter().enumerate() {
                let name = entry.name.to_owned();
                self.pieces.push(Piece::Data { range, place, name });
            }
        }
        Ok(())
    }

    /// Runs the decoder and keeps the fields it tells, also where it fails.
    fn traced<T>(&mut self, decode: impl FnOnce(&mut Recording) -> format::Result<T>) -> Option<T> {
        let mut trace = Recording::default();
        let decoded = decode(&mut trace);
        self.pieces.extend(trace.fields.into_iter().map(Piece::Field));
        match decoded {
            Ok(decoded) => Some(decoded),
            Err(error) => {
                self.broken.get_or_insert(error);
                None
            }
        }
    }

    fn read(&mut self, range: Range<u64>) -> io::Result<Vec<u8>> {
        read(self.file, &range)
    }
}

/// The bytes of `range`, or as many of them as there are.
fn read<S: Read + Seek>(source: &mut S, range: &Range<u64>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.seek(SeekFrom::Start(range.start))?;
    source.take(range.end.saturating_sub(range.start)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
