//! Tensors of ours as managed tensors for somebody else.

#![allow(unsafe_code, reason = "the stream that a consumer names is used for one wait")]

use std::ffi::c_void;
use std::ptr;

use hurray_format::{Dtype, Expected, Layout, LayoutKind, Rule, Value};

use super::COPY_BYTES;
use super::copy::{Place, Source};
use super::device::{self, Handle};
use super::dtype::{Stored, data_type};
use super::handoff::{Copying, Omitted, Reason, Report};
use super::managed::Managed;
use super::parcel::{Contents, Exported};
use super::raw::{DLDataType, DLDevice, FLAG_IS_COPIED, FLAG_READ_ONLY};
use super::stream::StreamOrder;
use super::strides::{numbers, steps};
use crate::buffer::{Buffer, Returned};
use crate::device::{Devices, Stream};
use crate::error::{Error, Result};
use crate::memory::{Region, refuse};
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
    /// `stream` must be a stream of the tensor's device that is open.
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
        let device = DLDevice { device_type: 1, device_id: 0 };
        let numbers = numbers(descriptor.shape(), &Layout::RowMajor)?;
        // Where there are no elements there is no address, and null is what the struct says.
        let (data, dtype) = (copy.region().host.cast(), plan.dtype);
        let contents = Contents { data, byte_offset: 0, device, dtype, numbers, flags };
        Ok((contents, Some(copy), report))
    }
}

/// What can be said of a tensor before it is known who else holds its memory.
struct Plan {
    device: DLDevice,
    dtype: DLDataType,
    order: StreamOrder,
    /// Why it cannot be handed over where it is.
    needs_copy: Option<Reason>,
}

struct Settled {
    copied: Option<Reason>,
    flags: u64,
}

impl Plan {
    fn of(how: &Export<'_>, tensor: &Tensor) -> Result<Self> {
        let descriptor = tensor.descriptor();
        if descriptor.quantization().is_some() {
            return Err(refuse(
                Rule::DlpackQuantized,
                "quantization",
                Value::None,
                Expected::Unsaid,
            ));
        }
        if descriptor.layout().kind() != LayoutKind::Dense {
            return Err(other_layout(descriptor.layout()));
        }
        if descriptor.is_dynamic() {
            let rule = Rule::DescriptorUnresolved;
            return Err(refuse(rule, "shape", Value::None, Expected::Unsaid));
        }
        let dtype = data_type(descriptor.dtype())?;
        let device = device::device_of(tensor)?;
        let order = StreamOrder::asked(device.device_type, how.stream)?;
        let needs_copy = match (descriptor.dtype(), descriptor.layout()) {
            (Dtype::Bool, _) => Some(Reason::BoolWidth),
            (_, Layout::RowMajor | Layout::ColumnMajor | Layout::Strided(_)) => None,
            _ => Some(Reason::Layout),
        };
        Ok(Self { device, dtype, order, needs_copy })
    }
}

impl Plan {
    /// Whether it is copied, and why, now that it is known whether the consumer may write.
    fn settle<M: Managed>(&self, how: &Export<'_>, is_writable: IsWritable) -> Result<Settled> {
        let is_read_only = how.marking == Marking::ReadOnly;
        // The older struct cannot tell the consumer to keep from writing, not even to a copy.
        if is_read_only && !M::HAS_FLAGS {
            return Err(read_only_legacy());
        }
        let must_be_writable = how.marking == Marking::Writable || !M::HAS_FLAGS;
        let denied = must_be_writable && is_writable.is_err();
        let needs_copy = self.needs_copy.or(denied.then_some(Reason::ReadOnly));
        match (how.copying, needs_copy, is_writable) {
            (Copying::Never, Some(Reason::ReadOnly), _) if !M::HAS_FLAGS => Err(read_only_legacy()),
            (Copying::Never, Some(Reason::ReadOnly), Err(rule)) => {
                Err(refuse(rule, "memory", Value::None, Expected::Unsaid))
            }
            (Copying::Never, Some(Reason::BoolWidth), _) => {
                let (found, expected) = (Value::Unsigned(1), Expected::Exactly(8));
                Err(refuse(Rule::DlpackBool, "bits", found, expected))
            }
            (Copying::Never, Some(_), _) => {
                let expected = Expected::OneOf("row-major, column-major or strided");
                Err(refuse(Rule::DlpackLayout, "layout", Value::None, expected))
            }
            (Copying::Never, None, _) | (Copying::WhenNeeded, None, _) => {
                let is_read_only = is_read_only || is_writable.is_err();
                let flags = if is_read_only { FLAG_READ_ONLY } else { 0 };
                Ok(Settled { copied: None, flags })
            }
            (Copying::WhenNeeded | Copying::Always, reason, _) => {
                let read_only = if is_read_only { FLAG_READ_ONLY } else { 0 };
                let copied = reason.or(Some(Reason::Asked));
                Ok(Settled { copied, flags: FLAG_IS_COPIED | read_only })
            }
        }
    }

