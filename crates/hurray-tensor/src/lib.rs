#![doc = include_str!("../README.md")]

pub use hurray_format as format;

#[cfg(any(feature = "ndarray", feature = "candle"))]
mod adapt;
mod buffer;
pub mod device;
pub mod dlpack;
mod element;
mod error;
mod exact;
#[cfg(target_pointer_width = "64")]
pub mod exchange;
mod file;
#[cfg(doctest)]
mod forbidden;
mod memory;
mod offered;
mod stream;
mod tensor;

pub use buffer::{Buffer, BufferMut, DeviceMemory, HostBuffer, Returned, SharedBytes, Unfilled};
pub use element::Element;
pub use error::{Error, Place, Result};
pub use file::{Access, AtomicFile, File, FileTensor, FileWriter, OpenOptions, WriteOptions, save};
#[cfg(loom)]
#[doc(hidden)]
pub use memory::weaken;
pub use memory::{Alignment, Region};
pub use offered::{Crossing, DeclaredStream, ExportedBuffer, Exports, Fence, Held, Offered, Ready};
pub use stream::{StreamReader, StreamTensor, StreamWriter};
pub use tensor::{
    Bits, Composite, Cut, Elements, Entries, Pages, Tensor, TensorRef, TokenBits, Tokens,
};

/// The examples of the README and the guides are compiled and run with the others.
#[cfg(doctest)]
mod examples {
    #[doc = include_str!("../../../README.md")]
    mod readme {}
    #[doc = include_str!("../../../docs/guide/dlpack.md")]
    mod dlpack {}
    #[doc = include_str!("../../../docs/guide/files.md")]
    mod files {}
    #[doc = include_str!("../../../docs/guide/c.md")]
    mod c {}
    #[cfg(target_os = "linux")]
    #[doc = include_str!("../../../docs/guide/devices.md")]
    mod devices {}
    // `cargo xtask test adapters` runs this one: two of its programs need other crates.
    #[cfg(all(feature = "ndarray", feature = "candle"))]
    #[doc = include_str!("../../../docs/guide/tensors.md")]
    mod tensors {}
}
