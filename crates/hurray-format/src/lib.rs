#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod accept;
mod buffer;
mod composite;
mod contents;
mod crc32c;
mod descriptor;
mod dtype;
mod error;
mod file;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod layout;
mod limits;
mod quant;
mod rules;
mod shape;
mod stream;
mod wire;

pub use accept::Accept;
pub use buffer::{BufferHandle, DeviceTag, MIN_ALIGNMENT, MemoryClass, SyncMode};
pub use composite::{Composite, bind};
pub use contents::Contents;
pub use crc32c::{Checksum, crc32c};
pub use descriptor::{
    Descriptor, DescriptorBuilder, DescriptorRef, ExtensionType, FloatFormat, Foreign, HEADER_LEN,
    MAGIC, MemberRole, Permissive, RawStatistics, Shard, Statistics, StatisticsValues,
    VERSION_MAJOR,
};
pub use dtype::{Dtype, Kind, Location, PrivateDtype};
pub use error::{Error, Expected, Result, Value};
pub use file::{
    ALIAS_KEY, CHECKSUM_KEY, Container, DATA_ALIGNMENT, Entry, FILE_HEADER_LEN, FILE_MAGIC,
    FILE_TRAILER_LEN, FileBytes, FileHeader, FileOptions, FilePlan, FileView, Gap, Index, Kv,
    KvArray, KvKind, KvValue, Placement, RESERVED_KEYS, SEQUENCE_LENGTHS_KEY, Sections, TensorPlan,
    TensorView, Trailer,
};
pub use layout::tag as layout_tag;
pub use layout::{
    BlockPaged, CompositeHead, Composition, Compressed, Coo, Csf, Entries, Hilbert, KvRole, Layout,
    LayoutKind, Morton, Order, PrivateLayout, TileLevel, Tiled,
};
pub use limits::Limits;
pub use quant::tag as scheme_tag;
pub use quant::{Mxfp, NF4_TABLE, Nf4, PerBlock, PerChannel, PerTensor, Quantization};
pub use rules::{Fault, Rule};
pub use shape::DYNAMIC;
pub use stream::{LENGTH_PREFIX, StreamTensor, StreamView};
pub use wire::{
    Array, Borrowed, Field, Item, List, Number, Owned, Recording, Silent, Storage, Trace, WireArray,
};
