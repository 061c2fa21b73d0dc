//! Tensors of ours as managed tensors for somebody else.

#![allow(unsafe_code, reason = "the stream that a consumer names is used for one wait")]

use hurray_format::{Expected, Rule, Value};

use super::COPY_BYTES;
use super::handoff::{Copying, Omitted, Report};
use super::managed::Managed;
use super::parcel::{Contents, Exported};
use super::plan::{Plan, Settled, is_writable, region};
use super::stream::StreamOrder;
use crate::buffer::{Buffer, Returned};
use crate::device::{Devices, Stream};
use crate::error::{Error, Result};
use crate::memory::refuse;
use crate::offered::{Fence, Offered};
use crate::tensor::Tensor;

/// How tensors are handed to somebody who speaks DLPack.
///
/// ```
/// use hurray_tensor::Tensor;
/// use hurray_tensor::dlpack::{Export, Exported};
///
/// let tensor = Tensor::from_vec(vec![1.0_f32, 2.0, 3.0], &[3])?;
/// let here = tensor.host_buffers()?[0].as_ptr();
/// let exported: Exported = Export::default().share(&tensor)?;
/// assert_eq!(exported.tensor().data.cast_const().cast(), here);
/// assert!(exported.is_read_only());
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Export<'d> {
    /// Whether elements may be copied.
    pub copying: Copying,
    /// Whether the consumer may write.
    pub marking: Marking,
    /// The stream that the consumer named, if it did.
    pub stream: Option<i64>,
    /// The most bytes that a copy may take: 1 GiB, unless told otherwise.
    pub copy_bytes: u64,
    /// Where the device of `stream` is looked for.
    pub devices: Option<&'d Devices>,
}

impl Default for Export<'_> {
    fn default() -> Self {
        let (copying, marking) = (Copying::Never, Marking::AsHeld);
        Self { copying, marking, stream: None, copy_bytes: COPY_BYTES, devices: None }
    }
}

/// Whether the consumer may write to the memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Marking {
    /// Where it becomes the only holder of memory that can be written to, and where the memory
    /// is such that others write to it anyway.
    #[default]
    AsHeld,
    /// Never.
    ReadOnly,
    /// Always; memory that it may not write to is copied, or refused.
    Writable,
}

