//! Where the elements of a tensor lie, and whether index arrays and scales keep their rules.

use hurray_tensor::format::Location;

use crate::buffer::{HurrayBytes, buffers_of};
use crate::descriptor::{hurray_descriptor_ref, lent};
use crate::fence::fence;
use crate::pointer::{Place, items};

/// Where an element lies in buffer 0. It spans its type's bits from there upward, into the next
/// byte where they do not fit in this one. It never grows.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HurrayLocation {
    /// Bytes from the start of the buffer.
    pub byte: u64,
    /// The element's lowest bit inside that byte, 0 for types of whole bytes.
    pub bit: u8,
    /// 1 where the element is stored; 0 where a sparse tensor leaves it out, for it is zero.
    pub is_stored: u8,
    /// Zero.
    pub reserved: [u8; 6],
}

impl From<Option<Location>> for HurrayLocation {
    fn from(location: Option<Location>) -> Self {
        let is_stored = u8::from(location.is_some());
        let Location { byte, bit } = location.unwrap_or(Location { byte: 0, bit: 0 });
        Self { byte, bit, is_stored, reserved: [0; 6] }
    }
}

/// Where the element at `index`, `rank` numbers, of a dense tensor lies. Layouts whose addresses
/// are in their buffers are refused ("index.no-address").
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_locate(
    descriptor: *const hurray_descriptor_ref,
    index: *const u64,
    rank: usize,
    location: *mut HurrayLocation,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let descriptor = unsafe { lent(descriptor) }?;
        // SAFETY: the contract of the header.
        let index = unsafe { items(index, rank, "index") }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(location, "location") }?;
        out.put(Some(descriptor.locate(index)?).into());
        Ok(())
    })
}

/// Where the element at `index` lies, for any layout but block-paged and private ones. `buffers`
/// are the tensor's, in table order; they are not trusted: what is out of place is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_locate_in(
    descriptor: *const hurray_descriptor_ref,
    index: *const u64,
    rank: usize,
    buffers: *const HurrayBytes,
    buffer_count: usize,
    location: *mut HurrayLocation,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let descriptor = unsafe { lent(descriptor) }?;
        // SAFETY: the contract of the header.
        let index = unsafe { items(index, rank, "index") }?;
        // SAFETY: the contract of the header.
        let buffers = unsafe { buffers_of(buffers, buffer_count) }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(location, "location") }?;
        out.put(descriptor.locate_in(index, &buffers)?.into());
        Ok(())
    })
}

/// Where element (`head`, `dim`) of token `token` of sequence `sequence` lies in the page pool of a
/// block-paged tensor. How many tokens a sequence has is not in the format: it is the caller who
/// knows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_locate_token(
    descriptor: *const hurray_descriptor_ref,
    sequence: u32,
    token: u64,
    head: u64,
    dim: u64,
    buffers: *const HurrayBytes,
    buffer_count: usize,
    location: *mut HurrayLocation,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let descriptor = unsafe { lent(descriptor) }?;
        // SAFETY: the contract of the header.
        let buffers = unsafe { buffers_of(buffers, buffer_count) }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(location, "location") }?;
        out.put(Some(descriptor.locate_token(sequence, token, head, dim, &buffers)?).into());
        Ok(())
    })
}

/// Checks what the bytes of the buffers must be: index arrays in bounds and in order, scales and
/// zero points in range. Dense tensors without parameter buffers have nothing to check.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_check_contents(
    descriptor: *const hurray_descriptor_ref,
    buffers: *const HurrayBytes,
    buffer_count: usize,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let descriptor = unsafe { lent(descriptor) }?;
        // SAFETY: the contract of the header.
        let buffers = unsafe { buffers_of(buffers, buffer_count) }?;
        Ok(descriptor.check_contents(&buffers)?)
    })
}
