//! What no vector covers: rules of our own, private tags, limits, and what a builder and
//! `resolve` refuse.

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

/// Decision 13.
#[test]
fn morton_bits_add_up_to_63_at_most() {
    let layout = |bits: &[u32]| built(Dtype::Bool, &vec![1; bits.len()], Layout::morton(bits));
    assert_eq!(layout(&[63]).unwrap().data_bytes(), 1 << 60);
    assert_eq!(layout(&[21, 21, 21]).unwrap().data_bytes(), 1 << 60);
    assert!(layout(&[1; 63]).is_ok());
    for bits in [&[64][..], &[32, 32], &[63, 1], &[1; 64], &[u32::MAX, u32::MAX]] {
        let error = refused(layout(bits), Rule::LayoutMortonBitsTotal);
        // The first of morton_bits, after header, shape and byte_offset.
        assert_eq!(error.offset(), 28 + 8 * bits.len() as u64);
    }
    refused(layout(&[0]), Rule::LayoutMortonBitsZero);
}

fn strided(strides: impl Into<List<i64>>) -> Order {
    Order::Strided(strides.into())
}

fn level(tile_shape: impl Into<List<u64>>, outer: Order) -> TileLevel {
    TileLevel { tile_shape: tile_shape.into(), outer }
}

fn tiled(levels: Vec<TileLevel>, inner: Order) -> Layout {
    Layout::tiled(Tiled { levels, inner })
}

/// Decision 14: a nested tile divides its parent in every dimension.
#[test]
fn nested_tiles_divide_their_parent() {
    let nested = |parent: [u64; 2], tile: [u64; 2]| {
        let levels = vec![level(parent, Order::RowMajor), level(tile, Order::RowMajor)];
        built(Dtype::UInt8, &[12, 12], tiled(levels, Order::RowMajor))
    };
    for (parent, tile) in [([4, 6], [2, 3]), ([4, 6], [4, 6]), ([4, 6], [1, 1]), ([7, 6], [7, 2])] {
        assert!(nested(parent, tile).is_ok(), "{parent:?} {tile:?}");
    }
    for (parent, tile) in [([4, 6], [3, 3]), ([4, 6], [2, 4]), ([4, 6], [8, 6]), ([4, 6], [2, 5])] {
        refused(nested(parent, tile), Rule::LayoutTiledNestedNotDividing);
    }
    // The first tile need not divide the tensor, nor fit in it.
    let levels = vec![level([5, 70], Order::RowMajor), level([5, 35], Order::ColumnMajor)];
    assert!(built(Dtype::UInt8, &[12, 12], tiled(levels, Order::RowMajor)).is_ok());
    // Eight records, and not nine.
    let deep = |count: usize| {
        let levels = vec![level([2, 2], Order::RowMajor); count];
        built(Dtype::UInt8, &[4, 4], tiled(levels, Order::ColumnMajor))
    };
    assert!(deep(8).is_ok());
    refused(deep(9), Rule::LayoutTiledRecursionDepth);
}

