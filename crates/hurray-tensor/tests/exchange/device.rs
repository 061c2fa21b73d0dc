//! A device whose driver is the test's: memory of the host, events of whoever made them.

#![allow(unsafe_code, reason = "a device is an unsafe trait")]

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use hurray_tensor::device::{Device, Devices, EventKind, Identity, RawEvent};
use hurray_tensor::format::{DeviceTag, MemoryClass};
use hurray_tensor::{Alignment, Buffer, BufferMut, DeviceMemory, Region, Result};

use crate::library::Wait;

type Work = Box<dyn FnOnce() + Send>;

/// It calls itself CUDA; its memory is unified.
pub(crate) struct TestDevice {
    identity: Identity,
    /// How the events of a library are waited for.
    wait: Option<Wait>,
    pub(crate) waits: AtomicU64,
    pub(crate) recorded: AtomicU64,
    pub(crate) released: AtomicU64,
    /// What was queued and waits, while there is a queue.
    queue: Mutex<Option<Vec<Work>>>,
    pub(crate) closed: AtomicU64,
}

impl fmt::Debug for TestDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TestDevice")
    }
}

impl TestDevice {
    pub(crate) fn new(wait: Option<Wait>) -> Arc<Self> {
        let tag = DeviceTag::CUDA;
        let identity = Identity { tag, ordinal: 0, uuid: [0; 16], name: "test".to_owned() };
        Arc::new(Self {
            identity,
            wait,
            waits: AtomicU64::new(0),
            recorded: AtomicU64::new(0),
            released: AtomicU64::new(0),
            queue: Mutex::new(None),
            closed: AtomicU64::new(0),
        })
    }

    /// From here on calls that are queued wait for `run`.
    pub(crate) fn queue(&self) {
        *self.queue.lock().unwrap() = Some(Vec::new());
    }

    /// Runs what was queued.
    pub(crate) fn run(&self) {
        let queued = self.queue.lock().unwrap().take();
        queued.into_iter().flatten().for_each(|work| work());
    }

    pub(crate) fn at_hand(self: &Arc<Self>) -> Devices {
        Devices::default().with(Arc::<Self>::clone(self))
    }

    fn wait_for(&self, event: RawEvent) -> Result<()> {
        self.waits.fetch_add(1, Ordering::Relaxed);
        // Events of its own have come when they are recorded.
        let own = event.handle <= self.recorded.load(Ordering::Relaxed);
        if let Some(wait) = self.wait.filter(|_| !own) {
            // SAFETY: an event of the library whose function it is.
            assert_eq!(unsafe { wait(event.handle, event.value) }, 0, "the event has not come");
        }
        Ok(())
    }
}

/// Memory of the device, and how often it was released.
pub(crate) fn device_memory(bytes: &[u8]) -> (Buffer, Arc<AtomicU64>) {
    let memory = BufferMut::copy_of(bytes).unwrap();
    let mut region = memory.region();
    (region.device, region.class) = (DeviceTag::CUDA, MemoryClass::UNIFIED);
    counted(region, memory)
}

/// Memory of the host, and how often it was released.
pub(crate) fn host_memory(bytes: &[u8]) -> (Buffer, Arc<AtomicU64>) {
    let memory = BufferMut::copy_of(bytes).unwrap();
    counted(memory.region(), memory)
}

fn counted(region: Region, memory: BufferMut) -> (Buffer, Arc<AtomicU64>) {
    let released = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&released);
    let release = move || {
        drop(memory);
        count.fetch_add(1, Ordering::Relaxed);
    };
    // SAFETY: the region is that of memory that is kept until the release.
    (unsafe { Buffer::adopt(region, release) }.unwrap(), released)
}

// SAFETY: a driver of a test: memory is the host's, and its waits have waited when they return.
unsafe impl Device for TestDevice {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn classes(&self) -> &[MemoryClass] {
        &[MemoryClass::UNIFIED]
    }

    fn host_can_read(&self, _: MemoryClass) -> bool {
        true
    }

    fn allocate(&self, length: u64, _: Alignment, _: MemoryClass) -> Result<DeviceMemory> {
        let bytes = vec![0; usize::try_from(length).unwrap()];
        let memory = DeviceMemory::new(device_memory(&bytes).0);
        memory.map_err(|returned| returned.error)
    }

    fn open_stream(&self) -> Result<u64> {
        Ok(7)
    }

    unsafe fn close_stream(&self, _: u64) {
        self.closed.fetch_add(1, Ordering::Relaxed);
    }

    unsafe fn copy(&self, _: u64, _: &Region, _: &Region) -> Result<()> {
        panic!("no test copies")
    }

    unsafe fn record(&self, _: u64, kind: EventKind) -> Result<RawEvent> {
        let handle = self.recorded.fetch_add(1, Ordering::Relaxed) + 1;
        let value = if kind == EventKind::Timeline { 7 } else { 0 };
        Ok(RawEvent { kind, handle, value })
    }

    unsafe fn wait(&self, _: u64, event: RawEvent) -> Result<()> {
        self.wait_for(event)
    }

    unsafe fn wait_on_host(&self, event: RawEvent) -> Result<()> {
        self.wait_for(event)
    }

    unsafe fn release_event(&self, _: RawEvent) {
        self.released.fetch_add(1, Ordering::Relaxed);
    }

    unsafe fn call(&self, _: u64, work: Box<dyn FnOnce() + Send>) -> Result<()> {
        match self.queue.lock().unwrap().as_mut() {
            Some(queue) => queue.push(work),
            None => work(),
        }
        Ok(())
    }
}
