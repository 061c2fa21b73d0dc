//! Structs of the exchange that are broken as the bytes say.
#![no_main]

#[path = "../../crates/hurray-tensor/tests/mutated/broken/mod.rs"]
mod broken;

libfuzzer_sys::fuzz_target!(|data: &[u8]| broken::run_any(&mut broken::choice::Given(data)));
