//! Structs that are longer than this side knows: whoever moves one moves less, and says so. Else the
//! next one, who knows it all, would read what is not there.

#![allow(unsafe_code, reason = "structs are moved by hand, and functions of C++ are called")]
#![allow(clippy::multiple_unsafe_ops_per_block, reason = "structs are taken apart by hand")]

use std::mem::{MaybeUninit, offset_of};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use hurray_tensor::device::Devices;
use hurray_tensor::exchange::raw::{HurrayBuffer, HurrayProducer, HurrayRequest, HurrayTensor};
use hurray_tensor::exchange::{Foreign, ForeignProducer, Request};
use hurray_tensor::format::{Accept, Rule};
use libloading::Library;

use crate::compile::{Into, compile};
use crate::library::*;

/// A struct of a time to come: a field was appended.
#[derive(Clone, Copy)]
#[repr(C)]
struct Longer<T> {
    known: T,
    added: u64,
}

impl<T: Copy> Longer<T> {
    fn boxed(known: T) -> Box<Self> {
        let mut longer = Box::new(Self { known, added: 7 });
        set_size(&mut longer.known, size_of::<Self>());
        longer
    }
}

fn set_size<T>(of: &mut T, size: usize) {
    let at = ptr::from_mut(of).wrapping_byte_add(offset_of!(HurrayTensor, struct_size));
    // SAFETY: where each of the structs has its size.
    unsafe { at.cast::<u32>().write(u32::try_from(size).unwrap()) }
}

/// What somebody reads who knows the longer struct: as far as it says, and zeros.
///
/// # Safety
///
/// A struct that is as long as it says.
unsafe fn read<T: Copy>(from: *const T) -> (u32, Longer<T>) {
    let size = from.wrapping_byte_add(offset_of!(HurrayTensor, struct_size)).cast::<u32>();
    // SAFETY: the caller's.
    let size = unsafe { size.read() };
    let mut read = MaybeUninit::<Longer<T>>::zeroed();
    let length = usize::try_from(size).unwrap().min(size_of::<Longer<T>>());
    // SAFETY: the caller's.
    unsafe { ptr::copy_nonoverlapping(from.cast::<u8>(), read.as_mut_ptr().cast(), length) };
    // SAFETY: zeros, and over them the fields of a struct.
    (size, unsafe { read.assume_init() })
}

type Pass<T> = unsafe extern "C" fn(*mut T, *mut T);

/// The side that holds structs by the owners of `hurray_abi.hpp`, and hands them on.
fn middle() -> &'static Library {
    static MIDDLE: OnceLock<Library> = OnceLock::new();
    MIDDLE.get_or_init(|| {
        let path = compile("middle.cpp", "c++17", Into::Library, "libmiddle.so");
        // SAFETY: compiled just now, it runs nothing when it is loaded.
        unsafe { Library::new(path) }.unwrap()
    })
}

/// From somebody who knows a longer struct, by way of an owner, to somebody who knows it too.
///
/// # Safety
///
/// The function must be one of the middle's for that struct, and the struct not released.
unsafe fn pass<T: Copy>(name: &str, made: T) -> T {
    let mut longer = Longer::boxed(made);
    // SAFETY: of this type, as its header says, or with an answer that is not looked at.
    let pass = unsafe { middle().get::<Pass<T>>(name) }.unwrap();
    // As long as what the owner knows, so that a checker sees who reads further.
    let mut out = Box::new(made);
    set_size(&mut *out, size_of::<T>());
    // SAFETY: two structs, of which the one is not released.
    unsafe { pass(&raw mut longer.known, &raw mut *out) };
    drop(longer);
    // SAFETY: filled, and as long as it says.
    let (size, read) = unsafe { read(&raw const *out) };
    assert_eq!(usize::try_from(size).unwrap(), size_of::<T>(), "{name}");
    assert_eq!(read.added, 0, "{name}");
    read.known
}

#[test]
fn an_owner_hands_on_what_it_knows_and_says_how_much() {
    let side = in_c();
    for (made, name) in [(1, "middle_tensor"), (2, "middle_produce")] {
        // SAFETY: a tensor by the rules.
        let mut passed = unsafe { pass(name, side.make(SYNCED)) };
        release(&mut passed);
        side.expect_released(made, 0);
    }
    let mut raw = side.make(SYNCED);
    let buffer = *first_buffer(&raw);
    first_buffer(&raw).release = None;
    release(&mut raw);
    // SAFETY: a buffer that was moved out.
    let mut passed = unsafe { pass("middle_buffer", buffer) };
    // SAFETY: not released.
    unsafe { passed.release.unwrap()(&raw mut passed) };
    side.expect_released(3, 0);
    // SAFETY: a producer by the rules.
    let mut passed = unsafe { pass("middle_producer", side.producer()) };
    // SAFETY: not released.
    unsafe { passed.release.unwrap()(&raw mut passed) };
}

