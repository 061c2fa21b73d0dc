//! Files written to anything that takes bytes: a pipe, a writer that takes a few at a time,
//! one that fails.

#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail loudly"
)]

mod support;

use std::io::{self, Read, Write};

use hurray_tensor::format::*;
use hurray_tensor::{Error, FileWriter, StreamWriter, WriteOptions};
use support::{Sample, file_of, key_values, samples};

fn write_all<W: Write>(out: W, samples: &[Sample]) -> hurray_tensor::Result<W> {
    let mut file = FileWriter::new(out, WriteOptions::default())?;
    for (key, value) in key_values() {
        file.key_value(key, &value)?;
    }
    for sample in samples {
        file.tensor(sample.name, &sample.descriptor, &sample.slices())?;
    }
    file.alias("another name", samples[0].name)?;
    file.finish()
}

fn same(bytes: &[u8], samples: &[Sample]) {
    let view = FileView::open(bytes).unwrap();
    view.verify().unwrap();
    for sample in samples {
        let tensor = view.tensor(sample.name).unwrap();
        assert_eq!(tensor.descriptor, sample.descriptor);
        assert_eq!(tensor.buffers, sample.slices(), "{}", sample.name);
    }
    assert_eq!(view.tensor("another name").unwrap(), view.tensor(samples[0].name).unwrap());
    for (key, value) in key_values() {
        assert_eq!(view.container().kv().get(key), Some(value));
    }
}

#[test]
fn a_pipe_is_a_fine_destination() {
    let samples = samples();
    let (mut from, to) = io::pipe().unwrap();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        bytes
    });
    drop(write_all(to, &samples).unwrap());
    same(&reader.join().unwrap(), &samples);
}

/// Takes 1 to 7 bytes at a time, and is interrupted in between.
#[derive(Default)]
struct Sluggish {
    bytes: Vec<u8>,
    calls: usize,
    flushed: usize,
}

impl Write for Sluggish {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.calls += 1;
        if self.calls.is_multiple_of(3) {
            return Err(io::Error::from(io::ErrorKind::Interrupted));
        }
        let taken = bytes.len().min(1 + self.calls % 7);
        self.bytes.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.flushed = self.bytes.len();
        Ok(())
    }
}

#[test]
fn short_and_interrupted_writes_lose_nothing() {
    let samples = samples();
    let written = write_all(Sluggish::default(), &samples).unwrap();
    assert_eq!(written.bytes, write_all(Vec::new(), &samples).unwrap());
    assert_eq!(written.flushed, written.bytes.len(), "finished means flushed");
    same(&written.bytes, &samples);

    let mut stream = StreamWriter::new(Sluggish::default());
    for sample in &samples {
        stream.tensor(&sample.descriptor, &sample.slices()).unwrap();
    }
    let written = stream.finish().unwrap();
    assert_eq!(written.flushed, written.bytes.len());
    for (tensor, sample) in StreamView::new(&written.bytes).zip(&samples) {
        assert_eq!(tensor.unwrap().buffers, sample.slices());
    }
}

