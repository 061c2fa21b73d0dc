//! Devices: our tag and memory class against DLPack's one number.

use hurray_format::{DeviceTag, Expected, MemoryClass, Rule, Value};

use super::raw::DLDevice;
use crate::error::{Error, Result};
use crate::memory::{Region, refuse};
use crate::tensor::Tensor;

const STANDARD: MemoryClass = MemoryClass::STANDARD;
const PINNED: MemoryClass = MemoryClass::HOST_PINNED;
const UNIFIED: MemoryClass = MemoryClass::UNIFIED;

/// What has one number in DLPack. Of several rows with a number, the first is what the number
/// means when it comes back.
const DEVICES: &[(DeviceTag, MemoryClass, i32)] = &[
    (DeviceTag::CPU, STANDARD, 1),
    (DeviceTag::CPU, PINNED, 1),
    (DeviceTag::CPU, UNIFIED, 1),
    (DeviceTag::CUDA, STANDARD, 2),
    (DeviceTag::CUDA, PINNED, 3),
    (DeviceTag::CUDA, UNIFIED, 13),
    (DeviceTag::ROCM, STANDARD, 10),
    (DeviceTag::ROCM, PINNED, 11),
    (DeviceTag::METAL, STANDARD, 8),
    (DeviceTag::METAL, PINNED, 8),
    (DeviceTag::METAL, UNIFIED, 8),
    (DeviceTag::VULKAN, STANDARD, 7),
    (DeviceTag::VULKAN, PINNED, 7),
    (DeviceTag::VULKAN, UNIFIED, 7),
    (DeviceTag::WEBGPU, STANDARD, 15),
    (DeviceTag::HEXAGON, STANDARD, 16),
    (DeviceTag::HEXAGON, PINNED, 16),
    (DeviceTag::HEXAGON, UNIFIED, 16),
    (DeviceTag::LEVEL_ZERO, STANDARD, 14),
    (DeviceTag::LEVEL_ZERO, PINNED, 14),
    (DeviceTag::LEVEL_ZERO, UNIFIED, 14),
    (DeviceTag::OPENCL, STANDARD, 4),
    (DeviceTag::OPENCL, PINNED, 4),
    (DeviceTag::OPENCL, UNIFIED, 4),
];

/// What `data` is, on a kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handle {
    /// An address that the CPU may look at.
    Host,
    /// An address of the device's own.
    Address,
    /// A driver's object, which has no arithmetic: only `byte_offset` leads into it.
    Object,
}

/// The number that DLPack has for a device and memory class.
///
/// # Errors
///
/// `dlpack.device` for peer memory, private devices, and pairs that DLPack has no number for.
pub fn device_type(tag: DeviceTag, class: MemoryClass) -> Result<i32> {
    let row = DEVICES.iter().find(|row| (row.0, row.1) == (tag, class));
    row.map(|row| row.2).ok_or_else(|| unknown(u64::from(tag.tag())))
}

/// What a number of DLPack's means.
///
/// # Errors
///
/// `dlpack.device`.
pub fn device_tag(device_type: i32) -> Result<(DeviceTag, MemoryClass)> {
    let row = DEVICES.iter().find(|row| row.2 == device_type);
    row.map(|row| (row.0, row.1)).ok_or_else(|| unknown(u64::from(device_type.cast_unsigned())))
}

/// Where a tensor is, in DLPack's words: what `__dlpack_device__` answers.
///
/// # Errors
///
/// As [`device_type`]; `dlpack.device-id`.
pub fn device_of(tensor: &Tensor) -> Result<DLDevice> {
    match tensor.buffers().first() {
        Some(buffer) => device_of_region(&buffer.region()),
        None => {
            Err(refuse(Rule::DlpackLayout, "buffers", Value::Unsigned(0), Expected::Exactly(1)))
        }
    }
}

pub(super) fn device_of_region(region: &Region) -> Result<DLDevice> {
    let device_type = device_type(region.device, region.class)?;
    // The header says 0 for host, pinned and managed memory; 0 is also what is not known.
    let device_id = match handle(device_type) {
        Handle::Host => 0,
        _ if region.ordinal < 0 => 0,
        _ => i32::try_from(region.ordinal).map_err(|_| bad_id(region.ordinal))?,
    };
    Ok(DLDevice { device_type, device_id })
}

/// Which one of its kind is meant; -1 where the header has the producer write 0 whichever it is.
pub(super) fn ordinal(device: DLDevice) -> Result<i64> {
    match device {
        DLDevice { device_id: ..0, .. } => Err(bad_id(i64::from(device.device_id))),
        DLDevice { device_type: 1, .. } => Ok(0),
        DLDevice { device_type: 3 | 11 | 13, device_id: 0 } => Ok(-1),
        DLDevice { device_id, .. } => Ok(i64::from(device_id)),
    }
}

pub(super) fn handle(device_type: i32) -> Handle {
    match device_type {
        1 | 3 | 11 | 13 => Handle::Host,
        4 | 7 | 8 | 15 => Handle::Object,
        _ => Handle::Address,
    }
}

#[cold]
fn unknown(found: u64) -> Error {
    refuse(Rule::DlpackDevice, "device_type", Value::Tag(found), Expected::Unsaid)
}

#[cold]
fn bad_id(found: i64) -> Error {
    refuse(Rule::DlpackDeviceId, "device_id", Value::Signed(found), Expected::Unsaid)
}