/// Decision 14: inside a tile, no two elements share a place and none is left over.
#[test]
fn strides_inside_a_tile_are_dense() {
    let inner = |strides: [i64; 3]| {
        let levels = vec![level([2, 3, 1], Order::RowMajor)];
        // Room below the first element for those who go backwards.
        Descriptor::builder(Dtype::UInt8, &[4, 9, 2])
            .layout(tiled(levels, strided(strides)))
            .byte_offset(64)
            .build()
    };
    // Signs are free, and so is the stride of a dimension of one step.
    for strides in [[3, 1, 0], [1, 2, 0], [-3, 1, 9], [3, -1, -9], [-1, -2, i64::MIN]] {
        assert!(inner(strides).is_ok(), "{strides:?}");
    }
    for strides in [
        [0, 1, 0],
        [1, 1, 0],
        [2, 1, 0],
        [4, 1, 0],
        [3, 2, 0],
        [1, 3, 0],
        [-3, 2, 0],
        [i64::MIN, 1, 0],
        [6, 2, 1],
    ] {
        refused(inner(strides), Rule::LayoutTiledInnerStrides);
    }

    // The order of a nested record's tiles is inside a tile as well.
    let nested = |strides: [i64; 2]| {
        let levels = vec![level([4, 6], Order::RowMajor), level([2, 2], strided(strides))];
        Descriptor::builder(Dtype::UInt8, &[8, 12])
            .layout(tiled(levels, Order::RowMajor))
            .byte_offset(64)
            .build()
    };
    for strides in [[3, 1], [1, 2], [-1, 2], [-3, -1]] {
        assert!(nested(strides).is_ok(), "{strides:?}");
    }
    for strides in [[2, 1], [1, 3], [0, 1], [6, 1], [3, 3]] {
        refused(nested(strides), Rule::LayoutTiledInnerStrides);
    }
    // Of the outermost record it is free, as long as the buffer holds it.
    for strides in [[0, 0], [100, 1], [1, 1], [7, 30]] {
        let levels = vec![level([2, 2], strided(strides))];
        let layout = tiled(levels, Order::RowMajor);
        assert!(built(Dtype::UInt8, &[8, 12], layout).is_ok(), "{strides:?}");
    }
    let levels = vec![level([2, 2], strided([-1, 2]))];
    let layout = tiled(levels, Order::RowMajor);
    refused(built(Dtype::UInt8, &[8, 12], layout), Rule::LayoutElementBeforeBuffer);
}

fn paged() -> Layout {
    Layout::BlockPaged(BlockPaged {
        page_size: 16,
        num_pages: 4,
        num_seqs: 1,
        kv_role: KvRole::Fused,
        layer_index: None,
        wide_indices: false,
    })
}

/// Decision 24, and what page 05 says of paged tensors.
#[test]
fn paged_tensors_take_affine_schemes_only() {
    let quantized = |dtype, scheme| {
        Descriptor::builder(dtype, &[64, 16, 32]).layout(paged()).quantization(scheme).build()
    };
    let nf4 = Quantization::Nf4(Nf4 { axis: 0, block_size: 16, scales: 3 });
    let error = refused(quantized(Dtype::UInt4, nf4), Rule::QuantBlockPagedScheme);
    assert_eq!(error.fault(), Fault::Unsupported);
    let mxfp = Quantization::Mxfp(Mxfp { axis: 0, block_size: 16, scales: 3 });
    refused(quantized(Dtype::Int8, mxfp), Rule::QuantBlockPagedScheme);

    let per_tensor = PerTensor { scale: 0.25, zero_point: 0 };
    let tensor = quantized(Dtype::Int8, Quantization::PerTensor(per_tensor)).unwrap();
    assert_eq!(tensor.buffer_count(), 3);
    let per_channel = |axis| {
        let scheme = PerChannel { axis, scales: 3, zero_points: Some(4) };
        quantized(Dtype::Int8, Quantization::PerChannel(scheme))
    };
    assert_eq!(per_channel(1).unwrap().buffers()[3].byte_size(), 16 * 4);
    assert_eq!(per_channel(2).unwrap().buffers()[4].byte_size(), 32 * 4);
    refused(per_channel(0), Rule::QuantBlockPagedPerChannelAxis);
    let per_block = |axis, block_size| {
        let scale_type = Dtype::BFloat16;
        let scheme = PerBlock { axis, block_size, scales: 3, zero_points: None, scale_type };
        quantized(Dtype::Int8, Quantization::PerBlock(scheme))
    };
    // One scale for each slot of the pool, whatever heads and head_dim are.
    assert_eq!(per_block(0, 16).unwrap().buffers()[3].byte_size(), 4 * 16 * 2);
    refused(per_block(0, 32), Rule::QuantBlockPagedBlockSize);
    refused(per_block(1, 16), Rule::QuantBlockPagedPerBlockAxis);
}

