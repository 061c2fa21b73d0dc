//! Every line of `vectors/sparse.jsonl`, and what hostile index arrays of sparse tensors are
//! answered.

#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod support;

use hurray_format::*;
use serde_json::Value as Json;
use support::layouts::sparse;
use support::{integer, integers, lines, over, refused_at, words};

#[test]
fn every_query_finds_what_the_vectors_say() {
    let vectors = lines("sparse.jsonl");
    assert_eq!(vectors.len(), 12);
    for line in &vectors {
        let name = line["id"].as_str().unwrap();
        let (tensor, buffers) = sparse(line);
        let buffers: Vec<&[u8]> = buffers.iter().map(Vec::as_slice).collect();
        assert_eq!(tensor.check_contents(&buffers), Ok(()), "{name}");

        for query in line["queries"].as_array().unwrap() {
            let place = match tensor.layout() {
                Layout::BlockPaged(_) => Some(token(&tensor, query, &buffers).unwrap()),
                _ => tensor.locate_in(&integers(&query["index"]), &buffers).unwrap(),
            };
            let position = place.map(|place| {
                (place.byte * 8 + u64::from(place.bit)) / u64::from(tensor.dtype().bits())
            });
            assert_eq!(position, query["position"].as_u64(), "{name}: {query}");
            let value = place.map_or(0.0, |place| value_at(tensor.dtype(), place, buffers[0]));
            assert_eq!(Some(value), query["value"].as_f64(), "{name}: {query}");
        }
        if line["layout"] == "block_paged" {
            let counts = integers(&line["token_counts"]);
            assert_eq!(tensor.check_token_counts(&counts, &buffers), Ok(()), "{name}");
        } else {
            assert_eq!(
                tensor.check_token_counts(&[], &buffers).unwrap_err().rule(),
                Rule::IndexNoAddress
            );
        }
        // Without its buffers no such tensor has an address.
        if !tensor.shape().contains(&0) {
            let error = tensor.locate(&vec![0; tensor.rank()]).unwrap_err();
            assert_eq!(error.rule(), Rule::IndexNoAddress, "{name}");
        }
    }
}

/// Every stored entry is where a look-up of its index finds it, and they come as they lie.
#[test]
fn entries_come_in_the_order_in_which_they_are_stored() {
    for line in &lines("sparse.jsonl") {
        let (tensor, buffers) = sparse(line);
        let buffers: Vec<&[u8]> = buffers.iter().map(Vec::as_slice).collect();
        let Some(nnz) = tensor.layout().nnz() else {
            assert_eq!(tensor.entries(&buffers).unwrap_err().rule(), Rule::IndexNoAddress);
            continue;
        };
        let mut entries = tensor.entries(&buffers).unwrap();
        for expected in 0..nnz {
            assert_eq!(entries.remaining(), nnz - expected);
            let (position, index) = entries.next_entry().unwrap().unwrap();
            assert_eq!(position, expected);
            let place = tensor.locate_in(index, &buffers).unwrap().unwrap();
            let bit = place.byte * 8 + u64::from(place.bit);
            assert_eq!(bit, position * u64::from(tensor.dtype().bits()), "{}", line["id"]);
        }
        assert_eq!(entries.next_entry(), Ok(None));
        assert_eq!(entries.next_entry(), Ok(None));
    }
}

