//! The one decoder. Each section's own rules are in the section's file; the rules that
//! tie sections together are in `cross`.

use super::cross::{self, Places};
use super::{
    Descriptor, DescriptorRef, ExtensionType, HEADER_LEN, MAGIC, MemberRole, Permissive, Shard,
    Statistics, VERSION_MAJOR, flag, foreign,
};
use crate::accept::Accept;
use crate::buffer::BufferHandle;
use crate::dtype::{Dtype, PrivateDtype};
use crate::error::{Error, Expected, Result, Value};
use crate::layout::{self, Layout, LayoutKind};
use crate::limits::Limits;
use crate::quant::{Context, Quantization};
use crate::rules::Rule;
use crate::wire::{Borrowed, Reader, Silent, Trace, WireArray, as_index, as_offset};

impl Descriptor {
    /// Reads a descriptor, which is all of `bytes`, and keeps its own arrays.
    ///
    /// # Errors
    ///
    /// Every rule of pages 01 to 05; private tags are refused (see
    /// [`decode_with`](Self::decode_with)).
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        Ok(DescriptorRef::read(bytes)?.to_owned())
    }

    /// Reads a descriptor with private tags that were agreed, and shows `trace` each
    /// field.
    ///
    /// # Errors
    ///
    /// As [`decode`](Self::decode).
    pub fn decode_with<T: Trace>(bytes: &[u8], accept: &Accept, trace: &mut T) -> Result<Self> {
        Ok(DescriptorRef::read_with(bytes, accept, trace)?.to_owned())
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
    #[inline]
    pub fn read(bytes: &'a [u8]) -> Result<Self> {
        Self::read_with(bytes, &Accept::default(), &mut Silent)
    }

    /// Reads a descriptor in place with private tags that were agreed, and shows `trace`
    /// each field.
    ///
    /// # Errors
    ///
    /// As [`Descriptor::decode`].
    pub fn read_with<T: Trace>(bytes: &'a [u8], accept: &Accept, trace: &mut T) -> Result<Self> {
        sections(bytes, accept, trace)?.join()
    }

    /// Reads a descriptor as a relay does: one whose element type, layout or quantization
    /// scheme is not known comes back as another type, which cannot reach data.
    ///
    /// # Errors
    ///
    /// Every rule that does not depend on what is unknown.
    pub fn read_permissive(bytes: &'a [u8], accept: &Accept) -> Result<Permissive<'a>> {
        let sections = sections(bytes, accept, &mut Silent)?;
        match sections.unknown {
            None => sections.join().map(Permissive::Known),
            Some(reason) => Ok(Permissive::Foreign(foreign::from_sections(sections, reason))),
        }
    }
}

/// What was read, each section by its own rules.
pub(super) struct Sections<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) version_minor: u8,
    pub(super) type_tag: u8,
    pub(super) layout_tag: u8,
    pub(super) dtype: Option<Dtype>,
    pub(super) shape: WireArray<'a, u64>,
    pub(super) byte_offset: u64,
    pub(super) layout: Option<Layout<Borrowed<'a>>>,
    pub(super) buffers: WireArray<'a, BufferHandle>,
    pub(super) quantization: Option<Quantization<Borrowed<'a>>>,
    shard: Option<Shard<Borrowed<'a>>>,
    statistics: Option<Statistics<Borrowed<'a>>>,
    member: Option<MemberRole>,
    places: Places,
    /// The first tag a strict reader refuses and a permissive one steps over.
    pub(super) unknown: Option<Error>,
}

impl<'a> Sections<'a> {
    /// Checks what ties the sections together.
    #[inline(always)]
    fn join(self) -> Result<DescriptorRef<'a>> {
        let (Some(dtype), Some(layout), None) = (self.dtype, self.layout, self.unknown) else {
            return Err(self.unknown.unwrap_or(Error::new(
                Rule::LayoutUnknownTag,
                "layout_tag",
                15,
                Value::None,
                Expected::Unsaid,
            )));
        };
        let descriptor = Descriptor {
            version_minor: self.version_minor,
            dtype,
            shape: self.shape,
            byte_offset: self.byte_offset,
            layout,
            buffers: self.buffers,
            quantization: self.quantization,
            shard: self.shard,
            statistics: self.statistics,
            member: self.member,
        };
        cross::check(&descriptor, &self.places)?;
        Ok(descriptor)
    }
}

