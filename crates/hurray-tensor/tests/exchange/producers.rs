//! Producers of ours asked by C, and producers of C and C++ asked by us.

#![allow(unsafe_code, reason = "structs of others are taken")]

use std::mem::{MaybeUninit, offset_of};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hurray_tensor::Copying;
use hurray_tensor::device::{Device, Devices, EventKind, Stream};
use hurray_tensor::exchange::raw::{HurrayProducer, HurrayRequest, HurrayTensor};
use hurray_tensor::exchange::{
    Exported, ExportedProducer, ForeignProducer, Produce, Request, Status,
};
use hurray_tensor::format::{Accept, Descriptor, DeviceTag, Dtype, MemoryClass, Rule, SyncMode};
use hurray_tensor::{Alignment, BufferMut, DeclaredStream, Fence, Offered, Result, Tensor};

use crate::device::{TestDevice, device_memory, host_memory};
use crate::library::*;
use crate::to_them::partition;

pub(crate) fn take(mut raw: HurrayProducer) -> ForeignProducer {
    // SAFETY: made by the rules.
    let taken = unsafe { ForeignProducer::take(&raw mut raw) }.unwrap();
    assert!(raw.release.is_none());
    taken
}

#[test]
fn theirs_are_asked_and_answer_in_each_mode() {
    let side = in_c();
    let device = TestDevice::new(Some(side.wait));
    let (accept, devices) = (Accept::default(), device.at_hand());
    let mut producer = take(side.producer());
    let described = producer.describe(&accept).unwrap().unwrap();
    assert_eq!(described, Descriptor::dense(Dtype::Float32, &[3, 4]).unwrap());

    let mut mode = |request: &Request| {
        producer.produce(request, &accept, &devices).map(|offered| offered.sync_mode(0))
    };
    assert_eq!(mode(&Request::any()).unwrap(), SyncMode::PRODUCER_SYNCED);
    let events = Request::any().events(&[EventKind::MultiWait]);
    assert_eq!(mode(&events).unwrap(), SyncMode::EVENT);
    let binary = Request::any().events(&[EventKind::Binary]);
    assert_eq!(mode(&binary).unwrap(), SyncMode::PRODUCER_SYNCED);
    let device: Arc<dyn Device> = device;
    let stream = Stream::open(&device).unwrap();
    assert_eq!(mode(&events.on(&stream)).unwrap(), SyncMode::CONSUMER_STREAM);
    side.expect_released(4, 1);

    for refused in [
        Request::any().writable(),
        Request::any().aligned(Alignment::PAGE),
        Request::any().on_device(DeviceTag::VULKAN),
        Request::any().classes(&[MemoryClass::PEER]),
    ] {
        let error = producer.produce(&refused, &accept, &devices).unwrap_err();
        assert_eq!(error.rule(), Some(Rule::ExchangeProduceRefused));
        assert!(producer.last_error().is_some_and(|text| text.is_ascii()));
    }
    // What it hands out stays good after it.
    let tensor = producer.produce(&Request::any(), &accept, &devices).unwrap();
    drop(producer);
    drop(tensor.acquire_host().unwrap());
    side.expect_released(5, 1);
}

#[test]
fn exceptions_of_cpp_end_at_its_edge() {
    let side = in_cpp();
    let mut producer = take(side.producer());
    let (accept, devices) = (Accept::default(), Devices::default());
    drop(producer.produce(&Request::any(), &accept, &devices).unwrap());
    let thrown = producer.produce(&Request::any().aligned(Alignment::PAGE), &accept, &devices);
    assert_eq!(thrown.unwrap_err().rule(), Some(Rule::ExchangeProduceFailed));
    assert_eq!(producer.last_error().as_deref(), Some("thrown, and caught at the edge"));
    side.expect_released(1, 0);
}

#[test]
fn what_a_producer_leaves_when_it_fails_is_released() {
    unsafe extern "C" fn produce(
        it: *mut HurrayProducer,
        _: *const HurrayRequest,
        out: *mut HurrayTensor,
    ) -> i32 {
        // SAFETY: a producer of this test.
        let tensor = unsafe { (*it).private_data }.cast::<Tensor>();
        // SAFETY: as above.
        let tensor = unsafe { &*tensor };
        let mut made = Exported::share(tensor).unwrap().into_raw();
        // What cannot be read is released all the same.
        made.abi_version = 9;
        // SAFETY: room for a tensor.
        unsafe { out.write(made) };
        Status::Refused.code()
    }
    unsafe extern "C" fn release(it: *mut HurrayProducer) {
        // SAFETY: a producer of this test.
        unsafe { (*it).release = None };
    }
    let (memory, released) = device_memory(&[0; 48]);
    let tensor = Tensor::dense(Dtype::Float32, &[3, 4], memory).unwrap();
    let mut producer = take(HurrayProducer {
        abi_version: 1,
        struct_size: u32::try_from(size_of::<HurrayProducer>()).unwrap(),
        release: Some(release),
        private_data: (&raw const tensor).cast_mut().cast(),
        describe: None,
        produce: Some(produce),
        last_error: None,
    });
    let refused = producer.produce(&Request::any(), &Accept::default(), &Devices::default());
    assert_eq!(refused.unwrap_err().rule(), Some(Rule::ExchangeProduceRefused));
    drop((producer, tensor));
    assert_eq!(released.load(Ordering::Relaxed), 1);
}

