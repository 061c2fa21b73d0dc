//! Managed tensors of somebody else's.

#![allow(unsafe_code, reason = "a struct that somebody else made, and frees")]

use std::fmt;
use std::mem::{self, ManuallyDrop};
use std::ptr::{self, NonNull};

use hurray_format::{Expected, Rule, Value};

use super::handoff::Terms;
use super::import::{Import, Imported};
use super::managed::Managed;
use super::raw::{DLManagedTensorVersioned, DLPackVersion, DLTensor, MAJOR_VERSION};
use crate::error::{Error, Result};
use crate::memory::refuse;
use crate::tensor::Tensor;

/// A managed tensor that somebody else made, and that is let go of here: its deleter is called
/// once, when this is dropped, or when the last share in the memory of what was
/// [imported](Self::import) is.
///
/// The deleter frees the struct, so nothing of it is touched afterwards. A struct without a
/// deleter is borrowed: nothing is called, and its memory is taken to stay for ever.
pub struct Foreign<M: Managed = DLManagedTensorVersioned> {
    managed: NonNull<M>,
    terms: Terms,
}

// SAFETY: whoever made it promised that the memory, the struct and its deleter may be used from
// any thread.
unsafe impl<M: Managed> Send for Foreign<M> {}
// SAFETY: a shared reference only reads what nobody writes to.
unsafe impl<M: Managed> Sync for Foreign<M> {}

impl<M: Managed> Foreign<M> {
    /// Takes over a managed tensor, whatever comes of it: where it is refused, its deleter has
    /// been called. Of a struct of another major version nothing but the deleter is used.
    ///
    /// The older struct, [`DLManagedTensor`](super::raw::DLManagedTensor), says neither its
    /// version nor whether it may be written to: it is read-only here.
    ///
    /// ```compile_fail,E0133
    /// # use hurray_tensor::dlpack::{Foreign, Terms, raw::DLManagedTensorVersioned};
    /// // A pointer may lead anywhere; safe code cannot promise that it does not.
    /// let dangling = std::ptr::dangling_mut::<DLManagedTensorVersioned>();
    /// let _ = Foreign::from_raw(dangling, Terms::default());
    /// ```
    ///
    /// # Safety
    ///
    /// `managed` must be null, or lead to a struct that is the caller's to take over and follows
    /// DLPack: what it points to is there and is not written to, and elements lie where its shape,
    /// strides and `byte_offset` say, until the deleter is called. Its memory is all that lies from
    /// the lowest byte of an element to the highest, gaps between elements included: it is
    /// initialised where the CPU may look at it, and `terms` must be true of all of it for as
    /// long. A stream that they name is open until it was waited for. Everything, the deleter too,
    /// may be used from any thread. Nobody writes to the memory during [`import`](Self::import).
    ///
    /// # Errors
    ///
    /// `dlpack.null`, `dlpack.version`.
    pub unsafe fn from_raw(managed: *mut M, terms: Terms) -> Result<Self> {
        let Some(managed) = NonNull::new(managed) else {
            let expected = Expected::OneOf("a managed tensor");
            return Err(refuse(Rule::DlpackNull, "managed", Value::None, expected));
        };
        let foreign = Self { managed, terms };
        // SAFETY: the caller's: a struct is there.
        let version = unsafe { M::version(managed.as_ptr()) };
        match version {
            Some(version) if version.major != MAJOR_VERSION => {
                let found = Value::Unsigned(u64::from(version.major));
                let expected = Expected::Exactly(u64::from(MAJOR_VERSION));
                Err(refuse(Rule::DlpackVersion, "version.major", found, expected))
            }
            _ => Ok(foreign),
        }
    }

    /// Takes over a managed tensor out of the place where it waits, and leaves null there, so
    /// that nobody takes it over twice.
    ///
    /// # Safety
    ///
    /// As [`from_raw`](Self::from_raw), for what is in `place`.
    ///
    /// # Errors
    ///
    /// As [`from_raw`](Self::from_raw): `dlpack.null` for what was taken before.
    pub unsafe fn take(place: &mut *mut M, terms: Terms) -> Result<Self> {
        let managed = mem::replace(place, ptr::null_mut());
        // SAFETY: the caller's.
        unsafe { Self::from_raw(managed, terms) }
    }

    /// Ours, seen from the other side.
    ///
    /// # Safety
    ///
    /// As [`from_raw`](Self::from_raw).
    pub(super) unsafe fn of_ours(managed: NonNull<M>, terms: Terms) -> Self {
        Self { managed, terms }
    }

    /// The tensor in it, with the memory where it is, or a copy where one is allowed.
    ///
    /// # Errors
    ///
    /// The managed tensor is let go of then. What DLPack does not allow: `dlpack.rank`,
    /// `dlpack.null`, `dlpack.shape`, `dlpack.strides-null`, `dlpack.extent`,
    /// `dlpack.data-null`, `dlpack.device-id`, `dlpack.bool-value`, `memory.address-beyond`. What
    /// has no counterpart here: `dlpack.device`, `dlpack.type`, `dlpack.lanes`, `dlpack.flags`.
    /// `dlpack.stream` for a stream that the device has not. Where a copy was not allowed:
    /// `dlpack.bool`, `dlpack.padded`, `dlpack.tail`, `dlpack.misaligned`. Where one was:
    /// `dlpack.copy-above-limit`, `memory.not-host`, `sync.device-unknown`, `device.failed`; out
    /// of memory.
    pub fn import(self, how: &Import<'_>) -> Result<Imported> {
        how.take(self)
    }

    /// The version that its producer follows; none is known of the older struct.
    pub fn version(&self) -> Option<DLPackVersion> {
        // SAFETY: a struct is there while it is held.
        unsafe { M::version(self.managed.as_ptr()) }
    }

    /// The struct.
    pub fn as_raw(&self) -> &M {
        // SAFETY: whoever made this promised a struct that nobody writes to. Its version is ours:
        // others are refused.
        unsafe { self.managed.as_ref() }
    }

    /// The tensor in the struct.
    pub fn tensor(&self) -> &DLTensor {
        self.as_raw().tensor()
    }

    /// What is known beside the struct.
    pub fn terms(&self) -> Terms {
        self.terms
    }

    /// The struct, whose deleter the caller now answers for.
    pub fn into_raw(self) -> *mut M {
        ManuallyDrop::new(self).managed.as_ptr()
    }
}

impl<M: Managed> Drop for Foreign<M> {
    fn drop(&mut self) {
        let managed = self.managed.as_ptr();
        // SAFETY: a struct is there while it is held, of whatever version.
        if let Some(deleter) = unsafe { M::deleter(managed) } {
            // SAFETY: it was taken over, and this value is the only one that answers for it.
            unsafe { deleter(managed) }
        }
    }
}

/// The tensor where it is, waited for by the host.
impl<M: Managed> TryFrom<Foreign<M>> for Tensor {
    type Error = Error;

    fn try_from(foreign: Foreign<M>) -> Result<Self> {
        foreign.import(&Import::default())?.tensor.acquire()
    }
}

impl<M: Managed> fmt::Debug for Foreign<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Foreign")
            .field("version", &self.version())
            .field("tensor", self.tensor())
            .field("terms", &self.terms)
            .finish_non_exhaustive()
    }
}
