//! Elements of tensors of every layout: one by its index, all of them in order, what is stored.

#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail loudly"
)]

mod support;
#[path = "support/vectors.rs"]
mod vectors;

use hurray_tensor::format::*;
use hurray_tensor::{BufferMut, Error, Tensor};
use proptest::prelude::*;
use vectors::*;

/// More elements than this are looked at in part.
const MANY: u64 = 1 << 16;

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, rule: Rule) {
    assert_eq!(result.unwrap_err().rule(), Some(rule));
}

#[test]
fn every_element_of_the_vectors_is_found_where_they_say() {
    let lines = lines("address.jsonl");
    assert_eq!(lines.len(), 81);
    let mut looked_at = 0;
    for line in &lines {
        let descriptor = dense(line);
        if descriptor.buffers()[0].byte_size() > 1 << 24 {
            continue;
        }
        looked_at += 1;
        let (tensor, bytes) = noisy(&descriptor);
        let bit = integer(&line["byte"]) * 8 + integer(&line["bit"]);
        let expected = bits_one_by_one(&bytes, bit, descriptor.dtype().bits());
        assert_eq!(tensor.bits(&integers(&line["index"])).unwrap(), expected, "{}", line["id"]);
    }
    assert!(looked_at >= 75, "{looked_at}");
}

/// All elements in index order, against an index counted out and bits read one by one.
#[test]
fn iteration_goes_through_every_dense_layout_in_index_order() {
    for line in lines("address.jsonl") {
        let descriptor = dense(&line);
        let many = descriptor.element_count().is_none_or(|count| count > MANY);
        if many || descriptor.buffers()[0].byte_size() > 1 << 24 {
            continue;
        }
        let (tensor, bytes) = noisy(&descriptor);
        let width = descriptor.dtype().bits();
        let expected: Vec<u128> = indices(descriptor.shape())
            .iter()
            .map(|index| {
                let place = descriptor.locate(index).unwrap();
                bits_one_by_one(&bytes, place.byte * 8 + u64::from(place.bit), width)
            })
            .collect();
        let mut all = tensor.iter_bits().unwrap();
        for (n, bits) in expected.iter().enumerate() {
            assert_eq!(all.len(), expected.len() - n);
            assert_eq!(all.next(), Some(*bits), "{}: element {n}", line["id"]);
        }
        assert_eq!((all.len(), all.next(), all.next()), (0, None, None), "{}", line["id"]);

        let copy = tensor.to_row_major_within(u64::MAX).unwrap();
        assert_eq!(copy.descriptor().layout(), &Layout::RowMajor);
        assert!(copy.iter_bits().unwrap().eq(expected.iter().copied()), "{}", line["id"]);
        let first = copy.buffers()[0].host_bytes().unwrap();
        assert!(first.is_empty() || first.as_ptr().addr().is_multiple_of(64));
    }
}

#[test]
fn sparse_elements_are_looked_up_and_missing_ones_are_zero() {
    for line in lines("sparse.jsonl") {
        let name = &line["id"];
        let (descriptor, buffers) = sparse(&line);
        let tensor = alive(&descriptor, &buffers);
        tensor.check_contents().unwrap();
        if line["layout"] == "block_paged" {
            let error = tensor.bits(&vec![0; descriptor.rank()]).unwrap_err();
            let empty = descriptor.shape().contains(&0);
            let rule = if empty { Rule::IndexOutOfBounds } else { Rule::IndexNoAddress };
            assert_eq!(error.rule(), Some(rule), "{name}");
            continue;
        }
        let dtype = descriptor.dtype();
        for query in line["queries"].as_array().unwrap() {
            let expected = code_of(dtype, query["value"].as_f64().unwrap());
            let index = integers(&query["index"]);
            assert_eq!(tensor.bits(&index).unwrap(), expected, "{name}: {query}");
        }
        let one_by_one: Vec<u128> =
            indices(descriptor.shape()).iter().map(|index| tensor.bits(index).unwrap()).collect();
        let all = tensor.iter_bits().unwrap();
        assert_eq!(all.len(), one_by_one.len(), "{name}");
        assert!(all.eq(one_by_one.iter().copied()), "{name}");

        let mut entries = tensor.entries().unwrap();
        let mut stored = 0;
        while let Some((index, bits)) = entries.next_entry().unwrap() {
            assert_eq!(tensor.bits(index).unwrap(), bits, "{name}: {index:?}");
            stored += 1;
        }
        assert_eq!(Some(stored), descriptor.layout().nnz(), "{name}");

        // Spread out only where there is room for it.
        let size = dtype.bytes_for(one_by_one.len() as u128).unwrap() as u64;
        refused(tensor.to_row_major_within(size - 1), Rule::ViewExpands);
        let dense = tensor.to_row_major_within(size).unwrap();
        assert_eq!(dense.buffers().len(), 1);
        assert!(dense.iter_bits().unwrap().eq(one_by_one.iter().copied()), "{name}");
    }
}

