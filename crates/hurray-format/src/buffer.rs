//! The buffer handle (specification page 01): 16 bytes that say how large a buffer is,
//! where it lives, who may touch it and when.

use core::fmt;

use crate::accept::Accept;
use crate::error::{Error, Expected, Result, Value};
use crate::rules::Rule;
use crate::wire::Wire;

/// Defines an open tag: a byte with named values, and rules of its own for the rest.
macro_rules! tags {
    ($(#[$doc:meta])* $type:ident { $($(#[$item:meta])* $name:ident = $value:literal, $text:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type(u8);

        impl $type {
            $($(#[$item])* pub const $name: Self = Self($value);)*

            /// The value with that tag. Whether the format allows it is judged where it
            /// is used, in a [`BufferHandle`].
            pub const fn from_tag(tag: u8) -> Self {
                Self(tag)
            }

            /// Its byte on the wire.
            pub const fn tag(self) -> u8 {
                self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.0 {
                    $($value => f.write_str($text),)*
                    other => write!(f, "0x{other:02X}"),
                }
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

tags! {
    /// The memory space a buffer resides in. 0xF0–0xFE are private.
    DeviceTag {
        /// Host memory.
        CPU = 0x00, "cpu";
        /// CUDA.
        CUDA = 0x01, "cuda";
        /// ROCm.
        ROCM = 0x02, "rocm";
        /// Metal.
        METAL = 0x03, "metal";
        /// Vulkan.
        VULKAN = 0x04, "vulkan";
        /// WebGPU.
        WEBGPU = 0x05, "webgpu";
        /// Qualcomm Hexagon.
        HEXAGON = 0x06, "hexagon";
        /// Level Zero and oneAPI.
        LEVEL_ZERO = 0x07, "level-zero";
        /// OpenCL.
        OPENCL = 0x08, "opencl";
    }
}

tags! {
    /// Who can touch a buffer without a copy. 0xF0–0xFE are private.
    MemoryClass {
        /// The tagged device alone.
        STANDARD = 0x00, "standard";
        /// The CPU at cache speed and the device over its interconnect.
        HOST_PINNED = 0x01, "host-pinned";
        /// Both, kept coherent by hardware.
        UNIFIED = 0x02, "unified";
        /// An agreed set of peer devices, not the CPU.
        PEER = 0x03, "peer";
    }
}

tags! {
    /// How the producer ordered its writes before the handoff.
    SyncMode {
        /// It waited; the consumer needs nothing.
        PRODUCER_SYNCED = 0x00, "producer-synced";
        /// It recorded an event, which the consumer waits on.
        EVENT = 0x01, "event";
        /// It ordered the stream that the consumer declared.
        CONSUMER_STREAM = 0x02, "consumer-stream";
    }
}

impl DeviceTag {
    /// Whether the tag is in the private range.
    pub const fn is_private(self) -> bool {
        matches!(self.0, 0xF0..=0xFE)
    }

    /// Whether the format pairs this device with that memory class.
    pub const fn pairs_with(self, class: MemoryClass) -> bool {
        // One row a device, one bit a class: STANDARD, HOST_PINNED, UNIFIED, PEER.
        let classes: u8 = match self.0 {
            0x01 | 0x02 | 0x04 | 0x07 => 0b1111,
            0x00 | 0x03 | 0x06 | 0x08 => 0b0111,
            0x05 => 0b0001,
            0xF0..=0xFE => return matches!(class.0, 0x00 | 0xF0..=0xFE),
            _ => return false,
        };
        class.0 < 4 && (classes >> class.0) & 1 == 1
    }
}

/// The least alignment of a buffer that is not empty, in bytes.
pub const MIN_ALIGNMENT: u32 = 64;

/// One entry of the buffer table.
///
/// ```
/// use hurray_format::{BufferHandle, DeviceTag, MemoryClass, Rule, SyncMode};
///
/// let handle = BufferHandle::cpu(192);
/// assert_eq!((handle.alignment(), handle.device()), (64, DeviceTag::CPU));
///
/// // A CPU buffer cannot ask its reader to wait for an event.
/// let refused = BufferHandle::new(192, 64, DeviceTag::CPU, SyncMode::EVENT, MemoryClass::STANDARD);
/// assert_eq!(refused.unwrap_err().rule(), Rule::BufferCpuSync);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct BufferHandle {
    /// As the wire has it; every field is read from here.
    raw: [u8; 16],
}

impl BufferHandle {
    /// The length of a handle on the wire.
    pub const SIZE: usize = 16;

    /// A handle. Private devices are the caller's own here.
    ///
    /// # Errors
    ///
    /// Every rule of page 01.
    pub fn new(
        byte_size: u64,
        alignment: u32,
        device: DeviceTag,
        sync: SyncMode,
        class: MemoryClass,
    ) -> Result<Self> {
        let handle = Self::of(byte_size, alignment, device, sync, class);
        handle.check(0)?;
        Ok(handle)
    }

    /// A producer-synced buffer in host memory, aligned to 64 bytes.
    pub const fn cpu(byte_size: u64) -> Self {
        let (sync, class) = (SyncMode::PRODUCER_SYNCED, MemoryClass::STANDARD);
        Self::of(byte_size, MIN_ALIGNMENT, DeviceTag::CPU, sync, class)
    }

    const fn of(
        byte_size: u64,
        alignment: u32,
        device: DeviceTag,
        sync: SyncMode,
        class: MemoryClass,
    ) -> Self {
        let [s0, s1, s2, s3, s4, s5, s6, s7] = byte_size.to_le_bytes();
        let [a0, a1, a2, a3] = alignment.to_le_bytes();
        let (device, sync, class) = (device.0, sync.0, class.0);
        let raw = [s0, s1, s2, s3, s4, s5, s6, s7, a0, a1, a2, a3, device, sync, class, 0];
        Self { raw }
    }

    /// Reads a handle from its 16 bytes.
    ///
    /// # Errors
    ///
    /// Every rule of page 01; `buffer.length` when there are not 16 bytes;
    /// `buffer.device-private` for a private device that `accept` does not name.
    pub fn decode(bytes: &[u8], accept: &Accept) -> Result<Self> {
        let Ok(raw) = <[u8; Self::SIZE]>::try_from(bytes) else {
            let found = Value::Unsigned(crate::wire::as_offset(bytes.len()));
            let expected = Expected::Exactly(16);
            return Err(Error::new(Rule::BufferLength, "handle", 0, found, expected));
        };
        Self::check_raw(&raw, 0, accept)?;
        Ok(Self { raw })
    }

    /// Its 16 bytes.
    pub fn encode(self) -> [u8; Self::SIZE] {
        self.raw
    }

    /// Reads the handle `offset` bytes into the input.
    #[inline(always)]
    pub(crate) fn check_raw(raw: &[u8; 16], offset: u64, accept: &Accept) -> Result<()> {
        // The common case in one look: host memory, nothing unusual.
        let [.., a0, a1, a2, a3, device, sync, class, reserved] = raw;
        let plain = u32::from_le_bytes([*device, *sync, *class, *reserved]) == 0;
        let alignment = u32::from_le_bytes([*a0, *a1, *a2, *a3]);
        if plain && alignment.is_power_of_two() && alignment >= MIN_ALIGNMENT {
            return Ok(());
        }
        Self { raw: *raw }.check_unusual(offset, accept)
    }

    #[cold]
    fn check_unusual(self, offset: u64, accept: &Accept) -> Result<()> {
        let [.., device, _, _, reserved] = self.raw;
        self.check(offset)?;
        if reserved != 0 {
            let found = Value::Tag(u64::from(reserved));
            let at = offset.saturating_add(15);
            return Err(Error::new(
                Rule::BufferReservedByte,
                "reserved",
                at,
                found,
                Expected::Exactly(0),
            ));
        }
        if self.device().is_private() && !accept.devices.has(device) {
            return Err(refuse(Rule::BufferDevicePrivate, "device_tag", offset, 12, device));
        }
        Ok(())
    }

    fn check(self, offset: u64) -> Result<()> {
        let (device, sync, class) = (self.device(), self.sync(), self.class());
        let alignment = |rule, expected| {
            let found = Value::Unsigned(u64::from(self.alignment()));
            Err(Error::new(rule, "alignment", offset.saturating_add(8), found, expected))
        };
        if !self.alignment().is_power_of_two() {
            let expected = Expected::OneOf("a power of two");
            return alignment(Rule::BufferAlignmentNotPowerOfTwo, expected);
        }
        if self.byte_size() > 0 && self.alignment() < MIN_ALIGNMENT {
            let expected = Expected::AtLeast(u64::from(MIN_ALIGNMENT));
            return alignment(Rule::BufferAlignmentTooSmall, expected);
        }
        let tag = |rule, name, at, found| Err(refuse(rule, name, offset, at, found));
        match device.0 {
            0xFF => return tag(Rule::BufferDeviceInvalid, "device_tag", 12, 0xFF),
            0x09..=0xEF => {
                return tag(Rule::BufferDeviceReserved, "device_tag", 12, device.0);
            }
            _ => {}
        }
        match sync.0 {
            0xFF => return tag(Rule::BufferSyncInvalid, "sync_mode", 13, 0xFF),
            0x03..=0xFE => return tag(Rule::BufferSyncReserved, "sync_mode", 13, sync.0),
            _ => {}
        }
        match class.0 {
            0xFF => return tag(Rule::BufferMemoryClassInvalid, "memory_class", 14, 0xFF),
            0x04..=0xEF => {
                return tag(Rule::BufferMemoryClassReserved, "memory_class", 14, class.0);
            }
            _ => {}
        }
        if !device.pairs_with(class) {
            return tag(Rule::BufferDeviceClassPair, "memory_class", 14, class.0);
        }
        if device == DeviceTag::CPU && sync != SyncMode::PRODUCER_SYNCED {
            return tag(Rule::BufferCpuSync, "sync_mode", 13, sync.0);
        }
        Ok(())
    }

    /// The buffer's length in bytes; 0 is an empty buffer.
    #[inline]
    pub const fn byte_size(&self) -> u64 {
        let [s0, s1, s2, s3, s4, s5, s6, s7, ..] = self.raw;
        u64::from_le_bytes([s0, s1, s2, s3, s4, s5, s6, s7])
    }

    /// The alignment its base address is guaranteed to have, in bytes.
    #[inline]
    pub const fn alignment(&self) -> u32 {
        let [_, _, _, _, _, _, _, _, a0, a1, a2, a3, ..] = self.raw;
        u32::from_le_bytes([a0, a1, a2, a3])
    }

    /// The memory space it resides in.
    pub const fn device(&self) -> DeviceTag {
        let [.., device, _, _, _] = self.raw;
        DeviceTag(device)
    }

    /// How the producer ordered its writes.
    pub const fn sync(&self) -> SyncMode {
        let [.., sync, _, _] = self.raw;
        SyncMode(sync)
    }

    /// Who can touch it without a copy.
    pub const fn class(&self) -> MemoryClass {
        let [.., class, _] = self.raw;
        MemoryClass(class)
    }

    /// The same handle with another sync mode.
    ///
    /// # Errors
    ///
    /// `buffer.sync-*`, `buffer.cpu-sync`.
    pub fn with_sync(self, sync: SyncMode) -> Result<Self> {
        Self::new(self.byte_size(), self.alignment(), self.device(), sync, self.class())
    }
}

impl fmt::Debug for BufferHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufferHandle")
            .field("byte_size", &self.byte_size())
            .field("alignment", &self.alignment())
            .field("device", &self.device())
            .field("sync", &self.sync())
            .field("class", &self.class())
            .finish()
    }
}

#[cold]
fn refuse(rule: Rule, name: &'static str, handle: u64, at: u64, found: u8) -> Error {
    let found = Value::Tag(u64::from(found));
    Error::new(rule, name, handle.saturating_add(at), found, Expected::Unsaid)
}

/// For handles already checked.
impl Wire for BufferHandle {
    type Raw = [u8; 16];
    const SIZE: usize = 16;

    #[inline(always)]
    fn from_raw(raw: Self::Raw) -> Self {
        Self { raw }
    }

    #[inline(always)]
    fn to_raw(self) -> Self::Raw {
        self.raw
    }

    #[inline(always)]
    fn chunks(bytes: &[u8]) -> &[Self::Raw] {
        bytes.as_chunks().0
    }

    #[inline(always)]
    fn chunks_mut(bytes: &mut [u8]) -> &mut [Self::Raw] {
        bytes.as_chunks_mut().0
    }

    fn show(self, _: &'static str, tell: &mut dyn FnMut(&'static str, u64, u64, Value)) {
        tell("byte_size", 0, 8, Value::Unsigned(self.byte_size()));
        tell("alignment", 8, 4, Value::Unsigned(u64::from(self.alignment())));
        tell("device_tag", 12, 1, Value::Tag(u64::from(self.device().0)));
        tell("sync_mode", 13, 1, Value::Tag(u64::from(self.sync().0)));
        tell("memory_class", 14, 1, Value::Tag(u64::from(self.class().0)));
        let [.., reserved] = self.raw;
        tell("reserved", 15, 1, Value::Unsigned(u64::from(reserved)));
    }
}
