//! Tensors in memory: made of a caller's memory, or of the library's own.

use std::ffi::c_void;
use std::ptr;
use std::slice;

use ::hurray_tensor::exchange::raw::{BUFFER_MAY_CHANGE, BUFFER_READ_ONLY};
use ::hurray_tensor::format::{Expected, Rule, Value};
use ::hurray_tensor::{Buffer, Region, Tensor};

use crate::builder::hurray_builder;
use crate::descriptor::{hurray_descriptor_ref, lend, lent};
use crate::failure::{Failure, Result, refuse, refused};
use crate::fence::{fence, fence_or};
use crate::fields::past_the_last;
use crate::growing::{Form, Growing};
use crate::pointer::{Place, at, at_mut, free, give, items};

/// A tensor: a descriptor with the memory it speaks of, checked as a pair. It is a share: the
/// memory is let go when the last share in it is freed. Any number of threads may use one at once,
/// and different ones may be freed by different threads.
#[allow(non_camel_case_types, reason = "an opaque type of C")]
#[derive(Debug)]
pub struct hurray_tensor {
    /// None once it was given away.
    tensor: Option<Tensor>,
}

impl hurray_tensor {
    pub(crate) fn new(tensor: Tensor) -> Self {
        Self { tensor: Some(tensor) }
    }

    pub(crate) fn get(&self) -> Result<&Tensor> {
        self.tensor.as_ref().ok_or_else(spent)
    }

    fn get_mut(&mut self) -> Result<&mut Tensor> {
        self.tensor.as_mut().ok_or_else(spent)
    }

    pub(crate) fn take(&mut self) -> Result<Tensor> {
        self.tensor.take().ok_or_else(spent)
    }
}

fn spent() -> Failure {
    refused(Rule::CapiFinished, "tensor")
}

/// Host memory of a caller's for one buffer of a tensor. It never grows.
///
/// Whoever hands it over promises, until `release` is called: `length` bytes are at `data`, stay
/// there, hold something (none is uninitialised), and may be read from any thread; with no flag set
/// they may be written to from any thread as well. Nobody else writes to them, unless
/// HURRAY_BUFFER_MAY_CHANGE is set; nor reads them, unless that or HURRAY_BUFFER_READ_ONLY is.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HurrayMemory {
    /// Where it starts; may be NULL where it is empty.
    pub data: *mut c_void,
    /// How many bytes there are.
    pub length: usize,
    /// HURRAY_BUFFER_READ_ONLY, so that nobody is ever let write to it; HURRAY_BUFFER_MAY_CHANGE,
    /// where somebody else may write to it meanwhile. Others are refused.
    pub flags: u64,
    /// Lets go of it: called once, with `context`, by whatever thread uses it last, and unwinds
    /// nothing. NULL for memory that stays, and of which all this holds, for as long as the program
    /// runs.
    pub release: Option<unsafe extern "C" fn(context: *mut c_void)>,
    /// Yours.
    pub context: *mut c_void,
}

/// Where a buffer of a tensor is.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HurrayRegion {
    /// sizeof(struct HurrayRegion); set it before the call.
    pub struct_size: u32,
    /// HURRAY_DEVICE_*.
    pub device_tag: u8,
    /// HURRAY_CLASS_*.
    pub memory_class: u8,
    /// Zero.
    pub reserved: [u8; 2],
    /// Where the CPU finds the first byte, NULL where it may not look: what a location counts from.
    /// The bytes before `lead` are not the tensor's, and never to be read.
    pub host: *const c_void,
    /// The buffer's length in bytes, `lead` included.
    pub length: u64,
    /// How many bytes at the start are not the tensor's: memory that begins behind a multiple of 64
    /// is described from there, and `byte_offset` steps over them. 0 to 63.
    pub lead: u64,
    /// HURRAY_BUFFER_READ_ONLY, HURRAY_BUFFER_MAY_CHANGE.
    pub flags: u64,
    /// The address of a device, or of the host; 0 where there is none.
    pub address: u64,
    /// The driver's object that holds the memory; 0 where there is none.
    pub object: u64,
    /// From `address`, or from the start of `object`, to the first byte.
    pub offset: u64,
    /// The driver's context; 0 where there is none.
    pub context: u64,
    /// Which device of its kind, in this process; -1 where it is not known.
    pub ordinal: i64,
    /// The device's own number; zero where it is not known.
    pub uuid: [u8; 16],
}

// SAFETY: as the trait asks; numbers and pointers are values whatever their bits.
unsafe impl Growing for HurrayRegion {
    const FIRST: usize = 96;
}

