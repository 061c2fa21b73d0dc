//! A managed struct of ours, with what it points to and what it keeps alive, in one allocation.

#![allow(unsafe_code, reason = "a struct that points into itself, and is freed by a callback")]

use std::ffi::c_void;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::slice;

use super::foreign::Foreign;
use super::handoff::{Others, Report, Terms};
use super::managed::Managed;
use super::raw::{DLDataType, DLDevice, DLManagedTensorVersioned, DLTensor, FLAG_READ_ONLY};
use super::strides::Numbers;
use crate::buffer::Buffer;
use crate::memory::quietly;

/// A managed tensor that was made here. Dropping it lets go of the memory, as the consumer's call
/// of its deleter does.
#[must_use = "what is not handed over is released"]
pub struct Exported<M: Managed = DLManagedTensorVersioned> {
    parcel: NonNull<Parcel<M>>,
    report: Report,
}

struct Parcel<M> {
    managed: M,
    memory: Buffer,
    /// What the struct's `shape` and `strides` point to.
    numbers: Numbers,
}

/// What a struct says, but for its pointers into the parcel.
pub(super) struct Contents {
    pub(super) data: *mut c_void,
    pub(super) byte_offset: u64,
    pub(super) device: DLDevice,
    pub(super) dtype: DLDataType,
    /// Sizes, then steps.
    pub(super) numbers: Numbers,
    pub(super) flags: u64,
}

// SAFETY: the parcel is reached by this value alone, and what it keeps is `Send`.
unsafe impl<M: Managed> Send for Exported<M> {}
// SAFETY: a shared reference only reads numbers.
unsafe impl<M: Managed> Sync for Exported<M> {}

impl<M: Managed> Exported<M> {
    pub(super) fn new(contents: Contents, memory: Buffer, report: Report) -> Self {
        let Contents { data, byte_offset, device, dtype, numbers, flags } = contents;
        let rank = numbers.len() >> 1;
        let nowhere = ptr::null_mut();
        let mut dl_tensor = DLTensor {
            data,
            device,
            ndim: i32::try_from(rank).unwrap_or(0),
            dtype,
            shape: nowhere,
            strides: nowhere,
            byte_offset,
        };
        let managed = M::new(dl_tensor, flags, nowhere.cast(), delete::<M>);
        let parcel = Box::into_raw(Box::new(Parcel { managed, memory, numbers }));
        // SAFETY: the parcel was just made, and nobody else knows it.
        let numbers = unsafe { &mut (*parcel).numbers };
        // A scalar has neither sizes nor steps to point to.
        if rank > 0 {
            dl_tensor.shape = numbers.as_mut_ptr();
            dl_tensor.strides = dl_tensor.shape.wrapping_add(rank);
        }
        // SAFETY: as above; the struct that is overwritten has nothing to drop.
        unsafe { (*parcel).managed = M::new(dl_tensor, flags, parcel.cast(), delete::<M>) };
        // SAFETY: a box is never null.
        Self { parcel: unsafe { NonNull::new_unchecked(parcel) }, report }
    }

    /// The struct, to be read.
    pub fn as_raw(&self) -> &M {
        // SAFETY: the parcel lives as long as this value, and nobody writes to the struct while
        // it is borrowed.
        unsafe { self.managed().as_ref() }
    }

    /// The struct, whose deleter the caller now answers for.
    ///
    /// ```
    /// use hurray_tensor::Tensor;
    /// use hurray_tensor::dlpack::{Exported, Foreign, Terms};
    ///
    /// let tensor = Tensor::from_vec(vec![1_i16, 2], &[2])?;
    /// let exported: Exported = (&tensor).try_into()?;
    /// let managed = exported.into_raw();
    /// // SAFETY: the struct was made just now; the memory is shared, and nobody writes to it.
    /// let foreign = unsafe { Foreign::from_raw(managed, Terms::default()) }?;
    /// assert_eq!(Tensor::try_from(foreign)?.descriptor(), tensor.descriptor());
    /// # Ok::<(), hurray_tensor::Error>(())
    /// ```
    pub fn into_raw(self) -> *mut M {
        ManuallyDrop::new(self).managed().as_ptr()
    }

    /// The tensor in the struct.
    pub fn tensor(&self) -> &DLTensor {
        self.as_raw().tensor()
    }

    /// Its sizes.
    pub fn shape(&self) -> &[i64] {
        self.numbers(self.tensor().shape)
    }

    /// Its steps, in elements.
    pub fn strides(&self) -> &[i64] {
        self.numbers(self.tensor().strides)
    }

    /// Whether the consumer must not write. The older struct cannot say so, and is only made
    /// where the consumer may.
    pub fn is_read_only(&self) -> bool {
        self.as_raw().flags() & FLAG_READ_ONLY != 0
    }

    /// What making it did.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// What a consumer may rely on.
    fn terms(&self) -> Terms {
        // SAFETY: the parcel lives as long as this value.
        let memory = unsafe { &(*self.parcel.as_ptr()).memory };
        let others = match memory.region() {
            region if region.may_change => Others::Write,
            _ if self.is_read_only() => Others::Read,
            _ => Others::Nothing,
        };
        Terms { others, stream: None }
    }

    fn managed(&self) -> NonNull<M> {
        // SAFETY: the parcel is there; this only takes an address in it.
        let managed = unsafe { &raw mut (*self.parcel.as_ptr()).managed };
        // SAFETY: nothing in a parcel is at null.
        unsafe { NonNull::new_unchecked(managed) }
    }

    fn numbers(&self, first: *const i64) -> &[i64] {
        if first.is_null() {
            return &[];
        }
        let rank = usize::try_from(self.tensor().ndim).unwrap_or(0);
        // SAFETY: both pointers of the struct lead to `rank` numbers of the parcel, which lives as
        // long as this value and is not written to.
        unsafe { slice::from_raw_parts(first, rank) }
    }
}

/// The deleter of our structs.
///
/// # Safety
///
/// `managed` must be one of them, or null, and not have been deleted before.
unsafe extern "C" fn delete<M: Managed>(managed: *mut M) {
    if managed.is_null() {
        return;
    }
    // SAFETY: the caller's: a struct of ours is there.
    let parcel = unsafe { (*managed).context() }.cast::<Parcel<M>>();
    // SAFETY: the context of ours is the parcel, as `Exported::new` boxed it. It is deleted once.
    let parcel = unsafe { Box::from_raw(parcel) };
    // Whatever an owner's own code does, no panic goes on into C.
    quietly(move || drop(parcel));
}

impl<M: Managed> Drop for Exported<M> {
    fn drop(&mut self) {
        // SAFETY: it is ours, and was not handed over.
        unsafe { delete(self.managed().as_ptr()) }
    }
}

/// Ours, as somebody else would take it.
impl<M: Managed> From<Exported<M>> for Foreign<M> {
    fn from(exported: Exported<M>) -> Self {
        let terms = exported.terms();
        let managed = ManuallyDrop::new(exported).managed();
        // SAFETY: a struct of ours, which was not handed over and is from here on; the terms are
        // what it says.
        unsafe { Self::of_ours(managed, terms) }
    }
}

impl<M: Managed> fmt::Debug for Exported<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exported")
            .field("shape", &self.shape())
            .field("strides", &self.strides())
            .field("dtype", &self.tensor().dtype)
            .field("device", &self.tensor().device)
            .field("report", &self.report)
            .finish_non_exhaustive()
    }
}
