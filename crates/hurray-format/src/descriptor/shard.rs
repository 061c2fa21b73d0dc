//! The shard section: which box of a larger tensor this one is.
//!
//! `parent_shape u64[rank], shard_offset u64[rank]`.

use alloc::vec::Vec;

use crate::error::{Error, Expected, Result, Value};
use crate::rules::Rule;
use crate::shape::DYNAMIC;
use crate::wire::{Array, Borrowed, Owned, Reader, Storage, Trace, WireArray, as_offset};

/// A box of a larger tensor.
///
/// ```
/// use hurray_format::{Array, Descriptor, Dtype, Shard};
///
/// let lower_half = Descriptor::builder(Dtype::Float32, &[4, 8])
///     .shard(Shard::new(&[8, 8], &[4, 0]))
///     .build()?;
/// let shard = lower_half.shard().unwrap();
/// assert_eq!(shard.parent_shape().to_vec(), [8, 8]);
/// # Ok::<(), hurray_format::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Shard<S: Storage = Owned> {
    /// Both arrays as on the wire: the parent's shape, then the offset in it.
    numbers: S::Bytes,
}

impl Shard {
    /// The box at `offset` in a tensor of shape `parent`. That it fits, and that there
    /// is one number for each dimension, is checked with the descriptor.
    pub fn new(parent: &[u64], offset: &[u64]) -> Self {
        let numbers: Vec<u8> = match parent.len() == offset.len() {
            true => parent.iter().chain(offset).flat_map(|n| n.to_le_bytes()).collect(),
            // One byte fits no rank: two arrays that differ must not pass for two others.
            false => alloc::vec![0],
        };
        Self { numbers: numbers.into_boxed_slice() }
    }

    /// Whether both arrays have one number for each dimension.
    pub(crate) fn has_dimensions(&self, rank: usize) -> bool {
        self.numbers.len() == rank.saturating_mul(16)
    }
}

impl<'a> Shard<Borrowed<'a>> {
    pub(crate) fn load<T: Trace>(
        r: &mut Reader<'a, '_, T>,
        shape: &impl Array<u64>,
    ) -> Result<Self> {
        let (start, bytes) = (r.position(), r.rest());
        let rank = shape.len();
        let parent = r.array::<u64>("shard", "parent_shape", rank)?;
        let offset = r.array::<u64>("shard", "shard_offset", rank)?;
        for (k, ((size, parent), offset)) in
            shape.iter().zip(parent.iter()).zip(offset.iter()).enumerate()
        {
            let refuse = |rule, name, array: usize, found, expected| {
                let item = array.saturating_mul(rank).saturating_add(k).saturating_mul(8);
                let at = start.saturating_add(as_offset(item));
                Err(Error::new(rule, name, at, Value::Unsigned(found), expected))
            };
            if size == DYNAMIC || parent == DYNAMIC {
                let rule = Rule::ShardDynamicDimension;
                return refuse(rule, "parent_shape", 0, parent, Expected::Unsaid);
            }
            if offset.checked_add(size).is_none_or(|end| end > parent) {
                let expected = Expected::AtMost(parent.saturating_sub(size));
                let rule = Rule::ShardOutOfBounds;
                return refuse(rule, "shard_offset", 1, offset, expected);
            }
        }
        let length = bytes.len().saturating_sub(r.left());
        Ok(Self { numbers: bytes.get(..length).unwrap_or_default() })
    }
}

impl<S: Storage> Shard<S> {
    /// The shape of the tensor it is a part of.
    pub fn parent_shape(&self) -> WireArray<'_, u64> {
        self.halves().0
    }

    /// Where it starts in that tensor.
    pub fn offset(&self) -> WireArray<'_, u64> {
        self.halves().1
    }

    fn halves(&self) -> (WireArray<'_, u64>, WireArray<'_, u64>) {
        let bytes = self.numbers.as_ref();
        let (parent, offset) =
            bytes.split_at_checked(bytes.len().div_euclid(2)).unwrap_or_default();
        (WireArray::over(parent), WireArray::over(offset))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.numbers.as_ref()
    }

    /// The same box, keeping its own numbers.
    pub fn to_owned(&self) -> Shard {
        Shard { numbers: self.numbers.as_ref().into() }
    }
}
