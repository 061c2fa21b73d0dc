//! Page tables that lie, and tokens that are not there.

#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may fail loudly"
)]

mod support;

use hurray_format::*;
use support::{narrow, over, refused_at, words};

fn pages(wide_indices: bool) -> Layout {
    Layout::BlockPaged(BlockPaged {
        page_size: 2,
        num_pages: 3,
        num_seqs: 2,
        kv_role: KvRole::Value,
        layer_index: Some(5),
        wide_indices,
    })
}

/// Case P9: no page id is a sentinel.
#[test]
fn page_ids_are_below_the_number_of_pages() {
    let check = |table: &[u32], pointers: &[u32]| {
        let wide = |numbers: &[u32]| {
            // What stands for -1 in 32 bits stands for -1 in 64 bits.
            let widen = |n: &u32| if *n == u32::MAX { u64::MAX } else { u64::from(*n) };
            words(&numbers.iter().map(widen).collect::<Vec<_>>())
        };
        let pool = [7_u8; 12];
        let narrow: [&[u8]; 3] = [&pool, &narrow(table), &narrow(pointers)];
        let wide: [&[u8]; 3] = [&pool, &wide(table), &wide(pointers)];
        let of_narrow = over(&[5, 1, 2], pages(false), &narrow).unwrap();
        let of_wide = over(&[5, 1, 2], pages(true), &wide).unwrap();
        for sequence in 0..3 {
            for token in 0..6 {
                let found = of_narrow.locate_token(sequence, token, 0, 1, &narrow);
                let again = of_wide.locate_token(sequence, token, 0, 1, &wide);
                assert_eq!(found.map_err(|e| e.rule()), again.map_err(|e| e.rule()));
                assert!(found.is_err() || found.unwrap().byte < 12);
            }
        }
        let found = of_narrow.check_contents(&narrow);
        let again = of_wide.check_contents(&wide);
        assert_eq!(found.map_err(|e| e.rule()), again.map_err(|e| e.rule()));
        found
    };
    assert_eq!(check(&[2, 0, 2], &[0, 2, 3]), Ok(()));
    refused_at(check(&[2, 3, 2], &[0, 2, 3]), Rule::SparseBlockPagedPageId, 4);
    refused_at(check(&[2, 0, u32::MAX], &[0, 2, 3]), Rule::SparseBlockPagedPageId, 8);
    refused_at(check(&[2, 0, 2], &[1, 2, 3]), Rule::SparseBlockPagedPointerStart, 0);
    refused_at(check(&[2, 0, 2], &[0, 3, 2]), Rule::SparseBlockPagedPointerDecreases, 8);
    refused_at(check(&[2, 0, 2], &[0, 2, 4]), Rule::SparseBlockPagedPointerEnd, 8);
    refused_at(check(&[2, 0, 2], &[0, 2, u32::MAX]), Rule::SparseBlockPagedPointerEnd, 8);
    // What is behind the entries in use is not looked at.
    assert_eq!(check(&[2, 0, 2, u32::MAX], &[0, 2, 3]), Ok(()));
}

#[test]
fn tokens_are_found_through_their_pages_only() {
    let buffers: [&[u8]; 3] = [&[7; 12], &narrow(&[2, 0, 2]), &narrow(&[0, 2, 3])];
    let tensor = over(&[5, 1, 2], pages(false), &buffers).unwrap();
    let find = |sequence, token, head, dim| {
        tensor.locate_token(sequence, token, head, dim, &buffers).map_err(|error| error.rule())
    };
    // Page 2 starts at slot 4, and a slot has two elements.
    assert_eq!(find(0, 1, 0, 1), Ok(Location { byte: 11, bit: 0 }));
    assert_eq!(find(0, 2, 0, 0), Ok(Location { byte: 0, bit: 0 }));
    assert_eq!(find(1, 0, 0, 0), Ok(Location { byte: 8, bit: 0 }));
    assert_eq!(find(1, 2, 0, 0), Err(Rule::IndexOutOfBounds));
    assert_eq!(find(0, u64::MAX, 0, 0), Err(Rule::IndexOutOfBounds));
    assert_eq!(find(2, 0, 0, 0), Err(Rule::IndexOutOfBounds));
    assert_eq!(find(u32::MAX, 0, 0, 0), Err(Rule::IndexOutOfBounds));
    assert_eq!(find(0, 0, 1, 0), Err(Rule::IndexOutOfBounds));
    assert_eq!(find(0, 0, 0, 2), Err(Rule::IndexOutOfBounds));
    // An index is no address here, with or without the buffers.
    let error = tensor.locate_in(&[0, 0, 0], &buffers).unwrap_err();
    assert_eq!(error.rule(), Rule::IndexNoAddress);

    let count = |counts: &[u64]| {
        tensor.check_token_counts(counts, &buffers).map_err(|e| (e.rule(), e.offset()))
    };
    assert_eq!(count(&[3, 2]), Ok(()));
    assert_eq!(count(&[0, 0]), Ok(()));
    let rule = Rule::SparseBlockPagedTokenCounts;
    assert_eq!(count(&[3, 3]), Err((rule, 8)));
    assert_eq!(count(&[5, 2]), Err((rule, 0)));
    assert_eq!(count(&[3]), Err((rule, 0)));
    assert_eq!(count(&[3, 2, 0]), Err((rule, 0)));
    assert_eq!(count(&[u64::MAX, 0]), Err((rule, 0)));
}

