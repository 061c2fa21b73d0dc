//! Tensors of `vectors/address.jsonl` and `vectors/sparse.jsonl`, and bits read one by one.

#![allow(dead_code, reason = "not every test file needs all of it")]

#[path = "../../../hurray-format/tests/support/json.rs"]
mod json;
#[path = "../../../hurray-format/tests/support/layouts.rs"]
mod layouts;

use hurray_tensor::format::*;
use hurray_tensor::{Buffer, BufferMut, Tensor};
#[allow(unused_imports, reason = "as above")]
pub(crate) use json::*;
#[allow(unused_imports, reason = "as above")]
pub(crate) use layouts::*;

/// Bytes as they come from a fixed generator: every bit of them looks random.
pub(crate) fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..length).map(|_| next()).collect()
}

/// A tensor with these bytes in its buffers.
pub(crate) fn alive(descriptor: &Descriptor, buffers: &[Vec<u8>]) -> Tensor {
    let held = |bytes: &Vec<u8>| -> Buffer { BufferMut::copy_of(bytes).unwrap().freeze() };
    Tensor::new(descriptor.clone(), buffers.iter().map(held)).unwrap()
}

/// A tensor of one buffer full of noise, and that noise.
pub(crate) fn noisy(descriptor: &Descriptor) -> (Tensor, Vec<u8>) {
    let bytes = noise(usize::try_from(descriptor.buffers()[0].byte_size()).unwrap());
    (alive(descriptor, std::slice::from_ref(&bytes)), bytes)
}

/// `width` bits from bit `bit` on, one by one.
pub(crate) fn bits_one_by_one(bytes: &[u8], bit: u64, width: u32) -> u128 {
    (0..u64::from(width)).fold(0, |bits, n| {
        let at = bit + n;
        bits | u128::from(bytes[(at / 8) as usize] >> (at % 8) & 1) << n
    })
}

/// Every index of a shape, the last dimension fastest, made by counting.
pub(crate) fn indices(shape: &[u64]) -> Vec<Vec<u64>> {
    let count: u64 = shape.iter().product();
    let index = |mut linear: u64| {
        let mut index = vec![0; shape.len()];
        for (at, size) in index.iter_mut().zip(shape).rev() {
            (*at, linear) = (linear % size, linear / size);
        }
        index
    };
    (0..count).map(index).collect()
}