#[test]
fn producers_that_are_none_are_refused() {
    let side = in_c();
    let mut raw = side.producer();
    raw.abi_version = 2;
    // SAFETY: by the rules, but for what is checked.
    let refused = unsafe { ForeignProducer::take(&raw mut raw) }.unwrap_err();
    assert_eq!((refused.rule(), raw.release), (Some(Rule::ExchangeVersion), None));
    // SAFETY: a struct that is released.
    let refused = unsafe { ForeignProducer::take(&raw mut raw) }.unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::ExchangeReleased));
    let mut raw = side.producer();
    raw.produce = None;
    // SAFETY: by the rules, but for what is checked.
    let refused = unsafe { ForeignProducer::take(&raw mut raw) }.unwrap_err();
    assert_eq!((refused.rule(), raw.release), (Some(Rule::ExchangeNull), None));
}

/// Ours: meets what a request wants of waiting and copying.
struct Ours {
    tensor: Tensor,
    device: Arc<dyn Device>,
    asked: Arc<AtomicU64>,
}

impl Produce for Ours {
    fn describe(&self) -> Option<Descriptor> {
        Some(self.tensor.descriptor().clone())
    }

    fn produce(&mut self, request: &Request) -> Result<Exported> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if request.may_copy() == Copying::Always || request.wants_writable() {
            let bytes = self.tensor.buffers()[0].host_bytes()?;
            let copy = BufferMut::copy_of(bytes)?.freeze();
            return Ok(Exported::new(Tensor::dense(Dtype::Float32, &[3, 4], copy)?)?.copied());
        }
        if let Some(handle) = request.stream() {
            // SAFETY: nobody here waits for it.
            let declared = unsafe { DeclaredStream::adopt(DeviceTag::CUDA, None, handle) };
            let fence = Fence::Stream(declared);
            return Exported::offer(Offered::new(self.tensor.clone(), vec![fence])?);
        }
        if request.accepts_event(EventKind::MultiWait) {
            let event = Stream::open(&self.device)?.record(EventKind::MultiWait)?;
            return Exported::offer(Offered::new(self.tensor.clone(), vec![Fence::Event(event)])?);
        }
        Exported::share(&self.tensor)
    }
}

#[test]
fn ours_are_asked_through_the_structs() {
    let (memory, released) = device_memory(&[0; 48]);
    let tensor = Tensor::dense(Dtype::Float32, &[3, 4], memory).unwrap();
    let (driver, asked) = (TestDevice::new(None), Arc::new(AtomicU64::new(0)));
    let devices = driver.at_hand();
    let device: Arc<dyn Device> = Arc::<TestDevice>::clone(&driver);
    let ours = Ours { tensor, device: Arc::clone(&device), asked: Arc::clone(&asked) };
    let mut producer = take(ExportedProducer::new(ours).into_raw());
    let accept = Accept::default();
    assert_eq!(producer.describe(&accept).unwrap().unwrap().shape(), [3, 4]);

    let mut mode = |request: &Request| {
        producer.produce(request, &accept, &devices).map(|offered| offered.sync_mode(0))
    };
    assert_eq!(mode(&Request::any()).unwrap(), SyncMode::PRODUCER_SYNCED);
    let events = Request::any().events(&[EventKind::MultiWait]);
    assert_eq!(mode(&events).unwrap(), SyncMode::EVENT);
    assert_eq!(driver.released.load(Ordering::Relaxed), 1);
    let stream = Stream::open(&device).unwrap();
    assert_eq!(mode(&Request::any().on(&stream)).unwrap(), SyncMode::CONSUMER_STREAM);

    // A copy that nobody allowed is not handed out, and a wish that was not met neither.
    let writable = Request::any().writable();
    let refused = producer.produce(&writable, &accept, &devices).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::ExchangeProduceRefused));
    assert!(producer.last_error().unwrap().contains("exchange.request-copy"));
    let copied = writable.copying(Copying::WhenNeeded);
    let copied = producer.produce(&copied, &accept, &devices).unwrap().acquire_host().unwrap();
    assert!(copied.buffers()[0].is_writable());
    let aligned = Request::any().aligned(Alignment::HUGE_PAGE);
    let refused = producer.produce(&aligned, &accept, &devices).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::ExchangeProduceRefused));
    assert!(producer.last_error().unwrap().contains("exchange.request-alignment"));
    assert_eq!(asked.load(Ordering::Relaxed), 6);
    assert_eq!(released.load(Ordering::Relaxed), 0);
    drop(producer);
    assert_eq!(released.load(Ordering::Relaxed), 1);
}

