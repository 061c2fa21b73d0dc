//! Every valid descriptor of the vectors, as the one tensor of a file: safetensors has an
//! equal of it, or it is refused by name.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod support;

use hurray_convert::format::{Accept, Descriptor, Layout, Silent};
use hurray_convert::tensor::{File, FileWriter, OpenOptions, WriteOptions};
use hurray_convert::{Error, SafetensorsSource};
use safetensors::SafeTensors;
use support::{OnDisk, VECTORS, export_file, import};

/// Larger ones are there for their sizes alone.
const MOST: u64 = 1 << 16;

#[test]
fn each_is_moved_or_refused_by_name() {
    let accept = Accept::every_private_tag();
    let (mut moved, mut refused) = (0, 0);
    let lines = std::fs::read_to_string(format!("{VECTORS}/descriptors.jsonl")).unwrap();
    for line in lines.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        if line["valid"] != true {
            continue;
        }
        let bytes = from_hex(line["hex"].as_str().unwrap());
        let descriptor = Descriptor::decode_with(&bytes, &accept, &mut Silent).unwrap();
        if descriptor.data_bytes() > MOST {
            continue;
        }
        // A head without its members makes no file.
        if matches!(descriptor.layout(), Layout::Composite(head) if head.member_count > 0) {
            continue;
        }
        let buffers: Vec<Vec<u8>> = descriptor
            .buffers()
            .iter()
            .map(|handle| (0..handle.byte_size()).map(|n| n as u8).collect())
            .collect();
        let slices: Vec<&[u8]> = buffers.iter().map(Vec::as_slice).collect();
        let mut file = FileWriter::new(Vec::new(), WriteOptions::default()).unwrap();
        file.tensor("the one", &descriptor, &slices).unwrap();
        let on_disk = OnDisk::new(&file.finish().unwrap());
        let file = File::open_with(&on_disk.path, &OpenOptions { accept }).unwrap();

        match export_file(&file) {
            Ok((out, _)) => {
                moved += 1;
                let theirs = SafeTensors::deserialize(&out).unwrap();
                let tensor = theirs.tensor("the one").unwrap();
                let shape = tensor.shape().iter().map(|size| *size as u64);
                assert!(shape.eq(descriptor.shape().iter().copied()));
                // Each element is the one that its address says.
                let (again, _) = import(&out).unwrap();
                let view = hurray_convert::format::FileView::open(&again).unwrap();
                let again = view.tensor("the one").unwrap();
                assert_eq!(again.descriptor.dtype(), descriptor.dtype());
                let zeros = vec![0; descriptor.rank()];
                if descriptor.element_count() > Some(0) && descriptor.dtype().bits() >= 8 {
                    let at = descriptor.locate(&zeros).unwrap().byte as usize;
                    let width = descriptor.dtype().bits() as usize / 8;
                    assert_eq!(again.buffers[0][..width], buffers[0][at..at + width]);
                }
                SafetensorsSource::from_bytes("out", &out).unwrap();
            }
            Err(Error::Refused { refusals, .. }) => {
                refused += 1;
                assert_eq!(refusals.len(), 1);
                assert_eq!(refusals[0].tensor, "the one");
            }
            Err(error) => panic!("{}: {error}", line["name"]),
        }
    }
    assert!(moved > 50 && refused > 400, "{moved} {refused}");
}

fn from_hex(text: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap() as u8;
    text.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}
