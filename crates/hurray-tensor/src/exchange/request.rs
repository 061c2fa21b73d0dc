//! What a consumer can take.

#![allow(unsafe_code, reason = "a request of others is read here")]

use std::mem::offset_of;

use hurray_format::{BufferHandle, DeviceTag, Expected, MemoryClass, Rule, SyncMode, Value};

use super::export::Exported;
use super::foreign::check_pointer;
use super::raw::{
    ABI_VERSION, BUFFER_COPIED, BUFFER_MAY_CHANGE, BUFFER_READ_ONLY, DEVICE_ANY, HurrayBuffer,
    HurrayRequest, NO_QUEUE_FAMILY, REQUEST_ALLOW_COPY, REQUEST_MUST_COPY, REQUEST_WRITABLE,
    struct_size,
};
use super::refuse;
use crate::copying::Copying;
use crate::device::{EventKind, Stream};
use crate::error::Result;
use crate::memory::Alignment;

/// What a consumer can take: how it can wait, where the data may be, what may be done to it.
///
/// ```
/// use hurray_tensor::Alignment;
/// use hurray_tensor::device::EventKind;
/// use hurray_tensor::{Copying, exchange::Request};
///
/// let request = Request::any()
///     .events(&[EventKind::MultiWait])
///     .aligned(Alignment::PAGE)
///     .copying(Copying::WhenNeeded);
/// assert!(request.accepts_event(EventKind::MultiWait));
/// ```
#[derive(Clone, Debug)]
pub struct Request {
    raw: HurrayRequest,
    /// The stream that the numbers name, where it is one of ours: it is open for as long as
    /// somebody may be told to wait on it.
    stream: Option<Stream>,
}

impl Request {
    /// Data that is ready, on any device, in any memory class, without a copy.
    pub fn any() -> Self {
        let raw = HurrayRequest {
            abi_version: ABI_VERSION,
            struct_size: struct_size::<HurrayRequest>(),
            accepted_syncs: bit(SyncMode::PRODUCER_SYNCED.tag()),
            accepted_event_kinds: 0,
            accepted_classes: u64::MAX,
            device_tag: DEVICE_ANY,
            reserved: [0; 3],
            min_alignment: 0,
            device_ordinal: -1,
            device_uuid: [0; 16],
            device_context: 0,
            driver: 0,
            stream: 0,
            queue_family: NO_QUEUE_FAMILY,
            reserved2: 0,
            flags: 0,
        };
        Self { raw, stream: None }
    }

    /// Also data with an event of one of these kinds.
    #[must_use]
    pub fn events(mut self, kinds: &[EventKind]) -> Self {
        self.raw.accepted_syncs |= bit(SyncMode::EVENT.tag());
        for kind in kinds {
            self.raw.accepted_event_kinds |= bit(*kind as u8);
        }
        self
    }

    /// Data on that stream's device; also such that this stream was ordered after its writes.
    #[must_use]
    pub fn on(mut self, stream: &Stream) -> Self {
        self.raw.accepted_syncs |= bit(SyncMode::CONSUMER_STREAM.tag());
        self.raw.stream = stream.handle();
        let identity = stream.device().identity();
        self.raw.device_tag = identity.tag.tag();
        self.raw.device_ordinal = identity.ordinal;
        self.raw.device_uuid = identity.uuid;
        self.stream = Some(stream.clone());
        self
    }

    /// Data on devices of that kind alone.
    #[must_use]
    pub fn on_device(mut self, device: DeviceTag) -> Self {
        self.raw.device_tag = device.tag();
        self
    }

    /// Data in one of these memory classes alone.
    #[must_use]
    pub fn classes(mut self, classes: &[MemoryClass]) -> Self {
        self.raw.accepted_classes = classes.iter().fold(0, |all, class| all | class_bit(*class));
        self
    }

    /// Data aligned so, or to more.
    #[must_use]
    pub fn aligned(mut self, alignment: Alignment) -> Self {
        self.raw.min_alignment = alignment.bytes();
        self
    }

    /// Data that the consumer may write to.
    #[must_use]
    pub fn writable(mut self) -> Self {
        self.raw.flags |= REQUEST_WRITABLE;
        self
    }

