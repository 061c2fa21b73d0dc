//! Managed tensors of somebody else's as tensors of ours.

#![allow(unsafe_code, reason = "memory of somebody else's is adopted, or read to be copied")]

use std::ffi::c_void;
use std::{ptr, slice};

use hurray_format::{Dtype, Expected, Layout, Limits, Rule, Value};

use super::COPY_BYTES;
use super::copy::{Copy, above};
use super::device::{self, Handle};
use super::dtype::{Stored, stored};
use super::foreign::Foreign;
use super::handoff::{Omitted, Others, Reason, Report, Terms};
use super::managed::Managed;
use super::raw::{DLPackVersion, DLTensor};
use super::raw::{FLAG_IS_COPIED, FLAG_READ_ONLY, FLAG_SUBBYTE_PADDED};
use super::stream::StreamOrder;
use super::strides::{Sizes, Steps, layout, reach, row_major};
use crate::buffer::{Buffer, BufferMut, copy_changing};
use crate::copying::Copying;
use crate::device::Devices;
use crate::error::{Error, Result};
use crate::memory::{Region, as_u64, refuse};
use crate::offered::{Fence, Offered};
use crate::tensor::Tensor;
use crate::tensor::bits::Bits;

/// How managed tensors are taken over.
#[derive(Clone, Copy, Debug)]
pub struct Import<'d> {
    /// Whether elements may be copied.
    pub copying: Copying,
    /// The most bytes that a copy may take: 1 GiB, unless told otherwise.
    pub copy_bytes: u64,
    /// Where the device is looked for whose stream must be waited for.
    pub devices: Option<&'d Devices>,
}

impl Default for Import<'_> {
    fn default() -> Self {
        Self { copying: Copying::Never, copy_bytes: COPY_BYTES, devices: None }
    }
}

/// A tensor that was taken over.
#[derive(Debug)]
pub struct Imported {
    /// The tensor. Where its producer was given a stream, it must be waited for there.
    pub tensor: Offered<Tensor>,
    /// What taking it over did.
    pub report: Report,
}

impl Import<'_> {
    pub(super) fn take<M: Managed>(&self, foreign: Foreign<M>) -> Result<Imported> {
        let reading = Reading::of(&foreign)?;
        let reason = match (self.copying, reading.needs_copy) {
            (Copying::Never, Some(reason)) => return Err(reading.refuse(reason)),
            (Copying::Always, None) => Some(Reason::Asked),
            (_, reason) => reason,
        };
        let order = reading.order;
        let mut report =
            Report { copied: reason, copied_bytes: 0, order, omitted: Omitted::default() };
        let mut fence = order.fence(&reading.region, self.devices);
        if reason.is_some() {
            fence.wait()?;
            let copy = reading.copy(self.copy_bytes)?;
            drop(foreign);
            // It was read by the host: there is nothing left to wait for.
            (report.copied_bytes, report.order) = (copy.byte_size(), StreamOrder::Ready);
            let tensor = Tensor::dense(reading.stored.dtype, &reading.shape, copy)?;
            return Ok(Imported { tensor: Offered::synced(tensor), report });
        }
        let tensor = reading.adopt(foreign)?;
        let tensor = match fence {
            Fence::Synced => Offered::synced(tensor),
            fence => Offered::new(tensor, vec![fence])?,
        };
        Ok(Imported { tensor, report })
    }
}

/// A managed tensor, read and checked.
struct Reading {
    stored: Stored,
    shape: Sizes,
    /// None where the struct has none: row-major.
    steps: Option<Steps>,
    order: StreamOrder,
    /// From the lowest byte that an element reaches to the highest.
    region: Region,
    /// From there to the first element, in bytes.
    first: u64,
    /// Why the memory cannot be used where it is.
    needs_copy: Option<Reason>,
}

impl Reading {
    fn of<M: Managed>(foreign: &Foreign<M>) -> Result<Self> {
        // What is checked is what is used, whatever happens to the struct meanwhile.
        let (tensor, flags, terms) = (*foreign.tensor(), foreign.as_raw().flags(), foreign.terms());
        let known = FLAG_READ_ONLY | FLAG_IS_COPIED | FLAG_SUBBYTE_PADDED;
        if flags & !known != 0 {
            let found = Value::Tag(flags);
            return Err(refuse(Rule::DlpackFlags, "flags", found, Expected::AtMost(known)));
        }
        let (tag, class) = device::device_tag(tensor.device.device_type)?;
        let order = StreamOrder::asked(tensor.device.device_type, terms.stream)?;
        let stored = stored(tensor.dtype, flags)?;
        let (shape, steps) = dimensions(&tensor, foreign.version())?;
        let mut region = Region {
            device: tag,
            class,
            ordinal: device::ordinal(tensor.device)?,
            ..Region::host(ptr::null_mut(), 0)
        };
        (region.writable, region.may_change) = access::<M>(flags, terms);
        let mut reading = Self { stored, shape, steps, order, region, first: 0, needs_copy: None };
        reading.place(&tensor)?;
        Ok(reading)
    }

