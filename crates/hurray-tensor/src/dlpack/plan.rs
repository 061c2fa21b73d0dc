//! What a tensor of ours is in DLPack's words, and whether it must be copied to become that.

use std::ffi::c_void;
use std::ptr;

use hurray_format::{DeviceTag, Dtype, Expected, Layout, LayoutKind, Rule, Value};

use super::copy::Copy;
use super::device::{self, Handle, device_type};
use super::dtype::{Stored, data_type};
use super::export::{Export, Marking};
use super::handoff::Reason;
use super::managed::Managed;
use super::parcel::Contents;
use super::raw::{DLDataType, DLDevice, FLAG_IS_COPIED, FLAG_READ_ONLY};
use super::stream::StreamOrder;
use super::strides::numbers;
use crate::buffer::Buffer;
use crate::copying::Copying;
use crate::error::{Error, Result};
use crate::memory::{Region, refuse};
use crate::tensor::Tensor;

/// What can be said of a tensor before it is known who else holds its memory.
pub(super) struct Plan {
    device: DLDevice,
    dtype: DLDataType,
    pub(super) order: StreamOrder,
    /// Why it cannot be handed over where it is.
    needs_copy: Option<Reason>,
}

pub(super) struct Settled {
    pub(super) copied: Option<Reason>,
    pub(super) flags: u64,
}

impl Plan {
    pub(super) fn of(how: &Export<'_>, tensor: &Tensor) -> Result<Self> {
        let descriptor = tensor.descriptor();
        if descriptor.quantization().is_some() {
            let rule = Rule::DlpackQuantized;
            return Err(refuse(rule, "quantization", Value::None, Expected::Unsaid));
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
            _ if is_empty(tensor) => None,
            (Dtype::Bool, _) => Some(Reason::BoolWidth),
            (_, Layout::RowMajor | Layout::ColumnMajor | Layout::Strided(_)) => None,
            _ => Some(Reason::Layout),
        };
        Ok(Self { device, dtype, order, needs_copy })
    }

    /// Whether it is copied, and why, now that it is known whether the consumer may write.
    pub(super) fn settle<M: Managed>(
        &self,
        how: &Export<'_>,
        is_writable: IsWritable,
    ) -> Result<Settled> {
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
    pub(super) fn where_it_is(&self, tensor: &Tensor, flags: u64) -> Result<Contents> {
        let descriptor = tensor.descriptor();
        let numbers = numbers(descriptor.shape(), descriptor.layout())?;
        let (data, byte_offset) = match is_empty(tensor) {
            true => (ptr::null_mut(), 0),
            false => self.position(&region(tensor), descriptor.byte_offset())?,
        };
        let Self { device, dtype, .. } = *self;
        Ok(Contents { data, byte_offset, device, dtype, numbers, flags })
    }

    /// What [`copy`](Self::copy) made.
    pub(super) fn of_copy(&self, tensor: &Tensor, copy: &Buffer, flags: u64) -> Result<Contents> {
        let numbers = numbers(tensor.descriptor().shape(), &Layout::RowMajor)?;
        let device =
            DLDevice { device_type: device_type(DeviceTag::CPU, copy.class())?, device_id: 0 };
        // Where there are no elements there is no address, and null is what the struct says.
        let (data, dtype) = (copy.region().host.cast(), self.dtype);
        Ok(Contents { data, byte_offset: 0, device, dtype, numbers, flags })
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
    pub(super) fn copy(&self, tensor: &Tensor, most: u64) -> Result<Buffer> {
        let (shape, dtype) = (tensor.descriptor().shape(), tensor.descriptor().dtype());
        let target = Stored { dtype, bits: u32::from(self.dtype.bits) };
        let copy = Copy::of(shape, target, most)?;
        copy.make(Stored { dtype, bits: dtype.bits() }, tensor.iter_bits()?)
    }
}

/// Whether a consumer that gets the tensor may write, and by what rule not.
pub(super) type IsWritable = Result<(), Rule>;

pub(super) fn is_writable(tensor: &mut Tensor) -> IsWritable {
    let is_empty = is_empty(tensor);
    let Some(buffer) = tensor.buffers().first().filter(|_| !is_empty) else { return Ok(()) };
    let region = buffer.region();
    if !region.writable {
        return Err(Rule::MemoryReadOnly);
    }
    // What others write to is never given out as a slice here: nobody is surprised.
    if !region.may_change && !tensor.is_first_sole() {
        return Err(Rule::MemoryShared);
    }
    Ok(())
}

fn is_empty(tensor: &Tensor) -> bool {
    tensor.descriptor().element_count() == Some(0)
}

pub(super) fn region(tensor: &Tensor) -> Region {
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