#[test]
fn a_tensor_is_handed_out_as_aligned_as_it_is_and_copied_for_more() {
    let memory = BufferMut::zeroed_at(Alignment::HUGE_PAGE, 12288).unwrap().freeze();
    let memory = memory.slice(4096..12288).unwrap();
    let tensor = Tensor::dense(Dtype::UInt8, &[8192], memory).unwrap();
    assert_eq!(tensor.descriptor().buffers()[0].alignment(), 64);
    let first = tensor.buffers()[0].host_bytes().unwrap().as_ptr();
    let mut producer = take(ExportedProducer::new(tensor).into_raw());
    let (accept, devices) = (Accept::default(), Devices::default());
    let mut produce = |request: &Request| {
        let offered = producer.produce(request, &accept, &devices)?;
        let tensor = offered.acquire_host()?;
        let declared = tensor.descriptor().buffers()[0].alignment();
        Ok::<_, hurray_tensor::Error>((
            tensor.buffers()[0].host_bytes()?.as_ptr() == first,
            declared,
        ))
    };
    assert_eq!(produce(&Request::any()).unwrap(), (true, 64));
    assert_eq!(produce(&Request::any().aligned(Alignment::PAGE)).unwrap(), (true, 4096));
    let more = Request::any().aligned(Alignment::HUGE_PAGE);
    assert!(produce(&more).is_err());
    let copied = produce(&more.copying(Copying::WhenNeeded)).unwrap();
    assert_eq!(copied, (false, Alignment::HUGE_PAGE.bytes()));
}

#[test]
fn composites_are_asked_for_with_their_members() {
    let (composite, released) = partition();
    let made = move |_: &Request| Exported::composite(&composite);
    let mut producer = take(ExportedProducer::new(made).into_raw());
    let (accept, devices) = (Accept::default(), Devices::default());
    let offered = producer.produce_composite(&Request::any(), &accept, &devices).unwrap();
    let composite = offered.acquire_host().unwrap();
    let rows = composite.members().iter().map(|member| member.item.buffers()[0].host_bytes());
    let rows: Vec<&[u8]> = rows.collect::<Result<_>>().unwrap();
    let floats = (0_u8..8).flat_map(|number| f32::from(number).to_le_bytes());
    assert_eq!(rows.concat(), floats.collect::<Vec<u8>>());

    // Members are held against the request too.
    let elsewhere = Request::any().on_device(DeviceTag::CUDA);
    let refused = producer.produce_composite(&elsewhere, &accept, &devices).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::ExchangeProduceRefused));
    // A composite is not handed out as a tensor.
    let refused = producer.produce(&Request::any(), &accept, &devices).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::ExchangeComposite));

    drop(producer);
    let releases = || released.each_ref().map(|count| count.load(Ordering::Relaxed));
    assert_eq!(releases(), [0, 0]);
    drop(composite);
    assert_eq!(releases(), [1, 1]);
}

