//! Gates: events that a test signals.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use super::signal::{make_event, signal};
use crate::device::{Device, Event, EventKind, OsHandle, Stream};
use crate::error::{Error, Result};

/// Holds streams until it is opened. Dropping it opens it, so that a test that fails leaves
/// no thread behind.
///
/// It is an eventfd, so that another process may have it too.
///
/// ```
/// use std::time::Duration;
/// use hurray_tensor::device::{EventKind, Stream, simulated::{Gate, Machine}};
///
/// let machine = Machine::new(1);
/// let stream = Stream::open(&machine.device(0)?)?;
/// let gate = Gate::new()?;
/// gate.hold(&stream)?;
/// let mut later = stream.record(EventKind::MultiWait)?;
/// assert_eq!(machine.settle(Duration::from_secs(60)).unwrap().streams, [stream.handle()]);
/// gate.open()?;
/// later.wait()?;
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
#[derive(Debug)]
pub struct Gate(OwnedFd);

impl Gate {
    /// A gate that is closed.
    ///
    /// # Errors
    ///
    /// What the system refused.
    pub fn new() -> Result<Self> {
        make_event().map(Self)
    }

    /// Queues a wait for it: what is queued on the stream later runs when it is open.
    ///
    /// # Errors
    ///
    /// `device.failed`; what the system refused.
    pub fn hold(&self, stream: &Stream) -> Result<()> {
        self.event(stream.device())?.order(stream)
    }

    /// An event of a device that is complete when the gate is open.
    ///
    /// # Errors
    ///
    /// `device.export` for a device that is not simulated; what the system refused.
    pub fn event(&self, device: &Arc<dyn Device>) -> Result<Event> {
        let file: OsHandle = self.0.try_clone().map_err(|error| Error::io("use a gate", error))?;
        let raw = device.import_event(file, EventKind::MultiWait)?;
        // SAFETY: it was just made for us.
        Ok(unsafe { Event::adopt(Arc::clone(device), raw) })
    }

    /// Opens it, for good.
    ///
    /// # Errors
    ///
    /// What the system refused.
    pub fn open(&self) -> Result<()> {
        signal(&self.0)
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        // A second opening does nothing.
        let _ = self.open();
    }
}

impl AsFd for Gate {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