    /// The tensor where it is. `data` is the address of the first element, not of the memory in
    /// front of it: there are consumers that pass over `byte_offset`. An object has no such
    /// address.
    fn where_it_is(&self, tensor: &Tensor, flags: u64) -> Result<Contents> {
        let descriptor = tensor.descriptor();
        let numbers = numbers(descriptor.shape(), descriptor.layout())?;
        let (data, byte_offset) = match is_empty(tensor) {
            true => (ptr::null_mut(), 0),
            false => self.position(&region(tensor), descriptor.byte_offset())?,
        };
        let Self { device, dtype, .. } = *self;
        Ok(Contents { data, byte_offset, device, dtype, numbers, flags })
    }

    fn position(&self, region: &Region, byte_offset: u64) -> Result<(*mut c_void, u64)> {
        let address = |from: u64| {
            let at = usize::try_from(from.wrapping_add(byte_offset)).unwrap_or(0);
            Ok((ptr::without_provenance_mut(at), 0))
        };
        let offset = usize::try_from(byte_offset).unwrap_or(0);
        match device::handle(self.device.device_type) {
            Handle::Host if !region.host.is_null() => {
                Ok((region.host.wrapping_add(offset).cast(), 0))
            }
            Handle::Host | Handle::Address if region.address != 0 => address(region.position()),
            Handle::Object if region.object != 0 => {
                let object = usize::try_from(region.object).unwrap_or(0);
                let byte_offset = region.offset.saturating_add(byte_offset);
                Ok((ptr::without_provenance_mut(object), byte_offset))
            }
            _ => {
                let found = Value::Tag(u64::from(region.device.tag()));
                Err(refuse(Rule::DlpackHandle, "data", found, Expected::Unsaid))
            }
        }
    }

    /// The elements in memory of their own, as wide as DLPack wants them.
    fn copy(&self, tensor: &Tensor, most: u64) -> Result<Buffer> {
        let descriptor = tensor.descriptor();
        let (shape, dtype) = (descriptor.shape(), descriptor.dtype());
        let Some(buffer) = tensor.buffers().first() else {
            return Err(other_layout(descriptor.layout()));
        };
        let place = match descriptor.layout() {
            layout @ (Layout::RowMajor | Layout::ColumnMajor | Layout::Strided(_)) => {
                let steps = steps(shape, layout)?;
                let first = descriptor.byte_offset().saturating_sub(buffer.lead());
                Place::Steps { first, steps }
            }
            _ => Place::Described { descriptor, before: buffer.lead() },
        };
        let stored = Stored { dtype, bits: dtype.bits() };
        let target = Stored { dtype, bits: u32::from(self.dtype.bits) };
        let source = Source { bytes: buffer.host_bytes()?, shape, place, stored };
        Ok(source.copy(target, most)?.freeze())
    }
}

/// Whether a consumer that gets the tensor may write, and by what rule not.
type IsWritable = Result<(), Rule>;

fn is_writable(tensor: &mut Tensor) -> IsWritable {
    let is_empty = is_empty(tensor);
    match tensor.buffers_mut().first_mut() {
        Some(buffer) if !is_empty => {
            let region = buffer.region();
            if !region.writable {
                return Err(Rule::MemoryReadOnly);
            }
            // What others write to is never given out as a slice here: nobody is surprised.
            if !region.may_change && !buffer.is_sole() {
                return Err(Rule::MemoryShared);
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn is_empty(tensor: &Tensor) -> bool {
    tensor.descriptor().element_count() == Some(0)
}

fn region(tensor: &Tensor) -> Region {
    tensor.buffers().first().map_or(Region::host(ptr::null_mut(), 0), Buffer::region)
}

#[cold]
fn other_layout(layout: &Layout) -> Error {
    let expected = Expected::OneOf("row-major, column-major or strided");
    refuse(Rule::DlpackLayout, "layout_tag", Value::Tag(u64::from(layout.tag())), expected)
}

#[cold]
fn read_only_legacy() -> Error {
    refuse(Rule::DlpackReadOnly, "memory", Value::None, Expected::OneOf("a copy"))
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