/// The entries of an unsorted COO tensor come as they lie; its elements in index order.
#[test]
fn entries_out_of_order_are_elements_in_order() {
    let layout = Layout::Coo(Coo { nnz: 3, is_sorted: false });
    let descriptor = Descriptor::builder(Dtype::UInt8, &[2, 3]).layout(layout).build().unwrap();
    let tensor = alive(&descriptor, &[vec![7, 8, 9], words(&[1, 2, 0, 1, 1, 0])]);
    let mut entries = tensor.entries().unwrap();
    assert_eq!(entries.next_entry().unwrap(), Some((&[1, 2][..], 7)));
    assert_eq!(entries.next_entry().unwrap(), Some((&[0, 1][..], 8)));
    assert_eq!(entries.remaining(), 1);
    assert_eq!(tensor.iter_bits().unwrap().collect::<Vec<_>>(), [0, 8, 0, 9, 0, 7]);
    assert_eq!(tensor.to_vec_within::<u8>(6).unwrap(), [0, 8, 0, 9, 0, 7]);
    refused(tensor.to_vec::<u8>(), Rule::ViewExpands);
    refused(tensor.as_slice::<u8>(), Rule::ViewNotContiguous);
}

#[test]
fn tokens_are_found_where_their_number_is_known() {
    let line = lines("sparse.jsonl").into_iter().find(|line| line["id"] == "s24").unwrap();
    let (descriptor, buffers) = sparse(&line);
    let tensor = alive(&descriptor, &buffers);
    let lengths = integers(&line["token_counts"]);
    let tokens = tensor.pages().unwrap().with_lengths(&lengths).unwrap();
    assert_eq!(tokens.lengths(), lengths);
    for query in line["queries"].as_array().unwrap() {
        let part = |key: &str| integer(&query[key]);
        let at = (part("sequence") as u32, part("token"), part("head"), part("dim"));
        let expected = query["value"].as_u64().unwrap();
        assert_eq!(tokens.bits(at.0, at.1, at.2, at.3).unwrap(), u128::from(expected));
        let element = tokens.element::<u8>(at.0, at.1, at.2, at.3).unwrap();
        assert_eq!(u64::from(element), expected);
    }
    let mut one_by_one = Vec::new();
    for (sequence, length) in (0..).zip(&lengths) {
        for token in 0..*length {
            for (head, dim) in [(0, 0), (0, 1)] {
                one_by_one.push(tokens.bits(sequence, token, head, dim).unwrap());
            }
        }
    }
    let all = tokens.iter_bits().unwrap();
    assert_eq!(all.len(), one_by_one.len());
    assert!(all.eq(one_by_one));

    refused(tokens.bits(0, lengths[0], 0, 0), Rule::IndexOutOfBounds);
    refused(tokens.bits(2, 0, 0, 0), Rule::IndexOutOfBounds);
    refused(tokens.bits(0, 0, 1, 0), Rule::IndexOutOfBounds);
    refused(tokens.element::<i8>(0, 0, 0, 0), Rule::ViewType);
    let pages = tensor.pages().unwrap();
    refused(pages.clone().with_lengths(&[8]), Rule::SparseBlockPagedTokenCounts);
    refused(pages.with_lengths(&[8, 1 << 40]), Rule::SparseBlockPagedTokenCounts);
}

