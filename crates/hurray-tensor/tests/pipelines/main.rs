//! Producers and consumers on streams: each wait that orders them is needed, and memory lives
//! for as long as work uses it.

#![cfg(target_os = "linux")]
#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail loudly"
)]
#![allow(unsafe_code, reason = "waits are left out on purpose, and raw events are made")]

mod crossing;
mod failing;
mod holding;
mod host;
mod scene;
mod streams;
