//! Plain streams: what goes in comes out, from readers of every kind, or is refused.

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
use hurray_tensor::{Error, StreamReader, StreamWriter};
use support::{Sample, samples};

fn stream_of(samples: &[Sample]) -> Vec<u8> {
    let mut stream = StreamWriter::new(Vec::new());
    for sample in samples {
        stream.tensor(&sample.descriptor, &sample.slices()).unwrap();
    }
    stream.finish().unwrap()
}

/// Gives a few bytes at a time, and is interrupted in between.
struct Sluggish<'b> {
    bytes: &'b [u8],
    most: usize,
    calls: usize,
}

impl Read for Sluggish<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.calls += 1;
        if self.calls.is_multiple_of(5) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let most = out.len().min(self.most);
        self.bytes.read(&mut out[..most])
    }
}

#[test]
fn every_kind_of_tensor_comes_back_from_readers_of_every_kind() {
    let samples = samples();
    let bytes = stream_of(&samples);
    for most in [1, 3, 4096, usize::MAX] {
        let mut stream = StreamReader::new(Sluggish { bytes: &bytes, most, calls: 0 });
        for sample in &samples {
            let tensor = stream.next_tensor().unwrap().unwrap();
            assert_eq!(tensor.descriptor(), &sample.descriptor, "{}", sample.name);
            let buffers = tensor.read_buffers().unwrap();
            assert_eq!(buffers.len(), sample.buffers.len());
            for (buffer, expected) in buffers.iter().zip(&sample.buffers) {
                assert_eq!(&buffer[..], expected, "{}", sample.name);
                assert!(buffer.is_empty() || buffer.as_ptr().addr().is_multiple_of(64));
            }
        }
        assert!(stream.next_tensor().unwrap().is_none());
        assert!(stream.next_tensor().unwrap().is_none());
        assert_eq!(stream.position(), bytes.len() as u64);
    }
}

#[test]
fn a_pipe_carries_a_stream() {
    let samples = samples();
    let (from, mut to) = io::pipe().unwrap();
    let bytes = stream_of(&samples);
    let writer = std::thread::spawn(move || to.write_all(&bytes));
    let mut stream = StreamReader::new(from);
    let mut offset = 0;
    for sample in &samples {
        let mut tensor = stream.next_tensor().unwrap().unwrap();
        assert_eq!(tensor.offset(), offset);
        offset += sample.descriptor.encode().len() as u64 + sample.descriptor.data_bytes();
        for buffer in &sample.buffers {
            let mut copy = Vec::new();
            assert_eq!(tensor.copy_buffer(&mut copy).unwrap(), Some(buffer.len() as u64));
            assert_eq!(&copy, buffer);
        }
        assert_eq!(tensor.copy_buffer(&mut io::sink()).unwrap(), None);
    }
    assert!(stream.next_tensor().unwrap().is_none());
    writer.join().unwrap().unwrap();
}

#[test]
fn what_is_left_unread_is_skipped() {
    let samples = samples();
    let bytes = stream_of(&samples);
    // How many buffers of each tensor are read: none, one, all but the first by `read_buffers`.
    for wanted in 0..3 {
        let mut stream = StreamReader::new(Sluggish { bytes: &bytes, most: 1000, calls: 0 });
        for sample in &samples {
            let mut tensor = stream.next_tensor().unwrap().unwrap();
            assert_eq!(tensor.descriptor(), &sample.descriptor);
            if wanted > 0 {
                let mut copy = Vec::new();
                let first = sample.buffers.first();
                let length = first.map(|buffer| buffer.len() as u64);
                assert_eq!(tensor.copy_buffer(&mut copy).unwrap(), length);
                assert_eq!(&copy, first.unwrap_or(&Vec::new()));
            }
            if wanted > 1 {
                let rest = tensor.read_buffers().unwrap();
                let expected = sample.buffers.iter().skip(1);
                assert!(rest.iter().map(|buffer| &buffer[..]).eq(expected.map(|b| &b[..])));
            }
        }
        assert!(stream.next_tensor().unwrap().is_none());
    }
}

