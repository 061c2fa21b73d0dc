//! Structs that begin with their own size, and only ever grow at the end.
//!
//! The size says how much of a struct its owner knows of. A caller built with an older header has
//! a shorter one: the fields that it lacks are zero to us, and are not written. A caller built
//! with a newer one has a longer one: what we do not know must be zero when it comes in, and
//! stays as it is when it goes out.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::slice;

use hurray_tensor::format::{Expected, Rule, Value};

use crate::failure::{Result, refuse};
use crate::pointer::{self, Place};

/// A struct that begins with its own size.
///
/// # Safety
///
/// It is `repr(C)`, its first field is `struct_size: u32`, every pattern of bits is a value of
/// each of its fields, and `FIRST` is not above its size.
pub(crate) unsafe trait Growing: Copy {
    /// Its size when it was first published: no caller has less.
    const FIRST: usize;
}

/// No struct is that long: what says so was never set.
const LONGEST: usize = 4096;

/// A copy of a struct that a caller fills.
///
/// # Safety
///
/// Where the pointer is not null it leads to as many bytes as its first field says, which live
/// and do not change while this runs.
pub(crate) unsafe fn read<T: Growing>(pointer: *const T, name: &'static str) -> Result<T> {
    // SAFETY: the first field of a struct that is there, as the caller promises.
    let size = unsafe { size_of_theirs(pointer, name) }?;
    let mut value = MaybeUninit::<T>::zeroed();
    let known = size.min(size_of::<T>());
    // SAFETY: `known` bytes are there on both sides, and a fresh value overlaps with nothing.
    unsafe { ptr::copy_nonoverlapping(pointer.cast::<u8>(), value.as_mut_ptr().cast(), known) };
    // SAFETY: the struct has `size` bytes, so that this is inside it or just past its end.
    let rest = unsafe { pointer.cast::<u8>().add(known) };
    // SAFETY: that many bytes are left of the struct, and bytes are always aligned.
    let rest = unsafe { slice::from_raw_parts(rest, size.saturating_sub(known)) };
    if rest.iter().any(|byte| *byte != 0) {
        let expected = Expected::AtMost(as_u64(size_of::<T>()));
        return Err(refuse(Rule::CapiStructNewer, name, Value::Unsigned(as_u64(size)), expected));
    }
    // SAFETY: zeros, and over them what the caller filled: each field is a value of its type,
    // as the trait promises.
    Ok(unsafe { value.assume_init() })
}

/// The same, where null stands for a struct of zeros.
///
/// # Safety
///
/// As [`read`].
pub(crate) unsafe fn read_or_zeros<T: Growing>(
    pointer: *const T,
    name: &'static str,
) -> Result<Option<T>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: passed on to the caller.
    unsafe { read(pointer, name) }.map(Some)
}

/// A struct of a caller's that is to be filled.
pub(crate) struct Form<T> {
    place: NonNull<T>,
    size: usize,
}

impl<T: Growing> Form<T> {
    /// # Safety
    ///
    /// Where the pointer is not null it leads to as many bytes as its first field says, which
    /// are the caller's to write for as long as the form is used.
    pub(crate) unsafe fn new(pointer: *mut T, name: &'static str) -> Result<Self> {
        // SAFETY: the first field of a struct that is there, as the caller promises.
        let size = unsafe { size_of_theirs(pointer, name) }?;
        // SAFETY: it was just seen not to be null.
        let place = unsafe { NonNull::new_unchecked(pointer) };
        Ok(Self { place, size })
    }

    /// Fills what the caller knows of it, and says in the first field how much that is.
    pub(crate) fn fill(&mut self, value: T) {
        let known = self.size.min(size_of::<T>());
        let from = (&raw const value).cast::<u8>();
        // SAFETY: `known` bytes are there on both sides, and a value of ours overlaps with
        // nothing of the caller's.
        unsafe { ptr::copy_nonoverlapping(from, self.place.as_ptr().cast(), known) };
        let known = u32::try_from(known).unwrap_or(u32::MAX);
        // SAFETY: the first field of the struct is a u32, which is as aligned as the struct.
        unsafe { self.place.cast::<u32>().write(known) };
    }
}

/// The size that a struct says it has.
///
/// # Safety
///
/// Where the pointer is not null it leads to a u32.
unsafe fn size_of_theirs<T: Growing>(pointer: *const T, name: &'static str) -> Result<usize> {
    // SAFETY: a u32 as the caller promises. That it is aligned as T is, which is no less, is
    // checked next.
    let size = *unsafe { pointer::at(pointer.cast::<u32>(), name) }?;
    if !pointer.is_aligned() {
        let found = Value::Tag(as_u64(pointer.addr()));
        return Err(refuse(Rule::CapiMisaligned, name, found, Expected::Unsaid));
    }
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    if size < T::FIRST || size > LONGEST {
        let found = Value::Unsigned(as_u64(size));
        let expected = Expected::AtLeast(as_u64(T::FIRST));
        return Err(refuse(Rule::CapiStructSize, name, found, expected));
    }
    Ok(size)
}

/// How the structs of the exchange begin. One that is shorter than it should be has that much.
#[repr(C)]
struct Beginning {
    abi_version: u32,
    struct_size: u32,
    release: *const c_void,
}

/// A struct of the exchange that is to be filled, and is empty until then: whatever comes of it, its
/// `release` is NULL. Refuses one that has no room for all of it.
///
/// # Safety
///
/// Where the pointer is not null it leads to the first fields of a struct of the exchange, and to as
/// much of it as they say, which is the caller's to write for as long as the place is used.
pub(crate) unsafe fn emptied<T>(out: *mut T, name: &'static str) -> Result<Place<T>> {
    // Of all its fields the caller need have set the size alone, so that there is no reference to it.
    let beginning = out.cast::<Beginning>();
    pointer::check(beginning, name)?;
    // SAFETY: neither null nor misaligned; the first fields are there, as the caller promises.
    let release = unsafe { &raw mut (*beginning).release };
    // SAFETY: a field that is the caller's to write, as aligned as the whole.
    unsafe { release.write(ptr::null()) };
    // SAFETY: the first fields are there, as the caller promises.
    let size = unsafe { &raw const (*beginning).struct_size };
    // SAFETY: the caller set it.
    let size = usize::try_from(unsafe { size.read() }).unwrap_or(usize::MAX);
    if size < size_of::<T>() {
        let (found, expected) = (Value::Unsigned(as_u64(size)), as_u64(size_of::<T>()));
        return Err(refuse(Rule::CapiStructSize, name, found, Expected::AtLeast(expected)));
    }
    // SAFETY: passed on to the caller; there is all of it.
    unsafe { Place::new(out, name) }
}

/// A byte of a struct that says no or yes: 0 or 1, as in the format.
pub(crate) fn flag(value: u8, name: &'static str) -> Result<bool> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        other => {
            let found = Value::Unsigned(u64::from(other));
            Err(refuse(Rule::CapiReserved, name, found, Expected::OneOf("0 or 1")))
        }
    }
}

/// Reserved bytes are zero, so that they can mean something later.
pub(crate) fn zeros(reserved: &[u8]) -> Result {
    match reserved.iter().find(|byte| **byte != 0) {
        None => Ok(()),
        Some(byte) => {
            let found = Value::Tag(u64::from(*byte));
            Err(refuse(Rule::CapiReserved, "reserved", found, Expected::Exactly(0)))
        }
    }
}

fn as_u64(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
