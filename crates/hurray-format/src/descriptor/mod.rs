//! The tensor descriptor (specification page 02): everything about a tensor but its
//! bytes.
//!
//! ```text
//! fixed header 20 | shape 8·rank | byte_offset 8 | layout fields | buffer table
//!   | quantization | shard | statistics | extension type | composite member
//! ```

mod build;
mod cross;
mod decode;
mod encode;
mod extension;
mod foreign;
mod head;
mod locate;
mod member;
mod pages;
mod reading;
mod shard;
mod statistics;

pub use build::DescriptorBuilder;
pub use extension::{ExtensionType, FloatFormat};
pub use foreign::{Foreign, Permissive};
pub use member::MemberRole;
pub use shard::Shard;
pub use statistics::{RawStatistics, Statistics, StatisticsValues};

use head::Head;

use crate::buffer::BufferHandle;
use crate::dtype::Dtype;
use crate::layout::Layout;
use crate::quant::Quantization;
use crate::wire::{Array, Borrowed, List, Owned, Storage, WireArray};

/// What a tensor is: type, shape, layout, buffers, and how its codes become values.
///
/// A value of this type satisfies every rule of the format. It is generic over where it
/// keeps its arrays: `Descriptor` has its own, [`DescriptorRef`] leaves them in the
/// input and allocates nothing, but for the list of a tiled layout's records.
///
/// ```
/// use hurray_format::{Descriptor, Dtype};
///
/// let descriptor = Descriptor::dense(Dtype::Float32, &[3, 4])?;
/// let bytes = descriptor.encode();
/// assert_eq!(bytes.len(), 61);
///
/// let read = Descriptor::decode(&bytes)?;
/// assert_eq!(read, descriptor);
/// assert_eq!(read.shape(), [3, 4]);
/// assert_eq!(read.locate(&[1, 2])?.byte, 24);
/// # Ok::<(), hurray_format::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Descriptor<S: Storage = Owned> {
    head: Head,
    dtype: Dtype,
    shape: S::Numbers<u64>,
    byte_offset: u64,
    layout: Layout<S>,
    buffers: S::Handles,
    quantization: Option<Quantization<S>>,
    shard: Option<Shard<S>>,
    statistics: Option<Statistics<S>>,
    member: Option<MemberRole>,
}

/// A descriptor that leaves its arrays in the input.
pub type DescriptorRef<'a> = Descriptor<Borrowed<'a>>;

/// The four bytes a descriptor starts with.
pub const MAGIC: [u8; 4] = *b"HRRY";
/// The version of descriptors this crate reads and writes.
pub const VERSION_MAJOR: u8 = 1;
/// The length of the fixed header, and the least length of a descriptor.
pub const HEADER_LEN: usize = 20;

/// The bits of the header's flags.
pub(crate) mod flag {
    pub(crate) const QUANTIZATION: u32 = 1 << 0;
    pub(crate) const SHARD: u32 = 1 << 1;
    pub(crate) const EXTENSION_TYPE: u32 = 1 << 2;
    pub(crate) const STATISTICS: u32 = 1 << 3;
    pub(crate) const MEMBER: u32 = 1 << 4;
    pub(crate) const ALL: u32 = 0x1F;
}

impl Descriptor {
    /// One size for each dimension, outermost first.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The buffer table: the layout's own buffers, then those of quantization parameters.
    pub fn buffers(&self) -> &[BufferHandle] {
        &self.buffers
    }
}

impl<'a> DescriptorRef<'a> {
    /// One size for each dimension, outermost first.
    pub fn shape(&self) -> WireArray<'a, u64> {
        self.shape
    }

    /// The buffer table: the layout's own buffers, then those of quantization parameters.
    pub fn buffers(&self) -> WireArray<'a, BufferHandle> {
        self.buffers
    }
}

impl<S: Storage> Descriptor<S> {
    /// The major version, always 1, and the minor one, kept as it was read.
    pub fn version(&self) -> (u8, u8) {
        (VERSION_MAJOR, self.head.version_minor())
    }

    /// The element type, as it is stored.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The number of dimensions, 0 for a scalar.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Where element [0, …, 0] starts in buffer 0, in bytes.
    pub fn byte_offset(&self) -> u64 {
        self.byte_offset
    }

    /// Where the elements lie.
    pub fn layout(&self) -> &Layout<S> {
        &self.layout
    }

    /// How codes become values, where the tensor is quantized.
    pub fn quantization(&self) -> Option<&Quantization<S>> {
        self.quantization.as_ref()
    }

    /// Which box of a larger tensor it is.
    pub fn shard(&self) -> Option<&Shard<S>> {
        self.shard.as_ref()
    }

    /// Advice about the values.
    pub fn statistics(&self) -> Option<&Statistics<S>> {
        self.statistics.as_ref()
    }

    /// The part it plays in an overlay.
    pub fn member_role(&self) -> Option<MemberRole> {
        self.member
    }

    /// The number of buffers.
    pub fn buffer_count(&self) -> usize {
        self.buffers.len()
    }

    /// Buffer `place` of the table.
    pub fn buffer(&self, place: usize) -> Option<BufferHandle> {
        self.buffers.at(place)
    }

    /// The number of elements: 1 for a scalar, 0 where some dimension is 0. `None` where
    /// a dimension is dynamic or the count needs more than 64 bits.
    pub fn element_count(&self) -> Option<u64> {
        match crate::shape::count(&self.shape) {
            crate::shape::Count::Elements(count) => Some(count),
            crate::shape::Count::Dynamic | crate::shape::Count::Beyond => None,
        }
    }

    /// The sum of all buffers' sizes, saturated at 64 bits.
    pub fn data_bytes(&self) -> u64 {
        self.buffers.iter().fold(0, |total, handle| total.saturating_add(handle.byte_size()))
    }

    /// Whether some dimension is not known yet.
    pub fn is_dynamic(&self) -> bool {
        crate::shape::is_dynamic(&self.shape)
    }

    /// The header's flags: which optional sections follow.
    #[inline]
    pub fn flags(&self) -> u32 {
        self.head.flags()
    }

    /// The same descriptor, keeping its own arrays.
    pub fn to_owned(&self) -> Descriptor {
        self.kept(&self.quantization)
    }

    /// The same, made in the caller's place: half of reading is moving.
    #[inline(always)]
    fn kept(&self, quantization: &Option<Quantization<S>>) -> Descriptor {
        Descriptor {
            head: self.head,
            dtype: self.dtype,
            shape: List::of(&self.shape),
            byte_offset: self.byte_offset,
            layout: self.layout.kept(),
            buffers: Owned::handles(&self.buffers),
            quantization: quantization.as_ref().map(Quantization::to_owned),
            shard: self.shard.as_ref().map(Shard::to_owned),
            statistics: self.statistics.as_ref().map(Statistics::to_owned),
            member: self.member,
        }
    }
}