#[test]
fn a_stream_cut_anywhere_is_refused() {
    // The larger ones would only repeat what the small ones say.
    let mut samples = samples();
    samples.retain(|sample| sample.descriptor.data_bytes() < 1000);
    let bytes = stream_of(&samples);
    let mut ends = vec![0];
    for tensor in StreamView::new(&bytes) {
        let tensor = tensor.unwrap();
        let length = tensor.descriptor.encode().len() as u64 + tensor.descriptor.data_bytes();
        ends.push(tensor.offset + length);
    }
    for cut in 0..bytes.len() {
        let between = ends.iter().position(|end| *end == cut as u64);
        for how in 0..3 {
            let read = read_to_end(&bytes[..cut], how);
            match (between, read) {
                (Some(whole), Ok(count)) => assert_eq!(count, whole),
                (None, Err(error)) => {
                    let error = error.format().unwrap();
                    assert!(error.offset() <= cut as u64, "{cut}: {error}");
                }
                (_, read) => panic!("{cut}: {read:?}"),
            }
        }
    }
}

/// Reads a stream to its end: skipping, copying or reading what there is.
fn read_to_end(bytes: &[u8], how: usize) -> hurray_tensor::Result<usize> {
    let mut stream = StreamReader::new(bytes);
    let mut count = 0;
    loop {
        let next = stream.next_tensor();
        let Some(mut tensor) = next? else {
            return Ok(count);
        };
        match how {
            0 => {}
            1 => while tensor.copy_buffer(&mut io::sink())?.is_some() {},
            _ => drop(tensor.read_buffers()?),
        }
        count += 1;
    }
}

#[test]
fn bytes_after_the_last_tensor_are_refused() {
    let samples = &samples()[..2];
    for more in [&b"x"[..], b"HRRY", &[0; 8], b"HRRY\x01\0\x14\0\0\0", b"HRRYFILE\x01\0\0\0"] {
        let bytes = [&stream_of(samples)[..], more].concat();
        let error = read_to_end(&bytes, 0).unwrap_err();
        assert!(error.rule().is_some());
        let end = (bytes.len() - more.len()) as u64;
        assert!(error.format().unwrap().offset() >= end, "{error}");
    }
}

#[test]
fn after_an_error_nothing_follows() {
    let bytes = stream_of(&samples()[..3]);
    let mut stream = StreamReader::new(&bytes[..70]);
    let mut tensor = stream.next_tensor().unwrap().unwrap();
    let error = tensor.copy_buffer(&mut io::sink()).unwrap_err();
    assert_eq!(error.rule(), Some(Rule::StreamTruncated));
    assert_eq!(error.format().unwrap().offset(), 70);
    assert!(tensor.copy_buffer(&mut io::sink()).is_err());
    assert!(tensor.read_buffers().is_err());
    assert!(stream.next_tensor().unwrap().is_none());
}

/// Takes so many bytes, then fails.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        if taken == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whoever copies to a disk that is full can go on with the next buffer or tensor, and
/// gets that one and not bytes from the middle of the last.
#[test]
fn an_output_that_fails_does_not_lose_the_streams_place() {
    // Two mebibytes pass through in more than one piece.
    let large = Descriptor::dense(Dtype::UInt8, &[2 << 20]).unwrap();
    let large = Sample { name: "large", descriptor: large, buffers: vec![vec![3; 2 << 20]] };
    let mut samples = samples();
    samples.push(large);
    let bytes = stream_of(&samples);
    for room in [0, 1, 5, 600_000, (1 << 20) + 1] {
        let mut stream = StreamReader::new(&bytes[..]);
        for sample in &samples {
            let mut tensor = stream.next_tensor().unwrap().unwrap();
            assert_eq!(tensor.descriptor(), &sample.descriptor, "{}", sample.name);
            for (place, buffer) in sample.buffers.iter().enumerate() {
                if place % 2 == 0 && buffer.len() > room {
                    let error = tensor.copy_buffer(&mut Full(room)).unwrap_err();
                    assert!(matches!(error, Error::Io { doing: "write", .. }));
                } else {
                    let mut copy = Vec::new();
                    tensor.copy_buffer(&mut copy).unwrap().unwrap();
                    assert_eq!(&copy, buffer, "{}", sample.name);
                }
            }
        }
        assert!(stream.next_tensor().unwrap().is_none());
    }
}

/// An input that fails once, as a socket with a time limit does.
struct Failing<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Read for Failing<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at == 0 {
            self.at = usize::MAX;
            return Err(io::ErrorKind::TimedOut.into());
        }
        let most = out.len().min(self.at);
        let read = self.bytes.read(&mut out[..most])?;
        self.at -= read;
        Ok(read)
    }
}