/// Rows, and nodes of a tree, under which nothing is stored.
#[test]
fn entries_step_over_nodes_without_children() {
    let index =
        |numbers: &[&[u64]]| -> Vec<Vec<u64>> { numbers.iter().map(|n| n.to_vec()).collect() };
    let all = |tensor: &Descriptor, buffers: &[&[u8]]| {
        let mut found = Vec::new();
        let mut entries = tensor.entries(buffers).unwrap();
        while let Some((_, index)) = entries.next_entry().unwrap() {
            found.push(index.to_vec());
        }
        found
    };
    let (columns, rows) = (words(&[2, 0, 1]), words(&[0, 0, 1, 1, 1, 3, 3]));
    let buffers: [&[u8]; 3] = [&[1, 2, 3], &columns, &rows];
    let csr = over(&[6, 3], Layout::Csr(Compressed { nnz: 3 }), &buffers).unwrap();
    assert_eq!(all(&csr, &buffers), index(&[&[1, 2], &[4, 0], &[4, 1]]));
    let csc = over(&[3, 6], Layout::Csc(Compressed { nnz: 3 }), &buffers).unwrap();
    assert_eq!(all(&csc, &buffers), index(&[&[2, 1], &[0, 4], &[1, 4]]));

    let (pos0, crd0) = (words(&[0, 3]), words(&[0, 1, 3]));
    let (pos1, crd1) = (words(&[0, 0, 2, 3]), words(&[2, 3, 0]));
    let (pos2, crd2) = (words(&[0, 1, 1, 3]), words(&[4, 0, 1]));
    let buffers: [&[u8]; 7] = [&[7, 8, 9], &pos0, &crd0, &pos1, &crd1, &pos2, &crd2];
    let layout = Layout::Csf(Csf { nnz: 3, mode_order: [2, 0, 1].into() });
    let csf = over(&[4, 5, 4], layout, &buffers).unwrap();
    assert_eq!(all(&csf, &buffers), index(&[&[2, 4, 1], &[0, 0, 3], &[0, 1, 3]]));

    // What is out of place is refused before the first entry.
    let wrong = words(&[0, 1, 9, 1, 1, 3, 3]);
    let wrong: [&[u8]; 3] = [&[1, 2, 3], &columns, &wrong];
    let rule = csr.entries(&wrong).unwrap_err().rule();
    assert_eq!(rule, Rule::SparseCompressedPointerDecreases);
}

fn token(tensor: &Descriptor, query: &Json, buffers: &[&[u8]]) -> Result<Location> {
    let part = |key: &str| integer(&query[key]);
    tensor.locate_token(part("sequence") as u32, part("token"), part("head"), part("dim"), buffers)
}

/// The number that `dtype` stores at `place`, least significant bit first.
fn value_at(dtype: Dtype, place: Location, bytes: &[u8]) -> f64 {
    let width = dtype.bits();
    let start = place.byte * 8 + u64::from(place.bit);
    let bits = (0..u64::from(width)).fold(0_u32, |bits, n| {
        let at = start + n;
        bits | u32::from(bytes[(at / 8) as usize] >> (at % 8) & 1) << n
    });
    match dtype.kind() {
        Kind::Float => f64::from(f32::from_bits(bits)),
        Kind::Signed => f64::from((bits << (32 - width)).cast_signed() >> (32 - width)),
        _ => f64::from(bits),
    }
}

/// What is found out about these buffers: every element looked up, then all of them
/// checked. Looking up may be refused_at or find something, and must do no harm.
fn contents(shape: &[u64], layout: Layout, buffers: &[&[u8]]) -> Result<()> {
    let tensor = over(shape, layout, buffers)?;
    for index in indices(shape) {
        if let Ok(Some(place)) = tensor.locate_in(&index, buffers) {
            assert!(place.byte < buffers[0].len() as u64, "{place:?}");
        }
    }
    tensor.check_contents(buffers)
}

fn indices(shape: &[u64]) -> Vec<Vec<u64>> {
    shape.iter().fold(vec![Vec::new()], |before, size| {
        let with = |index: &Vec<u64>, k| index.iter().copied().chain([k]).collect();
        before.iter().flat_map(|index| (0..*size).map(move |k| with(index, k))).collect()
    })
}

