//! Devices by their numbers, memory that the CPU cannot look at, and streams.

use std::sync::{Arc, Mutex};

use hurray_tensor::Copying;
use hurray_tensor::device::*;
use hurray_tensor::dlpack::raw::*;
use hurray_tensor::dlpack::*;
use hurray_tensor::format::{DeviceTag, Dtype, MemoryClass, Rule};
use hurray_tensor::{Alignment, Buffer, DeviceMemory, Fence, Offered, Region, Result, Tensor};

use crate::producer::*;

/// The page of the specification, row by row; classes by their numbers, 0 where it is refused.
const MAP: &[(DeviceTag, [i32; 4])] = &[
    (DeviceTag::CPU, [1, 1, 1, 0]),
    (DeviceTag::CUDA, [2, 3, 13, 0]),
    (DeviceTag::ROCM, [10, 11, 0, 0]),
    (DeviceTag::METAL, [8, 8, 8, 0]),
    (DeviceTag::VULKAN, [7, 7, 7, 0]),
    (DeviceTag::WEBGPU, [15, 0, 0, 0]),
    (DeviceTag::HEXAGON, [16, 16, 16, 0]),
    (DeviceTag::LEVEL_ZERO, [14, 14, 14, 0]),
    (DeviceTag::OPENCL, [4, 4, 4, 0]),
    (DeviceTag::from_tag(0xF0), [0, 0, 0, 0]),
    (DeviceTag::from_tag(0xFE), [0, 0, 0, 0]),
];

#[test]
fn d31_the_map_of_devices_is_the_specification_s() {
    for (tag, numbers) in MAP {
        for (class, number) in (0..).zip(numbers) {
            let class = MemoryClass::from_tag(class);
            match number {
                0 => {
                    let refused = device_type(*tag, class).unwrap_err();
                    assert_eq!(refused.rule(), Some(Rule::DlpackDevice));
                }
                number => {
                    assert_eq!(device_type(*tag, class).unwrap(), *number);
                    assert_eq!(device_tag(*number).unwrap().0, *tag);
                    let (tag, class) = device_tag(*number).unwrap();
                    assert_eq!(device_type(tag, class).unwrap(), *number);
                }
            }
        }
        assert!(device_type(*tag, MemoryClass::from_tag(0xF0)).is_err());
    }
}

/// Memory that is nowhere: no address of it is ever looked at.
fn region(device: DeviceTag, class: MemoryClass) -> Region {
    Region { device, class, ordinal: 3, ..Region::host(std::ptr::null_mut(), 0) }
}

fn tensor(region: Region) -> Tensor {
    // SAFETY: the memory is not the host's to look at, and no device looks at it either.
    let buffer = unsafe { Buffer::adopt(region, || {}) }.unwrap();
    Tensor::laid_out(Dtype::Float32, &[2, 2], hurray_tensor::format::Layout::RowMajor, 8, buffer)
        .unwrap()
}

#[test]
fn addresses_of_a_device_go_out_and_come_back() {
    for (tag, numbers) in MAP {
        for (class, number) in (0..).zip(numbers) {
            let class = MemoryClass::from_tag(class);
            if matches!(*number, 0 | 1 | 4 | 7 | 8 | 15) {
                continue;
            }
            let region =
                Region { address: 0x7000, offset: 0x40, length: 24, ..region(*tag, class) };
            let tensor = tensor(region);
            let out: Exported = (&tensor).try_into().unwrap();
            assert_eq!(out.tensor().data.addr(), 0x7048);
            assert_eq!(out.tensor().byte_offset, 0);
            assert_eq!(out.tensor().device.device_type, *number);
            // The header has 0 for pinned and managed memory, whichever device it is of.
            let is_host = matches!(*number, 3 | 11 | 13);
            assert_eq!(out.tensor().device.device_id, if is_host { 0 } else { 3 });
            assert_eq!(device_of(&tensor).unwrap(), out.tensor().device);
            // What no CPU may look at is not copied by one.
            let how = Export { copying: Copying::Always, ..Export::default() };
            let refused = how.share::<DLManagedTensorVersioned>(&tensor).unwrap_err();
            assert_eq!(refused.rule(), Some(Rule::MemoryNotHost));

            let imported = Foreign::from(out).import(&Import::default()).unwrap();
            let mode = imported.tensor.sync_mode(0).tag();
            let has_streams = matches!(*tag, DeviceTag::CUDA | DeviceTag::ROCM);
            assert_eq!(mode, if has_streams { 2 } else { 0 });
            if has_streams {
                // Nobody here can wait for it.
                let refused = imported.tensor.acquire().unwrap_err();
                assert_eq!(refused.rule(), Some(Rule::SyncDeviceUnknown));
                continue;
            }
            let back = imported.tensor.acquire().unwrap();
            let buffer = &back.buffers()[0];
            assert_eq!((buffer.device(), buffer.region().ordinal), (*tag, 3));
            assert!(buffer.region().host.is_null());
            let position = buffer.region().address + buffer.region().offset;
            assert_eq!((position, buffer.lead()), (0x7040, 8));
            assert_eq!(buffer.host_bytes().unwrap_err().rule(), Some(Rule::MemoryNotHost));
        }
    }
}

