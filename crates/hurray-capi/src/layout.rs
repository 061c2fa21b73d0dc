//! Layouts: what a descriptor says of where its elements lie, and what a builder is told.

use std::ffi::c_void;
use std::ptr;

use hurray_tensor::format::{
    BlockPaged, CompositeHead, Composition, Compressed, Coo, Csf, Error, Expected, Hilbert, KvRole,
    Layout, List, Morton, Number, Order, PrivateLayout, Rule, TileLevel, Tiled, Value, layout_tag,
};

use crate::descriptor::{hurray_descriptor_ref, lent};
use crate::failure::{Failure, Result, refuse, refused};
use crate::fence::fence;
use crate::fields::past_the_last;
use crate::growing::{Form, Growing, flag, zeros};
use crate::pointer::{Place, items, zeroed};

/// Where the elements of a tensor lie. Which fields count is decided by the tag; the others are
/// zero in an answer, and not looked at in a question.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HurrayLayout {
    /// sizeof(struct HurrayLayout).
    pub struct_size: u32,
    /// HURRAY_LAYOUT_*, or a private tag.
    pub tag: u8,
    /// COO: 1 where the entries are sorted by index, else 0.
    pub is_sorted: u8,
    /// Block-paged: HURRAY_KV_*.
    pub kv_role: u8,
    /// Block-paged: 1 where the block table holds uint64_t, 0 where it holds uint32_t.
    pub wide_indices: u8,
    /// Composite: HURRAY_COMPOSITION_*, or a private rule.
    pub composition: u8,
    /// Composite: HURRAY_COMBINE_* of an overlay; else 0, or as a private rule wants it.
    pub combine: u8,
    /// Tiled: the order inside the smallest tile, HURRAY_LAYOUT_ROW_MAJOR, _COLUMN_MAJOR or
    /// _STRIDED.
    pub inner: u8,
    /// Zero.
    pub reserved: u8,
    /// Hilbert: bits for each coordinate.
    pub order: u32,
    /// Strided: a step in elements for each dimension. Tiled with strided insides: the same
    /// inside the smallest tile.
    pub strides: *const i64,
    /// Morton: bits for each dimension. CSF: which dimension each level stores.
    pub modes: *const u32,
    /// COO, CSR, CSC, CSF: the number of stored entries.
    pub nnz: u64,
    /// Block-paged: pages in the pool.
    pub num_pages: u64,
    /// Block-paged: tokens in a page.
    pub page_size: u32,
    /// Block-paged: sequences in the block table.
    pub num_seqs: u32,
    /// Block-paged: the layer of the model, HURRAY_NO_LAYER where it is not said.
    pub layer_index: u32,
    /// Composite: how many of the tensors that follow are its members.
    pub member_count: u32,
    /// Tiled, in a question: the records, the coarsest first. In an answer NULL:
    /// hurray_descriptor_tile gives them one by one.
    pub tiles: *const HurrayTile,
    /// Tiled: how many records there are.
    pub tile_count: usize,
    /// Private: which layout it is.
    pub private_id: u64,
    /// Private: what belongs to it.
    pub private_data: *const c_void,
    /// Private: how many bytes that is.
    pub private_length: usize,
}

// SAFETY: as the trait asks; numbers and pointers are values whatever their bits.
unsafe impl Growing for HurrayLayout {
    const FIRST: usize = 104;
}

/// One record of a tiled layout. It never grows.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HurrayTile {
    /// The size of a tile in each dimension.
    pub shape: *const u64,
    /// Where `outer` is HURRAY_LAYOUT_STRIDED: a step in tiles for each dimension. Else NULL.
    pub outer_strides: *const i64,
    /// The order of the tiles in their grid: HURRAY_LAYOUT_ROW_MAJOR, _COLUMN_MAJOR or _STRIDED.
    pub outer: u8,
    /// Zero.
    pub reserved: [u8; 7],
}

const NOTHING: HurrayLayout = HurrayLayout {
    struct_size: 0,
    tag: 0,
    is_sorted: 0,
    kv_role: 0,
    wide_indices: 0,
    composition: 0,
    combine: 0,
    inner: 0,
    reserved: 0,
    order: 0,
    strides: ptr::null(),
    modes: ptr::null(),
    nnz: 0,
    num_pages: 0,
    page_size: 0,
    num_seqs: 0,
    layer_index: 0,
    member_count: 0,
    tiles: ptr::null(),
    tile_count: 0,
    private_id: 0,
    private_data: ptr::null(),
    private_length: 0,
};

/// `layer_index` where the layer of the model is not said.
pub(crate) const HURRAY_NO_LAYER: u32 = 0xFFFF_FFFF;

