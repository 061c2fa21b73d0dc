//! Composites of others: a head with its members, perhaps heads themselves.

#![allow(unsafe_code, reason = "the members of structs of others are moved out here")]

use std::collections::HashSet;
use std::mem::offset_of;

use hurray_format::{
    self as format, Accept, Descriptor, Expected, Layout, Limits, Rule, Value, bind,
};

use super::foreign::{Foreign, check_pointer};
use super::import::{buffer_structs, decode, named_twice};
use super::raw::{HurrayBuffer, HurrayTensor};
use super::refuse;
use super::request::Request;
use crate::device::Devices;
use crate::error::{Error, Result};
use crate::memory::as_u64;
use crate::offered::Offered;
use crate::tensor::{Composite, Tensor};

/// A composite whose tensors must be waited for. Dropping it releases all of them.
#[derive(Debug)]
#[must_use = "an offer that is dropped is released unused"]
pub struct OfferedComposite {
    bound: format::Composite<Offered<Tensor>>,
    limits: Limits,
}

impl OfferedComposite {
    /// Waits on the host for all of it, wherever it is.
    ///
    /// # Errors
    ///
    /// As [`Offered::acquire`].
    pub fn acquire(self) -> Result<Composite> {
        self.each(Offered::acquire)
    }

    /// Waits on the host for all of it, which the host may then look at.
    ///
    /// # Errors
    ///
    /// As [`Offered::acquire_host`].
    pub fn acquire_host(self) -> Result<Composite> {
        self.each(Offered::acquire_host)
    }

    /// Head and members apart, each to be waited for by itself.
    pub fn into_bound(self) -> format::Composite<Offered<Tensor>> {
        self.bound
    }

    fn each(self, acquire: fn(Offered<Tensor>) -> Result<Tensor>) -> Result<Composite> {
        let mut tensors = Vec::new();
        in_order(self.bound, acquire, &mut tensors)?;
        Composite::with_limits(tensors, &self.limits)
    }
}

fn in_order(
    bound: format::Composite<Offered<Tensor>>,
    acquire: fn(Offered<Tensor>) -> Result<Tensor>,
    tensors: &mut Vec<Tensor>,
) -> Result<()> {
    tensors.push(acquire(bound.item)?);
    bound.members.into_iter().try_for_each(|member| in_order(member, acquire, tensors))
}

impl Foreign {
    /// Checks all of it, and takes it over as a composite; a plain tensor is one without members.
    /// Each member is moved out and holds its own memory.
    ///
    /// # Errors
    ///
    /// As [`into_offered`](Self::into_offered); `exchange.member-count`; the rules of
    /// `composite.*`, of which `composite.too-deep` and `composite.too-many-members` come before
    /// members are looked at.
    pub fn into_composite(self, accept: &Accept, devices: &Devices) -> Result<OfferedComposite> {
        self.open_composite(accept, devices, None)
    }

    pub(super) fn open_composite(
        self,
        accept: &Accept,
        devices: &Devices,
        request: Option<&Request>,
    ) -> Result<OfferedComposite> {
        let limits = accept.limits;
        let mut found = Found::default();
        walk(self, &Walk { accept, devices, request }, 1, &mut found)?;
        let mut rest = found.tensors.into_iter().map(Ok::<_, Error>);
        let Some(head) = rest.next() else {
            let expected = Expected::AtLeast(1);
            return Err(refuse(Rule::CompositeTorn, "members", 0, Value::None, expected));
        };
        let (descriptor, head) = head?;
        let bound = bind(descriptor, head, &mut rest, |_| 0, &limits)?;
        Ok(OfferedComposite { bound, limits })
    }
}

struct Walk<'a> {
    accept: &'a Accept,
    devices: &'a Devices,
    request: Option<&'a Request>,
}

#[derive(Default)]
struct Found {
    tensors: Vec<(Descriptor, Offered<Tensor>)>,
    /// The structs of their buffers. Whoever releases one tensor must not release another's.
    buffers: HashSet<*mut HurrayBuffer>,
}

/// Lists a tensor and what is in it, each head before its members.
fn walk(foreign: Foreign, with: &Walk<'_>, depth: usize, found: &mut Found) -> Result<()> {
    let descriptor = decode(foreign.raw(), with.accept)?;
    let count = match descriptor.layout() {
        Layout::Composite(head) => head.member_count,
        _ => 0,
    };
    check_counts(foreign.raw(), count, depth, &with.accept.limits)?;
    let raw = *foreign.raw();
    if count == 0 {
        for buffer in buffer_structs(foreign.raw(), descriptor.buffer_count())? {
            // A null pointer has a rule of its own.
            if !found.buffers.insert(*buffer) && !buffer.is_null() {
                return Err(named_twice());
            }
        }
        let offered = foreign.open(with.accept, with.devices, with.request)?;
        found.tensors.push((descriptor, offered));
        return Ok(());
    }
    check_pointer(raw.members, "members", offset_of!(HurrayTensor, members))?;
    // Held until its members are moved out.
    let owner = foreign.into_owner();
    found.tensors.push((descriptor.clone(), Offered::synced(Tensor::new(descriptor, [])?)));
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

fn check_counts(raw: &HurrayTensor, count: u32, depth: usize, limits: &Limits) -> Result<()> {
    let at = offset_of!(HurrayTensor, member_count);
    if raw.member_count != u64::from(count) {
        let found = Value::Unsigned(raw.member_count);
        let expected = Expected::Exactly(u64::from(count));
        return Err(refuse(Rule::ExchangeMemberCount, "member_count", at, found, expected));
    }
    if count != 0 && raw.buffer_count != 0 {
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