/// A tensor in your memory, one piece for each buffer of the descriptor, in table order and as long
/// as it says, or longer. Nothing is copied.
///
/// By this call you promise of each piece what `HurrayMemory` asks for. The memory is taken whatever
/// the answer: where it is refused it is released at once. (But a `count` above 65535 is not
/// believed, and nothing is looked at: "capi.length".) The descriptor counts from the multiple of 64
/// at or below the first byte: for memory that begins elsewhere, `hurray_tensor_build` works that out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_tensor_new(
    descriptor: *const hurray_descriptor_ref,
    memory: *const HurrayMemory,
    count: usize,
    tensor: *mut *mut hurray_tensor,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let mut given = unsafe { given(memory, count) }?;
        // SAFETY: the contract of the header.
        let descriptor = unsafe { lent(descriptor) }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(tensor, "tensor") }?;
        let made = Tensor::new(descriptor.clone(), given.buffers()?)?;
        out.put(give(hurray_tensor::new(made)));
        Ok(())
    })
}

/// A tensor in your memory, one piece for each buffer, in table order, of the type, shape, layout and
/// quantization that the builder has; its buffer table is made from the memory, and what the builder
/// says of one is not looked at. Nothing is copied.
///
/// By this call you promise of each piece what `HurrayMemory` asks for. The memory is taken whatever
/// the answer: where it is refused it is released at once. (But a `count` above 65535 is not
/// believed, and nothing is looked at: "capi.length".) A dense tensor may begin at any address; its
/// byte offset counts from there, and in the descriptor from the multiple of 64 below. Index arrays,
/// scales and zero points begin at a multiple of 64.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_tensor_build(
    builder: *const hurray_builder,
    memory: *const HurrayMemory,
    count: usize,
    tensor: *mut *mut hurray_tensor,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let mut given = unsafe { given(memory, count) }?;
        // SAFETY: the contract of the header.
        let builder = unsafe { at(builder, "builder") }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(tensor, "tensor") }?;
        let made = Tensor::build(builder.parts()?, given.buffers()?)?;
        out.put(give(hurray_tensor::new(made)));
        Ok(())
    })
}

/// A tensor in memory of the library's own, aligned as the descriptor says and zeroed, to be filled by
/// way of `hurray_tensor_write`. The descriptor is of host memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_tensor_zeroed(
    descriptor: *const hurray_descriptor_ref,
    tensor: *mut *mut hurray_tensor,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let descriptor = unsafe { lent(descriptor) }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(tensor, "tensor") }?;
        out.put(give(hurray_tensor::new(Tensor::zeroed(descriptor.clone())?)));
        Ok(())
    })
}

/// Another share in a tensor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_tensor_clone(
    tensor: *const hurray_tensor,
    copy: *mut *mut hurray_tensor,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let tensor = unsafe { at(tensor, "tensor") }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(copy, "copy") }?;
        out.put(give(hurray_tensor::new(tensor.get()?.clone())));
        Ok(())
    })
}

/// Ends a share in a tensor; NULL is nothing. The last one lets go of the memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_tensor_free(tensor: *mut hurray_tensor) {
    fence_or((), || {
        // SAFETY: the contract of the header.
        unsafe { free(tensor) };
        Ok(())
    });
}

/// What the tensor is. Good until the tensor is given away or freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_tensor_descriptor(
    tensor: *const hurray_tensor,
) -> *const hurray_descriptor_ref {
    fence_or(ptr::null(), || {
        // SAFETY: the contract of the header.
        Ok(lend(unsafe { at(tensor, "tensor") }?.get()?.descriptor()))
    })
}

/// Where buffer `place` is, from 0. What it points to is good until the tensor is given away or
/// freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_tensor_region(
    tensor: *const hurray_tensor,
    place: usize,
    region: *mut HurrayRegion,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let tensor = unsafe { at(tensor, "tensor") }?;
        // SAFETY: the contract of the header.
        let mut form = unsafe { Form::new(region, "region") }?;
        let buffer =
            tensor.get()?.buffers().get(place).ok_or_else(|| past_the_last("place", place))?;
        form.fill(told(buffer));
        Ok(())
    })
}

/// Where buffer `place` starts, as in `hurray_tensor_region`, to be written to: of memory that may be
/// written to, and that no other share is in ("memory.read-only", "memory.shared" where that is not
/// so). Write until the tensor is next used, and not before `lead`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_tensor_write(
    tensor: *mut hurray_tensor,
    place: usize,
    data: *mut *mut c_void,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let tensor = unsafe { at_mut(tensor, "tensor") }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(data, "data") }?;
        let host =
            tensor.get_mut()?.host_mut(place).ok_or_else(|| past_the_last("place", place))?;
        out.put(host?.cast());
        Ok(())
    })
}

