//! What the two managed structs have in common.

#![allow(unsafe_code, reason = "fields are read through pointers that C gave")]

use std::ffi::c_void;

use super::raw::{DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor};
use super::raw::{MAJOR_VERSION, MINOR_VERSION};

/// One of the two managed structs: [`DLManagedTensorVersioned`] and the older
/// [`DLManagedTensor`].
pub trait Managed: Fields {}

impl Managed for DLManagedTensorVersioned {}
impl Managed for DLManagedTensor {}

/// The callback that a struct carries.
pub(super) type Deleter<M> = unsafe extern "C" fn(*mut M);

/// The fields of a managed struct. Only the structs here have them.
pub trait Fields: Copy + 'static {
    /// Whether it can say what flags say.
    const HAS_FLAGS: bool;

    /// A struct of ours.
    fn new(tensor: DLTensor, flags: u64, context: *mut c_void, deleter: Deleter<Self>) -> Self;

    /// The version, where the struct has one.
    ///
    /// # Safety
    ///
    /// There must be a struct, of whatever version.
    unsafe fn version(managed: *const Self) -> Option<DLPackVersion>;

    /// The deleter.
    ///
    /// # Safety
    ///
    /// There must be a struct, of whatever version.
    unsafe fn deleter(managed: *const Self) -> Option<Deleter<Self>>;

    /// The producer's context.
    fn context(&self) -> *mut c_void;

    /// Flags; none in the older struct.
    fn flags(&self) -> u64;

    /// The tensor.
    fn tensor(&self) -> &DLTensor;
}

impl Fields for DLManagedTensorVersioned {
    const HAS_FLAGS: bool = true;

    fn new(dl_tensor: DLTensor, flags: u64, context: *mut c_void, deleter: Deleter<Self>) -> Self {
        let version = DLPackVersion { major: MAJOR_VERSION, minor: MINOR_VERSION };
        Self { version, manager_ctx: context, deleter: Some(deleter), flags, dl_tensor }
    }

    unsafe fn version(managed: *const Self) -> Option<DLPackVersion> {
        // SAFETY: the caller's: a struct is there, and its version is in front in every version.
        Some(unsafe { (*managed).version })
    }

    unsafe fn deleter(managed: *const Self) -> Option<Deleter<Self>> {
        // SAFETY: the caller's; the header promises that the deleter stays where it is.
        unsafe { (*managed).deleter }
    }

    fn context(&self) -> *mut c_void {
        self.manager_ctx
    }

    fn flags(&self) -> u64 {
        self.flags
    }

    fn tensor(&self) -> &DLTensor {
        &self.dl_tensor
    }
}

impl Fields for DLManagedTensor {
    const HAS_FLAGS: bool = false;

    fn new(dl_tensor: DLTensor, _flags: u64, context: *mut c_void, deleter: Deleter<Self>) -> Self {
        Self { dl_tensor, manager_ctx: context, deleter: Some(deleter) }
    }

    unsafe fn version(_managed: *const Self) -> Option<DLPackVersion> {
        None
    }

    unsafe fn deleter(managed: *const Self) -> Option<Deleter<Self>> {
        // SAFETY: the caller's.
        unsafe { (*managed).deleter }
    }

    fn context(&self) -> *mut c_void {
        self.manager_ctx
    }

    fn flags(&self) -> u64 {
        0
    }

    fn tensor(&self) -> &DLTensor {
        &self.dl_tensor
    }
}
