//! Offers that cross into another process on the same machine.
//!
//! An event crosses where its device can export it. Where it cannot, the producer waits by
//! itself before anything is sent, and says so.

#![allow(unsafe_code, reason = "an event that was imported is adopted")]

use std::sync::Arc;

use hurray_format::{DeviceTag, Expected, Rule, Value};

use super::{Fence, Held, Offered, unknown_device};
use crate::buffer::Buffer;
use crate::device::{Device, Devices, Event, EventKind, ExportedMemory, OsHandle};
use crate::error::{Error, Result};
use crate::memory::{Alignment, refuse};

/// What was offered, as another process can take it. Dropping it releases the memory here;
/// what the handles stand for stays for as long as somebody has them.
#[derive(Debug)]
#[must_use = "what was exported is released when this is dropped"]
pub struct Exports<T: Held> {
    /// In table order, to be sent.
    pub buffers: Vec<ExportedBuffer>,
    /// What was done about waiting, buffer by buffer.
    pub crossings: Vec<Crossing>,
    /// Until the consumer has said that it is done with it.
    _held: T,
}

/// A buffer as another process can take it.
#[derive(Debug)]
pub struct ExportedBuffer {
    /// The kind of device.
    pub device: DeviceTag,
    /// The device's own number, the same in every process.
    pub uuid: [u8; 16],
    /// Its memory.
    pub memory: ExportedMemory,
    /// What the consumer must wait for; nothing where the memory is whole.
    pub event: Option<(OsHandle, EventKind)>,
}

/// What was done about waiting when a buffer was exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing {
    /// Nothing: the buffer was whole.
    Synced,
    /// The event was exported: the consumer waits.
    EventExported,
    /// The host waited here, since the device cannot export such an event.
    WaitedForEvent,
    /// The host waited here for the stream that was declared: streams do not cross.
    WaitedForStream,
}

impl<T: Held> Offered<T> {
    /// Makes it ready to be sent to another process of this machine. Nothing is copied.
    ///
    /// # Errors
    ///
    /// `sync.device-unknown` for memory or an event of none of `devices`; `device.export`
    /// where the memory cannot be exported; `device.export-unaligned` for a buffer that does not
    /// start at a multiple of 4096, as whoever writes to another process owes; a copy does;
    /// `device.failed`.
    pub fn into_exports(self, devices: &Devices) -> Result<Exports<T>> {
        let (value, mut fences) = self.into_parts();
        let mut memories = Ok(Vec::new());
        value.each_buffer(&mut |buffer| {
            if let Ok(so_far) = &mut memories {
                match export(buffer, devices) {
                    Ok(memory) => so_far.push(memory),
                    Err(error) => memories = Err(error),
                }
            }
        });
        let mut buffers: Vec<ExportedBuffer> = memories?;
        // An offer that need not be waited for may have no fences.
        fences.resize_with(buffers.len(), || Fence::Synced);
        let mut crossings = Vec::new();
        for (buffer, fence) in buffers.iter_mut().zip(&mut fences) {
            let (crossing, event) = cross(fence)?;
            crossings.push(crossing);
            buffer.event = event;
        }
        Ok(Exports { buffers, crossings, _held: value })
    }
}

fn export(buffer: &Buffer, devices: &Devices) -> Result<ExportedBuffer> {
    let region = buffer.region();
    let device = devices.find(region.device, region.ordinal, &region.uuid);
    let device = device.ok_or_else(|| unknown_device(region.device))?;
    let memory = device.export_memory(buffer)?;
    if !buffer.is_empty() && buffer.alignment() < Alignment::PAGE.bytes() {
        let found = Value::Unsigned(u64::from(buffer.alignment()));
        let expected = Expected::AtLeast(u64::from(Alignment::PAGE.bytes()));
        return Err(refuse(Rule::DeviceExportUnaligned, "alignment", found, expected));
    }
    Ok(ExportedBuffer { device: region.device, uuid: device.identity().uuid, memory, event: None })
}

fn cross(fence: &mut Fence) -> Result<(Crossing, Option<(OsHandle, EventKind)>)> {
    let exported = match fence {
        Fence::Synced => return Ok((Crossing::Synced, None)),
        Fence::Stream(_) => {
            fence.wait()?;
            return Ok((Crossing::WaitedForStream, None));
        }
        Fence::Event(event) => event.export(),
    };
    match exported {
        Ok(handle) => Ok((Crossing::EventExported, Some(handle))),
        Err(error) if is_no_export(&error) => {
            fence.wait()?;
            Ok((Crossing::WaitedForEvent, None))
        }
        Err(error) => Err(error),
    }
}

fn is_no_export(error: &Error) -> bool {
    error.rule() == Some(Rule::DeviceExport)
}

impl ExportedBuffer {
    /// Takes it in the process that it was sent to, read-only. Memory that its producer may
    /// still write to is marked as such.
    ///
    /// # Errors
    ///
    /// `sync.device-unknown` where it belongs to none of `devices`; `device.import`,
    /// `device.export`, `device.class`, `memory.size`.
    pub fn import(self, devices: &Devices) -> Result<Offered<Buffer>> {
        let device = devices.find(self.device, -1, &self.uuid);
        let device = device.ok_or_else(|| unknown_device(self.device))?;
        let event = self.event.map(|event| import_event(device, event)).transpose()?;
        let memory = device.import_memory(self.memory)?;
        Ok(match event {
            Some(event) => Offered::after(memory, event),
            None => Offered::synced(memory),
        })
    }
}

fn import_event(device: &Arc<dyn Device>, event: (OsHandle, EventKind)) -> Result<Event> {
    let (handle, kind) = event;
    let raw = device.import_event(handle, kind)?;
    // SAFETY: an event that was just imported is open, and belongs to nobody else.
    Ok(unsafe { Event::adopt(Arc::clone(device), raw) })
}