/// Checks what the memory must hold: index arrays in bounds and in order, scales and zero points in
/// range. Tensors out of files, and those of other libraries, were looked at when they were taken.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_tensor_check_contents(tensor: *const hurray_tensor) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let tensor = unsafe { at(tensor, "tensor") }?;
        Ok(tensor.get()?.check_contents()?)
    })
}

/// More than a tensor can have buffers, and far less than what a count holds that was never set.
const MOST_PIECES: u16 = u16::MAX;

/// The pieces of memory that were handed in. One after the other becomes a buffer's; what is left is
/// let go when this is dropped. It is a view of the caller's own list, so that taking the memory
/// needs no more of it.
struct Given<'a>(slice::Iter<'a, HurrayMemory>);

/// A piece of memory, which is let go when this is dropped.
struct Piece {
    region: Region,
    release: Release,
}

/// The caller's own callback.
struct Release {
    release: Option<unsafe extern "C" fn(*mut c_void)>,
    context: *mut c_void,
}

// SAFETY: any thread may let go of memory; the header says so.
unsafe impl Send for Release {}

impl Drop for Release {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: a function of the caller's with its own context, called once: a `Release` is
            // neither copied nor made twice of one memory.
            unsafe { release(self.context) }
        }
    }
}

/// All of the memory, each piece with its release, before anything is judged.
///
/// # Safety
///
/// The contract of the header: the pointer leads to `count` structs, which are true, and stay while
/// they are used. They are handed in once.
unsafe fn given<'a>(memory: *const HurrayMemory, count: usize) -> Result<Given<'a>> {
    if count > usize::from(MOST_PIECES) {
        let found = Value::Unsigned(u64::try_from(count).unwrap_or(u64::MAX));
        let expected = Expected::AtMost(MOST_PIECES.into());
        return Err(refuse(Rule::CapiLength, "count", found, expected));
    }
    // SAFETY: passed on to the caller.
    Ok(Given(unsafe { items(memory, count, "memory") }?.iter()))
}

impl Iterator for Given<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let memory = self.0.next()?;
        let mut region = Region::host(memory.data.cast(), memory.length);
        region.may_change = memory.flags & BUFFER_MAY_CHANGE != 0;
        region.writable = memory.flags & (BUFFER_READ_ONLY | BUFFER_MAY_CHANGE) == 0;
        let release = Release { release: memory.release, context: memory.context };
        Some(Piece { region, release })
    }
}

impl Drop for Given<'_> {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}

impl Given<'_> {
    /// As many buffers as there are pieces.
    fn buffers(&mut self) -> Result<Vec<Buffer>> {
        for HurrayMemory { flags, .. } in self.0.as_slice() {
            if flags & !(BUFFER_READ_ONLY | BUFFER_MAY_CHANGE) != 0 {
                let found = Value::Tag(*flags);
                return Err(refuse(Rule::CapiReserved, "flags", found, Expected::AtMost(5)));
            }
        }
        let mut buffers = Vec::new();
        let count = self.0.len();
        buffers.try_reserve_exact(count).map_err(|_| {
            let found = Value::Unsigned(u64::try_from(count).unwrap_or(u64::MAX));
            refuse(Rule::MemoryTooLarge, "count", found, Expected::Unsaid)
        })?;
        for Piece { region, release } in self {
            // SAFETY: whoever gave the memory promised by calling what `HurrayMemory` asks for, and
            // that is what this asks for: the bytes are there until `release` is called, where they
            // are, initialised, to be read by any thread and, where the region is writable, written;
            // and others do neither, but as the region's flags say.
            buffers.push(unsafe { Buffer::adopt(region, move || drop(release)) }?);
        }
        Ok(buffers)
    }
}

fn told(buffer: &Buffer) -> HurrayRegion {
    let region = buffer.region();
    let read_only = if region.writable { 0 } else { BUFFER_READ_ONLY };
    let may_change = if region.may_change { BUFFER_MAY_CHANGE } else { 0 };
    HurrayRegion {
        struct_size: 0,
        device_tag: region.device.tag(),
        memory_class: region.class.tag(),
        reserved: [0; 2],
        host: region.host.cast_const().cast(),
        length: region.length,
        lead: buffer.lead(),
        flags: read_only | may_change,
        address: region.address,
        object: region.object,
        offset: region.offset,
        context: region.context,
        ordinal: region.ordinal,
        uuid: region.uuid,
    }
}

#[cfg(test)]
mod tests;
