//! What a tensor is and its memory, held together in as little as can be: a descriptor is large, and
//! slow to move or to copy.

#![allow(unsafe_code, reason = "a descriptor may lie in the memory that it came with")]

use std::any::Any;
use std::convert::Infallible;
use std::ptr::NonNull;
use std::sync::Arc;

use hurray_format::{Accept, Descriptor};
use smallvec::SmallVec;

use super::Tensor;
use super::check::strange_lead;
use crate::buffer::Buffer;
use crate::error::Result;
use crate::memory::{Beside, Region};

/// The buffers of a tensor, in table order; as many inline as a quantized dense tensor has.
pub(crate) type Buffers = SmallVec<[Buffer; 3]>;

/// A descriptor and its buffers.
#[derive(Clone)]
pub(super) struct Parts {
    descriptor: Kept,
    /// None of them is ever replaced.
    buffers: Buffers,
}

/// Where the descriptor is.
#[derive(Clone)]
enum Kept {
    Apart(Arc<Descriptor>),
    WithMemory(InMemory),
}

/// A descriptor in the memory of the first of the buffers next to it, which hold it.
#[derive(Clone, Copy)]
struct InMemory(NonNull<Descriptor>);

// SAFETY: a pointer to something constant that may be used from any thread.
unsafe impl Send for InMemory {}
// SAFETY: as above.
unsafe impl Sync for InMemory {}

impl Parts {
    #[inline]
    pub(super) fn new(descriptor: Descriptor, buffers: Buffers) -> Self {
        Self { descriptor: Kept::Apart(Arc::new(descriptor)), buffers }
    }

    #[inline]
    pub(super) fn descriptor(&self) -> &Descriptor {
        match &self.descriptor {
            Kept::Apart(descriptor) => descriptor,
            // SAFETY: it is there and does not change for as long as its memory is held, which one
            // of the buffers does that are borrowed here.
            Kept::WithMemory(InMemory(at)) => unsafe { at.as_ref() },
        }
    }

    #[inline]
    pub(super) fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// Whether nobody else holds the first buffer's memory.
    pub(super) fn is_first_sole(&mut self) -> bool {
        self.buffers.first_mut().is_some_and(Buffer::is_sole)
    }

    /// Where the CPU may write to buffer `place`.
    pub(super) fn host_mut(&mut self, place: usize) -> Option<Result<*mut u8>> {
        self.buffers.get_mut(place).map(Buffer::host_mut)
    }

    /// The two apart, after which the first buffer's memory may be used by whoever holds it alone.
    pub(super) fn split(self) -> (Descriptor, Buffers) {
        let descriptor = match self.descriptor {
            Kept::Apart(descriptor) => Arc::unwrap_or_clone(descriptor),
            Kept::WithMemory(_) => self.descriptor().clone(),
        };
        (descriptor, self.buffers)
    }
}

/// A descriptor that was read where it stays, and whose buffers are still to be checked.
pub(crate) struct Arriving<O>(Beside<O, Descriptor>);

impl<O: Any + Send> Arriving<O> {
    /// Reads a descriptor.
    #[inline(always)]
    pub(crate) fn read(bytes: &[u8], accept: &Accept) -> Result<Self> {
        // SAFETY: what is answered is the place that is given, filled.
        Ok(Self(unsafe { Beside::new(|place| Descriptor::decode_at(bytes, accept, place)) }?))
    }

    #[inline(always)]
    pub(crate) fn descriptor(&self) -> &Descriptor {
        self.0.get()
    }

    pub(crate) fn into_descriptor(self) -> Descriptor {
        self.0.into_inner()
    }

    /// The same, for memory that something else keeps.
    pub(crate) fn for_another<P: Any + Send>(self) -> Arriving<P> {
        // SAFETY: what is answered is the place that is given, filled.
        match unsafe { Beside::new(|place| Ok::<_, Infallible>(place.write(self.0.into_inner()))) }
        {
            Ok(beside) => Arriving(beside),
        }
    }

    /// The tensor of a stranger's buffers, which were checked against their handles and are ready.
    /// The first begins at a multiple of 64 or is none, and is kept by `owner`: it is one
    /// allocation with the descriptor.
    #[inline(always)]
    pub(crate) fn finish(
        self,
        region: Region,
        owner: O,
        others: impl Iterator<Item = Buffer>,
    ) -> Tensor {
        let lead = strange_lead(self.descriptor(), 0);
        let (memory, at) = self.0.finish(region, lead, owner);
        let mut buffers = Buffers::new();
        buffers.push(Buffer::whole(memory));
        buffers.extend(others);
        Tensor(Parts { descriptor: Kept::WithMemory(InMemory(at)), buffers })
    }
}
