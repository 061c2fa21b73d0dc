//! The CPU as a device: work is done when it is queued, and waiting is over at once.

#![allow(unsafe_code, reason = "copies between regions that are held")]

use std::ptr;

use hurray_format::{DeviceTag, Expected, MemoryClass, Rule, Value};

use super::{Device, EventKind, Identity, RawEvent};
use crate::buffer::{BufferMut, DeviceMemory, copy_changing};
use crate::error::Result;
use crate::memory::{Alignment, Region, Release, refuse};

/// The CPU. It has streams so that code for devices runs on it too; they are all empty.
#[derive(Debug)]
pub struct Cpu {
    identity: Identity,
}

impl Cpu {
    /// The CPU.
    pub fn new() -> Self {
        let (tag, name) = (DeviceTag::CPU, "host".to_owned());
        Self { identity: Identity { tag, ordinal: 0, uuid: [0; 16], name } }
    }
}

impl Default for Cpu {
    fn default() -> Self {
        Self::new()
    }
}

const CLASSES: &[MemoryClass] = &[MemoryClass::STANDARD];

// SAFETY: memory is `BufferMut`'s; every copy and every call is over when its method returns,
// so that each event is complete when it is made and no wait has anything to wait for.
unsafe impl Device for Cpu {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn classes(&self) -> &[MemoryClass] {
        CLASSES
    }

    fn host_can_read(&self, _class: MemoryClass) -> bool {
        true
    }

    fn allocate(
        &self,
        length: u64,
        alignment: Alignment,
        class: MemoryClass,
    ) -> Result<DeviceMemory> {
        if !CLASSES.contains(&class) {
            let found = Value::Tag(u64::from(class.tag()));
            return Err(refuse(Rule::DeviceClass, "memory_class", found, Expected::Unsaid));
        }
        let Ok(length) = usize::try_from(length) else {
            let found = Value::Unsigned(length);
            return Err(refuse(Rule::MemoryTooLarge, "length", found, Expected::Unsaid));
        };
        BufferMut::zeroed_at(alignment, length).map(DeviceMemory::from)
    }

    fn open_stream(&self) -> Result<u64> {
        Ok(1)
    }

    unsafe fn close_stream(&self, _stream: u64) {}

    unsafe fn copy(&self, _stream: u64, from: &Region, to: &Region) -> Result<()> {
        let length = usize::try_from(from.length).unwrap_or(0);
        if length == 0 {
            return Ok(());
        }
        if let Some(region) = [from, to].into_iter().find(|region| region.host.is_null()) {
            let found = Value::Tag(u64::from(region.device.tag()));
            let expected = Expected::OneOf("host memory");
            return Err(refuse(Rule::SyncDeviceMismatch, "memory", found, expected));
        }
        if !to.writable {
            return Err(refuse(Rule::MemoryReadOnly, "to", Value::None, Expected::Unsaid));
        }
        if from.may_change {
            // SAFETY: passed on to the caller.
            unsafe { copy_what_changes(from.host, to.host, length) };
            return Ok(());
        }
        // SAFETY: the caller promises that both regions are true and held, and that the
        // target is as long. Regions of one process may still be the same memory.
        unsafe { ptr::copy(from.host, to.host, length) }
        Ok(())
    }

    unsafe fn record(&self, _stream: u64, kind: EventKind) -> Result<RawEvent> {
        Ok(RawEvent { kind, handle: 1, value: 0 })
    }

    unsafe fn wait(&self, _stream: u64, _event: RawEvent) -> Result<()> {
        Ok(())
    }

    unsafe fn wait_on_host(&self, _event: RawEvent) -> Result<()> {
        Ok(())
    }

    unsafe fn release_event(&self, _event: RawEvent) {}

    unsafe fn call(&self, _stream: u64, work: Box<dyn FnOnce() + Send>) -> Result<()> {
        // Run as it is dropped, with a fence around panics.
        drop(Release::new(work));
        Ok(())
    }
}

/// Copies bytes that somebody else may write to meanwhile.
///
/// # Safety
///
/// Both regions must be there, `length` bytes each.
pub(super) unsafe fn copy_what_changes(from: *const u8, to: *mut u8, length: usize) {
    let mut some = [0; 4096];
    let mut done: usize = 0;
    while done < length {
        let next = length.saturating_sub(done).min(some.len());
        let some = some.get_mut(..next).unwrap_or_default();
        // SAFETY: as many bytes are there behind what is done, as the caller promises.
        unsafe { copy_changing(from.wrapping_add(done), some) };
        // SAFETY: as above; an array of ours overlaps with neither.
        unsafe { ptr::copy_nonoverlapping(some.as_ptr(), to.wrapping_add(done), next) };
        done = done.saturating_add(next);
    }
}
