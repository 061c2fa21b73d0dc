//! The tensors that `producer.h` lists.

use std::sync::atomic::Ordering;

use hurray_tensor::device::EventKind;
use hurray_tensor::exchange::Exported;
use hurray_tensor::format::{
    CompositeHead, Composition, Descriptor, DeviceTag, Dtype, Layout, MemoryClass, PerBlock,
    Quantization, Shard,
};
use hurray_tensor::{Buffer, BufferMut, Composite, DeclaredStream, Fence, Offered, Result, Tensor};

use crate::device::new_event;
use crate::{BUFFERS, MADE};

pub(crate) fn tensor(which: u32) -> Result<Exported> {
    let event = |kind| dense(true).and_then(|it| offer(it, Fence::Event(new_event(kind))));
    match which {
        0 => Exported::new(dense(false)?),
        1 => event(EventKind::MultiWait),
        2 => event(EventKind::Timeline),
        3 => event(EventKind::Binary),
        4 => offer(
            dense(true)?,
            // SAFETY: nobody here waits for it.
            Fence::Stream(unsafe { DeclaredStream::adopt(DeviceTag::CUDA, None, 0x5EED) }),
        ),
        5 => Exported::composite(&partition()?),
        6 => Exported::new(quantized()?),
        7 => made(Tensor::dense(Dtype::Float32, &[0, 4], memory(&[], false)?))
            .and_then(Exported::new),
        _ => Exported::composite(&nested()?),
    }
}

fn offer(tensor: Tensor, fence: Fence) -> Result<Exported> {
    Exported::offer(Offered::new(tensor, vec![fence])?)
}

/// Memory that counts its release; of a device and the host, or of the host alone.
fn memory(bytes: &[u8], of_device: bool) -> Result<Buffer> {
    let owner = BufferMut::copy_of(bytes)?;
    let mut region = owner.region();
    if of_device {
        (region.device, region.class) = (DeviceTag::CUDA, MemoryClass::UNIFIED);
    }
    let release = move || {
        drop(owner);
        BUFFERS.fetch_add(1, Ordering::Relaxed);
    };
    // SAFETY: memory that is kept until it is released.
    unsafe { Buffer::adopt(region, release) }
}

fn made(tensor: Result<Tensor>) -> Result<Tensor> {
    MADE.fetch_add(1, Ordering::Relaxed);
    tensor
}

fn floats(from: u8, count: u8) -> Vec<u8> {
    (from..from + count).flat_map(|number| f32::from(number).to_le_bytes()).collect()
}

pub(crate) fn dense(of_device: bool) -> Result<Tensor> {
    made(Tensor::dense(Dtype::Float32, &[3, 4], memory(&floats(0, 12), of_device)?))
}

fn head(composition: Composition, shape: &[u64]) -> Result<Tensor> {
    let head = CompositeHead { composition, member_count: 2 };
    let head =
        Descriptor::builder(Dtype::Float32, shape).layout(Layout::Composite(head)).build()?;
    made(Tensor::new(head, []))
}

fn half(row: u8) -> Result<Tensor> {
    let shard = Shard::new(&[2, 4], &[u64::from(row), 0]);
    let half = Descriptor::builder(Dtype::Float32, &[1, 4]).shard(shard).build()?;
    made(Tensor::new(half, [memory(&floats(4 * row, 4), false)?]))
}

fn partition() -> Result<Composite> {
    Composite::new([head(Composition::Partition, &[2, 4])?, half(0)?, half(1)?])
}

fn nested() -> Result<Composite> {
    let group = head(Composition::Group, &[1])?;
    let inner = [head(Composition::Partition, &[2, 4])?, half(0)?, half(1)?];
    Composite::new([group].into_iter().chain(inner).chain([quantized()?]))
}

fn quantized() -> Result<Tensor> {
    let scheme = PerBlock {
        axis: 1,
        block_size: 32,
        scales: 1,
        zero_points: None,
        scale_type: Dtype::Float32,
    };
    let descriptor = Descriptor::builder(Dtype::Int4, &[3, 40])
        .quantization(Quantization::PerBlock(scheme))
        .build()?;
    made(Tensor::new(descriptor, [memory(&[0x21; 60], false)?, memory(&floats(1, 6), false)?]))
}
