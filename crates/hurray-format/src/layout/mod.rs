//! Layouts (specification page 04): where each element of a tensor lies.
//!
//! One file a layout, each with its fields, its wire form, its rules and its
//! arithmetic. This file is the table that joins them.

mod block_paged;
mod composite;
mod compressed;
mod contents;
mod coo;
mod csf;
mod entries;
mod hilbert;
mod morton;
mod order;
mod private;
mod sizes;
mod table;
pub mod tag;
mod tiled;

use alloc::boxed::Box;

pub use block_paged::{BlockPaged, KvRole};
pub use composite::{CompositeHead, Composition};
pub use compressed::Compressed;
pub use coo::Coo;
pub use csf::Csf;
pub use entries::Entries;
pub use hilbert::Hilbert;
pub use morton::Morton;
pub use order::Order;
pub use private::PrivateLayout;
pub use tiled::{TileLevel, Tiled};

pub(crate) use block_paged::page_elements;
use compressed::{COLUMNS, ROWS};
use table::{
    BLOCK_PAGED, COLUMN_MAJOR, COMPOSITE, COO, CSC, CSF, CSR, HILBERT, MORTON, PRIVATE, ROW_MAJOR,
    Row, STRIDED, TILED,
};
pub(crate) use table::{SharedRules, tag_fault, tag_name};

use crate::accept::Accept;
use crate::contents::Contents;
use crate::error::Result;
use crate::wire::{Array, Borrowed, List, Owned, Reader, Storage, Trace, Writer};

/// Where the elements lie, with the fields that say so.
///
/// ```
/// use hurray_format::{Descriptor, Dtype, Layout};
///
/// // The last two rows of a 3 x 4 matrix, upside down.
/// let view = Descriptor::builder(Dtype::Float32, &[2, 4])
///     .layout(Layout::strided([-4, 1]))
///     .byte_offset(32)
///     .build()?;
/// assert_eq!(view.locate(&[0, 0])?.byte, 32);
/// assert_eq!(view.locate(&[1, 3])?.byte, 28);
/// # Ok::<(), hurray_format::Error>(())
/// ```
// With the tags as discriminants, a tag costs a load and not a jump.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[repr(u8)]
pub enum Layout<S: Storage = Owned> {
    /// The last dimension varies fastest.
    RowMajor = tag::ROW_MAJOR,
    /// The first dimension varies fastest.
    ColumnMajor = tag::COLUMN_MAJOR,
    /// A step in elements for each dimension; negative and 0 are legal.
    Strided(S::Numbers<i64>) = tag::STRIDED,
    /// Tiles, stored whole.
    Tiled(Box<Tiled<S>>) = tag::TILED,
    /// Z-order.
    Morton(Morton<S>) = tag::MORTON,
    /// The index of each stored entry.
    Coo(Coo) = tag::COO,
    /// Compressed rows.
    Csr(Compressed) = tag::CSR,
    /// Compressed columns.
    Csc(Compressed) = tag::CSC,
    /// A tree of coordinates.
    Csf(Csf<S>) = tag::CSF,
    /// Pages found through a block table.
    BlockPaged(BlockPaged) = tag::BLOCK_PAGED,
    /// Made of the tensors that follow.
    Composite(CompositeHead) = tag::COMPOSITE,
    /// Along a Hilbert curve.
    Hilbert(Hilbert) = tag::HILBERT,
    /// By agreement.
    Private(PrivateLayout<S>) = 0xF0,
}

/// What a layout is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LayoutKind {
    /// Every element has a place computed from its index.
    Dense,
    /// Only some elements are stored; the others are zero.
    Sparse,
    /// Places are found through a table in memory.
    Indirect,
    /// No memory of its own.
    Virtual,
    /// Known to whoever agreed on it.
    Private,
}

impl Layout {
    /// Strided by these steps, in elements.
    pub fn strided(strides: impl Into<List<i64>>) -> Self {
        Self::Strided(strides.into())
    }

