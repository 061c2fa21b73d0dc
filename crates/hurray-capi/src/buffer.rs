//! Entries of buffer tables, and buffers in memory.

use std::ffi::c_void;

use hurray_tensor::format::{Accept, BufferHandle};

use crate::failure::Result;
use crate::pointer::items;

/// One entry of a buffer table, as the format lays it out on a little-endian machine. It never
/// grows.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HurrayHandle {
    /// The buffer's length in bytes; 0 is an empty buffer.
    pub byte_size: u64,
    /// The alignment that its address is guaranteed to have, in bytes: a power of two, and 64 or
    /// more unless the buffer is empty.
    pub alignment: u32,
    /// HURRAY_DEVICE_*.
    pub device_tag: u8,
    /// HURRAY_SYNC_*.
    pub sync_mode: u8,
    /// HURRAY_CLASS_*.
    pub memory_class: u8,
    /// Zero.
    pub reserved: u8,
}

/// Bytes in memory. It never grows.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HurrayBytes {
    /// Where they start; may be NULL where there are none.
    pub data: *const c_void,
    /// How many they are.
    pub length: usize,
}

impl From<BufferHandle> for HurrayHandle {
    fn from(handle: BufferHandle) -> Self {
        Self {
            byte_size: handle.byte_size(),
            alignment: handle.alignment(),
            device_tag: handle.device().tag(),
            sync_mode: handle.sync().tag(),
            memory_class: handle.class().tag(),
            reserved: 0,
        }
    }
}

impl HurrayHandle {
    /// The handle, judged as if it were read. Private devices are the caller's own here.
    pub(crate) fn checked(&self) -> Result<BufferHandle> {
        let [s0, s1, s2, s3, s4, s5, s6, s7] = self.byte_size.to_le_bytes();
        let [a0, a1, a2, a3] = self.alignment.to_le_bytes();
        let (device, sync, class) = (self.device_tag, self.sync_mode, self.memory_class);
        let last = self.reserved;
        let raw = [s0, s1, s2, s3, s4, s5, s6, s7, a0, a1, a2, a3, device, sync, class, last];
        Ok(BufferHandle::decode(&raw, &Accept::every_private_tag())?)
    }
}

/// The bytes of buffers, in table order.
///
/// # Safety
///
/// The pointer leads to `count` entries, each of which leads to as many bytes as it says; all of
/// it lives and does not change for as long as the slices are used.
pub(crate) unsafe fn buffers_of<'a>(
    buffers: *const HurrayBytes,
    count: usize,
) -> Result<Vec<&'a [u8]>> {
    // SAFETY: passed on to the caller.
    let buffers = unsafe { items(buffers, count, "buffers") }?;
    let bytes = |buffer: &HurrayBytes| {
        // SAFETY: passed on to the caller.
        unsafe { items::<u8>(buffer.data.cast(), buffer.length, "buffers.data") }
    };
    buffers.iter().map(bytes).collect()
}