#[test]
fn objects_of_a_driver_are_stepped_into_by_the_offset_alone() {
    for (number, tag) in [
        (4, DeviceTag::OPENCL),
        (7, DeviceTag::VULKAN),
        (8, DeviceTag::METAL),
        (15, DeviceTag::WEBGPU),
    ] {
        let object = Region {
            object: 0xABCD,
            offset: 256,
            length: 24,
            ..region(tag, MemoryClass::STANDARD)
        };
        let out: Exported = tensor(object).try_into().unwrap();
        assert_eq!((out.tensor().data.addr(), out.tensor().byte_offset), (0xABCD, 264));
        assert_eq!(out.tensor().device, DLDevice { device_type: number, device_id: 3 });
        let back = Tensor::try_from(Foreign::from(out)).unwrap();
        let region = back.buffers()[0].region();
        assert_eq!((region.object, region.address, region.offset), (0xABCD, 0, 256));
        assert_eq!((back.buffers()[0].lead(), back.descriptor().byte_offset()), (8, 8));

        // An address is no such object.
        let address = Region { object: 0, address: 0x7000, ..object };
        let refused = Exported::<DLManagedTensorVersioned>::try_from(tensor(address));
        assert_eq!(refused.unwrap_err().rule(), Some(Rule::DlpackHandle));
    }
    let object =
        Region { object: 0xABCD, length: 24, ..region(DeviceTag::CUDA, MemoryClass::STANDARD) };
    let refused = Exported::<DLManagedTensorVersioned>::try_from(tensor(object));
    assert_eq!(refused.unwrap_err().rule(), Some(Rule::DlpackHandle));
}

#[test]
fn peer_and_private_memory_stays() {
    let peer = (DeviceTag::CUDA, MemoryClass::PEER);
    let private = (DeviceTag::from_tag(0xF0), MemoryClass::STANDARD);
    for (tag, class) in [peer, private] {
        let memory = Region { address: 0x7000, length: 24, ..region(tag, class) };
        let refused = Exported::<DLManagedTensorVersioned>::try_from(tensor(memory));
        assert_eq!(refused.unwrap_err().rule(), Some(Rule::DlpackDevice));
    }
    let far = Region {
        address: 0x7000,
        length: 24,
        ordinal: 1 << 40,
        ..region(DeviceTag::CUDA, MemoryClass::STANDARD)
    };
    let refused = Exported::<DLManagedTensorVersioned>::try_from(tensor(far));
    assert_eq!(refused.unwrap_err().rule(), Some(Rule::DlpackDeviceId));
}

#[test]
fn d28_streams_by_the_table() {
    use StreamOrder::{ByConsumer, Ready, Stream};
    let streams = [None, Some(-1), Some(0), Some(1), Some(2), Some(0x7F00)];
    let cuda = [Some(Stream(1)), Some(ByConsumer), None, Some(Stream(1)), Some(Stream(2))];
    let rocm = [Some(Stream(0)), Some(ByConsumer), Some(Stream(0)), None, None];
    let plain = [Some(Ready), None, None, None, None];
    for (devices, row, last) in [
        (&[2, 3, 13][..], cuda, Some(Stream(0x7F00))),
        (&[10, 11], rocm, Some(Stream(0x7F00))),
        (&[1, 4, 7, 8, 14, 15, 16], plain, None),
    ] {
        for device in devices {
            for (stream, expected) in streams.iter().zip(row.iter().chain([&last])) {
                let asked = StreamOrder::asked(*device, *stream);
                match expected {
                    Some(expected) => assert_eq!(asked.unwrap(), *expected, "{device} {stream:?}"),
                    None => assert_eq!(asked.unwrap_err().rule(), Some(Rule::DlpackStream)),
                }
            }
            for stream in [-2, i64::MIN] {
                assert!(StreamOrder::asked(*device, Some(stream)).is_err());
            }
        }
    }
    // The table holds on both ways.
    let own = Tensor::from_vec(vec![1_u8], &[1]).unwrap();
    let how = Export { stream: Some(1), ..Export::default() };
    let refused = how.share::<DLManagedTensorVersioned>(&own).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::DlpackStream));
    let producer = Producer::f32(&[1], &[1.0]);
    let terms = Terms { stream: Some(-1), ..Terms::default() };
    let refused = producer.foreign_on(terms).and_then(Tensor::try_from).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::DlpackStream));
    assert_eq!(producer.deleted.times(), 1);
}

