//! `candle` tensors, on the CPU.
//!
//! A candle tensor owns its elements as a vector behind a lock, and whoever has the tensor may
//! write to them in place (`slice_set`, `zero_set`, `Var::set`, ...). So there are four ways and
//! not two: a vector moves in without a copy; elements are lent out while the lock is held;
//! memory is shared by a promise; and everything else is a copy.

#![allow(unsafe_code, reason = "sharing what another crate may write to rests on a promise")]

use candle_core as candle;
use candle_core::{CpuStorage, Storage, op::BackpropOp};
use hurray_format::{BufferHandle, Descriptor, Dtype, Error as FormatError, Expected, Rule, Value};

use super::layout_of;
use crate::buffer::{Buffer, Returned};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::memory::{Region, as_u64, refuse};
use crate::tensor::{Tensor, TensorRef};

/// # `candle`
///
/// With the feature `candle`, for tensors on the CPU; for others see
/// [`candle_core::Tensor::to_device`].
impl Tensor {
    /// The vector that the tensor was made of as a candle tensor, with its elements where they
    /// are. Nothing is copied: what is not all of a vector comes back as it was.
    ///
    /// ```
    /// use hurray_tensor::Tensor;
    ///
    /// let tensor = Tensor::from_vec(vec![1.0_f32, 2.0, 3.0, 4.0], &[2, 2])?;
    /// let theirs = tensor.try_into_candle().unwrap();
    /// assert_eq!(theirs.dims(), [2, 2]);
    /// # Ok::<(), hurray_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The tensor, with `view.type` where candle has no such type, and as
    /// [`try_into_vec`](Self::try_into_vec).
    #[expect(clippy::result_large_err, reason = "what is refused comes back as it was")]
    pub fn try_into_candle(self) -> Result<candle::Tensor, Returned<Self>> {
        let shape = match dims(self.descriptor().shape()) {
            Ok(shape) => shape,
            Err(error) => return Err(Returned { value: self, error }),
        };
        let storage = match self.descriptor().dtype() {
            Dtype::UInt8 => CpuStorage::U8(self.try_into_vec()?),
            Dtype::UInt32 => CpuStorage::U32(self.try_into_vec()?),
            Dtype::Int16 => CpuStorage::I16(self.try_into_vec()?),
            Dtype::Int32 => CpuStorage::I32(self.try_into_vec()?),
            Dtype::Int64 => CpuStorage::I64(self.try_into_vec()?),
            Dtype::BFloat16 => CpuStorage::BF16(self.try_into_vec()?),
            Dtype::Float16 => CpuStorage::F16(self.try_into_vec()?),
            Dtype::Float32 => CpuStorage::F32(self.try_into_vec()?),
            Dtype::Float64 => CpuStorage::F64(self.try_into_vec()?),
            other => return Err(Returned { value: self, error: no_type(other) }),
        };
        Ok(theirs(storage, shape))
    }

    /// A copy of the elements of a tensor of any dense layout as a candle tensor.
    ///
    /// # Errors
    ///
    /// `view.type` where candle has no such type; as [`to_vec`](Self::to_vec).
    pub fn copy_to_candle(&self) -> Result<candle::Tensor> {
        let shape = dims(self.descriptor().shape())?;
        let storage = match self.descriptor().dtype() {
            Dtype::UInt8 => CpuStorage::U8(self.to_vec()?),
            Dtype::UInt32 => CpuStorage::U32(self.to_vec()?),
            Dtype::Int16 => CpuStorage::I16(self.to_vec()?),
            Dtype::Int32 => CpuStorage::I32(self.to_vec()?),
            Dtype::Int64 => CpuStorage::I64(self.to_vec()?),
            Dtype::BFloat16 => CpuStorage::BF16(self.to_vec()?),
            Dtype::Float16 => CpuStorage::F16(self.to_vec()?),
            Dtype::Float32 => CpuStorage::F32(self.to_vec()?),
            Dtype::Float64 => CpuStorage::F64(self.to_vec()?),
            other => return Err(no_type(other)),
        };
        Ok(theirs(storage, shape))
    }

