//! Streams: what a consumer may name, and what the producer owes it.

#![allow(unsafe_code, reason = "the stream that a consumer named is adopted by its number")]

use hurray_format::{DeviceTag, Expected, Rule, Value};

use crate::device::Devices;
use crate::error::Result;
use crate::memory::{Region, refuse};
use crate::offered::{DeclaredStream, Fence};

/// What a consumer's `stream` asks of the producer, by the kind of device:
///
/// | | `None` | −1 | 0 | 1 | 2 | above |
/// |---|---|---|---|---|---|---|
/// | CPU and what has no row here | `Ready` | refused | refused | refused | refused | refused |
/// | CUDA, its pinned and managed memory | `Stream(1)` | `ByConsumer` | refused | `Stream(1)` | `Stream(2)` | `Stream` |
/// | ROCm and its pinned memory | `Stream(0)` | `ByConsumer` | `Stream(0)` | refused | refused | `Stream` |
///
/// CUDA's 1 is the legacy default stream and 2 the one of each thread, as the driver numbers
/// them; ROCm's default stream is 0.
///
/// ```
/// use hurray_tensor::dlpack::StreamOrder;
/// let (cpu, cuda) = (1, 2);
/// assert_eq!(StreamOrder::asked(cuda, None)?, StreamOrder::Stream(1));
/// assert_eq!(StreamOrder::asked(cuda, Some(-1))?, StreamOrder::ByConsumer);
/// assert_eq!(StreamOrder::asked(cpu, None)?, StreamOrder::Ready);
/// assert!(StreamOrder::asked(cpu, Some(7)).is_err());
/// # Ok::<(), hurray_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamOrder {
    /// No stream is involved: the bytes are there when they are handed over.
    #[default]
    Ready,
    /// The consumer sees to the order by itself; nobody waits for anything.
    ByConsumer,
    /// What is queued on this stream later runs after the producer's work.
    Stream(u64),
}

impl StreamOrder {
    /// What `stream`, as it is given to `__dlpack__`, asks for on that kind of device.
    ///
    /// # Errors
    ///
    /// `dlpack.stream` where the table refuses.
    pub fn asked(device_type: i32, stream: Option<i64>) -> Result<Self> {
        match (device_type, stream) {
            (2 | 3 | 13, None) => Ok(Self::Stream(1)),
            (2 | 3 | 13, Some(1..)) | (10 | 11, Some(0 | 3..)) => {
                Ok(Self::Stream(stream.unwrap_or(0).unsigned_abs()))
            }
            (10 | 11, None) => Ok(Self::Stream(0)),
            (2 | 3 | 10 | 11 | 13, Some(-1)) => Ok(Self::ByConsumer),
            (_, None) => Ok(Self::Ready),
            (_, Some(found)) => {
                let expected = Expected::OneOf(expected(device_type));
                Err(refuse(Rule::DlpackStream, "stream", Value::Signed(found), expected))
            }
        }
    }

    /// What a consumer that asked for this has still to wait for.
    pub(super) fn fence(self, region: &Region, devices: Option<&Devices>) -> Fence {
        match self {
            Self::Stream(handle) if region.device != DeviceTag::CPU => {
                let find = |devices: &Devices| {
                    devices.find(region.device, region.ordinal, &region.uuid).cloned()
                };
                let (tag, device) = (region.device, devices.and_then(find));
                // SAFETY: the stream that the consumer itself named, which whoever takes a tensor
                // promises to keep open.
                Fence::Stream(unsafe { DeclaredStream::adopt(tag, device, handle) })
            }
            _ => Fence::Synced,
        }
    }
}

fn expected(device_type: i32) -> &'static str {
    match device_type {
        2 | 3 | 13 => "None, -1, 1, 2 or a stream's address",
        10 | 11 => "None, -1, 0 or a stream's address",
        _ => "None: there are no streams",
    }
}
