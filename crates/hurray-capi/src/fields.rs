//! What a descriptor says, field by field.

use std::ptr;

use hurray_tensor::format::{Descriptor, Expected, RawStatistics, Rule, Statistics, Value};

use crate::buffer::HurrayHandle;
use crate::descriptor::{hurray_descriptor_ref, lent};
use crate::dtype::HurrayExtensionType;
use crate::failure::{Failure, Result, refuse, refused};
use crate::fence::{fence, fence_or};
use crate::growing::{Form, Growing, zeros};
use crate::pointer::{Place, zeroed};

/// Asks a descriptor for something that it always has.
///
/// # Safety
///
/// The pointer is null, or its owner lives while this runs.
pub(crate) unsafe fn ask<T>(
    descriptor: *const hurray_descriptor_ref,
    otherwise: T,
    question: impl FnOnce(&Descriptor) -> T,
) -> T {
    fence_or(otherwise, || {
        // SAFETY: passed on to the caller.
        Ok(question(unsafe { lent(descriptor) }?))
    })
}

/// The minor version of the format that the descriptor was written in; the major one is 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_version_minor(
    descriptor: *const hurray_descriptor_ref,
) -> u8 {
    // SAFETY: the contract of the header.
    unsafe { ask(descriptor, 0, |descriptor| descriptor.version().1) }
}

/// Which optional sections there are: HURRAY_HAS_*.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_flags(descriptor: *const hurray_descriptor_ref) -> u32 {
    // SAFETY: the contract of the header.
    unsafe { ask(descriptor, 0, Descriptor::flags) }
}

/// The element type: HURRAY_DTYPE_*, or a private tag.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_dtype(descriptor: *const hurray_descriptor_ref) -> u8 {
    // SAFETY: the contract of the header.
    unsafe { ask(descriptor, 0, |descriptor| descriptor.dtype().tag()) }
}

/// What the bits of a private element type are. Refused ("capi.absent") for the types that the
/// format names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_extension_type(
    descriptor: *const hurray_descriptor_ref,
    extension: *mut HurrayExtensionType,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let descriptor = unsafe { lent(descriptor) }?;
        // SAFETY: the contract of the header.
        let mut form = unsafe { Form::new(extension, "extension") }?;
        form.fill(HurrayExtensionType::of(descriptor.dtype())?);
        Ok(())
    })
}

/// The number of dimensions, 0 for a scalar.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_rank(descriptor: *const hurray_descriptor_ref) -> usize {
    // SAFETY: the contract of the header.
    unsafe { ask(descriptor, 0, Descriptor::rank) }
}

/// One size for each dimension, outermost first; HURRAY_DYNAMIC where one is not known yet. Good
/// for as long as the descriptor is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_shape(
    descriptor: *const hurray_descriptor_ref,
) -> *const u64 {
    // SAFETY: the contract of the header.
    unsafe { ask(descriptor, ptr::null(), |descriptor| descriptor.shape().as_ptr()) }
}

/// The number of elements: 1 for a scalar, 0 where some dimension is 0. UINT64_MAX where a
/// dimension is dynamic, or the count needs more than 64 bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_element_count(
    descriptor: *const hurray_descriptor_ref,
) -> u64 {
    // SAFETY: the contract of the header.
    unsafe { ask(descriptor, 0, |descriptor| descriptor.element_count().unwrap_or(u64::MAX)) }
}

/// Whether some dimension is not known yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_is_dynamic(
    descriptor: *const hurray_descriptor_ref,
) -> bool {
    // SAFETY: the contract of the header.
    unsafe { ask(descriptor, false, Descriptor::is_dynamic) }
}

/// Where element [0, .., 0] starts in buffer 0, in bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_byte_offset(
    descriptor: *const hurray_descriptor_ref,
) -> u64 {
    // SAFETY: the contract of the header.
    unsafe { ask(descriptor, 0, Descriptor::byte_offset) }
}

/// The number of buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_buffer_count(
    descriptor: *const hurray_descriptor_ref,
) -> usize {
    // SAFETY: the contract of the header.
    unsafe { ask(descriptor, 0, Descriptor::buffer_count) }
}

/// The sum of all buffers' sizes in bytes, UINT64_MAX where it is more than that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_data_bytes(
    descriptor: *const hurray_descriptor_ref,
) -> u64 {
    // SAFETY: the contract of the header.
    unsafe { ask(descriptor, 0, Descriptor::data_bytes) }
}

/// Buffer `place` of the table, from 0: the layout's own buffers come first, then those of the
/// quantization.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_buffer(
    descriptor: *const hurray_descriptor_ref,
    place: usize,
    handle: *mut HurrayHandle,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let descriptor = unsafe { lent(descriptor) }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(handle, "handle") }?;
        let handle = descriptor.buffer(place).ok_or_else(|| past_the_last("place", place))?;
        out.put(HurrayHandle::from(handle));
        Ok(())
    })
}

