//! Descriptors of every kind, made from a list of choices that proptest shrinks.

use hurray_format::*;

/// Numbers to choose by; 0 when they are used up.
pub(crate) struct Choices<'c> {
    left: &'c [u64],
}

impl<'c> Choices<'c> {
    pub(crate) fn new(numbers: &'c [u64]) -> Self {
        Self { left: numbers }
    }

    fn next(&mut self) -> u64 {
        let Some((first, rest)) = self.left.split_first() else {
            return 0;
        };
        self.left = rest;
        *first
    }

    /// A number below `count`.
    fn below(&mut self, count: u64) -> u64 {
        self.next() % count
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == count - 1
    }

    fn of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }

    fn sizes(&mut self, rank: usize, most: u64) -> Vec<u64> {
        (0..rank).map(|_| self.below(most + 1)).collect()
    }
}

/// A valid descriptor with any layout, scheme and optional sections; private tags too.
pub(crate) fn descriptor(numbers: &[u64]) -> Descriptor {
    let mut c = Choices::new(numbers);
    let (shape, layout) = shape_and_layout(&mut c);
    let (dtype, scheme) = dtype_and_scheme(&mut c, &shape, &layout);
    let mut builder = Descriptor::builder(dtype, &shape).layout(layout.clone());
    if layout.kind() == LayoutKind::Dense {
        // Room for steps downwards; the least table grows with it.
        builder = builder.byte_offset(1 << 50 | c.below(1 << 16));
    }
    if let Some(scheme) = scheme {
        builder = builder.quantization(scheme);
    }
    let can_shard =
        !matches!(layout, Layout::Csf(_) | Layout::BlockPaged(_)) && !shape.contains(&DYNAMIC);
    if can_shard && c.one_in(2) {
        builder = sharded(builder, &mut c, &shape, layout.kind());
    }
    if c.one_in(2) {
        builder = builder.statistics(statistics(&mut c, layout.nnz()));
    }
    let least = builder.build().unwrap_or_else(|error| panic!("{error}"));
    on_some_device(&least, &mut c)
}

fn shape_and_layout(c: &mut Choices<'_>) -> (Vec<u64>, Layout) {
    let dense_rank = |c: &mut Choices<'_>| c.of(&[1, 2, 3, 4, 9]);
    let nnz = |c: &mut Choices<'_>| c.of(&[0, 1, 5, 1 << 33]);
    match c.below(14) {
        0 => {
            let rank = c.of(&[0, 1, 2, 4, 8, 9, 64]);
            let mut shape = c.sizes(rank, 40);
            // More than 64 bits count is another test's.
            shape.iter_mut().skip(4).for_each(|size| *size %= 2);
            (shape, Layout::RowMajor)
        }
        1 => {
            let rank = dense_rank(c);
            let mut shape = c.sizes(rank, 6);
            shape[0] = DYNAMIC;
            let layout = if c.one_in(2) { Layout::RowMajor } else { Layout::ColumnMajor };
            (shape, layout)
        }
        2 => {
            let rank = dense_rank(c);
            (c.sizes(rank, 6), Layout::ColumnMajor)
        }
        3 => {
            let rank = dense_rank(c);
            let strides: Vec<i64> = (0..rank).map(|_| c.below(200) as i64 - 100).collect();
            (c.sizes(rank, 40), Layout::strided(strides))
        }
        4 => {
            let rank = dense_rank(c);
            let tile: Vec<u64> = (0..rank).map(|_| 1 + c.below(3)).collect();
            let parent: Vec<u64> = tile.iter().map(|t| t * (1 + c.below(3))).collect();
            let strides: Vec<i64> = (0..rank).map(|_| c.below(9) as i64 - 4).collect();
            let outer = [Order::RowMajor, Order::ColumnMajor, Order::Strided(strides.into())];
            let levels = [
                TileLevel { tile_shape: parent.into(), outer: outer[c.below(3) as usize].clone() },
                TileLevel { tile_shape: tile.clone().into(), outer: Order::ColumnMajor },
            ];
            let from = c.below(2) as usize;
            let mut step = 1;
            let mut dense = Vec::new();
            for size in &tile {
                dense.push(if c.one_in(2) { -step } else { step });
                step *= *size as i64;
            }
            // Without the first record, the second tiles the whole shape.
            let inner =
                [Order::RowMajor, Order::Strided(dense.into())][c.below(2) as usize].clone();
            let layout = Layout::tiled(Tiled { levels: levels[from..].to_vec(), inner });
            (c.sizes(rank, 9), layout)
        }
        5 => {
            let bits: Vec<u32> = (0..dense_rank(c)).map(|_| 1 + c.below(2) as u32).collect();
            let shape = bits.iter().map(|bits| c.below((1 << bits) + 1)).collect();
            (shape, Layout::morton(bits))
        }
        6 => {
            let (rank, order) = c.of(&[(2, 1), (2, 6), (3, 3), (9, 2)]);
            (vec![1 << order; rank], Layout::Hilbert(Hilbert { order }))
        }
        7 => {
            let rank = dense_rank(c);
            (c.sizes(rank, 50), Layout::Coo(Coo { nnz: nnz(c), is_sorted: c.one_in(2) }))
        }
        8 => (c.sizes(2, 50), Layout::Csr(Compressed { nnz: nnz(c) })),
        9 => (c.sizes(2, 50), Layout::Csc(Compressed { nnz: nnz(c) })),
        10 => {
            let rank = c.of(&[3, 4, 9]);
            let mut modes: Vec<u32> = (0..rank as u32).collect();
            modes.rotate_left(c.below(rank as u64) as usize);
            (c.sizes(rank, 50), Layout::Csf(Csf { nnz: nnz(c), mode_order: modes.into() }))
        }
        11 => {
            let paged = BlockPaged {
                page_size: c.of(&[1, 2, 16]),
                num_pages: c.of(&[0, 3, 1 << 20]),
                num_seqs: c.of(&[0, 1, 7]),
                kv_role: c.of(&[KvRole::Key, KvRole::Value, KvRole::Fused]),
                layer_index: c.of(&[None, Some(0), Some(31)]),
                wide_indices: c.one_in(2),
            };
            (vec![16 * c.below(4), c.below(5), c.below(5)], Layout::BlockPaged(paged))
        }
        12 => {
            let composition = c.of(&[
                Composition::Partition,
                Composition::OverlayReplace,
                Composition::OverlayAdd,
                Composition::Group,
                Composition::Private(0xF2, 9),
            ]);
            let member_count = 1 + c.of(&[0, 4, u32::MAX - 2]);
            let rank = dense_rank(c);
            (c.sizes(rank, 50), Layout::Composite(CompositeHead { composition, member_count }))
        }
        _ => {
            let data = vec![7; c.of(&[0, 1, 300])].into();
            let tag = c.of(&[0xF0, 0xFE]);
            let rank = dense_rank(c);
            let shape = c.sizes(rank, 50);
            (shape, Layout::Private(PrivateLayout { tag, id: c.next(), data }))
        }
    }
}