/// Decision 24: MXFP of nothing along the axis is refused, along another it is not.
#[test]
fn mxfp_wants_something_along_its_axis() {
    let mxfp = |shape: &[u64]| {
        let scheme = Quantization::Mxfp(Mxfp { axis: 1, block_size: 16, scales: 1 });
        Descriptor::builder(Dtype::Float8E4M3, shape).quantization(scheme).build()
    };
    refused(mxfp(&[4, 0]), Rule::QuantMxfpAxisNotMultiple);
    refused(mxfp(&[4, 24]), Rule::QuantMxfpAxisNotMultiple);
    assert_eq!(mxfp(&[0, 32]).unwrap().buffers()[1].byte_size(), 0);
    assert_eq!(mxfp(&[3, 32]).unwrap().buffers()[1].byte_size(), 6);
}

/// One descriptor for each kind of private tag, and who may read it.
#[test]
fn private_tags_are_read_by_agreement_only() {
    let record = ExtensionType::integer(4, true).unwrap();
    let dtype = Dtype::Private(PrivateDtype::new(0xF1, record).unwrap());
    let layout = Layout::Private(PrivateLayout { tag: 0xF2, id: 7, data: [1, 2].into() });
    let scheme = Quantization::Private { tag: 0xF3, version: 9, flags: 1, payload: [5].into() };
    let (device, class) = (DeviceTag::from_tag(0xF4), MemoryClass::from_tag(0xF5));
    let handle = BufferHandle::new(64, 64, device, SyncMode::EVENT, class).unwrap();
    let composition = Composition::Private(0xF6, 3);
    let head = Layout::Composite(CompositeHead { composition, member_count: 2 });

    let accept = Accept::default;
    let plain = |layout| built(Dtype::Int8, &[4], layout).unwrap();
    let cases = [
        (
            Descriptor::dense(dtype, &[4]).unwrap(),
            Rule::TypePrivateTag,
            accept().dtype(0xF1),
            accept().layout(0xF1).scheme(0xF1).device(0xF1).composition_rule(0xF1).dtype(0xF0),
        ),
        (
            plain(layout),
            Rule::LayoutPrivateTag,
            accept().layout(0xF2),
            accept().dtype(0xF2).scheme(0xF2).device(0xF2).composition_rule(0xF2).layout(0xF1),
        ),
        (
            plain(Layout::RowMajor).rebuild().quantization(scheme).build().unwrap(),
            Rule::QuantPrivateScheme,
            accept().scheme(0xF3),
            accept().dtype(0xF3).layout(0xF3).device(0xF3).composition_rule(0xF3).scheme(0xFE),
        ),
        (
            plain(Layout::RowMajor).rebuild().buffers([handle]).build().unwrap(),
            Rule::BufferDevicePrivate,
            accept().device(0xF4),
            accept().dtype(0xF4).layout(0xF4).scheme(0xF4).composition_rule(0xF4).device(0xF5),
        ),
        (
            plain(head),
            Rule::LayoutCompositeRulePrivate,
            accept().composition_rule(0xF6),
            accept().dtype(0xF6).layout(0xF6).scheme(0xF6).device(0xF6).composition_rule(0xF7),
        ),
    ];
    for (tensor, rule, agreed, other) in cases {
        let bytes = tensor.encode();
        let read = |accept: &Accept| Descriptor::decode_with(&bytes, accept, &mut Silent);
        assert_eq!(read(&agreed).as_ref(), Ok(&tensor));
        assert_eq!(read(&Accept::every_private_tag()).as_ref(), Ok(&tensor));
        for accept in [accept(), other] {
            let error = refused(read(&accept), rule);
            assert_eq!(error.fault(), Fault::Unsupported);
        }
        refused(Descriptor::decode(&bytes), rule);
    }
}

