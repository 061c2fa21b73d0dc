//! Quantization (specification page 05): how stored codes become values.
//!
//! One file a scheme, each with its fields, wire form and rules. This file is the table
//! that joins them; what ties a scheme to a layout stands in
//! [`descriptor`](crate::Descriptor).

mod affine;
mod mxfp;
mod nf4;
mod parameters;
pub mod tag;

pub use affine::{PerBlock, PerChannel, PerTensor};
pub use mxfp::Mxfp;
pub use nf4::{NF4_TABLE, Nf4};

pub(crate) use parameters::{IndexRules, Parameter, Parameters};

use crate::accept::Accept;
use crate::contents::Contents;
use crate::dtype::Dtype;
use crate::error::{Error, Expected, Result, Value};
use crate::rules::Rule;
use crate::shape::Count;
use crate::wire::{Array, Borrowed, Owned, Reader, Storage, Trace, WireArray, Writer, as_offset};

/// How stored codes become values. Buffer indices name entries of the buffer table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Quantization<S: Storage = Owned> {
    /// One scale and zero point for the tensor.
    PerTensor(PerTensor),
    /// One for each index along an axis.
    PerChannel(PerChannel),
    /// One for each block along an axis.
    PerBlock(PerBlock),
    /// Four-bit normal floats with an absmax scale for each block.
    Nf4(Nf4),
    /// OCP microscaling: small floats or integers with a power-of-two scale for each
    /// block.
    Mxfp(Mxfp),
    /// A scheme of the private range; its version and flags are its own.
    Private {
        /// Its tag, 0xF0–0xFE.
        tag: u8,
        /// Its version byte.
        version: u8,
        /// Its flags.
        flags: u16,
        /// What follows.
        payload: S::Bytes,
    },
}

/// How many blocks a tensor has. A partial last block counts. `block_size` is a power of
/// two, by which a shift divides.
#[inline(always)]
pub(crate) fn blocks(shape: &impl Array<u64>, axis: u32, block_size: u32) -> Count {
    let axis = crate::wire::as_index(u64::from(axis));
    let shift = block_size.trailing_zeros();
    crate::shape::count_of(shape, |k, size| {
        if k != axis {
            return size;
        }
        let whole = size.checked_shr(shift).unwrap_or(0);
        let is_partial = whole.checked_shl(shift) != Some(size);
        whole.saturating_add(u64::from(is_partial))
    })
}

/// What a scheme's payload is read against.
pub(crate) struct Context<'s> {
    pub(crate) type_tag: u8,
    /// The type, where it is not private or unknown.
    pub(crate) dtype: Option<Dtype>,
    pub(crate) shape: WireArray<'s, u64>,
    pub(crate) accept: &'s Accept,
}

