//! The structs of `dlpack.h` 1.3, field by field, and its constants.
//!
//! Plain data: whoever fills or reads one answers for it. The header says what each field is for.

use std::ffi::c_void;

/// The major version of the structs here.
pub const MAJOR_VERSION: u32 = 1;
/// The minor version of the header whose rules are followed here.
pub const MINOR_VERSION: u32 = 3;

/// A flag: the consumer reads, and never writes.
pub const FLAG_READ_ONLY: u64 = 1;
/// A flag: the producer made a copy, which belongs to the consumer alone.
pub const FLAG_IS_COPIED: u64 = 2;
/// A flag: elements narrower than a byte have a byte each.
pub const FLAG_SUBBYTE_PADDED: u64 = 4;

/// `DLPackVersion`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(C)]
pub struct DLPackVersion {
    /// Another one is another struct, of which only the deleter may be used.
    pub major: u32,
    /// A later one has more codes.
    pub minor: u32,
}

/// `DLDevice`. The kind is an open number: a peer may write one that no header has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct DLDevice {
    /// `DLDeviceType`.
    pub device_type: i32,
    /// Which one of its kind; 0 for host, pinned and managed memory.
    pub device_id: i32,
}

/// `DLDataType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct DLDataType {
    /// `DLDataTypeCode`, as an open number.
    pub code: u8,
    /// Bits of one element, of one lane.
    pub bits: u8,
    /// Numbers in one element.
    pub lanes: u16,
}

/// `DLTensor`: where elements are, and nothing about who keeps them there.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DLTensor {
    /// An address of the host or a device, or a driver's object; null where there are no elements.
    pub data: *mut c_void,
    /// Where it is.
    pub device: DLDevice,
    /// The number of dimensions.
    pub ndim: i32,
    /// The element type.
    pub dtype: DLDataType,
    /// A size for each dimension.
    pub shape: *mut i64,
    /// A step in elements for each dimension; before version 1.2 null means row-major.
    pub strides: *mut i64,
    /// From `data` to the first element, in bytes.
    pub byte_offset: u64,
}

/// `DLManagedTensor`, the older struct, which has neither a version nor flags.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DLManagedTensor {
    /// The tensor.
    pub dl_tensor: DLTensor,
    /// The producer's.
    pub manager_ctx: *mut c_void,
    /// Lets go of the memory and frees the struct.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// `DLManagedTensorVersioned`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DLManagedTensorVersioned {
    /// The version that the producer follows.
    pub version: DLPackVersion,
    /// The producer's.
    pub manager_ctx: *mut c_void,
    /// Lets go of the memory and frees the struct.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    /// `FLAG_*`.
    pub flags: u64,
    /// The tensor.
    pub dl_tensor: DLTensor,
}

/// Where a C compiler for a 64-bit machine puts everything.
#[cfg(target_pointer_width = "64")]
const _: () = {
    use std::mem::{align_of, offset_of, size_of};

    assert!(size_of::<DLPackVersion>() == 8 && align_of::<DLPackVersion>() == 4);
    assert!(offset_of!(DLPackVersion, major) == 0);
    assert!(offset_of!(DLPackVersion, minor) == 4);

    assert!(size_of::<DLDevice>() == 8 && align_of::<DLDevice>() == 4);
    assert!(offset_of!(DLDevice, device_type) == 0);
    assert!(offset_of!(DLDevice, device_id) == 4);

    assert!(size_of::<DLDataType>() == 4 && align_of::<DLDataType>() == 2);
    assert!(offset_of!(DLDataType, code) == 0);
    assert!(offset_of!(DLDataType, bits) == 1);
    assert!(offset_of!(DLDataType, lanes) == 2);

    assert!(size_of::<DLTensor>() == 48 && align_of::<DLTensor>() == 8);
    assert!(offset_of!(DLTensor, data) == 0);
    assert!(offset_of!(DLTensor, device) == 8);
    assert!(offset_of!(DLTensor, ndim) == 16);
    assert!(offset_of!(DLTensor, dtype) == 20);
    assert!(offset_of!(DLTensor, shape) == 24);
    assert!(offset_of!(DLTensor, strides) == 32);
    assert!(offset_of!(DLTensor, byte_offset) == 40);

    assert!(size_of::<DLManagedTensor>() == 64 && align_of::<DLManagedTensor>() == 8);
    assert!(offset_of!(DLManagedTensor, dl_tensor) == 0);
    assert!(offset_of!(DLManagedTensor, manager_ctx) == 48);
    assert!(offset_of!(DLManagedTensor, deleter) == 56);

    assert!(size_of::<DLManagedTensorVersioned>() == 80);
    assert!(align_of::<DLManagedTensorVersioned>() == 8);
    assert!(offset_of!(DLManagedTensorVersioned, version) == 0);
    assert!(offset_of!(DLManagedTensorVersioned, manager_ctx) == 8);
    assert!(offset_of!(DLManagedTensorVersioned, deleter) == 16);
    assert!(offset_of!(DLManagedTensorVersioned, flags) == 24);
    assert!(offset_of!(DLManagedTensorVersioned, dl_tensor) == 32);
};
