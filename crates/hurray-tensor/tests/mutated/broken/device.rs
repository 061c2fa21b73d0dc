//! A device that waits for whatever is not released.

use std::sync::Arc;

use hurray_tensor::device::{Device, Devices, EventKind, Identity, RawEvent};
use hurray_tensor::format::{DeviceTag, MemoryClass};
use hurray_tensor::{Alignment, BufferMut, DeviceMemory, Region, Result};

use super::released::BufferContext;

#[derive(Debug)]
struct Waits {
    identity: Identity,
    contexts: Vec<Arc<BufferContext>>,
}

impl std::fmt::Debug for BufferContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.once.name)
    }
}

// SAFETY: contexts are counters, but for memory that only its releaser touches.
unsafe impl Send for BufferContext {}
// SAFETY: as above.
unsafe impl Sync for BufferContext {}

pub(crate) fn devices(contexts: &[Arc<BufferContext>]) -> Devices {
    let identity =
        Identity { tag: DeviceTag::CUDA, ordinal: -1, uuid: [0; 16], name: "test".to_owned() };
    Devices::default().with(Arc::new(Waits { identity, contexts: contexts.to_vec() }))
}

impl Waits {
    fn see(&self, event: RawEvent) -> Result<()> {
        let number = event.handle.wrapping_sub(1000);
        let context = usize::try_from(number).ok().and_then(|number| self.contexts.get(number));
        if let Some(context) = context {
            let event = context.event.as_ref().map_or(0, |event| event.times());
            assert_eq!((context.once.times(), event), (0, 0), "waited for what is released");
        }
        Ok(())
    }
}

// SAFETY: there is no work.
unsafe impl Device for Waits {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn classes(&self) -> &[MemoryClass] {
        &[MemoryClass::UNIFIED]
    }

    fn host_can_read(&self, _: MemoryClass) -> bool {
        true
    }

    fn allocate(&self, _: u64, _: Alignment, _: MemoryClass) -> Result<DeviceMemory> {
        BufferMut::zeroed(0).map(DeviceMemory::from)
    }

    fn open_stream(&self) -> Result<u64> {
        Ok(1)
    }

    unsafe fn close_stream(&self, _: u64) {}

    unsafe fn copy(&self, _: u64, _: &Region, _: &Region) -> Result<()> {
        Ok(())
    }

    unsafe fn record(&self, _: u64, kind: EventKind) -> Result<RawEvent> {
        Ok(RawEvent { kind, handle: 1, value: 0 })
    }

    unsafe fn wait(&self, _: u64, event: RawEvent) -> Result<()> {
        self.see(event)
    }

    unsafe fn wait_on_host(&self, event: RawEvent) -> Result<()> {
        self.see(event)
    }

    unsafe fn release_event(&self, _: RawEvent) {}

    unsafe fn call(&self, _: u64, work: Box<dyn FnOnce() + Send>) -> Result<()> {
        work();
        Ok(())
    }
}
