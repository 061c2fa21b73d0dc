//! A whole file, section by section in the order in which they lie. Its index is held, as
//! every reader holds it; of what is shown, nothing is.

use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;

use hurray_tensor::format::{
    self, Accept, Container, Entry, FILE_HEADER_LEN, FILE_TRAILER_LEN, Kv, Recording, Sections,
    Silent, crc32c,
};

use super::length;
use super::table::{Rows, Table};
use super::window::Window;
use crate::failure::Failure;
use crate::input::failed;
use crate::output::Output;

/// What a file holds is read as far as its rules let it be: a broken one shows what was
/// read before the rule that it breaks.
pub(crate) fn file(
    out: &mut Output<'_>,
    path: &Path,
    file: fs::File,
    accept: &Accept,
) -> Result<(), Failure> {
    let mut walk =
        Walk { table: Table::new(out)?, file: Window::new(file, 0), path, accept, broken: None };
    walk.all()?;
    walk.broken.map_or(Ok(()), |error| Err(Failure::broken(path, &error)))
}

struct Walk<'o, 's, 'a> {
    table: Table<'o, 's>,
    file: Window<fs::File>,
    path: &'a Path,
    accept: &'a Accept,
    /// The first rule that was met broken.
    broken: Option<format::Error>,
}

impl Walk<'_, '_, '_> {
    fn all(&mut self) -> Result<(), Failure> {
        let size = self.file.length().map_err(|error| self.unread(error))?;
        let (header, trailer) = (length(FILE_HEADER_LEN), length(FILE_TRAILER_LEN));
        let first = self.read(0..size.min(header))?;
        let last = self.read(size.saturating_sub(trailer)..size)?;
        // Both ends are read first, and shown where they lie.
        let mut ends = Recording::default();
        let limits = &self.accept.limits;
        let sections = Sections::decode(&first, &last, size, limits, &mut ends);
        let (mut first, mut last): (Vec<_>, Vec<_>) =
            ends.fields.into_iter().partition(|field| field.offset < header);
        self.table.fields(&mut self.file, &mut first)?;
        match self.noted(sections) {
            Some(sections) => self.between_ends(&sections)?,
            None => self.table.is_read = false,
        }
        self.table.fields(&mut self.file, &mut last)?;
        Ok(self.table.up_to(&mut self.file, size)?)
    }

    /// Tensors first: sections that lie before them are refused.
    fn between_ends(&mut self, sections: &Sections) -> Result<(), Failure> {
        match self.container(sections)? {
            Some(container) => self.tensors(&container)?,
            None => self.table.is_read = false,
        }
        let kv = sections.kv();
        let is_last = |kv: &Range<u64>| kv.start > sections.index().start;
        if let Some(kv) = kv.clone().filter(|kv| !is_last(kv)) {
            self.key_values(kv)?;
        }
        self.index(sections)?;
        kv.filter(is_last).map_or(Ok(()), |kv| self.key_values(kv))
    }

    /// What tells where the tensors are, unless it is broken.
    fn container(&mut self, sections: &Sections) -> Result<Option<Container>, Failure> {
        let kv = sections.kv().map(|range| self.read(range)).transpose()?;
        let index = self.read(sections.index())?;
        let container = Container::new(sections.clone(), index, kv, crc32c, &mut Silent);
        Ok(self.noted(container))
    }

    fn tensors(&mut self, container: &Container) -> Result<(), Failure> {
        let mut entries = container.index().in_file_order().peekable();
        while let Some(entry) = entries.next() {
            let end = container.sections().tensors().end;
            let end = entries.peek().map_or(end, |next| next.descriptor_offset);
            self.tensor(container, &entry, end)?;
        }
        Ok(())
    }

    /// A tensor, which ends before `end`.
    fn tensor(
        &mut self,
        container: &Container,
        entry: &Entry<'_>,
        end: u64,
    ) -> Result<(), Failure> {
        self.table.up_to(&mut self.file, entry.descriptor_offset)?;
        let bytes = self.read(entry.descriptor())?;
        // A descriptor is short.
        let mut trace = Recording::default();
        let placed = container.place(entry, &bytes, self.accept, &mut trace);
        self.table.is_read = placed.is_ok();
        self.table.fields(&mut self.file, &mut trace.fields)?;
        let buffers = self.noted(placed).map(|placed| placed.buffers).unwrap_or_default();
        for (place, range) in buffers.iter().enumerate() {
            // An empty buffer may be said to lie anywhere, further on too.
            if range.start <= end {
                self.table.up_to(&mut self.file, range.start)?;
            }
            self.table.data(range, place, Some(entry.name))?;
        }
        Ok(())
    }

    fn key_values(&mut self, range: Range<u64>) -> Result<(), Failure> {
        let start = range.start;
        let bytes = self.read(range.clone())?;
        self.section(range, start, |rows| {
            Kv::decode(bytes, rows).map(drop).map_err(|error| error.shifted(start))
        })
    }

    fn index(&mut self, sections: &Sections) -> Result<(), Failure> {
        let range = sections.index();
        let bytes = self.read(range.clone())?;
        self.section(range, 0, |rows| {
            Container::new(sections.clone(), bytes, None, crc32c, rows).map(drop)
        })
    }

    /// Shows the fields of `range` while they are decoded; they count from `start`.
    fn section(
        &mut self,
        range: Range<u64>,
        start: u64,
        decode: impl FnOnce(&mut Rows<'_, '_, '_, fs::File>) -> format::Result<()>,
    ) -> Result<(), Failure> {
        let Self { table, file, .. } = self;
        table.up_to(file, range.start)?;
        table.is_read = true;
        let mut rows = Rows { table, source: file, start, written: Ok(()) };
        let decoded = decode(&mut rows);
        rows.written?;
        self.table.is_read = decoded.is_ok();
        self.noted(decoded);
        self.table.up_to(&mut self.file, range.end)?;
        self.table.is_read = true;
        Ok(())
    }

    fn noted<T>(&mut self, result: format::Result<T>) -> Option<T> {
        result.map_err(|error| *self.broken.get_or_insert(error)).ok()
    }

    fn read(&mut self, range: Range<u64>) -> Result<Vec<u8>, Failure> {
        self.file.read(&range).map_err(|error| self.unread(error))
    }

    fn unread(&self, error: io::Error) -> Failure {
        Failure::tensor(self.path, &failed("read", error))
    }
}
