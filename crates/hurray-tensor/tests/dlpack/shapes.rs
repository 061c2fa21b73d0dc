//! Any shape and strides, element by element against a reader that knows nothing but the struct.

use hurray_tensor::Copying;
use hurray_tensor::dlpack::raw::*;
use hurray_tensor::dlpack::*;
use hurray_tensor::format::{Dtype, Layout};
use hurray_tensor::{BufferMut, Tensor};
use proptest::prelude::*;

use crate::producer::*;

/// Sizes, and a step for each.
fn sizes_and_steps() -> impl Strategy<Value = Vec<(i64, i64)>> {
    prop::collection::vec((0_i64..4, -6_i64..7), 0..5)
}

/// The elements of two bytes that a struct means, in row-major order.
fn naive(tensor: &DLTensor) -> Vec<[u8; 2]> {
    let rank = usize::try_from(tensor.ndim).unwrap();
    // SAFETY: the tests' own structs have so many numbers there.
    let at = |first: *const i64, k: usize| unsafe { *first.wrapping_add(k) };
    let mut places = vec![0_i64];
    for k in 0..rank {
        let (size, step) = (at(tensor.shape, k), at(tensor.strides, k));
        places = places.iter().flat_map(|p| (0..size).map(move |i| p + i * step)).collect();
    }
    let first = tensor.data.cast::<u8>().wrapping_add(tensor.byte_offset as usize);
    let read = |place: &i64| {
        let here = first.wrapping_offset(isize::try_from(place * 2).unwrap()).cast::<[u8; 2]>();
        // SAFETY: the tests' structs stay inside their memory.
        unsafe { *here }
    };
    places.iter().map(read).collect()
}

proptest! {
    #[test]
    fn what_comes_in_has_its_producer_s_values(dimensions in sizes_and_steps(), start in 0..3_u64) {
        let (shape, strides): (Vec<i64>, Vec<i64>) = dimensions.into_iter().unzip();
        let bytes: Vec<u8> = (0..400_u16).map(|at| (at * 7 + at / 256) as u8).collect();
        let producer = Producer::new(I16, &shape, &bytes)
            .strides(&strides)
            // The farthest down is 4 * 3 * 6 elements of two bytes.
            .set(|p| p.byte_offset = 160 + start * 2);
        let foreign = producer.foreign().unwrap();
        let expected = naive(foreign.tensor());
        let tensor = Tensor::try_from(foreign).unwrap();
        prop_assert_eq!(elements(&tensor), expected.clone());
        for buffer in tensor.host_buffers().unwrap().iter().filter(|buffer| !buffer.is_empty()) {
            let memory = producer.data().addr()..producer.data().addr() + 448;
            prop_assert!(memory.contains(&buffer.as_ptr().addr()));
        }
        // Out again: the same struct.
        let out: Exported = (&tensor).try_into().unwrap();
        prop_assert_eq!(out.shape(), &shape[..]);
        if !shape.is_empty() {
            prop_assert_eq!(out.strides(), &strides[..]);
        }
        prop_assert_eq!(naive(out.tensor()), expected.clone());
        // And as copies, both ways.
        let always = Export { copying: Copying::Always, ..Export::default() };
        let copy: Exported = always.share(&tensor).unwrap();
        prop_assert_eq!(naive(copy.tensor()), expected.clone());
        let always = Import { copying: Copying::Always, ..Import::default() };
        let copy = producer.import(&always).unwrap().tensor.acquire_host().unwrap();
        prop_assert_eq!(elements(&copy), expected);
        drop((tensor, out));
        prop_assert_eq!(producer.deleted.times(), 2);
    }

    #[test]
    fn what_goes_out_has_our_values(
        shape in prop::collection::vec(0_u64..4, 1..5), column_major: bool, start in 0..40_u64
    ) {
        let layout = if column_major { Layout::ColumnMajor } else { Layout::RowMajor };
        let memory = BufferMut::from_vec((0..600_u16).collect::<Vec<u16>>()).unwrap().freeze();
        let tensor = Tensor::laid_out(Dtype::UInt16, &shape, layout, start * 2, memory).unwrap();
        let out: Exported = (&tensor).try_into().unwrap();
        prop_assert_eq!(elements(&tensor), naive(out.tensor()));
        let back = Tensor::try_from(Foreign::from(out)).unwrap();
        prop_assert_eq!(back.descriptor().layout().kind(), tensor.descriptor().layout().kind());
        prop_assert_eq!(elements(&back), elements(&tensor));
    }

    #[test]
    fn packed_elements_keep_their_values(
        dimensions in prop::collection::vec((0_i64..4, -6_i64..7), 0..4),
        bits in prop::sample::select(vec![2_u8, 4, 6]),
    ) {
        let (shape, strides): (Vec<i64>, Vec<i64>) = dimensions.into_iter().unzip();
        let bytes: Vec<u8> = (0..200_u16).map(|at| (at * 37 + 11) as u8).collect();
        let dtype = DLDataType { code: if bits == 6 { 15 } else { 0 }, bits, lanes: 1 };
        let start = 96_i64;
        let producer = Producer::new(dtype, &shape, &bytes)
            .strides(&strides)
            .set(|p| p.byte_offset = 96);
        let how = Import { copying: Copying::WhenNeeded, ..Import::default() };
        let tensor = producer.import(&how).unwrap().tensor.acquire_host().unwrap();
        let always = Import { copying: Copying::Always, ..how };
        let copy = producer.import(&always).unwrap().tensor.acquire_host().unwrap();
        let bits = i64::from(bits);
        for index in indexes(tensor.descriptor().shape()) {
            let place: i64 = index.iter().zip(&strides).map(|(i, s)| *i as i64 * s).sum();
            let expected: u8 = (0..bits).fold(0, |value, bit| {
                let at = start * 8 + place * bits + bit;
                value | ((bytes[(at / 8) as usize] >> (at % 8)) & 1) << bit
            });
            for tensor in [&tensor, &copy] {
                let found = tensor.descriptor().locate(&index).unwrap();
                let buffer = &tensor.buffers()[0];
                let memory = buffer.host_bytes().unwrap();
                let value: u8 = (0..bits as u64).fold(0, |value, bit| {
                    let at = (found.byte - buffer.lead()) * 8 + u64::from(found.bit) + bit;
                    value | ((memory[(at / 8) as usize] >> (at % 8)) & 1) << bit
                });
                prop_assert_eq!(value, expected);
            }
        }
    }
}
