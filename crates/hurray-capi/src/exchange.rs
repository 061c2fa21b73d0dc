//! Tensors that leave by the exchange structs, and come in by them.

use ::hurray_tensor::device::Devices;
use ::hurray_tensor::exchange::raw::HurrayTensor;
use ::hurray_tensor::exchange::{Exported, Foreign};
use ::hurray_tensor::format::Rule;
use ::hurray_tensor::{Offered, Tensor};

use std::ptr;

use crate::accept::{HurrayAccept, accept_of};
use crate::descriptor::{hurray_descriptor_ref, lend};
use crate::failure::{Failure, Result, refused};
use crate::fence::{fence, fence_or};
use crate::fields::past_the_last;
use crate::growing::emptied;
use crate::pointer::{Place, at, at_mut, free, give};
use crate::tensor::hurray_tensor;

/// A tensor of another library, checked, whose bytes may have to be waited for: what there is to wait
/// for is the sync mode of each buffer. Freeing it lets go of memory and events unused.
#[allow(non_camel_case_types, reason = "an opaque type of C")]
#[derive(Debug)]
pub struct hurray_offer {
    /// None once it was acquired or handed on.
    offered: Option<Offered<Tensor>>,
}

impl hurray_offer {
    pub(crate) fn new(offered: Offered<Tensor>) -> Self {
        Self { offered: Some(offered) }
    }

    fn get(&self) -> Result<&Offered<Tensor>> {
        self.offered.as_ref().ok_or_else(spent)
    }

    fn take(&mut self) -> Result<Offered<Tensor>> {
        self.offered.take().ok_or_else(spent)
    }
}

fn spent() -> Failure {
    refused(Rule::CapiFinished, "offer")
}

/// Hands a share in a tensor to whoever takes the struct, to be read. The tensor stays yours. Set
/// `out->struct_size` to sizeof(struct HurrayTensor) before the call; what is in `out` then is
/// released by its `release`, exactly once. What was in `out` before is written over, and is never
/// released where it was a tensor. Where the call fails, `out->release` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_tensor_export(
    tensor: *const hurray_tensor,
    out: *mut HurrayTensor,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let mut out = unsafe { Outlet::new(out) }?;
        // SAFETY: the contract of the header.
        let tensor = unsafe { at(tensor, "tensor") }?;
        out.put(Exported::share(tensor.get()?)?);
        Ok(())
    })
}

/// Hands a tensor over whole, and spends it: where no other share is in the memory, and it may be
/// written to and begins at a multiple of 64, the consumer may write. As `hurray_tensor_export`
/// besides.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_tensor_give(
    tensor: *mut hurray_tensor,
    out: *mut HurrayTensor,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let mut out = unsafe { Outlet::new(out) }?;
        // SAFETY: the contract of the header.
        let tensor = unsafe { at_mut(tensor, "tensor") }?;
        out.put(Exported::new(tensor.take()?)?);
        Ok(())
    })
}

/// Takes a tensor out of a struct and checks all of it: versions and sizes, its descriptor, each
/// handle against the descriptor's, addresses, and the sync mode of each buffer against what comes
/// with it. Then it waits, on the host, for what there is to wait for, and checks what index arrays,
/// scales and zero points say, where the CPU may look at them.
///
/// `from->release` is NULL afterwards whatever the answer: what is refused is released. Waiting for
/// events and streams takes a device of the kind: without one it is refused ("sync.device-unknown"),
/// and `hurray_offer_take` is the call to hand such a tensor on. `accept` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_tensor_import(
    from: *mut HurrayTensor,
    accept: *const HurrayAccept,
    tensor: *mut *mut hurray_tensor,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let offered = unsafe { offered(from, accept, tensor, "tensor") };
        let (mut out, offered) = offered?;
        out.put(give(hurray_tensor::new(offered.acquire()?)));
        Ok(())
    })
}

