//! New descriptors. What is built is encoded and read back: there is one validator, and
//! it is the decoder.

use smallvec::SmallVec;

use super::head::Head;
use super::{Descriptor, DescriptorRef, MemberRole, Shard, Statistics};
use crate::accept::Accept;
use crate::buffer::{BufferHandle, SyncMode};
use crate::dtype::Dtype;
use crate::error::{Error, Expected, Result, Value};
use crate::layout::Layout;
use crate::limits::Limits;
use crate::quant::{Parameters, Quantization};
use crate::rules::Rule;
use crate::shape::{Count, DYNAMIC, count, product_of};
use crate::wire::{List, Owned, Silent, Storage, as_index, as_offset};

/// The parts of a new descriptor.
///
/// Without [`buffers`](Self::buffers) the table is made of host buffers of the least
/// size that the layout and the scheme allow.
///
/// ```
/// use hurray_format::{Descriptor, Dtype, PerBlock, Quantization};
///
/// let scheme = PerBlock {
///     axis: 1,
///     block_size: 32,
///     scales: 1,
///     zero_points: None,
///     scale_type: Dtype::Float16,
/// };
/// let weights = Descriptor::builder(Dtype::Int4, &[8, 64])
///     .quantization(Quantization::PerBlock(scheme))
///     .build()?;
/// assert_eq!(weights.buffers()[0].byte_size(), 8 * 64 / 2);
/// assert_eq!(weights.buffers()[1].byte_size(), 8 * 2 * 2);
/// # Ok::<(), hurray_format::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct DescriptorBuilder {
    descriptor: Descriptor,
    buffers: Option<Handles>,
}

type Handles = <Owned as Storage>::Handles;

/// How long most descriptors are, and more: those are checked without the heap.
const INLINE: usize = 256;

impl Descriptor {
    /// A row-major tensor in one host buffer.
    ///
    /// # Errors
    ///
    /// `descriptor.rank-too-large`, `layout.buffer-too-small` for more bytes than 64 bits
    /// count.
    pub fn dense(dtype: Dtype, shape: &[u64]) -> Result<Self> {
        Self::builder(dtype, shape).build()
    }

    /// Starts a new descriptor: row-major until told otherwise.
    pub fn builder(dtype: Dtype, shape: &[u64]) -> DescriptorBuilder {
        let descriptor = Self {
            head: Head::UNKNOWN,
            dtype,
            shape: List::new(shape),
            byte_offset: 0,
            layout: Layout::RowMajor,
            buffers: <_>::default(),
            quantization: None,
            shard: None,
            statistics: None,
            member: None,
        };
        DescriptorBuilder { descriptor, buffers: None }
    }

    /// Starts a new descriptor from this one.
    pub fn rebuild(&self) -> DescriptorBuilder {
        DescriptorBuilder { descriptor: self.clone(), buffers: Some(self.buffers.clone()) }
    }

    /// The same tensor with its dynamic dimensions known: one size for each, in order.
    /// What could not be checked before is checked now.
    ///
    /// ```
    /// use hurray_format::{BufferHandle, DYNAMIC, Descriptor, Dtype};
    /// let batch = Descriptor::builder(Dtype::Float32, &[DYNAMIC, 4])
    ///     .buffers([BufferHandle::cpu(64)])
    ///     .build()?;
    /// assert_eq!(batch.resolve(&[4])?.shape(), [4, 4]);
    /// assert!(batch.resolve(&[5]).is_err());
    /// # Ok::<(), hurray_format::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `descriptor.dynamic-count` where `sizes` are not as many as the dynamic
    /// dimensions, and every rule the sizes break.
    pub fn resolve(&self, sizes: &[u64]) -> Result<Self> {
        let dynamic = self.shape().iter().filter(|size| **size == DYNAMIC).count();
        if dynamic != sizes.len() {
            let found = Value::Unsigned(as_offset(sizes.len()));
            let expected = Expected::Exactly(as_offset(dynamic));
            return Err(Error::new(Rule::DescriptorDynamicCount, "sizes", 0, found, expected));
        }
        let mut sizes = sizes.iter().copied();
        let mut resolved = self.clone();
        resolved.shape = self
            .shape()
            .iter()
            .map(|size| if *size == DYNAMIC { sizes.next().unwrap_or(DYNAMIC) } else { *size })
            .collect();
        resolved.checked(self.head.version_minor())
    }

    /// The same tensor, ready to be handed over in another way: a sync mode for each buffer,
    /// in table order. What is not given stays.
    ///
    /// # Errors
    ///
    /// `buffer.sync-*`, `buffer.cpu-sync`.
    pub fn with_sync(mut self, modes: impl IntoIterator<Item = SyncMode>) -> Result<Self> {
        for (handle, mode) in self.buffers.iter_mut().zip(modes) {
            if handle.sync() != mode {
                *handle = handle.with_sync(mode)?;
            }
        }
        Ok(self)
    }

    /// Whether the format allows it: one validator, for what is read and what is built.
    fn checked(mut self, version_minor: u8) -> Result<Self> {
        self.check_dimensions()?;
        let Some(head) = Head::of(&self, version_minor) else {
            let found = Value::Unsigned(as_offset(self.length_of_parts()));
            let expected = Expected::AtMost(u64::from(u32::MAX));
            let rule = Rule::DescriptorLengthAboveLimit;
            return Err(Error::new(rule, "descriptor_length", 6, found, expected));
        };
        self.head = head;
        let mut bytes: SmallVec<[u8; INLINE]> = SmallVec::from_elem(0, self.encoded_len());
        self.encode_into(&mut bytes)?;
        let mut accept = Accept::every_private_tag();
        accept.limits = Limits { descriptor_bytes: u32::MAX, ..Limits::default() };
        let read = DescriptorRef::read_with(&bytes, &accept, &mut Silent)?.to_owned();
        if read == self {
            return Ok(self);
        }
        // Such as a private layout whose tag is another layout's.
        let rule = Rule::DescriptorPartsAmbiguous;
        Err(Error::new(rule, "descriptor", 0, Value::None, Expected::Unsaid))
    }