impl Export<'_> {
    /// A share in a tensor. The consumer may read: somebody here holds the memory too.
    ///
    /// # Errors
    ///
    /// `dlpack.layout`, `dlpack.quantized`, `dlpack.type`, `dlpack.device`, `dlpack.device-id`,
    /// `dlpack.handle` and `dlpack.size` for what DLPack has no words for;
    /// `descriptor.unresolved`; `dlpack.stream`. Where a copy was not allowed: `dlpack.bool`,
    /// `dlpack.layout`, `dlpack.read-only`, `memory.read-only`, `memory.shared`. Where one was:
    /// `dlpack.copy-above-limit`, `memory.not-host`, `memory.may-change`; out of memory.
    pub fn share<M: Managed>(&self, tensor: &Tensor) -> Result<Exported<M>> {
        Ok(self.give(tensor.clone())?)
    }

    /// A tensor with whatever share in its memory it has. Where that is the only one, the
    /// consumer may write.
    ///
    /// ```
    /// use hurray_tensor::Tensor;
    /// use hurray_tensor::dlpack::{Export, Exported};
    ///
    /// let tensor = Tensor::from_vec(vec![1_u8, 2], &[2])?;
    /// let exported: Exported = Export::default().give(tensor)?;
    /// assert!(!exported.is_read_only());
    /// # Ok::<(), hurray_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The tensor, with why, as [`share`](Self::share).
    pub fn give<M: Managed>(
        &self,
        mut tensor: Tensor,
    ) -> Result<Exported<M>, Box<Returned<Tensor>>> {
        match self.prepare::<M>(&mut tensor) {
            Ok((contents, copy, report)) => {
                // A dense tensor without parameters has one buffer.
                let own = || tensor.into_parts().1.next().unwrap_or_else(Buffer::empty);
                Ok(Exported::new(contents, copy.unwrap_or_else(own), report))
            }
            Err(error) => Err(Box::new(Returned { value: tensor, error })),
        }
    }

    /// A tensor that must still be waited for. The stream that the consumer named waits for it;
    /// where none is involved, and before a copy, the host does, here. A consumer that sees to
    /// the order by itself is taken at its word.
    ///
    /// # Safety
    ///
    /// `stream` must be a stream of the tensor's device that is open. Where one is named, or −1, what
    /// is exported may be used by work alone that runs after the producer's: on that stream, or
    /// where the consumer saw to the order; that holds for a [`Foreign`](super::Foreign) made of it
    /// too.
    ///
    /// # Errors
    ///
    /// As [`share`](Self::share); `sync.device-unknown`, `sync.device-mismatch`, `device.failed`.
    /// Memory and events are released then.
    pub unsafe fn offer<M: Managed>(&self, offered: Offered<Tensor>) -> Result<Exported<M>> {
        let (mut tensor, mut fences) = offered.into_parts();
        let needs_waiting = fences.iter().any(|fence| !matches!(fence, Fence::Synced));
        // What is refused is refused before anything is waited for.
        let is_writable = is_writable(&mut tensor);
        let plan = Plan::of(self, &tensor)?;
        let is_copied = plan.settle::<M>(self, is_writable)?.copied.is_some();
        match plan.order {
            _ if !needs_waiting => {}
            StreamOrder::Stream(handle) if !is_copied => {
                // SAFETY: the caller's.
                let stream = unsafe { self.stream_of(&tensor, handle) }?;
                fences.iter_mut().try_for_each(|fence| fence.order(&[&stream]))?;
            }
            StreamOrder::ByConsumer if !is_copied => {}
            _ => tensor = Offered::new(tensor, fences)?.acquire()?,
        }
        Ok(self.give(tensor)?)
    }

    /// # Safety
    ///
    /// As [`offer`](Self::offer).
    unsafe fn stream_of(&self, tensor: &Tensor, handle: u64) -> Result<Stream> {
        let region = region(tensor);
        let find =
            |devices: &Devices| devices.find(region.device, region.ordinal, &region.uuid).cloned();
        let Some(device) = self.devices.and_then(find) else {
            let found = Value::Tag(u64::from(region.device.tag()));
            let expected = Expected::OneOf("a device at hand");
            return Err(refuse(Rule::SyncDeviceUnknown, "device_tag", found, expected));
        };
        // SAFETY: the caller's: the stream is open, and it is used for a wait that is queued now.
        Ok(unsafe { Stream::adopt(device, handle) })
    }

    fn prepare<M: Managed>(
        &self,
        tensor: &mut Tensor,
    ) -> Result<(Contents, Option<Buffer>, Report)> {
        let is_writable = is_writable(tensor);
        let plan = Plan::of(self, tensor)?;
        let Settled { copied, flags } = plan.settle::<M>(self, is_writable)?;
        let descriptor = tensor.descriptor();
        let omitted = Omitted {
            shard: descriptor.shard().is_some(),
            statistics: descriptor.statistics().is_some(),
            member_role: descriptor.member_role().is_some(),
        };
        let mut report = Report { copied, copied_bytes: 0, order: plan.order, omitted };
        if copied.is_none() {
            return Ok((plan.where_it_is(tensor, flags)?, None, report));
        }
        let copy = plan.copy(tensor, self.copy_bytes)?;
        // It was read by the host: there is nothing left to wait for.
        (report.copied_bytes, report.order) = (copy.byte_size(), StreamOrder::Ready);
        let contents = plan.of_copy(tensor, &copy, flags)?;
        Ok((contents, Some(copy), report))
    }
}

/// A share in a tensor, read-only.
impl<M: Managed> TryFrom<&Tensor> for Exported<M> {
    type Error = Error;

    fn try_from(tensor: &Tensor) -> Result<Self> {
        Export::default().share(tensor)
    }
}

/// A tensor given away, to write to where nobody else holds it.
impl<M: Managed> TryFrom<Tensor> for Exported<M> {
    type Error = Error;

    fn try_from(tensor: Tensor) -> Result<Self> {
        Ok(Export::default().give(tensor)?)
    }
}