/// Case P3, for rows and for columns.
#[test]
fn compressed_pointers_start_at_zero_never_decrease_and_end_at_nnz() {
    for columns in [false, true] {
        let check = |indices: &[u64], pointers: &[u64]| {
            let layout = Compressed { nnz: 3 };
            let (shape, layout) = match columns {
                false => ([2, 4], Layout::Csr(layout)),
                true => ([4, 2], Layout::Csc(layout)),
            };
            contents(&shape, layout, &[b"abc", &words(indices), &words(pointers)])
        };
        assert_eq!(check(&[0, 3, 1], &[0, 2, 3]), Ok(()));
        assert_eq!(check(&[0, 1, 3], &[0, 3, 3]), Ok(()));
        assert_eq!(check(&[0, 1, 3], &[0, 0, 3]), Ok(()));
        refused_at(check(&[0, 3, 1], &[1, 2, 3]), Rule::SparseCompressedPointerStart, 0);
        refused_at(check(&[0, 3, 1], &[0, 4, 3]), Rule::SparseCompressedPointerDecreases, 16);
        refused_at(check(&[0, 3, 1], &[0, 2, 2]), Rule::SparseCompressedPointerEnd, 16);
        refused_at(check(&[0, 3, 1], &[0, 2, 4]), Rule::SparseCompressedPointerEnd, 16);
        refused_at(check(&[0, 3, 1], &[0, 2, u64::MAX]), Rule::SparseCompressedPointerEnd, 16);
        refused_at(check(&[0, 4, 1], &[0, 2, 3]), Rule::SparseCompressedOutOfBounds, 8);
        refused_at(check(&[0, u64::MAX, 1], &[0, 2, 3]), Rule::SparseCompressedOutOfBounds, 8);
        refused_at(check(&[3, 3, 1], &[0, 2, 3]), Rule::SparseCompressedNotIncreasing, 8);
        refused_at(check(&[3, 0, 1], &[0, 2, 3]), Rule::SparseCompressedNotIncreasing, 8);
        let short =
            if columns { Rule::LayoutCscBufferTooSmall } else { Rule::LayoutCsrBufferTooSmall };
        assert_eq!(check(&[0, 3, 1], &[0, 3]).unwrap_err().rule(), short);
        assert_eq!(check(&[0, 3], &[0, 2, 3]).unwrap_err().rule(), short);
        // Larger is fine, and what is behind the array is not looked at.
        assert_eq!(check(&[0, 3, 1, 9], &[0, 2, 3, 1]), Ok(()));
    }
}

#[test]
fn coordinates_are_in_bounds_in_order_and_distinct() {
    let check = |is_sorted, indices: &[u64]| {
        let layout = Layout::Coo(Coo { nnz: 3, is_sorted });
        contents(&[3, 4], layout, &[b"abc", &words(indices)])
    };
    for is_sorted in [false, true] {
        assert_eq!(check(is_sorted, &[0, 1, 0, 3, 2, 0]), Ok(()));
        refused_at(check(is_sorted, &[0, 1, 0, 4, 2, 0]), Rule::SparseCooOutOfBounds, 24);
        refused_at(check(is_sorted, &[0, 1, 0, 3, 3, 0]), Rule::SparseCooOutOfBounds, 32);
        refused_at(check(is_sorted, &[0, 1, 0, 3, u64::MAX, 0]), Rule::SparseCooOutOfBounds, 32);
        refused_at(check(is_sorted, &[0, 1, 0, 3, 0, 3]), Rule::SparseCooDuplicate, 32);
    }
    refused_at(check(false, &[0, 3, 2, 0, 0, 3]), Rule::SparseCooDuplicate, 32);
    assert_eq!(check(false, &[2, 0, 0, 3, 0, 1]), Ok(()));
    refused_at(check(true, &[2, 0, 0, 3, 0, 1]), Rule::SparseCooNotSorted, 16);
}