    /// Arrays of another length would be read as something else.
    fn check_dimensions(&self) -> Result<()> {
        let refuse = |name| {
            let expected = Expected::Exactly(as_offset(self.rank()));
            let rule = Rule::DescriptorDimensions;
            Err(Error::new(rule, name, 0, Value::None, expected))
        };
        if !self.layout.has_dimensions(self.rank()) {
            return refuse(self.layout.name());
        }
        match &self.shard {
            Some(shard) if !shard.has_dimensions(self.rank()) => refuse("shard"),
            _ => Ok(()),
        }
    }
}

impl DescriptorBuilder {
    /// Where the elements lie.
    pub fn layout(mut self, layout: Layout) -> Self {
        self.descriptor.layout = layout;
        self
    }

    /// Where element [0, …, 0] starts in buffer 0, in bytes.
    pub fn byte_offset(mut self, byte_offset: u64) -> Self {
        self.descriptor.byte_offset = byte_offset;
        self
    }

    /// The buffer table: the layout's own buffers, then those of quantization parameters.
    pub fn buffers(mut self, buffers: impl IntoIterator<Item = BufferHandle>) -> Self {
        // One more than there can be is enough to be refused.
        self.buffers = Some(buffers.into_iter().take(Limits::BUFFERS.saturating_add(1)).collect());
        self
    }

    /// How codes become values.
    pub fn quantization(mut self, scheme: Quantization) -> Self {
        self.descriptor.quantization = Some(scheme);
        self
    }

    /// Which box of a larger tensor it is.
    pub fn shard(mut self, shard: Shard) -> Self {
        self.descriptor.shard = Some(shard);
        self
    }

    /// Advice about the values.
    pub fn statistics(mut self, statistics: Statistics) -> Self {
        self.descriptor.statistics = Some(statistics);
        self
    }

    /// The part it plays in an overlay.
    pub fn member_role(mut self, role: MemberRole) -> Self {
        self.descriptor.member = Some(role);
        self
    }

    /// The descriptor.
    ///
    /// # Errors
    ///
    /// Every rule its parts break. Offsets count from the start of the descriptor as it
    /// would be encoded.
    pub fn build(self) -> Result<Descriptor> {
        let Self { mut descriptor, buffers } = self;
        if descriptor.rank() > as_index(u64::from(Limits::RANK)) {
            // Its shape could not be written with a rank of 32 bits.
            let found = Value::Unsigned(as_offset(descriptor.rank()));
            let expected = Expected::AtMost(u64::from(Limits::RANK));
            return Err(Error::new(Rule::DescriptorRankTooLarge, "rank", 16, found, expected));
        }
        let buffers = buffers.unwrap_or_else(|| least_buffers(&descriptor));
        if buffers.len() > Limits::BUFFERS {
            let found = Value::Unsigned(as_offset(buffers.len()));
            let expected = Expected::AtMost(as_offset(Limits::BUFFERS));
            let rule = Rule::DescriptorBufferCountAboveTable;
            return Err(Error::new(rule, "buffer_count", 0, found, expected));
        }
        descriptor.buffers = buffers;
        descriptor.checked(0)
    }
}

/// Host buffers of the least size. A size beyond 64 bits saturates, and is refused by
/// the check that follows.
fn least_buffers(d: &Descriptor) -> Handles {
    let own = as_index(u64::from(d.layout.buffer_count().unwrap_or(1)));
    let mut sizes: SmallVec<[u128; 3]> = (0..own)
        .map(|place| match d.layout.rules().byte_offset {
            Some(_) => d.layout.minimum(place, &d.shape, d.dtype).unwrap_or(0),
            None => dense_bytes(d),
        })
        .collect();
    let slots = match &d.layout {
        Layout::BlockPaged(paged) => Some(paged.slot_count()),
        _ => None,
    };
    let parameters = d.quantization.as_ref().map(|scheme| scheme.parameters(&d.shape, slots));
    let parameters = parameters.unwrap_or(Parameters::NONE);
    for parameter in parameters.entries() {
        let place = as_index(u64::from(parameter.index));
        // An index far outside the table is refused, not allocated for.
        if place < usize::from(u8::MAX) {
            sizes.resize(sizes.len().max(place.saturating_add(1)), 0);
            if let Some(size) = sizes.get_mut(place) {
                let count = match parameters.count {
                    Count::Elements(count) => u128::from(count),
                    Count::Dynamic => 0,
                    Count::Beyond => u128::MAX,
                };
                *size = size.saturating_add(count.saturating_mul(u128::from(parameter.width)));
            }
        }
    }
    let handle = |size| BufferHandle::cpu(u64::try_from(size).unwrap_or(u64::MAX));
    sizes.into_iter().map(handle).collect()
}

fn dense_bytes(d: &Descriptor) -> u128 {
    let elements = match count(&d.shape) {
        Count::Elements(0) | Count::Dynamic => return u128::from(d.byte_offset),
        Count::Elements(elements) => u128::from(elements),
        Count::Beyond => product_of(d.shape().iter().copied()),
    };
    let span = match d.layout.reach(&d.shape, elements) {
        Some(reach) => d.dtype.bytes_for(reach.up.saturating_add(1)).unwrap_or(u128::MAX),
        None => 0,
    };
    span.saturating_add(u128::from(d.byte_offset))
}
