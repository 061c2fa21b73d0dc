#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hurray_format::fuzzing::descriptor(data));
