//! What the fuzz targets call: read anything, and whatever is accepted must be written
//! again as it was read.

#![allow(clippy::panic, clippy::missing_panics_doc, reason = "a finding is a panic")]

use alloc::vec::Vec;

use crate::accept::Accept;
use crate::crc32c::crc32c;
use crate::descriptor::{Descriptor, DescriptorRef, Permissive};
use crate::file::{FileOptions, FilePlan, FileView, RESERVED_KEYS};
use crate::rules::Rule;
use crate::stream::StreamView;
use crate::wire::{Recording, Silent, as_index, as_offset};

/// Reads `bytes` as a descriptor, in every way there is.
pub fn descriptor(bytes: &[u8]) {
    for accept in [Accept::default(), Accept::every_private_tag()] {
        let mut trace = Recording::default();
        let traced = DescriptorRef::read_with(bytes, &accept, &mut trace);
        let read = Descriptor::decode_with(bytes, &accept, &mut Silent);
        assert_eq!(traced.as_ref().err(), read.as_ref().err(), "a trace changed the answer");
        match DescriptorRef::read_permissive(bytes, &accept) {
            Ok(Permissive::Known(known)) => assert_eq!(Some(&known.to_owned()), read.as_ref().ok()),
            Ok(Permissive::Foreign(_)) => assert!(read.is_err()),
            Err(_) => assert!(read.is_err(), "strict accepts what permissive refuses"),
        }
        let Ok(read) = read else {
            continue;
        };
        let length: u64 = trace.fields.iter().map(|field| field.length).sum();
        assert_eq!(length, as_offset(bytes.len()), "the trace leaves bytes out");
        let again = read.encode();
        if again.len() == bytes.len() {
            assert_eq!(again, bytes, "written otherwise than read");
        }
        let reread = Descriptor::decode_with(&again, &accept, &mut Silent);
        assert_eq!(reread.as_ref(), Ok(&read), "written and read again");
        locate(&read);
    }
}

/// The corners of a dense tensor lie inside buffer 0.
fn locate(descriptor: &Descriptor) {
    if descriptor.is_dynamic() || descriptor.shape().contains(&0) {
        return;
    }
    let last: Vec<u64> = descriptor.shape().iter().map(|size| size.saturating_sub(1)).collect();
    let first = alloc::vec![0; last.len()];
    for index in [&first, &last] {
        if let Ok(location) = descriptor.locate(index) {
            let bits = u64::from(location.bit).saturating_add(u64::from(descriptor.dtype().bits()));
            let end = location.byte.saturating_add(bits.div_ceil(8));
            let size = descriptor.buffers().first().map_or(0, |handle| handle.byte_size());
            assert!(end <= size, "an element outside its buffer");
        }
    }
}

/// Reads `bytes` as a file and every tensor in it.
pub fn file(bytes: &[u8]) {
    let Ok(view) = FileView::open_with(bytes, &Accept::every_private_tag()) else {
        return;
    };
    for (number, entry) in view.container().index().iter().enumerate() {
        assert_eq!(as_offset(number), u64::from(entry.number));
        assert_eq!(view.container().index().find(entry.name), Some(entry));
        if let Ok(tensor) = view.read(&entry) {
            let _ = tensor.descriptor.check_contents(&tensor.buffers);
        }
    }
    for (key, value) in view.container().kv().iter() {
        assert_eq!(view.container().kv().get(key).map(|v| v.kind()), Some(value.kind()));
    }
    let _ = view.verify();
    rewrite(&view);
}

/// What was read is planned again, and read as the same.
fn rewrite(view: &FileView<'_>) {
    let container = view.container();
    let options = FileOptions {
        alignment: container.header().alignment(),
        key_values: true,
        sorted: container.header().is_sorted(),
        tensor_count: container.header().count_hint(),
    };
    let Ok((mut plan, header)) = FilePlan::new(options) else {
        panic!("an alignment that was read cannot be written");
    };
    let mut file = header.to_vec();
    let zeros = |file: &mut Vec<u8>, count: u64| {
        file.resize(file.len().saturating_add(as_index(count)), 0);
    };
    let mut read = Vec::new();
    for entry in container.index().in_file_order() {
        let Ok(tensor) = view.read(&entry) else {
            return;
        };
        let Ok(planned) = plan.tensor(entry.name, &tensor.descriptor) else {
            panic!("a tensor that was read cannot be written");
        };
        zeros(&mut file, planned.padding);
        file.extend_from_slice(&planned.descriptor);
        for (buffer, (padding, length)) in tensor.buffers.iter().zip(&planned.buffers) {
            zeros(&mut file, *padding);
            assert_eq!(as_offset(buffer.len()), *length, "a buffer of another length");
            file.extend_from_slice(buffer);
        }
        read.push((entry.name, tensor));
    }
    for (key, value) in container.kv().iter() {
        // Keys of Hurray's own that hold what they never do are read and not written.
        let written = plan.key_value(key, &value).is_ok();
        assert!(written || key.starts_with(RESERVED_KEYS), "a key-value that was read");
        if !written {
            return;
        }
    }
    let tail = match plan.finish(crc32c) {
        Ok(tail) => tail,
        // A file is opened without looking at its composites.
        Err(error) if error.rule() == Rule::CompositeTorn => return,
        Err(error) => panic!("a file that was read cannot be finished: {error}"),
    };
    file.extend_from_slice(&tail);
    let Ok(again) = FileView::open_with(&file, &Accept::every_private_tag()) else {
        panic!("a file that was written cannot be read");
    };
    assert_eq!(again.container().kv().as_bytes(), container.kv().as_bytes());
    for (name, tensor) in read {
        assert_eq!(again.tensor(name).as_ref(), Ok(&tensor), "written and read again");
    }
}

/// Reads `bytes` as a plain stream; what it holds is written again as it was read.
pub fn stream(bytes: &[u8]) {
    let accept = Accept::every_private_tag();
    let mut at = 0;
    for tensor in StreamView::with(bytes, &accept) {
        let Ok(tensor) = tensor else {
            break;
        };
        assert_eq!(tensor.offset, at, "tensors lie back to back");
        let rest = bytes.get(as_index(at)..).unwrap_or_default();
        let length = Descriptor::length_of(rest).unwrap_or(0);
        let mut again = tensor.descriptor.encode();
        if as_offset(again.len()) == u64::from(length) {
            tensor.buffers.iter().for_each(|buffer| again.extend_from_slice(buffer));
            assert!(rest.starts_with(&again), "written otherwise than read");
        }
        at = at.saturating_add(u64::from(length));
        at = at.saturating_add(tensor.descriptor.data_bytes());
    }
    let _ = StreamView::with(bytes, &accept).verify();
}
