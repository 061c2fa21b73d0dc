//! The one decoder. Each section's own rules are in the section's file; the rules that
//! tie sections together are in `cross`.

use core::mem::MaybeUninit;

use super::cross::{self, Places};
use super::head::Head;
use super::reading::{InPlace, Kept, Matched, Permissively, Placed, Reading, Scheme};
use super::{
    Descriptor, DescriptorRef, ExtensionType, Foreign, HEADER_LEN, MAGIC, MemberRole, Permissive,
    Shard, Statistics, VERSION_MAJOR, flag,
};
use crate::accept::Accept;
use crate::buffer::BufferHandle;
use crate::dtype::{Dtype, PrivateDtype};
use crate::error::{Error, Expected, Result, Value};
use crate::layout::{self, Layout, LayoutKind};
use crate::limits::Limits;
use crate::quant::{Context, Quantization};
use crate::rules::Rule;
use crate::wire::{Reader, Silent, Trace, WireArray, as_index, as_offset};

impl Descriptor {
    /// Reads a descriptor, which is all of `bytes`, and keeps its own arrays.
    ///
    /// # Errors
    ///
    /// Every rule of pages 01 to 05; private tags are refused (see
    /// [`decode_with`](Self::decode_with)).
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        read(bytes, &Accept::NONE, &mut Silent, Kept)
    }

    /// Reads a descriptor with private tags that were agreed, and shows `trace` each
    /// field.
    ///
    /// # Errors
    ///
    /// As [`decode`](Self::decode).
    pub fn decode_with<T: Trace>(bytes: &[u8], accept: &Accept, trace: &mut T) -> Result<Self> {
        read(bytes, accept, trace, Kept)
    }

    /// Reads a descriptor with private tags that were agreed into `place`, and answers what is
    /// there then. A value as large as this is slow to move: in a place of its own it need not be.
    ///
    /// ```
    /// use std::mem::MaybeUninit;
    /// use hurray_format::{Accept, Descriptor, Dtype};
    /// let bytes = Descriptor::dense(Dtype::Int16, &[2, 5])?.encode();
    /// let mut place = MaybeUninit::uninit();
    /// let read = Descriptor::decode_at(&bytes, &Accept::default(), &mut place)?;
    /// assert_eq!(read.shape(), [2, 5]);
    /// # Ok::<(), hurray_format::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`decode`](Self::decode); nothing is in `place` then that would have to be dropped.
    pub fn decode_at<'p>(
        bytes: &[u8],
        accept: &Accept,
        place: &'p mut MaybeUninit<Self>,
    ) -> Result<&'p mut Self> {
        read(bytes, accept, &mut Silent, Placed(place))
    }

    /// The length of the descriptor that starts `prefix`, from its first 10 bytes.
    ///
    /// # Errors
    ///
    /// `descriptor.magic`, `.version-major…`, `.length-below-header`, or `.truncated`
    /// where there are not 10 bytes.
    pub fn length_of(prefix: &[u8]) -> Result<u32> {
        start(prefix).map(|(_, length)| length)
    }
}

impl<'a> DescriptorRef<'a> {
    /// Reads a descriptor, which is all of `bytes`, in place.
    ///
    /// ```
    /// use hurray_format::{Array, Descriptor, DescriptorRef, Dtype};
    /// let bytes = Descriptor::dense(Dtype::Int16, &[2, 5])?.encode();
    /// let descriptor = DescriptorRef::read(&bytes)?;
    /// assert_eq!(descriptor.shape().at(1), Some(5));
    /// # Ok::<(), hurray_format::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Descriptor::decode`].
    pub fn read(bytes: &'a [u8]) -> Result<Self> {
        read(bytes, &Accept::NONE, &mut Silent, InPlace)
    }

    /// Reads a descriptor in place with private tags that were agreed, and shows `trace`
    /// each field.
    ///
    /// # Errors
    ///
    /// As [`Descriptor::decode`].
    pub fn read_with<T: Trace>(bytes: &'a [u8], accept: &Accept, trace: &mut T) -> Result<Self> {
        read(bytes, accept, trace, InPlace)
    }