/// Only private tags can be agreed on: the format's own are what they are.
#[test]
fn tags_that_are_not_private_cannot_be_agreed_on() {
    let mut accept = Accept::default();
    for tag in (0..=0xEF).chain([0xFF]) {
        accept = accept.dtype(tag).layout(tag).scheme(tag).device(tag).composition_rule(tag);
    }
    assert_eq!(accept, Accept::default());
    let mut all = Accept::default();
    for tag in 0xF0..=0xFE {
        all = all.dtype(tag).layout(tag).scheme(tag).device(tag).composition_rule(tag);
    }
    assert_eq!(all, Accept::every_private_tag());
    assert_eq!(
        PrivateDtype::new(0xEF, ExtensionType::integer(8, false).unwrap()).err(),
        Some(Rule::ExtTypeFlagUnexpected)
    );
    assert!(PrivateDtype::new(0xFF, ExtensionType::integer(8, false).unwrap()).is_err());
}

#[test]
fn a_descriptor_longer_than_the_limit_is_refused_by_the_reader_that_set_it() {
    let bytes = Descriptor::dense(Dtype::Float32, &[3, 4]).unwrap().encode();
    let read = |descriptor_bytes| {
        let limits = Limits { descriptor_bytes, ..Limits::default() };
        Descriptor::decode_with(&bytes, &Accept::default().limits(limits), &mut Silent)
    };
    assert!(read(61).is_ok());
    let error = refused(read(60), Rule::DescriptorLengthAboveLimit);
    assert_eq!((error.fault(), error.offset()), (Fault::Refused, 6));
    assert_eq!((error.found(), error.expected()), (Value::Unsigned(61), Expected::AtMost(60)));
    // What is not there is told first: there is nothing to allow.
    refused(
        Descriptor::decode_with(&bytes[..60], &Accept::default(), &mut Silent),
        Rule::DescriptorTruncated,
    );
    // The default holds any descriptor without private payloads, and stops larger ones.
    let private = |length| PrivateLayout { tag: 0xF0, id: 0, data: vec![0; length].into() };
    let large = built(Dtype::UInt8, &[1], Layout::Private(private(1 << 20))).unwrap();
    let accept = Accept::every_private_tag();
    let read = Descriptor::decode_with(&large.encode(), &accept, &mut Silent);
    refused(read, Rule::DescriptorLengthAboveLimit);
}

#[test]
fn resolving_gives_each_dynamic_dimension_its_size() {
    let batch = Descriptor::builder(Dtype::Float32, &[DYNAMIC, 4, DYNAMIC])
        .buffers([BufferHandle::cpu(256)])
        .byte_offset(16)
        .build()
        .unwrap();
    assert!(batch.is_dynamic());
    assert_eq!(batch.element_count(), None);
    refused(batch.locate(&[0, 0, 0]), Rule::DescriptorUnresolved);

    let resolved = batch.resolve(&[3, 5]).unwrap();
    assert_eq!(resolved.shape(), [3, 4, 5]);
    assert_eq!((resolved.is_dynamic(), resolved.element_count()), (false, Some(60)));
    assert_eq!(resolved.locate(&[2, 3, 4]).unwrap().byte, 16 + 59 * 4);
    assert_eq!(resolved.buffers(), batch.buffers());
    assert_eq!(Descriptor::decode(&resolved.encode()), Ok(resolved.clone()));
    assert_eq!(resolved.resolve(&[]), Ok(resolved.clone()));

    for sizes in [&[][..], &[3], &[3, 5, 7]] {
        refused(batch.resolve(sizes), Rule::DescriptorDynamicCount);
    }
    refused(resolved.resolve(&[1]), Rule::DescriptorDynamicCount);
    // Size is checked once it is known: 240 bytes are left behind the offset.
    refused(batch.resolve(&[4, 4]), Rule::LayoutBufferTooSmall).offset();
    refused(batch.resolve(&[1 << 40, 1 << 40]), Rule::LayoutBufferTooSmall);
    assert_eq!(batch.resolve(&[0, 1 << 62]).unwrap().element_count(), Some(0));
    // A part may stay open.
    let partly = batch.resolve(&[DYNAMIC, 2]).unwrap();
    assert_eq!(partly.resolve(&[7]).unwrap().shape(), [7, 4, 2]);
}

