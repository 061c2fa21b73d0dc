//! What lies below a device's memory: the driver's allocation, and which copy of the driver it is of.
//! Nothing here looks at it. It is kept for whoever the memory is handed on to, beside what keeps the
//! memory, so that memory of which nothing is said costs no more for it.

use hurray_format::{Descriptor, DeviceTag};

use super::foreign::{Struct, Theirs};
use super::raw::{HurrayBuffer, HurrayTensor};
use crate::buffer::Buffer;
use crate::memory::Kept;

/// What a struct says of it.
#[derive(Clone, Copy)]
pub(super) struct Below {
    memory: u64,
    memory_offset: u64,
    driver: u64,
}

/// What keeps a stranger's memory, and what lies below that, if anything was said of it.
pub(super) struct Owner<T: Struct> {
    _theirs: Theirs<T>,
    below: Option<Box<Below>>,
}

impl<T: Struct> Owner<T> {
    /// Of the memory of that struct. The CPU's has nothing below.
    #[inline(always)]
    pub(super) fn new(theirs: Theirs<T>, raw: &HurrayBuffer) -> Self {
        Self { _theirs: theirs, below: Below::of(raw) }
    }
}

impl Below {
    #[inline(always)]
    fn of(raw: &HurrayBuffer) -> Option<Box<Self>> {
        let is_said = raw.sync.device_tag != DeviceTag::CPU.tag() && raw.memory | raw.driver != 0;
        is_said.then(|| Self::kept(raw))
    }

    #[cold]
    fn kept(raw: &HurrayBuffer) -> Box<Self> {
        let HurrayBuffer { memory, memory_offset, driver, .. } = *raw;
        Box::new(Self { memory, memory_offset, driver })
    }
}

/// Hands on what was said when the memory of `buffer` came in.
#[cold]
pub(super) fn hand_on(raw: &mut HurrayBuffer, buffer: &Buffer) {
    let of_tensor = buffer.keeper::<Kept<Owner<HurrayTensor>, Descriptor>>().map(Kept::owner);
    let of_tensor = of_tensor.and_then(|owner| owner.below.as_deref());
    let of_first = || buffer.keeper::<Kept<Owner<HurrayBuffer>, Descriptor>>().map(Kept::owner);
    let of_other = || buffer.keeper::<Owner<HurrayBuffer>>();
    let of_buffer = || of_first().or_else(of_other).and_then(|owner| owner.below.as_deref());
    let Some(Below { memory, memory_offset, driver }) = of_tensor.or_else(of_buffer) else {
        return;
    };
    raw.driver = *driver;
    // A part begins further in. Where that cannot be, it is not said.
    if *memory != 0
        && let Some(offset) = memory_offset.checked_add(buffer.start())
    {
        (raw.memory, raw.memory_offset) = (*memory, offset);
    }
}