#[test]
fn an_input_that_fails_ends_the_stream_with_an_error_and_never_with_other_bytes() {
    let mut samples = samples();
    samples.retain(|sample| sample.descriptor.data_bytes() < 1000);
    let bytes = stream_of(&samples);
    for at in 0..bytes.len() {
        let mut stream = StreamReader::new(Failing { bytes: &bytes, at });
        let mut failed = false;
        let mut expected = samples.iter();
        loop {
            match stream.next_tensor() {
                Ok(None) => break,
                Ok(Some(tensor)) => {
                    assert!(!failed, "{at}");
                    let sample = expected.next().unwrap();
                    assert_eq!(tensor.descriptor(), &sample.descriptor);
                    match tensor.read_buffers() {
                        Ok(buffers) => {
                            let found = buffers.iter().map(|buffer| &buffer[..]);
                            assert!(found.eq(sample.slices()), "{at}");
                        }
                        Err(_) => failed = true,
                    }
                }
                Err(_) => failed = true,
            }
        }
        assert!(failed, "{at}");
    }
}

#[test]
fn composites_are_bound_from_a_stream() {
    let bytes = stream_of(&samples());
    let mut stream = StreamReader::new(&bytes[..]);
    let mut rest = std::iter::from_fn(|| {
        let tensor = stream.next_tensor().transpose()?;
        Some(tensor.map(|tensor| (tensor.descriptor().clone(), tensor.offset())))
    });
    let mut bound = Vec::new();
    while let Some(tensor) = rest.next() {
        let (descriptor, offset) = tensor.unwrap();
        let limits = Limits::default();
        bound.push(bind(descriptor, offset, &mut rest, |at| *at, &limits).unwrap());
    }
    let members: Vec<usize> = bound.iter().map(|composite| composite.members.len()).collect();
    let mut expected = vec![0; samples().len() - 3];
    expected.push(2);
    assert_eq!(members, expected);
}

#[test]
fn verify_reads_a_stream_to_its_end() {
    let samples = samples();
    let bytes = stream_of(&samples);
    let mut last = 0;
    let mut stream = StreamReader::new(Sluggish { bytes: &bytes, most: 100_000, calls: 0 });
    let count = stream.verify(&mut |done| {
        assert!(done >= last);
        last = done;
    });
    assert_eq!(count.unwrap(), samples.len() as u64);

    // A torn composite, and index arrays that are none.
    let torn = stream_of(&samples[..samples.len() - 1]);
    let error = StreamReader::new(&torn[..]).verify(&mut |_| {}).unwrap_err();
    assert_eq!(error.rule(), Some(Rule::CompositeTorn));
    let mut coo = samples.iter().find(|sample| sample.name == "coo").unwrap().clone();
    coo.buffers[1][0] = 10;
    let wrong = stream_of(&[samples[0].clone(), coo.clone()]);
    let error = StreamReader::new(&wrong[..]).verify(&mut |_| {}).unwrap_err();
    assert_eq!(error.rule(), Some(Rule::SparseCooOutOfBounds));
}

#[test]
fn private_tags_and_limits_are_the_readers() {
    let layout = Layout::Private(PrivateLayout { tag: 0xF1, id: 9, data: vec![1, 2, 3].into() });
    let private = Descriptor::builder(Dtype::UInt8, &[4])
        .layout(layout)
        .buffers([BufferHandle::cpu(4)])
        .build()
        .unwrap();
    let mut stream = StreamWriter::new(Vec::new());
    stream.tensor(&private, &[&[1, 2, 3, 4]]).unwrap();
    let bytes = stream.finish().unwrap();
    let first = |accept| StreamReader::with(&bytes[..], accept).next_tensor().map(|t| t.is_some());
    let error = first(Accept::default()).unwrap_err();
    assert_eq!(error.rule(), Some(Rule::LayoutPrivateTag));
    assert!(first(Accept::default().layout(0xF1)).unwrap());
    let limits = Limits { descriptor_bytes: 30, ..Limits::default() };
    let error = first(Accept::default().layout(0xF1).limits(limits)).unwrap_err();
    assert_eq!(error.rule(), Some(Rule::DescriptorLengthAboveLimit));
}
