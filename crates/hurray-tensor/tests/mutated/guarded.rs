//! Structs that end where memory does: nothing is read beyond what they say they have.

use std::ffi::c_void;
use std::ptr;

use hurray_tensor::exchange::raw::*;
use hurray_tensor::exchange::{Exported, ExportedProducer, Foreign, ForeignProducer, Request};
use hurray_tensor::format::{Accept, Rule};
use hurray_tensor::{Tensor, device::Devices};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

use super::broken::graph::Graph;
use super::broken::use_it;

const PAGE: usize = 4096;

/// A page, and behind it one that nobody may touch.
struct Edge(*mut c_void);

impl Edge {
    fn new() -> Self {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the system chooses a place where nothing is.
        let first = unsafe { mmap_anonymous(ptr::null_mut(), 2 * PAGE, access, MapFlags::PRIVATE) };
        let first = first.unwrap();
        // SAFETY: the second of the two pages.
        unsafe { mprotect(first.wrapping_byte_add(PAGE), PAGE, MprotectFlags::empty()) }.unwrap();
        Self(first)
    }

    /// As much of a struct as `size` says, up to the edge.
    fn put<T>(&self, whole: &T, size: usize) -> *mut T {
        let place = self.0.wrapping_byte_add(PAGE - size);
        // SAFETY: so many bytes are there on both sides.
        unsafe {
            ptr::copy_nonoverlapping(ptr::from_ref(whole).cast::<u8>(), place.cast(), size);
        }
        place.cast()
    }
}

impl Drop for Edge {
    fn drop(&mut self) {
        // SAFETY: both pages were mapped together.
        unsafe { munmap(self.0, 2 * PAGE) }.unwrap();
    }
}

#[test]
fn a_tensor_that_ends_early() {
    let edge = Edge::new();
    for size in (24..=size_of::<HurrayTensor>()).step_by(8) {
        for version in [1, 2] {
            let graph = Graph::new(1);
            (graph.outer().struct_size, graph.outer().abi_version) = (size as u32, version);
            let short = edge.put(graph.outer(), size);
            graph.outer().release = None;
            // SAFETY: as much is there as it says.
            let taken = unsafe { Foreign::take(short) };
            // SAFETY: the first fields are there.
            assert!(unsafe { (*short.cast::<[usize; 3]>())[1] } == 0);
            match taken {
                Ok(foreign) => {
                    assert_eq!((size, version), (size_of::<HurrayTensor>(), 1));
                    foreign
                        .into_offered(&Accept::default(), &Devices::default())
                        .map(drop)
                        .unwrap();
                }
                Err(error) if version == 2 => {
                    assert_eq!(error.rule(), Some(Rule::ExchangeVersion));
                }
                Err(error) => assert_eq!(error.rule(), Some(Rule::ExchangeStructSize)),
            }
            graph.expect_released(&format!("{size} {version}"));
        }
    }
}

#[test]
fn a_buffer_that_ends_early() {
    let edge = Edge::new();
    for size in (24..=size_of::<HurrayBuffer>()).step_by(8) {
        for kind in 0..4 {
            for way in 0..use_it::WAYS {
                let graph = Graph::new(kind);
                let place = graph.buffers.len() - 1;
                let last = graph.buffers[place];
                // SAFETY: the struct is there.
                unsafe { (*last).struct_size = size as u32 };
                // SAFETY: as above.
                let short = edge.put(unsafe { &*last }, size);
                // SAFETY: as above; it is moved to the edge.
                unsafe { (*last).release = None };
                // SAFETY: the list is there.
                unsafe { *graph.outer().buffers.add(place) = short };
                let said = use_it::take(&graph, way);
                // Its producer does not know of the one at the edge: what is left is ours.
                // SAFETY: the first fields are there.
                let left = unsafe { *short.cast::<[usize; 3]>() };
                if left[1] != 0 {
                    // SAFETY: zeros are a value of every field.
                    let mut whole: HurrayBuffer = unsafe { std::mem::zeroed() };
                    // SAFETY: the first fields of both.
                    unsafe { *(&raw mut whole).cast::<[usize; 3]>() = left };
                    // SAFETY: not released.
                    unsafe { whole.release.unwrap()(&raw mut whole) };
                }
                graph.expect_released(&format!("{size} {kind} {way} {said}"));
            }
        }
    }
}

#[test]
fn a_request_and_a_producer_that_end_early() {
    let edge = Edge::new();
    let whole = Request::any();
    for size in (8..=size_of::<HurrayRequest>()).step_by(8) {
        let raw = HurrayRequest { struct_size: size as u32, ..*whole.as_raw() };
        let short = edge.put(&raw, size);
        // SAFETY: as much is there as it says.
        let read = unsafe { Request::read(short) };
        assert_eq!(read.is_ok(), size == size_of::<HurrayRequest>());
    }
    for size in (24..=size_of::<HurrayProducer>()).step_by(8) {
        let tensor = Tensor::from_vec(vec![1_u8], &[1]).unwrap();
        let mut raw = ExportedProducer::new(tensor).into_raw();
        raw.struct_size = size as u32;
        let short = edge.put(&raw, size);
        // SAFETY: as much is there as it says.
        let taken = unsafe { ForeignProducer::take(short) };
        assert_eq!(taken.is_ok(), size == size_of::<HurrayProducer>());
    }
}

#[test]
fn room_for_an_answer_that_ends_early() {
    let edge = Edge::new();
    let tensor = Tensor::from_vec(vec![1_u8], &[1]).unwrap();
    let mut producer = ExportedProducer::new(tensor).into_raw();
    let request = Request::any();
    let mut whole = Exported::new(Tensor::from_vec(vec![1_u8], &[1]).unwrap()).unwrap().into_raw();
    for size in (24..=size_of::<HurrayTensor>()).step_by(8) {
        whole.struct_size = size as u32;
        let short = edge.put(&whole, size);
        // SAFETY: a producer of ours, and as much room as it says.
        let status =
            unsafe { producer.produce.unwrap()(&raw mut producer, request.as_raw(), short) };
        assert_eq!(status == 0, size == size_of::<HurrayTensor>());
        if status == 0 {
            // SAFETY: just made.
            unsafe { (*short).release.unwrap()(short) };
        }
    }
    // SAFETY: ours, and not released.
    unsafe {
        whole.release.unwrap()(&raw mut whole);
        producer.release.unwrap()(&raw mut producer);
    }
}