/// What could not be checked before is checked when it is known.
#[test]
fn resolving_checks_layout_and_scheme() {
    let morton = Descriptor::builder(Dtype::UInt8, &[DYNAMIC, 4])
        .layout(Layout::morton([2, 2]))
        .buffers([BufferHandle::cpu(16)])
        .build()
        .unwrap();
    assert!(morton.resolve(&[4]).is_ok());
    refused(morton.resolve(&[5]), Rule::LayoutMortonDimensionTooLarge);

    let scheme = Nf4 { axis: 1, block_size: 8, scales: 1 };
    let nf4 = |shape: &[u64], scales| {
        Descriptor::builder(Dtype::UInt4, shape)
            .quantization(Quantization::Nf4(scheme))
            .buffers([BufferHandle::cpu(64), BufferHandle::cpu(scales)])
            .build()
    };
    let batch = nf4(&[DYNAMIC, 16], 24).unwrap();
    assert!(batch.resolve(&[3]).is_ok());
    refused(batch.resolve(&[2]), Rule::QuantNf4ScaleSize);
    refused(nf4(&[4, DYNAMIC], 24), Rule::QuantNf4DynamicAxis);

    let csr = Descriptor::builder(Dtype::UInt8, &[DYNAMIC, 9])
        .layout(Layout::Csr(Compressed { nnz: 0 }))
        .buffers([0, 0, 32].map(BufferHandle::cpu))
        .build()
        .unwrap();
    assert!(csr.resolve(&[3]).is_ok());
    refused(csr.resolve(&[4]), Rule::LayoutCsrBufferTooSmall);
}

/// A resolved descriptor keeps the minor version it was read with.
#[test]
fn resolving_keeps_the_version() {
    let batch = Descriptor::builder(Dtype::UInt8, &[DYNAMIC])
        .buffers([BufferHandle::cpu(64)])
        .build()
        .unwrap();
    let mut bytes = batch.encode();
    bytes[5] = 4;
    let read = Descriptor::decode(&bytes).unwrap();
    assert_eq!(read.resolve(&[3]).unwrap().version(), (1, 4));
    // What is built anew says what it needs.
    assert_eq!(read.rebuild().build().unwrap().version(), (1, 0));
}

/// Arrays of another length than the rank would be read as other fields.
#[test]
fn parts_have_one_number_for_each_dimension() {
    let layouts = [
        Layout::strided([1]),
        Layout::strided([4, 1, 1]),
        Layout::morton([2]),
        Layout::morton([2, 2, 2]),
        Layout::tiled(Tiled::blocks([2])),
        Layout::tiled(Tiled::blocks([2, 2, 2])),
        tiled(vec![level([2, 2], strided([1]))], Order::RowMajor),
        tiled(vec![level([2, 2], Order::RowMajor)], strided([2, 1, 4])),
        tiled(vec![], Order::RowMajor),
    ];
    for layout in layouts {
        refused(built(Dtype::UInt8, &[4, 4], layout), Rule::DescriptorDimensions);
    }
    let csf = Layout::Csf(Csf { nnz: 0, mode_order: [0, 1].into() });
    refused(built(Dtype::UInt8, &[4, 4, 4], csf), Rule::DescriptorDimensions);
    for shard in [
        Shard::new(&[4], &[0]),
        Shard::new(&[4, 4, 4], &[0, 0, 0]),
        Shard::new(&[4, 4, 4], &[0]),
        Shard::new(&[4], &[0, 0, 0]),
        Shard::new(&[], &[]),
    ] {
        let tensor = Descriptor::builder(Dtype::UInt8, &[4, 4]).shard(shard).build();
        refused(tensor, Rule::DescriptorDimensions);
    }
}