    /// Finds the memory that the elements are in.
    fn place(&mut self, tensor: &DLTensor) -> Result<()> {
        let steps = match &self.steps {
            Some(steps) => steps.clone(),
            // More elements than 63 bits count are in no memory.
            None if self.shape.contains(&0) => return Ok(()),
            None => row_major(&self.shape).ok_or_else(too_far)?,
        };
        let Some((down, up)) = reach(&self.shape, &steps) else {
            // No elements: whatever the address is, it is not looked at.
            return Ok(());
        };
        if tensor.data.is_null() {
            let expected = Expected::OneOf("an address: there are elements");
            return Err(refuse(Rule::DlpackDataNull, "data", Value::None, expected));
        }
        self.needs_copy = match self.stored.dtype {
            _ if self.stored.is_ours() => None,
            Dtype::Bool => Some(Reason::BoolWidth),
            _ => Some(Reason::Padded),
        };
        let bytes = |elements: u128| {
            let bits = elements.checked_mul(u128::from(self.stored.bits))?;
            u64::try_from(bits.div_ceil(8)).ok()
        };
        let (Some(down_bytes), Some(up_bytes)) = (bytes(down), bytes(up)) else {
            return Err(too_far());
        };
        // In the last group of 6-bit elements there may be fewer bytes than we count with.
        let ours = |elements| self.stored.dtype.bytes_for(elements).map(u64::try_from);
        let is_whole = ours(down) == Some(Ok(down_bytes)) && ours(up) == Some(Ok(up_bytes));
        if self.stored.is_ours() && !is_whole {
            self.needs_copy = Some(Reason::Tail);
        }
        self.first = down_bytes;
        self.region.length = down_bytes.checked_add(up_bytes).ok_or_else(too_far)?;
        let position = self.point(tensor, down_bytes)?;
        let alignment = u64::from(self.stored.dtype.alignment());
        if self.needs_copy.is_none() && !position.is_multiple_of(alignment) {
            self.needs_copy = Some(Reason::Misaligned);
        }
        self.region.check()
    }

    /// Points the region at the lowest byte, and answers where the first element is.
    fn point(&mut self, tensor: &DLTensor, down: u64) -> Result<u64> {
        let handle = device::handle(tensor.device.device_type);
        let (base, region) = (as_u64(tensor.data.addr()), &mut self.region);
        if handle == Handle::Object {
            region.object = base;
            region.offset = tensor.byte_offset.checked_sub(down).ok_or_else(too_far)?;
            return Ok(tensor.byte_offset);
        }
        let first = base.checked_add(tensor.byte_offset).ok_or_else(too_far)?;
        region.address = first.checked_sub(down).filter(|at| *at != 0).ok_or_else(too_far)?;
        if handle == Handle::Host {
            region.host = at(tensor.data, region.address);
        }
        Ok(first)
    }

    /// The tensor where it is. `foreign` is let go of with the memory.
    fn adopt<M: Managed>(self, foreign: Foreign<M>) -> Result<Tensor> {
        // SAFETY: whoever took `foreign` over promised that elements lie where its shape, strides
        // and offset say, that all between the lowest and the highest of them, which is this
        // region, is memory until its deleter is called, and what others do with it. It is called when the last share in the buffer is dropped, or here, where the
        // region is refused.
        let buffer = unsafe { Buffer::adopt(self.region, move || drop(foreign)) }?;
        let layout = self.steps.map_or(Layout::RowMajor, |steps| layout(&self.shape, &steps));
        Tensor::laid_out(self.stored.dtype, &self.shape, layout, self.first, buffer)
    }

    /// The elements in memory of our own.
    fn copy(&self, most: u64) -> Result<Buffer> {
        let (shape, region, Stored { dtype, .. }) = (&self.shape, &self.region, self.stored);
        let copy = Copy::of(shape, Stored { dtype, bits: dtype.bits() }, most)?;
        let steps = self.steps.clone().or_else(|| row_major(shape)).unwrap_or_default();
        let still;
        let bytes: &[u8] = match usize::try_from(region.length) {
            Ok(0) => &[],
            _ if region.host.is_null() => {
                let found = Value::Tag(u64::from(region.device.tag()));
                return Err(refuse(Rule::MemoryNotHost, "device_tag", found, Expected::Unsaid));
            }
            Ok(length) if region.may_change => {
                still = self.at_one_time(length, most)?;
                &still
            }
            // SAFETY: as in `adopt`, whoever took the managed tensor over promised that this is
            // memory, initialised where the CPU may look, and that nobody writes to what does not
            // change. It is held until the copy is made. That the length is one of a slice was
            // checked with the region.
            Ok(length) => unsafe { slice::from_raw_parts(region.host, length) },
            Err(_) => return Err(too_far()),
        };
        let every = (&shape[..], copy.count);
        let elements = Bits::stepped(bytes, self.stored.bits, every, (self.first, &steps));
        copy.make(self.stored, elements)
    }

