//! Tensors in and out by [DLPack](https://dmlc.github.io/dlpack/latest/) 1.x, and by the older
//! struct without a version.
//!
//! ```text
//! Tensor --Export::share, give--> Exported --into_raw--> consumer, who calls the deleter
//! producer --Foreign::from_raw--> Foreign --import--> Offered<Tensor>, Report
//! ```
//!
//! What we made and what somebody else made are two types: of an [`Exported`] everything can be
//! read, of a [`Foreign`] nothing is believed but its deleter until it is imported.
//!
//! Memory is handed over where it is. Where it cannot be, it is refused by a rule; a copy is made
//! where [`Copying`] names it, and told of in a [`Report`].
//!
//! ```
//! use hurray_tensor::Tensor;
//! use hurray_tensor::dlpack::{Exported, Foreign};
//!
//! let tensor = Tensor::from_vec(vec![1.0_f32, 2.0, 3.0, 4.0], &[2, 2])?;
//! let first = tensor.host_buffers()?[0].as_ptr();
//!
//! let exported: Exported = tensor.try_into()?;
//! let again = Tensor::try_from(Foreign::from(exported))?;
//! assert_eq!(again.host_buffers()?[0].as_ptr(), first);
//! # Ok::<(), hurray_tensor::Error>(())
//! ```

mod copy;
mod device;
mod dtype;
mod export;
mod foreign;
mod handoff;
mod import;
mod managed;
mod parcel;
mod plan;
pub mod raw;
mod stream;
mod strides;

pub use device::{device_of, device_tag, device_type};
pub use dtype::data_type;
pub use export::{Export, Marking};
pub use foreign::Foreign;
pub use handoff::{Copying, Omitted, Others, Reason, Report, Terms};
pub use import::{Import, Imported};
pub use managed::Managed;
pub use parcel::Exported;
pub use stream::StreamOrder;
#[cfg(any(feature = "ndarray", feature = "candle"))]
pub(crate) use strides::layout;

/// The most bytes that a copy may take, unless told otherwise.
const COPY_BYTES: u64 = 1 << 30;