/// A device that does nothing and writes down what it was told.
#[derive(Debug)]
struct Told {
    identity: Identity,
    log: Mutex<Vec<String>>,
}

impl Told {
    fn new() -> Arc<Self> {
        Self::of(DeviceTag::CUDA)
    }

    fn of(tag: DeviceTag) -> Arc<Self> {
        let name = "told".to_owned();
        let identity = Identity { tag, ordinal: 3, uuid: [0; 16], name };
        Arc::new(Self { identity, log: Mutex::default() })
    }

    fn tell(&self, what: String) {
        self.log.lock().unwrap().push(what);
    }

    fn told(&self) -> Vec<String> {
        std::mem::take(&mut *self.log.lock().unwrap())
    }
}

// SAFETY: there is no memory, and all work is done when it is queued.
unsafe impl Device for Told {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn classes(&self) -> &[MemoryClass] {
        &[]
    }

    fn host_can_read(&self, _: MemoryClass) -> bool {
        false
    }

    fn allocate(&self, _: u64, _: Alignment, _: MemoryClass) -> Result<DeviceMemory> {
        panic!("it has no memory")
    }

    fn open_stream(&self) -> Result<u64> {
        Ok(5)
    }

    unsafe fn close_stream(&self, _: u64) {}

    unsafe fn copy(&self, _: u64, _: &Region, _: &Region) -> Result<()> {
        panic!("it has no memory")
    }

    unsafe fn record(&self, stream: u64, kind: EventKind) -> Result<RawEvent> {
        self.tell(format!("record on {stream}"));
        Ok(RawEvent { kind, handle: 77, value: 0 })
    }

    unsafe fn wait(&self, stream: u64, event: RawEvent) -> Result<()> {
        self.tell(format!("{stream} waits for {}", event.handle));
        Ok(())
    }

    unsafe fn wait_on_host(&self, event: RawEvent) -> Result<()> {
        self.tell(format!("host waits for {}", event.handle));
        Ok(())
    }

    unsafe fn release_event(&self, event: RawEvent) {
        self.tell(format!("release {}", event.handle));
    }

    unsafe fn call(&self, _: u64, work: Box<dyn FnOnce() + Send>) -> Result<()> {
        work();
        Ok(())
    }
}

fn offered(device: &Arc<Told>) -> Offered<Tensor> {
    let region = Region {
        address: 0x7000,
        length: 24,
        ..region(device.identity.tag, MemoryClass::STANDARD)
    };
    let raw = RawEvent { kind: EventKind::Binary, handle: 9, value: 0 };
    // SAFETY: the device takes any event.
    let event = unsafe { Event::adopt(Arc::clone(device) as Arc<dyn Device>, raw) };
    Offered::new(tensor(region), vec![Fence::Event(event)]).unwrap()
}

fn given(device: &Arc<Told>, stream: Option<i64>) -> Result<Exported> {
    let devices = Devices::default().with(Arc::clone(device) as Arc<dyn Device>);
    let how = Export { stream, devices: Some(&devices), ..Export::default() };
    // SAFETY: the device takes any stream.
    unsafe { how.offer(offered(device)) }
}

#[test]
fn d29_the_consumer_s_stream_waits_for_the_producer_s_event() {
    let device = Told::new();
    for (stream, expected) in [(None, 1), (Some(2), 2), (Some(0x7F00), 0x7F00)] {
        let out = given(&device, stream).unwrap();
        assert_eq!(out.report().order, StreamOrder::Stream(expected));
        assert_eq!(device.told(), [format!("{expected} waits for 9"), "release 9".to_owned()]);
        // It is the only holder's, events and all.
        assert!(!out.is_read_only());
    }
    let out = given(&device, Some(-1)).unwrap();
    assert_eq!(out.report().order, StreamOrder::ByConsumer);
    assert_eq!(device.told(), ["release 9"]);
    // A stream that the device has not is refused, and the event let go of.
    assert_eq!(given(&device, Some(0)).unwrap_err().rule(), Some(Rule::DlpackStream));
    assert_eq!(device.told(), ["release 9"]);
    // Nobody here can make that stream wait.
    // SAFETY: no stream is used.
    let refused = unsafe { Export::default().offer::<DLManagedTensor>(offered(&device)) };
    assert_eq!(refused.unwrap_err().rule(), Some(Rule::SyncDeviceUnknown));
    assert_eq!(device.told(), ["release 9"]);
}

#[test]
fn where_no_stream_can_be_named_the_host_waits() {
    let device = Told::of(DeviceTag::LEVEL_ZERO);
    let out = given(&device, None).unwrap();
    assert_eq!(out.report().order, StreamOrder::Ready);
    assert_eq!(device.told(), ["host waits for 9", "release 9"]);
    assert_eq!(given(&device, Some(5)).unwrap_err().rule(), Some(Rule::DlpackStream));
    assert_eq!(device.told(), ["release 9"]);
}