    /// A copy of the elements of a candle tensor, row-major at a multiple of 64.
    ///
    /// # Errors
    ///
    /// `view.expands` for one that is repeated (`contiguous` makes it whole); as
    /// [`TensorRef::with_candle`]; out of memory, as an error and not as an abort.
    pub fn copy_from_candle(tensor: &candle::Tensor) -> Result<Self> {
        TensorRef::with_candle(tensor, |lent| {
            // SAFETY: it is dropped before the lock is given back, under which nobody writes.
            unsafe { shared(lent, ()) }?.to_row_major()
        })?
    }

    /// The memory of a candle tensor, where it is, with its strides. It is kept for as long as
    /// the tensor or a part of it lives, and is read-only.
    ///
    /// ```
    /// use candle_core::Device;
    /// use hurray_tensor::Tensor;
    ///
    /// let theirs = candle_core::Tensor::new(&[[1.0_f32, 2.0], [3.0, 4.0]], &Device::Cpu).unwrap();
    /// // SAFETY: nobody writes to `theirs` in place.
    /// let ours = unsafe { Tensor::share_candle(&theirs.t().unwrap()) }?;
    /// assert_eq!(ours.to_vec::<f32>()?, [1.0, 3.0, 2.0, 4.0]);
    /// # Ok::<(), hurray_tensor::Error>(())
    /// ```
    ///
    /// # Safety
    ///
    /// For as long as any of its memory is held, nobody may write to this candle tensor in
    /// place, nor to any other that shares its storage: candle lets anybody who has one.
    ///
    /// # Errors
    ///
    /// As [`TensorRef::with_candle`].
    pub unsafe fn share_candle(tensor: &candle::Tensor) -> Result<Self> {
        // SAFETY: the clone has a share in the vector that the elements are, which candle moves
        // only by writing in place; the caller promises that nobody does.
        TensorRef::with_candle(tensor, |lent| unsafe { shared(lent, tensor.clone()) })?
    }
}

/// A tensor in the memory of one that is lent, which `keep` keeps.
///
/// # Safety
///
/// Until the tensor and all its parts are dropped the memory must stay where it is, and nobody
/// may write to it.
unsafe fn shared(lent: &TensorRef<'_>, keep: impl Send + 'static) -> Result<Tensor> {
    let (descriptor, bytes) = (lent.descriptor(), lent.buffer(0).unwrap_or_default());
    let region = Region::host(bytes.as_ptr().cast_mut(), bytes.len()).read_only();
    // SAFETY: the region is initialised memory of this process that may be read by any thread;
    // that it stays so is passed on to the caller.
    let buffer = unsafe { Buffer::adopt(region, move || drop(keep)) }?;
    let (dtype, layout) = (descriptor.dtype(), descriptor.layout().clone());
    Tensor::laid_out(dtype, descriptor.shape(), layout, descriptor.byte_offset(), buffer)
}