/// Without lengths there are whole pages, and they are where they lie.
#[test]
fn pages_are_slices_of_the_pool() {
    let line = lines("sparse.jsonl").into_iter().find(|line| line["id"] == "s24").unwrap();
    let (descriptor, buffers) = sparse(&line);
    let Layout::BlockPaged(paged) = *descriptor.layout() else { panic!() };
    let tensor = alive(&descriptor, &buffers);
    let pages = tensor.pages().unwrap();
    let first: Vec<u64> = pages.of(0).unwrap();
    assert_eq!(first[..], integers(&line["buffers"]["block_table"])[..first.len()]);
    let size = paged.page_size as usize * 2;
    for id in 0..paged.num_pages {
        let pool = tensor.buffers()[0].host_bytes().unwrap();
        let page = pages.page(id).unwrap();
        assert_eq!(page.as_ptr(), pool[id as usize * size..].as_ptr());
        assert_eq!(page.len(), size);
    }
    refused(pages.page(paged.num_pages), Rule::IndexOutOfBounds);
    refused(pages.of(2), Rule::IndexOutOfBounds);
    let dense = Tensor::from_vec(vec![1_u8], &[1]).unwrap();
    refused(dense.pages(), Rule::IndexNoAddress);
    refused(dense.entries(), Rule::IndexNoAddress);
}

#[test]
fn types_are_told_apart_and_read_at_any_address() {
    let bytes: Vec<u8> = (0..64).collect();
    // One byte in: no number of more bytes is aligned there.
    for (dtype, width) in [(Dtype::Float64, 8), (Dtype::Complex128, 16), (Dtype::UInt16, 2)] {
        let memory = BufferMut::copy_of(&bytes).unwrap().freeze();
        let tensor = Tensor::laid_out(dtype, &[3], Layout::RowMajor, 1, memory).unwrap();
        let expected = bits_one_by_one(&bytes, 8 + width * 8, width as u32 * 8);
        assert_eq!(tensor.bits(&[1]).unwrap(), expected);
        assert_eq!(tensor.as_bytes().unwrap(), &bytes[1..1 + 3 * width as usize]);
        match dtype {
            Dtype::Float64 => {
                refused(tensor.as_slice::<f64>(), Rule::ViewUnaligned);
                let element = tensor.element::<f64>(&[1]).unwrap();
                assert_eq!(u128::from(element.to_bits()), expected);
                assert_eq!(tensor.iter::<f64>().unwrap().nth(1), Some(element));
                assert_eq!(tensor.to_vec::<f64>().unwrap()[1], element);
                refused(tensor.element::<u64>(&[1]), Rule::ViewType);
            }
            Dtype::Complex128 => {
                let [real, imaginary] = tensor.element::<[f64; 2]>(&[1]).unwrap();
                assert_eq!(u128::from(real.to_bits()), expected & u128::from(u64::MAX));
                assert_eq!(u128::from(imaginary.to_bits()), expected >> 64);
            }
            _ => refused(tensor.as_slice::<u16>(), Rule::ViewUnaligned),
        }
    }
    let pairs = Tensor::from_vec(vec![[1.0_f32, 2.0], [3.0, 4.0]], &[2]).unwrap();
    assert_eq!(pairs.descriptor().dtype(), Dtype::Complex64);
    assert_eq!(pairs.as_slice::<[f32; 2]>().unwrap()[1], [3.0, 4.0]);
}

/// bool [1,0,1,1,0] is one byte; an 8-bit float is a byte.
#[test]
fn bits_and_bytes_that_rust_has_no_number_for() {
    let memory = BufferMut::copy_of(&[0x0D]).unwrap().freeze();
    let bools = Tensor::dense(Dtype::Bool, &[5], memory).unwrap();
    let all: Vec<bool> = (0..5).map(|n| bools.bit(&[n]).unwrap()).collect();
    assert_eq!(all, [true, false, true, true, false]);
    assert_eq!(bools.as_bytes().unwrap(), [0x0D]);
    refused(bools.bit(&[5]), Rule::IndexOutOfBounds);
    refused(bools.bits(&[0, 0]), Rule::IndexRank);

    let memory = BufferMut::copy_of(&[0x38, 0x7E, 0xFF]).unwrap().freeze();
    let floats = Tensor::dense(Dtype::Float8E4M3, &[3], memory).unwrap();
    assert_eq!(floats.as_bytes().unwrap(), [0x38, 0x7E, 0xFF]);
    assert_eq!(floats.bits(&[1]).unwrap(), 0x7E);
    refused(floats.as_slice::<u8>(), Rule::ViewType);
    refused(floats.bit(&[1]), Rule::ViewType);
}

