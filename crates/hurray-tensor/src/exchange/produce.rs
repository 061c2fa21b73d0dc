//! Producers of ours: whatever can make tensors for a request, behind callbacks of C.

#![allow(unsafe_code, reason = "callbacks of C are answered here")]

use std::any::Any;
use std::ffi::{CString, c_char};
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use hurray_format::{Descriptor, Expected, Rule, Value};

use super::export::Exported;
use super::foreign::check_pointer;
use super::raw::{ABI_VERSION, Head, HurrayProducer, HurrayRequest, HurrayTensor, struct_size};
use super::request::Request;
use super::{Status, refuse};
use crate::error::{Error, Result};
use crate::memory::quietly;

/// Hands out one tensor, as often as asked, in ways that requests choose.
///
/// A closure from a [`Request`] to an [`Exported`] is one. What it hands out is checked against
/// the request, and refused in its stead where it does not meet it.
pub trait Produce: Send + 'static {
    /// What will be handed out, as far as that is known before.
    fn describe(&self) -> Option<Descriptor> {
        None
    }

    /// The tensor, in a way that meets the request.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from that; `exchange.request-*` are the rules for it.
    fn produce(&mut self, request: &Request) -> Result<Exported>;
}

impl<F> Produce for F
where
    F: FnMut(&Request) -> Result<Exported> + Send + 'static,
{
    fn produce(&mut self, request: &Request) -> Result<Exported> {
        self(request)
    }
}

/// A producer of ours on its way to another library. Dropping it releases it.
#[must_use = "what is not handed over is released"]
pub struct ExportedProducer(HurrayProducer);

// SAFETY: what is behind it is `Send`, and only reached by this value.
unsafe impl Send for ExportedProducer {}

struct Making {
    produce: Box<dyn Produce>,
    /// The bytes that the last `describe` showed.
    descriptor: Vec<u8>,
    /// What the last call failed at.
    error: Option<CString>,
}

impl ExportedProducer {
    /// Puts a producer behind callbacks. A panic in it is caught and answered with a status.
    pub fn new(produce: impl Produce) -> Self {
        let making = Making { produce: Box::new(produce), descriptor: Vec::new(), error: None };
        Self(HurrayProducer {
            abi_version: ABI_VERSION,
            struct_size: struct_size::<HurrayProducer>(),
            release: Some(release_producer),
            private_data: Box::into_raw(Box::new(making)).cast(),
            describe: Some(describe_tensor),
            produce: Some(produce_tensor),
            last_error: Some(last_error),
        })
    }

    /// The struct, for a consumer that moves it out by itself.
    pub fn as_mut_ptr(&mut self) -> *mut HurrayProducer {
        &raw mut self.0
    }

    /// The struct, whose `release` the caller now answers for.
    pub fn into_raw(self) -> HurrayProducer {
        ManuallyDrop::new(self).0
    }
}

impl Drop for ExportedProducer {
    fn drop(&mut self) {
        if let Some(release) = self.0.release {
            // SAFETY: neither released nor moved out until now.
            unsafe { release(&raw mut self.0) }
        }
    }
}

unsafe extern "C" fn release_producer(producer: *mut HurrayProducer) {
    // SAFETY: whoever releases gives a struct of its own with the first four fields, or null,
    // which is let pass.
    let Some(head) = (unsafe { producer.cast::<Head<HurrayProducer>>().as_mut() }) else { return };
    if head.release.take().is_some() {
        // SAFETY: made by `into_raw` in `new`, and not released until now.
        let making = unsafe { Box::from_raw(head.private_data.cast::<Making>()) };
        quietly(move || drop(making));
    }
}

/// What is behind a producer that is not released.
///
/// # Safety
///
/// `producer` must be null or a producer made here, used by one thread.
unsafe fn making<'a>(producer: *mut HurrayProducer) -> Result<&'a mut Making> {
    check_pointer(producer, "self", 0)?;
    // SAFETY: a producer made here.
    let head = unsafe { &*producer.cast::<Head<HurrayProducer>>() };
    if head.release.is_none() {
        let rule = Rule::ExchangeReleased;
        return Err(refuse(rule, "release", 8, Value::None, Expected::Unsaid));
    }
    // SAFETY: not released, and used by one thread.
    Ok(unsafe { &mut *head.private_data.cast::<Making>() })
}