    /// The bytes as they are now, of memory that others may write to meanwhile: also those between
    /// elements, which count against the limit too.
    fn at_one_time(&self, length: usize, most: u64) -> Result<BufferMut> {
        if self.region.length > most {
            return Err(above(self.region.length, most));
        }
        let mut still = BufferMut::zeroed(length)?;
        // SAFETY: as in `adopt`, this is memory of that length while `foreign` is held.
        unsafe { copy_changing(self.region.host, &mut still) };
        Ok(still)
    }

    #[cold]
    fn refuse(&self, reason: Reason) -> Error {
        let Stored { dtype, bits } = self.stored;
        let (found, exactly) = (Value::Unsigned(u64::from(bits)), u64::from(dtype.bits()));
        match reason {
            Reason::BoolWidth => {
                refuse(Rule::DlpackBool, "bits", found, Expected::Exactly(exactly))
            }
            Reason::Padded => refuse(Rule::DlpackPadded, "bits", found, Expected::Exactly(exactly)),
            Reason::Tail => {
                let expected = Expected::OneOf("whole groups of four");
                refuse(Rule::DlpackTail, "shape", Value::None, expected)
            }
            _ => {
                let found = Value::Tag(self.region.position().wrapping_add(self.first));
                let expected = Expected::OneOf("a multiple of the type's alignment");
                refuse(Rule::DlpackMisaligned, "byte_offset", found, expected)
            }
        }
    }
}

/// Sizes and steps. Steps may be left out before version 1.2 only, or where there are none.
fn dimensions(tensor: &DLTensor, version: Option<DLPackVersion>) -> Result<(Sizes, Option<Steps>)> {
    let rank = u32::try_from(tensor.ndim).ok().filter(|rank| *rank <= Limits::RANK);
    let Some(rank) = rank.and_then(|rank| usize::try_from(rank).ok()) else {
        let (found, expected) =
            (Value::Signed(i64::from(tensor.ndim)), Expected::AtMost(u64::from(Limits::RANK)));
        return Err(refuse(Rule::DlpackRank, "ndim", found, expected));
    };
    if rank == 0 {
        return Ok((Sizes::new(), None));
    }
    if tensor.shape.is_null() {
        let expected = Expected::OneOf("a size for each dimension");
        return Err(refuse(Rule::DlpackNull, "shape", Value::None, expected));
    }
    let mut shape = Sizes::with_capacity(rank);
    for size in read(tensor.shape, rank) {
        let size = u64::try_from(size);
        let negative = |_| refuse(Rule::DlpackShape, "shape", Value::None, Expected::AtLeast(0));
        shape.push(size.map_err(negative)?);
    }
    if !tensor.strides.is_null() {
        return Ok((shape, Some(read(tensor.strides, rank))));
    }
    match version {
        Some(version) if version >= (DLPackVersion { major: 1, minor: 2 }) => {
            let found = Value::Unsigned(u64::from(version.minor));
            Err(refuse(Rule::DlpackStridesNull, "version.minor", found, Expected::AtMost(1)))
        }
        _ => Ok((shape, None)),
    }
}

/// `count` numbers.
fn read(first: *const i64, count: usize) -> Steps {
    let number = |place| {
        // SAFETY: whoever took the managed tensor over promised that its arrays are there, with a
        // number for each dimension. It is read wherever it lies.
        unsafe { first.wrapping_add(place).read_unaligned() }
    };
    (0..count).map(number).collect()
}

/// Whether the memory may be written to here, and whether somebody else may.
fn access<M: Managed>(flags: u64, terms: Terms) -> (bool, bool) {
    // A stranger's word does not weaken what the caller knows.
    let others = match (flags & FLAG_IS_COPIED, terms.others) {
        (0, others) | (_, others @ Others::Write) => others,
        _ => Others::Nothing,
    };
    let is_read_only = flags & FLAG_READ_ONLY != 0 || !M::HAS_FLAGS;
    (!is_read_only && others != Others::Read, others == Others::Write)
}

/// The address `at`, inside what `data` leads to.
fn at(data: *mut c_void, at: u64) -> *mut u8 {
    data.cast::<u8>().with_addr(usize::try_from(at).unwrap_or(0))
}

#[cold]
fn too_far() -> Error {
    refuse(Rule::DlpackExtent, "strides", Value::BeyondU64, Expected::Unsaid)
}
