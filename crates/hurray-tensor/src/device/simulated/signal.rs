//! Signals: what a wait of a stream or of the host waits for.
//!
//! Binary and multi-wait events are eventfds, whose number is the driver's handle, so that
//! another library, a C program or another process can make one, wait for it and signal it. A
//! multi-wait event is signalled while it can be read, and nobody reads it; the one wait of a
//! binary event reads it. Timelines are counters of this process.

#![allow(unsafe_code, reason = "a handle is a file descriptor that its holder keeps open")]

use std::io::IoSliceMut;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use hurray_format::{Expected, Rule, Value};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::FileType;
use rustix::io::{Errno, ReadWriteFlags, preadv2, retry_on_intr};

use super::failed;
use super::memory::refused;
use super::timeline::{self, Counter};
use crate::device::{EventKind, RawEvent};
use crate::error::{Error, Result};
use crate::memory::refuse;

/// What is signalled, or waited for. It stays open of its own, so that whoever handed it over
/// may release theirs at once.
#[derive(Debug)]
pub(super) enum Signal {
    /// An eventfd, and whether a wait uses it up.
    Event(OwnedFd, bool),
    /// A counter, and what it must have reached.
    Timeline(Arc<Counter>, u64),
}

impl Signal {
    /// What a handle stands for.
    ///
    /// # Safety
    ///
    /// The event must be open.
    pub(super) unsafe fn of(event: RawEvent) -> Result<Self> {
        match event.kind {
            EventKind::Timeline => {
                Ok(Self::Timeline(timeline::counter(event.handle)?, event.value))
            }
            kind => {
                // SAFETY: passed on to the caller.
                let file = unsafe { duplicate(event.handle) }?;
                Ok(Self::Event(file, kind == EventKind::Binary))
            }
        }
    }

    /// Completes it: whoever waits goes on.
    pub(super) fn complete(&self) -> Result<()> {
        match self {
            Self::Event(file, _) => signal(file),
            Self::Timeline(counter, value) => {
                counter.reach(*value);
                Ok(())
            }
        }
    }

    /// Sleeps until it looks complete.
    pub(super) fn sleep(&self) -> Result<()> {
        match self {
            Self::Event(file, _) => is_readable(file, None).map(drop),
            Self::Timeline(counter, value) => {
                counter.wait_for(*value);
                Ok(())
            }
        }
    }

    /// Whether it is complete; if so, one wait is used up.
    pub(super) fn take(&self) -> Result<bool> {
        match self {
            Self::Event(file, true) => read(file),
            _ => self.is_complete(),
        }
    }

    /// Whether it is complete, without using it up.
    pub(super) fn is_complete(&self) -> Result<bool> {
        match self {
            Self::Event(file, _) => is_readable(file, Some(&NOW)),
            Self::Timeline(counter, value) => Ok(counter.reached() >= *value),
        }
    }
}

const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// A new event, not signalled.
pub(super) fn make_event() -> Result<OwnedFd> {
    eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(refused)
}

/// Signals an event.
pub(super) fn signal(file: &OwnedFd) -> Result<()> {
    match retry_on_intr(|| rustix::io::write(file, &1_u64.to_ne_bytes())) {
        // It can count no further, so that it is signalled already.
        Ok(_) | Err(Errno::AGAIN) => Ok(()),
        Err(error) => Err(refused(error)),
    }
}

fn is_readable(file: &OwnedFd, timeout: Option<&Timespec>) -> Result<bool> {
    let mut polled = [PollFd::new(file, PollFlags::IN)];
    let count = retry_on_intr(|| poll(&mut polled, timeout)).map_err(refused)?;
    let [polled] = polled;
    if polled.revents().contains(PollFlags::IN) {
        return Ok(true);
    }
    // Anything else would come back at once for ever.
    if count == 0 { Ok(false) } else { Err(failed("event")) }
}

/// Reads an event, without waiting whatever its other holders made of its flags.
fn read(file: &OwnedFd) -> Result<bool> {
    let mut count = [0; 8];
    let mut place = [IoSliceMut::new(&mut count)];
    let at_once = ReadWriteFlags::NOWAIT;
    match retry_on_intr(|| preadv2(file, &mut place, u64::MAX, at_once)) {
        Ok(8) => Ok(true),
        Err(Errno::AGAIN) => Ok(false),
        Ok(_) => Err(failed("event")),
        Err(error) => Err(refused(error)),
    }
}

/// The same event once more.
pub(super) fn duplicate_of(file: &OwnedFd) -> Result<OwnedFd> {
    file.try_clone().map_err(|error| Error::io("use an event", error))
}

/// The number that stands for an open file.
pub(super) fn into_handle(file: OwnedFd) -> u64 {
    // A file that is open has no negative number.
    u64::try_from(file.into_raw_fd()).unwrap_or(u64::MAX)
}

fn number(handle: u64) -> Result<RawFd> {
    RawFd::try_from(handle).map_err(|_| failed("event"))
}

/// Another number for the same file.
///
/// # Safety
///
/// `handle` must be open.
pub(super) unsafe fn duplicate(handle: u64) -> Result<OwnedFd> {
    // SAFETY: the caller keeps it open meanwhile, and no number that it is made of is -1.
    let file = unsafe { BorrowedFd::borrow_raw(number(handle)?) };
    file.try_clone_to_owned().map_err(|error| Error::io("use an event", error))
}

/// Closes it.
///
/// # Safety
///
/// `handle` must be open, and belong to nobody else.
pub(super) unsafe fn close(handle: u64) {
    if let Ok(number) = number(handle) {
        // SAFETY: passed on to the caller.
        drop(unsafe { OwnedFd::from_raw_fd(number) });
    }
}

/// Refuses what is no event: a file, a pipe, a socket could say that it is complete for ever.
pub(super) fn check_is_event(file: impl AsFd) -> Result<()> {
    let mode = rustix::fs::fstat(file).map_err(refused)?.st_mode;
    match FileType::from_raw_mode(mode) {
        // What the kernel keeps without an inode of its own, such as eventfds.
        FileType::Unknown => Ok(()),
        _ => {
            let expected = Expected::OneOf("an eventfd");
            Err(refuse(Rule::DeviceImport, "handle", Value::None, expected))
        }
    }
}