impl TensorRef<'_> {
    /// Lends a candle tensor to `work`, in its own memory and with its strides, such as to write
    /// it to a file. Nobody can write to it meanwhile; `work` must not try to.
    ///
    /// ```
    /// use candle_core::{Device, Tensor};
    /// use hurray_tensor::{FileWriter, TensorRef, WriteOptions};
    ///
    /// let theirs = Tensor::new(&[1_u32, 2, 3], &Device::Cpu).unwrap();
    /// let mut file = FileWriter::new(Vec::new(), WriteOptions::default())?;
    /// TensorRef::with_candle(&theirs, |tensor| file.write("w", tensor))??;
    /// # file.finish()?;
    /// # Ok::<(), hurray_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `memory.not-host` for a tensor on another device; `view.type` for candle's 4- and 6-bit
    /// floats, whose packing it does not say.
    pub fn with_candle<R>(
        tensor: &candle::Tensor,
        work: impl FnOnce(&TensorRef<'_>) -> R,
    ) -> Result<R> {
        // Held until `work` is done: whoever wants to write waits.
        let (storage, layout) = tensor.storage_and_layout();
        let Storage::Cpu(storage) = &*storage else {
            let (found, expected) = (Value::None, Expected::OneOf("a tensor on the CPU"));
            return Err(refuse(Rule::MemoryNotHost, "device", found, expected));
        };
        let (dtype, bytes) = bytes_of(storage)?;
        let shape: Vec<u64> = layout.dims().iter().copied().map(as_u64).collect();
        let steps = layout.stride().iter().map(|step| i64::try_from(*step).unwrap_or(i64::MAX));
        let strides: Vec<i64> = steps.collect();
        let first = layout.start_offset().saturating_mul(usize_of(dtype.bits().div_ceil(8)));
        let descriptor = Descriptor::builder(dtype, &shape)
            .layout(layout_of(&shape, &strides))
            .byte_offset(as_u64(first))
            .buffers([BufferHandle::cpu(as_u64(bytes.len()))])
            .build()?;
        Ok(work(&TensorRef::new(&descriptor, &[bytes])?))
    }
}

/// The elements of a candle tensor's storage as they lie.
fn bytes_of(storage: &CpuStorage) -> Result<(Dtype, &[u8])> {
    fn typed<T: Element>(elements: &[T]) -> (Dtype, &[u8]) {
        (T::DTYPE, T::bytes_of(elements))
    }
    Ok(match storage {
        CpuStorage::U8(elements) => typed(elements),
        CpuStorage::U32(elements) => typed(elements),
        CpuStorage::I16(elements) => typed(elements),
        CpuStorage::I32(elements) => typed(elements),
        CpuStorage::I64(elements) => typed(elements),
        CpuStorage::BF16(elements) => typed(elements),
        CpuStorage::F16(elements) => typed(elements),
        CpuStorage::F32(elements) => typed(elements),
        CpuStorage::F64(elements) => typed(elements),
        CpuStorage::F8E4M3(elements) => {
            // SAFETY: floats of 8 bits.
            (Dtype::Float8E4M3, unsafe { single_bytes(elements) })
        }
        CpuStorage::F8E8M0(bytes) => (Dtype::Float8E8M0, bytes),
        CpuStorage::F4(_) => return Err(no_type(Dtype::Float4E2M1)),
        CpuStorage::F6E2M3(_) => return Err(no_type(Dtype::Float6E2M3)),
        CpuStorage::F6E3M2(_) => return Err(no_type(Dtype::Float6E3M2)),
    })
}

/// Numbers of one byte as bytes.
///
/// # Safety
///
/// `T` must be a number: initialised wherever there is one.
unsafe fn single_bytes<T: Copy>(elements: &[T]) -> &[u8] {
    const { assert!(size_of::<T>() == 1) };
    // SAFETY: as many bytes as there are elements, each a number of one byte.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), elements.len()) }
}

fn theirs(storage: CpuStorage, shape: Vec<usize>) -> candle::Tensor {
    candle::Tensor::from_storage(Storage::Cpu(storage), shape, BackpropOp::none(), false)
}

fn dims(shape: &[u64]) -> Result<Vec<usize>> {
    let dims: Option<Vec<usize>> = shape.iter().map(|size| usize::try_from(*size).ok()).collect();
    dims.ok_or_else(|| {
        let (rule, found) = (Rule::ViewTooMany, Value::BeyondU64);
        FormatError::new(rule, "shape", 20, found, Expected::Unsaid).into()
    })
}

fn usize_of(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cold]
fn no_type(dtype: Dtype) -> Error {
    let found = Value::Tag(u64::from(dtype.tag()));
    let expected = Expected::OneOf("a type that both have");
    FormatError::new(Rule::ViewType, "type_tag", 14, found, expected).into()
}
