//! A descriptor against the memory that it is said to speak of.

use hurray_format::{
    BufferHandle, Contents, Descriptor, Expected, Layout, LayoutKind, MIN_ALIGNMENT, Rule, Value,
};
use smallvec::SmallVec;

use super::{Buffers, Tensor};
use crate::buffer::Buffer;
use crate::error::Result;
use crate::memory::{as_u64, refuse};

/// Checks each buffer against its handle, and cuts it to the handle's length.
pub(crate) fn pair(descriptor: &Descriptor, buffers: &mut Buffers) -> Result<()> {
    let handles = descriptor.buffers();
    if buffers.len() != handles.len() {
        let found = Value::Unsigned(as_u64(buffers.len()));
        let expected = Expected::Exactly(as_u64(handles.len()));
        return Err(refuse(Rule::MemoryCount, "buffers", found, expected));
    }
    for (place, (handle, buffer)) in handles.iter().zip(buffers.iter_mut()).enumerate() {
        check_buffer(*handle, buffer)?;
        if buffer.lead() != 0 {
            check_lead(descriptor, place, buffer)?;
        }
    }
    Ok(())
}

fn check_buffer(handle: BufferHandle, buffer: &mut Buffer) -> Result<()> {
    let size = handle.byte_size();
    if buffer.byte_size() != size {
        if buffer.byte_size() < size {
            let found = Value::Unsigned(buffer.byte_size());
            return Err(refuse(Rule::MemorySize, "byte_size", found, Expected::AtLeast(size)));
        }
        *buffer = buffer.slice(0..size)?;
    }
    if size == 0 {
        return Ok(());
    }
    if buffer.device() != handle.device() || buffer.class() != handle.class() {
        let at_fault = buffer.device() != handle.device();
        let (field, found, expected) = match at_fault {
            true => ("device_tag", buffer.device().tag(), handle.device().tag()),
            false => ("memory_class", buffer.class().tag(), handle.class().tag()),
        };
        let expected = Expected::Exactly(u64::from(expected));
        let found = Value::Tag(u64::from(found));
        return Err(refuse(Rule::MemoryDevice, field, found, expected));
    }
    let mask = u64::from(handle.alignment()).wrapping_sub(1);
    let position = buffer.region().position();
    if position & mask != 0 {
        let expected = Expected::OneOf("a multiple of the handle's alignment");
        let found = Value::Tag(position);
        return Err(refuse(Rule::MemoryAddressMisaligned, "address", found, expected));
    }
    Ok(())
}

/// Adopted memory that starts behind a multiple of 64 holds the data of a dense tensor that
/// stays behind the start too.
fn check_lead(descriptor: &Descriptor, place: usize, buffer: &Buffer) -> Result<()> {
    let lead = buffer.lead();
    let is_dense = matches!(descriptor.layout().kind(), LayoutKind::Dense);
    if !is_dense || place != 0 {
        let found = Value::Unsigned(lead);
        let expected = Expected::OneOf("memory at a multiple of 64; a copy is one");
        return Err(refuse(Rule::MemoryUnaligned, "address", found, expected));
    }
    let Some(lowest) = lowest(descriptor) else { return Ok(()) };
    if lowest < lead {
        let (found, expected) = (Value::Unsigned(lowest), Expected::AtLeast(lead));
        return Err(refuse(Rule::MemoryBeforeStart, "byte_offset", found, expected));
    }
    Ok(())
}

/// The lowest byte of buffer 0 that an element of a dense tensor touches; `None` where there is no
/// element.
fn lowest(descriptor: &Descriptor) -> Option<u64> {
    // Unresolved shapes are sized when they are resolved; their first element is known.
    match descriptor.extent() {
        Some(extent) if extent.is_empty() => None,
        Some(extent) => Some(extent.start),
        None if matches!(descriptor.layout(), Layout::Strided(_)) => Some(0),
        None => Some(descriptor.byte_offset()),
    }
}

/// How many bytes at the start of a stranger's buffer `place` are not to be looked at: a producer
/// that rounded its address down promises none of those in front of what the tensor reaches.
#[inline]
pub(crate) fn strange_lead(descriptor: &Descriptor, place: usize) -> u8 {
    if place != 0 || descriptor.byte_offset() == 0 {
        return 0;
    }
    const MOST: u64 = MIN_ALIGNMENT as u64 - 1;
    let reached = match descriptor.layout().kind() {
        LayoutKind::Dense => lowest(descriptor).unwrap_or(descriptor.byte_offset()),
        _ => 0,
    };
    u8::try_from(reached.min(MOST)).unwrap_or(0)
}

/// What the memory must hold, where each buffer starts `offset_of` its place into what it was
/// read from.
pub(crate) fn contents(tensor: &Tensor, offset_of: impl Fn(usize) -> u64) -> Result<()> {
    let descriptor = tensor.descriptor();
    if !descriptor.has_checked_contents() {
        return Ok(());
    }
    let mut contents: SmallVec<[Contents<'_>; 3]> = SmallVec::new();
    for (place, buffer) in tensor.buffers().iter().enumerate() {
        // The values themselves have no rule.
        let bytes = if place == 0 { &[] } else { buffer.host_bytes()? };
        contents.push(Contents { bytes, offset: offset_of(place) });
    }
    Ok(descriptor.check_parameters(&contents)?)
}