    /// Reads a descriptor in place, to be refused by `check` where its buffers are not those
    /// that come with it, or its layout is of no use.
    ///
    /// # Errors
    ///
    /// As [`Descriptor::decode`]; what `check` says.
    #[inline]
    pub fn read_for<E: From<Error>>(
        bytes: &'a [u8],
        accept: &Accept,
        check: impl FnOnce(WireArray<'a, BufferHandle>, LayoutKind) -> Result<(), E>,
    ) -> Result<Self, E> {
        read(bytes, accept, &mut Silent, Matched(check))
    }

    /// Reads a descriptor as a relay does: one whose element type, layout or quantization
    /// scheme is not known comes back as another type, which cannot reach data.
    ///
    /// # Errors
    ///
    /// Every rule of a section by itself, and between sections those that do not depend
    /// on what is unknown.
    pub fn read_permissive(bytes: &'a [u8], accept: &Accept) -> Result<Permissive<'a>> {
        read(bytes, accept, &mut Silent, Permissively)
    }
}

/// Minor version and length, from the first 10 bytes.
#[inline(always)]
fn start(input: &[u8]) -> Result<(u8, u32)> {
    match input.first_chunk::<10>() {
        Some([magic @ .., VERSION_MAJOR, minor, l0, l1, l2, l3]) if *magic == MAGIC => {
            let length = u32::from_le_bytes([*l0, *l1, *l2, *l3]);
            if as_index(u64::from(length)) < HEADER_LEN {
                let found = Value::Unsigned(u64::from(length));
                let rule = Rule::DescriptorLengthBelowHeader;
                let expected = Expected::AtLeast(20);
                return Err(Error::new(rule, "descriptor_length", 6, found, expected));
            }
            Ok((*minor, length))
        }
        _ => Err(no_start(input)),
    }
}

/// What is short is first judged by what is there.
#[cold]
fn no_start(input: &[u8]) -> Error {
    if !input.iter().zip(&MAGIC).all(|(found, magic)| found == magic) {
        let found = Value::first_of(input);
        let expected = Expected::OneOf("\"HRRY\"");
        return Error::new(Rule::DescriptorMagic, "magic", 0, found, expected);
    }
    let major = match input.get(4) {
        Some(major) if input.len() >= 10 => *major,
        _ => return truncated(input, 10),
    };
    let rule = match major {
        0 => Rule::DescriptorVersionMajorZero,
        _ => Rule::DescriptorVersionMajor,
    };
    let found = Value::Unsigned(u64::from(major));
    Error::new(rule, "version_major", 4, found, Expected::Exactly(1))
}

#[cold]
fn truncated(input: &[u8], needed: u64) -> Error {
    let found = Value::Unsigned(as_offset(input.len()));
    let rule = Rule::DescriptorTruncated;
    Error::new(rule, "descriptor", as_offset(input.len()), found, Expected::AtLeast(needed))
}

/// Header, shape, layout and buffers, each by its own rules; then what may follow. What
/// is rare is a call, so that what is common stays in registers.
fn read<'a, T: Trace, R: Reading<'a>>(
    input: &'a [u8],
    accept: &Accept,
    trace: &mut T,
    reading: R,
) -> Result<R::Read, R::Error> {
    let (_, length) = start(input)?;
    let Some(head) = input.first_chunk::<HEADER_LEN>() else {
        return Err(truncated(input, 20).into());
    };
    let head = Head::read(head);
    let mut r = Reader::new(input, Rule::DescriptorTruncated, trace);
    let header = r.block::<HEADER_LEN>("header")?;
    let _: [u8; 4] = r.bytes(&header, 0, "magic");
    r.u8(&header, 4, "version_major");
    r.u8(&header, 5, "version_minor");
    r.u32(&header, 6, "descriptor_length");
    let flags = r.flags32(&header, 10, "flags");
    let type_tag = r.tag(&header, 14, "type_tag");
    let layout_tag = r.tag(&header, 15, "layout_tag");
    let rank = r.u32(&header, 16, "rank");

    let length = u64::from(length);
    if as_index(length) > input.len() {
        return Err(truncated(input, length).into());
    }
    if length > u64::from(accept.limits.descriptor_bytes) {
        let expected = Expected::AtMost(u64::from(accept.limits.descriptor_bytes));
        let rule = Rule::DescriptorLengthAboveLimit;
        let found = Value::Unsigned(length);
        return Err(header.refuse(rule, 6, "descriptor_length", found, expected).into());
    }
    if flags & !flag::ALL != 0 {
        let found = Value::Tag(u64::from(flags));
        let expected = Expected::AtMost(u64::from(flag::ALL));
        return Err(header
            .refuse(Rule::DescriptorReservedFlag, 10, "flags", found, expected)
            .into());
    }
    if rank > Limits::RANK {
        let found = Value::Unsigned(u64::from(rank));
        let expected = Expected::AtMost(u64::from(Limits::RANK));
        return Err(header
            .refuse(Rule::DescriptorRankTooLarge, 16, "rank", found, expected)
            .into());
    }

    let mut unknown = None;
    let dtype = match Dtype::from_tag(type_tag) {
        Ok(dtype) => Some(dtype),
        Err(Rule::TypePrivateTag) if accept.dtypes.has(type_tag) => None,
        Err(rule) => {
            let found = Value::Tag(u64::from(type_tag));
            let error = header.refuse(rule, 14, "type_tag", found, Expected::Unsaid);
            if !R::PERMISSIVE || rule == Rule::TypeInvalidTag {
                return Err(error.into());
            }
            unknown = Some(error);
            None
        }
    };
    let is_private = matches!(type_tag, 0xF0..=0xFE);
    if is_private != (flags & flag::EXTENSION_TYPE != 0) {
        let (rule, expected) = if is_private {
            (Rule::ExtTypeFlagMissing, Expected::OneOf("bit 2 set"))
        } else {
            (Rule::ExtTypeFlagUnexpected, Expected::OneOf("bit 2 clear"))
        };
        return Err(header
            .refuse(rule, 10, "flags", Value::Tag(u64::from(flags)), expected)
            .into());
    }
    let mut fields_known = true;
    if layout_tag != layout::tag::ROW_MAJOR {
        let refuse = |rule, expected| {
            header.refuse(rule, 15, "layout_tag", Value::Tag(u64::from(layout_tag)), expected)
        };
        if let Some(rule) = layout::tag_fault(layout_tag, accept) {
            let error = refuse(rule, Expected::Unsaid);
            if !R::PERMISSIVE || rule == Rule::LayoutInvalidTag {
                return Err(error.into());
            }
            unknown = unknown.or(Some(error));
            // A private layout says how long it is; an unknown one does not.
            fields_known = rule == Rule::LayoutPrivateTag;
        }
        if rank == 0 {
            let expected = Expected::OneOf("0x01 (row-major)");
            return Err(refuse(Rule::DescriptorScalarLayout, expected).into());
        }
    }

    r.end_at(as_index(length), Rule::DescriptorOverrun);
    let shape = r.array::<u64>("shape", "shape", as_index(u64::from(rank)))?;
    let offset = r.block::<8>("byte_offset")?;
    let byte_offset = r.u64(&offset, 0, "byte_offset");

    let mut layout = Layout::RowMajor;
    let mut buffers = WireArray::over(&[]);
    let mut table = 0;
    // Where the fields of an unknown layout end, and what follows, cannot be told.
    if fields_known {
        if layout_tag != layout::tag::ROW_MAJOR {
            layout = r.apart(|r| Layout::load(r, layout_tag, &shape, accept))?;
        }
        let count = r.block::<1>("buffer table")?;
        let count = r.u8(&count, 0, "buffer_count");
        table = r.position();
        buffers = r.array::<BufferHandle>("buffer table", "handle", usize::from(count))?;
        for (n, raw) in buffers.raws().iter().enumerate() {
            let at = table.saturating_add(as_offset(n.saturating_mul(BufferHandle::SIZE)));
            BufferHandle::check_raw(raw, at, accept)?;
        }
    }
    let mut places = Places::of(rank, table);
    // Most descriptors: row-major, with no more sections but quantization. The rules are
    // those of all, and cost little where so much is known.
    let is_whole = |r: &Reader<'a, '_, T>| r.left() == 0 && input.len() == as_index(length);
    if let (Some(dtype), layout::tag::ROW_MAJOR, 0) = (dtype, layout_tag, flags)
        && is_whole(&r)
    {
        let mut plain = DescriptorRef::plain(head, dtype, shape, byte_offset, buffers);
        cross::check(&plain, None, places)?;
        return reading.known(&mut plain, &mut None);
    }
    // Something plain stands for a type that is private, until its record is read, or not
    // known.
    let is_named = dtype.is_some();
    let dtype = dtype.unwrap_or(Dtype::UInt8);
    let mut scheme = None;
    // Whether no byte was ignored.
    let mut kept = true;
    if flags & flag::QUANTIZATION != 0 && fields_known {
        places.quantization = r.position().saturating_add(4);
        if matches!(layout, Layout::Composite(_)) {
            let (rule, at) = (Rule::LayoutCompositeQuantized, places.quantization);
            return Err(Error::new(rule, "quantization", at, Value::None, Expected::Unsaid).into());
        }
        let dtype = is_named.then_some(dtype);
        let context = Context { type_tag, dtype, shape, accept };
        let mut skipped = None;
        kept &= r.apart(|r| Quantization::load(r, &context, &mut scheme, &mut skipped))?;
        if let Some(error) = skipped {
            if !R::PERMISSIVE {
                return Err(error.into());
            }
            unknown = unknown.or(Some(error));
        }
    }
    if layout_tag == layout::tag::ROW_MAJOR
        && flags == flag::QUANTIZATION
        && kept
        && is_whole(&r)
        && (!R::PERMISSIVE || unknown.is_none())
    {
        let mut plain = DescriptorRef::plain(head, dtype, shape, byte_offset, buffers);
        cross::check(&plain, scheme.as_ref(), places)?;
        return reading.known(&mut plain, &mut scheme);
    }
    let mut descriptor = DescriptorRef::plain(head, dtype, shape, byte_offset, buffers);
    descriptor.layout = layout;
    if fields_known {
        kept &= optional(r, flags, type_tag, &mut descriptor, &mut places)?;
    }
    if as_index(length) != input.len() {
        let found = Value::Unsigned(as_offset(input.len()));
        let rule = Rule::DescriptorExtraBytes;
        return Err(Error::new(rule, "descriptor", length, found, Expected::Exactly(length)).into());
    }
    if let Some(reason) = unknown {
        cross::check_foreign(&descriptor, places)?;
        return reading.foreign(Foreign::new(input, &descriptor, reason));
    }
    joined(reading, &mut descriptor, &mut scheme, places, kept)
}

/// Any descriptor whose sections are each valid. A call, so that what is above it is about
/// the common ones only.
#[inline(never)]
fn joined<'a, R: Reading<'a>>(
    reading: R,
    descriptor: &mut DescriptorRef<'a>,
    scheme: &mut Scheme<'a>,
    places: Places,
    kept: bool,
) -> Result<R::Read, R::Error> {
    cross::check(descriptor, scheme.as_ref(), places)?;
    if !kept {
        // What was ignored is not written again.
        descriptor.quantization = scheme.take();
        let minor = descriptor.head.version_minor();
        descriptor.head = Head::of(descriptor, minor).unwrap_or(descriptor.head);
        *scheme = descriptor.quantization.take();
    }
    reading.known(descriptor, scheme)
}

/// The other sections that a flag announces, each by its own rules. Says whether every
/// byte was kept.
#[inline(never)]
fn optional<'a, T: Trace>(
    mut r: Reader<'a, '_, T>,
    flags: u32,
    type_tag: u8,
    d: &mut DescriptorRef<'a>,
    places: &mut Places,
) -> Result<bool> {
    if flags & flag::SHARD != 0 {
        places.shard = r.position();
        d.shard = Some(Shard::load(&mut r, &d.shape)?);
    }
    if flags & flag::STATISTICS != 0 {
        places.statistics = r.position();
        d.statistics = Some(Statistics::load(&mut r)?);
    }
    if flags & flag::EXTENSION_TYPE != 0 {
        let record = ExtensionType::load(&mut r)?;
        if let Ok(private) = PrivateDtype::new(type_tag, record) {
            d.dtype = Dtype::Private(private);
        }
    }
    if flags & flag::MEMBER != 0 {
        places.member = r.position();
        d.member = Some(MemberRole::load(&mut r)?);
    }
    if r.left() == 0 {
        return Ok(true);
    }
    let left = as_offset(r.left());
    if d.head.version_minor() == 0 {
        let rule = Rule::DescriptorTrailingBytes;
        let (at, found) = (r.position(), Value::Unsigned(left));
        return Err(Error::new(rule, "descriptor", at, found, Expected::Exactly(0)));
    }
    r.opaque("later version", "ignored", left)?;
    Ok(false)
}