    /// Whether a copy may be made.
    #[must_use]
    pub fn copying(mut self, copying: Copying) -> Self {
        self.raw.flags &= !(REQUEST_ALLOW_COPY | REQUEST_MUST_COPY);
        self.raw.flags |= match copying {
            Copying::Never => 0,
            Copying::WhenNeeded => REQUEST_ALLOW_COPY,
            Copying::Always => REQUEST_ALLOW_COPY | REQUEST_MUST_COPY,
        };
        self
    }

    /// A request of somebody else's.
    ///
    /// # Safety
    ///
    /// `from` must be null, or point to as much of a request as its `struct_size` says. A stream
    /// that it names must be open for as long as an answer to it is waited for or used there.
    ///
    /// # Errors
    ///
    /// `exchange.null`, `exchange.misaligned`, `exchange.version`, `exchange.struct-size`,
    /// `exchange.flags`, `exchange.reserved`; `exchange.stream-missing` where a stream is to be
    /// ordered and none is named.
    pub unsafe fn read(from: *const HurrayRequest) -> Result<Self> {
        check_pointer(from, "request", 0)?;
        // SAFETY: the first two fields are there.
        let [abi_version, size] = unsafe { *from.cast::<[u32; 2]>() };
        if abi_version != ABI_VERSION {
            let found = Value::Unsigned(u64::from(abi_version));
            let expected = Expected::Exactly(u64::from(ABI_VERSION));
            return Err(refuse(Rule::ExchangeVersion, "abi_version", 0, found, expected));
        }
        if size < struct_size::<HurrayRequest>() {
            let found = Value::Unsigned(u64::from(size));
            let expected = Expected::AtLeast(u64::from(struct_size::<HurrayRequest>()));
            return Err(refuse(Rule::ExchangeStructSize, "struct_size", 4, found, expected));
        }
        // SAFETY: as large as the struct at least.
        let raw = unsafe { from.read() };
        let at = offset_of!(HurrayRequest, flags);
        if raw.flags & !(REQUEST_ALLOW_COPY | REQUEST_WRITABLE | REQUEST_MUST_COPY) != 0 {
            let found = Value::Tag(raw.flags);
            return Err(refuse(Rule::ExchangeFlags, "flags", at, found, Expected::Unsaid));
        }
        if raw.reserved != [0; 3] || raw.reserved2 != 0 {
            let at = offset_of!(HurrayRequest, reserved);
            let rule = Rule::ExchangeReserved;
            return Err(refuse(rule, "reserved", at, Value::None, Expected::Unsaid));
        }
        let request = Self { raw, stream: None };
        if request.accepts_sync(SyncMode::CONSUMER_STREAM) && raw.stream == 0 {
            let at = offset_of!(HurrayRequest, stream);
            let rule = Rule::ExchangeStreamMissing;
            return Err(refuse(rule, "stream", at, Value::None, Expected::Unsaid));
        }
        Ok(request)
    }

    /// The struct.
    pub fn as_raw(&self) -> &HurrayRequest {
        &self.raw
    }

    /// Whether it takes that sync mode.
    pub fn accepts_sync(&self, mode: SyncMode) -> bool {
        self.raw.accepted_syncs & bit(mode.tag()) != 0
    }

    /// Whether it takes events of that kind.
    pub fn accepts_event(&self, kind: EventKind) -> bool {
        self.accepts_sync(SyncMode::EVENT) && self.raw.accepted_event_kinds & bit(kind as u8) != 0
    }

    /// Whether it takes memory of that class.
    pub fn accepts_class(&self, class: MemoryClass) -> bool {
        self.raw.accepted_classes & class_bit(class) != 0
    }

    /// The stream to be ordered, where it takes that.
    pub fn stream(&self) -> Option<u64> {
        self.accepts_sync(SyncMode::CONSUMER_STREAM).then_some(self.raw.stream)
    }

    /// That stream, where it is one of ours.
    pub(super) fn held_stream(&self) -> Option<&Stream> {
        self.stream.as_ref()
    }

    /// Whether data of that device may be handed out; -1 and zeros where it is not known which.
    pub fn accepts_device(&self, tag: DeviceTag, ordinal: i64, uuid: &[u8; 16]) -> bool {
        let raw = &self.raw;
        if raw.device_tag == DEVICE_ANY {
            return true;
        }
        if raw.device_tag != tag.tag() {
            return false;
        }
        if raw.device_uuid != [0; 16] && *uuid != [0; 16] {
            return raw.device_uuid == *uuid;
        }
        raw.device_ordinal < 0 || ordinal < 0 || raw.device_ordinal == ordinal
    }