/// Where the elements lie. Arrays are good for as long as the descriptor is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_layout(
    descriptor: *const hurray_descriptor_ref,
    layout: *mut HurrayLayout,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let descriptor = unsafe { lent(descriptor) }?;
        // SAFETY: the contract of the header.
        let mut form = unsafe { Form::new(layout, "layout") }?;
        form.fill(told(descriptor.layout()));
        Ok(())
    })
}

/// A step in elements for each dimension of a row-major, column-major or strided tensor: `rank`
/// numbers. Refused ("capi.absent") for other layouts, where a dimension is not known, and where a
/// step needs more than 64 bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_strides(
    descriptor: *const hurray_descriptor_ref,
    strides: *mut i64,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let descriptor = unsafe { lent(descriptor) }?;
        let steps = descriptor.strides().ok_or_else(|| refused(Rule::CapiAbsent, "strides"))?;
        // SAFETY: the contract of the header.
        let place = unsafe { zeroed(strides, descriptor.rank(), "strides") }?;
        place.copy_from_slice(&steps);
        Ok(())
    })
}

/// Record `place` of a tiled layout, from 0, the coarsest first. Its arrays are good for as long as
/// the descriptor is. Refused ("capi.absent") where the layout is another one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_tile(
    descriptor: *const hurray_descriptor_ref,
    place: usize,
    tile: *mut HurrayTile,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let descriptor = unsafe { lent(descriptor) }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(tile, "tile") }?;
        let Layout::Tiled(tiled) = descriptor.layout() else {
            return Err(refused(Rule::CapiAbsent, "tile"));
        };
        let level = tiled.levels.get(place).ok_or_else(|| past_the_last("place", place))?;
        out.put(HurrayTile {
            shape: level.tile_shape.as_ptr(),
            outer_strides: strides_of(&level.outer),
            outer: level.outer.tag(),
            reserved: [0; 7],
        });
        Ok(())
    })
}

fn told(layout: &Layout) -> HurrayLayout {
    let plain = HurrayLayout { tag: layout.tag(), nnz: layout.nnz().unwrap_or(0), ..NOTHING };
    match layout {
        Layout::Strided(strides) => HurrayLayout { strides: strides.as_ptr(), ..plain },
        Layout::Tiled(tiled) => HurrayLayout {
            inner: tiled.inner.tag(),
            strides: strides_of(&tiled.inner),
            tile_count: tiled.levels.len(),
            ..plain
        },
        Layout::Morton(morton) => HurrayLayout { modes: morton.bits.as_ptr(), ..plain },
        Layout::Coo(coo) => HurrayLayout { is_sorted: u8::from(coo.is_sorted), ..plain },
        Layout::Csf(csf) => HurrayLayout { modes: csf.mode_order.as_ptr(), ..plain },
        Layout::BlockPaged(paged) => HurrayLayout {
            kv_role: paged.kv_role.tag(),
            wide_indices: u8::from(paged.wide_indices),
            num_pages: paged.num_pages,
            page_size: paged.page_size,
            num_seqs: paged.num_seqs,
            layer_index: paged.layer_index.unwrap_or(HURRAY_NO_LAYER),
            ..plain
        },
        Layout::Composite(head) => {
            let (composition, combine) = head.composition.tags();
            HurrayLayout { composition, combine, member_count: head.member_count, ..plain }
        }
        Layout::Hilbert(hilbert) => HurrayLayout { order: hilbert.order, ..plain },
        Layout::Private(private) => HurrayLayout {
            private_id: private.id,
            private_data: private.data.as_ptr().cast(),
            private_length: private.data.len(),
            ..plain
        },
        _ => plain,
    }
}

fn strides_of(order: &Order) -> *const i64 {
    match order {
        Order::Strided(strides) => strides.as_ptr(),
        Order::RowMajor | Order::ColumnMajor => ptr::null(),
    }
}

