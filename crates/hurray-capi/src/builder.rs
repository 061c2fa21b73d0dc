//! New descriptors, part by part.

use hurray_tensor::format::{
    Descriptor, DescriptorBuilder, Error, Expected, Limits, MemberRole, Rule, Shard, Value,
};

use crate::buffer::HurrayHandle;
use crate::descriptor::{hurray_descriptor, hurray_descriptor_ref, lent};
use crate::dtype::{HurrayExtensionType, dtype_of};
use crate::failure::{Result, refused};
use crate::fence::{fence, fence_or};
use crate::fields::{HurrayStatistics, statistics_of};
use crate::growing::{read, read_or_zeros};
use crate::layout::{HurrayLayout, layout_of};
use crate::pointer::{Place, at, at_mut, free, give, items};
use crate::quantization::{HurrayQuantization, quantization_of};

/// The parts of a new descriptor, used by one thread at a time. Without
/// `hurray_builder_buffers` the buffer table is made of host buffers of the least size that the
/// layout and the quantization allow. What a part breaks is seen when the descriptor is built.
#[allow(non_camel_case_types, reason = "an opaque type of C")]
#[derive(Debug)]
pub struct hurray_builder {
    /// None only where adding a part panicked.
    parts: Option<DescriptorBuilder>,
    rank: usize,
}

impl hurray_builder {
    fn add(&mut self, part: impl FnOnce(DescriptorBuilder) -> DescriptorBuilder) -> Result {
        let parts = self.parts.take().ok_or_else(|| refused(Rule::CapiFinished, "builder"))?;
        self.parts = Some(part(parts));
        Ok(())
    }

    /// A copy of what is there so far.
    pub(crate) fn parts(&self) -> Result<DescriptorBuilder> {
        self.parts.clone().ok_or_else(|| refused(Rule::CapiFinished, "builder"))
    }
}

/// Starts a descriptor: row-major until told otherwise. `dtype` is HURRAY_DTYPE_*, or a private tag
/// with its record; else `extension` is NULL. HURRAY_DYNAMIC in `shape` is a size that is not known
/// yet. End the builder with `hurray_builder_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_builder_new(
    dtype: u8,
    extension: *const HurrayExtensionType,
    shape: *const u64,
    rank: usize,
    builder: *mut *mut hurray_builder,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let record = unsafe { read_or_zeros(extension, "extension") }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(builder, "builder") }?;
        let most = u64::from(Limits::RANK);
        if usize::try_from(most).is_ok_and(|most| rank > most) {
            // So many numbers are not even read.
            let found = Value::Unsigned(u64::try_from(rank).unwrap_or(u64::MAX));
            let rule = Rule::DescriptorRankTooLarge;
            return Err(Error::new(rule, "rank", 0, found, Expected::AtMost(most)).into());
        }
        // SAFETY: the contract of the header.
        let shape = unsafe { items(shape, rank, "shape") }?;
        let parts = Some(Descriptor::builder(dtype_of(dtype, record.as_ref())?, shape));
        out.put(give(hurray_builder { parts, rank }));
        Ok(())
    })
}

/// Starts a descriptor that says all that another one says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_builder_from(
    descriptor: *const hurray_descriptor_ref,
    builder: *mut *mut hurray_builder,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let descriptor = unsafe { lent(descriptor) }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(builder, "builder") }?;
        let (parts, rank) = (Some(descriptor.rebuild()), descriptor.rank());
        out.put(give(hurray_builder { parts, rank }));
        Ok(())
    })
}

/// Ends a builder; NULL is nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_builder_free(builder: *mut hurray_builder) {
    fence_or((), || {
        // SAFETY: the contract of the header.
        unsafe { free(builder) };
        Ok(())
    });
}

