//! safetensors: eight bytes of length, a header in JSON, the data of all tensors without a
//! gap.

mod boolean;
mod difference;
mod dtype;
mod export;
mod header;
mod import;
mod metadata;
mod shards;
mod source;

pub use difference::Difference;
pub use export::hurray_to_safetensors;
pub use header::HeaderFault;
pub use import::safetensors_to_hurray;
pub use shards::ShardFault;
pub use source::{SafetensorsOptions, SafetensorsSource};
