//! Pointers that a caller gives: checked for what can be seen of them, trusted for the rest.
//!
//! The contract that is trusted, which `hurray.h` states for every call: a pointer that is not
//! null leads to as many items as the call says, alive and unchanged by others while the call
//! lasts; a place for an answer is the caller's to write.

#[cfg(unix)]
use std::ffi::OsStr;
use std::ffi::{CStr, c_char, c_void};
use std::io::{self, Write};
use std::path::Path;
use std::ptr::{self, NonNull};
use std::slice;

use hurray_tensor::format::{Expected, Rule, Value};

use crate::failure::{Result, refuse, refused};

/// Neither null nor misaligned.
pub(crate) fn check<T>(pointer: *const T, name: &'static str) -> Result {
    if pointer.is_null() {
        return Err(refused(Rule::CapiNull, name));
    }
    if !pointer.is_aligned() {
        let found = Value::Tag(u64::try_from(pointer.addr()).unwrap_or(u64::MAX));
        return Err(refuse(Rule::CapiMisaligned, name, found, Expected::Unsaid));
    }
    Ok(())
}

/// What a pointer leads to.
///
/// # Safety
///
/// Where it is not null it leads to a `T` that lives and does not change for as long as the
/// reference is used.
pub(crate) unsafe fn at<'a, T>(pointer: *const T, name: &'static str) -> Result<&'a T> {
    check(pointer, name)?;
    // SAFETY: it is neither null nor misaligned; the rest is promised by the caller.
    Ok(unsafe { &*pointer })
}

/// What a pointer leads to, to be changed.
///
/// # Safety
///
/// As [`at`], and nobody else uses the `T` meanwhile.
pub(crate) unsafe fn at_mut<'a, T>(pointer: *mut T, name: &'static str) -> Result<&'a mut T> {
    check(pointer, name)?;
    // SAFETY: it is neither null nor misaligned; the rest is promised by the caller.
    Ok(unsafe { &mut *pointer })
}

/// `count` items from a pointer on. Of none, the pointer may be null.
///
/// # Safety
///
/// Where it is not null it leads to `count` items that live and do not change for as long as the
/// slice is used.
pub(crate) unsafe fn items<'a, T>(
    pointer: *const T,
    count: usize,
    name: &'static str,
) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    check(pointer, name)?;
    check_length::<T>(count, name)?;
    // SAFETY: it is neither null nor misaligned, and the items are no more bytes than a slice
    // may have; that they are there is promised by the caller.
    Ok(unsafe { slice::from_raw_parts(pointer, count) })
}

/// Room for `count` numbers, which is filled with zeros: what a caller allocated holds nothing yet.
///
/// # Safety
///
/// Where the pointer is not null it leads to memory for `count` numbers that is the caller's to
/// write, and nobody else uses it, for as long as the slice is used.
pub(crate) unsafe fn zeroed<'a, T: Number>(
    pointer: *mut T,
    count: usize,
    name: &'static str,
) -> Result<&'a mut [T]> {
    if count == 0 {
        return Ok(&mut []);
    }
    check(pointer, name)?;
    check_length::<T>(count, name)?;
    // SAFETY: it is neither null nor misaligned, and the memory is there as is promised.
    unsafe { ptr::write_bytes(pointer, 0, count) };
    // SAFETY: so many numbers were just written, and they are no more bytes than a slice may have.
    Ok(unsafe { slice::from_raw_parts_mut(pointer, count) })
}

/// A number of which zeros are a value.
pub(crate) trait Number {}
impl Number for u8 {}
impl Number for i64 {}
impl Number for u64 {}

/// A slice may not have more than `isize::MAX` bytes.
fn check_length<T>(count: usize, name: &'static str) -> Result {
    match count.checked_mul(size_of::<T>()) {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(()),
        _ => {
            let found = Value::Unsigned(u64::try_from(count).unwrap_or(u64::MAX));
            Err(refuse(Rule::CapiLength, name, found, Expected::Unsaid))
        }
    }
}