unsafe extern "C" fn describe_tensor(
    producer: *mut HurrayProducer,
    descriptor: *mut *const u8,
    length: *mut u64,
) -> i32 {
    // SAFETY: the caller's promise by the header.
    let making = match unsafe { making(producer) } {
        Ok(making) => making,
        Err(error) => return Status::from(&error).code(),
    };
    making.answer(|making| {
        check_pointer(descriptor, "descriptor", 0)?;
        check_pointer(length, "length", 0)?;
        let Some(described) = making.produce.describe() else {
            let rule = Rule::ExchangeUndescribed;
            return Err(refuse(rule, "describe", 24, Value::None, Expected::Unsaid));
        };
        making.descriptor = described.encode();
        // SAFETY: not null, and room for a pointer by the caller's promise.
        unsafe { descriptor.write(making.descriptor.as_ptr()) };
        // SAFETY: not null, and room for a number by the caller's promise.
        unsafe { length.write(crate::memory::as_u64(making.descriptor.len())) };
        Ok(())
    })
}

unsafe extern "C" fn produce_tensor(
    producer: *mut HurrayProducer,
    request: *const HurrayRequest,
    out: *mut HurrayTensor,
) -> i32 {
    // SAFETY: the caller's promise by the header. Whatever else is wrong, nothing is there then.
    let room = unsafe { emptied(out) };
    // SAFETY: the caller's promise by the header.
    let making = match unsafe { making(producer) } {
        Ok(making) => making,
        Err(error) => return Status::from(&error).code(),
    };
    making.answer(|making| {
        let room = room?;
        if room < struct_size::<HurrayTensor>() {
            let found = Value::Unsigned(u64::from(room));
            let expected = Expected::AtLeast(u64::from(struct_size::<HurrayTensor>()));
            return Err(refuse(Rule::ExchangeStructSize, "struct_size", 4, found, expected));
        }
        // SAFETY: the caller's promise by the header.
        let request = unsafe { Request::read(request) }?;
        let made = making.produce.produce(&request)?;
        request.check_offer(&made)?;
        // SAFETY: there is room for all of the struct.
        unsafe { out.write(made.into_raw()) };
        Ok(())
    })
}

/// Says that there is no tensor in `out`, and how much room it is. Of all its fields the caller
/// need have set the size alone, so that there is no reference to it.
///
/// # Safety
///
/// `out` must be null, or as long as its `struct_size` says and the first four fields at least, and
/// the caller's to write.
unsafe fn emptied(out: *mut HurrayTensor) -> Result<u32> {
    check_pointer(out, "out", 0)?;
    let head = out.cast::<Head<HurrayTensor>>();
    // SAFETY: the first four fields are there.
    let release = unsafe { &raw mut (*head).release };
    // SAFETY: a field of the caller's, which is aligned.
    unsafe { release.write(None) };
    // SAFETY: the first four fields are there.
    let size = unsafe { &raw const (*head).struct_size };
    // SAFETY: the caller has set it.
    Ok(unsafe { size.read() })
}

unsafe extern "C" fn last_error(producer: *mut HurrayProducer) -> *const c_char {
    // SAFETY: the caller's promise by the header.
    match unsafe { making(producer) } {
        Ok(Making { error: Some(error), .. }) => error.as_ptr(),
        _ => ptr::null(),
    }
}

impl Making {
    /// Runs what may fail or panic, keeps what it failed at, and answers the status.
    fn answer(&mut self, work: impl FnOnce(&mut Self) -> Result<()>) -> i32 {
        self.error = None;
        match catch_unwind(AssertUnwindSafe(|| work(self))) {
            Ok(Ok(())) => Status::Ok.code(),
            Ok(Err(error)) => {
                self.error = as_text(&error);
                Status::from(&error).code()
            }
            Err(panic) => {
                self.error = said(&panic).and_then(as_c);
                quietly(move || drop(panic));
                Status::Panic.code()
            }
        }
    }
}

fn as_text(error: &Error) -> Option<CString> {
    as_c(error.to_string())
}

/// As text of C's, which ends at the first zero: one inside is left out.
fn as_c(text: String) -> Option<CString> {
    CString::new(text.replace('\0', "")).ok()
}

fn said(panic: &Box<dyn Any + Send>) -> Option<String> {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
}