#[test]
fn requests_are_checked_before_they_are_met() {
    let (memory, _) = host_memory(&[0; 48]);
    let tensor = Tensor::dense(Dtype::Float32, &[3, 4], memory).unwrap();
    let made = move |_: &Request| Exported::share(&tensor);
    let mut raw = ExportedProducer::new(made).into_raw();
    let produce = raw.produce.unwrap();
    let mut ask = |request: *const HurrayRequest, out: &mut HurrayTensor| {
        // SAFETY: a producer of ours, and room for a tensor.
        Status::from_code(unsafe { produce(&raw mut raw, request, out) }).unwrap()
    };
    let mut out = empty_tensor();
    assert_eq!(ask(std::ptr::null(), &mut out), Status::Peer);
    let mut request = *Request::any().as_raw();
    type Change = fn(&mut HurrayRequest);
    let broken: [(Status, Change); 6] = [
        (Status::Unsupported, |it| it.abi_version = 2),
        (Status::Peer, |it| it.struct_size -= 1),
        (Status::Unsupported, |it| it.flags = 8),
        (Status::Peer, |it| it.reserved[0] = 1),
        (Status::Peer, |it| it.reserved2 = 1),
        (Status::Peer, |it| it.accepted_syncs |= 4),
    ];
    for (status, break_it) in broken {
        let mut changed = request;
        break_it(&mut changed);
        assert_eq!(ask(&raw const changed, &mut out), status);
        assert!(out.release.is_none());
    }
    request.struct_size += 64;
    out.struct_size = 79;
    assert_eq!(ask(&raw const request, &mut out), Status::Peer);
    out.struct_size = 800;
    assert_eq!(ask(&raw const request, &mut out), Status::Ok);
    // No more was filled than the struct of today.
    assert_eq!(out.struct_size, 80);
    release(&mut out);
    // SAFETY: not released yet.
    unsafe { raw.release.unwrap()(&raw mut raw) };
    // What is left in the room from before is no tensor.
    out.release = Some(never);
    // SAFETY: released, as its struct says.
    assert_eq!(unsafe { produce(&raw mut raw, &raw const request, &raw mut out) }, -4);
    assert!(out.release.is_none());
}

unsafe extern "C" fn never(_: *mut HurrayTensor) {
    panic!("a tensor that is not there is released")
}

type Release = Option<unsafe extern "C" fn(*mut HurrayTensor)>;

#[test]
fn of_the_room_for_a_tensor_the_size_alone_need_be_set() {
    let (memory, _) = host_memory(&[0; 48]);
    let tensor = Tensor::dense(Dtype::Float32, &[3, 4], memory).unwrap();
    let mut producer = ExportedProducer::new(tensor);
    let raw = producer.as_mut_ptr();
    // SAFETY: a producer of ours.
    let produce = unsafe { (*raw).produce }.unwrap();
    for (size, status) in [(79, -4), (80, 0), (96, 0)] {
        let mut out = MaybeUninit::<HurrayTensor>::uninit();
        let out = out.as_mut_ptr();
        let its_size = out.wrapping_byte_add(offset_of!(HurrayTensor, struct_size));
        // SAFETY: a field of memory that is there.
        unsafe { its_size.cast::<u32>().write(size) };
        // SAFETY: a producer of ours, and no more than a tensor is ever written.
        let answer = unsafe { produce(raw, Request::any().as_raw(), out) };
        let release = out.wrapping_byte_add(offset_of!(HurrayTensor, release));
        // SAFETY: written whatever the answer.
        let release = unsafe { release.cast::<Release>().read() };
        assert_eq!((answer, release.is_some()), (status, status == 0), "{size}");
        if let Some(release) = release {
            // SAFETY: filled, and not released.
            unsafe { release(out) }
        }
    }
}

#[test]
fn a_stream_that_was_named_is_open_for_as_long_as_it_may_be_waited_for() {
    let tensor = Tensor::dense(Dtype::Float32, &[3, 4], device_memory(&[0; 48]).0).unwrap();
    let driver = TestDevice::new(None);
    let device: Arc<dyn Device> = Arc::<TestDevice>::clone(&driver);
    let ours = Ours { tensor, device: Arc::clone(&device), asked: Arc::default() };
    let mut producer = take(ExportedProducer::new(ours).into_raw());

    let stream = Stream::open(&device).unwrap();
    let request = Request::any().on(&stream);
    drop(stream);
    // Also where the device is not at hand otherwise.
    let offered = producer.produce(&request, &Accept::default(), &Devices::default()).unwrap();
    assert_eq!(offered.sync_mode(0), SyncMode::CONSUMER_STREAM);
    drop(request);
    assert_eq!(driver.closed.load(Ordering::Relaxed), 0);
    drop(offered.acquire().unwrap());
    assert_eq!(driver.recorded.load(Ordering::Relaxed), 1);
    assert_eq!(driver.closed.load(Ordering::Relaxed), 1);
}

#[test]
fn a_panic_of_ours_becomes_a_status_and_its_words() {
    let made = |_: &Request| -> Result<Exported> { panic!("a bug of ours") };
    let mut producer = take(ExportedProducer::new(made).into_raw());
    assert!(producer.describe(&Accept::default()).is_err());
    let failed = producer.produce(&Request::any(), &Accept::default(), &Devices::default());
    assert_eq!(failed.unwrap_err().rule(), Some(Rule::ExchangeProduceFailed));
    assert_eq!(producer.last_error().as_deref(), Some("a bug of ours"));
}
