//! Memory and who keeps it alive: what stands behind every buffer.

mod allocation;
mod beside;
mod count;
#[cfg(loom)]
mod model;
mod owner;
mod pages;
mod region;
mod release;
mod room;
mod shared;

pub use allocation::Alignment;
#[cfg(loom)]
pub use model::weaken;
pub use region::Region;

pub(crate) use allocation::{Contents, allocate};
pub(crate) use beside::{Beside, Kept};
pub(crate) use count::Count;
pub(crate) use owner::{kept_by, of_vec};
pub(crate) use pages::want_large_pages;
pub(crate) use release::{Release, quietly};
pub(crate) use room::Room;
pub(crate) use shared::Shared;

use hurray_format::{Error as FormatError, Expected, Rule, SyncMode, Value};

#[cold]
pub(crate) fn refuse(
    rule: Rule,
    field: &'static str,
    found: Value,
    expected: Expected,
) -> crate::Error {
    FormatError::new(rule, field, 0, found, expected).into()
}

/// What sync a handle of memory at hand declares: the waiting is done.
pub(crate) const READY: SyncMode = SyncMode::PRODUCER_SYNCED;

pub(crate) fn as_u64(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
