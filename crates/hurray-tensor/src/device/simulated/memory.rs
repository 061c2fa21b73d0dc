//! Device memory that is really an anonymous file, mapped.
//!
//! Work that is queued knows memory by its address, as a driver does. Whether that memory is
//! still there is looked up when the work runs, so that memory released too early is noticed
//! and nothing is touched that is not there.

#![allow(unsafe_code, reason = "files are mapped into memory here")]

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use hurray_format::{Expected, Rule, Value};
use rustix::fs::{self, FallocateFlags, MemfdFlags, SealFlags};
use rustix::mm::{self, MapFlags, ProtFlags};

use super::locked;
use crate::device::ExportedMemory;
use crate::error::{Error, Result};
use crate::memory::{Alignment, as_u64, refuse};

/// Every mapping there is in this process, by its first address.
static MAPPED: Mutex<BTreeMap<u64, Weak<Mapping>>> = Mutex::new(BTreeMap::new());

/// How many bytes a device has left.
#[derive(Debug)]
pub(super) struct Capacity(AtomicU64);

impl Capacity {
    pub(super) const fn new(bytes: u64) -> Self {
        Self(AtomicU64::new(bytes))
    }

    /// How many bytes are left.
    pub(super) fn left(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    fn take(self: &Arc<Self>, bytes: u64) -> Result<Taken> {
        let taken = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(bytes));
        match taken {
            Ok(_) => Ok(Taken { from: Arc::clone(self), bytes }),
            Err(_) => Err(Error::io("allocate", io::ErrorKind::OutOfMemory.into())),
        }
    }
}

/// Bytes that were taken, given back when this is dropped.
struct Taken {
    from: Arc<Capacity>,
    bytes: u64,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.from.0.fetch_add(self.bytes, Ordering::AcqRel);
    }
}

/// A file, mapped until this is dropped.
pub(super) struct Mapping {
    file: OwnedFd,
    /// Where in the file the mapping starts.
    file_offset: u64,
    /// What was reserved of the address space, to be given back as one.
    reserved: *mut std::ffi::c_void,
    reserved_length: usize,
    pub(super) first: *mut u8,
    length: usize,
    pub(super) writable: bool,
    /// Whether somebody can still write to the file.
    pub(super) may_change: bool,
    _taken: Option<Taken>,
}

// SAFETY: a mapping belongs to no thread. Its address is only used by work on streams, whose
// order is up to whoever queued it, and through buffers.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // Before the address can be anybody else's.
        locked(&MAPPED).remove(&address(self.first));
        // SAFETY: the range was reserved for this mapping alone, and nobody uses it any more.
        let _ = unsafe { mm::munmap(self.reserved, self.reserved_length) };
    }
}

fn address(first: *mut u8) -> u64 {
    as_u64(first.addr())
}

