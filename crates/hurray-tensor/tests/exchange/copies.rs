//! Two libraries with a copy of hurray-tensor each, built apart, in this process, which has a third.

#![allow(unsafe_code, reason = "functions of a shared library are called")]

use hurray_tensor::device::Devices;
use hurray_tensor::exchange::{Exported, Foreign};
use hurray_tensor::format::{Accept, Dtype};
use hurray_tensor::{Buffer, Tensor};

use crate::device::host_memory;
use crate::library::*;

#[test]
fn copies_hand_tensors_to_each_other() {
    let [debug, release] = copies();
    // The two are two: neither counts for the other.
    assert_ne!(debug.wait as usize, release.wait as usize);
    let pairs = [(&debug, &release), (&release, &debug)];
    let cases = [
        (SYNCED, 1, 0, Some(66.0)),
        (MULTI_WAIT, 1, 1, Some(66.0)),
        (TIMELINE, 1, 1, Some(66.0)),
        (BINARY, 1, 1, Some(66.0)),
        (STREAM, 1, 0, Some(66.0)),
        (COMPOSITE, 2, 0, Some(28.0)),
        (QUANTIZED, 2, 0, None),
        (EMPTY, 1, 0, Some(0.0)),
        (NESTED, 4, 0, None),
    ];
    for (producer, consumer) in pairs {
        let (mut buffers, mut events) = (0, 0);
        for (which, own_buffers, own_events, wanted) in cases {
            let mut raw = producer.make(which);
            if own_events > 0 {
                producer.signal(&raw);
            }
            let mut sum = 0.0;
            // SAFETY: a tensor by the rules, and a place for the sum.
            let status = unsafe {
                (consumer.consume[0])(&raw mut raw, producer.wait, ORDERED_STREAM, &raw mut sum)
            };
            assert_eq!((status, raw.release), (0, None), "{which}");
            assert!(wanted.is_none_or(|wanted| wanted == sum), "{which}: {sum}");
            (buffers, events) = (buffers + own_buffers, events + own_events);
            producer.expect_released(buffers, events);
        }
    }
    // Neither released anything that the other made.
    assert_eq!(debug.counts().buffers, release.counts().buffers);
}

#[test]
fn this_program_hands_tensors_to_the_copies_and_takes_theirs() {
    for copy in copies() {
        let (memory, released) = host_memory(&[0; 64]);
        let shared: Buffer = memory.clone();
        let tensor = Tensor::dense(Dtype::Float32, &[4, 4], memory).unwrap();
        let mut raw = Exported::new(tensor).unwrap().into_raw();
        let mut sum = 1.0;
        // SAFETY: a tensor by the rules, and a place for the sum.
        let status = unsafe { (copy.consume[1])(&raw mut raw, copy.wait, 0, &raw mut sum) };
        assert_eq!((status, sum), (0, 1.0));
        drop(shared);
        assert_eq!(released.load(std::sync::atomic::Ordering::Relaxed), 1);

        let mut raw = copy.make(QUANTIZED);
        let address = first_buffer(&raw).host;
        // SAFETY: made by the rules.
        let foreign = unsafe { Foreign::take(&raw mut raw) }.unwrap();
        let offered = foreign.into_offered(&Accept::default(), &Devices::default()).unwrap();
        let tensor = offered.acquire_host().unwrap();
        let bytes = tensor.buffers()[0].host_bytes().unwrap();
        assert_eq!(bytes.as_ptr(), address.cast_const().cast());
        drop(tensor);
        copy.expect_released(2, 0);
    }
}
