//! The Hurray tensor format: bytes to checked values and back.
//!
//! A descriptor says everything about a tensor but its bytes: element type, shape,
//! layout, buffers with their devices and memory classes, quantization. This crate reads
//! and writes descriptors, files and plain streams. Decoding is validation: a value of
//! [`Descriptor`] satisfies every rule of the format, and nothing needs to be checked
//! again.
//!
//! No I/O, no clock, no `unsafe`, no `std`; no panic on any input, and no allocation
//! sized by input that was not checked.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod accept;
mod buffer;
mod descriptor;
mod dtype;
mod error;
mod layout;
mod limits;
mod quant;
mod rules;
mod shape;
mod wire;

pub use accept::Accept;
pub use buffer::{BufferHandle, Device, MIN_ALIGNMENT, MemoryClass, SyncMode};
pub use descriptor::{
    Descriptor, DescriptorBuilder, DescriptorRef, ExtensionType, FloatFormat, Foreign, HEADER_LEN,
    MAGIC, MemberRole, Permissive, RawStatistics, Shard, Statistics, StatisticsValues,
    VERSION_MAJOR,
};
pub use dtype::{Dtype, Kind, Location, PrivateDtype};
pub use error::{Error, Expected, Result, Value};
pub use layout::{
    BlockPaged, CompositeHead, Composition, Compressed, Coo, Csf, Hilbert, KvRole, Layout,
    LayoutKind, Morton, Order, PrivateLayout, TileLevel, Tiled,
};
pub use limits::Limits;
pub use quant::{Mxfp, NF4_TABLE, Nf4, PerBlock, PerChannel, PerTensor, Quantization};
pub use rules::{Fault, Rule};
pub use shape::DYNAMIC;
pub use wire::{
    Array, Borrowed, Field, Item, List, Number, Owned, Recording, Silent, Storage, Trace, WireArray,
};