/// The layout that a caller describes, of a tensor of that rank. Whether the format allows it is
/// judged with the descriptor.
///
/// # Safety
///
/// The arrays that the tag wants are there, and live while this runs: one number for each
/// dimension, and as many tiles and bytes as it says.
pub(crate) unsafe fn layout_of(theirs: &HurrayLayout, rank: usize) -> Result<Layout> {
    zeros(&[theirs.reserved])?;
    Ok(match theirs.tag {
        layout_tag::ROW_MAJOR => Layout::RowMajor,
        layout_tag::COLUMN_MAJOR => Layout::ColumnMajor,
        layout_tag::STRIDED => {
            // SAFETY: passed on to the caller.
            Layout::Strided(unsafe { numbers(theirs.strides, rank, "strides") }?)
        }
        // SAFETY: passed on to the caller.
        layout_tag::TILED => Layout::tiled(unsafe { tiled(theirs, rank) }?),
        layout_tag::MORTON => {
            // SAFETY: passed on to the caller.
            Layout::Morton(Morton { bits: unsafe { numbers(theirs.modes, rank, "modes") }? })
        }
        layout_tag::COO => {
            Layout::Coo(Coo { nnz: theirs.nnz, is_sorted: flag(theirs.is_sorted, "is_sorted")? })
        }
        layout_tag::CSR => Layout::Csr(Compressed { nnz: theirs.nnz }),
        layout_tag::CSC => Layout::Csc(Compressed { nnz: theirs.nnz }),
        layout_tag::CSF => Layout::Csf(Csf {
            nnz: theirs.nnz,
            // SAFETY: passed on to the caller.
            mode_order: unsafe { numbers(theirs.modes, rank, "modes") }?,
        }),
        layout_tag::BLOCK_PAGED => Layout::BlockPaged(BlockPaged {
            page_size: theirs.page_size,
            num_pages: theirs.num_pages,
            num_seqs: theirs.num_seqs,
            kv_role: kv_role(theirs.kv_role)?,
            layer_index: Some(theirs.layer_index).filter(|layer| *layer != HURRAY_NO_LAYER),
            wide_indices: flag(theirs.wide_indices, "wide_indices")?,
        }),
        layout_tag::COMPOSITE => Layout::Composite(CompositeHead {
            composition: Composition::from_tags(theirs.composition, theirs.combine),
            member_count: theirs.member_count,
        }),
        layout_tag::HILBERT => Layout::Hilbert(Hilbert { order: theirs.order }),
        // A tag that the format does not know is refused with the descriptor.
        tag => {
            let (data, length) = (theirs.private_data.cast::<u8>(), theirs.private_length);
            // SAFETY: passed on to the caller.
            let data = unsafe { items(data, length, "private_data") }?;
            Layout::Private(PrivateLayout { tag, id: theirs.private_id, data: data.into() })
        }
    })
}

/// # Safety
///
/// As [`layout_of`].
unsafe fn tiled(theirs: &HurrayLayout, rank: usize) -> Result<Tiled> {
    // SAFETY: passed on to the caller.
    let tiles = unsafe { items(theirs.tiles, theirs.tile_count, "tiles") }?;
    let level = |tile: &HurrayTile| {
        zeros(&tile.reserved)?;
        Ok(TileLevel {
            // SAFETY: passed on to the caller.
            tile_shape: unsafe { numbers(tile.shape, rank, "tiles.shape") }?,
            // SAFETY: passed on to the caller.
            outer: unsafe { order(tile.outer, tile.outer_strides, rank, OUTER) }?,
        })
    };
    let levels = tiles.iter().map(level).collect::<Result<_>>()?;
    // SAFETY: passed on to the caller.
    let inner = unsafe { order(theirs.inner, theirs.strides, rank, INNER) }?;
    Ok(Tiled { levels, inner })
}

const OUTER: (&str, Rule) = ("tiles.outer", Rule::LayoutTiledOuterLayout);
const INNER: (&str, Rule) = ("inner", Rule::LayoutTiledInnerLayout);

/// # Safety
///
/// The strides, where the tag wants them, are there and live while this runs.
unsafe fn order(
    tag: u8,
    strides: *const i64,
    rank: usize,
    (name, rule): (&'static str, Rule),
) -> Result<Order> {
    Ok(match tag {
        layout_tag::ROW_MAJOR => Order::RowMajor,
        layout_tag::COLUMN_MAJOR => Order::ColumnMajor,
        // SAFETY: passed on to the caller.
        layout_tag::STRIDED => Order::Strided(unsafe { numbers(strides, rank, name) }?),
        _ => return Err(refuse(rule, name, Value::Tag(u64::from(tag)), Expected::Unsaid)),
    })
}

/// # Safety
///
/// The pointer is null, or leads to `rank` numbers that live while this runs.
unsafe fn numbers<T: Number>(
    pointer: *const T,
    rank: usize,
    name: &'static str,
) -> Result<List<T>> {
    // SAFETY: passed on to the caller.
    Ok(List::new(unsafe { items(pointer, rank, name) }?))
}

fn kv_role(tag: u8) -> Result<KvRole> {
    let refused = |rule| {
        let found = Value::Unsigned(u64::from(tag));
        Failure::from(Error::new(rule, "kv_role", 0, found, Expected::Unsaid))
    };
    KvRole::from_tag(tag).map_err(refused)
}
