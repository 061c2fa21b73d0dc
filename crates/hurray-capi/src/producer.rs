//! Producers: a tensor that is handed out as often as asked, in the way that is asked for.

use std::ffi::{CString, c_char};
use std::ptr;

use ::hurray_tensor::device::Devices;
use ::hurray_tensor::exchange::raw::{HurrayProducer, HurrayRequest};
use ::hurray_tensor::exchange::{ExportedProducer, ForeignProducer, Request};
use ::hurray_tensor::format::Rule;

use crate::accept::{HurrayAccept, accept_of};
use crate::descriptor::hurray_descriptor;
use crate::exchange::hurray_offer;
use crate::failure::{Result, c_string, refused};
use crate::fence::{fence, fence_or};
use crate::growing::emptied;
use crate::pointer::{Place, at_mut, free, give};
use crate::tensor::hurray_tensor;

/// A producer of another library, used by one thread at a time. What it handed out stays good when it
/// is freed.
#[allow(non_camel_case_types, reason = "an opaque type of C")]
#[derive(Debug)]
pub struct hurray_producer {
    producer: ForeignProducer,
    /// What it said last.
    said: Option<CString>,
}

/// Makes a producer that hands out shares in a tensor, to be read; and copies in host memory where a
/// request asks for one, or allows one and wants to write. The tensor stays yours. Set
/// `out->struct_size` to sizeof(struct HurrayProducer) before the call; where it fails,
/// `out->release` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_tensor_producer(
    tensor: *const hurray_tensor,
    out: *mut HurrayProducer,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let mut out = unsafe { emptied(out, "out") }?;
        // SAFETY: the contract of the header.
        let tensor = unsafe { crate::pointer::at(tensor, "tensor") }?;
        out.put(ExportedProducer::new(tensor.get()?.clone()).into_raw());
        Ok(())
    })
}

/// Takes a producer out of a struct. `from->release` is NULL afterwards whatever the answer: what is
/// refused is released.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_producer_take(
    from: *mut HurrayProducer,
    producer: *mut *mut hurray_producer,
) -> i32 {
    fence(|| {
        if from.is_null() {
            return Err(refused(Rule::CapiNull, "from"));
        }
        // SAFETY: the contract of the header.
        let taken = unsafe { ForeignProducer::take(from) }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(producer, "producer") }?;
        out.put(give(hurray_producer { producer: taken, said: None }));
        Ok(())
    })
}

/// Ends a producer; NULL is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_producer_free(producer: *mut hurray_producer) {
    fence_or((), || {
        // SAFETY: the contract of the header.
        unsafe { free(producer) };
        Ok(())
    });
}

/// What it will hand out, as far as it says that before: devices, classes and sync modes may come out
/// otherwise. Refused ("capi.absent") where it says nothing. `accept` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_producer_describe(
    producer: *mut hurray_producer,
    accept: *const HurrayAccept,
    descriptor: *mut *mut hurray_descriptor,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let producer = unsafe { at_mut(producer, "producer") }?;
        // SAFETY: the contract of the header.
        let accept = unsafe { accept_of(accept) }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(descriptor, "descriptor") }?;
        let described = producer.heard(|producer| producer.describe(&accept))?;
        let described = described.ok_or_else(|| refused(Rule::CapiAbsent, "describe"))?;
        out.put(give(hurray_descriptor(described)));
        Ok(())
    })
}

/// Asks for the tensor, checks all of it, also that it is as asked, and takes it over. `request` may be
/// NULL: data that is ready, on any device, without a copy. `accept` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_producer_ask(
    producer: *mut hurray_producer,
    request: *const HurrayRequest,
    accept: *const HurrayAccept,
    offer: *mut *mut hurray_offer,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let producer = unsafe { at_mut(producer, "producer") }?;
        let request = match request.is_null() {
            true => Request::any(),
            // SAFETY: the contract of the header.
            false => unsafe { Request::read(request) }?,
        };
        // SAFETY: the contract of the header.
        let accept = unsafe { accept_of(accept) }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(offer, "offer") }?;
        let devices = Devices::default();
        let ask = |producer: &mut ForeignProducer| producer.produce(&request, &accept, &devices);
        out.put(give(hurray_offer::new(producer.heard(ask)?)));
        Ok(())
    })
}

/// What the producer said its last call failed at, in its own words; NULL where it said nothing. Good
/// until the producer is next used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_producer_last_error(
    producer: *const hurray_producer,
) -> *const c_char {
    fence_or(ptr::null(), || {
        // SAFETY: the contract of the header.
        let producer = unsafe { crate::pointer::at(producer, "producer") }?;
        Ok(producer.said.as_ref().map_or(ptr::null(), |said| said.as_ptr()))
    })
}

impl hurray_producer {
    /// Asks it something, and keeps what it says where that fails.
    fn heard<T>(
        &mut self,
        ask: impl FnOnce(&mut ForeignProducer) -> ::hurray_tensor::Result<T>,
    ) -> Result<T> {
        self.said = None;
        let answer = ask(&mut self.producer);
        if answer.is_err() {
            self.said = self.producer.last_error().map(c_string);
        }
        Ok(answer?)
    }
}
