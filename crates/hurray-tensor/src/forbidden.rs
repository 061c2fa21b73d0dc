//! What the types forbid. Each example that must not compile stands behind one that does and
//! differs in little, so that it fails for its reason and not for another. `cargo xtask test
//! forbidden` compares the codes of the errors, which a stable `cargo test` does not.

mod memory;

/// An offer is not read: it is waited for first.
///
/// ```
/// use hurray_tensor::{Buffer, BufferMut, Offered};
/// let offered: Offered<Buffer> = Offered::synced(BufferMut::zeroed(64)?.freeze());
/// let bytes = offered.acquire_host()?;
/// assert_eq!(bytes[0], 0);
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
///
/// ```compile_fail,E0608
/// use hurray_tensor::{Buffer, BufferMut, Offered};
/// let offered: Offered<Buffer> = Offered::synced(BufferMut::zeroed(64)?.freeze());
/// assert_eq!(offered[0], 0);
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
///
/// ```compile_fail,E0599
/// use hurray_tensor::{Buffer, BufferMut, Offered};
/// let offered: Offered<Buffer> = Offered::synced(BufferMut::zeroed(64)?.freeze());
/// assert_eq!(offered.host_bytes()?[0], 0);
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
///
/// ```compile_fail,E0616
/// use hurray_tensor::{Buffer, BufferMut, Offered};
/// let offered: Offered<Buffer> = Offered::synced(BufferMut::zeroed(64)?.freeze());
/// assert_eq!(offered.value.host_bytes()?[0], 0);
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
///
/// It is waited for once.
///
/// ```compile_fail,E0382
/// use hurray_tensor::{Buffer, BufferMut, Offered};
/// let offered: Offered<Buffer> = Offered::synced(BufferMut::zeroed(64)?.freeze());
/// let bytes = offered.acquire_host()?;
/// let again = offered.acquire_host()?;
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
struct AnOffer;

/// What is ready for streams is for streams, not for the host.
///
/// ```
/// use hurray_tensor::{BufferMut, Ready};
/// let ready = Ready::everywhere(BufferMut::zeroed(64)?.freeze());
/// assert_eq!(ready.finish()?.host_bytes()?[0], 0);
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
///
/// ```compile_fail,E0608
/// use hurray_tensor::{BufferMut, Ready};
/// let ready = Ready::everywhere(BufferMut::zeroed(64)?.freeze());
/// assert_eq!(ready[0], 0);
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
///
/// ```compile_fail,E0599
/// use hurray_tensor::{BufferMut, Ready};
/// let ready = Ready::everywhere(BufferMut::zeroed(64)?.freeze());
/// assert_eq!(ready.host_bytes()?[0], 0);
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
struct WhatIsReady;

/// Memory is not written to once it is frozen.
///
/// ```
/// use hurray_tensor::BufferMut;
/// let mut memory = BufferMut::zeroed(64)?;
/// memory[0] = 1;
/// let buffer = memory.freeze();
/// let host = buffer.into_host().unwrap();
/// assert_eq!(host[0], 1);
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
///
/// ```compile_fail,E0382
/// use hurray_tensor::BufferMut;
/// let mut memory = BufferMut::zeroed(64)?;
/// let buffer = memory.freeze();
/// memory[0] = 1;
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
///
/// ```compile_fail,E0505
/// use hurray_tensor::BufferMut;
/// let mut memory = BufferMut::zeroed(64)?;
/// let first = &mut memory[0];
/// let buffer = memory.freeze();
/// *first = 1;
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
///
/// ```compile_fail,E0594
/// use hurray_tensor::BufferMut;
/// let mut memory = BufferMut::zeroed(64)?;
/// let mut host = memory.freeze().into_host().unwrap();
/// host[0] = 1;
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
struct FrozenMemory;

/// Memory that is written to has one holder.
///
/// ```
/// use hurray_tensor::BufferMut;
/// let memory = BufferMut::zeroed(64)?.freeze();
/// let shared = memory.clone();
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
///
/// ```compile_fail,E0599
/// use hurray_tensor::BufferMut;
/// let memory = BufferMut::zeroed(64)?;
/// let shared = memory.clone();
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
///
/// ```compile_fail,E0599
/// use hurray_tensor::{BufferMut, DeviceMemory};
/// let memory = DeviceMemory::from(BufferMut::zeroed(64)?);
/// let shared = memory.clone();
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
struct OneHolder;

/// What a device copies into is the device's until somebody has waited.
///
/// ```
/// use hurray_tensor::device::{Devices, Stream};
/// use hurray_tensor::{BufferMut, DeviceMemory, Ready};
/// let devices = Devices::default();
/// let stream = Stream::open(devices.iter().next().unwrap())?;
/// let source = Ready::everywhere(BufferMut::zeroed(64)?.freeze());
/// let target = DeviceMemory::from(BufferMut::zeroed(64)?);
/// let offered = stream.copy(&source, target)?;
/// let bytes = offered.acquire_host()?;
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
///
/// ```compile_fail,E0382
/// use hurray_tensor::device::{Devices, Stream};
/// use hurray_tensor::{BufferMut, DeviceMemory, Ready};
/// let devices = Devices::default();
/// let stream = Stream::open(devices.iter().next().unwrap())?;
/// let source = Ready::everywhere(BufferMut::zeroed(64)?.freeze());
/// let target = DeviceMemory::from(BufferMut::zeroed(64)?);
/// let offered = stream.copy(&source, target)?;
/// let bytes = target.freeze();
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
struct ATarget;

