//! Arithmetic that readers of other formats got wrong (G1 to G15 of the public reports):
//! products that wrap, sums that wrap, paddings that wrap, counts that are believed.

#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

use hurray_format::*;

fn row_major(shape: &[u64], byte_size: u64) -> Result<Descriptor> {
    Descriptor::builder(Dtype::Float32, shape).buffers([BufferHandle::cpu(byte_size)]).build()
}

fn rule<T: std::fmt::Debug>(result: Result<T>) -> &'static str {
    result.unwrap_err().rule().id()
}

/// A file of one tensor of four bytes, and where its index entry's numbers start.
fn small_file() -> (Vec<u8>, usize) {
    let descriptor = Descriptor::dense(Dtype::UInt8, &[4]).unwrap();
    let (mut plan, header) = FilePlan::new(FileOptions::default()).unwrap();
    let mut file = header.to_vec();
    let tensor = plan.tensor("w", &descriptor).unwrap();
    file.extend(&tensor.descriptor);
    file.resize(file.len() + usize::try_from(tensor.buffers[0].0).unwrap(), 0);
    file.extend([1, 2, 3, 4]);
    file.extend(plan.finish(crc32c).unwrap());
    let numbers = file.len() - FILE_TRAILER_LEN - 32;
    (file, numbers)
}

/// Puts numbers into the index and makes its checksum right again.
fn patched(at: usize, number: u64) -> Vec<u8> {
    let (mut file, numbers) = small_file();
    file[numbers + at..numbers + at + 8].copy_from_slice(&number.to_le_bytes());
    let end = file.len() - FILE_TRAILER_LEN;
    let start = end - 8 - 2 - 1 - 32;
    let crc = crc32c(0, &file[start..end]);
    file[end + 28..end + 32].copy_from_slice(&crc.to_le_bytes());
    file
}

#[test]
fn g2_a_dimension_of_zero_is_a_tensor() {
    assert_eq!(row_major(&[1, 0], 0).unwrap().element_count(), Some(0));
    assert_eq!(row_major(&[0, u64::MAX - 1], 0).unwrap().element_count(), Some(0));
}

#[test]
fn g3_a_product_that_wraps_is_too_large_and_not_small() {
    let wraps = [(1 << 42) + 1, 1 << 22, 4];
    assert_eq!(rule(row_major(&wraps, u64::MAX)), "layout.buffer-too-small");
    assert_eq!(rule(row_major(&[1 << 32; 4], 0)), "layout.buffer-too-small");
    assert_eq!(rule(row_major(&[u64::MAX - 1; 64], u64::MAX)), "layout.buffer-too-small");
}

#[test]
fn g4_sums_of_sizes_do_not_wrap() {
    // Two buffers whose sizes add up to 3.
    let near = BufferHandle::cpu(u64::MAX);
    let coo = Layout::Coo(Coo { nnz: 0, is_sorted: true });
    let builder = Descriptor::builder(Dtype::UInt8, &[4]).layout(coo);
    let descriptor = builder.buffers([near, BufferHandle::cpu(4)]).build().unwrap();
    assert_eq!(descriptor.data_bytes(), u64::MAX);
    let (mut plan, _) = FilePlan::new(FileOptions::default()).unwrap();
    assert_eq!(rule(plan.tensor("w", &descriptor)), "file.index.data-overflow");
    assert_eq!(rule(FileView::open(&patched(20, u64::MAX))), "file.index.data-overflow");
}

#[test]
fn g5_rounding_up_to_the_alignment_does_not_wrap() {
    let large = row_major(&[1], u64::MAX - 100).unwrap();
    let (mut plan, _) = FilePlan::new(FileOptions::default()).unwrap();
    assert_eq!(rule(plan.tensor("w", &large)), "file.index.data-overflow");
    assert_eq!(rule(FileView::open(&patched(0, u64::MAX - 7))), "file.index.descriptor-overflow");
}

#[test]
fn g6_an_alignment_is_a_power_of_two_in_range() {
    for (alignment, broken) in [
        (0, "file.header.alignment-not-power-of-two"),
        (3, "file.header.alignment-not-power-of-two"),
        (2048, "file.header.alignment-too-small"),
        (1 << 22, "file.header.alignment-too-large"),
        (1 << 31, "file.header.alignment-too-large"),
        (u32::MAX, "file.header.alignment-not-power-of-two"),
    ] {
        let options = FileOptions { alignment, ..FileOptions::default() };
        assert_eq!(rule(FilePlan::new(options)), broken);
        let (mut file, _) = small_file();
        file[16..20].copy_from_slice(&alignment.to_le_bytes());
        assert_eq!(rule(FileView::open(&file)), broken);
    }
    let of = |alignment| {
        let (device, sync, class) = (Device::CPU, SyncMode::PRODUCER_SYNCED, MemoryClass::STANDARD);
        BufferHandle::new(4, alignment, device, sync, class)
    };
    for alignment in [0, 3, 96, u32::MAX] {
        assert_eq!(rule(of(alignment)), "buffer.alignment-not-power-of-two");
    }
    assert!(of(1 << 31).is_ok());
}

