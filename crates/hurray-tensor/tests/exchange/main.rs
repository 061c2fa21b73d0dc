//! Tensors handed over by the structs of `hurray_abi.h`, between Rust, C and C++.

#![cfg(target_os = "linux")]
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may fail loudly"
)]

mod alone;
mod below;
mod compile;
mod copies;
mod device;
mod from_them;
mod in_order;
mod layout;
mod library;
mod longer;
mod producers;
mod read_only;
mod refused;
mod strangers;
mod to_them;
mod unrequested;
