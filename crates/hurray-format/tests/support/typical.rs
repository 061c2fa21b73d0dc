//! The two descriptors whose reading and writing is measured and counted.

use hurray_format::{Descriptor, Dtype, PerBlock, Quantization};

/// Four dimensions, no quantization.
pub(crate) fn row_major() -> Descriptor {
    Descriptor::dense(Dtype::Float32, &[8, 16, 128, 64]).unwrap()
}

/// int4 with a scale and a zero point for every 32 elements of a row.
pub(crate) fn per_block() -> Descriptor {
    let scheme = PerBlock {
        axis: 1,
        block_size: 32,
        scales: 1,
        zero_points: Some(2),
        scale_type: Dtype::Float16,
    };
    Descriptor::builder(Dtype::Int4, &[4096, 4096])
        .quantization(Quantization::PerBlock(scheme))
        .build()
        .unwrap()
}