impl<'a> Quantization<Borrowed<'a>> {
    /// Reads `quantization_length` and the payload into `place`; or into `unknown`, why a
    /// strict reader refuses the scheme, which a permissive one steps over. Says whether
    /// every byte was kept.
    #[inline(always)]
    pub(crate) fn load<T: Trace>(
        r: &mut Reader<'a, '_, T>,
        context: &Context<'_>,
        place: &mut Option<Self>,
        unknown: &mut Option<Error>,
    ) -> Result<bool> {
        const S: &str = "quantization";
        let block = r.block::<4>(S)?;
        let length = r.u32(&block, 0, "quantization_length");
        let start = r.position();
        let left = as_offset(r.left());
        if u64::from(length) > left {
            let found = Value::Unsigned(u64::from(length));
            let rule = Rule::DescriptorOverrun;
            let expected = Expected::AtMost(left);
            return Err(block.refuse(rule, 0, "quantization_length", found, expected));
        }
        let short = |needed: u64| {
            let found = Value::Unsigned(u64::from(length));
            let rule = Rule::QuantLengthTooShort;
            block.refuse(rule, 0, "quantization_length", found, Expected::AtLeast(needed))
        };
        if length < 4 {
            return Err(short(4));
        }
        let head = r.block::<4>(S)?;
        let tag = r.tag(&head, 0, "scheme_tag");
        let version = r.u8(&head, 1, "scheme_version");
        let flags = r.flags16(&head, 2, "flags");
        let payload = u64::from(length).saturating_sub(4);

        let is_named = matches!(tag, tag::PER_TENSOR..=tag::MXFP);
        if !is_named && let Some((rule, expected)) = tag_fault(tag, context.accept) {
            let found = Value::Tag(u64::from(tag));
            let error = head.refuse(rule, 0, "scheme_tag", found, expected);
            r.opaque(S, "payload", payload)?;
            if tag == 0 || tag == 0xFF {
                return Err(error);
            }
            *unknown = Some(error);
            return Ok(false);
        }
        if tag >= 0xF0 {
            let payload = r.opaque(S, "payload", payload)?;
            *place = Some(Self::Private { tag, version, flags, payload });
            return Ok(true);
        }
        if version != 1 {
            let found = Value::Unsigned(u64::from(version));
            let rule = Rule::QuantSchemeVersion;
            return Err(head.refuse(rule, 1, "scheme_version", found, Expected::Exactly(1)));
        }
        let known_flags = if matches!(tag, tag::PER_CHANNEL | tag::PER_BLOCK) { 1 } else { 0 };
        if flags & !known_flags != 0 {
            let found = Value::Tag(u64::from(flags));
            let rule = Rule::QuantReservedFlag;
            let expected = Expected::AtMost(u64::from(known_flags));
            return Err(head.refuse(rule, 2, "flags", found, expected));
        }
        let size: u64 = match tag {
            tag::PER_CHANNEL => 20,
            tag::PER_BLOCK => 24,
            _ => 16,
        };
        if u64::from(length) < size {
            return Err(short(size));
        }
        let symmetric = flags & 1 == 1;
        *place = Some(match tag {
            tag::PER_TENSOR => Self::PerTensor(PerTensor::load(r, context)?),
            tag::PER_CHANNEL => Self::PerChannel(PerChannel::load(r, context, symmetric)?),
            tag::PER_BLOCK => Self::PerBlock(PerBlock::load(r, context, symmetric)?),
            tag::NF4 => Self::Nf4(Nf4::load(r, context)?),
            _ => Self::Mxfp(Mxfp::load(r, context)?),
        });
        // Bytes after the known fields belong to a later version: stepped over, not kept.
        let read = r.position().saturating_sub(start);
        if read == u64::from(length) {
            return Ok(true);
        }
        r.opaque(S, "ignored", u64::from(length).saturating_sub(read))?;
        Ok(false)
    }
}

#[cold]
fn tag_fault(tag: u8, accept: &Accept) -> Option<(Rule, Expected)> {
    let known = Expected::OneOf("0x01 to 0x05, or an agreed private scheme");
    Some(match tag {
        0x00 | 0xFF => (Rule::QuantInvalidScheme, known),
        0xF0..=0xFE if accept.schemes.has(tag) => return None,
        0xF0..=0xFE => (Rule::QuantPrivateScheme, Expected::Unsaid),
        0x60..=0xEF => (Rule::QuantReservedScheme, known),
        _ => (Rule::QuantUnknownScheme, known),
    })
}

/// Refuses a storage type that a scheme does not have. No scheme stores private types.
pub(crate) fn need_storage(
    context: &Context<'_>,
    allowed: fn(Dtype) -> bool,
    rule: Rule,
    names: &'static str,
) -> Result<()> {
    let refused = match context.dtype {
        Some(dtype) => !allowed(dtype),
        None => matches!(context.type_tag, 0xF0..=0xFE),
    };
    if !refused {
        return Ok(());
    }
    let found = Value::Tag(u64::from(context.type_tag));
    Err(Error::new(rule, "type_tag", 14, found, Expected::OneOf(names)))
}

impl<S: Storage> Quantization<S> {
    /// Its tag on the wire.
    pub const fn tag(&self) -> u8 {
        match self {
            Self::PerTensor(_) => tag::PER_TENSOR,
            Self::PerChannel(_) => tag::PER_CHANNEL,
            Self::PerBlock(_) => tag::PER_BLOCK,
            Self::Nf4(_) => tag::NF4,
            Self::Mxfp(_) => tag::MXFP,
            Self::Private { tag, .. } => *tag,
        }
    }

