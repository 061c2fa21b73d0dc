//! Tensors that are alive: a descriptor and the memory it speaks of, checked as a pair.

pub(crate) mod bits;
mod borrowed;
pub(crate) mod check;
mod composite;
mod copied;
mod elements;
mod entries;
mod made;
mod pages;
mod parts;
mod places;
mod typed;
pub(crate) mod view;
mod walk;

pub use bits::Bits;
pub use borrowed::TensorRef;
pub use composite::Composite;
pub use elements::Elements;
pub use entries::Entries;
pub use pages::{Pages, TokenBits, Tokens};
pub(crate) use parts::{Arriving, Buffers};
pub use view::Cut;

use std::fmt;

use hurray_format::{BufferHandle, Descriptor, Dtype, Layout, SyncMode};
use smallvec::SmallVec;

use crate::buffer::{Buffer, BufferMut, HostBuffer};
use crate::element::Element;
use crate::error::Result;
use crate::memory::READY;
use crate::offered::Held;
use parts::Parts;

/// A tensor: what it is, and its memory, on the host or on a device.
///
/// The two are checked as a pair when they meet. Whatever had to be waited for before the
/// memory may be used has been waited for, so that every handle says `producer-synced`; a
/// tensor that must still be waited for is an [`Offered`](crate::Offered) one.
///
/// It is cheap to clone and to move: clones share the descriptor as they share memory.
///
/// ```
/// use hurray_tensor::Tensor;
///
/// let tensor = Tensor::from_vec(vec![1_i32, 2, 3, 4, 5, 6], &[2, 3])?;
/// assert_eq!(tensor.descriptor().shape(), [2, 3]);
/// assert_eq!(tensor.buffers().len(), 1);
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
#[derive(Clone)]
pub struct Tensor(Parts);

impl Tensor {
    /// A tensor of buffers in table order. Memory may be longer than its handle says; what
    /// is beyond is left out.
    ///
    /// Index arrays, scales and zero points are not looked at: see
    /// [`check_contents`](Self::check_contents).
    ///
    /// # Errors
    ///
    /// `memory.count`; `memory.size` for memory shorter than its handle says;
    /// `memory.device` for memory of another device or class; `memory.address-misaligned`;
    /// `memory.unaligned` and `memory.before-start` for adopted memory that does not start at
    /// a multiple of 64.
    pub fn new(descriptor: Descriptor, buffers: impl IntoIterator<Item = Buffer>) -> Result<Self> {
        // One more than there should be is enough to be refused.
        let most = descriptor.buffer_count().saturating_add(1);
        let mut buffers: Buffers = buffers.into_iter().take(most).collect();
        check::pair(&descriptor, &mut buffers)?;
        Self::paired(descriptor, buffers)
    }

    /// A descriptor and buffers that were checked as a pair.
    pub(crate) fn paired(descriptor: Descriptor, buffers: Buffers) -> Result<Self> {
        let ready = std::iter::repeat(SyncMode::PRODUCER_SYNCED);
        Ok(Self(Parts::new(descriptor.with_sync(ready)?, buffers)))
    }

    /// A tensor that was read: whatever device it was on before, and however aligned, it is in
    /// these buffers of the host now.
    pub(crate) fn read(descriptor: Descriptor, buffers: Buffers) -> Result<Self> {
        let here = |handle: &BufferHandle, buffer: &Buffer| -> Result<BufferHandle> {
            // An empty buffer may be aligned to anything.
            let alignment = match handle.byte_size() {
                0 => handle.alignment(),
                _ => handle.alignment().min(buffer.alignment()),
            };
            let (device, class) = (buffer.device(), buffer.class());
            Ok(BufferHandle::new(handle.byte_size(), alignment, device, READY, class)?)
        };
        let handles = descriptor.buffers().iter().zip(&buffers);
        let handles = handles.map(|(handle, buffer)| here(handle, buffer));
        let handles: SmallVec<[BufferHandle; 3]> = handles.collect::<Result<_>>()?;
        if descriptor.buffers().starts_with(&handles) {
            return Self::new(descriptor, buffers);
        }
        Self::new(descriptor.rebuild().buffers(handles).build()?, buffers)
    }