/// Text that ends with a zero byte.
///
/// # Safety
///
/// Where the pointer is not null it leads to a zero byte, and what is before it lives and does
/// not change for as long as the text is used.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, name: &'static str) -> Result<&'a str> {
    check(pointer, name)?;
    // SAFETY: it is not null, and a zero byte follows, as the caller promises.
    let bytes = unsafe { CStr::from_ptr(pointer) }.to_bytes();
    str::from_utf8(bytes).map_err(|error| {
        let wrong = bytes.get(error.valid_up_to()..).unwrap_or_default();
        refuse(Rule::CapiText, name, Value::first_of(wrong), Expected::OneOf("UTF-8"))
    })
}

/// A path, as the system spells it: any bytes on Unix, UTF-8 elsewhere.
///
/// # Safety
///
/// As [`text`].
pub(crate) unsafe fn path_of<'a>(pointer: *const c_char, name: &'static str) -> Result<&'a Path> {
    #[cfg(unix)]
    {
        check(pointer, name)?;
        // SAFETY: it is not null, and a zero byte follows, as the caller promises.
        let bytes = unsafe { CStr::from_ptr(pointer) }.to_bytes();
        Ok(Path::new(<OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes)))
    }
    #[cfg(not(unix))]
    {
        // SAFETY: passed on to the caller.
        unsafe { text(pointer, name) }.map(Path::new)
    }
}

/// A place where a call leaves its answer. It is looked at before anything is done, so that no
/// answer is ever left without a place.
pub(crate) struct Place<T>(NonNull<T>);

impl<T> Place<T> {
    /// # Safety
    ///
    /// Where the pointer is not null it leads to memory for a `T` that is the caller's to write
    /// for as long as the place is used.
    pub(crate) unsafe fn new(pointer: *mut T, name: &'static str) -> Result<Self> {
        check(pointer, name)?;
        NonNull::new(pointer).map(Self).ok_or_else(|| refused(Rule::CapiNull, name))
    }

    /// Leaves the answer there. What was there before is not looked at.
    pub(crate) fn put(&mut self, value: T) {
        // SAFETY: memory for a T, aligned and the caller's own, as `new` was promised.
        unsafe { self.0.write(value) }
    }
}

/// Memory of a caller's that is written from its start on.
pub(crate) struct Room {
    start: *mut u8,
    left: usize,
}

impl Room {
    /// # Safety
    ///
    /// Where the pointer is not null it leads to `capacity` bytes that are the caller's to write,
    /// and nobody else uses them, for as long as the room is used.
    pub(crate) unsafe fn new(
        start: *mut c_void,
        capacity: usize,
        name: &'static str,
    ) -> Result<Self> {
        let start = start.cast::<u8>();
        if capacity > 0 {
            check(start, name)?;
            check_length::<u8>(capacity, name)?;
        }
        Ok(Self { start, left: capacity })
    }

    /// Refuses room that is too small.
    pub(crate) fn need(&self, length: usize, name: &'static str) -> Result {
        if self.left >= length {
            return Ok(());
        }
        let as_u64 = |number| u64::try_from(number).unwrap_or(u64::MAX);
        let (found, expected) = (Value::Unsigned(as_u64(self.left)), as_u64(length));
        Err(refuse(Rule::CapiOutputTooSmall, name, found, Expected::AtLeast(expected)))
    }
}

impl Room {
    /// Fills what is left with zeros.
    pub(crate) fn fill_zeros(&mut self) {
        // SAFETY: so many bytes are left of memory that nobody else uses.
        unsafe { ptr::write_bytes(self.start, 0, self.left) };
        self.left = 0;
    }
}

impl Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = bytes.len().min(self.left);
        // SAFETY: so many bytes are left of memory that nobody else uses, and so many are there.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.start, length) };
        self.start = self.start.wrapping_add(length);
        self.left = self.left.saturating_sub(length);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Gives a value to the caller as a handle.
pub(crate) fn give<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// Takes a handle back and drops what is behind it; null is nothing, and so is what cannot be one.
///
/// # Safety
///
/// The pointer is null, or came from [`give`] and is not used again.
pub(crate) unsafe fn free<T>(pointer: *mut T) {
    if !pointer.is_null() && pointer.is_aligned() {
        // SAFETY: `give` made it from such a box, and the caller uses it no more.
        drop(unsafe { Box::from_raw(pointer) });
    }
}
