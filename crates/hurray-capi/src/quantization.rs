//! Quantization: how stored codes become values.

use std::ffi::c_void;
use std::ptr;

use hurray_tensor::format::{
    Mxfp, Nf4, PerBlock, PerChannel, PerTensor, Quantization, Rule, scheme_tag,
};

use crate::descriptor::{hurray_descriptor_ref, lent};
use crate::dtype::dtype_of;
use crate::failure::{Result, refused};
use crate::fence::fence;
use crate::growing::{Form, Growing, zeros};
use crate::pointer::items;

/// How stored codes become values. Which fields count is decided by the scheme; the others are
/// zero in an answer, and not looked at in a question. Buffers are named by their place in the
/// buffer table.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HurrayQuantization {
    /// sizeof(struct HurrayQuantization).
    pub struct_size: u32,
    /// HURRAY_SCHEME_*, or a private tag.
    pub scheme: u8,
    /// The version of a private scheme; that of the others is 1.
    pub version: u8,
    /// The flags of a private scheme. In an answer also those of the others.
    pub flags: u16,
    /// All but per-tensor: the dimension that has its own scale at each index or block.
    pub axis: u32,
    /// Per-block, NF4, MXFP: elements in a block.
    pub block_size: u32,
    /// All but per-tensor: the buffer of scales.
    pub scales: u32,
    /// Per-channel, per-block: the buffer of zero points; HURRAY_NO_BUFFER is symmetric.
    pub zero_points: u32,
    /// Per-tensor: the scale.
    pub scale: f32,
    /// Per-tensor: the zero point.
    pub zero_point: i32,
    /// Per-block: the type of the scales.
    pub scale_type: u8,
    /// Zero.
    pub reserved: [u8; 7],
    /// Private: what belongs to the scheme.
    pub payload: *const c_void,
    /// Private: how many bytes that is.
    pub payload_length: usize,
}

// SAFETY: as the trait asks; numbers and pointers are values whatever their bits.
unsafe impl Growing for HurrayQuantization {
    const FIRST: usize = 56;
}

/// `zero_points` of a symmetric scheme, which has none.
pub(crate) const HURRAY_NO_BUFFER: u32 = 0xFFFF_FFFF;

/// How codes become values. Refused ("capi.absent") where the tensor is not quantized. The payload
/// is good for as long as the descriptor is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_quantization(
    descriptor: *const hurray_descriptor_ref,
    quantization: *mut HurrayQuantization,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let descriptor = unsafe { lent(descriptor) }?;
        // SAFETY: the contract of the header.
        let mut form = unsafe { Form::new(quantization, "quantization") }?;
        let absent = || refused(Rule::CapiAbsent, "quantization");
        form.fill(told(descriptor.quantization().ok_or_else(absent)?));
        Ok(())
    })
}

fn told(scheme: &Quantization) -> HurrayQuantization {
    let (version, flags) = scheme.header();
    let plain = HurrayQuantization {
        struct_size: 0,
        scheme: scheme.tag(),
        version,
        flags,
        axis: 0,
        block_size: 0,
        scales: 0,
        zero_points: 0,
        scale: 0.0,
        zero_point: 0,
        scale_type: 0,
        reserved: [0; 7],
        payload: ptr::null(),
        payload_length: 0,
    };
    match scheme {
        Quantization::PerTensor(PerTensor { scale, zero_point }) => {
            HurrayQuantization { scale: *scale, zero_point: *zero_point, ..plain }
        }
        Quantization::PerChannel(PerChannel { axis, scales, zero_points }) => HurrayQuantization {
            axis: *axis,
            scales: *scales,
            zero_points: zero_points.unwrap_or(HURRAY_NO_BUFFER),
            ..plain
        },
        Quantization::PerBlock(block) => HurrayQuantization {
            axis: block.axis,
            block_size: block.block_size,
            scales: block.scales,
            zero_points: block.zero_points.unwrap_or(HURRAY_NO_BUFFER),
            scale_type: block.scale_type.tag(),
            ..plain
        },
        Quantization::Nf4(Nf4 { axis, block_size, scales })
        | Quantization::Mxfp(Mxfp { axis, block_size, scales }) => {
            HurrayQuantization { axis: *axis, block_size: *block_size, scales: *scales, ..plain }
        }
        Quantization::Private { payload, .. } => HurrayQuantization {
            payload: payload.as_ptr().cast(),
            payload_length: payload.len(),
            ..plain
        },
        _ => plain,
    }
}

/// The scheme that a caller describes. Whether the format allows it is judged with the
/// descriptor.
///
/// # Safety
///
/// The payload of a private scheme is as long as it says, and lives while this runs.
pub(crate) unsafe fn quantization_of(theirs: &HurrayQuantization) -> Result<Quantization> {
    zeros(&theirs.reserved)?;
    let (axis, block_size, scales) = (theirs.axis, theirs.block_size, theirs.scales);
    let zero_points = Some(theirs.zero_points).filter(|index| *index != HURRAY_NO_BUFFER);
    Ok(match theirs.scheme {
        scheme_tag::PER_TENSOR => Quantization::PerTensor(PerTensor {
            scale: theirs.scale,
            zero_point: theirs.zero_point,
        }),
        scheme_tag::PER_CHANNEL => {
            Quantization::PerChannel(PerChannel { axis, scales, zero_points })
        }
        scheme_tag::PER_BLOCK => {
            let scale_type = dtype_of(theirs.scale_type, None)?;
            Quantization::PerBlock(PerBlock { axis, block_size, scales, zero_points, scale_type })
        }
        scheme_tag::NF4 => Quantization::Nf4(Nf4 { axis, block_size, scales }),
        scheme_tag::MXFP => Quantization::Mxfp(Mxfp { axis, block_size, scales }),
        // A tag that the format does not know is refused with the descriptor.
        tag => {
            let (payload, length) = (theirs.payload.cast::<u8>(), theirs.payload_length);
            // SAFETY: passed on to the caller.
            let payload = unsafe { items(payload, length, "payload") }?.into();
            Quantization::Private { tag, version: theirs.version, flags: theirs.flags, payload }
        }
    })
}
