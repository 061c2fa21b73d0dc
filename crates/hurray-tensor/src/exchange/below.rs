//! What lies below a device's memory: the driver's allocation, and which copy of the driver it is of.
//! Nothing here looks at it. It is kept for whoever the memory is handed on to, beside what keeps the
//! memory, so that memory of which nothing is said costs no more for it.

use hurray_format::DeviceTag;

use super::foreign::{Struct, Theirs};
use super::raw::{HurrayBuffer, HurrayTensor};
use crate::buffer::Buffer;
use crate::memory::{Region, Shared};

/// What a struct says of it.
#[derive(Clone, Copy)]
pub(super) struct Below {
    memory: u64,
    memory_offset: u64,
    driver: u64,
}

impl Below {
    #[inline(always)]
    pub(super) fn of(raw: &HurrayBuffer) -> Self {
        Self { memory: raw.memory, memory_offset: raw.memory_offset, driver: raw.driver }
    }

    /// Memory that `owner` keeps, and with it what is below, if something is. The CPU has nothing.
    #[inline(always)]
    pub(super) fn hold<T: Struct + 'static>(self, region: Region, owner: Theirs<T>) -> Shared {
        if region.device == DeviceTag::CPU || self.memory | self.driver == 0 {
            return Shared::settled(region, 0, owner);
        }
        self.hold_above(region, owner)
    }

    #[cold]
    fn hold_above<T: Struct + 'static>(self, region: Region, owner: Theirs<T>) -> Shared {
        Shared::settled(region, 0, Above { below: self, _owner: owner })
    }
}

/// Hands on what was said when the memory of `buffer` came in.
#[cold]
pub(super) fn hand_on(raw: &mut HurrayBuffer, buffer: &Buffer) {
    let whole = buffer.keeper::<Above<HurrayTensor>>().map(|above| above.below);
    let apart = || buffer.keeper::<Above<HurrayBuffer>>().map(|above| above.below);
    let Some(Below { memory, memory_offset, driver }) = whole.or_else(apart) else {
        return;
    };
    raw.driver = driver;
    // A part begins further in. Where that cannot be, it is not said.
    if memory != 0
        && let Some(offset) = memory_offset.checked_add(buffer.start())
    {
        (raw.memory, raw.memory_offset) = (memory, offset);
    }
}

/// What keeps memory that lies above something.
struct Above<T: Struct> {
    below: Below,
    _owner: Theirs<T>,
}
