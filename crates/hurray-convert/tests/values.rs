//! What is packed, what is refused, and what the messages say.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod support;

use hurray_convert::format::{
    BufferHandle, DYNAMIC, Descriptor, DeviceTag, Dtype, FileView, KvArray, KvKind, KvValue,
    Layout, MemoryClass, PerTensor, Quantization, Rule, Shard, Statistics, StatisticsValues,
    SyncMode,
};
use hurray_convert::{Changed, Error, Reason, SafetensorsSource};
use safetensors::SafeTensors;
use support::{OnDisk, export, hurray, import, one, safetensors};

/// The reason why the one tensor of a file is refused.
fn refused<T>(result: hurray_convert::Result<T>) -> Reason {
    match result.map(|_| ()).unwrap_err() {
        Error::Refused { refusals, .. } => {
            let [refusal] = &refusals[..] else { panic!("{refusals:?}") };
            assert_eq!(refusal.tensor, "x");
            refusal.reason.clone()
        }
        other => panic!("{other}"),
    }
}

#[test]
fn q5_the_first_of_two_is_in_the_low_nibble_on_both_sides() {
    let file = import(&one("F4", &[4], &[0x21, 0x43])).unwrap().0;
    let tensor = FileView::open(&file).unwrap().tensor("x").unwrap();
    assert_eq!(tensor.buffers, [[0x21, 0x43]]);
    let place = tensor.descriptor.locate(&[0]).unwrap();
    assert_eq!((place.byte, place.bit), (0, 0));
    let place = tensor.descriptor.locate(&[1]).unwrap();
    assert_eq!((place.byte, place.bit), (0, 4));
    let file = import(&one("F6_E3M2", &[4], &[0x81, 0x40, 0x20])).unwrap().0;
    let view = FileView::open(&file).unwrap();
    assert_eq!(view.tensor("x").unwrap().buffers, [[0x81, 0x40, 0x20]]);
}

#[test]
fn q9_shapes_count_elements_and_not_bytes() {
    let file = import(&one("F4", &[3, 4], &[0; 6])).unwrap().0;
    assert_eq!(FileView::open(&file).unwrap().tensor("x").unwrap().descriptor.shape(), [3, 4]);
    let back = export(&file).unwrap().0;
    let back = SafeTensors::deserialize(&back).unwrap();
    assert_eq!(back.tensor("x").unwrap().shape(), [3, 4]);
}

#[test]
fn q10_elements_that_fill_no_whole_byte_are_refused_both_ways() {
    // The safetensors crate has no such tensor.
    let refused_there = SafetensorsSource::from_bytes("in", &one("F4", &[3], &[0; 2])).unwrap_err();
    assert!(matches!(refused_there, Error::Safetensors { .. }), "{refused_there}");
    assert_eq!(refused_there.tensor(), Some("x"));
    for (dtype, count, bits) in [(Dtype::Float4E2M1, 3, 4), (Dtype::Float6E2M3, 5, 6)] {
        let descriptor = Descriptor::dense(dtype, &[count]).unwrap();
        let zeros = vec![0; descriptor.data_bytes() as usize];
        let file = hurray(&[("x", &descriptor, &zeros)], &[]);
        assert_eq!(refused(export(&file)), Reason::PartialByte(count, bits));
    }
}

#[test]
fn q11_a_byte_each_is_packed_and_reported() {
    let bytes = [1, 0, 1, 1, 0, 0, 0, 0, 0, 1];
    let (file, report) = import(&one("BOOL", &[10], &bytes)).unwrap();
    assert_eq!(FileView::open(&file).unwrap().tensor("x").unwrap().buffers, [[0x0D, 0x02]]);
    assert_eq!((report.bytes, report.copied_bytes), (10, 0));
    let [transcoded] = &report.transcoded[..] else { panic!("{report}") };
    assert_eq!((transcoded.bytes_before, transcoded.bytes_after), (10, 2));
    assert!(report.to_string().contains("BOOL, a byte each (10 bytes) to bool, a bit each (2)"));
    let (back, report) = export(&file).unwrap();
    assert_eq!(SafeTensors::deserialize(&back).unwrap().tensor("x").unwrap().data(), bytes);
    assert_eq!((report.bytes, report.transcoded[0].bytes_after), (2, 10));
}

#[test]
fn a_boolean_that_is_neither_is_refused_with_its_place() {
    // Far enough to be in another piece than the first.
    let mut bytes = vec![1; (1 << 20) + 20];
    bytes[(1 << 20) + 13] = 2;
    let file = one("BOOL", &[bytes.len() as u64], &bytes);
    let start = (file.len() - bytes.len()) as u64;
    let (element, found) = ((1 << 20) + 13, 2);
    let expected = Reason::BooleanByte { found, element, offset: start + element };
    let error = import(&file).map(|_| ()).unwrap_err();
    let message = error.to_string();
    assert_eq!(refused::<()>(Err(error)), expected);
    assert!(message.contains("in.safetensors") && message.contains("\"x\""), "{message}");
    assert!(message.contains(&format!("offset {}", start + element)), "{message}");
}