/// Magic, version and length. What is short is first judged by what is there.
fn start(input: &[u8]) -> Result<(u8, u32)> {
    if !input.iter().zip(&MAGIC).all(|(found, magic)| found == magic) {
        let found = Value::first_of(input);
        let expected = Expected::OneOf("\"HRRY\"");
        return Err(Error::new(Rule::DescriptorMagic, "magic", 0, found, expected));
    }
    let Some([_, _, _, _, major, minor, l0, l1, l2, l3]) = input.first_chunk::<10>() else {
        return Err(truncated(input, 10));
    };
    if *major != VERSION_MAJOR {
        let rule = if *major == 0 {
            Rule::DescriptorVersionMajorZero
        } else {
            Rule::DescriptorVersionMajor
        };
        let found = Value::Unsigned(u64::from(*major));
        return Err(Error::new(rule, "version_major", 4, found, Expected::Exactly(1)));
    }
    let length = u32::from_le_bytes([*l0, *l1, *l2, *l3]);
    if as_index(u64::from(length)) < HEADER_LEN {
        let found = Value::Unsigned(u64::from(length));
        let rule = Rule::DescriptorLengthBelowHeader;
        return Err(Error::new(rule, "descriptor_length", 6, found, Expected::AtLeast(20)));
    }
    Ok((*minor, length))
}

#[cold]
fn truncated(input: &[u8], needed: u64) -> Error {
    let found = Value::Unsigned(as_offset(input.len()));
    let rule = Rule::DescriptorTruncated;
    Error::new(rule, "descriptor", as_offset(input.len()), found, Expected::AtLeast(needed))
}