/// Where a token lies is not known while the size of a slot is not.
#[test]
fn tokens_of_an_unresolved_tensor_have_no_place() {
    let buffers: [&[u8]; 3] = [&[7; 12], &narrow(&[2, 0, 2]), &narrow(&[0, 2, 3])];
    for shape in [[5, DYNAMIC, 2], [5, 1, DYNAMIC]] {
        let tensor = over(&shape, pages(false), &buffers).unwrap();
        let error = tensor.locate_token(0, 0, 0, 0, &buffers).unwrap_err();
        assert_eq!(error.rule(), Rule::DescriptorUnresolved, "{shape:?}");
    }
    // The number of tokens is not needed.
    let tensor = over(&[DYNAMIC, 1, 2], pages(false), &buffers).unwrap();
    assert!(tensor.locate_token(0, 0, 0, 0, &buffers).is_ok());
}

/// Memory is often longer than the tensor in it; only what the handles say is looked at.
#[test]
fn memory_behind_a_buffer_is_not_part_of_it() {
    let (table, pointers) = (narrow(&[2, 0, 9]), narrow(&[0, 1, 3]));
    let handles = [12, 8, 12].map(BufferHandle::cpu);
    let tensor = Descriptor::builder(Dtype::UInt8, &[5, 1, 2])
        .layout(pages(false))
        .buffers(handles)
        .build()
        .unwrap();
    // Two entries in the table, a pointer to the third.
    let error = tensor.check_contents(&[&[7; 64], &table, &pointers]).unwrap_err();
    assert_eq!(error.rule(), Rule::SparseBlockPagedPointerEnd);
}

/// Without token counts whole pages are what there is.
#[test]
fn pages_are_found_by_sequence_and_by_id() {
    let (table, pointers) = (words(&[2, 0, 2]), words(&[0, 2, 3]));
    let buffers: [&[u8]; 3] = [&[7; 12], &table, &pointers];
    let tensor = over(&[5, 1, 2], pages(true), &buffers).unwrap();
    let of =
        |sequence| -> Result<Vec<u64>, Error> { tensor.pages_of(sequence, &buffers)?.collect() };
    assert_eq!(of(0), Ok(vec![2, 0]));
    assert_eq!(of(1), Ok(vec![2]));
    assert_eq!(of(2).unwrap_err().rule(), Rule::IndexOutOfBounds);
    assert_eq!(tensor.locate_page(2), Ok(8..12));
    assert_eq!(tensor.locate_page(3).unwrap_err().rule(), Rule::IndexOutOfBounds);

    let lying = words(&[2, 3, 2]);
    let lying: [&[u8]; 3] = [&[7; 12], &lying, &pointers];
    let found: Vec<_> = tensor.pages_of(0, &lying).unwrap().collect();
    assert_eq!(found.first(), Some(&Ok(2)));
    assert_eq!(found[1].unwrap_err().rule(), Rule::SparseBlockPagedPageId);

    // A page of four elements of 6 bits is a group; one of two starts inside a group.
    let six_bits = |heads| {
        let handles = [64, 24, 24].map(BufferHandle::cpu);
        let builder = Descriptor::builder(Dtype::Float6E2M3, &[5, heads, 1]);
        builder.layout(pages(true)).buffers(handles).build().unwrap()
    };
    assert_eq!(six_bits(2).locate_page(1), Ok(3..6));
    assert_eq!(six_bits(1).locate_page(1).unwrap_err().rule(), Rule::ViewSubByte);
    let dense = Descriptor::dense(Dtype::UInt8, &[4]).unwrap();
    assert_eq!(dense.locate_page(0).unwrap_err().rule(), Rule::IndexNoAddress);
}