/// A number of up to 128 bits; beyond, bytes.
#[test]
fn private_types_are_bits_up_to_128() {
    let tensor = |width: u32| {
        let record = ExtensionType::integer(width, false).unwrap();
        let dtype = Dtype::Private(PrivateDtype::new(0xF0, record).unwrap());
        let (tensor, bytes) = noisy(&Descriptor::dense(dtype, &[3]).unwrap());
        (tensor, bytes)
    };
    for width in [1, 2, 4, 8, 24, 104, 128] {
        let (tensor, bytes) = tensor(width);
        let expected = bits_one_by_one(&bytes, 2 * u64::from(width), width);
        assert_eq!(tensor.bits(&[2]).unwrap(), expected, "{width}");
    }
    let (wide, bytes) = tensor(136);
    refused(wide.bits(&[2]), Rule::ViewElementWidth);
    refused(wide.iter_bits().map(drop), Rule::ViewElementWidth);
    assert_eq!(wide.as_bytes().unwrap(), bytes);
    assert_eq!(wide.to_row_major().unwrap().as_bytes().unwrap(), bytes);
}

/// What is one run is a slice, whatever its layout is called.
#[test]
fn a_run_in_index_order_is_a_slice() {
    let memory = || BufferMut::copy_of(&(0..64).collect::<Vec<u8>>()).unwrap().freeze();
    let slice_of = |shape: &[u64], layout: Layout| {
        let tensor = Tensor::laid_out(Dtype::UInt8, shape, layout, 8, memory()).unwrap();
        let first = tensor.buffers()[0].host_bytes().unwrap()[8..].as_ptr();
        tensor.as_slice::<u8>().map(|slice| {
            assert!(slice.is_empty() || slice.as_ptr() == first);
            slice.len()
        })
    };
    assert_eq!(slice_of(&[2, 3], Layout::RowMajor).unwrap(), 6);
    assert_eq!(slice_of(&[2, 3], Layout::strided([3, 1])).unwrap(), 6);
    // Of one index the step is never taken.
    assert_eq!(slice_of(&[2, 1, 3], Layout::strided([3, -9, 1])).unwrap(), 6);
    assert_eq!(slice_of(&[1, 6, 1], Layout::ColumnMajor).unwrap(), 6);
    assert_eq!(slice_of(&[6], Layout::morton([3])).unwrap(), 6);
    assert_eq!(slice_of(&[1, 1], Layout::tiled(Tiled::blocks([2, 2]))).unwrap(), 1);
    assert_eq!(slice_of(&[0, 3], Layout::strided([1, 1])).unwrap(), 0);
    assert_eq!(slice_of(&[], Layout::RowMajor).unwrap(), 1);
    for layout in [
        Layout::ColumnMajor,
        Layout::strided([1, 2]),
        Layout::strided([3, 2]),
        Layout::strided([0, 1]),
        Layout::morton([2, 2]),
    ] {
        refused(slice_of(&[2, 3], layout), Rule::ViewNotContiguous);
    }
    let upside_down = Layout::strided([-1]);
    refused(slice_of(&[6], upside_down), Rule::ViewNotContiguous);
    let dynamic = Descriptor::builder(Dtype::UInt8, &[DYNAMIC]).buffers([BufferHandle::cpu(64)]);
    let dynamic = Tensor::new(dynamic.build().unwrap(), [memory()]).unwrap();
    refused(dynamic.as_slice::<u8>(), Rule::DescriptorUnresolved);
    refused(dynamic.bits(&[0]), Rule::DescriptorUnresolved);
    refused(dynamic.iter_bits().map(drop), Rule::DescriptorUnresolved);
}

#[test]
fn the_highest_rank_is_walked_through() {
    let mut shape = [1; 64];
    (shape[3], shape[31], shape[63]) = (2, 3, 2);
    let (tensor, bytes) = noisy(&Descriptor::dense(Dtype::UInt8, &shape).unwrap());
    let all: Vec<u8> = tensor.iter::<u8>().unwrap().collect();
    assert_eq!(all, bytes);
    let turned = tensor.transpose().unwrap();
    let all = turned.iter_bits().unwrap();
    assert_eq!(all.len(), 12);
    let one_by_one = indices(turned.descriptor().shape());
    assert!(all.eq(one_by_one.iter().map(|index| turned.bits(index).unwrap())));
}

