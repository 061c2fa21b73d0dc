//! Descriptors: decoded, encoded, owned and borrowed.

use std::ffi::c_void;
use std::ptr;

use hurray_tensor::format::{Descriptor, Silent};

use crate::accept::{HurrayAccept, accept_of};
use crate::failure::Result;
use crate::fence::{fence, fence_or};
use crate::pointer::{Place, Room, at, free, give, items, zeroed};

/// A descriptor that is yours: end it with `hurray_descriptor_free`. Calls that look at one take a
/// `hurray_descriptor_ref`, which `hurray_descriptor_borrow` gives.
#[allow(non_camel_case_types, reason = "an opaque type of C")]
#[derive(Debug)]
pub struct hurray_descriptor(pub(crate) Descriptor);

/// A descriptor that is somebody else's, to be looked at: a `hurray_descriptor`'s, a tensor's. It
/// is good for as long as its owner is, and never freed.
#[allow(non_camel_case_types, reason = "an opaque type of C")]
#[derive(Debug)]
pub struct hurray_descriptor_ref(());

/// A descriptor as others may look at it.
pub(crate) fn lend(descriptor: &Descriptor) -> *const hurray_descriptor_ref {
    ptr::from_ref(descriptor).cast()
}

/// The descriptor that was lent.
///
/// # Safety
///
/// The pointer is null, or came from [`lend`] and its owner lives for as long as the reference
/// is used.
pub(crate) unsafe fn lent<'a>(descriptor: *const hurray_descriptor_ref) -> Result<&'a Descriptor> {
    // SAFETY: `lend` made it from a reference to a descriptor, whose owner lives.
    unsafe { at(descriptor.cast::<Descriptor>(), "descriptor") }
}

/// How long the descriptor is that begins with these bytes, of which there are 10 at least.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_length(
    prefix: *const c_void,
    length: usize,
    descriptor_length: *mut u32,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let prefix: &[u8] = unsafe { items(prefix.cast(), length, "prefix") }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(descriptor_length, "descriptor_length") }?;
        out.put(Descriptor::length_of(prefix)?);
        Ok(())
    })
}

/// Reads a descriptor, which is all of `bytes`, and checks every rule that the format has for it.
/// Nothing of `bytes` is needed afterwards. `accept` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_decode(
    bytes: *const c_void,
    length: usize,
    accept: *const HurrayAccept,
    descriptor: *mut *mut hurray_descriptor,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let bytes: &[u8] = unsafe { items(bytes.cast(), length, "bytes") }?;
        // SAFETY: the contract of the header.
        let accept = unsafe { accept_of(accept) }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(descriptor, "descriptor") }?;
        let decoded = Descriptor::decode_with(bytes, &accept, &mut Silent)?;
        out.put(give(hurray_descriptor(decoded)));
        Ok(())
    })
}

/// Ends a descriptor; NULL is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_free(descriptor: *mut hurray_descriptor) {
    fence_or((), || {
        // SAFETY: the contract of the header.
        unsafe { free(descriptor) };
        Ok(())
    });
}

/// The same descriptor, to be looked at.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_borrow(
    descriptor: *const hurray_descriptor,
) -> *const hurray_descriptor_ref {
    fence_or(ptr::null(), || {
        // SAFETY: the contract of the header.
        let descriptor = unsafe { at(descriptor, "descriptor") }?;
        Ok(lend(&descriptor.0))
    })
}

/// A descriptor of your own that says the same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_clone(
    descriptor: *const hurray_descriptor_ref,
    copy: *mut *mut hurray_descriptor,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let descriptor = unsafe { lent(descriptor) }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(copy, "copy") }?;
        out.put(give(hurray_descriptor(descriptor.clone())));
        Ok(())
    })
}

/// The same tensor with its dynamic dimensions known: one size for each of them, in order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_resolve(
    descriptor: *const hurray_descriptor_ref,
    sizes: *const u64,
    count: usize,
    resolved: *mut *mut hurray_descriptor,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let descriptor = unsafe { lent(descriptor) }?;
        // SAFETY: the contract of the header.
        let sizes = unsafe { items(sizes, count, "sizes") }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(resolved, "resolved") }?;
        out.put(give(hurray_descriptor(descriptor.resolve(sizes)?)));
        Ok(())
    })
}

/// The length of the encoded descriptor, in bytes; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_encoded_length(
    descriptor: *const hurray_descriptor_ref,
) -> usize {
    fence_or(0, || {
        // SAFETY: the contract of the header.
        Ok(unsafe { lent(descriptor) }?.encoded_len())
    })
}

/// Writes the encoded descriptor, for which `hurray_descriptor_encoded_length` bytes are enough.
/// Where there is less room nothing is written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_encode(
    descriptor: *const hurray_descriptor_ref,
    bytes: *mut c_void,
    capacity: usize,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let descriptor = unsafe { lent(descriptor) }?;
        // SAFETY: the contract of the header.
        let room = unsafe { Room::new(bytes, capacity, "bytes") }?;
        let length = descriptor.encoded_len();
        room.need(length, "capacity")?;
        // SAFETY: so much room was just seen to be there.
        let place: &mut [u8] = unsafe { zeroed(bytes.cast(), length, "bytes") }?;
        descriptor.encode_into(place)?;
        Ok(())
    })
}

/// Whether two descriptors say the same; false where one of them is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_equal(
    descriptor: *const hurray_descriptor_ref,
    other: *const hurray_descriptor_ref,
) -> bool {
    fence_or(false, || {
        // SAFETY: the contract of the header.
        let descriptor = unsafe { lent(descriptor) }?;
        // SAFETY: the contract of the header.
        Ok(descriptor == unsafe { lent(other) }?)
    })
}