#[test]
fn unsorted_coordinates_are_found_wherever_they_are() {
    let layout = Layout::Coo(Coo { nnz: 3, is_sorted: false });
    let buffers: [&[u8]; 2] = [b"abc", &words(&[2, 0, 0, 3, 0, 1])];
    let tensor = over(&[3, 4], layout, &buffers).unwrap();
    let byte = |index: [u64; 2]| tensor.locate_in(&index, &buffers).unwrap().map(|p| p.byte);
    assert_eq!(byte([2, 0]), Some(0));
    assert_eq!(byte([0, 3]), Some(1));
    assert_eq!(byte([0, 1]), Some(2));
    assert_eq!(byte([0, 0]), None);
    let error = tensor.locate_in(&[3, 0], &buffers).unwrap_err();
    assert_eq!(error.rule(), Rule::IndexOutOfBounds);
    let error = tensor.locate_in(&[0], &buffers).unwrap_err();
    assert_eq!(error.rule(), Rule::IndexRank);
}

/// Case P4: a tree of coordinates whose counts or axis order lie.
#[test]
fn every_level_of_a_coordinate_tree_is_checked() {
    let good: [&[u64]; 6] =
        [&[0, 2], &[0, 1], &[0, 2, 3], &[0, 2, 1], &[0, 1, 2, 4], &[1, 3, 0, 2]];
    let check = |place: usize, changed: &[u64]| {
        let mut arrays = good;
        arrays[place] = changed;
        let arrays = arrays.map(words);
        let mut buffers: Vec<&[u8]> = vec![b"abcd"];
        buffers.extend(arrays.iter().map(Vec::as_slice));
        let mode_order = [0, 1, 2].into();
        contents(&[2, 3, 4], Layout::Csf(Csf { nnz: 4, mode_order }), &buffers)
    };
    for (place, array) in good.iter().enumerate() {
        assert_eq!(check(place, array), Ok(()));
    }
    refused_at(check(0, &[1, 2]), Rule::SparseCsfPointerStart, 0);
    refused_at(check(2, &[1, 2, 3]), Rule::SparseCsfPointerStart, 0);
    refused_at(check(2, &[0, 4, 3]), Rule::SparseCsfPointerDecreases, 16);
    refused_at(check(4, &[0, 2, 1, 4]), Rule::SparseCsfPointerDecreases, 16);
    // Counts too big: more nodes than coordinates, more entries than values.
    refused_at(check(0, &[0, 3]), Rule::SparseCsfPointerEnd, 8);
    refused_at(check(0, &[0, u64::MAX]), Rule::SparseCsfPointerEnd, 8);
    refused_at(check(2, &[0, 2, 4]), Rule::SparseCsfPointerEnd, 16);
    refused_at(check(4, &[0, 1, 2, 5]), Rule::SparseCsfPointerEnd, 24);
    refused_at(check(4, &[0, 1, 2, 3]), Rule::SparseCsfPointerEnd, 24);
    refused_at(check(1, &[0, 2]), Rule::SparseCsfOutOfBounds, 8);
    refused_at(check(3, &[0, 3, 1]), Rule::SparseCsfOutOfBounds, 8);
    refused_at(check(5, &[1, 3, 0, u64::MAX]), Rule::SparseCsfOutOfBounds, 24);
    refused_at(check(1, &[1, 0]), Rule::SparseCsfNotIncreasing, 8);
    refused_at(check(3, &[2, 2, 1]), Rule::SparseCsfNotIncreasing, 8);
    refused_at(check(5, &[1, 3, 2, 0]), Rule::SparseCsfNotIncreasing, 24);
    // A pointer array that ends early.
    refused_at(check(2, &[0, 2]), Rule::SparseBufferTooSmall, 0);

    for mode_order in [[0, 1, 1], [0, 1, 3], [2, 2, 2], [0, 1, u32::MAX]] {
        let layout = Layout::Csf(Csf { nnz: 0, mode_order: mode_order.into() });
        let error = Descriptor::builder(Dtype::UInt8, &[2, 3, 4]).layout(layout).build();
        assert_eq!(error.unwrap_err().rule(), Rule::LayoutCsfModeOrder);
    }
}

