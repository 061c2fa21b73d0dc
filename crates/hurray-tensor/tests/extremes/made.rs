//! Tensors of parts drawn at random from what is extreme, most of which do not fit together.

use hurray_tensor::format::*;
use hurray_tensor::{Buffer, BufferMut, Result, Tensor};

/// The same numbers in every run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        self.0 >> 33
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.next() as usize % limit.max(1)
    }

    pub(crate) fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    pub(crate) fn of<T: Clone>(&mut self, some: &[T]) -> T {
        some[self.below(some.len())].clone()
    }

    /// A number that is small, or on some edge.
    pub(crate) fn number(&mut self) -> u64 {
        match self.below(4) {
            0 => self.of(&EDGES),
            _ => self.below(9) as u64,
        }
    }

    pub(crate) fn step(&mut self) -> i64 {
        match self.below(5) {
            0 => self.of(&[i64::MIN, i64::MAX, i64::MIN + 1, 1 << 62, -(1 << 40), 1 << 58]),
            _ => self.below(13) as i64 - 6,
        }
    }

    pub(crate) fn shape(&mut self, rank: usize) -> Vec<u64> {
        (0..rank).map(|_| self.number()).collect()
    }
}

const EDGES: [u64; 12] = [
    0,
    1,
    63,
    64,
    255,
    1 << 31,
    u32::MAX as u64,
    1 << 32,
    1 << 61,
    i64::MAX as u64,
    1 << 63,
    u64::MAX - 1,
];

const DTYPES: [Dtype; 12] = [
    Dtype::UInt8,
    Dtype::Int8,
    Dtype::Int32,
    Dtype::Float32,
    Dtype::Float64,
    Dtype::Complex128,
    Dtype::Float128,
    Dtype::Bool,
    Dtype::Int4,
    Dtype::UInt2,
    Dtype::Float6E2M3,
    Dtype::Int16,
];

fn bytes(random: &mut Random, length: usize) -> Vec<u8> {
    let most = random.of(&[1, 2, 4, 256]);
    (0..length).map(|_| random.below(most) as u8).collect()
}

/// Index arrays: small numbers, most of them in order.
fn indices(random: &mut Random, length: usize, wide: bool) -> Vec<u8> {
    let mut at = 0_u64;
    let mut numbers = Vec::new();
    while numbers.len() < length {
        at = if random.one_in(6) {
            random.number()
        } else {
            at.wrapping_add(random.below(2) as u64)
        };
        match wide {
            true => numbers.extend(at.to_le_bytes()),
            false => numbers.extend((at as u32).to_le_bytes()),
        }
    }
    numbers.truncate(length);
    numbers
}

fn buffer(random: &mut Random, place: usize) -> Buffer {
    let length = random.of(&[0, 1, 8, 16, 24, 40, 64, 100, 200, 1000]);
    let content = match place {
        0 => bytes(random, length),
        _ => {
            let wide = !random.one_in(3);
            indices(random, length, wide)
        }
    };
    // A vector begins anywhere; and a part of memory at a multiple of 64.
    match random.below(if place == 0 { 3 } else { 1 }) {
        1 => BufferMut::from_vec(content).unwrap().freeze(),
        2 if content.len() > 64 => {
            BufferMut::copy_of(&content).unwrap().freeze().slice(64..content.len() as u64).unwrap()
        }
        _ => BufferMut::copy_of(&content).unwrap().freeze(),
    }
}

/// A kind of tensor, and one such, if its parts fit.
pub(crate) fn tensor(random: &mut Random) -> (&'static str, Result<Tensor>) {
    let rank = match random.below(12) {
        0 => 0,
        1 => random.of(&[8, 9, 17, 63, 64]),
        _ => 1 + random.below(3),
    };
    let mut shape = random.shape(rank);
    if rank > 4 && !random.one_in(4) {
        // So that some of them have few elements.
        shape.iter_mut().skip(3).for_each(|size| *size = 1);
    }
    let (nnz, small) = (random.number(), random.below(4) as u64);
    let nnz = if random.one_in(4) { nnz } else { small };
    let compressed = Compressed { nnz };
    let (name, layout) = match random.below(13) {
        0 | 1 => ("row-major", Layout::RowMajor),
        2 => ("column-major", Layout::ColumnMajor),
        3..=5 => {
            let mut steps: Vec<i64> = shape.iter().map(|_| random.step()).collect();
            if random.one_in(3) {
                steps.fill(0);
            }
            ("strided", Layout::strided(steps))
        }
        6 => {
            let tile: Vec<u64> = shape.iter().map(|_| 1 + random.below(4) as u64).collect();
            let levels = vec![TileLevel { tile_shape: tile.into(), outer: Order::RowMajor }];
            ("tiled", Layout::tiled(Tiled { levels, inner: Order::RowMajor }))
        }
        7 => ("morton", Layout::morton(shape.iter().map(|_| 3).collect::<Vec<u32>>())),
        8 => {
            let order = 1 + random.below(3) as u32;
            if !random.one_in(3) {
                shape = vec![1 << order; 2 + random.below(2)];
            }
            ("hilbert", Layout::Hilbert(Hilbert { order }))
        }
        9 => ("coo", Layout::Coo(Coo { nnz, is_sorted: random.one_in(2) })),
        10 => {
            shape = random.shape(2);
            (
                "csr",
                if random.one_in(2) { Layout::Csr(compressed) } else { Layout::Csc(compressed) },
            )
        }
        11 => {
            let mode_order: Vec<u32> = (0..shape.len() as u32).rev().collect();
            ("csf", Layout::Csf(Csf { nnz, mode_order: mode_order.into() }))
        }
        _ => {
            shape = vec![1 + random.below(9) as u64, 1 + random.below(2) as u64, 1 + small];
            let paged = BlockPaged {
                page_size: 1 + random.below(3) as u32,
                num_pages: 1 + random.below(4) as u64,
                num_seqs: 1 + random.below(3) as u32,
                kv_role: KvRole::Key,
                layer_index: None,
                wide_indices: random.one_in(2),
            };
            ("paged", Layout::BlockPaged(paged))
        }
    };
    let mut own = layout.buffer_count().unwrap_or(1) as usize;
    let mut parts = Descriptor::builder(random.of(&DTYPES), &shape).layout(layout);
    if random.one_in(2) {
        parts = parts.byte_offset(random.number());
    }
    if random.one_in(6) {
        let (scheme, more) = scheme(random, own as u32);
        parts = parts.quantization(scheme);
        own += more;
    }
    let buffers: Vec<Buffer> = (0..own).map(|place| buffer(random, place)).collect();
    (name, Tensor::build(parts, buffers))
}

fn scheme(random: &mut Random, scales: u32) -> (Quantization, usize) {
    let axis = random.below(3) as u32;
    let block_size = random.of(&[1, 16, 32, 64]);
    match random.below(4) {
        0 => (Quantization::PerTensor(PerTensor { scale: 0.5, zero_point: 0 }), 0),
        1 => (Quantization::PerChannel(PerChannel { axis, scales, zero_points: None }), 1),
        2 => {
            let scale_type = Dtype::Float32;
            let blocks = PerBlock { axis, block_size, scales, zero_points: None, scale_type };
            (Quantization::PerBlock(blocks), 1)
        }
        _ => (Quantization::Nf4(Nf4 { axis, block_size, scales }), 1),
    }
}
