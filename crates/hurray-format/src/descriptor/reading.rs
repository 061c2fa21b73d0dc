//! The ways to read a descriptor: in place, kept, and as a relay does. The decoder is generic over
//! them, so that each gets its result where it wants it, without moves.

use core::mem::{self, MaybeUninit};

use super::head::Head;
use super::{Descriptor, DescriptorRef, Foreign, Permissive};
use crate::buffer::BufferHandle;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::layout::{Layout, LayoutKind};
use crate::quant::Quantization;
use crate::wire::{Borrowed, WireArray};

/// What becomes of a descriptor that was read in place.
pub(super) trait Reading<'a> {
    /// Whether a tag that is not known is stepped over.
    const PERMISSIVE: bool = false;
    type Read;
    type Error: From<Error>;
    /// Takes the descriptor and its scheme, which are not looked at again.
    fn known(
        self,
        descriptor: &mut DescriptorRef<'a>,
        scheme: &mut Scheme<'a>,
    ) -> Result<Self::Read, Self::Error>;
    fn foreign(self, foreign: Foreign<'a>) -> Result<Self::Read, Self::Error>
    where
        Self: Sized,
    {
        Err(foreign.reason().into())
    }
}

/// The quantization of a descriptor being read. It is not moved into the descriptor before
/// the end: a value that was just written is slow to move.
pub(super) type Scheme<'a> = Option<Quantization<Borrowed<'a>>>;

/// It is given as it is.
pub(super) struct InPlace;
/// It is given as it is, where its buffers are what somebody expects.
pub(super) struct Matched<F>(pub(super) F);
/// It gets arrays of its own.
pub(super) struct Kept;
/// It gets arrays of its own, in somebody's place for it.
pub(super) struct Placed<'p>(pub(super) &'p mut MaybeUninit<Descriptor>);
/// As it is, or as what is known of it.
pub(super) struct Permissively;

impl<'a> Reading<'a> for InPlace {
    type Read = DescriptorRef<'a>;
    type Error = Error;
    #[inline(always)]
    fn known(
        self,
        descriptor: &mut DescriptorRef<'a>,
        scheme: &mut Scheme<'a>,
    ) -> Result<Self::Read> {
        Ok(descriptor.take(scheme))
    }
}

impl<'a, E: From<Error>, F> Reading<'a> for Matched<F>
where
    F: FnOnce(WireArray<'a, BufferHandle>, LayoutKind) -> Result<(), E>,
{
    type Read = DescriptorRef<'a>;
    type Error = E;
    #[inline(always)]
    fn known(
        self,
        descriptor: &mut DescriptorRef<'a>,
        scheme: &mut Scheme<'a>,
    ) -> Result<Self::Read, E> {
        self.0(descriptor.buffers, descriptor.layout.kind())?;
        Ok(descriptor.take(scheme))
    }
}

impl<'a> Reading<'a> for Kept {
    type Read = Descriptor;
    type Error = Error;
    #[inline(always)]
    fn known(
        self,
        descriptor: &mut DescriptorRef<'a>,
        scheme: &mut Scheme<'a>,
    ) -> Result<Self::Read> {
        Ok(descriptor.kept(scheme))
    }
}

impl<'a, 'p> Reading<'a> for Placed<'p> {
    type Read = &'p mut Descriptor;
    type Error = Error;
    #[inline(always)]
    fn known(
        self,
        descriptor: &mut DescriptorRef<'a>,
        scheme: &mut Scheme<'a>,
    ) -> Result<Self::Read> {
        Ok(self.0.write(descriptor.kept(scheme)))
    }
}

impl<'a> Reading<'a> for Permissively {
    const PERMISSIVE: bool = true;
    type Read = Permissive<'a>;
    type Error = Error;
    fn known(
        self,
        descriptor: &mut DescriptorRef<'a>,
        scheme: &mut Scheme<'a>,
    ) -> Result<Self::Read> {
        Ok(Permissive::Known(descriptor.take(scheme)))
    }
    fn foreign(self, foreign: Foreign<'a>) -> Result<Self::Read> {
        Ok(Permissive::Foreign(foreign))
    }
}

impl<'a> DescriptorRef<'a> {
    /// Row-major, with no optional section.
    #[inline(always)]
    pub(super) fn plain(
        head: Head,
        dtype: Dtype,
        shape: WireArray<'a, u64>,
        byte_offset: u64,
        buffers: WireArray<'a, BufferHandle>,
    ) -> Self {
        Descriptor {
            head,
            dtype,
            shape,
            byte_offset,
            layout: Layout::RowMajor,
            buffers,
            quantization: None,
            shard: None,
            statistics: None,
            member: None,
        }
    }

    /// The descriptor, leaving a plain layout that owns nothing behind.
    #[inline(always)]
    fn take(&mut self, scheme: &mut Scheme<'a>) -> Self {
        Descriptor {
            head: self.head,
            dtype: self.dtype,
            shape: self.shape,
            byte_offset: self.byte_offset,
            layout: mem::replace(&mut self.layout, Layout::RowMajor),
            buffers: self.buffers,
            quantization: scheme.take(),
            shard: self.shard.take(),
            statistics: self.statistics.take(),
            member: self.member,
        }
    }
}