/// Pointers may stay where they are: a node without children is legal, at every level but
/// the last, so that a level can have more nodes than the tensor has entries.
#[test]
fn a_node_of_a_coordinate_tree_may_have_no_children() {
    let arrays = [&[0, 2][..], &[0, 1], &[0, 2, 3], &[0, 2, 1], &[0, 0, 0, 1], &[3]].map(words);
    let mut buffers: Vec<&[u8]> = vec![b"a"];
    buffers.extend(arrays.iter().map(Vec::as_slice));
    let layout = Layout::Csf(Csf { nnz: 1, mode_order: [0, 1, 2].into() });
    let tensor = over(&[2, 3, 4], layout, &buffers).unwrap();
    assert_eq!(tensor.check_contents(&buffers), Ok(()));
    let found = |index: [u64; 3]| tensor.locate_in(&index, &buffers).unwrap().is_some();
    assert!(found([1, 1, 3]));
    assert!(!found([0, 0, 3]) && !found([0, 2, 3]));
}

/// Case P5: a count times a width that does not fit 64 bits is never multiplied in them.
#[test]
fn counts_of_entries_do_not_wrap() {
    let small = BufferHandle::cpu(64);
    let build = |dtype, shape: &[u64], layout, count: usize| {
        Descriptor::builder(dtype, shape).layout(layout).buffers(vec![small; count]).build()
    };
    for nnz in [u64::MAX, 1 << 61, 1 << 60, (1 << 61) + 8, 9] {
        let float = Dtype::Float64;
        let rule = |result: Result<Descriptor>| result.unwrap_err().rule();
        let coo = Layout::Coo(Coo { nnz, is_sorted: true });
        assert_eq!(rule(build(float, &[9], coo, 2)), Rule::LayoutCooBufferTooSmall);
        let csr = Layout::Csr(Compressed { nnz });
        assert_eq!(rule(build(float, &[3, 3], csr, 3)), Rule::LayoutCsrBufferTooSmall);
        let csc = Layout::Csc(Compressed { nnz });
        assert_eq!(rule(build(float, &[3, 3], csc, 3)), Rule::LayoutCscBufferTooSmall);
        let csf = Layout::Csf(Csf { nnz, mode_order: [2, 1, 0].into() });
        assert_eq!(rule(build(float, &[3, 3, 3], csf, 7)), Rule::LayoutCsfBufferTooSmall);
    }
    // Rank times entries: each factor fits, the product does not.
    let coo = Layout::Coo(Coo { nnz: 1 << 58, is_sorted: true });
    let error = Descriptor::builder(Dtype::Bool, &[1; 64])
        .layout(coo)
        .buffers([BufferHandle::cpu(1 << 55), BufferHandle::cpu(u64::MAX)])
        .build();
    assert_eq!(error.unwrap_err().rule(), Rule::LayoutCooBufferTooSmall);
    // Rows plus one.
    let csr = Layout::Csr(Compressed { nnz: 0 });
    let error = build(Dtype::Bool, &[u64::MAX - 1, 1], csr, 3);
    assert_eq!(error.unwrap_err().rule(), Rule::LayoutCsrBufferTooSmall);
    // The pool of a paged tensor.
    let paged = BlockPaged {
        page_size: u32::MAX,
        num_pages: u64::MAX,
        num_seqs: 0,
        kv_role: KvRole::Fused,
        layer_index: None,
        wide_indices: true,
    };
    let error = build(Dtype::Float32, &[1, 1 << 40, 1 << 40], Layout::BlockPaged(paged), 3);
    assert_eq!(error.unwrap_err().rule(), Rule::LayoutBlockPagedBufferTooSmall);
}