#[test]
fn a_long_run_of_booleans_survives() {
    let bytes: Vec<u8> = (0..3_000_001_u32).map(|n| u8::from(n.is_multiple_of(7))).collect();
    let file = import(&one("BOOL", &[bytes.len() as u64], &bytes)).unwrap().0;
    let back = export(&file).unwrap().0;
    assert!(SafeTensors::deserialize(&back).unwrap().tensor("x").unwrap().data() == bytes);
}

#[test]
fn fnuz_kinds_are_refused_by_name() {
    for name in ["F8_E4M3FNUZ", "F8_E5M2FNUZ"] {
        let error = import(&one(name, &[2], &[0; 2])).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
        assert_eq!(refused::<()>(Err(error)), Reason::NoHurrayType(name.into()));
    }
}

#[test]
fn every_tensor_that_is_refused_is_named_at_once() {
    let record =
        |at| format!(r#"{{"dtype":"F8_E4M3FNUZ","shape":[1],"data_offsets":[{at},{}]}}"#, at + 1);
    let records: Vec<_> = (0..20).map(|n| format!(r#""t{n:02}":{}"#, record(n))).collect();
    let file = safetensors(&format!("{{{}}}", records.join(",")), &[0; 20]);
    let message = import(&file).map(|_| ()).unwrap_err().to_string();
    assert!(message.contains("\"t00\"") && message.contains("\"t07\""), "{message}");
    assert!(message.ends_with("and 12 other tensors"), "{message}");
}

#[test]
fn what_a_hurray_file_does_not_hold_is_refused() {
    // 2^64 - 1 is the mark of a dimension that is not known.
    assert_eq!(refused(import(&one("U8", &[0, u64::MAX], &[]))), Reason::DynamicLookalike);
    let ranks: Vec<u64> = vec![1; 65];
    assert!(matches!(refused(import(&one("U8", &ranks, &[1]))), Reason::Rule(_)));
    for name in [String::new(), "n".repeat(65_530), "n".repeat(70_000)] {
        let header = format!(r#"{{"{name}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}}}"#);
        let error = import(&safetensors(&header, &[])).unwrap_err();
        let rule = match name.len() {
            0 => Rule::FileIndexNameEmpty,
            // No room for the key of its checksums.
            65_530 => Rule::FileKvKeyTooLong,
            _ => Rule::FileIndexNameTooLong,
        };
        assert_eq!(error.rule(), Some(rule));
        assert_eq!(error.tensor(), Some(name.as_str()));
    }
}

#[test]
fn what_safetensors_has_no_equal_of_is_refused_by_name() {
    let cuda = BufferHandle::new(
        16,
        64,
        DeviceTag::CUDA,
        SyncMode::PRODUCER_SYNCED,
        MemoryClass::STANDARD,
    );
    let build = |dtype, shape: &[u64]| Descriptor::builder(dtype, shape);
    let scheme = PerTensor { scale: 0.5, zero_point: 0 };
    let whole = [
        (
            build(Dtype::Int8, &[4]).quantization(Quantization::PerTensor(scheme)),
            Reason::Quantized("per-tensor"),
        ),
        (
            build(Dtype::Float32, &[2, 2]).layout(Layout::ColumnMajor),
            Reason::Layout("column-major"),
        ),
        (build(Dtype::Float32, &[2, 2]).layout(Layout::strided([1, 2])), Reason::Layout("strided")),
        (build(Dtype::Float32, &[2, 2]).layout(Layout::morton([1, 1])), Reason::Layout("morton")),
        (build(Dtype::Float32, &[DYNAMIC, 2]).buffers([BufferHandle::cpu(16)]), Reason::Dynamic),
        (build(Dtype::Float32, &[2, 2]).shard(Shard::new(&[4, 2], &[2, 0])), Reason::Shard),
        (build(Dtype::Float32, &[2, 2]).buffers([cuda.unwrap()]), Reason::Device(DeviceTag::CUDA)),
        (build(Dtype::Float128, &[1]), Reason::NoSafetensorsType(Dtype::Float128)),
        (build(Dtype::Complex128, &[1]), Reason::NoSafetensorsType(Dtype::Complex128)),
        (build(Dtype::Int4, &[2]), Reason::NoSafetensorsType(Dtype::Int4)),
        (build(Dtype::UInt2, &[4]), Reason::NoSafetensorsType(Dtype::UInt2)),
    ];
    for (descriptor, reason) in whole {
        let descriptor = descriptor.build().unwrap();
        let zeros = vec![0; descriptor.data_bytes() as usize];
        let file = hurray(&[("x", &descriptor, &zeros)], &[]);
        let error = export(&file).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("\"x\""), "{error}");
        assert_eq!(refused::<()>(Err(error)), reason);
    }
    let descriptor = Descriptor::dense(Dtype::UInt8, &[1]).unwrap();
    let error =
        export(&hurray(&[("__metadata__", &descriptor, &[1])], &[])).map(|_| ()).unwrap_err();
    assert!(
        matches!(&error, Error::Refused { refusals, .. } if refusals[0].reason == Reason::ReservedName)
    );
    // Their reader multiplies from the left and stops before it meets the 0.
    let wide = Descriptor::dense(Dtype::UInt8, &[1 << 40, 1 << 40, 0]).unwrap();
    assert_eq!(refused(export(&hurray(&[("x", &wide, &[])], &[]))), Reason::TooLarge);
}

#[test]
fn row_major_by_another_name_is_taken() {
    let build = |shape: &[u64]| Descriptor::builder(Dtype::UInt8, shape);
    let descriptors = [
        build(&[4]).layout(Layout::ColumnMajor),
        build(&[1, 4, 1]).layout(Layout::ColumnMajor),
        build(&[2, 2]).layout(Layout::strided([2, 1])),
        build(&[1, 4]).layout(Layout::strided([-7, 1])),
        // A part of a larger buffer is that part.
        build(&[4]).byte_offset(2).buffers([BufferHandle::cpu(9)]),
    ];
    for descriptor in descriptors {
        let descriptor = descriptor.build().unwrap();
        let mut buffer = vec![0xEE; descriptor.data_bytes() as usize];
        let start = descriptor.byte_offset() as usize;
        buffer[start..start + 4].copy_from_slice(&[1, 2, 3, 4]);
        let back = export(&hurray(&[("x", &descriptor, &buffer)], &[])).unwrap().0;
        let back = SafeTensors::deserialize(&back).unwrap();
        assert_eq!(back.tensor("x").unwrap().data(), [1, 2, 3, 4]);
    }
    let empty = build(&[2, 0, 3]).layout(Layout::ColumnMajor).build().unwrap();
    assert!(export(&hurray(&[("x", &empty, &[])], &[])).is_ok());
}

#[test]
fn booleans_inside_a_larger_buffer_are_found() {
    let builder = Descriptor::builder(Dtype::Bool, &[10]).byte_offset(3);
    let descriptor = builder.buffers([BufferHandle::cpu(7)]).build().unwrap();
    let file = hurray(&[("x", &descriptor, &[255, 255, 255, 0b1010_0101, 0b10, 255, 255])], &[]);
    let back = export(&file).unwrap().0;
    let back = SafeTensors::deserialize(&back).unwrap();
    assert_eq!(back.tensor("x").unwrap().data(), [1, 0, 1, 0, 0, 1, 0, 1, 0, 1]);
}

#[test]
fn key_values_go_out_as_text_and_the_report_says_so() {
    let numbers = KvArray::new(KvKind::U64, [KvValue::U64(1), KvValue::U64(u64::MAX)]).unwrap();
    let descriptor = Descriptor::dense(Dtype::UInt8, &[1]).unwrap();
    let kv = [
        ("text", KvValue::String("as it is")),
        ("layers", KvValue::I64(-6)),
        ("list", KvValue::Array(numbers)),
        ("hurray.other", KvValue::Bool(true)),
    ];
    let (back, report) = export(&hurray(&[("x", &descriptor, &[1])], &kv)).unwrap();
    let metadata = SafeTensors::read_metadata(&back).unwrap().1;
    let metadata = metadata.metadata().clone().unwrap();
    assert_eq!(metadata.len(), 3);
    assert_eq!(metadata["text"], "as it is");
    assert_eq!(metadata["layers"], "-6");
    assert_eq!(metadata["list"], "[1,18446744073709551615]");
    let changes: Vec<_> =
        report.changes.iter().map(|change| (change.subject.as_str(), change.what.name())).collect();
    let expected = [
        ("layers", "json-text"),
        ("list", "json-text"),
        ("hurray.other", "own-key"),
        ("x", "checksums"),
    ];
    let sorted = |mut changes: Vec<(_, _)>| {
        changes.sort_unstable();
        changes
    };
    assert_eq!(sorted(changes), sorted(expected.to_vec()));
    let text = report.to_string();
    assert!(text.contains("int64 written as JSON text: \"layers\""), "{text}");
}

#[test]
fn statistics_are_left_out_and_reported() {
    let statistics = StatisticsValues { nnz: Some(1), ..StatisticsValues::default() };
    let descriptor = Descriptor::builder(Dtype::UInt8, &[1]);
    let descriptor = descriptor.statistics(Statistics::new(&statistics)).build().unwrap();
    let (_, report) = export(&hurray(&[("x", &descriptor, &[1])], &[])).unwrap();
    let left_out = |what| report.changes.iter().any(|one| one.subject == "x" && one.what == what);
    assert!(left_out(Changed::Statistics) && left_out(Changed::Checksums), "{report}");
}

#[test]
fn a_flipped_bit_is_found_on_the_way_out() {
    let file = import(&one("U8", &[3], &[1, 2, 3])).unwrap().0;
    let on_disk = OnDisk::new(&file);
    let at = on_disk.open().get("x").unwrap().buffer_ranges()[0].start as usize;
    let mut damaged = file.clone();
    damaged[at + 1] ^= 4;
    let error = export(&damaged).map(|_| ()).unwrap_err();
    assert_eq!(error.rule().unwrap().id(), "file.tensor.checksum-mismatch");
    assert_eq!(error.tensor(), Some("x"));
}
