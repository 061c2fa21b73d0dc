//! `hurray inspect --hex`: every byte with the field it belongs to, as the one decoder
//! tells it to a trace. Tensors' data is left out, and said to be.

mod file;
mod table;
mod window;

use std::cell::RefCell;
use std::io::{self, Read};
use std::path::Path;

use hurray_tensor::StreamReader;
use hurray_tensor::format::{Accept, Descriptor, Field, Recording};

use crate::failure::Failure;
use crate::output::Output;
pub(crate) use file::file;
use table::Table;
use window::Window;

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
    let mut source = Window::new(io::Cursor::new(bytes), 0);
    table.is_read = read.is_ok();
    table.fields(&mut source, &mut trace.fields)?;
    table.up_to(&mut source, length(bytes.len()))?;
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
        trace.fields.iter_mut().for_each(|field| move_by(field, start));
        let end = start + length(bytes.len());
        let mut shown = Window::new(io::Cursor::new(bytes), start);
        table.is_read = decoded.is_ok();
        table.fields(&mut shown, &mut trace.fields)?;
        table.up_to(&mut shown, end)?;
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
            table.data(&(start..start + count), place, None)?;
            start += count;
            place += 1;
        }
    }
}

fn move_by(field: &mut Field, by: u64) {
    field.offset = field.offset.saturating_add(by);
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

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
