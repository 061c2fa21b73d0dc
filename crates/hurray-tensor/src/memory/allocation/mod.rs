//! Memory of our own, aligned as it was asked for.

mod heap;
#[cfg(unix)]
mod mapped;

use std::io;

use hurray_format::{Expected, MIN_ALIGNMENT, Rule, Value};

use super::{Region, Shared, as_u64, refuse};
use crate::error::{Error, Result};

/// What the first byte's address is a multiple of, in bytes: a power of two, 64 or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Alignment(u32);

impl Alignment {
    /// 64, the least that the format allows.
    pub const LINE: Self = Self(MIN_ALIGNMENT);
    /// 4096: what writers to devices, other processes and RDMA owe.
    pub const PAGE: Self = Self(4096);
    /// 2 MiB. The system is asked to back such memory with large pages.
    pub const HUGE_PAGE: Self = Self(2 << 20);

    /// Another power of two.
    ///
    /// # Errors
    ///
    /// `memory.alignment` for anything else, and below 64.
    pub fn new(bytes: u32) -> Result<Self> {
        if bytes.is_power_of_two() && bytes >= MIN_ALIGNMENT {
            return Ok(Self(bytes));
        }
        let found = Value::Unsigned(u64::from(bytes));
        let expected = Expected::OneOf("a power of two, 64 or more");
        Err(refuse(Rule::MemoryAlignment, "alignment", found, expected))
    }

    /// In bytes.
    pub const fn bytes(self) -> u32 {
        self.0
    }

    fn in_memory(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// What is in memory before it is written to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contents {
    /// Zeros.
    Zeros,
    /// Nothing that may be read, unless zeros cost nothing.
    Unwritten,
}

/// From this length on, pages of their own are cheaper than zeros written at an alignment.
#[cfg(unix)]
const LARGE: usize = 256 << 10;

/// Memory that is ours alone, and what is in it. Nothing is taken for none.
pub(crate) fn allocate(
    length: usize,
    alignment: Alignment,
    wanted: Contents,
) -> Result<(Shared, Contents)> {
    if isize::try_from(length).is_err() {
        let found = Value::Unsigned(as_u64(length));
        return Err(refuse(Rule::MemoryTooLarge, "length", found, Expected::Unsaid));
    }
    if length == 0 {
        return Ok((Shared::settled(Region::nowhere(), 0, ()), Contents::Zeros));
    }
    #[cfg(unix)]
    if alignment >= Alignment::HUGE_PAGE || (alignment >= Alignment::PAGE && length >= LARGE) {
        let memory = mapped::Mapping::of_zeros(length, alignment.in_memory())?;
        let region = Region::host(memory.first(), length);
        return Ok((Shared::new(region, memory)?, Contents::Zeros));
    }
    let memory = heap::Allocation::new(length, alignment.in_memory(), wanted)?;
    let region = Region::host(memory.first(), length);
    Ok((Shared::new(region, memory)?, wanted))
}

#[cold]
fn out_of_memory(error: impl Into<io::Error>) -> Error {
    Error::io("allocate", error.into())
}
