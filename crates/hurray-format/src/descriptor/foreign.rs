//! What a permissive reader keeps of a descriptor it does not wholly understand.

use super::DescriptorRef;
use crate::buffer::BufferHandle;
use crate::error::Error;
use crate::layout;
use crate::wire::{Array, WireArray};

/// The result of a permissive read.
#[derive(Clone, Debug, PartialEq)]
pub enum Permissive<'a> {
    /// Everything is known: a descriptor like any other.
    Known(DescriptorRef<'a>),
    /// Some tag is not known. It can be relayed and shown, and its data never reached.
    Foreign(Foreign<'a>),
}

/// A descriptor with an element type, layout or quantization scheme that is not known.
/// It gives no element locations: nothing here can look into the tensor's data.
#[derive(Clone, Debug, PartialEq)]
pub struct Foreign<'a> {
    bytes: &'a [u8],
    type_tag: u8,
    layout_tag: u8,
    shape: WireArray<'a, u64>,
    buffers: Option<WireArray<'a, BufferHandle>>,
    reason: Error,
}

impl<'a> Foreign<'a> {
    /// What is known of `bytes`. In the descriptor something else stands for what is not.
    pub(super) fn new(bytes: &'a [u8], known: &DescriptorRef<'a>, reason: Error) -> Self {
        let tag = |at: usize| bytes.get(at).copied().unwrap_or_default();
        let (type_tag, layout_tag) = (tag(14), tag(15));
        let hides_table =
            !matches!(layout_tag, 0xF0..=0xFE) && layout::tag_name(layout_tag).is_err();
        Self {
            bytes,
            type_tag,
            layout_tag,
            shape: known.shape,
            buffers: (!hides_table).then_some(known.buffers),
            reason,
        }
    }

    /// The descriptor's bytes, to be forwarded as they are.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The element type's tag.
    pub fn type_tag(&self) -> u8 {
        self.type_tag
    }

    /// The layout's tag.
    pub fn layout_tag(&self) -> u8 {
        self.layout_tag
    }

    /// One size for each dimension.
    pub fn shape(&self) -> WireArray<'a, u64> {
        self.shape
    }

    /// The buffer table, or `None` where an unknown layout hides where it starts.
    pub fn buffers(&self) -> Option<WireArray<'a, BufferHandle>> {
        self.buffers
    }

    /// The sum of the buffers' sizes, where the table is known, saturated at 64 bits.
    pub fn data_bytes(&self) -> Option<u64> {
        let sum = |total: u64, handle: BufferHandle| total.saturating_add(handle.byte_size());
        self.buffers.map(|buffers| buffers.iter().fold(0, sum))
    }

    /// What a strict reader would have refused.
    pub fn reason(&self) -> Error {
        self.reason
    }
}
