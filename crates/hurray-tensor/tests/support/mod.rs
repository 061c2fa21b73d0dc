//! Tensors of every kind, and the vectors of the repository.

#![allow(dead_code, reason = "not every test file needs all of it")]

use std::path::PathBuf;

use hurray_tensor::format::*;
use hurray_tensor::{FileWriter, WriteOptions};

/// A tensor with its bytes.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    pub(crate) descriptor: Descriptor,
    pub(crate) buffers: Vec<Vec<u8>>,
}

impl Sample {
    pub(crate) fn slices(&self) -> Vec<&[u8]> {
        self.buffers.iter().map(Vec::as_slice).collect()
    }
}

/// One tensor of every kind there is; the members of composites follow their heads.
pub(crate) fn samples() -> Vec<Sample> {
    let mut samples = vec![
        sample("dense f32", Descriptor::dense(Dtype::Float32, &[3, 4])),
        sample("dense u8[3]", Descriptor::dense(Dtype::UInt8, &[3])),
        sample("dense f64[2]", Descriptor::dense(Dtype::Float64, &[2])),
        sample("scalar bf16", Descriptor::dense(Dtype::BFloat16, &[])),
        sample("empty", Descriptor::dense(Dtype::Int64, &[4, 0, 2])),
        sample("bits", Descriptor::dense(Dtype::Bool, &[13])),
        sample("six bits", Descriptor::dense(Dtype::Float6E2M3, &[5])),
        sample("larger than a page", Descriptor::dense(Dtype::Int16, &[90, 100])),
        sample("larger than what is gathered", Descriptor::dense(Dtype::UInt8, &[600_001])),
        sample(
            "column-major",
            Descriptor::builder(Dtype::UInt16, &[5, 7]).layout(Layout::ColumnMajor).build(),
        ),
        sample(
            "upside down",
            Descriptor::builder(Dtype::Float32, &[2, 4])
                .layout(Layout::strided([-4, 1]))
                .byte_offset(16)
                .build(),
        ),
        sample(
            "quantized per tensor",
            Descriptor::builder(Dtype::Int8, &[6])
                .quantization(Quantization::PerTensor(PerTensor { scale: 0.5, zero_point: 3 }))
                .build(),
        ),
        quantized(),
        coo(),
        csr(),
        paged(),
    ];
    samples.extend(partition());
    samples
}

fn sample(name: &'static str, descriptor: Result<Descriptor>) -> Sample {
    let descriptor = descriptor.unwrap();
    let length = |handle: &BufferHandle| usize::try_from(handle.byte_size()).unwrap();
    let bytes = |length| (1..=u8::MAX).step_by(7).cycle().take(length).collect();
    let buffers = descriptor.buffers().iter().map(length).map(bytes).collect();
    Sample { name, descriptor, buffers }
}

/// int4 in blocks of 32, with scales of its own.
fn quantized() -> Sample {
    let scheme = PerBlock {
        axis: 1,
        block_size: 32,
        scales: 1,
        zero_points: None,
        scale_type: Dtype::Float32,
    };
    let descriptor = Descriptor::builder(Dtype::Int4, &[3, 40])
        .quantization(Quantization::PerBlock(scheme))
        .build();
    let mut sample = sample("quantized per block", descriptor);
    sample.buffers[1] = (1..=6).flat_map(|n: u8| f32::from(n).to_le_bytes()).collect();
    sample
}

fn coo() -> Sample {
    let descriptor = Descriptor::builder(Dtype::Float32, &[10, 10])
        .layout(Layout::Coo(Coo { nnz: 3, is_sorted: true }))
        .build();
    let mut sample = sample("coo", descriptor);
    sample.buffers[1] = numbers(&[0, 3, 2, 9, 9, 0]);
    sample
}

fn csr() -> Sample {
    let descriptor = Descriptor::builder(Dtype::Float16, &[3, 5])
        .layout(Layout::Csr(Compressed { nnz: 4 }))
        .build();
    let mut sample = sample("csr", descriptor);
    sample.buffers[1] = numbers(&[0, 4, 1, 2]);
    sample.buffers[2] = numbers(&[0, 2, 2, 4]);
    sample
}