/// Bytes are not looked at after their memory was released.
///
/// ```
/// use hurray_tensor::BufferMut;
/// let buffer = BufferMut::zeroed(64)?.freeze();
/// let bytes = buffer.host_bytes()?;
/// assert_eq!(bytes[0], 0);
/// drop(buffer);
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
///
/// ```compile_fail,E0505
/// use hurray_tensor::BufferMut;
/// let buffer = BufferMut::zeroed(64)?.freeze();
/// let bytes = buffer.host_bytes()?;
/// drop(buffer);
/// assert_eq!(bytes[0], 0);
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
struct ReleasedMemory;

/// D35: whoever brings an address promises in so many words that something is there.
///
/// ```
/// use hurray_tensor::{Buffer, Region};
/// let mut bytes = [0_u8; 64];
/// let region = Region::host(bytes.as_mut_ptr(), 64);
/// // SAFETY: the array outlives the buffer, and nobody else uses it meanwhile.
/// let buffer = unsafe { Buffer::adopt(region, || ()) }?;
/// # drop(buffer);
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
///
/// ```compile_fail,E0133
/// use hurray_tensor::{Buffer, Region};
/// let mut bytes = [0_u8; 64];
/// let region = Region::host(bytes.as_mut_ptr(), 64);
/// let buffer = Buffer::adopt(region, || ())?;
/// # drop(buffer);
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
///
/// So does whoever brings a stream or an event by its number,
///
/// ```compile_fail,E0133
/// use hurray_tensor::device::{Devices, Stream};
/// let devices = Devices::default();
/// let stream = Stream::adopt(devices.iter().next().unwrap().clone(), 1);
/// ```
///
/// ```compile_fail,E0133
/// use hurray_tensor::device::{Devices, Event, EventKind, RawEvent};
/// let devices = Devices::default();
/// let raw = RawEvent { kind: EventKind::Binary, handle: 1, value: 0 };
/// let event = Event::adopt(devices.iter().next().unwrap().clone(), raw);
/// ```
///
/// ```compile_fail,E0133
/// use hurray_tensor::{DeclaredStream, Fence, format::DeviceTag};
/// let fence = Fence::Stream(DeclaredStream::adopt(DeviceTag::CUDA, None, 1));
/// ```
///
/// and whoever says that something is a device.
///
/// ```compile_fail,E0200
/// use hurray_tensor::device::{Device, Identity};
/// #[derive(Debug)]
/// struct Mine(Identity);
/// impl Device for Mine {
///     fn identity(&self) -> &Identity {
///         &self.0
///     }
///     # fn classes(&self) -> &[hurray_tensor::format::MemoryClass] { &[] }
///     # fn host_can_read(&self, _: hurray_tensor::format::MemoryClass) -> bool { false }
///     # fn allocate(
///     #     &self,
///     #     _: u64,
///     #     _: hurray_tensor::Alignment,
///     #     _: hurray_tensor::format::MemoryClass,
///     # ) -> hurray_tensor::Result<hurray_tensor::DeviceMemory> { todo!() }
///     # fn open_stream(&self) -> hurray_tensor::Result<u64> { todo!() }
///     # unsafe fn close_stream(&self, _: u64) {}
///     # unsafe fn copy(
///     #     &self,
///     #     _: u64,
///     #     _: &hurray_tensor::Region,
///     #     _: &hurray_tensor::Region,
///     # ) -> hurray_tensor::Result<()> { todo!() }
///     # unsafe fn record(
///     #     &self,
///     #     _: u64,
///     #     _: hurray_tensor::device::EventKind,
///     # ) -> hurray_tensor::Result<hurray_tensor::device::RawEvent> { todo!() }
///     # unsafe fn wait(
///     #     &self,
///     #     _: u64,
///     #     _: hurray_tensor::device::RawEvent,
///     # ) -> hurray_tensor::Result<()> { todo!() }
///     # unsafe fn wait_on_host(
///     #     &self,
///     #     _: hurray_tensor::device::RawEvent,
///     # ) -> hurray_tensor::Result<()> { todo!() }
///     # unsafe fn release_event(&self, _: hurray_tensor::device::RawEvent) {}
///     # unsafe fn call(
///     #     &self,
///     #     _: u64,
///     #     _: Box<dyn FnOnce() + Send>,
///     # ) -> hurray_tensor::Result<()> { todo!() }
/// }
/// ```
struct APromise;

/// What is held is known to this library alone: nobody else says what an offer's buffers are.
///
/// ```
/// use hurray_tensor::{Buffer, BufferMut, Held};
/// let buffer = BufferMut::zeroed(64)?.freeze();
/// let mut length = 0;
/// buffer.each_buffer(&mut |seen: &Buffer| length += seen.byte_size());
/// assert_eq!(length, 64);
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
///
/// ```compile_fail,E0277
/// use hurray_tensor::{Buffer, Held, Result};
/// #[derive(Clone)]
/// struct Nothing;
/// impl Held for Nothing {
///     type OnHost = Self;
///     fn each_buffer(&self, _: &mut dyn FnMut(&Buffer)) {}
///     fn on_host(self) -> Result<Self> {
///         Ok(self)
///     }
/// }
/// ```
struct WhatIsHeld;