/// Keeps what the struct says it has where its `private_data` points to.
macro_rules! recorded {
    ($name:ident, $type:ty) => {
        unsafe extern "C" fn $name(it: *mut $type) {
            // SAFETY: a struct whose first fields are there.
            let seen = unsafe { &*(*it).private_data.cast::<AtomicU32>() };
            // SAFETY: as above.
            seen.store(unsafe { (*it).struct_size }, Ordering::Relaxed);
            // SAFETY: as above.
            unsafe { (*it).release = None };
        }
    };
}

recorded!(release_tensor, HurrayTensor);
recorded!(release_producer, HurrayProducer);

unsafe extern "C" fn describe(
    producer: *mut HurrayProducer,
    _: *mut *const u8,
    _: *mut u64,
) -> i32 {
    // SAFETY: a struct whose first fields are there.
    let seen = unsafe { &*(*producer).private_data.cast::<AtomicU32>() };
    // SAFETY: as above.
    seen.store(unsafe { (*producer).struct_size }, Ordering::Relaxed);
    -3
}

unsafe extern "C" fn produce(
    producer: *mut HurrayProducer,
    _: *const HurrayRequest,
    _: *mut HurrayTensor,
) -> i32 {
    // SAFETY: as in `describe`, where the rest is not looked at.
    unsafe { describe(producer, ptr::null_mut(), ptr::null_mut()) }
}

/// A callback may use as much of the struct as that says it has.
#[test]
fn what_is_called_with_a_struct_that_was_longer_is_told_how_much_is_left() {
    let seen = AtomicU32::new(0);
    let private_data = (&raw const seen).cast_mut().cast();
    for (abi_version, rule) in [(1, None), (2, Some(Rule::ExchangeVersion))] {
        let release = Some(release_tensor as unsafe extern "C" fn(_));
        let raw = HurrayTensor { abi_version, release, private_data, ..empty_tensor() };
        let mut raw = Longer::boxed(raw);
        // SAFETY: a tensor that is longer, and as long as it says.
        let taken = unsafe { Foreign::take(&raw mut raw.known) };
        assert_eq!(taken.err().and_then(|error| error.rule()), rule);
        assert!(raw.known.release.is_none());
        assert_eq!(seen.swap(0, Ordering::Relaxed), 80);
    }

    let mut raw = Longer::boxed(HurrayProducer {
        abi_version: 1,
        struct_size: 0,
        release: Some(release_producer),
        private_data,
        describe: Some(describe),
        produce: Some(produce),
        last_error: None,
    });
    // SAFETY: a producer that is longer, and as long as it says.
    let mut producer = unsafe { ForeignProducer::take(&raw mut raw.known) }.unwrap();
    let (accept, devices) = (Accept::default(), Devices::default());
    assert!(producer.describe(&accept).is_err());
    assert_eq!(seen.swap(0, Ordering::Relaxed), 48);
    let request = Request::any();
    assert!(producer.produce(&request, &accept, &devices).is_err());
    assert_eq!(seen.swap(0, Ordering::Relaxed), 48);
    drop(producer);
    assert_eq!(seen.swap(0, Ordering::Relaxed), 48);
}

static ORIGINAL: OnceLock<unsafe extern "C" fn(*mut HurrayBuffer)> = OnceLock::new();
static SIZES: AtomicU32 = AtomicU32::new(0);

unsafe extern "C" fn release_buffer(buffer: *mut HurrayBuffer) {
    // SAFETY: a struct whose first fields are there.
    SIZES.fetch_add(unsafe { (*buffer).struct_size }, Ordering::Relaxed);
    // SAFETY: the callback that was there before.
    unsafe { ORIGINAL.get().unwrap()(buffer) }
}

#[test]
fn longer_buffers_are_moved_out_and_released_as_what_is_left() {
    let side = in_c();
    let mut raw = Longer::boxed(side.make(QUANTIZED));
    let mut buffers = Vec::new();
    for place in 0..2 {
        // SAFETY: an array of two.
        let entry = unsafe { &mut *raw.known.buffers.wrapping_add(place) };
        // SAFETY: a struct.
        let mut longer = Longer::boxed(unsafe { **entry });
        ORIGINAL.get_or_init(|| longer.known.release.unwrap());
        longer.known.release = Some(release_buffer);
        *entry = &raw mut longer.known;
        buffers.push(longer);
    }
    // SAFETY: a tensor that is longer, as are its buffers, and as long as it says.
    let foreign = unsafe { Foreign::take(&raw mut raw.known) }.unwrap();
    let offered = foreign.into_offered(&Accept::default(), &Devices::default()).unwrap();
    drop(buffers);
    drop(offered);
    assert_eq!(SIZES.load(Ordering::Relaxed), 2 * 216);
    side.expect_released(2, 0);
}