impl Mapping {
    /// Zeroed memory.
    pub(super) fn allocate(
        capacity: &Arc<Capacity>,
        length: usize,
        alignment: Alignment,
    ) -> Result<Arc<Self>> {
        let size = as_u64(length);
        let taken = capacity.take(size)?;
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = fs::memfd_create("hurray-simulated", flags).map_err(refused)?;
        fs::ftruncate(&file, size).map_err(refused)?;
        // Pages that are there cannot be missing when they are touched.
        fs::fallocate(&file, FallocateFlags::empty(), 0, size).map_err(refused)?;
        fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW).map_err(refused)?;
        let align = usize::try_from(alignment.bytes()).unwrap_or(usize::MAX);
        let kind = Kind { writable: true, may_change: false, is_private: false };
        Self::map(file, 0, length, align, kind, Some(taken))
    }

    /// Memory of another process: its mapping, and where in it the memory starts.
    pub(super) fn import(memory: ExportedMemory) -> Result<(Arc<Self>, usize)> {
        let ExportedMemory { handle, offset, length, .. } = memory;
        let no_memory = |field| refuse(Rule::DeviceImport, field, Value::None, Expected::Unsaid);
        let handle = handle.ok_or_else(|| no_memory("handle"))?;
        let seals = fs::fcntl_get_seals(&handle).map_err(|_| no_memory("handle"))?;
        if !seals.contains(SealFlags::SHRINK) {
            // Somebody could take pages away under the feet of who reads them.
            return Err(no_memory("seals"));
        }
        let size = fs::fstat(&handle).map_err(refused)?.st_size;
        let size = u64::try_from(size).unwrap_or(0);
        let end = offset.checked_add(length).filter(|end| *end <= size);
        if end.is_none() {
            let found = Value::Unsigned(size);
            let expected = Expected::AtLeast(offset.saturating_add(length));
            return Err(refuse(Rule::MemorySize, "length", found, expected));
        }
        // A multiple of every page size there is.
        let lead = offset % LARGEST_PAGE;
        let start = offset.saturating_sub(lead);
        let mapped = usize::try_from(length.saturating_add(lead));
        let (Ok(mapped), Ok(lead)) = (mapped, usize::try_from(lead)) else {
            let found = Value::Unsigned(length);
            return Err(refuse(Rule::MemoryTooLarge, "length", found, Expected::Unsaid));
        };
        let is_sealed = seals.contains(SealFlags::WRITE);
        let kind = Kind { writable: false, may_change: !is_sealed, is_private: is_sealed };
        Ok((Self::map(handle, start, mapped, 1, kind, None)?, lead))
    }

    fn map(
        file: OwnedFd,
        file_offset: u64,
        length: usize,
        align: usize,
        kind: Kind,
        taken: Option<Taken>,
    ) -> Result<Arc<Self>> {
        // The system aligns to pages; what is to be aligned further finds its place in more.
        let spare = if align > SMALLEST_PAGE { align } else { 0 };
        let reserved_length = length.checked_add(spare).ok_or_else(|| refused(TOO_MUCH))?;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: the system chooses a place where nothing is.
        let reserved = unsafe {
            mm::mmap_anonymous(ptr::null_mut(), reserved_length, ProtFlags::empty(), flags)
        };
        let reserved = reserved.map_err(refused)?;
        let place = reserved.map_addr(|at| at.checked_next_multiple_of(align).unwrap_or(at));
        let access =
            if kind.writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        // What nobody can write to any more may not be mapped shared on older systems.
        let shared = if kind.is_private { MapFlags::PRIVATE } else { MapFlags::SHARED };
        let flags = shared | MapFlags::FIXED;
        // SAFETY: the range lies inside what was reserved for it just now.
        let mapped = unsafe { mm::mmap(place, length, access, flags, &file, file_offset) };
        if let Err(error) = mapped {
            // SAFETY: it was reserved just now, and nobody uses it.
            let _ = unsafe { mm::munmap(reserved, reserved_length) };
            return Err(refused(error));
        }
        let mapping = Arc::new(Self {
            file,
            file_offset,
            reserved,
            reserved_length,
            first: place.cast(),
            length,
            writable: kind.writable,
            may_change: kind.may_change,
            _taken: taken,
        });
        locked(&MAPPED).insert(address(mapping.first), Arc::downgrade(&mapping));
        Ok(mapping)
    }

    /// The mapping that has these bytes, and where in it they start.
    pub(super) fn of(address: u64, length: u64) -> Option<(Arc<Self>, usize)> {
        let mapping = {
            let mapped = locked(&MAPPED);
            let (_, mapping) = mapped.range(..=address).next_back()?;
            mapping.upgrade()?
        };
        let start = usize::try_from(address).ok()?.checked_sub(mapping.first.addr())?;
        let end = start.checked_add(usize::try_from(length).ok()?)?;
        (end <= mapping.length).then_some((mapping, start))
    }

    /// What is there now, read by the system: it may be written to meanwhile.
    pub(super) fn peek(&self, start: usize, bytes: &mut [u8]) -> Result<()> {
        let offset = self.file_offset.saturating_add(as_u64(start));
        let read = rustix::io::pread(&self.file, &mut *bytes, offset).map_err(refused)?;
        if read == bytes.len() {
            return Ok(());
        }
        Err(Error::io("read device memory", io::ErrorKind::UnexpectedEof.into()))
    }

    /// A handle for another process, which may read it from then on, and not write to it.
    pub(super) fn export(&self) -> Result<(OwnedFd, u64)> {
        if self.writable {
            // What is mapped here for writing stays so.
            fs::fcntl_add_seals(&self.file, SealFlags::FUTURE_WRITE).map_err(refused)?;
        }
        let handle = self.file.try_clone().map_err(|error| Error::io("export memory", error))?;
        Ok((handle, self.file_offset))
    }
}

struct Kind {
    writable: bool,
    may_change: bool,
    is_private: bool,
}

const SMALLEST_PAGE: usize = 4096;
const LARGEST_PAGE: u64 = 1 << 16;
const TOO_MUCH: rustix::io::Errno = rustix::io::Errno::NOMEM;

#[cold]
pub(super) fn refused(error: rustix::io::Errno) -> Error {
    Error::io("use device memory", error.into())
}
