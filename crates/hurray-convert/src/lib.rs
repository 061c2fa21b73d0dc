#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub use hurray_tensor as tensor;
pub use hurray_tensor::format;

mod error;
mod file;
mod piece;
mod report;
mod rewrite;
mod safetensors;
mod save;
mod stream;

pub use self::safetensors::{
    Difference, HeaderFault, SafetensorsOptions, SafetensorsSource, ShardFault,
    hurray_to_safetensors, safetensors_to_hurray,
};
pub use error::{Error, Reason, Refusal, Result};
pub use report::{Alias, Change, Changed, Names, Report, Transcoded};
pub use rewrite::rewrite;
pub use save::{ConvertOptions, Progress, save};
pub use stream::{StreamSource, hurray_to_stream, stream_to_hurray};