    /// What the address of each buffer must be a multiple of, in bytes; 0 where nothing was asked.
    pub fn least_alignment(&self) -> u32 {
        self.raw.min_alignment
    }

    /// Whether the data is to be written to.
    pub fn wants_writable(&self) -> bool {
        self.raw.flags & REQUEST_WRITABLE != 0
    }

    /// Whether a copy may be made.
    pub fn may_copy(&self) -> Copying {
        if self.raw.flags & REQUEST_MUST_COPY != 0 {
            Copying::Always
        } else if self.raw.flags & REQUEST_ALLOW_COPY != 0 {
            Copying::WhenNeeded
        } else {
            Copying::Never
        }
    }

    /// Refuses what does not meet it: `exchange.request-*`.
    pub(super) fn check_offer(&self, exported: &Exported) -> Result<()> {
        for (place, raw) in exported.buffers().enumerate() {
            let handle =
                BufferHandle::decode(&raw.handle, &hurray_format::Accept::every_private_tag())?;
            if let Some((rule, field)) = self.unmet(raw, handle, place) {
                return Err(refuse(rule, field, 0, Value::None, Expected::Unsaid));
            }
        }
        exported.each_member(|member| self.check_offer(member))
    }

    /// Refuses what was handed out all the same: `exchange.unrequested`.
    pub(super) fn check_answer(
        &self,
        raw: &HurrayBuffer,
        handle: BufferHandle,
        place: usize,
    ) -> Result<()> {
        match self.unmet(raw, handle, place) {
            None => Ok(()),
            Some((_, field)) => {
                let rule = Rule::ExchangeUnrequested;
                Err(refuse(rule, field, 0, Value::None, Expected::Unsaid))
            }
        }
    }

    /// What of the request a buffer does not meet, if anything, and the field that says so.
    fn unmet(
        &self,
        raw: &HurrayBuffer,
        handle: BufferHandle,
        place: usize,
    ) -> Option<(Rule, &'static str)> {
        let sync = &raw.sync;
        let is_event = handle.sync() == SyncMode::EVENT;
        let kind = self.raw.accepted_event_kinds & bit(sync.event_kind) != 0;
        let other_stream =
            handle.sync() == SyncMode::CONSUMER_STREAM && sync.stream != self.raw.stream;
        if !self.accepts_sync(handle.sync()) || (is_event && !kind) || other_stream {
            return Some((Rule::ExchangeRequestSync, "sync"));
        }
        let context = self.raw.device_context;
        let other_context =
            context != 0 && raw.device_context != 0 && raw.device_context != context;
        let other_driver = self.raw.driver != 0 && raw.driver != 0 && raw.driver != self.raw.driver;
        let device = handle.device();
        if !self.accepts_device(device, raw.device_ordinal, &raw.device_uuid)
            || other_context
            || other_driver
        {
            return Some((Rule::ExchangeRequestDevice, "device_tag"));
        }
        if !self.accepts_class(handle.class()) {
            return Some((Rule::ExchangeRequestClass, "memory_class"));
        }
        if handle.byte_size() != 0 && handle.alignment() < self.raw.min_alignment {
            return Some((Rule::ExchangeRequestAlignment, "alignment"));
        }
        // What others can still change is nobody's to write to either.
        let is_closed = raw.flags & (BUFFER_READ_ONLY | BUFFER_MAY_CHANGE) != 0;
        if place == 0 && self.wants_writable() && is_closed {
            return Some((Rule::ExchangeRequestWritable, "flags"));
        }
        let copied = raw.flags & BUFFER_COPIED != 0;
        let as_wanted = match self.may_copy() {
            Copying::Never => !copied,
            Copying::WhenNeeded => true,
            Copying::Always => copied || handle.byte_size() == 0,
        };
        (!as_wanted).then_some((Rule::ExchangeRequestCopy, "flags"))
    }
}

fn bit(value: u8) -> u32 {
    1_u32.checked_shl(u32::from(value)).unwrap_or(0)
}

/// Bits 0 to 3 are the format's classes, 48 to 62 private ones.
fn class_bit(class: MemoryClass) -> u64 {
    let place = match class.tag() {
        tag @ 0xF0..=0xFE => u32::from(tag & 0x0F).saturating_add(48),
        tag => u32::from(tag),
    };
    1_u64.checked_shl(place).unwrap_or(0)
}
