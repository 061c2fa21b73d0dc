//! What scales and zero points may be, as `check_contents` tells once the data is there.

#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

mod support;

use hurray_format::*;
use support::refused_at;

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn halves(bits: &[u16]) -> Vec<u8> {
    bits.iter().flat_map(|bits| bits.to_le_bytes()).collect()
}

fn integers(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn tensor(dtype: Dtype, shape: &[u64], scheme: Quantization) -> Descriptor {
    Descriptor::builder(dtype, shape).quantization(scheme).build().unwrap()
}

fn per_channel(dtype: Dtype, zero_points: Option<u32>) -> Descriptor {
    let scheme = PerChannel { axis: 0, scales: 1, zero_points };
    tensor(dtype, &[3, 2], Quantization::PerChannel(scheme))
}

/// One scale for each of three blocks, the last of them short.
fn per_block(scale_type: Dtype, zero_points: Option<u32>) -> Descriptor {
    let scheme = PerBlock { axis: 0, block_size: 2, scales: 1, zero_points, scale_type };
    tensor(Dtype::UInt8, &[5], Quantization::PerBlock(scheme))
}

#[test]
fn a_scale_of_a_channel_is_finite_and_not_0() {
    let check =
        |scales: &[f32]| per_channel(Dtype::Int8, None).check_contents(&[&[0; 6], &floats(scales)]);
    let least = f32::from_bits(1);
    for scales in [[1.0, -1.0, 0.5], [f32::MAX, f32::MIN, least], [-least, 1e-38, 3.0]] {
        assert_eq!(check(&scales), Ok(()));
    }
    for bad in [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
        refused_at(check(&[1.0, bad, bad]), Rule::QuantPerChannelScaleValue, 4);
        refused_at(check(&[1.0, 1.0, bad]), Rule::QuantPerChannelScaleValue, 8);
    }
}

#[test]
fn a_zero_point_of_a_channel_is_a_value_of_the_storage_type() {
    let check = |dtype, zeros: &[i32]| {
        let data = [0; 24];
        per_channel(dtype, Some(2)).check_contents(&[&data, &floats(&[1.0; 3]), &integers(zeros)])
    };
    for (dtype, low, high) in [
        (Dtype::Int2, -2, 1),
        (Dtype::UInt2, 0, 3),
        (Dtype::Int4, -8, 7),
        (Dtype::UInt4, 0, 15),
        (Dtype::Int8, -128, 127),
        (Dtype::UInt8, 0, 255),
        (Dtype::Int16, -32_768, 32_767),
        (Dtype::UInt16, 0, 65_535),
    ] {
        assert_eq!(check(dtype, &[low, 0, high]), Ok(()), "{dtype}");
        refused_at(check(dtype, &[low - 1, 0, 0]), Rule::QuantPerChannelZeroPointValue, 0);
        refused_at(check(dtype, &[0, 0, high + 1]), Rule::QuantPerChannelZeroPointValue, 8);
    }
    assert_eq!(check(Dtype::Int32, &[i32::MIN, 0, i32::MAX]), Ok(()));
    assert_eq!(check(Dtype::UInt32, &[0, 1, i32::MAX]), Ok(()));
    refused_at(check(Dtype::UInt32, &[0, -1, 0]), Rule::QuantPerChannelZeroPointValue, 4);
}

/// `[scales | zero points]` in one buffer: each part by its own rule, offsets from the
/// start of the buffer.
#[test]
fn scales_and_zero_points_may_share_a_buffer() {
    let check = |scales: &[f32], zeros: &[i32]| {
        let mut shared = floats(scales);
        shared.extend(integers(zeros));
        let tensor = per_channel(Dtype::UInt4, Some(1));
        assert_eq!(tensor.buffers()[1].byte_size(), 24);
        tensor.check_contents(&[&[0; 3], &shared])
    };
    // Zero points are no scales: 0 is fine there.
    assert_eq!(check(&[1.0, 2.0, 3.0], &[0, 15, 0]), Ok(()));
    refused_at(check(&[1.0, 2.0, 0.0], &[0, 0, 0]), Rule::QuantPerChannelScaleValue, 8);
    refused_at(check(&[1.0; 3], &[0, 16, 0]), Rule::QuantPerChannelZeroPointValue, 16);

    let check = |scales: &[u16], zeros: &[i32]| {
        let mut shared = halves(scales);
        shared.extend(integers(zeros));
        let tensor = per_block(Dtype::Float16, Some(1));
        assert_eq!(tensor.buffers()[1].byte_size(), 18);
        tensor.check_contents(&[&[0; 5], &shared])
    };
    // A zero point of a block is any number, and infinity's bits are one.
    assert_eq!(check(&[0x3C00; 3], &[0, i32::MIN, 0x7C00]), Ok(()));
    refused_at(check(&[0x3C00, 0x3C00, 0], &[1, 1, 1]), Rule::QuantPerBlockScaleValue, 4);
}

#[test]
fn a_scale_of_a_block_is_finite_and_not_0_in_its_own_type() {
    let check =
        |scale_type, scales: &[u8]| per_block(scale_type, None).check_contents(&[&[0; 5], scales]);
    let one = |scale_type, bits: u16| check(scale_type, &halves(&[0x3C00, bits, 0x3C00]));
    // Subnormal halves are numbers; 0x7C00 is infinite, what is above it NaN.
    for bits in [0x0001, 0x8001, 0x03FF, 0x0400, 0x7BFF, 0xFBFF] {
        assert_eq!(one(Dtype::Float16, bits), Ok(()), "{bits:04X}");
    }
    for bits in [0x0000, 0x8000, 0x7C00, 0xFC00, 0x7C01, 0x7E00, 0xFFFF] {
        refused_at(one(Dtype::Float16, bits), Rule::QuantPerBlockScaleValue, 2);
    }
    // The same bits are other numbers in bfloat16.
    for bits in [0x0001, 0x7C00, 0x7F7F, 0xFF7F] {
        assert_eq!(one(Dtype::BFloat16, bits), Ok(()), "{bits:04X}");
    }
    for bits in [0x0000, 0x8000, 0x7F80, 0xFF80, 0x7FC0] {
        refused_at(one(Dtype::BFloat16, bits), Rule::QuantPerBlockScaleValue, 2);
    }
    assert_eq!(check(Dtype::Float32, &floats(&[1.0, -2.0, 1e-45])), Ok(()));
    let bad = check(Dtype::Float32, &floats(&[1.0, 1.0, f32::NAN]));
    refused_at(bad, Rule::QuantPerBlockScaleValue, 8);
}

/// The message shows the scale, not its bits.
#[test]
fn a_bad_scale_is_shown_by_its_value() {
    let scales = halves(&[0x3C00, 0xFC00, 0x3C00]);
    let error = per_block(Dtype::Float16, None).check_contents(&[&[0; 5], &scales]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a scale is zero or not finite: scale at byte 2 (found -inf, expected a finite scale that \
         is not 0) [quant.per-block.scale-value]",
    );
}

#[test]
fn an_absmax_scale_is_finite_and_not_negative() {
    let scheme = Quantization::Nf4(Nf4 { axis: 0, block_size: 8, scales: 1 });
    let check = |scales: &[f32]| {
        tensor(Dtype::UInt4, &[20], scheme.clone()).check_contents(&[&[0; 10], &floats(scales)])
    };
    assert_eq!(check(&[0.0, 1.5, f32::MAX]), Ok(()));
    assert_eq!(check(&[-0.0, 1.5, 0.0]), Ok(()));
    for bad in [-1.0, -f32::from_bits(1), f32::INFINITY, f32::NAN] {
        refused_at(check(&[0.0, 1.5, bad]), Rule::QuantNf4ScaleValue, 8);
    }
}

/// Decision 22: code 0 is a scale to a reader, and told by whoever verifies; 0xFF is none.
#[test]
fn a_microscaling_code_is_not_0_and_not_255() {
    let scheme = Quantization::Mxfp(Mxfp { axis: 1, block_size: 16, scales: 1 });
    let check = |scales: &[u8]| {
        tensor(Dtype::Float4E2M1, &[2, 32], scheme.clone()).check_contents(&[&[0; 32], scales])
    };
    assert_eq!(check(&[1, 127, 134, 254]), Ok(()));
    refused_at(check(&[1, 127, 255, 254]), Rule::QuantMxfpScaleNan, 2);
    refused_at(check(&[1, 0, 127, 254]), Rule::QuantMxfpScaleCodeZero, 1);
    // The first of several is told.
    refused_at(check(&[1, 0, 255, 254]), Rule::QuantMxfpScaleCodeZero, 1);
}

/// Memory behind the scales is not looked at, in a shared buffer neither.
#[test]
fn only_what_the_handle_says_is_scales() {
    let longer = floats(&[1.0, 2.0, 3.0, f32::NAN, 0.0]);
    let tensor = per_channel(Dtype::Int8, None);
    assert_eq!(tensor.check_contents(&[&[0; 64], &longer]), Ok(()));
    let mut shared = floats(&[1.0, 2.0, 3.0]);
    shared.extend(integers(&[0, 0, 0, 99_999]));
    let tensor = per_channel(Dtype::Int8, Some(1));
    assert_eq!(tensor.check_contents(&[&[0; 64], &shared]), Ok(()));
}

/// What has no rule has nothing to be checked: plain tensors, schemes without buffers, and
/// private ones.
#[test]
fn values_without_a_rule_pass() {
    let data = [0xFF; 8];
    let plain = Descriptor::dense(Dtype::Float32, &[2]).unwrap();
    assert_eq!(plain.check_contents(&[&data]), Ok(()));
    let scheme = PerTensor { scale: -0.5, zero_point: 3 };
    let inline = tensor(Dtype::Int8, &[8], Quantization::PerTensor(scheme));
    assert_eq!(inline.check_contents(&[&data]), Ok(()));
    let scheme = Quantization::Private { tag: 0xF0, version: 0, flags: 0, payload: [].into() };
    let private = tensor(Dtype::Int8, &[8], scheme);
    assert_eq!(private.check_contents(&[&data]), Ok(()));
}
