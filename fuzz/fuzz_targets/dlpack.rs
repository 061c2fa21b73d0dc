//! DLPack's structs, made of the parts that the bytes say.
#![no_main]

#[path = "../../crates/hurray-tensor/tests/support/choice.rs"]
mod choice;
#[path = "../../crates/hurray-tensor/tests/dlpack/parts.rs"]
mod parts;
#[path = "../../crates/hurray-tensor/tests/dlpack/producer.rs"]
mod producer;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    parts::run_any(&mut choice::Given(data));
});
