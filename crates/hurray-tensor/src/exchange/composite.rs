//! Composites of others: a head with its members, perhaps heads themselves.

#![allow(unsafe_code, reason = "the members of structs of others are moved out here")]

use std::collections::HashSet;
use std::mem::offset_of;

use hurray_format::{Accept, DeviceTag, Expected, Layout, Limits, Rule, Value};

use super::foreign::{Foreign, check_pointer};
use super::import::{buffer_structs, decode, event_shared, named_twice};
use super::raw::{HurrayBuffer, HurrayTensor};
use super::refuse;
use super::request::Request;
use crate::device::{Devices, EventKind};
use crate::error::Result;
use crate::memory::as_u64;
use crate::offered::{Fence, Offered};
use crate::tensor::{Composite, Tensor};

impl Foreign {
    /// Checks all of it, and takes it over as a composite; a plain tensor is one without members.
    /// Each member is moved out and holds its own memory.
    ///
    /// # Errors
    ///
    /// As [`into_offered`](Self::into_offered), also across members; `exchange.member-count`; the
    /// rules of `composite.*`, of which `composite.too-deep` and `composite.too-many-members` come before
    /// members are looked at.
    pub fn into_composite(self, accept: &Accept, devices: &Devices) -> Result<Offered<Composite>> {
        self.open_composite(accept, devices, None)
    }

    pub(super) fn open_composite(
        self,
        accept: &Accept,
        devices: &Devices,
        request: Option<&Request>,
    ) -> Result<Offered<Composite>> {
        let mut found = Found::default();
        walk(self, &Walk { accept, devices, request }, 1, &mut found)?;
        let composite = Composite::with_limits(found.tensors, &accept.limits)?;
        Ok(Offered::new(composite, found.fences)?.of_stranger())
    }
}

/// The tensors of a composite, each head before its members, and a fence for each buffer.
#[derive(Default)]
struct Found {
    tensors: Vec<Tensor>,
    fences: Vec<Fence>,
    /// The structs of their buffers. Whoever releases one tensor must not release another's.
    buffers: HashSet<*mut HurrayBuffer>,
    /// The events that allow one wait, each of which is one buffer's.
    waited_once: HashSet<(DeviceTag, u64)>,
}

impl Found {
    fn add(&mut self, offered: Offered<Tensor>) -> Result<()> {
        let (tensor, mut fences) = offered.into_parts();
        for fence in &fences {
            if let Fence::Event(event) = fence
                && event.kind() == EventKind::Binary
                && !self.waited_once.insert((event.device_tag(), event.raw().handle))
            {
                return Err(event_shared(event.raw().handle));
            }
        }
        // What need not be waited for may have no fences.
        fences.resize_with(tensor.buffers().len(), || Fence::Synced);
        self.tensors.push(tensor);
        self.fences.append(&mut fences);
        Ok(())
    }
}

struct Walk<'a> {
    accept: &'a Accept,
    devices: &'a Devices,
    request: Option<&'a Request>,
}

/// Adds a tensor and what is in it.
fn walk(foreign: Foreign, with: &Walk<'_>, depth: usize, found: &mut Found) -> Result<()> {
    let descriptor = decode(foreign.raw(), with.accept)?;
    let announced = match descriptor.layout() {
        Layout::Composite(head) => Some(head.member_count),
        _ => None,
    };
    check_counts(foreign.raw(), announced, depth, &with.accept.limits)?;
    let raw = *foreign.raw();
    let Some(count) = announced else {
        for buffer in buffer_structs(foreign.raw(), descriptor.buffer_count())? {
            // A null pointer has a rule of its own.
            if !found.buffers.insert(*buffer) && !buffer.is_null() {
                return Err(named_twice());
            }
        }
        return found.add(foreign.open(with.accept, with.devices, with.request)?);
    };
    if count != 0 {
        check_pointer(raw.members, "members", offset_of!(HurrayTensor, members))?;
    }
    // Held until its members are moved out.
    let owner = foreign.into_owner();
    found.tensors.push(Tensor::new(descriptor, [])?);
    for place in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: whoever took the head promised that there are as many pointers.
        let member = unsafe { *raw.members.wrapping_add(place) };
        // SAFETY: as above, each null or a struct. One that is reached twice is found released.
        let member = unsafe { Foreign::take(member) }?;
        walk(member, with, depth.saturating_add(1), found)?;
    }
    drop(owner);
    Ok(())
}

/// Holds the numbers of a struct against the members that its descriptor announces, if it is a
/// head's.
fn check_counts(
    raw: &HurrayTensor,
    announced: Option<u32>,
    depth: usize,
    limits: &Limits,
) -> Result<()> {
    let count = announced.unwrap_or(0);
    let at = offset_of!(HurrayTensor, member_count);
    if raw.member_count != u64::from(count) {
        let found = Value::Unsigned(raw.member_count);
        let expected = Expected::Exactly(u64::from(count));
        return Err(refuse(Rule::ExchangeMemberCount, "member_count", at, found, expected));
    }
    if announced.is_some() && raw.buffer_count != 0 {
        let at = offset_of!(HurrayTensor, buffer_count);
        let found = Value::Unsigned(raw.buffer_count);
        let rule = Rule::ExchangeBufferCount;
        return Err(refuse(rule, "buffer_count", at, found, Expected::Exactly(0)));
    }
    if count != 0 && depth > Limits::COMPOSITE_DEPTH {
        let found = Value::Unsigned(as_u64(depth));
        let expected = Expected::AtMost(as_u64(Limits::COMPOSITE_DEPTH));
        return Err(refuse(Rule::CompositeTooDeep, "depth", at, found, expected));
    }
    if count > limits.composite_members {
        let found = Value::Unsigned(u64::from(count));
        let expected = Expected::AtMost(u64::from(limits.composite_members));
        return Err(refuse(Rule::CompositeTooManyMembers, "member_count", at, found, expected));
    }
    Ok(())
}