    /// A row-major tensor that fills `buffer` from its first byte on.
    ///
    /// # Errors
    ///
    /// The rules of `descriptor.*` and `layout.*`, such as `layout.buffer-too-small`; those
    /// of [`new`](Self::new).
    pub fn dense(dtype: Dtype, shape: &[u64], buffer: Buffer) -> Result<Self> {
        Self::laid_out(dtype, shape, Layout::RowMajor, 0, buffer)
    }

    /// A dense tensor of any layout, whose element [0, …, 0] is `byte_offset` bytes behind
    /// the first byte of `buffer`. The descriptor counts it from the multiple of 64 below.
    ///
    /// # Errors
    ///
    /// As [`dense`](Self::dense).
    pub fn laid_out(
        dtype: Dtype,
        shape: &[u64],
        layout: Layout,
        byte_offset: u64,
        buffer: Buffer,
    ) -> Result<Self> {
        let descriptor = Descriptor::builder(dtype, shape)
            .layout(layout)
            .byte_offset(byte_offset.saturating_add(buffer.lead()))
            .buffers([buffer.handle()?])
            .build()?;
        Self::new(descriptor, [buffer])
    }

    /// A row-major tensor of the elements of a vector, where they are.
    ///
    /// # Errors
    ///
    /// `layout.buffer-too-small` where the shape has more elements than there are.
    pub fn from_vec<T: Element>(elements: Vec<T>, shape: &[u64]) -> Result<Self> {
        Self::dense(T::DTYPE, shape, BufferMut::from_vec(elements)?.freeze())
    }

    /// What it is.
    pub fn descriptor(&self) -> &Descriptor {
        self.0.descriptor()
    }

    /// Its memory, in table order: the layout's own buffers, then quantization parameters.
    pub fn buffers(&self) -> &[Buffer] {
        self.0.buffers()
    }

    /// Whether nobody else holds the memory of its first buffer.
    pub(crate) fn is_first_sole(&mut self) -> bool {
        self.0.is_first_sole()
    }

    /// The two apart.
    pub fn into_parts(self) -> (Descriptor, impl ExactSizeIterator<Item = Buffer>) {
        let (descriptor, buffers) = self.0.split();
        (descriptor, buffers.into_iter())
    }

    /// Checks what the memory must hold: index arrays in bounds and in order, scales and zero
    /// points in range. Tensors out of files, and those that other libraries hand over, were looked
    /// at when they were taken, unless somebody trusted them.
    ///
    /// # Errors
    ///
    /// The rules of `sparse.*` and of `quant.*` values; `memory.not-host` and
    /// `memory.may-change` for memory that cannot be looked at.
    pub fn check_contents(&self) -> Result<()> {
        check::contents(self, |_| 0)
    }
}

impl Held for Tensor {
    type OnHost = Self;

    fn each_buffer(&self, see: &mut dyn FnMut(&Buffer)) {
        self.buffers().iter().for_each(see);
    }

    fn on_host(self) -> Result<Self> {
        self.buffers().iter().try_for_each(Buffer::check_host)?;
        Ok(self)
    }

    fn check_held(&self) -> Result<()> {
        self.check_contents()
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let d = self.descriptor();
        let layout = d.layout().name();
        write!(f, "Tensor({} {:?} {layout}, {:?})", d.dtype(), d.shape(), self.buffers())
    }
}

impl Tensor {
    /// Its buffers as bytes of the host, in table order.
    ///
    /// # Errors
    ///
    /// `memory.not-host`, `memory.may-change`.
    pub fn host_buffers(&self) -> Result<Vec<HostBuffer>> {
        let host = |buffer: &Buffer| buffer.clone().into_host().map_err(|returned| returned.error);
        self.buffers().iter().map(host).collect()
    }
}