/// Takes `left` bytes and then no more.
struct Full {
    left: usize,
    zero: bool,
}

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.left);
        self.left -= taken;
        match taken {
            0 if !bytes.is_empty() && !self.zero => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(taken),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_writer_that_fails_anywhere_fails_the_file() {
    let fails_at = |samples: &[Sample], left| {
        for zero in [false, true] {
            match write_all(Full { left, zero }, samples).map(drop).unwrap_err() {
                Error::Io { doing: "write", .. } => {}
                other => panic!("{left}: {other}"),
            }
        }
    };
    let length = |samples: &[Sample]| write_all(Vec::new(), samples).unwrap().len();
    let small = &samples()[..3];
    (0..length(small)).for_each(|left| fails_at(small, left));
    // So large a tensor passes what is gathered, so that writes fail on the way too.
    let large = &samples()[8..9];
    (0..length(large)).step_by(997).for_each(|left| fails_at(large, left));
    write_all(Full { left: length(large), zero: false }, large).unwrap();
}

#[test]
fn after_a_failed_write_the_file_takes_nothing_and_cannot_be_finished() {
    let large = &samples()[8];
    for left in [0, 64, 5000, 300_000] {
        let mut file =
            FileWriter::new(Full { left, zero: false }, WriteOptions::default()).unwrap();
        let slices = large.slices();
        file.tensor("w", &large.descriptor, &slices).unwrap_err();
        let position = file.position();
        let error = file.tensor("v", &large.descriptor, &slices).unwrap_err();
        assert!(error.to_string().contains("half written"), "{error}");
        assert_eq!(file.position(), position);
        let error = file.finish().map(drop).unwrap_err();
        assert!(error.to_string().contains("half written"), "{error}");
    }
}

#[test]
fn a_stream_writer_that_fails_anywhere_fails_the_stream() {
    let sample = &samples()[0];
    let length = sample.descriptor.encode().len() + sample.buffers[0].len();
    for left in 0..length {
        let mut stream = StreamWriter::new(Full { left, zero: left % 2 == 0 });
        stream.tensor(&sample.descriptor, &sample.slices()).unwrap_err();
        let error = stream.tensor(&sample.descriptor, &sample.slices()).unwrap_err();
        assert!(error.to_string().contains("half written"), "{error}");
        assert!(stream.finish().map(drop).unwrap_err().to_string().contains("half written"));
    }
}

/// What a caller gives for a buffer of six bytes, and by which rule it is refused.
type Given = (fn(&mut dyn Write) -> io::Result<()>, Option<Rule>);

#[test]
fn a_buffer_of_another_length_than_announced_is_refused_by_rule() {
    let six = Descriptor::dense(Dtype::UInt8, &[6]).unwrap();
    let wrong = Some(Rule::FileTensorBufferLength);
    let cases: [Given; 7] = [
        (|_| Ok(()), wrong),
        (|out| out.write_all(&[1; 5]), wrong),
        (|out| out.write_all(&[1; 7]), wrong),
        (|out| (0..7).try_for_each(|n| out.write_all(&[n])), wrong),
        // Who does not look at the error is told all the same.
        (
            |out| {
                out.write_all(&[1; 6])?;
                let _ = out.write_all(&[1]);
                Ok(())
            },
            wrong,
        ),
        (
            |out| {
                out.write_all(&[1; 6])?;
                Err(io::Error::other("mine"))
            },
            None,
        ),
        (|_| Err(io::ErrorKind::StorageFull.into()), None),
    ];
    for (fill, rule) in cases {
        let mut file = FileWriter::new(Vec::new(), WriteOptions::default()).unwrap();
        let error = file.tensor_from("w", &six, &mut |_, out| fill(out)).unwrap_err();
        assert_eq!(error.rule(), rule);
        assert_eq!(error.place().tensor.as_deref(), Some("w"));
        file.finish().unwrap_err();

        let mut stream = StreamWriter::new(Vec::new());
        let error = stream.tensor_from(&six, &mut |_, out| fill(out)).unwrap_err();
        assert_eq!(error.rule(), rule);
        stream.finish().unwrap_err();
    }
}

#[test]
fn buffers_that_are_not_the_descriptors_are_refused_with_nothing_written() {
    let six = Descriptor::dense(Dtype::UInt8, &[6]).unwrap();
    let cases: [(&[&[u8]], Rule); 4] = [
        (&[], Rule::FileTensorBufferCount),
        (&[&[1; 6], &[1; 6]], Rule::FileTensorBufferCount),
        (&[&[1; 5]], Rule::FileTensorBufferLength),
        (&[&[1; 7]], Rule::FileTensorBufferLength),
    ];
    let mut file = FileWriter::new(Vec::new(), WriteOptions::default()).unwrap();
    let mut stream = StreamWriter::new(Vec::new());
    for (buffers, rule) in cases {
        assert_eq!(file.tensor("w", &six, buffers).unwrap_err().rule(), Some(rule));
        assert_eq!(stream.tensor(&six, buffers).unwrap_err().rule(), Some(rule));
    }
    assert_eq!(file.position(), 64);
    file.tensor("w", &six, &[&[1; 6]]).unwrap();
    FileView::open(&file.finish().unwrap()).unwrap().verify().unwrap();
    assert!(stream.finish().unwrap().is_empty());
}

#[test]
fn buffers_are_asked_for_once_and_in_order() {
    // A head without its members makes no file.
    for sample in samples().into_iter().filter(|sample| !sample.buffers.is_empty()) {
        let (mut asked, mut streamed) = (Vec::new(), Vec::new());
        let mut file = FileWriter::new(Vec::new(), WriteOptions::default()).unwrap();
        let mut stream = StreamWriter::new(Vec::new());
        file.tensor_from(sample.name, &sample.descriptor, &mut |place, out| {
            asked.push(place);
            // A byte at a time; flushing in between does no harm.
            for byte in &sample.buffers[place] {
                out.write_all(&[*byte])?;
            }
            out.flush()
        })
        .unwrap();
        stream
            .tensor_from(&sample.descriptor, &mut |place, out| {
                streamed.push(place);
                out.write_all(&sample.buffers[place])
            })
            .unwrap();
        let places: Vec<usize> = (0..sample.buffers.len()).collect();
        assert_eq!((&asked, &streamed), (&places, &places), "{}", sample.name);
        let whole = file_of(&[sample], WriteOptions::default());
        assert_eq!(file.finish().unwrap(), whole);
    }
}