#[test]
fn what_is_copied_is_waited_for_by_the_host() {
    let device = Told::new();
    let memory = Arc::new(vec![1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let pinned = Region {
        device: DeviceTag::CUDA,
        class: MemoryClass::HOST_PINNED,
        ordinal: 3,
        ..Region::host(memory.as_ptr().cast_mut().cast(), 24)
    };
    for stream in [None, Some(-1), Some(0x7F00)] {
        let raw = RawEvent { kind: EventKind::Binary, handle: 9, value: 0 };
        // SAFETY: the device takes any event.
        let event = unsafe { Event::adopt(Arc::clone(&device) as Arc<dyn Device>, raw) };
        let offered = Offered::new(tensor(pinned), vec![Fence::Event(event)]).unwrap();
        let how = Export { copying: Copying::Always, stream, ..Export::default() };
        // SAFETY: no stream is used: the host waits.
        let out: Exported = unsafe { how.offer(offered) }.unwrap();
        assert_eq!(device.told(), ["host waits for 9", "release 9"]);
        assert_eq!(out.tensor().device, CPU);
        assert_eq!(out.report().order, StreamOrder::Ready);
        let copy = Tensor::try_from(Foreign::from(out)).unwrap();
        assert_eq!(elements(&copy)[..2], [3.0_f32.to_le_bytes(), 4.0_f32.to_le_bytes()]);
    }
}

#[test]
fn what_the_producer_ordered_is_waited_for_there() {
    let device = Told::new();
    let devices = Devices::default().with(Arc::clone(&device) as Arc<dyn Device>);
    let how = Import { devices: Some(&devices), ..Import::default() };
    let on_device = |stream| {
        let producer = Producer::f32(&[2], &[1.0, 2.0]).set(|p| {
            p.device = DLDevice { device_type: 2, device_id: 3 };
            p.data = Some(std::ptr::without_provenance_mut(0x7000));
        });
        let terms = Terms { stream, ..Terms::default() };
        producer.foreign_on(terms).unwrap().import(&how).unwrap()
    };
    let imported = on_device(Some(0x7F00));
    assert_eq!(imported.report.order, StreamOrder::Stream(0x7F00));
    imported.tensor.acquire().unwrap();
    let told = ["record on 32512", "host waits for 77", "release 77"];
    assert_eq!(device.told(), told);
    // On the very stream there is nothing to wait for.
    // SAFETY: the device takes any stream.
    let stream = unsafe { Stream::adopt(Arc::clone(&device) as Arc<dyn Device>, 0x7F00) };
    let _ = on_device(Some(0x7F00)).tensor.acquire_on(&[&stream]).unwrap();
    assert_eq!(device.told(), Vec::<String>::new());
    // A consumer that sees to the order by itself is not told to wait.
    on_device(Some(-1)).tensor.acquire().unwrap();
    assert_eq!(device.told(), Vec::<String>::new());
    // What was named to nobody is the default stream.
    on_device(None).tensor.acquire().unwrap();
    assert_eq!(device.told()[0], "record on 1");
}

#[test]
fn pinned_and_managed_memory_is_copied_after_the_wait() {
    let device = Told::new();
    let devices = Devices::default().with(Arc::clone(&device) as Arc<dyn Device>);
    for device_type in [3, 13] {
        let producer = Producer::f32(&[2], &[1.0, 2.0])
            .set(|p| p.device = DLDevice { device_type, device_id: 0 });
        let how = Import { copying: Copying::Always, devices: Some(&devices), ..Import::default() };
        let imported = producer.import(&how).unwrap();
        assert_eq!(device.told()[..2], ["record on 1", "host waits for 77"]);
        let copy = imported.tensor.acquire_host().unwrap();
        assert_eq!(copy.buffers()[0].device(), DeviceTag::CPU);
        assert_eq!(elements(&copy), [1.0_f32.to_le_bytes(), 2.0_f32.to_le_bytes()]);
        assert_eq!(producer.deleted.times(), 1);
        // Nobody who can wait: nothing is read.
        let refused = producer.import(&Import { devices: None, ..how }).unwrap_err();
        assert_eq!(refused.rule(), Some(Rule::SyncDeviceUnknown));
        assert_eq!(producer.deleted.times(), 2);
        // Where it is, the CPU may look, once it has waited.
        let imported = producer.import(&Import { copying: Copying::Never, ..how }).unwrap();
        let here = imported.tensor.acquire_host().unwrap();
        assert_eq!(here.host_buffers().unwrap()[0].as_ptr().cast(), producer.data().cast_const());
        drop(device.told());
    }
}
