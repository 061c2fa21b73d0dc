//! Only values are written to by who takes them: what says where they are, or what they mean, is
//! read-only there, although its producer did not say so. What it means is not looked at here.

#![allow(unsafe_code, reason = "flags of structs are cleared by hand")]

use hurray_tensor::device::Devices;
use hurray_tensor::exchange::raw::{BUFFER_READ_ONLY, HurrayTensor};
use hurray_tensor::exchange::{Exported, Foreign};
use hurray_tensor::format::{
    Accept, CompositeHead, Composition, Compressed, Descriptor, DescriptorBuilder, Dtype, Layout,
    Mxfp, Nf4, PerBlock, PerChannel, Quantization, Rule,
};
use hurray_tensor::{BufferMut, Composite, Tensor};

fn tensor(parts: DescriptorBuilder, sizes: &[usize]) -> Tensor {
    let zeros = |size: &usize| BufferMut::zeroed(*size).unwrap().freeze();
    Tensor::build(parts, sizes.iter().map(zeros)).unwrap()
}

/// Has its struct say of no buffer that it is read-only.
fn saying_nothing(raw: &HurrayTensor) {
    for place in 0..usize::try_from(raw.buffer_count).unwrap() {
        // SAFETY: a tensor of ours has as many pointers.
        let buffer = unsafe { *raw.buffers.wrapping_add(place) };
        // SAFETY: each to a struct of ours, which nobody else uses.
        unsafe { (*buffer).flags = 0 };
    }
}

fn take(mut raw: HurrayTensor) -> Foreign {
    // SAFETY: a tensor of ours, and not released.
    unsafe { Foreign::take(&raw mut raw) }.unwrap()
}

fn quantized() -> Vec<Tensor> {
    let of = |dtype, scheme, sizes: &[usize]| {
        tensor(Descriptor::builder(dtype, &[4, 32]).quantization(scheme), sizes)
    };
    let channels = |zero_points| {
        Quantization::PerChannel(PerChannel { axis: 0, scales: 1, zero_points: Some(zero_points) })
    };
    let blocks = Quantization::PerBlock(PerBlock {
        axis: 1,
        block_size: 16,
        scales: 1,
        zero_points: Some(2),
        scale_type: Dtype::Float32,
    });
    let nf4 = Quantization::Nf4(Nf4 { axis: 1, block_size: 32, scales: 1 });
    let mxfp = Quantization::Mxfp(Mxfp { axis: 1, block_size: 32, scales: 1 });
    vec![
        of(Dtype::Int8, channels(2), &[128, 16, 16]),
        // Scales and zero points in one buffer.
        of(Dtype::Int8, channels(1), &[128, 32]),
        of(Dtype::Int8, blocks, &[128, 32, 32]),
        of(Dtype::UInt4, nf4, &[64, 16]),
        of(Dtype::Float8E4M3, mxfp, &[128, 4]),
    ]
}

/// The first buffer may be written to, the others not, also by who is given the taken tensor.
fn check(tensor: Tensor) {
    let exported = Exported::new(tensor.clone()).unwrap();
    assert!(exported.buffers().skip(1).all(|buffer| buffer.flags & BUFFER_READ_ONLY != 0));
    drop(exported);
    let (_, buffers) = tensor.into_parts();
    for (place, buffer) in buffers.enumerate() {
        assert_eq!(buffer.is_writable(), place == 0, "{place}");
        let refused = buffer.try_into_mut().err().and_then(|returned| returned.error.rule());
        assert_eq!(refused, (place > 0).then_some(Rule::MemoryReadOnly), "{place}");
    }
}

#[test]
fn scales_and_zero_points_are_read_only_although_their_producer_did_not_say_so() {
    for tensor in quantized() {
        let raw = Exported::new(tensor).unwrap().into_raw();
        saying_nothing(&raw);
        let offered = take(raw).into_offered(&Accept::default(), &Devices::default()).unwrap();
        check(offered.trusted().acquire_host().unwrap());
    }
}

#[test]
fn so_are_those_of_members() {
    for member in quantized() {
        let head = CompositeHead { composition: Composition::Group, member_count: 1 };
        let head = Descriptor::builder(Dtype::Int8, &[1]).layout(Layout::Composite(head));
        let head = Tensor::new(head.build().unwrap(), []).unwrap();
        let composite = Composite::new([head, member]).unwrap();
        let raw = Exported::composite(&composite).unwrap().into_raw();
        drop(composite);
        // SAFETY: a head of ours with one pointer.
        let member = unsafe { *raw.members };
        // SAFETY: to a struct of ours, which nobody else uses.
        saying_nothing(unsafe { &*member });
        let offered = take(raw).into_composite(&Accept::default(), &Devices::default()).unwrap();
        let composite = offered.trusted().acquire_host().unwrap();
        let member = composite.members()[0].item.clone();
        drop(composite);
        check(member);
    }
}

#[test]
fn so_are_indices_of_what_is_sparse() {
    let parts = Descriptor::builder(Dtype::Float32, &[3, 5]);
    let parts = parts.layout(Layout::Csr(Compressed { nnz: 4 }));
    let raw = Exported::new(tensor(parts, &[16, 32, 32])).unwrap().into_raw();
    saying_nothing(&raw);
    let offered = take(raw).into_offered(&Accept::default(), &Devices::default()).unwrap();
    check(offered.trusted().acquire_host().unwrap());
}