    /// Tiled.
    pub fn tiled(tiled: Tiled) -> Self {
        Self::Tiled(Box::new(tiled))
    }

    /// Morton with so many bits for each dimension.
    pub fn morton(bits: impl Into<List<u32>>) -> Self {
        Self::Morton(Morton { bits: bits.into() })
    }

    /// Whether each of its arrays has one number for each dimension.
    pub(crate) fn has_dimensions(&self, rank: usize) -> bool {
        match self {
            Self::Strided(strides) => strides.len() == rank,
            Self::Tiled(tiled) => tiled.has_dimensions(rank),
            Self::Morton(morton) => morton.bits.len() == rank,
            Self::Csf(csf) => csf.mode_order.len() == rank,
            _ => true,
        }
    }
}

impl<'a> Layout<Borrowed<'a>> {
    /// Reads the fields of the layout `tag`, whose name is known.
    pub(crate) fn load<T: Trace>(
        r: &mut Reader<'a, '_, T>,
        tag: u8,
        shape: &impl Array<u64>,
        accept: &Accept,
    ) -> Result<Self> {
        let rank = shape.len();
        Ok(match tag {
            tag::ROW_MAJOR => Self::RowMajor,
            tag::COLUMN_MAJOR => Self::ColumnMajor,
            tag::STRIDED => Self::Strided(r.array("layout fields", "strides", rank)?),
            tag::TILED => Self::Tiled(Box::new(Tiled::load(r, rank)?)),
            tag::MORTON => Self::Morton(Morton::load(r, shape)?),
            tag::COO => Self::Coo(Coo::load(r)?),
            tag::CSR => Self::Csr(Compressed::load(r, rank, &ROWS)?),
            tag::CSC => Self::Csc(Compressed::load(r, rank, &COLUMNS)?),
            tag::CSF => Self::Csf(Csf::load(r, rank)?),
            tag::BLOCK_PAGED => Self::BlockPaged(BlockPaged::load(r, rank)?),
            tag::COMPOSITE => Self::Composite(CompositeHead::load(r, accept)?),
            tag::HILBERT => Self::Hilbert(Hilbert::load(r, shape)?),
            _ => Self::Private(PrivateLayout::load(r, tag)?),
        })
    }
}

