//! The structs of `hurray_abi.h`, field by field, and its constants.
//!
//! Plain data: whoever fills or reads one answers for it. The header says what each field is for,
//! and who owns what when.

use std::ffi::{c_char, c_void};
use std::mem::{align_of, offset_of, size_of};

/// `abi_version` of everything here.
pub const ABI_VERSION: u32 = 1;

/// `device_tag` of a request that takes any device.
pub const DEVICE_ANY: u8 = 0xFF;

/// `event_kind`: no event.
pub const EVENT_NONE: u8 = 0;
/// `event_kind`: one wait, by one stream.
pub const EVENT_BINARY: u8 = 1;
/// `event_kind`: any number of waits, for `event_value` or more.
pub const EVENT_TIMELINE: u8 = 2;
/// `event_kind`: any number of waits.
pub const EVENT_MULTI_WAIT: u8 = 3;

/// A buffer's flag: the consumer reads, and never writes.
pub const BUFFER_READ_ONLY: u64 = 1;
/// A buffer's flag: the bytes were copied for this handoff.
pub const BUFFER_COPIED: u64 = 2;
/// A buffer's flag: somebody else can still change the bytes.
pub const BUFFER_MAY_CHANGE: u64 = 4;

/// A request's flag: a copy may be made where the request cannot be met without.
pub const REQUEST_ALLOW_COPY: u64 = 1;
/// A request's flag: the consumer wants to write.
pub const REQUEST_WRITABLE: u64 = 2;
/// A request's flag: a copy must be made.
pub const REQUEST_MUST_COPY: u64 = 4;

/// No queue family of Vulkan's.
pub const NO_QUEUE_FAMILY: u32 = 0xFFFF_FFFF;

/// An event or a stream: what the sync mode of a handle asks for.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HurraySync {
    /// The device that the event or stream belongs to: the buffer's.
    pub device_tag: u8,
    /// How often the event can be waited for.
    pub event_kind: u8,
    /// Zero.
    pub reserved: [u8; 6],
    /// The driver's event.
    pub event: u64,
    /// The value to wait for, of a timeline.
    pub event_value: u64,
    /// Releases the event.
    pub release_event: Option<unsafe extern "C" fn(*mut HurraySync)>,
    /// The producer's, for `release_event`.
    pub event_context: *mut c_void,
    /// The stream that was ordered.
    pub stream: u64,
    /// Zero.
    pub spare: [u64; 2],
}

/// One buffer of a tensor, or moved out of it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HurrayBuffer {
    /// [`ABI_VERSION`].
    pub abi_version: u32,
    /// The struct's size, as the producer knows it.
    pub struct_size: u32,
    /// Lets go of the memory, and of its event.
    pub release: Option<unsafe extern "C" fn(*mut HurrayBuffer)>,
    /// The producer's.
    pub private_data: *mut c_void,
    /// The buffer's entry in the descriptor.
    pub handle: [u8; 16],
    /// The driver's object.
    pub object: u64,
    /// Where in it the buffer begins.
    pub object_offset: u64,
    /// The driver's allocation below it.
    pub memory: u64,
    /// Where in it the buffer begins.
    pub memory_offset: u64,
    /// The device's address of the first byte.
    pub address: u64,
    /// The CPU's address of the first byte.
    pub host: *mut c_void,
    /// What the handles are valid in.
    pub device_context: u64,
    /// Which copy of the driver they are of.
    pub driver: u64,
    /// The device's number.
    pub device_ordinal: i64,
    /// The device's UUID.
    pub device_uuid: [u8; 16],
    /// `BUFFER_*`.
    pub flags: u64,
    /// The queue family that owned it.
    pub queue_family: u32,
    /// The queue family it was released to.
    pub queue_family_to: u32,
    /// When the bytes are ready.
    pub sync: HurraySync,
    /// Lets go of the memory in stream order.
    pub release_after: Option<unsafe extern "C" fn(*mut HurrayBuffer, *mut HurraySync) -> i32>,
}

/// A tensor: its descriptor, and its buffers or members.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HurrayTensor {
    /// [`ABI_VERSION`].
    pub abi_version: u32,
    /// The struct's size, as the producer knows it.
    pub struct_size: u32,
    /// Releases the tensor with all that was not moved out of it.
    pub release: Option<unsafe extern "C" fn(*mut HurrayTensor)>,
    /// The producer's.
    pub private_data: *mut c_void,
    /// The encoded descriptor.
    pub descriptor: *const u8,
    /// Its length in bytes.
    pub descriptor_length: u64,
    /// How many buffers there are.
    pub buffer_count: u64,
    /// The buffers, in the order of the descriptor's table.
    pub buffers: *mut *mut HurrayBuffer,
    /// How many members a composite head has here.
    pub member_count: u64,
    /// The members, in order.
    pub members: *mut *mut HurrayTensor,
    /// Zero.
    pub flags: u64,
}

