//! The command as people and programs meet it: arguments in, output and exit code out.

#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::expect_used,
    reason = "a test may fail loudly"
)]

mod cat;
mod convert;
mod damaged;
mod demo;
mod explain;
mod help;
mod hex;
mod inspect;
mod ls;
mod pipes;
mod support;
mod verify;