/// Which box of a larger tensor it is: that tensor's shape, and where the box starts in it, a
/// number for each dimension. Refused ("capi.absent") where it is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_shard(
    descriptor: *const hurray_descriptor_ref,
    parent_shape: *mut u64,
    offset: *mut u64,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let descriptor = unsafe { lent(descriptor) }?;
        let shard = descriptor.shard().ok_or_else(|| refused(Rule::CapiAbsent, "shard"))?;
        let rank = descriptor.rank();
        // SAFETY: the contract of the header; one array is filled before the other is looked at.
        let place = unsafe { zeroed(parent_shape, rank, "parent_shape") }?;
        place.iter_mut().zip(shard.parent_shape().items()).for_each(|(to, size)| *to = size);
        // SAFETY: the contract of the header.
        let place = unsafe { zeroed(offset, rank, "offset") }?;
        place.iter_mut().zip(shard.offset().items()).for_each(|(to, start)| *to = start);
        Ok(())
    })
}

/// The part it plays in an overlay: HURRAY_MEMBER_*. Refused ("capi.absent") where it plays none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_member_role(
    descriptor: *const hurray_descriptor_ref,
    role: *mut u8,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let descriptor = unsafe { lent(descriptor) }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(role, "role") }?;
        let role = descriptor.member_role().ok_or_else(|| refused(Rule::CapiAbsent, "role"))?;
        out.put(role.tag());
        Ok(())
    })
}

/// Advice about the values of a tensor, never relied on. A field counts where its bit of the mask
/// is set.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HurrayStatistics {
    /// sizeof(struct HurrayStatistics).
    pub struct_size: u32,
    /// Which fields were computed: HURRAY_COMPUTED_*.
    pub computed_mask: u32,
    /// Elements that are not zero.
    pub nnz: u64,
    /// The share of zeros, 0 to 1.
    pub sparsity_ratio: f64,
    /// The least value.
    pub value_min: f64,
    /// The greatest value.
    pub value_max: f64,
    /// The greatest magnitude.
    pub value_abs_max: f64,
    /// The mean.
    pub value_mean: f64,
    /// The population standard deviation.
    pub value_stddev: f64,
    /// N of an N:M sparsity.
    pub nm_n: u8,
    /// M of it.
    pub nm_m: u8,
    /// 1 where some value is NaN, else 0.
    pub has_nan: u8,
    /// 1 where some value is infinite, else 0.
    pub has_inf: u8,
    /// Zero.
    pub reserved: [u8; 4],
}

// SAFETY: as the trait asks; numbers are values whatever their bits.
unsafe impl Growing for HurrayStatistics {
    const FIRST: usize = 72;
}

/// Advice about the values. Refused ("capi.absent") where there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_statistics(
    descriptor: *const hurray_descriptor_ref,
    statistics: *mut HurrayStatistics,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let descriptor = unsafe { lent(descriptor) }?;
        // SAFETY: the contract of the header.
        let mut form = unsafe { Form::new(statistics, "statistics") }?;
        let absent = || refused(Rule::CapiAbsent, "statistics");
        form.fill(HurrayStatistics::from(descriptor.statistics().ok_or_else(absent)?.raw()));
        Ok(())
    })
}

/// One of the two structs of statistics, from the other: what both have, and `rest`.
macro_rules! statistics {
    ($from:expr => $into:ident { $($rest:tt)* }) => {
        $into {
            computed_mask: $from.computed_mask,
            nnz: $from.nnz,
            sparsity_ratio: $from.sparsity_ratio,
            value_min: $from.value_min,
            value_max: $from.value_max,
            value_abs_max: $from.value_abs_max,
            value_mean: $from.value_mean,
            value_stddev: $from.value_stddev,
            nm_n: $from.nm_n,
            nm_m: $from.nm_m,
            has_nan: $from.has_nan,
            has_inf: $from.has_inf,
            $($rest)*
        }
    };
}

impl From<RawStatistics> for HurrayStatistics {
    fn from(raw: RawStatistics) -> Self {
        statistics!(raw => Self { struct_size: 0, reserved: [0; 4] })
    }
}

/// The statistics that a caller gives. Whether they are in range is judged with the descriptor.
pub(crate) fn statistics_of(theirs: &HurrayStatistics) -> Result<Statistics> {
    zeros(&theirs.reserved)?;
    Ok(Statistics::from_raw(&statistics!(theirs => RawStatistics {})))
}

/// Something was asked for that is not there.
pub(crate) fn past_the_last(name: &'static str, place: usize) -> Failure {
    let found = Value::Unsigned(u64::try_from(place).unwrap_or(u64::MAX));
    refuse(Rule::CapiPlace, name, found, Expected::Unsaid)
}
