//! Memory that is released in stream order: after an event or a stream of the consumer's, without
//! anybody waiting on the host.

#![allow(unsafe_code, reason = "events and streams of a consumer are waited for here")]

use std::mem::offset_of;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use hurray_format::{Expected, Rule, Value};

use super::parcel::Kept;
use super::raw::HurraySync;
use super::{Status, check, refuse};
use crate::device::{Device, RawEvent, Stream};
use crate::error::Result;
use crate::memory::quietly;

/// Where memory waits for what its consumers still do with it, to be released then.
///
/// It is a stream that nothing else can be queued on: an event of a consumer may come after any
/// work of the producer's, also after such as is queued later, and must not be in its way. Clones
/// are the same stream; one is enough for all that is exported from a device.
#[derive(Clone, Debug)]
pub struct Releases(Stream);

impl Releases {
    /// Opens the stream. It is closed when the last clone is dropped, and all memory that was
    /// exported with it is released.
    ///
    /// # Errors
    ///
    /// `device.failed`; what the system refused.
    pub fn open(device: &Arc<dyn Device>) -> Result<Self> {
        Stream::open(device).map(Self)
    }
}

/// Keeps the memory until the consumer is done with it, and takes over its event. Where it answers
/// another status than OK nothing has changed hands.
///
/// # Safety
///
/// The event or stream must be open on the device of the stream that memory waits on, and an event's
/// release must keep the rules of `hurray_abi.h`.
pub(super) unsafe fn let_go_after(kept: &mut Kept, done: &mut HurraySync) -> Status {
    let Some(Releases(stream)) = kept.releases.clone() else { return Status::Unsupported };
    // A backend's bug ends here.
    // SAFETY: passed on to the caller.
    let order = AssertUnwindSafe(|| unsafe { wait_for(&stream, done) });
    let behind = match catch_unwind(order) {
        Ok(Ok(behind)) => behind,
        Ok(Err(error)) => return Status::from(&error),
        Err(panic) => {
            quietly(move || drop(panic));
            return Status::Panic;
        }
    };
    let keep = kept.keep.take();
    // Where the device cannot say when it is done, the memory is kept for ever.
    quietly(move || drop(behind.hold(keep)));
    if let Some(release) = done.release_event {
        // SAFETY: moved here by the consumer, and released once.
        unsafe { release(done) };
        done.release_event = None;
    }
    Status::Ok
}

/// The stream behind which memory may go.
///
/// # Safety
///
/// As [`let_go_after`].
unsafe fn wait_for(stream: &Stream, done: &HurraySync) -> Result<Stream> {
    let device = stream.device();
    let tag = device.identity().tag.tag();
    if done.device_tag != tag {
        let found = Value::Tag(u64::from(done.device_tag));
        let expected = Expected::Exactly(u64::from(tag));
        return Err(refuse(Rule::ExchangeSyncDevice, "device_tag", 0, found, expected));
    }
    if done.reserved != [0; 6] || done.spare != [0; 2] {
        let at = offset_of!(HurraySync, reserved);
        let rule = Rule::ExchangeReserved;
        return Err(refuse(rule, "reserved", at, Value::None, Expected::Unsaid));
    }
    match (done.event, done.stream) {
        (0, 0) => {
            let at = offset_of!(HurraySync, event);
            let rule = Rule::ExchangeEventMissing;
            Err(refuse(rule, "event", at, Value::None, Expected::Unsaid))
        }
        (handle, 0) => {
            let event =
                RawEvent { kind: check::event_kind(done)?, handle, value: done.event_value };
            // SAFETY: a stream is open while it is held; the event is the consumer's, and open.
            unsafe { device.wait(stream.handle(), event) }?;
            Ok(stream.clone())
        }
        // SAFETY: the consumer's stream, which is open, and is used for one call.
        (0, handle) => Ok(unsafe { Stream::adopt(Arc::clone(device), handle) }),
        _ => {
            let at = offset_of!(HurraySync, stream);
            let found = Value::Tag(done.stream);
            let rule = Rule::ExchangeStreamUnexpected;
            Err(refuse(rule, "stream", at, found, Expected::Exactly(0)))
        }
    }
}