#[test]
fn g7_a_rank_is_refused_before_its_sizes_are_read() {
    assert_eq!(Descriptor::dense(Dtype::UInt8, &[1; 9]).unwrap().rank(), 9);
    assert_eq!(Descriptor::dense(Dtype::UInt8, &[1; 64]).unwrap().rank(), 64);
    assert_eq!(rule(Descriptor::dense(Dtype::UInt8, &[1; 65])), "descriptor.rank-too-large");
    for rank in [65, 255, u32::MAX] {
        let mut bytes = Descriptor::dense(Dtype::UInt8, &[1]).unwrap().encode();
        bytes[16..20].copy_from_slice(&rank.to_le_bytes());
        assert_eq!(rule(Descriptor::decode(&bytes)), "descriptor.rank-too-large");
    }
}

#[test]
fn g9_lengths_and_counts_of_key_values_are_not_believed() {
    let read = |bytes: &[u8]| rule(Kv::decode(bytes.to_vec(), &mut Silent));
    let kv = |entry: &[u8]| [&[1, 0, 0, 0], entry].concat();
    assert_eq!(read(&kv(&[0, 0, 5, 1])), "file.kv.key-empty");
    assert_eq!(read(&kv(&[1, 0, b'k', 1, 0xFF, 0xFF, 0xFF, 0xFF, b'x'])), "file.kv.truncated");
    let array = kv(&[1, 0, b'k', 7, 2, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(read(&array), "file.kv.array-count-too-large");
    assert_eq!(read(&[0xFF, 0xFF, 0xFF, 0xFF, 1, 0, b'k', 5, 1]), "file.kv.count-too-large");
}

/// Release builds check what debug builds check: `overflow-checks` is on in both, and
/// nothing here relies on it.
#[test]
fn g10_the_answer_is_the_same_in_every_build() {
    let strided = Descriptor::builder(Dtype::Float32, &[u64::MAX - 1; 3])
        .layout(Layout::strided([i64::MAX, i64::MIN, i64::MAX]))
        .buffers([BufferHandle::cpu(u64::MAX)])
        .byte_offset(1 << 63)
        .build();
    assert_eq!(rule(strided), "layout.element-before-buffer");
}

#[test]
fn g11_the_sum_with_its_paddings_is_computed_as_one() {
    // Each buffer fits; the second, padded, does not.
    let coo = Layout::Coo(Coo { nnz: 0, is_sorted: true });
    let builder = Descriptor::builder(Dtype::UInt8, &[4]).layout(coo);
    let handles = [BufferHandle::cpu((1 << 63) - 1), BufferHandle::cpu(1 << 63)];
    let descriptor = builder.buffers(handles).build().unwrap();
    let (mut plan, _) = FilePlan::new(FileOptions::default()).unwrap();
    assert_eq!(rule(plan.tensor("w", &descriptor)), "file.index.data-overflow");
}

#[test]
fn g12_a_size_beyond_the_file_is_refused_before_it_is_read() {
    for length in [5, 4096, 1 << 40] {
        let file = patched(20, length);
        assert!(FileView::open(&file).and_then(|view| view.tensor("w").map(drop)).is_err());
    }
    let stream = Descriptor::dense(Dtype::UInt8, &[1 << 40]).unwrap().encode();
    assert_eq!(rule(StreamView::new(&stream).next().unwrap()), "stream.truncated");
}

#[test]
fn g15_rank_zero_is_known_to_every_layout() {
    let scalar = Descriptor::dense(Dtype::Float32, &[]).unwrap();
    assert_eq!((scalar.element_count(), scalar.locate(&[]).unwrap().byte), (Some(1), 0));
    let layouts = [
        Layout::ColumnMajor,
        Layout::strided([]),
        Layout::tiled(Tiled::blocks([])),
        Layout::morton([]),
        Layout::Coo(Coo { nnz: 0, is_sorted: false }),
        Layout::Csr(Compressed { nnz: 0 }),
        Layout::Csc(Compressed { nnz: 0 }),
        Layout::Csf(Csf { nnz: 0, mode_order: List::default() }),
        Layout::Hilbert(Hilbert { order: 1 }),
        Layout::Composite(CompositeHead { composition: Composition::Group, member_count: 0 }),
    ];
    for layout in layouts {
        let name = layout.name();
        let built = Descriptor::builder(Dtype::Float32, &[]).layout(layout).build();
        assert_eq!(built.unwrap_err().rule(), Rule::DescriptorScalarLayout, "{name}");
    }
}
