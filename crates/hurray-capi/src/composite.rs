//! Composites: a head and the tensors that make it.

use std::ffi::c_char;

use ::hurray_tensor::device::Devices;
use ::hurray_tensor::exchange::Exported;
use ::hurray_tensor::exchange::raw::HurrayTensor;
use ::hurray_tensor::{Composite, Tensor};

use crate::accept::{HurrayAccept, accept_of};
use crate::exchange::{Outlet, taken};
use crate::failure::Result;
use crate::fence::{fence, fence_or};
use crate::fields::past_the_last;
use crate::file::hurray_file;
use crate::pointer::{Place, at, free, give, items, text};
use crate::tensor::hurray_tensor;

/// A composite: a head without memory and its members, which may be heads themselves, checked to make
/// a whole. Any number of threads may use one at once.
#[allow(non_camel_case_types, reason = "an opaque type of C")]
#[derive(Debug)]
pub struct hurray_composite(Composite);

/// A composite of a head and its members in order, each nested head before its own. It holds shares of
/// its own in them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_composite_new(
    tensors: *const *const hurray_tensor,
    count: usize,
    composite: *mut *mut hurray_composite,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let tensors = unsafe { items(tensors, count, "tensors") }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(composite, "composite") }?;
        let share = |tensor: &*const hurray_tensor| -> Result<Tensor> {
            // SAFETY: the contract of the header.
            Ok(unsafe { at(*tensor, "tensors") }?.get()?.clone())
        };
        let tensors = tensors.iter().map(share).collect::<Result<Vec<_>>>()?;
        out.put(give(hurray_composite(Composite::new(tensors)?)));
        Ok(())
    })
}

/// The composite whose head has that name in a file, with all its members, as `hurray_file_tensor_load`
/// loads each; of a tensor that is no head, itself without members.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_composite_load(
    file: *const hurray_file,
    name: *const c_char,
    composite: *mut *mut hurray_composite,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let file = unsafe { at(file, "file") }?;
        // SAFETY: the contract of the header.
        let name = unsafe { text(name, "name") }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(composite, "composite") }?;
        out.put(give(hurray_composite(file.file.composite(name)?)));
        Ok(())
    })
}

/// Takes a composite out of a struct, checks all of it, and waits for it: see `hurray_tensor_import`. A
/// plain tensor is a composite without members. `accept` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_composite_import(
    from: *mut HurrayTensor,
    accept: *const HurrayAccept,
    composite: *mut *mut hurray_composite,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let foreign = unsafe { taken(from) }?;
        // SAFETY: the contract of the header.
        let accept = unsafe { accept_of(accept) }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(composite, "composite") }?;
        let offered = foreign.into_composite(&accept, &Devices::default())?;
        out.put(give(hurray_composite(offered.acquire()?)));
        Ok(())
    })
}

/// Hands shares in all of a composite to whoever takes the struct, to be read. As
/// `hurray_tensor_export` besides.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_composite_export(
    composite: *const hurray_composite,
    out: *mut HurrayTensor,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let mut out = unsafe { Outlet::new(out) }?;
        // SAFETY: the contract of the header.
        let composite = unsafe { at(composite, "composite") }?;
        out.put(Exported::composite(&composite.0)?);
        Ok(())
    })
}

/// How many tensors it has: its head, its members, and theirs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_composite_count(composite: *const hurray_composite) -> usize {
    fence_or(0, || {
        // SAFETY: the contract of the header.
        Ok(unsafe { at(composite, "composite") }?.0.tensors().len())
    })
}

/// A share in tensor `place`, from 0, in the order of `hurray_composite_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_composite_tensor(
    composite: *const hurray_composite,
    place: usize,
    tensor: *mut *mut hurray_tensor,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let composite = unsafe { at(composite, "composite") }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(tensor, "tensor") }?;
        let tensors = composite.0.tensors();
        let found = tensors.get(place).ok_or_else(|| past_the_last("place", place))?;
        out.put(give(hurray_tensor::new((*found).clone())));
        Ok(())
    })
}

/// Ends a composite; NULL is nothing. Shares that were taken out of it stay good.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_composite_free(composite: *mut hurray_composite) {
    fence_or((), || {
        // SAFETY: the contract of the header.
        unsafe { free(composite) };
        Ok(())
    });
}