fn dtype_and_scheme(
    c: &mut Choices<'_>,
    shape: &[u64],
    layout: &Layout,
) -> (Dtype, Option<Quantization>) {
    let plain = |c: &mut Choices<'_>| match c.one_in(4) {
        true => private_dtype(c),
        false => c.of(Dtype::ALL),
    };
    if layout.kind() == LayoutKind::Virtual {
        return (plain(c), None);
    }
    let own = layout.buffer_count().unwrap_or(1);
    let paged = match layout {
        Layout::BlockPaged(paged) => Some(paged),
        _ => None,
    };
    let axis = c.below(shape.len().max(1) as u64) as usize;
    let size = shape.get(axis).copied().unwrap_or(DYNAMIC);
    // Zero points of their own, shared with the scales, or none.
    let zero_points = c.of(&[None, Some(own + 1), Some(own)]);
    let axis = axis as u32;
    let scheme = match c.below(7) {
        1 => {
            let (dtype, zero_point) = c.of(&[
                (Dtype::Int2, -2),
                (Dtype::UInt4, 15),
                (Dtype::Int8, -128),
                (Dtype::UInt16, 65_535),
                (Dtype::Int32, i32::MIN),
                (Dtype::UInt32, i32::MAX),
            ]);
            let scale = c.of(&[1.0, -0.5, f32::MIN_POSITIVE / 2.0, f32::MAX]);
            return (dtype, Some(Quantization::PerTensor(PerTensor { scale, zero_point })));
        }
        2 if size != DYNAMIC && !(paged.is_some() && axis == 0) => {
            let scheme = PerChannel { axis, scales: own, zero_points };
            (Dtype::Int16, Quantization::PerChannel(scheme))
        }
        3 if size != DYNAMIC && (size >= 2 || size == 0) => {
            let block_size = match paged {
                Some(paged) => paged.page_size,
                None => 2,
            };
            if paged.is_some() && (axis != 0 || block_size < 2) {
                return (plain(c), None);
            }
            let scale_type = c.of(&[Dtype::Float16, Dtype::BFloat16, Dtype::Float32]);
            let scheme = PerBlock { axis, block_size, scales: own, zero_points, scale_type };
            (c.of(&[Dtype::UInt2, Dtype::Int4]), Quantization::PerBlock(scheme))
        }
        4 if paged.is_none() && size != DYNAMIC && (size >= 8 || size == 0) => {
            let scheme = Nf4 { axis, block_size: 8, scales: own };
            (Dtype::UInt4, Quantization::Nf4(scheme))
        }
        5 if paged.is_none() && size > 0 && size % 16 == 0 => {
            let scheme = Mxfp { axis, block_size: 16, scales: own };
            (c.of(&[Dtype::Float6E3M2, Dtype::Float4E2M1]), Quantization::Mxfp(scheme))
        }
        6 => {
            let payload = vec![9; c.of(&[0, 1, 77])].into();
            let (version, flags) = (c.next() as u8, c.next() as u16);
            (plain(c), Quantization::Private { tag: 0xF7, version, flags, payload })
        }
        _ => return (plain(c), None),
    };
    (scheme.0, Some(scheme.1))
}