impl<S: Storage> Layout<S> {
    const fn row(&self) -> &'static Row {
        match self {
            Self::RowMajor => &ROW_MAJOR,
            Self::ColumnMajor => &COLUMN_MAJOR,
            Self::Strided(_) => &STRIDED,
            Self::Tiled(_) => &TILED,
            Self::Morton(_) => &MORTON,
            Self::Coo(_) => &COO,
            Self::Csr(_) => &CSR,
            Self::Csc(_) => &CSC,
            Self::Csf(_) => &CSF,
            Self::BlockPaged(_) => &BLOCK_PAGED,
            Self::Composite(_) => &COMPOSITE,
            Self::Hilbert(_) => &HILBERT,
            Self::Private(_) => &PRIVATE,
        }
    }

    /// Its tag on the wire.
    #[inline]
    pub fn tag(&self) -> u8 {
        match self {
            Self::RowMajor => tag::ROW_MAJOR,
            Self::ColumnMajor => tag::COLUMN_MAJOR,
            Self::Strided(_) => tag::STRIDED,
            Self::Tiled(_) => tag::TILED,
            Self::Morton(_) => tag::MORTON,
            Self::Coo(_) => tag::COO,
            Self::Csr(_) => tag::CSR,
            Self::Csc(_) => tag::CSC,
            Self::Csf(_) => tag::CSF,
            Self::BlockPaged(_) => tag::BLOCK_PAGED,
            Self::Composite(_) => tag::COMPOSITE,
            Self::Hilbert(_) => tag::HILBERT,
            Self::Private(private) => private.tag,
        }
    }

    /// Its name in the specification.
    pub const fn name(&self) -> &'static str {
        self.row().name
    }

    /// What it is about.
    pub const fn kind(&self) -> LayoutKind {
        self.row().kind
    }

    pub(crate) const fn rules(&self) -> &'static SharedRules {
        &self.row().rules
    }

    /// The number of stored entries, for sparse layouts.
    pub fn nnz(&self) -> Option<u64> {
        match self {
            Self::Coo(coo) => Some(coo.nnz),
            Self::Csr(compressed) | Self::Csc(compressed) => Some(compressed.nnz),
            Self::Csf(csf) => Some(csf.nnz),
            _ => None,
        }
    }

    /// How many buffers the layout itself has; `None` for private ones, which have at
    /// least one.
    #[inline]
    pub fn buffer_count(&self) -> Option<u32> {
        match self {
            Self::Csf(csf) => {
                let rank = u32::try_from(csf.mode_order.len()).unwrap_or(u32::MAX);
                Some(rank.saturating_mul(2).saturating_add(1))
            }
            other => other.row().buffers,
        }
    }

    /// The offset in elements of `index`, which is inside `shape`; `None` where the
    /// layout has no address without its buffers.
    pub(crate) fn offset(&self, index: &[u64], shape: &impl Array<u64>) -> Option<i128> {
        let at = index.iter().copied();
        match self {
            Self::RowMajor => Order::<S>::RowMajor.cell(at, shape.iter()),
            Self::ColumnMajor => Order::<S>::ColumnMajor.cell(at, shape.iter()),
            Self::Strided(strides) => {
                at.zip(strides.iter()).try_fold(0_i128, |offset, (i, stride)| {
                    offset.checked_add(i128::from(i).checked_mul(i128::from(stride))?)
                })
            }
            Self::Tiled(tiled) => tiled.offset(index, shape),
            Self::Morton(morton) => morton.offset(index),
            Self::Hilbert(hilbert) => hilbert.offset(index),
            _ => None,
        }
    }

    /// The position of `index` among the stored values of a sparse tensor.
    pub(crate) fn find(
        &self,
        index: &[u64],
        shape: &impl Array<u64>,
        buffers: &[Contents<'_>],
    ) -> Option<Result<Option<u64>>> {
        Some(match self {
            Self::Coo(coo) => coo.find(index, buffers),
            Self::Csr(csr) => csr.find(index, shape, buffers, &ROWS),
            Self::Csc(csc) => csc.find(index, shape, buffers, &COLUMNS),
            Self::Csf(csf) => csf.find(index, buffers),
            _ => return None,
        })
    }

    /// The stored entries of a sparse tensor, whose contents were checked; `None` for other
    /// layouts.
    pub(crate) fn entries<'b>(
        &self,
        shape: &impl Array<u64>,
        buffers: &[Contents<'b>],
    ) -> Option<Result<Entries<'b>>> {
        Some(match self {
            Self::Coo(coo) => Entries::of_coo(coo, shape.len(), buffers),
            Self::Csr(csr) => Entries::of_compressed(csr, shape, buffers, &ROWS),
            Self::Csc(csc) => Entries::of_compressed(csc, shape, buffers, &COLUMNS),
            Self::Csf(csf) => Entries::of_csf(csf, buffers),
            _ => return None,
        })
    }

    /// Whether the shape says how long the index arrays are: the pointers of CSR and CSC
    /// are one more than the dimension they cut, the others say it themselves.
    pub(crate) fn index_arrays_are_sized(&self, shape: &impl Array<u64>) -> bool {
        let cut = match self {
            Self::Csr(_) => shape.at(ROWS.major),
            Self::Csc(_) => shape.at(COLUMNS.major),
            _ => None,
        };
        cut != Some(crate::shape::DYNAMIC)
    }

    /// Checks the index arrays of sparse and paged tensors.
    pub(crate) fn check_contents(
        &self,
        shape: &impl Array<u64>,
        buffers: &[Contents<'_>],
    ) -> Result<()> {
        match self {
            Self::Coo(coo) => coo.check(shape, buffers),
            Self::Csr(csr) => csr.check(shape, buffers, &ROWS),
            Self::Csc(csc) => csc.check(shape, buffers, &COLUMNS),
            Self::Csf(csf) => csf.check(shape, buffers),
            Self::BlockPaged(paged) => paged.check(buffers),
            _ => Ok(()),
        }
    }

    pub(crate) fn encoded_len(&self, rank: usize) -> usize {
        match self {
            Self::RowMajor | Self::ColumnMajor => 0,
            Self::Strided(_) => rank.saturating_mul(8),
            Self::Tiled(tiled) => tiled.encoded_len(),
            Self::Morton(_) => rank.saturating_mul(4),
            Self::Coo(_) | Self::Csr(_) | Self::Csc(_) => 16,
            Self::Csf(_) => rank.saturating_mul(4).saturating_add(16),
            Self::BlockPaged(_) => 32,
            Self::Composite(_) | Self::Hilbert(_) => 8,
            Self::Private(private) => private.encoded_len(),
        }
    }

    #[inline]
    pub(crate) fn store(&self, rank: usize, w: &mut Writer<'_>) {
        match self {
            Self::RowMajor | Self::ColumnMajor => {}
            Self::Strided(strides) => strides.iter().for_each(|s| w.block(&s.to_le_bytes())),
            Self::Tiled(tiled) => tiled.store(w),
            Self::Morton(morton) => morton.bits.iter().for_each(|bits| w.u32(bits)),
            Self::Coo(coo) => {
                w.u64(coo.nnz);
                w.block(&[u8::from(coo.is_sorted), 0, 0, 0, 0, 0, 0, 0]);
            }
            Self::Csr(Compressed { nnz }) | Self::Csc(Compressed { nnz }) => {
                w.u64(*nnz);
                w.zeros::<8>();
            }
            Self::Csf(csf) => {
                w.u64(csf.nnz);
                csf.mode_order.iter().for_each(|mode| w.u32(mode));
                w.zeros::<8>();
            }
            Self::BlockPaged(paged) => paged.store(w),
            Self::Composite(head) => head.store(w),
            Self::Hilbert(hilbert) => {
                w.u32(hilbert.order);
                w.u32(u32::try_from(rank).unwrap_or(u32::MAX));
            }
            Self::Private(private) => private.store(w),
        }
    }

    /// The same, made in the caller's place where nothing is to be copied.
    #[inline(always)]
    pub(crate) fn kept(&self) -> Layout {
        match self {
            Self::RowMajor => Layout::RowMajor,
            Self::ColumnMajor => Layout::ColumnMajor,
            other => other.to_owned(),
        }
    }

    /// The same layout, keeping its own arrays.
    pub fn to_owned(&self) -> Layout {
        match self {
            Self::RowMajor => Layout::RowMajor,
            Self::ColumnMajor => Layout::ColumnMajor,
            Self::Strided(strides) => Layout::Strided(strides.iter().collect()),
            Self::Tiled(tiled) => Layout::tiled(tiled.to_owned()),
            Self::Morton(morton) => Layout::Morton(Morton { bits: morton.bits.iter().collect() }),
            Self::Coo(coo) => Layout::Coo(*coo),
            Self::Csr(csr) => Layout::Csr(*csr),
            Self::Csc(csc) => Layout::Csc(*csc),
            Self::Csf(csf) => {
                Layout::Csf(Csf { nnz: csf.nnz, mode_order: csf.mode_order.iter().collect() })
            }
            Self::BlockPaged(paged) => Layout::BlockPaged(*paged),
            Self::Composite(head) => Layout::Composite(*head),
            Self::Hilbert(hilbert) => Layout::Hilbert(*hilbert),
            Self::Private(private) => Layout::Private(private.to_owned()),
        }
    }
}