/// What would be read as something else than was said is refused.
#[test]
fn parts_mean_what_they_say() {
    let layout = Layout::Private(PrivateLayout { tag: 0x01, id: 0, data: [].into() });
    assert!(built(Dtype::UInt8, &[4], layout).is_err());
    let mut page = BlockPaged {
        page_size: 1,
        num_pages: 0,
        num_seqs: 0,
        kv_role: KvRole::Key,
        layer_index: Some(u32::MAX),
        wide_indices: false,
    };
    let tensor = |page| built(Dtype::UInt8, &[1, 1, 1], Layout::BlockPaged(page));
    refused(tensor(page), Rule::DescriptorPartsAmbiguous);
    page.layer_index = Some(u32::MAX - 1);
    assert!(tensor(page).is_ok());

    let composition = Composition::Private(3, 0);
    let head = Layout::Composite(CompositeHead { composition, member_count: 0 });
    refused(built(Dtype::UInt8, &[1], head), Rule::DescriptorPartsAmbiguous);
    // A private scheme whose tag is per-tensor's, with a payload that would pass for one.
    let mut payload = 1_f32.to_le_bytes().to_vec();
    payload.extend([0; 8]);
    let scheme = Quantization::Private { tag: 1, version: 1, flags: 0, payload: payload.into() };
    let tensor = Descriptor::builder(Dtype::Int8, &[4]).quantization(scheme).build();
    refused(tensor, Rule::DescriptorPartsAmbiguous);
    // The index that means "no zero points" names no buffer.
    let scheme = PerChannel { axis: 0, scales: 1, zero_points: Some(u32::MAX) };
    let tensor = Descriptor::builder(Dtype::Int8, &[4])
        .quantization(Quantization::PerChannel(scheme))
        .build();
    refused(tensor, Rule::QuantPerChannelZeroPointIndexRange);
}

#[test]
fn a_table_of_more_buffers_than_it_can_count_is_refused() {
    let layout = || Layout::Private(PrivateLayout { tag: 0xF0, id: 0, data: [].into() });
    let with = |count| {
        Descriptor::builder(Dtype::UInt8, &[1])
            .layout(layout())
            .buffers(vec![BufferHandle::cpu(1); count])
            .build()
    };
    assert_eq!(with(255).unwrap().buffer_count(), 255);
    refused(with(256), Rule::DescriptorBufferCountAboveTable);
    refused(with(0), Rule::DescriptorBufferCountZero);
}

/// The decoder tells what does not depend on an unknown tag, even to a relay.
#[test]
fn a_relay_is_told_of_everything_it_can_understand() {
    let other = BufferHandle::new(
        16,
        64,
        DeviceTag::CUDA,
        SyncMode::PRODUCER_SYNCED,
        MemoryClass::STANDARD,
    );
    let coo = Layout::Coo(Coo { nnz: 2, is_sorted: true });
    let shard = Shard::new(&[4], &[0]);
    let tensor = Descriptor::builder(Dtype::UInt8, &[4])
        .layout(coo)
        .shard(shard)
        .member_role(MemberRole::Base)
        .build()
        .unwrap();
    let good = tensor.encode();
    let relayed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        bytes[14] = 0x60;
        change(&mut bytes);
        DescriptorRef::read_permissive(&bytes, &Accept::default())
            .map(|read| matches!(read, Permissive::Foreign(_)))
    };
    assert_eq!(relayed(&|_| {}), Ok(true));
    // Buffers on two devices. The table starts after header, shape, byte_offset, 16 bytes
    // of fields and the count.
    let table = 20 + 8 + 8 + 16 + 1;
    let second = table + 16;
    let handle = other.unwrap().encode();
    let result = relayed(&|bytes| bytes[second..second + 16].copy_from_slice(&handle));
    refused(result, Rule::BufferMixedDevice);
    // A base that does not span its parent.
    let result = relayed(&|bytes| bytes[second + 16] = 5);
    refused(result, Rule::CompositeMemberBaseSpan);
    refused(relayed(&|bytes| bytes.push(0)), Rule::DescriptorExtraBytes);
    // An unknown layout hides the table, and still not what is behind the descriptor.
    let result = relayed(&|bytes| {
        bytes[15] = 0x70;
        bytes.push(0);
    });
    refused(result, Rule::DescriptorExtraBytes);
}