fn private_dtype(c: &mut Choices<'_>) -> Dtype {
    let width = c.of(&[1, 2, 4, 8, 24, 128]);
    let record = if c.one_in(2) {
        ExtensionType::integer(width, c.one_in(2))
    } else {
        ExtensionType::float(
            width,
            FloatFormat {
                sign_bits: c.below(2) as u8,
                exponent_bits: c.next() as u8,
                mantissa_bits: c.next() as u8,
                exponent_bias: c.next() as u32,
                has_nan: c.one_in(2),
                has_inf: c.one_in(2),
            },
        )
    };
    Dtype::Private(PrivateDtype::new(c.of(&[0xF0, 0xF5, 0xFE]), record.unwrap()).unwrap())
}

fn sharded(
    builder: DescriptorBuilder,
    c: &mut Choices<'_>,
    shape: &[u64],
    kind: LayoutKind,
) -> DescriptorBuilder {
    let offset: Vec<u64> = shape.iter().map(|_| c.below(100)).collect();
    let parent: Vec<u64> = shape.iter().zip(&offset).map(|(n, at)| n + at + c.below(3)).collect();
    let whole = vec![0; shape.len()];
    match c.below(3) {
        1 if kind != LayoutKind::Virtual => {
            builder.shard(Shard::new(shape, &whole)).member_role(MemberRole::Base)
        }
        2 if kind != LayoutKind::Virtual => {
            builder.shard(Shard::new(&parent, &offset)).member_role(MemberRole::Correction)
        }
        _ => builder.shard(Shard::new(&parent, &offset)),
    }
}

fn statistics(c: &mut Choices<'_>, nnz: Option<u64>) -> Statistics {
    let float = |c: &mut Choices<'_>| f64::from_bits(c.next());
    Statistics::new(&StatisticsValues {
        nnz: c.one_in(2).then(|| nnz.unwrap_or_else(|| c.next())),
        sparsity_ratio: c.one_in(2).then(|| c.below(1001) as f64 / 1000.0),
        range: c.one_in(2).then(|| (float(c), float(c), float(c))),
        moments: c.one_in(2).then(|| (float(c), float(c).abs())),
        nm: c.one_in(2).then(|| {
            let n = c.next() as u8;
            (n, n.saturating_add(c.next() as u8))
        }),
        nan_inf: c.one_in(2).then(|| (c.one_in(2), c.one_in(2))),
    })
}

/// The same tensor on a device of some kind, its data buffers larger than they need be.
fn on_some_device(least: &Descriptor, c: &mut Choices<'_>) -> Descriptor {
    let (device, class, sync) = c.of(&[
        (DeviceTag::CPU, MemoryClass::STANDARD, SyncMode::PRODUCER_SYNCED),
        (DeviceTag::CPU, MemoryClass::UNIFIED, SyncMode::PRODUCER_SYNCED),
        (DeviceTag::CUDA, MemoryClass::PEER, SyncMode::EVENT),
        (DeviceTag::VULKAN, MemoryClass::HOST_PINNED, SyncMode::CONSUMER_STREAM),
        (DeviceTag::WEBGPU, MemoryClass::STANDARD, SyncMode::EVENT),
        (DeviceTag::from_tag(0xF3), MemoryClass::from_tag(0xF9), SyncMode::EVENT),
    ]);
    let own = least.layout().buffer_count().unwrap_or(1) as usize;
    let handles: Vec<_> = least
        .buffers()
        .iter()
        .enumerate()
        .map(|(place, handle)| {
            let more = if place < own { c.below(3) * 100 } else { 0 };
            let size = handle.byte_size() + more;
            let alignment = if size == 0 { c.of(&[1, 4096]) } else { c.of(&[64, 1 << 31]) };
            BufferHandle::new(size, alignment, device, sync, class).unwrap()
        })
        .collect();
    least.rebuild().buffers(handles).build().unwrap()
}