/// Case P7: counts and indices beyond 31 and 32 bits are ordinary numbers.
#[test]
fn indices_are_wide() {
    let nnz = 1 << 31;
    let coo = Layout::Coo(Coo { nnz, is_sorted: true });
    let tensor = Descriptor::builder(Dtype::Float32, &[1 << 20, 1 << 20]).layout(coo).build();
    let tensor = tensor.unwrap();
    assert_eq!(tensor.buffers()[0].byte_size(), nnz * 4);
    assert_eq!(tensor.buffers()[1].byte_size(), nnz * 16);
    assert_eq!(tensor.layout().nnz(), Some(nnz));

    let far = (1 << 33) + 7;
    let coo = Layout::Coo(Coo { nnz: 2, is_sorted: true });
    let buffers: [&[u8]; 2] = [b"ab", &words(&[far & 0xFFFF_FFFF, far])];
    let tensor = over(&[1 << 40], coo, &buffers).unwrap();
    assert_eq!(tensor.check_contents(&buffers), Ok(()));
    assert_eq!(tensor.locate_in(&[far], &buffers).unwrap().unwrap().byte, 1);
    assert_eq!(tensor.locate_in(&[7], &buffers).unwrap().unwrap().byte, 0);
    assert_eq!(tensor.locate_in(&[far + 1], &buffers), Ok(None));
}

#[test]
fn buffers_are_as_many_and_as_long_as_the_table_says() {
    let layout = Layout::Csr(Compressed { nnz: 1 });
    let pointers = words(&[0, 1, 1]);
    let buffers: [&[u8]; 3] = [b"a", &words(&[1]), &pointers];
    let tensor = over(&[2, 2], layout, &buffers).unwrap();
    assert_eq!(tensor.check_contents(&buffers), Ok(()));
    let rule = |buffers: &[&[u8]]| tensor.check_contents(buffers).unwrap_err().rule();
    assert_eq!(rule(&[]), Rule::SparseBufferCount);
    assert_eq!(rule(&buffers[..2]), Rule::SparseBufferCount);
    assert_eq!(rule(&[b"a", &words(&[1]), &pointers, b""]), Rule::SparseBufferCount);
    assert_eq!(rule(&[b"", &words(&[1]), &pointers]), Rule::SparseBufferTooSmall);
    assert_eq!(rule(&[b"a", &words(&[1])[..7], &pointers]), Rule::SparseBufferTooSmall);
    assert_eq!(rule(&[b"a", &words(&[1]), &pointers[..23]]), Rule::SparseBufferTooSmall);
    // Looking up refuses too.
    let error = tensor.locate_in(&[0, 0], &[]).unwrap_err();
    assert_eq!(error.rule(), Rule::SparseBufferCount);
    let error = tensor.locate_in(&[0, 0], &[b"a", b"", &pointers]).unwrap_err();
    assert_eq!(error.rule(), Rule::SparseBufferTooSmall);
}

/// What cannot be sized is not passed over in silence.
#[test]
fn contents_of_an_unresolved_sparse_tensor_are_checked_as_far_as_they_can_be() {
    let coo = |indices: &[u64], shape: &[u64]| {
        let layout = Layout::Coo(Coo { nnz: 2, is_sorted: true });
        let buffers: [&[u8]; 2] = [b"ab", &words(indices)];
        over(shape, layout, &buffers).unwrap().check_contents(&buffers)
    };
    assert_eq!(coo(&[0, 1, 5, 1], &[DYNAMIC, 2]), Ok(()));
    refused_at(coo(&[0, 1, 5, 2], &[DYNAMIC, 2]), Rule::SparseCooOutOfBounds, 24);
    refused_at(coo(&[5, 1, 0, 1], &[DYNAMIC, 2]), Rule::SparseCooNotSorted, 16);

    let csr = |shape: &[u64]| {
        let layout = Layout::Csr(Compressed { nnz: 2 });
        let buffers: [&[u8]; 3] = [b"ab", &words(&[1, 1]), &words(&[0, 2, 2])];
        over(shape, layout, &buffers).unwrap().check_contents(&buffers)
    };
    refused_at(csr(&[2, DYNAMIC]), Rule::SparseCompressedNotIncreasing, 8);
    // How many pointers there are depends on the rows.
    assert_eq!(csr(&[DYNAMIC, 2]).unwrap_err().rule(), Rule::DescriptorUnresolved);
}
