//! Structs of others: taken over, and trusted with nothing but their release.

#![allow(unsafe_code, reason = "structs of others are read here, and released")]

use std::fmt;
use std::mem::{ManuallyDrop, offset_of};

use hurray_format::{Expected, Rule, Value};

use super::raw::{ABI_VERSION, Head, HurrayBuffer, HurrayProducer, HurrayTensor, struct_size};
use super::refuse;
use crate::error::Result;

/// A tensor of another library, moved out of its struct. Dropping it releases it.
///
/// Nothing of it has been looked at, but that it has a version that is known here. What checks it
/// and makes it usable is [`into_offered`](Self::into_offered), or for composites
/// [`into_composite`](Self::into_composite).
pub struct Foreign(HurrayTensor);

// SAFETY: what others hand over may be used and released from any thread; the header says so, and
// whoever took it promised that its rules were kept.
unsafe impl Send for Foreign {}
// SAFETY: what a shared reference reaches is only read, by `look`; nobody writes to it before it is
// released, as whoever took it promised.
unsafe impl Sync for Foreign {}

impl Foreign {
    /// Moves a tensor out of `from`, whose `release` is NULL afterwards: also where it is refused,
    /// and released by that.
    ///
    /// # Safety
    ///
    /// `from` must be null, or point to memory of the first four fields at least and of as much
    /// of the struct as its `struct_size` says. Unless its `release` is NULL, the struct must be
    /// what `hurray_abi.h` says, as far as that cannot be checked: its pointers must point to
    /// what they say, its callbacks must keep the header's rules, and its memory must be there,
    /// readable from any thread and unchanging, until it is released. An event that it names must
    /// be open until it is released, and a stream for as long as the tensor is waited for or used
    /// there. What can be checked is: null pointers, versions, sizes, counts, tags, flags,
    /// alignment, and what goes with what.
    ///
    /// # Errors
    ///
    /// `exchange.null`, `exchange.misaligned`, `exchange.released`, `exchange.version`,
    /// `exchange.struct-size`, `exchange.flags`.
    #[inline(always)]
    pub unsafe fn take(from: *mut HurrayTensor) -> Result<Self> {
        // SAFETY: passed on to the caller.
        let taken = Self(unsafe { take(from) }?);
        if taken.0.flags != 0 {
            let at = offset_of!(HurrayTensor, flags);
            let found = Value::Tag(taken.0.flags);
            return Err(refuse(Rule::ExchangeFlags, "flags", at, found, Expected::Exactly(0)));
        }
        Ok(taken)
    }

    /// The struct; its pointers are what whoever took it promised.
    #[inline]
    pub(super) fn raw(&self) -> &HurrayTensor {
        &self.0
    }

    /// What releases it.
    #[inline]
    pub(super) fn into_owner(self) -> Theirs<HurrayTensor> {
        ManuallyDrop::new(self).owner()
    }

    /// What releases it, for whoever forgets it then.
    #[inline(always)]
    fn owner(&self) -> Theirs<HurrayTensor> {
        let HurrayTensor { abi_version, struct_size, release, private_data, .. } = self.0;
        Theirs(Head { abi_version, struct_size, release, private_data })
    }
}

impl Drop for Foreign {
    #[inline(always)]
    fn drop(&mut self) {
        drop(self.owner());
    }
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HurrayTensor { buffer_count, member_count, .. } = self.0;
        write!(f, "Foreign({buffer_count} buffers, {member_count} members)")
    }
}

/// A struct that begins with the four fields.
pub(super) trait Struct: Copy {
    /// The struct with these fields, and zeros.
    fn with_head(head: Head<Self>) -> Self;

    /// Says that there is no more of the struct than is known here, of one that was longer where
    /// it was copied from: whoever gets the copy reads as far as its size says.
    fn cut(&mut self);
}

macro_rules! structs {
    ($($type:ty),*) => {$(
        impl Struct for $type {
            #[inline(always)]
            fn with_head(head: Head<Self>) -> Self {
                // SAFETY: numbers, pointers and optional functions, for each of which zero is a
                // value.
                let mut all: Self = unsafe { std::mem::zeroed() };
                all.abi_version = head.abi_version;
                all.struct_size = head.struct_size;
                all.release = head.release;
                all.private_data = head.private_data;
                all.cut();
                all
            }

            #[inline(always)]
            fn cut(&mut self) {
                self.struct_size = self.struct_size.min(struct_size::<Self>());
            }
        }
    )*};
}

