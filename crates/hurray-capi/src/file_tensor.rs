//! One tensor of an open file.

use std::ffi::{c_char, c_void};
use std::io::Write;
use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use ::hurray_tensor::{File, FileTensor};

use crate::descriptor::{hurray_descriptor_ref, lend};
use crate::failure::Result;
use crate::fence::{fence, fence_or};
use crate::fields::past_the_last;
use crate::pointer::{Place, Room, at, free, give};
use crate::tensor::hurray_tensor;

/// A tensor of a file: its descriptor read and checked, its bytes not yet. It keeps the file open.
/// Any number of threads may use it at once.
#[allow(non_camel_case_types, reason = "an opaque type of C")]
#[derive(Debug)]
pub struct hurray_file_tensor {
    /// It borrows from the file, and is dropped before it.
    tensor: FileTensor<'static>,
    _file: Arc<File>,
}

impl hurray_file_tensor {
    /// The tensor that `find` finds in the file.
    pub(crate) fn of(
        file: &Arc<File>,
        find: impl for<'f> FnOnce(&'f File) -> Result<FileTensor<'f>>,
    ) -> Result<Self> {
        let file = Arc::clone(file);
        // SAFETY: the file is on the heap, where it stays for as long as a count of it is held.
        // One is `_file`, which is dropped after the tensor that borrows; and `find`, which works
        // for any lifetime, keeps nothing.
        let kept: &'static File = unsafe { &*Arc::as_ptr(&file) };
        Ok(Self { tensor: find(kept)?, _file: file })
    }

    /// Where buffer `place` lies in the file.
    fn range(&self, place: usize) -> Result<&Range<u64>> {
        self.tensor.buffer_ranges().get(place).ok_or_else(|| past_the_last("buffer", place))
    }
}

/// Ends a tensor of a file; NULL is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_file_tensor_free(tensor: *mut hurray_file_tensor) {
    fence_or((), || {
        // SAFETY: the contract of the header.
        unsafe { free(tensor) };
        Ok(())
    });
}

/// The tensor's own name, also where it was found by an alias: UTF-8 with no zero byte behind it,
/// and `length` bytes long. Good for as long as the tensor is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_file_tensor_name(
    tensor: *const hurray_file_tensor,
    length: *mut usize,
) -> *const c_char {
    fence_or(ptr::null(), || {
        // SAFETY: the contract of the header.
        let tensor = unsafe { at(tensor, "tensor") }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(length, "length") }?;
        let name = tensor.tensor.name();
        out.put(name.len());
        Ok(name.as_ptr().cast())
    })
}

/// What the tensor is. Good for as long as the tensor is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_file_tensor_descriptor(
    tensor: *const hurray_file_tensor,
) -> *const hurray_descriptor_ref {
    fence_or(ptr::null(), || {
        // SAFETY: the contract of the header.
        let tensor = unsafe { at(tensor, "tensor") }?;
        Ok(lend(tensor.tensor.descriptor()))
    })
}

/// Where buffer `buffer`, from 0, lies in the file: its offset and its length, in bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_file_tensor_range(
    tensor: *const hurray_file_tensor,
    buffer: usize,
    offset: *mut u64,
    length: *mut u64,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let tensor = unsafe { at(tensor, "tensor") }?;
        // SAFETY: the contract of the header.
        let mut offset = unsafe { Place::new(offset, "offset") }?;
        // SAFETY: the contract of the header.
        let mut length = unsafe { Place::new(length, "length") }?;
        let range = tensor.range(buffer)?;
        offset.put(range.start);
        length.put(range.end.saturating_sub(range.start));
        Ok(())
    })
}

/// The bytes of a buffer where they lie, without a copy. NULL where the file is read and not mapped.
/// Good for as long as the tensor is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_file_tensor_mapped(
    tensor: *const hurray_file_tensor,
    buffer: usize,
) -> *const c_void {
    fence_or(ptr::null(), || {
        // SAFETY: the contract of the header.
        let tensor = unsafe { at(tensor, "tensor") }?;
        tensor.range(buffer)?;
        Ok(tensor.tensor.mapped(buffer).map_or(ptr::null(), |bytes| bytes.as_ptr().cast()))
    })
}

/// Copies the bytes of a buffer to `bytes`, where there is room for `capacity` of them. They are not
/// compared with a checksum.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_file_tensor_read(
    tensor: *const hurray_file_tensor,
    buffer: usize,
    bytes: *mut c_void,
    capacity: usize,
) -> i32 {
    fence(|| {
        let copy = |tensor: &FileTensor<'_>, out: &mut dyn Write| tensor.copy_buffer(buffer, out);
        // SAFETY: the contract of the header.
        unsafe { read(tensor, buffer, bytes, capacity, copy) }
    })
}

/// The same, compared with the buffer's checksum where the file has one. On an error the bytes are
/// not to be used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_file_tensor_read_checked(
    tensor: *const hurray_file_tensor,
    buffer: usize,
    bytes: *mut c_void,
    capacity: usize,
) -> i32 {
    fence(|| {
        let copy = |tensor: &FileTensor<'_>, out: &mut dyn Write| tensor.copy_checked(buffer, out);
        // SAFETY: the contract of the header.
        unsafe { read(tensor, buffer, bytes, capacity, copy) }
    })
}

/// # Safety
///
/// The contract of the header.
unsafe fn read(
    tensor: *const hurray_file_tensor,
    buffer: usize,
    bytes: *mut c_void,
    capacity: usize,
    copy: impl FnOnce(&FileTensor<'_>, &mut dyn Write) -> ::hurray_tensor::Result<u64>,
) -> Result {
    // SAFETY: passed on to the caller.
    let tensor = unsafe { at(tensor, "tensor") }?;
    // SAFETY: passed on to the caller.
    let mut room = unsafe { Room::new(bytes, capacity, "bytes") }?;
    let range = tensor.range(buffer)?;
    let length = range.end.saturating_sub(range.start);
    room.need(usize::try_from(length).unwrap_or(usize::MAX), "capacity")?;
    copy(&tensor.tensor, &mut room)?;
    Ok(())
}

/// The tensor in memory: of a mapped file without a copy, read-only, and good after the file was closed;
/// else read. Its index arrays, scales and zero points are checked, its data is not compared with a
/// checksum. End it with `hurray_tensor_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_file_tensor_load(
    tensor: *const hurray_file_tensor,
    loaded: *mut *mut hurray_tensor,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let tensor = unsafe { at(tensor, "tensor") }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(loaded, "loaded") }?;
        out.put(give(hurray_tensor::new(tensor.tensor.to_tensor()?)));
        Ok(())
    })
}

/// Checks the tensor: its checksums, where the file has them, and what its index and parameter
/// buffers hold.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_file_tensor_verify(tensor: *const hurray_file_tensor) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let tensor = unsafe { at(tensor, "tensor") }?;
        Ok(tensor.tensor.verify()?)
    })
}
