//! Looking at an input here and there, a piece at a time.

use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

/// How much is read at once.
const PIECE: u64 = 1 << 16;

/// An input of which one piece is kept, as rows are told in the order in which they lie.
pub(super) struct Window<S> {
    source: S,
    /// Where the source starts in the whole input.
    origin: u64,
    /// Where what is kept starts.
    start: u64,
    kept: Vec<u8>,
}

impl<S: Read + Seek> Window<S> {
    pub(super) fn new(source: S, origin: u64) -> Self {
        Self { source, origin, start: 0, kept: Vec::new() }
    }

    /// Where it ends.
    pub(super) fn length(&mut self) -> io::Result<u64> {
        Ok(self.source.seek(SeekFrom::End(0))?.saturating_add(self.origin))
    }

    /// The bytes of `range`, or as many of them as there are; of a long range only the
    /// start.
    pub(super) fn look(&mut self, range: &Range<u64>) -> io::Result<&[u8]> {
        let end = range.end.min(range.start.saturating_add(PIECE));
        let length = as_length(end.saturating_sub(range.start));
        if self.kept_at(range.start).is_none_or(|kept| kept.len() < length) {
            self.start = range.start;
            self.kept.clear();
            let Self { source, origin, start, kept } = self;
            source.seek(SeekFrom::Start(start.saturating_sub(*origin)))?;
            source.take(PIECE).read_to_end(kept)?;
        }
        let kept = self.kept_at(range.start).unwrap_or_default();
        Ok(kept.get(..length).unwrap_or(kept))
    }

    /// All bytes of `range`, or as many of them as there are.
    pub(super) fn read(&mut self, range: &Range<u64>) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.source.seek(SeekFrom::Start(range.start.saturating_sub(self.origin)))?;
        let length = range.end.saturating_sub(range.start);
        self.source.by_ref().take(length).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Whether all bytes of `range` are there, and zero.
    pub(super) fn is_zero(&mut self, range: Range<u64>) -> io::Result<bool> {
        let mut at = range.start;
        while at < range.end {
            let bytes = self.look(&(at..range.end))?;
            if bytes.is_empty() || bytes.iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            at = at.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        }
        Ok(true)
    }

    fn kept_at(&self, place: u64) -> Option<&[u8]> {
        self.kept.get(as_length(place.checked_sub(self.start)?)..)
    }
}

fn as_length(length: u64) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_bytes_are_seen_in_any_order() {
        let bytes: Vec<u8> = (0..200_000_u32).map(|n| (n % 251) as u8).collect();
        let mut window = Window::new(io::Cursor::new(&bytes), 1000);
        for at in [0_usize, 1, 65_530, 65_536, 7, 199_990, 199_999, 200_000, 3] {
            let start = 1000 + at as u64;
            let end = bytes.len().min(at + 8);
            assert_eq!(window.look(&(start..start + 8)).unwrap(), &bytes[at..end], "{at}");
        }
        assert_eq!(window.look(&(1000..u64::MAX)).unwrap().len(), 1 << 16);
        assert_eq!(window.read(&(1000..1_000_000)).unwrap(), bytes);
    }

    #[test]
    fn zeros_are_seen_to_be_zero_to_the_end() {
        let mut bytes = vec![0; 200_000];
        assert!(Window::new(io::Cursor::new(&bytes), 0).is_zero(1..200_000).unwrap());
        assert!(!Window::new(io::Cursor::new(&bytes), 0).is_zero(1..200_001).unwrap());
        bytes[150_000] = 1;
        assert!(!Window::new(io::Cursor::new(&bytes), 0).is_zero(1..200_000).unwrap());
    }
}
