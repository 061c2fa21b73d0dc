//! Producers of others, asked safely.

#![allow(unsafe_code, reason = "callbacks of others are called here")]

use std::ffi::CStr;
use std::fmt;
use std::mem::offset_of;
use std::ptr;
use std::slice;

use hurray_format::{Accept, Descriptor, Expected, Rule, Silent, Value};

use super::foreign::{Foreign, check_pointer, take};
use super::raw::{ABI_VERSION, HurrayProducer, HurrayTensor, struct_size};
use super::request::Request;
use super::{Status, refuse};
use crate::device::Devices;
use crate::error::{Error, Result};
use crate::offered::Offered;
use crate::tensor::{Composite, Tensor};

/// A producer of another library. Dropping it releases it; what it handed out stays good.
pub struct ForeignProducer {
    /// Not released until it is dropped.
    raw: HurrayProducer,
}

// SAFETY: a producer is used by one thread at a time, whichever that is.
unsafe impl Send for ForeignProducer {}

impl ForeignProducer {
    /// Moves a producer out of `from`, whose `release` is NULL afterwards: also where it is
    /// refused, and released by that.
    ///
    /// # Safety
    ///
    /// `from` must be null, or point to memory of the first four fields at least and of as much
    /// of the struct as its `struct_size` says. Unless its `release` is NULL, its callbacks must
    /// keep the rules of `hurray_abi.h`, and so must the tensors that it hands out: see
    /// [`Foreign::take`].
    ///
    /// # Errors
    ///
    /// `exchange.null`, also for one without `produce`; `exchange.misaligned`,
    /// `exchange.released`, `exchange.version`, `exchange.struct-size`.
    pub unsafe fn take(from: *mut HurrayProducer) -> Result<Self> {
        // SAFETY: passed on to the caller.
        let taken = Self { raw: unsafe { take(from) }? };
        if taken.raw.produce.is_none() {
            let at = offset_of!(HurrayProducer, produce);
            let rule = Rule::ExchangeNull;
            return Err(refuse(rule, "produce", at, Value::None, Expected::Unsaid));
        }
        Ok(taken)
    }

    /// What it will hand out, where it says that before. Devices, classes and sync modes may come
    /// out otherwise.
    ///
    /// # Errors
    ///
    /// `exchange.produce-failed`, `exchange.produce-refused`; the rules of the descriptor.
    pub fn describe(&mut self, accept: &Accept) -> Result<Option<Descriptor>> {
        let Some(describe) = self.raw.describe else {
            return Ok(None);
        };
        let (mut descriptor, mut length) = (ptr::null(), 0);
        // SAFETY: its own struct, not released, by one thread; and two places of ours.
        let status = unsafe { describe(&raw mut self.raw, &raw mut descriptor, &raw mut length) };
        failed(status, "describe", offset_of!(HurrayProducer, describe))?;
        check_pointer(descriptor, "descriptor", 0)?;
        let most = u64::from(accept.limits.descriptor_bytes);
        let length = usize::try_from(length).ok().filter(|_| length <= most).ok_or_else(|| {
            let rule = Rule::DescriptorLengthAboveLimit;
            let found = Value::Unsigned(length);
            refuse(rule, "length", 0, found, Expected::AtMost(most))
        })?;
        // SAFETY: the producer says that as many bytes are there until its next call.
        let bytes = unsafe { slice::from_raw_parts(descriptor, length) };
        Ok(Some(Descriptor::decode_with(bytes, accept, &mut Silent)?))
    }

    /// Asks for the tensor, checks all of it, also that it is as asked, and takes it over.
    ///
    /// # Errors
    ///
    /// `exchange.produce-refused` and `exchange.produce-failed`, where
    /// [`last_error`](Self::last_error) may say more; `exchange.unrequested`; those of
    /// [`Foreign::into_offered`].
    pub fn produce(
        &mut self,
        request: &Request,
        accept: &Accept,
        devices: &Devices,
    ) -> Result<Offered<Tensor>> {
        self.ask(request)?.open(accept, devices, Some(request))
    }

    /// Asks for a composite, in the same way.
    ///
    /// # Errors
    ///
    /// As [`produce`](Self::produce); those of [`Foreign::into_composite`].
    pub fn produce_composite(
        &mut self,
        request: &Request,
        accept: &Accept,
        devices: &Devices,
    ) -> Result<Offered<Composite>> {
        self.ask(request)?.open_composite(accept, devices, Some(request))
    }

    /// What the last call failed at, in the producer's own words.
    pub fn last_error(&mut self) -> Option<String> {
        let last_error = self.raw.last_error?;
        // SAFETY: its own struct, not released, by one thread.
        let text = unsafe { last_error(&raw mut self.raw) };
        if text.is_null() {
            return None;
        }
        // SAFETY: the producer says that it ends with a NUL, and stays until its next call.
        let text = unsafe { CStr::from_ptr(text) };
        Some(text.to_string_lossy().into_owned())
    }

    fn ask(&mut self, request: &Request) -> Result<Foreign> {
        let mut out = HurrayTensor {
            abi_version: ABI_VERSION,
            struct_size: struct_size::<HurrayTensor>(),
            release: None,
            private_data: ptr::null_mut(),
            descriptor: ptr::null(),
            descriptor_length: 0,
            buffer_count: 0,
            buffers: ptr::null_mut(),
            member_count: 0,
            members: ptr::null_mut(),
            flags: 0,
        };
        let at = offset_of!(HurrayProducer, produce);
        let Some(produce) = self.raw.produce else {
            let rule = Rule::ExchangeNull;
            return Err(refuse(rule, "produce", at, Value::None, Expected::Unsaid));
        };
        // SAFETY: its own struct, not released, by one thread; a request and room of ours.
        let status = unsafe { produce(&raw mut self.raw, request.as_raw(), &raw mut out) };
        // SAFETY: what the producer filled keeps the header's rules, by the promise of whoever
        // took it.
        let filled = unsafe { Foreign::take(&raw mut out) };
        // Where it failed nothing should be there. What is there all the same is released.
        failed(status, "produce", at)?;
        filled
    }
}

/// What a status other than OK becomes.
fn failed(status: i32, field: &'static str, at: usize) -> Result<(), Error> {
    let rule = match Status::from_code(status) {
        Some(Status::Ok) => return Ok(()),
        Some(Status::Refused | Status::Unsupported) => Rule::ExchangeProduceRefused,
        _ => Rule::ExchangeProduceFailed,
    };
    Err(refuse(rule, field, at, Value::Signed(i64::from(status)), Expected::Exactly(0)))
}

impl Drop for ForeignProducer {
    fn drop(&mut self) {
        if let Some(release) = self.raw.release {
            // SAFETY: taken when it was not released, and released here alone.
            unsafe { release(&raw mut self.raw) }
        }
    }
}

impl fmt::Debug for ForeignProducer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ForeignProducer")
    }
}
