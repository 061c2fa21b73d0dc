//! What a stranger's tensor is not trusted with: bytes in front of it, and what its arrays say.

#![allow(unsafe_code, reason = "memory is adopted, and structs are taken over")]

use hurray_tensor::device::Devices;
use hurray_tensor::exchange::raw::BUFFER_MAY_CHANGE;
use hurray_tensor::exchange::{
    Exported, ExportedProducer, Foreign, ForeignProducer, Produce, Request,
};
use hurray_tensor::format::{
    Accept, CompositeHead, Composition, Coo, Descriptor, Dtype, Layout, PerChannel, Quantization,
    Rule,
};
use hurray_tensor::{
    Buffer, BufferMut, Composite, FileWriter, Offered, Region, Tensor, WriteOptions,
};

/// Memory at a multiple of 64, of which a tensor is a part.
#[repr(align(64))]
struct Line([u8; 256]);

/// 100 sevens behind 48 bytes that are none of anybody's business.
fn secretive() -> Tensor {
    let mut line = Box::new(Line([b'S'; 256]));
    line.0[48..148].fill(7);
    let region = Region::host(line.0[48..].as_mut_ptr(), 100).read_only();
    let release = move || drop(line);
    // SAFETY: the memory is there until it is released, and nobody writes to it.
    let buffer = unsafe { Buffer::adopt(region, release) }.unwrap();
    Tensor::dense(Dtype::UInt8, &[100], buffer).unwrap()
}

fn foreign(exported: Exported) -> Foreign {
    let mut raw = exported.into_raw();
    // SAFETY: a tensor of ours, and not released.
    unsafe { Foreign::take(&raw mut raw) }.unwrap()
}

fn offered(exported: Exported) -> Offered<Tensor> {
    foreign(exported).into_offered(&Accept::default(), &Devices::default()).unwrap()
}

#[test]
fn bytes_in_front_of_a_tensor_stay_its_neighbours() {
    let given = |tensor| Exported::new(tensor).unwrap();
    let shared = |tensor| Exported::share(&tensor).unwrap();
    for export in [given, shared] {
        let tensor = offered(export(secretive())).acquire_host().unwrap();
        let buffer = &tensor.buffers()[0];
        assert_eq!((buffer.lead(), buffer.byte_size()), (48, 148));
        assert_eq!(buffer.host_bytes().unwrap(), [7; 100]);
        assert_eq!(tensor.to_vec::<u8>().unwrap(), [7; 100]);

        // Nor do they go on to a file, or to the next library.
        let mut file = FileWriter::new(Vec::new(), WriteOptions::default()).unwrap();
        file.write("tensor", &tensor.borrowed().unwrap()).unwrap();
        assert!(!file.finish().unwrap().contains(&b'S'));
        let again = offered(Exported::new(tensor).unwrap()).acquire_host().unwrap();
        assert_eq!(again.buffers()[0].host_bytes().unwrap(), [7; 100]);
    }
}

#[test]
fn of_a_part_no_more_is_seen_than_it_reaches() {
    let whole = BufferMut::copy_of(&[9; 512]).unwrap().freeze();
    let part = |offset: u64, layout: Layout| {
        let descriptor = Descriptor::builder(Dtype::UInt8, &[4]).layout(layout).byte_offset(offset);
        let tensor = Tensor::build(descriptor, [whole.clone()]).unwrap();
        let tensor = offered(Exported::new(tensor).unwrap()).acquire_host().unwrap();
        assert_eq!(tensor.to_vec::<u8>().unwrap(), [9; 4]);
        tensor.buffers()[0].lead()
    };
    assert_eq!(part(0, Layout::RowMajor), 0);
    assert_eq!(part(20, Layout::RowMajor), 20);
    assert_eq!(part(200, Layout::RowMajor), 63);
    // The first element is not the lowest.
    assert_eq!(part(20, Layout::strided([-6])), 2);
}

#[test]
fn a_vector_is_handed_over_wherever_it_begins() {
    for skipped in 0..16 {
        let tensor = Tensor::from_vec(vec![5_u8; 300], &[300]).unwrap();
        let tensor = tensor.slice_axis(0, skipped..skipped + 100).unwrap();
        let tensor = offered(Exported::new(tensor).unwrap()).acquire_host().unwrap();
        assert_eq!(tensor.to_vec::<u8>().unwrap(), [5; 100]);
    }
}

/// 10 by 10, of which one entry is stored: in row 900.
fn outside() -> Tensor {
    let mut indices = 900_u64.to_le_bytes().to_vec();
    indices.extend(3_u64.to_le_bytes());
    let memory = |bytes: &[u8]| BufferMut::copy_of(bytes).unwrap().freeze();
    let layout = Layout::Coo(Coo { nnz: 1, is_sorted: true });
    let descriptor = Descriptor::builder(Dtype::Float32, &[10, 10]).layout(layout);
    Tensor::build(descriptor, [memory(&1.0_f32.to_le_bytes()), memory(&indices)]).unwrap()
}

