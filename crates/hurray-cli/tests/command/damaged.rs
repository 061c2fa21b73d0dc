//! Damaged input: an answer, never a panic, and no file left behind.

use crate::support::*;

/// A file with a bit of everything: key-values, an alias, sparse and quantized tensors.
fn varied() -> Vec<u8> {
    use hurray_tensor::format::{Coo, Descriptor, Dtype, KvValue, Layout, PerTensor, Quantization};
    let folder = folder();
    let path = hurray_file(&folder, "x.hrry", |file| {
        let coo = Layout::Coo(Coo { nnz: 1, is_sorted: true });
        let coo = Descriptor::builder(Dtype::UInt8, &[3, 3]).layout(coo).build()?;
        let scheme = Quantization::PerTensor(PerTensor { scale: 0.5, zero_point: 1 });
        let small = Descriptor::builder(Dtype::Int4, &[4]).quantization(scheme).build()?;
        file.key_value("k", &KvValue::F64(0.5))?;
        file.tensor("sparse", &coo, &[&[9], &[1_u64, 2].map(u64::to_le_bytes).concat()])?;
        file.tensor("small", &small, &[&[1, 2]])?;
        file.alias("again", "small")
    });
    std::fs::read(path).unwrap()
}

/// Where a file holds something other than padding.
fn interesting(bytes: &[u8]) -> impl Iterator<Item = usize> {
    bytes.iter().enumerate().filter(|(at, byte)| **byte != 0 || at % 64 == 0).map(|(at, _)| at)
}

const COMMANDS: [&[&str]; 6] = [
    &["verify", "--json", "-"],
    &["verify", "-"],
    &["inspect", "-"],
    &["inspect", "--json", "-"],
    &["inspect", "--hex", "-"],
    &["ls", "-"],
];

#[test]
fn a_file_cut_short_anywhere_is_refused() {
    let bytes = varied();
    for cut in interesting(&bytes) {
        for command in COMMANDS {
            let arguments: Vec<_> = command.iter().map(std::ffi::OsString::from).collect();
            hurray_here(&bytes[..cut], arguments).code(1);
        }
    }
}

#[test]
fn a_flipped_bit_anywhere_gets_an_answer() {
    let bytes = varied();
    for at in interesting(&bytes) {
        for bit in [0, 5, 7] {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            for command in COMMANDS {
                let arguments: Vec<_> = command.iter().map(std::ffi::OsString::from).collect();
                let answer = hurray_here(&flipped, arguments);
                assert!(answer.code <= 1, "{command:?} {at} {bit}: {answer:?}");
            }
        }
    }
}

#[test]
fn a_flipped_bit_of_data_is_found() {
    let bytes = varied();
    let mut flipped = bytes.clone();
    flipped[4096] ^= 1;
    let answer = hurray_here(&flipped, arguments!["verify", "--json", "-"]).code(1);
    assert_eq!(answer.json()["rule"], "file.tensor.checksum-mismatch");
}

#[test]
fn a_damaged_file_converts_to_nothing() {
    let folder = folder();
    let bytes = varied();
    let (path, out) = (folder.path().join("x.hrry"), folder.path().join("out"));
    std::fs::create_dir(&out).unwrap();
    for cut in interesting(&bytes).step_by(5) {
        std::fs::write(&path, &bytes[..cut]).unwrap();
        hurray_here(b"", arguments!["convert", path, out.join("y.hrry")]).code(1);
        assert_eq!(std::fs::read_dir(&out).unwrap().count(), 0, "{cut}");
    }
}

#[test]
fn hostile_streams_get_an_answer() {
    let stream = small_stream();
    for at in 0..stream.len() {
        for byte in [0x00, 0x7F, 0x80, 0xFF] {
            let mut damaged = stream.clone();
            damaged[at] = byte;
            for command in COMMANDS {
                let mut arguments: Vec<_> = command.iter().map(std::ffi::OsString::from).collect();
                arguments.extend(arguments!["--as", "stream"]);
                let answer = hurray_here(&damaged, arguments);
                assert!(answer.code <= 1, "{command:?} {at} {byte}: {answer:?}");
            }
        }
    }
}