#[inline(always)]
fn sections<'a, T: Trace>(input: &'a [u8], accept: &Accept, trace: &mut T) -> Result<Sections<'a>> {
    let (version_minor, length) = start(input)?;
    if input.len() < HEADER_LEN {
        return Err(truncated(input, 20));
    }
    let mut r = Reader::new(input, Rule::DescriptorTruncated, trace);
    let head = r.block::<HEADER_LEN>("header")?;
    let _: [u8; 4] = r.bytes(&head, 0, "magic");
    r.u8(&head, 4, "version_major");
    r.u8(&head, 5, "version_minor");
    r.u32(&head, 6, "descriptor_length");
    let flags = r.flags32(&head, 10, "flags");
    let type_tag = r.tag(&head, 14, "type_tag");
    let layout_tag = r.tag(&head, 15, "layout_tag");
    let rank = r.u32(&head, 16, "rank");

    let length = u64::from(length);
    if as_index(length) > input.len() {
        return Err(truncated(input, length));
    }
    if length > u64::from(accept.limits.descriptor_bytes) {
        let expected = Expected::AtMost(u64::from(accept.limits.descriptor_bytes));
        let rule = Rule::DescriptorLengthAboveLimit;
        let found = Value::Unsigned(length);
        return Err(head.refuse(rule, 6, "descriptor_length", found, expected));
    }
    if flags & !flag::ALL != 0 {
        let found = Value::Tag(u64::from(flags));
        let expected = Expected::AtMost(u64::from(flag::ALL));
        return Err(head.refuse(Rule::DescriptorReservedFlag, 10, "flags", found, expected));
    }
    if rank > Limits::RANK {
        let found = Value::Unsigned(u64::from(rank));
        let expected = Expected::AtMost(u64::from(Limits::RANK));
        return Err(head.refuse(Rule::DescriptorRankTooLarge, 16, "rank", found, expected));
    }

    let mut unknown = None;
    let mut dtype = match Dtype::from_tag(type_tag) {
        Ok(dtype) => Some(dtype),
        Err(Rule::TypePrivateTag) if accept.dtypes.has(type_tag) => None,
        Err(rule) => {
            let found = Value::Tag(u64::from(type_tag));
            let error = head.refuse(rule, 14, "type_tag", found, Expected::Unsaid);
            if rule == Rule::TypeInvalidTag {
                return Err(error);
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
        // An unknown type breaks its own rule first.
        let broken = head.refuse(rule, 10, "flags", Value::Tag(u64::from(flags)), expected);
        return Err(unknown.unwrap_or(broken));
    }
    let layout_known = match layout::tag_name(layout_tag) {
        Ok(_) if layout_tag < 0xF0 || accept.layouts.has(layout_tag) => true,
        fault => {
            let rule = fault.err().unwrap_or(Rule::LayoutPrivateTag);
            let found = Value::Tag(u64::from(layout_tag));
            let error = head.refuse(rule, 15, "layout_tag", found, Expected::Unsaid);
            if rule == Rule::LayoutInvalidTag {
                return Err(unknown.unwrap_or(error));
            }
            unknown = unknown.or(Some(error));
            // A private layout says how long it is; an unknown one does not.
            rule == Rule::LayoutPrivateTag
        }
    };
    if rank == 0 && layout_tag != 0x01 {
        let found = Value::Tag(u64::from(layout_tag));
        let expected = Expected::OneOf("0x01 (row-major)");
        let broken = head.refuse(Rule::DescriptorScalarLayout, 15, "layout_tag", found, expected);
        return Err(unknown.unwrap_or(broken));
    }

    r.end_at(as_index(length), Rule::DescriptorOverrun);
    let shape = r.array::<u64>("shape", "shape", as_index(u64::from(rank)))?;
    let mut places = Places { byte_offset: r.position(), ..Places::default() };
    let offset = r.block::<8>("byte_offset")?;
    let byte_offset = r.u64(&offset, 0, "byte_offset");

    let mut read = Sections {
        bytes: input.get(..as_index(length)).unwrap_or(input),
        version_minor,
        type_tag,
        layout_tag,
        dtype: None,
        shape,
        byte_offset,
        layout: None,
        buffers: WireArray::over(&[]),
        quantization: None,
        shard: None,
        statistics: None,
        member: None,
        places,
        unknown,
    };
    if !layout_known {
        // Where its fields end, and what follows, cannot be told.
        return Ok(read);
    }
    let layout = Layout::load(&mut r, layout_tag, &shape, accept)?;

    let count = r.block::<1>("buffer table")?;
    let count = r.u8(&count, 0, "buffer_count");
    places.table = r.position();
    let buffers = r.array::<BufferHandle>("buffer table", "handle", usize::from(count))?;
    for (n, raw) in buffers.raws().enumerate() {
        let at = places.table.saturating_add(as_offset(n.saturating_mul(BufferHandle::SIZE)));
        BufferHandle::checked(*raw, at, accept)?;
    }

    if flags != 0 {
        if flags & flag::QUANTIZATION != 0 {
            places.quantization = r.position().saturating_add(4);
            if layout.kind() == LayoutKind::Virtual {
                let (rule, at) = (Rule::LayoutCompositeQuantized, places.quantization);
                return Err(Error::new(rule, "quantization", at, Value::None, Expected::Unsaid));
            }
            let context = Context { type_tag, dtype, shape: &shape, accept };
            match Quantization::load(&mut r, &context)? {
                Ok(scheme) => read.quantization = Some(scheme),
                Err(error) => read.unknown = read.unknown.or(Some(error)),
            }
        }
        if flags & flag::SHARD != 0 {
            places.shard = r.position();
            read.shard = Some(Shard::load(&mut r, &shape, input)?);
        }
        if flags & flag::STATISTICS != 0 {
            places.statistics = r.position();
            read.statistics = Some(Statistics::load(&mut r)?);
        }
        if flags & flag::EXTENSION_TYPE != 0 {
            let record = ExtensionType::load(&mut r)?;
            dtype = PrivateDtype::new(type_tag, record).ok().map(Dtype::Private);
        }
        if flags & flag::MEMBER != 0 {
            places.member = r.position();
            read.member = Some(MemberRole::load(&mut r)?);
        }
    }
    let end = r.position();
    if end != length {
        if version_minor == 0 {
            let rule = Rule::DescriptorTrailingBytes;
            let found = Value::Unsigned(length.saturating_sub(end));
            return Err(Error::new(rule, "descriptor", end, found, Expected::Exactly(0)));
        }
        r.opaque("later version", "ignored", length.saturating_sub(end))?;
    }
    if as_index(length) != input.len() {
        let found = Value::Unsigned(as_offset(input.len()));
        let rule = Rule::DescriptorExtraBytes;
        return Err(Error::new(rule, "descriptor", length, found, Expected::Exactly(length)));
    }
    read.dtype = dtype;
    read.layout = Some(layout);
    read.buffers = buffers;
    read.places = places;
    Ok(read)
}