#[test]
fn arrays_that_lie_are_found_when_the_host_has_waited() {
    let refused = offered(Exported::share(&outside()).unwrap()).acquire_host().unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::SparseCooOutOfBounds));
    let refused = offered(Exported::share(&outside()).unwrap()).acquire().unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::SparseCooOutOfBounds));

    let trusted = offered(Exported::share(&outside()).unwrap()).trusted().acquire_host().unwrap();
    assert_eq!(trusted.check_contents().unwrap_err().rule(), Some(Rule::SparseCooOutOfBounds));
    // What is our own is not looked at.
    Offered::synced(outside()).acquire_host().unwrap();
}

#[test]
fn a_scale_of_zero_is_found_too() {
    let scheme = PerChannel { axis: 0, scales: 1, zero_points: None };
    let descriptor =
        Descriptor::builder(Dtype::Int8, &[4, 4]).quantization(Quantization::PerChannel(scheme));
    let zeros = |size| BufferMut::zeroed(size).unwrap().freeze();
    let tensor = Tensor::build(descriptor, [zeros(16), zeros(16)]).unwrap();
    let refused = offered(Exported::share(&tensor).unwrap()).acquire_host().unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::QuantPerChannelScaleValue));
}

#[test]
fn members_of_a_stranger_are_looked_at() {
    let head = CompositeHead { composition: Composition::Group, member_count: 1 };
    let head = Descriptor::builder(Dtype::Float32, &[10, 10]).layout(Layout::Composite(head));
    let head = Tensor::new(head.build().unwrap(), []).unwrap();
    let composite = Composite::new([head, outside()]).unwrap();
    let exported = || Exported::composite(&composite).unwrap();
    let offered = |exported| {
        foreign(exported).into_composite(&Accept::default(), &Devices::default()).unwrap()
    };
    let refused = offered(exported()).acquire_host().unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::SparseCooOutOfBounds));
    offered(exported()).trusted().acquire_host().unwrap();
}

#[test]
fn a_head_is_no_tensor() {
    for members in [0, 1, 3] {
        let head = CompositeHead { composition: Composition::Group, member_count: members };
        let head = Descriptor::builder(Dtype::Float32, &[2]).layout(Layout::Composite(head));
        let head = Tensor::new(head.build().unwrap(), []).unwrap();
        let exported = Exported::share(&head);
        if members > 0 {
            // It goes out with its members.
            assert_eq!(exported.unwrap_err().rule(), Some(Rule::ExchangeComposite));
            assert_eq!(Exported::new(head).unwrap_err().rule(), Some(Rule::ExchangeComposite));
            continue;
        }
        let taken = foreign(exported.unwrap());
        let rule = Some(Rule::ExchangeComposite);
        assert_eq!(taken.look(&Accept::default()).unwrap_err().rule(), rule);
        let offered = taken.into_offered(&Accept::default(), &Devices::default());
        assert_eq!(offered.unwrap_err().rule(), rule);
        let taken = foreign(Exported::share(&head).unwrap());
        let _ = taken.into_composite(&Accept::default(), &Devices::default()).unwrap();
    }
}

#[test]
fn a_head_whose_members_did_not_come_is_no_tensor_either() {
    let head = CompositeHead { composition: Composition::Group, member_count: 1 };
    let head = Descriptor::builder(Dtype::Float32, &[10, 10]).layout(Layout::Composite(head));
    let head = Tensor::new(head.build().unwrap(), []).unwrap();
    let member = Tensor::from_vec(vec![1.0_f32], &[1]).unwrap();
    let composite = Composite::new([head, member]).unwrap();
    let mut raw = Exported::composite(&composite).unwrap().into_raw();
    raw.member_count = 0;
    // SAFETY: a tensor of ours, and not released.
    let taken = unsafe { Foreign::take(&raw mut raw) }.unwrap();
    let rule = Some(Rule::ExchangeComposite);
    assert_eq!(taken.look(&Accept::default()).unwrap_err().rule(), rule);
    let offered = taken.into_offered(&Accept::default(), &Devices::default());
    assert_eq!(offered.unwrap_err().rule(), rule);
}

#[test]
fn to_write_was_asked_and_is_not_had_where_others_write() {
    struct Careless;
    impl Produce for Careless {
        fn produce(&mut self, _: &Request) -> hurray_tensor::Result<Exported> {
            let exported = Exported::new(Tensor::from_vec(vec![0_u8; 64], &[64])?)?;
            let mut raw = exported.into_raw();
            // SAFETY: a tensor of ours with one buffer has one pointer.
            let buffer = unsafe { *raw.buffers };
            // SAFETY: to a struct of ours, which nobody else uses.
            unsafe { (*buffer).flags = BUFFER_MAY_CHANGE };
            // SAFETY: as above, and not released.
            Exported::offer(
                unsafe { Foreign::take(&raw mut raw) }?
                    .into_offered(&Accept::default(), &Devices::default())?,
            )
        }
    }
    let mut raw = ExportedProducer::new(Careless).into_raw();
    // SAFETY: a producer of ours, and not released.
    let mut producer = unsafe { ForeignProducer::take(&raw mut raw) }.unwrap();
    let (accept, devices) = (Accept::default(), Devices::default());
    let refused = producer.produce(&Request::any().writable(), &accept, &devices).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::ExchangeProduceRefused));
    assert!(producer.last_error().unwrap().contains("exchange.request-writable"));
    let _ = producer.produce(&Request::any(), &accept, &devices).unwrap();
}
