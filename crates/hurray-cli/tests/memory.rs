//! How much memory it takes to look inside: what is shown is not kept.

#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    reason = "a test may fail loudly"
)]

#[path = "../../hurray-tensor/tests/support/counting.rs"]
mod counting;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use counting::most;
use hurray_tensor::format::{Descriptor, Dtype, KvArray, KvKind, KvValue};
use hurray_tensor::{FileWriter, WriteOptions};

/// Large memory is moved by its pages as it grows, so the old is not counted beside the new.
const GROWS_IN_PLACE: bool = true;

/// The most memory that `hurray inspect` with these arguments had at once, in bytes, and
/// how much it printed.
fn inspected(mut input: &[u8], arguments: &[&str]) -> (i64, u64) {
    let mut output = Counted(0);
    let streams = hurray_cli::Streams {
        input: &mut input,
        output: &mut output,
        errors: &mut io::sink(),
        output_is_terminal: false,
        errors_are_terminal: false,
    };
    let all = ["hurray", "inspect"].iter().chain(arguments).map(OsString::from);
    let taken = most(|| assert_eq!(hurray_cli::run(all, streams), 0));
    (taken, output.0)
}

/// Counts and forgets.
struct Counted(u64);

impl io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += u64::try_from(bytes.len()).unwrap();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const MIB: i64 = 1 << 20;
/// The command itself: its arguments, its buffers.
const OWN: i64 = MIB;

fn stream(tensors: usize) -> Vec<u8> {
    Descriptor::dense(Dtype::Float32, &[0]).unwrap().encode().repeat(tensors)
}

fn file(folder: &tempfile::TempDir, value: &KvValue<'_>) -> PathBuf {
    let path = folder.path().join("x.hrry");
    let to = std::fs::File::create(&path).unwrap();
    let mut writer = FileWriter::new(to, WriteOptions::default()).unwrap();
    writer.key_value("k", value).unwrap();
    writer.finish().unwrap();
    path
}

#[test]
fn a_stream_of_many_tensors_is_described_one_at_a_time() {
    let stream = stream(10_000);
    let (taken, printed) = inspected(&stream, &["--json", "-"]);
    // What the tree needs of a tensor is kept, its JSON is not.
    assert!(taken < OWN + 10_000 * 1024, "{taken}");
    assert!(printed > 5_000_000, "{printed}");
    let (taken, printed) = inspected(&stream, &["--hex", "-"]);
    assert!(taken < OWN, "{taken}");
    assert!(printed > 10_000_000, "{printed}");
}

#[test]
fn a_long_array_is_told_item_by_item() {
    let folder = tempfile::tempdir().unwrap();
    let count = 100_000;
    let items = (0..count).map(|n| KvValue::Bool(n % 2 == 0));
    let path = file(&folder, &KvValue::Array(KvArray::new(KvKind::Bool, items).unwrap()));
    for (what, least) in [("--json", 10 * count), ("--hex", 60 * count)] {
        let (taken, printed) = inspected(b"", &[what, path.to_str().unwrap()]);
        assert!(taken < OWN, "{what}: {taken}");
        assert!(printed > least, "{what}: {printed}");
    }
}

#[test]
fn long_text_and_bytes_are_written_from_where_they_lie() {
    let folder = tempfile::tempdir().unwrap();
    let long = vec![b'x'; 4 << 20];
    let text = std::str::from_utf8(&long).unwrap();
    for value in [KvValue::String(text), KvValue::Bytes(&long)] {
        let path = file(&folder, &value);
        let (taken, printed) = inspected(b"", &["--json", path.to_str().unwrap()]);
        // The section is held, as every reader holds it, and grows while it is read.
        assert!(taken < OWN + 8 * MIB, "{taken}");
        assert!(printed > 4 << 20, "{printed}");
        let (taken, _) = inspected(b"", &["--hex", path.to_str().unwrap()]);
        assert!(taken < OWN + 8 * MIB, "{taken}");
    }
}
