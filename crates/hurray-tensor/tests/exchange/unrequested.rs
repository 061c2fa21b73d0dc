//! Answers that a request did not ask for: refused on the consumer's side, and released.
//!
//! Producers of ours refuse by themselves; so here stands one that does not look.

#![allow(unsafe_code, reason = "a producer is made by hand")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hurray_tensor::Copying;
use hurray_tensor::device::Devices;
use hurray_tensor::exchange::raw::{HurrayProducer, HurrayRequest, HurrayTensor};
use hurray_tensor::exchange::{Exported, ForeignProducer, Request};
use hurray_tensor::format::{
    Accept, CompositeHead, Composition, Descriptor, DeviceTag, Dtype, Layout, MemoryClass, Rule,
};
use hurray_tensor::{Alignment, Buffer, Composite, Tensor};

use crate::device::{device_memory, host_memory};
use crate::producers::take;

/// A producer that hands out what it makes, whatever the request.
fn blind(make: impl Fn() -> Exported + 'static) -> ForeignProducer {
    type Make = Box<dyn Fn() -> Exported>;
    unsafe extern "C" fn produce(
        it: *mut HurrayProducer,
        _: *const HurrayRequest,
        out: *mut HurrayTensor,
    ) -> i32 {
        // SAFETY: a producer of this test.
        let make = unsafe { (*it).private_data }.cast::<Make>();
        // SAFETY: as above, not released.
        let made = unsafe { &*make }();
        // SAFETY: room for a tensor.
        unsafe { out.write(made.into_raw()) };
        0
    }
    unsafe extern "C" fn release(it: *mut HurrayProducer) {
        // SAFETY: a producer of this test.
        let make = unsafe { (*it).private_data }.cast::<Make>();
        // SAFETY: as above, released once.
        drop(unsafe { Box::from_raw(make) });
        // SAFETY: as above.
        unsafe { (*it).release = None };
    }
    let make: Make = Box::new(make);
    take(HurrayProducer {
        abi_version: 1,
        struct_size: u32::try_from(size_of::<HurrayProducer>()).unwrap(),
        release: Some(release),
        private_data: Box::into_raw(Box::new(make)).cast(),
        describe: None,
        produce: Some(produce),
        last_error: None,
    })
}

fn floats(memory: Buffer) -> Tensor {
    Tensor::dense(Dtype::Float32, &[3, 4], memory).unwrap()
}

#[test]
fn an_answer_that_was_not_asked_for_is_released() {
    let (memory, released) = device_memory(&[0; 48]);
    let tensor = floats(memory);
    let mut producer = blind(move || Exported::share(&tensor).unwrap());
    let refused = [
        Request::any().on_device(DeviceTag::CPU),
        Request::any().classes(&[MemoryClass::STANDARD]),
        Request::any().aligned(Alignment::PAGE),
        Request::any().writable(),
        Request::any().copying(Copying::Always),
    ];
    for request in refused {
        let error = producer.produce(&request, &Accept::default(), &Devices::default());
        assert_eq!(error.unwrap_err().rule(), Some(Rule::ExchangeUnrequested));
    }
    drop(producer.produce(&Request::any(), &Accept::default(), &Devices::default()).unwrap());
    drop(producer);
    assert_eq!(released.load(Ordering::Relaxed), 1);
}

/// Members on the host, and on a device, and how often the memory of each was released.
fn members() -> ([Tensor; 2], [Arc<AtomicU64>; 2]) {
    let (on_host, host_released) = host_memory(&[0; 48]);
    let (on_device, device_released) = device_memory(&[0; 48]);
    ([floats(on_host), floats(on_device)], [host_released, device_released])
}

fn group(members: u32) -> Tensor {
    let head = CompositeHead { composition: Composition::Group, member_count: members };
    let head = Descriptor::builder(Dtype::Float32, &[2]).layout(Layout::Composite(head));
    Tensor::new(head.build().unwrap(), []).unwrap()
}

/// One member that does not meet the request is enough, wherever it stands.
#[test]
fn members_that_were_not_asked_for_are_refused_with_all_the_others() {
    let meets_neither = [
        Request::any().aligned(Alignment::PAGE),
        Request::any().writable(),
        Request::any().copying(Copying::Always),
    ];
    let meets_one = [
        Request::any().on_device(DeviceTag::CPU),
        Request::any().on_device(DeviceTag::CUDA),
        Request::any().classes(&[MemoryClass::STANDARD]),
        Request::any().classes(&[MemoryClass::UNIFIED]),
    ];
    for nested in [false, true] {
        let ([first, second], released) = members();
        let tensors = match nested {
            false => vec![group(2), first, second],
            // A member that meets any of these has no bytes; the others are inside the last.
            true => vec![group(2), floats_of_nothing(), group(2), first, second],
        };
        let composite = Composite::new(tensors).unwrap();
        let mut producer = blind(move || Exported::composite(&composite).unwrap());
        let mut produce = |request: &Request| {
            producer.produce_composite(request, &Accept::default(), &Devices::default())
        };
        for request in meets_neither.iter().chain(&meets_one) {
            let refused = produce(request).unwrap_err();
            assert_eq!(refused.rule(), Some(Rule::ExchangeUnrequested), "{request:?}");
        }
        // What was refused holds nothing: the producer's own are the only shares left.
        let taken = produce(&Request::any()).unwrap();
        drop(producer);
        let releases = || released.each_ref().map(|count| count.load(Ordering::Relaxed));
        assert_eq!(releases(), [0, 0]);
        drop(taken);
        assert_eq!(releases(), [1, 1]);
    }
}

fn floats_of_nothing() -> Tensor {
    Tensor::dense(Dtype::Float32, &[0, 4], Buffer::empty()).unwrap()
}
