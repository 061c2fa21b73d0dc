//! Inputs that broke somebody else's reader, each a test of its kind. The letters and
//! numbers are the cases' names.

#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod support;

use hurray_format::*;
use support::{built, refused};

/// A row-major float32 tensor of rank 2 whose header, shape and handle are then changed.
fn changed(change: impl FnOnce(&mut [u8])) -> Result<Descriptor> {
    let mut bytes = Descriptor::dense(Dtype::Float32, &[3, 4]).unwrap().encode();
    change(&mut bytes);
    Descriptor::decode(&bytes)
}

const SHAPE: usize = 20;
const BYTE_OFFSET: usize = 36;
const SIZE: usize = 45;
const ALIGNMENT: usize = 53;

fn put(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// L1: unequal widths interleave without holes.
#[test]
fn l1_morton_codes_of_unequal_widths_leave_no_hole() {
    for (bits, shape) in [([1, 3], [2, 8]), ([3, 1], [8, 2])] {
        let tensor = built(Dtype::UInt8, &shape, Layout::morton(bits)).unwrap();
        assert_eq!(tensor.buffers()[0].byte_size(), 16);
        let mut codes: Vec<u64> = (0..shape[0])
            .flat_map(|i| (0..shape[1]).map(move |k| [i, k]))
            .map(|index| tensor.locate(&index).unwrap().byte)
            .collect();
        codes.sort_unstable();
        assert_eq!(codes, (0..16).collect::<Vec<_>>());
    }
    // Bits 0 of both dimensions, then bits 1 and 2 of the second.
    let tensor = built(Dtype::UInt8, &[2, 8], Layout::morton([1, 3])).unwrap();
    assert_eq!(tensor.locate(&[1, 0]).unwrap().byte, 1);
    assert_eq!(tensor.locate(&[0, 1]).unwrap().byte, 2);
    assert_eq!(tensor.locate(&[0, 2]).unwrap().byte, 4);
    assert_eq!(tensor.locate(&[0, 4]).unwrap().byte, 8);
}

/// L3: a side that is no power of two takes the buffer of the next one.
#[test]
fn l3_a_morton_buffer_is_sized_by_its_bits() {
    let tensor = built(Dtype::Float32, &[48, 48], Layout::morton([6, 6])).unwrap();
    assert_eq!(tensor.buffers()[0].byte_size(), 64 * 64 * 4);
    let far = tensor.locate(&[47, 47]).unwrap();
    assert!(far.byte + 4 <= 64 * 64 * 4 && far.byte > 48 * 48 * 4);
    let too_small = tensor.rebuild().buffers([BufferHandle::cpu(48 * 48 * 4)]).build();
    refused(too_small, Rule::LayoutBufferTooSmall);
    refused(
        built(Dtype::Float32, &[48, 48], Layout::morton([5, 6])),
        Rule::LayoutMortonDimensionTooLarge,
    );
}

/// L4: rank times order stays below 64 bits.
#[test]
fn l4_a_hilbert_index_has_63_bits_at_most() {
    let cube = |rank, order: u32| {
        let side = 1_u64.checked_shl(order).unwrap_or(u64::MAX);
        built(Dtype::UInt8, &vec![side; rank], Layout::Hilbert(Hilbert { order }))
    };
    for (rank, order) in [(2, 31), (3, 21), (7, 9), (63, 1)] {
        assert!(cube(rank, order).is_ok(), "{rank} {order}");
    }
    for (rank, order) in [(2, 32), (3, 22), (64, 1), (2, 63)] {
        refused(cube(rank, order), Rule::LayoutHilbertBitsTotal);
    }
    // A side that 64 bits cannot say is no side of any shape.
    refused(cube(2, 64), Rule::LayoutHilbertShape);
    refused(cube(2, u32::MAX), Rule::LayoutHilbertShape);
}

/// L5: only cubes.
#[test]
fn l5_a_hilbert_curve_goes_through_cubes_only() {
    for shape in [[4, 8], [8, 4], [3, 4], [4, DYNAMIC], [0, 4]] {
        let layout = Layout::Hilbert(Hilbert { order: 2 });
        refused(built(Dtype::UInt8, &shape, layout), Rule::LayoutHilbertShape);
    }
}

/// L6: dimensions are not exchanged, and the fourth and later ones count. Squares would
/// hide the first, pairs of dimensions the second.
#[test]
fn l6_no_dimension_is_exchanged_or_dropped() {
    let shape = [2, 3, 5, 7, 11];
    let index = [1, 2, 3, 4, 5];
    let byte = |layout| built(Dtype::UInt8, &shape, layout).unwrap().locate(&index).unwrap().byte;
    assert_eq!(byte(Layout::RowMajor), 5 + 11 * (4 + 7 * (3 + 5 * (2 + 3))));
    assert_eq!(byte(Layout::ColumnMajor), 1 + 2 * (2 + 3 * (3 + 5 * (4 + 7 * 5))));
    assert_eq!(byte(Layout::strided([1, 2, 6, 30, 210])), 1 + 4 + 18 + 120 + 1050);

    // Coordinates whose only bit is in one dimension tell the dimensions apart.
    let tensor = built(Dtype::UInt8, &[2, 4, 8, 2], Layout::morton([1, 2, 3, 1])).unwrap();
    let place = |index: [u64; 4]| tensor.locate(&index).unwrap().byte;
    assert_eq!(place([1, 0, 0, 0]), 1);
    assert_eq!(place([0, 1, 0, 0]), 1 << 1);
    assert_eq!(place([0, 0, 1, 0]), 1 << 2);
    assert_eq!(place([0, 0, 0, 1]), 1 << 3);
    assert_eq!(place([0, 2, 0, 0]), 1 << 4);
    assert_eq!(place([0, 0, 2, 0]), 1 << 5);
    assert_eq!(place([0, 0, 4, 0]), 1 << 6);

    // The specification's own walk, and its mirror where the axes are exchanged.
    let walk = [
        [0, 0],
        [1, 0],
        [1, 1],
        [0, 1],
        [0, 2],
        [0, 3],
        [1, 3],
        [1, 2],
        [2, 2],
        [2, 3],
        [3, 3],
        [3, 2],
        [3, 1],
        [2, 1],
        [2, 0],
        [3, 0],
    ];
    let tensor = built(Dtype::UInt8, &[4, 4], Layout::Hilbert(Hilbert { order: 2 })).unwrap();
    for (place, index) in (0..).zip(walk) {
        assert_eq!(tensor.locate(&index).unwrap().byte, place);
    }
    // In three dimensions, from a table computed apart.
    let tensor = built(Dtype::UInt8, &[2; 3], Layout::Hilbert(Hilbert { order: 1 })).unwrap();
    let walk =
        [[0, 0, 0], [0, 0, 1], [0, 1, 1], [0, 1, 0], [1, 1, 0], [1, 1, 1], [1, 0, 1], [1, 0, 0]];
    for (place, index) in (0..).zip(walk) {
        assert_eq!(tensor.locate(&index).unwrap().byte, place, "{index:?}");
    }
}

/// L7: partial tiles are stored whole, a tile may be larger than its dimension, none is 0.
#[test]
fn l7_tiles_are_stored_whole() {
    let size = |shape: &[u64], tile: &[u64]| {
        let layout = Layout::tiled(Tiled::blocks(tile));
        built(Dtype::UInt8, shape, layout).map(|tensor| tensor.buffers()[0].byte_size())
    };
    assert_eq!(size(&[4, 4], &[2, 2]), Ok(16));
    assert_eq!(size(&[5, 4], &[2, 2]), Ok(24));
    assert_eq!(size(&[5, 5], &[2, 2]), Ok(36));
    assert_eq!(size(&[3, 3], &[8, 16]), Ok(128));
    assert_eq!(size(&[1], &[1 << 40]), Ok(1 << 40));
    assert_eq!(size(&[0, 3], &[8, 16]), Ok(0));
    refused(size(&[4, 4], &[2, 0]), Rule::LayoutTiledTileShapeZero);
    refused(size(&[1, 1], &[1 << 40, 1 << 40]), Rule::LayoutBufferTooSmall);
    refused(size(&[1, 1], &[u64::MAX, u64::MAX]), Rule::LayoutBufferTooSmall);
    // The last element of a partial tile lies in its own tile, not behind the row.
    let layout = Layout::tiled(Tiled::blocks([2, 2]));
    let tensor = built(Dtype::UInt8, &[3, 3], layout).unwrap();
    assert_eq!(tensor.locate(&[2, 2]).unwrap().byte, 12);
    assert_eq!(tensor.locate(&[0, 2]).unwrap().byte, 4);
}

/// G2: an empty dimension is legal.
#[test]
fn g2_a_dimension_of_zero_loads() {
    for shape in [&[1, 0][..], &[0], &[0, u64::MAX - 1, u64::MAX - 1], &[0, DYNAMIC]] {
        let tensor = Descriptor::dense(Dtype::Float32, shape).unwrap();
        assert_eq!(tensor.element_count(), Some(0));
        assert_eq!(Descriptor::decode(&tensor.encode()), Ok(tensor));
    }
}

/// G3: a product that wraps to something small is not small.
#[test]
fn g3_products_of_dimensions_do_not_wrap() {
    let wraps = [
        [1 << 32, 1 << 32],
        [(1 << 42) + 1, 1 << 22],
        [(1 << 63) + 1, 2],
        [u64::MAX - 1, u64::MAX - 1],
    ];
    for shape in wraps {
        assert_ne!(shape[0].checked_mul(shape[1]), Some(1));
        let error = refused(Descriptor::dense(Dtype::Float32, &shape), Rule::LayoutBufferTooSmall);
        assert_eq!(error.fault(), Fault::Corrupt);
        // The same from bytes, whatever the buffer says.
        for size in [0, 4, 192, u64::MAX] {
            let read = changed(|bytes| {
                put(bytes, SHAPE, shape[0]);
                put(bytes, SHAPE + 8, shape[1]);
                put(bytes, SIZE, size);
            });
            refused(read, Rule::LayoutBufferTooSmall);
        }
    }
    // 2^65 elements of one bit are 2^62 bytes: a count beyond 64 bits may be legal.
    let bits = Descriptor::dense(Dtype::Bool, &[1 << 33, 1 << 32]).unwrap();
    assert_eq!((bits.element_count(), bits.data_bytes()), (None, 1 << 62));
    // So may a count whose elements share places.
    let layout = Layout::strided([0, 0, 1]);
    let shared = built(Dtype::Float64, &[u64::MAX - 1, u64::MAX - 1, 4], layout).unwrap();
    assert_eq!(shared.buffers()[0].byte_size(), 32);
}

/// G4: sums of sizes do not wrap either.
#[test]
fn g4_sums_of_sizes_do_not_wrap() {
    let read = changed(|bytes| put(bytes, BYTE_OFFSET, u64::MAX));
    refused(read, Rule::DescriptorByteOffsetBeyondBuffer);
    let read = changed(|bytes| {
        put(bytes, BYTE_OFFSET, u64::MAX - 47);
        put(bytes, SIZE, u64::MAX);
    });
    refused(read, Rule::LayoutBufferTooSmall);
    assert!(
        changed(|bytes| {
            put(bytes, BYTE_OFFSET, u64::MAX - 48);
            put(bytes, SIZE, u64::MAX);
        })
        .is_ok()
    );
    // The sum of the buffers saturates, which no memory holds.
    let huge = [BufferHandle::cpu(u64::MAX), BufferHandle::cpu(u64::MAX)];
    let coo = Layout::Coo(Coo { nnz: 1, is_sorted: true });
    let tensor = Descriptor::builder(Dtype::UInt8, &[4]).layout(coo).buffers(huge).build();
    assert_eq!(tensor.unwrap().data_bytes(), u64::MAX);
    // Shards: offset plus size.
    let shard = Shard::new(&[u64::MAX - 1], &[u64::MAX - 2]);
    let tensor = Descriptor::builder(Dtype::UInt8, &[3]).shard(shard).build();
    refused(tensor, Rule::ShardOutOfBounds);
}

/// G5: what is rounded up to an alignment near 2^64 does not come round to 0.
#[test]
fn g5_rounding_up_does_not_come_round() {
    // 6-bit elements round up to groups of three bytes, and 2^64 - 1 is a multiple of 3.
    let whole = u64::MAX;
    let elements = u128::from(whole / 3) * 4;
    assert_eq!(Dtype::Float6E2M3.bytes_for(elements), Some(u128::from(whole)));
    assert_eq!(Dtype::Float6E2M3.bytes_for(elements + 1), Some(u128::from(whole) + 3));
    // Bits round up to bytes, tiles and blocks to their grid.
    assert_eq!(Dtype::Bool.bytes_for(u128::from(u64::MAX)), Some(1 << 61));
    assert_eq!(Dtype::Bool.bytes_for(u128::MAX), Some(1 << 125));
    assert_eq!(Dtype::Int2.bytes_for(u128::MAX), None);
    let tiled = Layout::tiled(Tiled::blocks([1 << 62]));
    let tensor = built(Dtype::UInt8, &[(1 << 63) + 1], tiled).unwrap();
    assert_eq!(tensor.buffers()[0].byte_size(), 3 << 62);
    let tiled = Layout::tiled(Tiled::blocks([1 << 63]));
    refused(built(Dtype::UInt8, &[(1 << 63) + 1], tiled), Rule::LayoutBufferTooSmall);

    let blocks = |size: u64| {
        let scheme = PerBlock {
            axis: 0,
            block_size: 1 << 31,
            scales: 1,
            zero_points: None,
            scale_type: Dtype::Float16,
        };
        Descriptor::builder(Dtype::Int8, &[size])
            .quantization(Quantization::PerBlock(scheme))
            .build()
    };
    let tensor = blocks(u64::MAX - 1).unwrap();
    assert_eq!(tensor.buffers()[1].byte_size(), 2 << 33);
    assert_eq!(blocks((1 << 31) + 1).unwrap().buffers()[1].byte_size(), 4);

    // A file's planner meets the end of 64 bits with a refusal, not with place 0.
    let options = FileOptions::default();
    let (mut plan, _) = FilePlan::new(options).unwrap();
    let tensor = Descriptor::dense(Dtype::UInt8, &[u64::MAX - 4096]).unwrap();
    let first = plan.tensor("first", &tensor);
    let second = plan.tensor("second", &tensor);
    assert!(first.is_err() || second.is_err());
}

/// G6: alignments are powers of two, and large enough where there is something to align.
#[test]
fn g6_alignments_are_powers_of_two() {
    let aligned = |alignment: u32, size: u64| {
        changed(|bytes| {
            bytes[ALIGNMENT..ALIGNMENT + 4].copy_from_slice(&alignment.to_le_bytes());
            put(bytes, SIZE, size);
            if size == 0 {
                put(bytes, SHAPE, 0);
            }
        })
    };
    for alignment in [0, 3, 65, 96, (1 << 31) + 1, u32::MAX] {
        refused(aligned(alignment, 48), Rule::BufferAlignmentNotPowerOfTwo);
        refused(aligned(alignment, 0), Rule::BufferAlignmentNotPowerOfTwo);
    }
    for alignment in [1, 2, 32] {
        refused(aligned(alignment, 48), Rule::BufferAlignmentTooSmall);
        assert!(aligned(alignment, 0).is_ok());
    }
    for alignment in [64, 4096, 1 << 31] {
        assert_eq!(aligned(alignment, 48).unwrap().buffers()[0].alignment(), alignment);
    }
}

/// G7: a rank is refused before a single size is read.
#[test]
fn g7_a_rank_is_refused_before_its_shape_is_read() {
    for rank in [65, 1 << 16, 1 << 29, u32::MAX] {
        let read = changed(|bytes| bytes[16..20].copy_from_slice(&rank.to_le_bytes()));
        assert_eq!(refused(read, Rule::DescriptorRankTooLarge).offset(), 16);
    }
    // Rank 9, more than is kept inline, and 64, the most there is.
    for rank in [9, 64] {
        let tensor = Descriptor::dense(Dtype::UInt8, &vec![1; rank]).unwrap();
        assert_eq!(Descriptor::decode(&tensor.encode()).unwrap().rank(), rank);
        assert_eq!(tensor.locate(&vec![0; rank]).unwrap().byte, 0);
    }
    refused(Descriptor::dense(Dtype::UInt8, &[1; 65]), Rule::DescriptorRankTooLarge);
    // A rank that the bytes do not hold.
    let read = changed(|bytes| bytes[16..20].copy_from_slice(&64_u32.to_le_bytes()));
    refused(read, Rule::DescriptorOverrun);
}

/// G9: lengths are compared with what is there; keys are not empty; an array of 2^32
/// elements is not believed.
#[test]
fn g9_keys_and_lengths_of_key_values_are_checked() {
    let kv = |entries: &[u8]| {
        let mut bytes = 1_u32.to_le_bytes().to_vec();
        bytes.extend(entries);
        Kv::decode(bytes, &mut Silent)
    };
    assert!(kv(b"\x01\x00k\x05\x01").is_ok());
    refused(kv(b"\x00\x00\x05\x01"), Rule::FileKvKeyEmpty);
    refused(kv(b"\xFF\xFFk\x05\x01"), Rule::FileKvTruncated);
    refused(kv(b"\x01\x00k\x01\xFF\xFF\xFF\xFFab"), Rule::FileKvTruncated);
    refused(kv(b"\x01\x00k\x06\x03\x00\x00\x00ab"), Rule::FileKvTruncated);
    refused(kv(b"\x01\x00k\x07\x03\xFF\xFF\xFF\xFF"), Rule::FileKvArrayCountTooLarge);
    refused(
        kv(b"\x01\x00k\x07\x01\xFF\xFF\xFF\x7F\x00\x00\x00\x00"),
        Rule::FileKvArrayCountTooLarge,
    );
    let many = Kv::decode(u32::MAX.to_le_bytes().to_vec(), &mut Silent);
    refused(many, Rule::FileKvCountTooLarge);
}

/// G10: nothing here depends on whether the build checks overflow. What a release build
/// would wrap is asked for at its limits.
#[test]
fn g10_limits_of_every_number_are_met_alike_in_every_build() {
    for at in 0..61 {
        for width in [1, 2, 4, 8] {
            if at + width > 61 {
                continue;
            }
            for fill in [0x00, 0x7F, 0x80, 0xFF] {
                let read = changed(|bytes| bytes[at..at + width].fill(fill));
                if let Ok(read) = read {
                    let again = Descriptor::decode(&read.encode());
                    assert_eq!(again.as_ref(), Ok(&read));
                    let index = vec![0; read.rank()];
                    let _ = read.locate(&index);
                }
            }
        }
    }
    let layout = Layout::strided([i64::MIN, i64::MAX]);
    let tensor = Descriptor::builder(Dtype::Float32, &[u64::MAX - 1, u64::MAX - 1])
        .layout(layout)
        .buffers([BufferHandle::cpu(u64::MAX)])
        .byte_offset(u64::MAX)
        .build();
    refused(tensor, Rule::LayoutElementBeforeBuffer);
    let layout = Layout::strided([i64::MAX, i64::MAX]);
    let tensor = Descriptor::builder(Dtype::Float32, &[u64::MAX - 1, u64::MAX - 1])
        .layout(layout)
        .buffers([BufferHandle::cpu(u64::MAX)])
        .build();
    refused(tensor, Rule::LayoutBufferTooSmall);
}

/// G11: many large parts, each within 64 bits, are added wide.
#[test]
fn g11_large_reaches_add_up_wide() {
    let shape = [2; 64];
    let strides = [i64::MAX; 64];
    let tensor = Descriptor::builder(Dtype::UInt8, &shape)
        .layout(Layout::strided(strides))
        .buffers([BufferHandle::cpu(u64::MAX)])
        .build();
    refused(tensor, Rule::LayoutBufferTooSmall);
    // 64 times 2^58 is 2^64: one step too many; 63 times is not.
    let reach = |count: usize| {
        let mut strides = [0; 64];
        strides[..count].fill(1 << 58);
        Descriptor::builder(Dtype::UInt8, &shape)
            .layout(Layout::strided(strides))
            .buffers([BufferHandle::cpu(u64::MAX)])
            .build()
    };
    assert!(reach(63).is_ok());
    refused(reach(64), Rule::LayoutBufferTooSmall);
}

/// G12: what a handle claims is compared with the bytes there are.
#[test]
fn g12_a_claimed_size_is_compared_with_the_bytes_there_are() {
    let tensor = Descriptor::dense(Dtype::UInt8, &[1 << 40]).unwrap();
    refused(tensor.check_contents(&[&[0; 16]]), Rule::SparseBufferTooSmall);
    let mut stream = tensor.encode();
    stream.extend([0; 16]);
    refused(StreamView::new(&stream).verify(), Rule::StreamTruncated);
}

/// G15: a scalar has no last dimension, and every layout knows.
#[test]
fn g15_a_scalar_is_row_major_and_one_element() {
    let scalar = Descriptor::dense(Dtype::Float32, &[]).unwrap();
    assert_eq!((scalar.rank(), scalar.element_count(), scalar.data_bytes()), (0, Some(1), 4));
    assert_eq!(scalar.locate(&[]).unwrap(), Location { byte: 0, bit: 0 });
    refused(scalar.locate(&[0]), Rule::IndexRank);
    let layouts = [
        Layout::ColumnMajor,
        Layout::strided([]),
        Layout::tiled(Tiled::blocks([])),
        Layout::morton([]),
        Layout::Coo(Coo { nnz: 0, is_sorted: true }),
        Layout::Csr(Compressed { nnz: 0 }),
        Layout::Csc(Compressed { nnz: 0 }),
        Layout::Csf(Csf { nnz: 0, mode_order: [].into() }),
        Layout::Hilbert(Hilbert { order: 1 }),
        Layout::Composite(CompositeHead { composition: Composition::Group, member_count: 0 }),
        Layout::Private(PrivateLayout { tag: 0xF0, id: 0, data: [].into() }),
    ];
    for layout in layouts {
        refused(built(Dtype::Float32, &[], layout), Rule::DescriptorScalarLayout);
    }
    // No axis of a scalar can be quantized.
    let scheme = PerChannel { axis: 0, scales: 1, zero_points: None };
    let tensor = Descriptor::builder(Dtype::Int8, &[])
        .quantization(Quantization::PerChannel(scheme))
        .build();
    refused(tensor, Rule::QuantPerChannelAxis);
    let scheme = PerTensor { scale: 0.5, zero_point: 3 };
    let tensor =
        Descriptor::builder(Dtype::Int8, &[]).quantization(Quantization::PerTensor(scheme)).build();
    assert_eq!(tensor.unwrap().data_bytes(), 1);
}

/// Q13: the size of a few 6-bit elements is whole groups.
#[test]
fn q13_six_bit_elements_take_whole_groups() {
    for dtype in [Dtype::Float6E2M3, Dtype::Float6E3M2] {
        let sizes = [(0, 0), (1, 3), (2, 3), (3, 3), (4, 3), (5, 6), (8, 6), (9, 9)];
        for (count, size) in sizes {
            assert_eq!(dtype.bytes_for(count), Some(size));
            let tensor = Descriptor::dense(dtype, &[count as u64]).unwrap();
            assert_eq!(u128::from(tensor.data_bytes()), size);
        }
    }
}

/// Q5: the first element is in the low bits, for every packed width.
#[test]
fn q5_elements_are_packed_from_the_low_bits_up() {
    let read = |dtype: Dtype, count: u64, bytes: &[u8]| -> Vec<u8> {
        let tensor = Descriptor::dense(dtype, &[count]).unwrap();
        assert_eq!(tensor.data_bytes(), bytes.len() as u64);
        let bit = |at: u64| bytes[(at / 8) as usize] >> (at % 8) & 1;
        let width = u64::from(dtype.bits());
        let value = |i| {
            let place = tensor.locate(&[i]).unwrap();
            let start = place.byte * 8 + u64::from(place.bit);
            (0..width).fold(0, |value, n| value | bit(start + n) << n)
        };
        (0..count).map(value).collect()
    };
    assert_eq!(read(Dtype::UInt4, 3, &[0x21, 0x03]), [1, 2, 3]);
    assert_eq!(read(Dtype::UInt4, 3, &[0xC5, 0x03]), [5, 12, 3]);
    assert_eq!(read(Dtype::UInt2, 3, &[0x27]), [3, 1, 2]);
    assert_eq!(read(Dtype::Bool, 5, &[0x0D]), [1, 0, 1, 1, 0]);
    assert_eq!(read(Dtype::Float6E2M3, 4, &[0x81, 0x40, 0x20]), [1, 2, 4, 8]);
    assert_eq!(read(Dtype::UInt8, 2, &[7, 9]), [7, 9]);
}