/// What a consumer can take.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HurrayRequest {
    /// [`ABI_VERSION`].
    pub abi_version: u32,
    /// The struct's size, as the consumer knows it.
    pub struct_size: u32,
    /// A bit for each sync mode.
    pub accepted_syncs: u32,
    /// A bit for each event kind.
    pub accepted_event_kinds: u32,
    /// A bit for each memory class.
    pub accepted_classes: u64,
    /// The device that the data is wanted on; [`DEVICE_ANY`].
    pub device_tag: u8,
    /// Zero.
    pub reserved: [u8; 3],
    /// The least alignment, in bytes; 0 for any.
    pub min_alignment: u32,
    /// The device's number; -1 for any.
    pub device_ordinal: i64,
    /// The device's UUID; zero for any.
    pub device_uuid: [u8; 16],
    /// The context that the consumer works in; 0 for any.
    pub device_context: u64,
    /// Which copy of the driver it uses; 0 for any.
    pub driver: u64,
    /// The stream to be ordered.
    pub stream: u64,
    /// The queue family that will use the data.
    pub queue_family: u32,
    /// Zero.
    pub reserved2: u32,
    /// `REQUEST_*`.
    pub flags: u64,
}

/// Something that hands out a tensor as often as asked.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HurrayProducer {
    /// [`ABI_VERSION`].
    pub abi_version: u32,
    /// The struct's size, as its maker knows it.
    pub struct_size: u32,
    /// Releases the producer.
    pub release: Option<unsafe extern "C" fn(*mut HurrayProducer)>,
    /// The producer's.
    pub private_data: *mut c_void,
    /// Shows the descriptor before anything is handed out.
    pub describe:
        Option<unsafe extern "C" fn(*mut HurrayProducer, *mut *const u8, *mut u64) -> i32>,
    /// Hands out the tensor, or refuses.
    pub produce: Option<
        unsafe extern "C" fn(*mut HurrayProducer, *const HurrayRequest, *mut HurrayTensor) -> i32,
    >,
    /// What the last call failed at.
    pub last_error: Option<unsafe extern "C" fn(*mut HurrayProducer) -> *const c_char>,
}

/// What `struct_size` says of a struct here.
pub(super) const fn struct_size<T>() -> u32 {
    #[allow(clippy::cast_possible_truncation, reason = "no struct here has 4 GiB")]
    let size = size_of::<T>() as u32;
    size
}

/// The first four fields of a tensor, a buffer or a producer: all that releasing one takes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Head<T> {
    pub(super) abi_version: u32,
    pub(super) struct_size: u32,
    pub(super) release: Option<unsafe extern "C" fn(*mut T)>,
    pub(super) private_data: *mut c_void,
}

/// Asserts a struct's size and where each field is, and lists them for the test that asks a C
/// compiler the same.
macro_rules! laid_out {
    ($($type:ident of $size:literal { $($field:ident $at:literal,)* })*) => {
        $(
            const _: () = assert!(size_of::<$type>() == $size && align_of::<$type>() == 8);
            $(const _: () = assert!(offset_of!($type, $field) == $at);)*
        )*

        /// Each struct's name and size, and the name and offset of each of its fields.
        pub const LAYOUT: &[(&str, usize, &[(&str, usize)])] = &[$(
            (
                stringify!($type),
                size_of::<$type>(),
                &[$((stringify!($field), offset_of!($type, $field)),)*],
            ),
        )*];
    };
}

const _: () = assert!(size_of::<usize>() == 8, "the exchange structs need 64 bits");

laid_out! {
    HurraySync of 64 {
        device_tag 0, event_kind 1, reserved 2, event 8, event_value 16, release_event 24,
        event_context 32, stream 40, spare 48,
    }
    HurrayBuffer of 216 {
        abi_version 0, struct_size 4, release 8, private_data 16, handle 24, object 40,
        object_offset 48, memory 56, memory_offset 64, address 72, host 80, device_context 88,
        driver 96, device_ordinal 104, device_uuid 112, flags 128, queue_family 136,
        queue_family_to 140, sync 144, release_after 208,
    }
    HurrayTensor of 80 {
        abi_version 0, struct_size 4, release 8, private_data 16, descriptor 24,
        descriptor_length 32, buffer_count 40, buffers 48, member_count 56, members 64, flags 72,
    }
    HurrayRequest of 96 {
        abi_version 0, struct_size 4, accepted_syncs 8, accepted_event_kinds 12,
        accepted_classes 16, device_tag 24, reserved 25, min_alignment 28, device_ordinal 32,
        device_uuid 40, device_context 56, driver 64, stream 72, queue_family 80, reserved2 84,
        flags 88,
    }
    HurrayProducer of 48 {
        abi_version 0, struct_size 4, release 8, private_data 16, describe 24, produce 32,
        last_error 40,
    }
}
