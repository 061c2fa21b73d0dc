//! Index arrays inside the buffers of sparse and paged tensors: read as they stand,
//! never trusted, never read past their end.

use core::cmp::Ordering;

use crate::contents::Contents;
use crate::error::{Error, Expected, Result, Value};
use crate::rules::Rule;
use crate::wire::{Array, WireArray, as_index, as_offset};

/// An array of u64, or of u32 where a paged tensor says so.
#[derive(Clone, Copy)]
pub(crate) struct Indices<'b> {
    name: &'static str,
    /// Where the buffer starts in the input.
    base: u64,
    numbers: Numbers<'b>,
}

#[derive(Clone, Copy)]
enum Numbers<'b> {
    Narrow(WireArray<'b, u32>),
    Wide(WireArray<'b, u64>),
}

impl<'b> Indices<'b> {
    /// The first `count` numbers of buffer `place`.
    pub(crate) fn of(
        buffers: &[Contents<'b>],
        place: usize,
        name: &'static str,
        count: u128,
        narrow: bool,
    ) -> Result<Self> {
        let Some(buffer) = buffers.get(place) else {
            let found = Value::Unsigned(as_offset(buffers.len()));
            let expected = Expected::AtLeast(as_offset(place.saturating_add(1)));
            return Err(Error::new(Rule::SparseBufferCount, name, 0, found, expected));
        };
        let needed = count.saturating_mul(if narrow { 4 } else { 8 });
        let Contents { bytes: buffer, offset: base } = *buffer;
        let bytes = usize::try_from(needed).ok().and_then(|needed| buffer.get(..needed));
        let Some(bytes) = bytes else {
            let found = Value::Unsigned(as_offset(buffer.len()));
            let expected = Expected::AtLeast(u64::try_from(needed).unwrap_or(u64::MAX));
            return Err(Error::new(Rule::SparseBufferTooSmall, name, base, found, expected));
        };
        let numbers = if narrow {
            Numbers::Narrow(WireArray::over(bytes))
        } else {
            Numbers::Wide(WireArray::over(bytes))
        };
        Ok(Self { name, base, numbers })
    }

    pub(crate) fn at(&self, index: usize) -> Option<u64> {
        match &self.numbers {
            Numbers::Narrow(numbers) => numbers.at(index).map(u64::from),
            Numbers::Wide(numbers) => numbers.at(index),
        }
    }

    /// The number there, or the refusal that it is not there.
    pub(crate) fn need(&self, index: u64) -> Result<u64> {
        self.at(as_index(index)).ok_or_else(|| {
            let found = Value::Unsigned(as_offset(self.len()));
            let expected = Expected::AtLeast(index.saturating_add(1));
            Error::new(Rule::SparseBufferTooSmall, self.name, self.base, found, expected)
        })
    }

    pub(crate) fn len(&self) -> usize {
        match &self.numbers {
            Numbers::Narrow(numbers) => numbers.len(),
            Numbers::Wide(numbers) => numbers.len(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> + Clone + use<'b> {
        let (narrow, wide) = match self.numbers {
            Numbers::Narrow(numbers) => (Some(numbers), None),
            Numbers::Wide(numbers) => (None, Some(numbers)),
        };
        let narrow = narrow.into_iter().flat_map(|numbers| numbers.items().map(u64::from));
        narrow.chain(wide.into_iter().flat_map(WireArray::items))
    }

    /// Refuses the number at `index`, which is `found`.
    #[cold]
    pub(crate) fn refuse(&self, rule: Rule, index: usize, found: u64, expected: Expected) -> Error {
        let width = match &self.numbers {
            Numbers::Narrow(_) => 4,
            Numbers::Wide(_) => 8,
        };
        let offset = self.base.saturating_add(as_offset(index).saturating_mul(width));
        Error::new(rule, self.name, offset, Value::Unsigned(found), expected)
    }

    /// Refuses the number at `index` for its place.
    #[cold]
    pub(crate) fn refuse_at(&self, rule: Rule, index: usize) -> Error {
        self.refuse(rule, index, self.at(index).unwrap_or(0), Expected::Unsaid)
    }
}

/// The rules a pointer array breaks: where it starts, that it never decreases, where it
/// ends.
pub(crate) struct PointerRules {
    pub(crate) start: Rule,
    pub(crate) decreases: Rule,
    pub(crate) end: Rule,
}

/// Checks that `pointers` go from 0 to `end` and never decrease.
pub(crate) fn check_pointers(
    pointers: &Indices<'_>,
    rules: &PointerRules,
    end: Expected,
) -> Result<()> {
    let mut before = 0;
    for (at, pointer) in pointers.iter().enumerate() {
        if at == 0 && pointer != 0 {
            return Err(pointers.refuse(rules.start, 0, pointer, Expected::Exactly(0)));
        }
        if pointer < before {
            return Err(pointers.refuse(rules.decreases, at, pointer, Expected::AtLeast(before)));
        }
        before = pointer;
    }
    let fits = match end {
        Expected::Exactly(end) => before == end,
        Expected::AtMost(end) => before <= end,
        _ => true,
    };
    if fits {
        return Ok(());
    }
    Err(pointers.refuse(rules.end, pointers.len().saturating_sub(1), before, end))
}

/// Checks that the coordinates of each run between two pointers strictly increase and
/// are below `size`. The pointers have been checked.
pub(crate) fn check_runs(
    pointers: &Indices<'_>,
    coordinates: &Indices<'_>,
    size: u64,
    out_of_bounds: Rule,
    not_increasing: Rule,
) -> Result<()> {
    let mut ends = pointers.iter().skip(1);
    let mut end = ends.next().unwrap_or(0);
    let mut before: Option<u64> = None;
    for (at, coordinate) in coordinates.iter().enumerate() {
        while as_offset(at) >= end {
            before = None;
            match ends.next() {
                Some(next) => end = next,
                None => return Ok(()),
            }
        }
        if coordinate >= size {
            let expected = Expected::AtMost(size.saturating_sub(1));
            return Err(coordinates.refuse(out_of_bounds, at, coordinate, expected));
        }
        if before.is_some_and(|before| coordinate <= before) {
            return Err(coordinates.refuse_at(not_increasing, at));
        }
        before = Some(coordinate);
    }
    Ok(())
}

/// Where `compare` says `Equal` between `low` and `high`, given that it says `Less`
/// before and `Greater` after.
pub(crate) fn binary_search(
    mut low: u64,
    mut high: u64,
    compare: impl Fn(u64) -> Ordering,
) -> Option<u64> {
    while low < high {
        let middle = low.midpoint(high);
        match compare(middle) {
            Ordering::Less => low = middle.saturating_add(1),
            Ordering::Greater => high = middle,
            Ordering::Equal => return Some(middle),
        }
    }
    None
}
