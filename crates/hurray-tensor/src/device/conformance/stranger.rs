//! A device that no backend knows, and that can do nothing.

use std::sync::Arc;

use hurray_format::{DeviceTag, Expected, MemoryClass, Rule, Value};

use crate::buffer::DeviceMemory;
use crate::device::{Device, EventKind, Identity, RawEvent, Stream};
use crate::error::{Error, Result};
use crate::memory::{Alignment, Region, refuse};

/// The last private tag.
pub(super) const FOREIGN: DeviceTag = DeviceTag::from_tag(0xFE);

/// Memory that is none, with an address that is none.
pub(super) fn foreign_region(device: DeviceTag, length: u64) -> Region {
    let mut region = Region::host(std::ptr::null_mut(), 0);
    (region.device, region.address, region.length) = (device, 4096, length);
    region
}

/// A stream of a device that no other can wait for.
pub(super) fn foreign_stream() -> Stream {
    let name = "stranger".to_owned();
    let identity = Identity { tag: FOREIGN, ordinal: 0, uuid: [0; 16], name };
    let device: Arc<dyn Device> = Arc::new(Stranger(identity));
    Stream::open(&device).unwrap()
}

#[derive(Debug)]
struct Stranger(Identity);

fn failed() -> Error {
    refuse(Rule::DeviceFailed, "call", Value::None, Expected::Unsaid)
}

// SAFETY: everything but opening and closing a stream is refused.
unsafe impl Device for Stranger {
    fn identity(&self) -> &Identity {
        &self.0
    }

    fn classes(&self) -> &[MemoryClass] {
        &[]
    }

    fn host_can_read(&self, _: MemoryClass) -> bool {
        false
    }

    fn allocate(&self, _: u64, _: Alignment, _: MemoryClass) -> Result<DeviceMemory> {
        Err(failed())
    }

    fn open_stream(&self) -> Result<u64> {
        Ok(1)
    }

    unsafe fn close_stream(&self, _: u64) {}

    unsafe fn copy(&self, _: u64, _: &Region, _: &Region) -> Result<()> {
        Err(failed())
    }

    unsafe fn record(&self, _: u64, _: EventKind) -> Result<RawEvent> {
        Err(failed())
    }

    unsafe fn wait(&self, _: u64, _: RawEvent) -> Result<()> {
        Err(failed())
    }

    unsafe fn wait_on_host(&self, _: RawEvent) -> Result<()> {
        Err(failed())
    }

    unsafe fn release_event(&self, _: RawEvent) {}

    unsafe fn call(&self, _: u64, _: Box<dyn FnOnce() + Send>) -> Result<()> {
        Err(failed())
    }
}