/// A vector is given back as it was taken, or the tensor is.
#[test]
fn a_vector_comes_back_where_it_was() {
    let elements: Vec<u32> = (0..6).collect();
    let first = elements.as_ptr();
    let tensor = Tensor::from_vec(elements, &[2, 3]).unwrap();
    let other = tensor.clone();
    let error = tensor.try_into_vec::<u32>().unwrap_err();
    assert_eq!(error.error.rule(), Some(Rule::ViewNotVector));
    drop(other);
    let error = error.value.try_into_vec::<i32>().unwrap_err();
    assert_eq!(error.error.rule(), Some(Rule::ViewType));
    let part = error.value.slice_axis(0, 0..1).unwrap();
    let error = part.try_into_vec::<u32>().unwrap_err();
    assert_eq!(error.error.rule(), Some(Rule::ViewNotVector));
    drop(error.value);
    let back = Tensor::from_vec(vec![1_u8; 3], &[3]).unwrap().try_into_vec::<u8>().unwrap();
    assert_eq!(back, [1, 1, 1]);

    // Even with more room than elements, and with elements that the shape leaves over.
    let mut elements: Vec<u64> = Vec::with_capacity(100);
    elements.extend([1, 2, 3]);
    let tensor = Tensor::from_vec(elements, &[2]).unwrap();
    let error = tensor.try_into_vec::<u64>().unwrap_err();
    assert_eq!(error.error.rule(), Some(Rule::ViewNotVector));
    let buffer = error.value.into_parts().1.next().unwrap();
    let back = buffer.try_into_vec::<u64>().unwrap();
    assert_eq!((back.as_slice(), back.capacity()), (&[1, 2, 3][..], 100));
    let none = Tensor::from_vec(Vec::<u64>::new(), &[0]).unwrap();
    assert_eq!(none.try_into_vec::<u64>().unwrap(), Vec::<u64>::new());

    // Memory of another kind is no vector.
    let memory = BufferMut::zeroed(16).unwrap().freeze();
    let zeros = Tensor::dense(Dtype::UInt64, &[2], memory).unwrap();
    assert!(zeros.try_into_vec::<u64>().is_err());
    assert!(!first.is_null());
}

proptest! {
    /// Whatever index arrays say, there is an error or an element, and entries are checked
    /// before the first is given.
    #[test]
    fn index_arrays_that_lie_cause_nothing_but_errors(
        line in 0_usize..12,
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u64>()), 1..4),
    ) {
        let line = &lines("sparse.jsonl")[line];
        let (descriptor, mut buffers) = sparse(line);
        for (place, at, number) in flips {
            let place = place.index(buffers.len() - 1) + 1;
            if buffers[place].len() >= 8 {
                let at = at.index(buffers[place].len() / 8) * 8;
                // Mostly small numbers, which come closest to being right.
                let number = if number % 4 == 0 { number } else { number % 9 };
                buffers[place][at..at + 8].copy_from_slice(&number.to_le_bytes());
            }
        }
        let tensor = alive(&descriptor, &buffers);
        let checked = tensor.check_contents().is_ok();
        if line["layout"] == "block_paged" {
            let pages = tensor.pages();
            prop_assert_eq!(pages.is_ok(), checked);
            if let Ok(tokens) = pages.and_then(|pages| pages.with_lengths(&integers(&line["token_counts"]))) {
                let all = tokens.iter_bits().unwrap();
                let length = all.len();
                prop_assert_eq!(all.count(), length);
            }
            return Ok(());
        }
        for index in indices(descriptor.shape()) {
            let _ = tensor.bits(&index);
        }
        prop_assert_eq!(tensor.iter_bits().is_ok(), checked || descriptor.element_count() == Some(0));
        match tensor.entries() {
            Err(_) => prop_assert!(!checked),
            Ok(mut entries) => {
                prop_assert!(checked);
                while let Some((index, bits)) = entries.next_entry().unwrap() {
                    let index = index.to_vec();
                    prop_assert_eq!(tensor.bits(&index).unwrap(), bits);
                }
            }
        }
    }
}
