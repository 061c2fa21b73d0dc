//! Tensors that are parts or turns of others, and single elements.

use std::ffi::c_void;
use std::io::Write;

use ::hurray_tensor::{Cut, Tensor};

use crate::failure::Result;
use crate::fence::fence;
use crate::pointer::{Place, Room, at, give, items};
use crate::tensor::hurray_tensor;

/// Which indices of a dimension are taken. It never grows.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HurrayCut {
    /// The first of the range.
    pub start: u64,
    /// The first behind the range; HURRAY_TO_END for all that are left.
    pub end: u64,
    /// From one that is taken to the next, never 0. A negative step takes them from the last of the
    /// range backwards.
    pub step: i64,
}

/// `end` of a range that goes to the end of its dimension.
pub(crate) const HURRAY_TO_END: u64 = u64::MAX;

impl From<&HurrayCut> for Cut {
    fn from(cut: &HurrayCut) -> Self {
        let range = match cut.end {
            HURRAY_TO_END => Self::from(cut.start..),
            end => Self::from(cut.start..end),
        };
        range.by(cut.step)
    }
}

/// The element at `index`, of `rank` numbers, of any layout but block-paged, composite and private
/// ones: its bits as they lie in memory, of a quantized tensor its code, zeros where a sparse tensor
/// does not store it. An element narrower than `size` bytes is followed by zeros.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_tensor_element(
    tensor: *const hurray_tensor,
    index: *const u64,
    rank: usize,
    value: *mut c_void,
    size: usize,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let tensor = unsafe { at(tensor, "tensor") }?;
        // SAFETY: the contract of the header.
        let index = unsafe { items(index, rank, "index") }?;
        // SAFETY: the contract of the header.
        let mut room = unsafe { Room::new(value, size, "value") }?;
        let tensor = tensor.get()?;
        let bits = tensor.bits(index)?.to_le_bytes();
        let width = tensor.descriptor().dtype().bits().div_ceil(8);
        room.need(usize::try_from(width).unwrap_or(usize::MAX), "size")?;
        let (element, _) = bits.split_at_checked(size).unwrap_or((&bits, &[]));
        // There is room for all of it.
        let _ = room.write_all(element);
        room.fill_zeros();
        Ok(())
    })
}

/// The elements inside some ranges, one for each dimension from the first on; dimensions without a
/// range are taken whole. The result shares the memory, as those of all calls in this section do that
/// do not say otherwise. They are there for row-major, column-major and strided tensors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_tensor_slice(
    tensor: *const hurray_tensor,
    cuts: *const HurrayCut,
    count: usize,
    view: *mut *mut hurray_tensor,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let cuts = unsafe { items(cuts, count, "cuts") }?;
        // SAFETY: the contract of the header.
        unsafe { seen(tensor, view, |tensor| tensor.slice(cuts)) }
    })
}

/// The elements at `index` along an axis, which is no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_tensor_index(
    tensor: *const hurray_tensor,
    axis: usize,
    index: u64,
    view: *mut *mut hurray_tensor,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        unsafe { seen(tensor, view, |tensor| tensor.index_axis(axis, index)) }
    })
}

/// The dimensions in another order: the first of the result is dimension `axes[0]`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_tensor_permute(
    tensor: *const hurray_tensor,
    axes: *const usize,
    count: usize,
    view: *mut *mut hurray_tensor,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let axes = unsafe { items(axes, count, "axes") }?;
        // SAFETY: the contract of the header.
        unsafe { seen(tensor, view, |tensor| tensor.permute(axes)) }
    })
}

/// The same elements in index order, in another shape, where no element has to move ("view.reshape"
/// where one has).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_tensor_reshape(
    tensor: *const hurray_tensor,
    shape: *const u64,
    rank: usize,
    view: *mut *mut hurray_tensor,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let shape = unsafe { items(shape, rank, "shape") }?;
        // SAFETY: the contract of the header.
        unsafe { seen(tensor, view, |tensor| tensor.reshape(shape)) }
    })
}

/// Repeated to a larger shape, without memory for it: axes of size 1 are repeated, and new ones come
/// in front.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_tensor_broadcast(
    tensor: *const hurray_tensor,
    shape: *const u64,
    rank: usize,
    view: *mut *mut hurray_tensor,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let shape = unsafe { items(shape, rank, "shape") }?;
        // SAFETY: the contract of the header.
        unsafe { seen(tensor, view, |tensor| tensor.broadcast(shape)) }
    })
}

/// A copy: the same tensor, row-major in memory of its own. It takes no more than `most` bytes
/// ("view.expands" where it would); with `most` 0, no more than the buffer that the elements are in,
/// which is too little for sparse and broadcast tensors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_tensor_row_major(
    tensor: *const hurray_tensor,
    most: u64,
    copy: *mut *mut hurray_tensor,
) -> i32 {
    fence(|| {
        let copied = |tensor: &Tensor| match most {
            0 => tensor.to_row_major(),
            most => tensor.to_row_major_within(most),
        };
        // SAFETY: the contract of the header.
        unsafe { seen(tensor, copy, copied) }
    })
}

/// # Safety
///
/// The contract of the header.
unsafe fn seen(
    tensor: *const hurray_tensor,
    view: *mut *mut hurray_tensor,
    see: impl FnOnce(&Tensor) -> ::hurray_tensor::Result<Tensor>,
) -> Result {
    // SAFETY: passed on to the caller.
    let tensor = unsafe { at(tensor, "tensor") }?;
    // SAFETY: passed on to the caller.
    let mut out = unsafe { Place::new(view, "view") }?;
    out.put(give(hurray_tensor::new(see(tensor.get()?)?)));
    Ok(())
}