/// As `hurray_tensor_import`, without waiting. `accept` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_offer_take(
    from: *mut HurrayTensor,
    accept: *const HurrayAccept,
    offer: *mut *mut hurray_offer,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let offered = unsafe { offered(from, accept, offer, "offer") };
        let (mut out, offered) = offered?;
        out.put(give(hurray_offer::new(offered)));
        Ok(())
    })
}

/// Ends an offer; NULL is nothing. Memory and events that are still in it are let go of.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_offer_free(offer: *mut hurray_offer) {
    fence_or((), || {
        // SAFETY: the contract of the header.
        unsafe { free(offer) };
        Ok(())
    });
}

/// What is offered. Its handles say how the memory is once it has been waited for. Good until the
/// offer is spent or freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_offer_descriptor(
    offer: *const hurray_offer,
) -> *const hurray_descriptor_ref {
    fence_or(ptr::null(), || {
        // SAFETY: the contract of the header.
        Ok(lend(unsafe { at(offer, "offer") }?.get()?.descriptor()))
    })
}

/// What there is to wait for before buffer `place` may be touched: HURRAY_SYNC_*.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_offer_sync_mode(
    offer: *const hurray_offer,
    place: usize,
    mode: *mut u8,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let offer = unsafe { at(offer, "offer") }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(mode, "mode") }?;
        let offered = offer.get()?;
        if place >= offered.descriptor().buffer_count() {
            return Err(past_the_last("place", place));
        }
        out.put(offered.sync_mode(place).tag());
        Ok(())
    })
}

/// Waits on the host for all of it, and spends the offer. The events are released then; where it
/// fails, the memory too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_offer_acquire(
    offer: *mut hurray_offer,
    tensor: *mut *mut hurray_tensor,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(tensor, "tensor") }?;
        // SAFETY: the contract of the header.
        let offer = unsafe { at_mut(offer, "offer") }?;
        out.put(give(hurray_tensor::new(offer.take()?.acquire()?)));
        Ok(())
    })
}

/// Hands an offer on as it is, its events with it, and spends it. As `hurray_tensor_export` besides.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_offer_export(
    offer: *mut hurray_offer,
    out: *mut HurrayTensor,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let mut out = unsafe { Outlet::new(out) }?;
        // SAFETY: the contract of the header.
        let offer = unsafe { at_mut(offer, "offer") }?;
        out.put(Exported::offer(offer.take()?)?);
        Ok(())
    })
}

/// Takes a tensor over and checks it, and finds the place for the answer. What was taken is released
/// where the rest fails.
///
/// # Safety
///
/// The contract of the header.
unsafe fn offered<T>(
    from: *mut HurrayTensor,
    accept: *const HurrayAccept,
    place: *mut *mut T,
    name: &'static str,
) -> Result<(Place<*mut T>, Offered<Tensor>)> {
    // SAFETY: passed on to the caller.
    let foreign = unsafe { taken(from) }?;
    // SAFETY: passed on to the caller.
    let accept = unsafe { accept_of(accept) }?;
    // SAFETY: passed on to the caller.
    let out = unsafe { Place::new(place, name) }?;
    Ok((out, foreign.into_offered(&accept, &Devices::default())?))
}

/// # Safety
///
/// The contract of the header: the struct is null, or keeps the rules of `hurray_abi.h`.
pub(crate) unsafe fn taken(from: *mut HurrayTensor) -> Result<Foreign> {
    if from.is_null() {
        return Err(refused(Rule::CapiNull, "from"));
    }
    // SAFETY: passed on to the caller.
    Ok(unsafe { Foreign::take(from) }?)
}

/// A struct of the caller's that a tensor leaves by. It is empty until then.
pub(crate) struct Outlet(Place<HurrayTensor>);

impl Outlet {
    /// # Safety
    ///
    /// The contract of the header: the struct is null, or as long as it says.
    pub(crate) unsafe fn new(out: *mut HurrayTensor) -> Result<Self> {
        // SAFETY: passed on to the caller.
        Ok(Self(unsafe { emptied(out, "out") }?))
    }

    pub(crate) fn put(&mut self, exported: Exported) {
        self.0.put(exported.into_raw());
    }
}