    /// Its name in the specification.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::PerTensor(_) => "per-tensor",
            Self::PerChannel(_) => "per-channel",
            Self::PerBlock(_) => "per-block",
            Self::Nf4(_) => "nf4",
            Self::Mxfp(_) => "mxfp",
            Self::Private { .. } => "private",
        }
    }

    /// The version and flags of its header.
    pub fn header(&self) -> (u8, u16) {
        match self {
            Self::PerChannel(scheme) => (1, u16::from(scheme.zero_points.is_none())),
            Self::PerBlock(scheme) => (1, u16::from(scheme.zero_points.is_none())),
            Self::Private { version, flags, .. } => (*version, *flags),
            _ => (1, 0),
        }
    }

    /// The buffers that hold its parameters. A paged tensor has one block for each of its
    /// `slots`, whatever its shape.
    #[inline(always)]
    pub(crate) fn parameters(&self, shape: &impl Array<u64>, slots: Option<Count>) -> Parameters {
        match self {
            Self::PerChannel(scheme) => scheme.parameters(shape),
            Self::PerBlock(scheme) => scheme.parameters(shape, slots),
            Self::Nf4(scheme) => scheme.parameters(shape),
            Self::Mxfp(scheme) => scheme.parameters(shape),
            Self::PerTensor(_) | Self::Private { .. } => Parameters::NONE,
        }
    }

    /// Checks the values of scales and zero points.
    pub(crate) fn check_values(&self, dtype: Dtype, buffers: &[Contents<'_>]) -> Result<()> {
        match self {
            Self::PerChannel(scheme) => scheme.check_values(dtype, buffers),
            Self::PerBlock(scheme) => scheme.check_values(buffers),
            Self::Nf4(scheme) => scheme.check_values(buffers),
            Self::Mxfp(scheme) => scheme.check_values(buffers),
            Self::PerTensor(_) | Self::Private { .. } => Ok(()),
        }
    }

    /// The length of the whole section.
    pub(crate) fn encoded_len(&self) -> usize {
        match self {
            Self::PerChannel(_) => 24,
            Self::PerBlock(_) => 28,
            Self::PerTensor(_) | Self::Nf4(_) | Self::Mxfp(_) => 20,
            Self::Private { payload, .. } => payload.as_ref().len().saturating_add(8),
        }
    }

    /// The whole section. All but private schemes are numbers of 32 bits from end to end.
    pub(crate) fn store(&self, w: &mut Writer<'_>) {
        let length = u32::try_from(self.encoded_len().saturating_sub(4)).unwrap_or(u32::MAX);
        let (version, flags) = self.header();
        let [f0, f1] = flags.to_le_bytes();
        let head = u32::from_le_bytes([self.tag(), version, f0, f1]);
        let short = |w: &mut Writer<'_>, [a, b, c]: [u32; 3]| w.words([length, head, a, b, c]);
        match self {
            Self::PerTensor(scheme) => short(w, scheme.words()),
            Self::PerChannel(scheme) => {
                let [a, b, c, d] = scheme.words();
                w.words([length, head, a, b, c, d]);
            }
            Self::PerBlock(scheme) => {
                let [a, b, c, d, e] = scheme.words();
                w.words([length, head, a, b, c, d, e]);
            }
            Self::Nf4(scheme) => short(w, scheme.words()),
            Self::Mxfp(scheme) => short(w, scheme.words()),
            Self::Private { payload, .. } => {
                w.words([length, head]);
                w.bytes(payload.as_ref());
            }
        }
    }

    /// The same scheme, keeping its own bytes.
    #[inline(always)]
    pub fn to_owned(&self) -> Quantization {
        match self {
            Self::PerTensor(scheme) => Quantization::PerTensor(*scheme),
            Self::PerChannel(scheme) => Quantization::PerChannel(*scheme),
            Self::PerBlock(scheme) => Quantization::PerBlock(*scheme),
            Self::Nf4(scheme) => Quantization::Nf4(*scheme),
            Self::Mxfp(scheme) => Quantization::Mxfp(*scheme),
            Self::Private { tag, version, flags, payload } => Quantization::Private {
                tag: *tag,
                version: *version,
                flags: *flags,
                payload: payload.as_ref().into(),
            },
        }
    }
}