fn paged() -> Sample {
    let paged = BlockPaged {
        page_size: 2,
        num_pages: 3,
        num_seqs: 2,
        kv_role: KvRole::Key,
        layer_index: Some(7),
        wide_indices: true,
    };
    let layout = Layout::BlockPaged(paged);
    let handles = [2 * 3 * 2 * 4 * 2, 3 * 8, 3 * 8].map(BufferHandle::cpu);
    let descriptor =
        Descriptor::builder(Dtype::Float16, &[5, 2, 4]).layout(layout).buffers(handles).build();
    let mut sample = sample("paged", descriptor);
    sample.buffers[1] = numbers(&[2, 0, 1]);
    sample.buffers[2] = numbers(&[0, 2, 3]);
    sample
}

/// A head and its two halves.
pub(crate) fn partition() -> [Sample; 3] {
    let head = CompositeHead { composition: Composition::Partition, member_count: 2 };
    let head = Descriptor::builder(Dtype::Float32, &[2, 4]).layout(Layout::Composite(head)).build();
    let half = |row| {
        let shard = Shard::new(&[2, 4], &[row, 0]);
        Descriptor::builder(Dtype::Float32, &[1, 4]).shard(shard).build()
    };
    [
        sample("partition", head),
        sample("partition.upper", half(0)),
        sample("partition.lower", half(1)),
    ]
}

fn numbers(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// A value of every kind under a key of its own.
pub(crate) fn key_values() -> Vec<(&'static str, KvValue<'static>)> {
    let mut all = vec![
        ("text", KvValue::String("grüße, 世界")),
        ("no text", KvValue::String("")),
        ("least", KvValue::I64(i64::MIN)),
        ("most", KvValue::U64(u64::MAX)),
        ("real", KvValue::F64(-0.0)),
        ("no", KvValue::Bool(false)),
        ("yes", KvValue::Bool(true)),
        ("bytes", KvValue::Bytes(&[0, 0xFF, 7])),
        ("with \0 and \u{202E}", KvValue::Bool(true)),
    ];
    let array = |element, items: &[KvValue<'static>]| {
        KvValue::Array(KvArray::new(element, items.iter().cloned()).unwrap())
    };
    all.push(("list of text", array(KvKind::String, &[KvValue::String("a"), KvValue::String("")])));
    all.push(("list of bytes", array(KvKind::Bytes, &[KvValue::Bytes(b"ab")])));
    all.push(("list of int64", array(KvKind::I64, &[KvValue::I64(-1)])));
    all.push(("list of uint64", array(KvKind::U64, &[KvValue::U64(1), KvValue::U64(2)])));
    all.push(("list of float64", array(KvKind::F64, &[KvValue::F64(0.25)])));
    all.push(("list of bool", array(KvKind::Bool, &[KvValue::Bool(true), KvValue::Bool(false)])));
    all.push(("empty list", array(KvKind::F64, &[])));
    all
}

/// A file with these tensors, in memory.
pub(crate) fn file_of(samples: &[Sample], options: WriteOptions) -> Vec<u8> {
    let mut file = FileWriter::new(Vec::new(), options).unwrap();
    for sample in samples {
        file.tensor(sample.name, &sample.descriptor, &sample.slices()).unwrap();
    }
    file.finish().unwrap()
}

/// A file with this one tensor `w` of bytes, and nothing else that could be left out.
pub(crate) fn small_file(bytes: &[u8]) -> Vec<u8> {
    let length = u64::try_from(bytes.len()).unwrap();
    let descriptor = Descriptor::dense(Dtype::UInt8, &[length]).unwrap();
    let mut file = FileWriter::new(Vec::new(), WriteOptions::default()).unwrap();
    file.tensor("w", &descriptor, &[bytes]).unwrap();
    file.finish().unwrap()
}

/// A file of the `vectors` folder.
pub(crate) fn vector(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(name)
}