/// Where the elements lie. Nothing of the struct is needed afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_builder_layout(
    builder: *mut hurray_builder,
    layout: *const HurrayLayout,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let builder = unsafe { at_mut(builder, "builder") }?;
        // SAFETY: the contract of the header.
        let theirs = unsafe { read(layout, "layout") }?;
        // SAFETY: the contract of the header.
        let layout = unsafe { layout_of(&theirs, builder.rank) }?;
        builder.add(|parts| parts.layout(layout))
    })
}

/// Where the elements lie: a step in elements for each dimension, negative and 0 too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_builder_strides(
    builder: *mut hurray_builder,
    strides: *const i64,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let builder = unsafe { at_mut(builder, "builder") }?;
        // SAFETY: the contract of the header.
        let strides = unsafe { items(strides, builder.rank, "strides") }?;
        builder.add(|parts| parts.layout(hurray_tensor::format::Layout::strided(strides)))
    })
}

/// Where element [0, .., 0] starts in buffer 0, in bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_builder_byte_offset(
    builder: *mut hurray_builder,
    byte_offset: u64,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let builder = unsafe { at_mut(builder, "builder") }?;
        builder.add(|parts| parts.byte_offset(byte_offset))
    })
}

/// The buffer table: the layout's own buffers, then those of the quantization.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_builder_buffers(
    builder: *mut hurray_builder,
    handles: *const HurrayHandle,
    count: usize,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let builder = unsafe { at_mut(builder, "builder") }?;
        // SAFETY: the contract of the header.
        let handles = unsafe { items(handles, count, "handles") }?;
        let handles = handles.iter().map(HurrayHandle::checked).collect::<Result<Vec<_>>>()?;
        builder.add(|parts| parts.buffers(handles))
    })
}

/// How codes become values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_builder_quantization(
    builder: *mut hurray_builder,
    quantization: *const HurrayQuantization,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let builder = unsafe { at_mut(builder, "builder") }?;
        // SAFETY: the contract of the header.
        let theirs = unsafe { read(quantization, "quantization") }?;
        // SAFETY: the contract of the header.
        let scheme = unsafe { quantization_of(&theirs) }?;
        builder.add(|parts| parts.quantization(scheme))
    })
}

/// Which box of a larger tensor it is: that tensor's shape, and where the box starts in it, a
/// number for each dimension.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_builder_shard(
    builder: *mut hurray_builder,
    parent_shape: *const u64,
    offset: *const u64,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let builder = unsafe { at_mut(builder, "builder") }?;
        // SAFETY: the contract of the header.
        let parent_shape = unsafe { items(parent_shape, builder.rank, "parent_shape") }?;
        // SAFETY: the contract of the header.
        let offset = unsafe { items(offset, builder.rank, "offset") }?;
        builder.add(|parts| parts.shard(Shard::new(parent_shape, offset)))
    })
}

/// Advice about the values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_builder_statistics(
    builder: *mut hurray_builder,
    statistics: *const HurrayStatistics,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let builder = unsafe { at_mut(builder, "builder") }?;
        // SAFETY: the contract of the header.
        let theirs = unsafe { read(statistics, "statistics") }?;
        let statistics = statistics_of(&theirs)?;
        builder.add(|parts| parts.statistics(statistics))
    })
}

/// The part it plays in an overlay: HURRAY_MEMBER_*.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_builder_member_role(builder: *mut hurray_builder, role: u8) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let builder = unsafe { at_mut(builder, "builder") }?;
        let role = MemberRole::from_tag(role).map_err(|rule| {
            let found = Value::Unsigned(u64::from(role));
            Error::new(rule, "role", 0, found, Expected::OneOf("0 (correction) or 1 (base)"))
        })?;
        builder.add(|parts| parts.member_role(role))
    })
}

/// The descriptor that the parts make, checked as if it were read. The builder stays as it is, to be
/// used again or freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_builder_build(
    builder: *const hurray_builder,
    descriptor: *mut *mut hurray_descriptor,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let builder = unsafe { at(builder, "builder") }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(descriptor, "descriptor") }?;
        out.put(give(hurray_descriptor(builder.parts()?.build()?)));
        Ok(())
    })
}