structs!(HurrayTensor, HurrayBuffer, HurrayProducer);

/// What releasing a struct of others takes. Dropping it releases, once.
pub(super) struct Theirs<T: Struct>(Head<T>);

// SAFETY: any thread may release; see `Foreign`.
unsafe impl<T: Struct> Send for Theirs<T> {}
// SAFETY: a shared reference reaches nothing.
unsafe impl<T: Struct> Sync for Theirs<T> {}

impl<T: Struct> Drop for Theirs<T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(release) = self.0.release {
            // The first fields would do; but a producer that clears all of the struct it is given
            // has room for that.
            let mut whole = T::with_head(self.0);
            // SAFETY: moved here when it was not released, and released here alone.
            unsafe { release(&raw mut whole) }
        }
    }
}

/// Moves a struct out of `from`, for whoever then releases it. What is refused is released here.
///
/// # Safety
///
/// As [`Foreign::take`], for that struct.
#[inline(always)]
pub(super) unsafe fn take<T: Struct>(from: *mut T) -> Result<T> {
    // SAFETY: passed on to the caller.
    let head = unsafe { head_of(from) }?;
    if let Err(error) = check_head(&head) {
        // SAFETY: passed on to the caller.
        drop(unsafe { take_head(from) }?);
        return Err(error);
    }
    // SAFETY: of this version, and as large as the struct at least.
    let mut taken = unsafe { from.read() };
    taken.cut();
    // SAFETY: it has the four fields, as was seen; nobody else uses it.
    unsafe { (*from.cast::<Head<T>>()).release = None };
    Ok(taken)
}

/// Moves the four fields of a struct that was checked out of `from`.
///
/// # Safety
///
/// As [`Foreign::take`], for that struct.
#[inline]
pub(super) unsafe fn take_head<T: Struct>(from: *mut T) -> Result<Theirs<T>> {
    // SAFETY: passed on to the caller.
    let head = unsafe { head_of(from) }?;
    // SAFETY: it has the four fields, as was seen; nobody else uses it.
    unsafe { (*from.cast::<Head<T>>()).release = None };
    Ok(Theirs(head))
}

/// The four fields of a struct that is not released, which is only read.
///
/// # Safety
///
/// As [`Foreign::take`], for that struct, and nobody may write to it meanwhile.
#[inline(always)]
pub(super) unsafe fn head_of<T: Struct>(from: *const T) -> Result<Head<T>> {
    check_pointer(from, "struct", 0)?;
    // SAFETY: not null, aligned, and four fields long by the caller's word.
    let head = unsafe { from.cast::<Head<T>>().read() };
    if head.release.is_none() {
        let at = offset_of!(HurrayTensor, release);
        return Err(refuse(Rule::ExchangeReleased, "release", at, Value::None, Expected::Unsaid));
    }
    Ok(head)
}

/// Whether the version is known, and the struct as large as it is in that version.
#[inline]
pub(super) fn check_head<T: Struct>(head: &Head<T>) -> Result<()> {
    if head.abi_version != ABI_VERSION {
        let found = Value::Unsigned(u64::from(head.abi_version));
        let expected = Expected::Exactly(u64::from(ABI_VERSION));
        return Err(refuse(Rule::ExchangeVersion, "abi_version", 0, found, expected));
    }
    if head.struct_size < struct_size::<T>() {
        let at = offset_of!(HurrayTensor, struct_size);
        let found = Value::Unsigned(u64::from(head.struct_size));
        let expected = Expected::AtLeast(u64::from(struct_size::<T>()));
        return Err(refuse(Rule::ExchangeStructSize, "struct_size", at, found, expected));
    }
    Ok(())
}

/// Whether a pointer to a struct, or to an array of pointers, can be one.
#[inline]
pub(super) fn check_pointer<T>(pointer: *const T, field: &'static str, at: usize) -> Result<()> {
    if pointer.is_null() {
        return Err(refuse(Rule::ExchangeNull, field, at, Value::None, Expected::Unsaid));
    }
    if !pointer.is_aligned() {
        let found = Value::Tag(crate::memory::as_u64(pointer.addr()));
        let expected = Expected::OneOf("a multiple of 8");
        return Err(refuse(Rule::ExchangeMisaligned, field, at, found, expected));
    }
    Ok(())
}
