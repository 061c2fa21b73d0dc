//! What page 10 refuses, each broken by hand: the rule is named, and all of it released once.

#![allow(unsafe_code, reason = "structs are broken on purpose")]

use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use hurray_tensor::device::Devices;
use hurray_tensor::exchange::Foreign;
use hurray_tensor::exchange::raw::{HurrayBuffer, HurraySync, HurrayTensor};
use hurray_tensor::format::{Accept, Limits, Rule};

use crate::library::*;

/// A rule, the tensor that is made, and how it is broken.
type Case = (Rule, u32, fn(&mut HurrayTensor));

const OF_THE_TENSOR: &[Case] = &[
    (Rule::ExchangeVersion, SYNCED, |raw| raw.abi_version = 7),
    (Rule::ExchangeStructSize, SYNCED, |raw| raw.struct_size = 79),
    (Rule::ExchangeFlags, SYNCED, |raw| raw.flags = 1),
    (Rule::ExchangeNull, SYNCED, |raw| raw.descriptor = ptr::null()),
    (Rule::ExchangeNull, SYNCED, |raw| raw.buffers = ptr::null_mut()),
    (Rule::ExchangeMisaligned, SYNCED, |raw| raw.buffers = raw.buffers.wrapping_byte_add(1)),
    (Rule::ExchangeBufferCount, SYNCED, |raw| raw.buffer_count = 0),
    (Rule::ExchangeBufferCount, SYNCED, |raw| raw.buffer_count = u64::MAX),
    (Rule::ExchangeBufferCount, QUANTIZED, |raw| raw.buffer_count = 1),
    (Rule::DescriptorLengthAboveLimit, SYNCED, |raw| raw.descriptor_length = u64::MAX),
    (Rule::DescriptorTruncated, SYNCED, |raw| raw.descriptor_length = 9),
    (Rule::DescriptorTruncated, SYNCED, |raw| raw.descriptor_length -= 1),
    (Rule::DescriptorMagic, SYNCED, |raw| raw.descriptor = raw.descriptor.wrapping_add(1)),
    (Rule::ExchangeMemberCount, SYNCED, |raw| raw.member_count = 1),
];

const OF_A_BUFFER: &[Case] = &[
    (Rule::ExchangeVersion, SYNCED, |raw| first_buffer(raw).abi_version = 0),
    (Rule::ExchangeStructSize, SYNCED, |raw| first_buffer(raw).struct_size = 24),
    (Rule::ExchangeHandle, SYNCED, |raw| first_buffer(raw).handle[0] ^= 1),
    (Rule::ExchangeHandle, SYNCED, |raw| first_buffer(raw).handle[15] = 1),
    (Rule::ExchangeHandle, MULTI_WAIT, |raw| first_buffer(raw).handle[13] = 0),
    (Rule::ExchangeFlags, SYNCED, |raw| first_buffer(raw).flags = 8),
    (Rule::ExchangeFlags, SYNCED, |raw| first_buffer(raw).flags |= 1 << 63),
    (Rule::MemoryAddressNull, SYNCED, |raw| at(raw, 0)),
    (Rule::MemoryAddressMisaligned, SYNCED, |raw| at(raw, first_buffer(raw).address + 4)),
    (Rule::MemoryAddressMisaligned, STREAM, |raw| {
        first_buffer(raw).host = first_buffer(raw).host.wrapping_byte_add(1);
    }),
    (Rule::MemoryAddressMisaligned, STREAM, |raw| first_buffer(raw).address += 32),
    (Rule::MemoryAddressMisaligned, STREAM, |raw| {
        at(raw, 0);
        (first_buffer(raw).object, first_buffer(raw).object_offset) = (1, 8);
    }),
    (Rule::MemoryAddressBeyond, SYNCED, |raw| {
        set(raw, 0, 128);
        at(raw, u64::MAX - 63);
    }),
    (Rule::MemoryAddressBeyond, STREAM, |raw| {
        (first_buffer(raw).object, first_buffer(raw).object_offset) = (1, u64::MAX - 63);
    }),
    (Rule::MemoryHostElsewhere, SYNCED, |raw| first_buffer(raw).address += 64),
];

const OF_THE_SYNC: &[Case] = &[
    (Rule::ExchangeReserved, SYNCED, |raw| sync(raw).reserved[5] = 1),
    (Rule::ExchangeReserved, MULTI_WAIT, |raw| sync(raw).spare[1] = 1),
    (Rule::ExchangeSyncDevice, SYNCED, |raw| sync(raw).device_tag = 1),
    (Rule::ExchangeSyncDevice, MULTI_WAIT, |raw| sync(raw).device_tag = 2),
    (Rule::ExchangeSyncDevice, STREAM, |raw| sync(raw).device_tag = 0),
    (Rule::ExchangeEventMissing, MULTI_WAIT, |raw| sync(raw).event = 0),
    (Rule::ExchangeEventMissing, MULTI_WAIT, |raw| sync(raw).event_kind = 0),
    (Rule::ExchangeEventKind, MULTI_WAIT, |raw| sync(raw).event_kind = 4),
    (Rule::ExchangeEventRelease, BINARY, |raw| sync(raw).release_event = None),
    (Rule::ExchangeEventUnexpected, SYNCED, |raw| sync(raw).event = 1),
    (Rule::ExchangeEventUnexpected, SYNCED, |raw| sync(raw).event_kind = 3),
    (Rule::ExchangeEventUnexpected, STREAM, |raw| sync(raw).event_value = 3),
    (Rule::ExchangeEventUnexpected, MULTI_WAIT, |raw| sync(raw).event_value = 3),
    (Rule::ExchangeEventUnexpected, SYNCED, |raw| sync(raw).release_event = Some(never)),
    (Rule::ExchangeStreamMissing, STREAM, |raw| sync(raw).stream = 0),
    (Rule::ExchangeStreamUnexpected, SYNCED, |raw| sync(raw).stream = 1),
    (Rule::ExchangeStreamUnexpected, TIMELINE, |raw| sync(raw).stream = 1),
];

#[test]
fn broken_tensors_are_refused_by_rule_and_released() {
    let side = in_c();
    let (mut buffers, mut events) = (0, 0);
    for (number, (rule, which, break_it)) in
        OF_THE_TENSOR.iter().chain(OF_A_BUFFER).chain(OF_THE_SYNC).enumerate()
    {
        let mut raw = side.make(*which);
        break_it(&mut raw);
        // SAFETY: made by the rules, but for what is checked.
        let taken = unsafe { Foreign::take(&raw mut raw) };
        assert!(raw.release.is_none(), "{number}");
        // Looking finds the same, and takes nothing.
        if let Ok(foreign) = &taken {
            let refused = foreign.look(&Accept::default()).err().and_then(|error| error.rule());
            assert_eq!(refused, Some(*rule), "{number}");
        }
        let refused = taken
            .and_then(|foreign| foreign.into_offered(&Accept::default(), &Devices::default()))
            .unwrap_err();
        assert_eq!(refused.rule(), Some(*rule), "{number}");
        buffers += if *which == QUANTIZED { 2 } else { 1 };
        events += u64::from(matches!(*which, MULTI_WAIT | TIMELINE | BINARY));
        side.expect_released(buffers, events);
    }
}

#[test]
fn what_is_wrong_with_the_second_buffer_keeps_the_first_from_being_used() {
    type Change = fn(&mut HurrayTensor);
    let breaks: [(Rule, Change); 5] = [
        (Rule::ExchangeNull, |raw| *entry(raw, 1) = ptr::null_mut()),
        (Rule::ExchangeMisaligned, |raw| *entry(raw, 1) = entry(raw, 1).wrapping_byte_add(4)),
        (Rule::ExchangeHandle, |raw| *entry(raw, 1) = *entry(raw, 0)),
        (Rule::MemoryAddressNull, |raw| {
            let second = buffer(raw, 1);
            (second.host, second.address) = (ptr::null_mut(), 0);
        }),
        (Rule::ExchangeFlags, |raw| buffer(raw, 1).flags = 1 << 20),
    ];
    let side = in_c();
    for (number, (rule, break_it)) in breaks.iter().enumerate() {
        let mut raw = side.make(QUANTIZED);
        let (first, second) = (*entry(&mut raw, 0), *entry(&mut raw, 1));
        break_it(&mut raw);
        // SAFETY: made by the rules, but for what is checked.
        let foreign = unsafe { Foreign::take(&raw mut raw) }.unwrap();
        // Their array is put right again before they release by it.
        let refused = foreign.look(&Accept::default()).unwrap_err();
        assert_eq!(refused.rule(), Some(*rule), "{number}");
        (*entry(&mut raw, 0), *entry(&mut raw, 1)) = (first, second);
        drop(foreign);
        side.expect_released(2 * (number as u64 + 1), 0);
    }
}

#[test]
fn a_buffer_that_was_moved_out_before_is_missed() {
    let side = in_c();
    let mut raw = side.make(QUANTIZED);
    let mut moved = *buffer(&mut raw, 1);
    buffer(&mut raw, 1).release = None;
    // SAFETY: by the rules.
    let foreign = unsafe { Foreign::take(&raw mut raw) }.unwrap();
    let refused = foreign.into_offered(&Accept::default(), &Devices::default()).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::ExchangeReleased));
    assert_eq!((side.counts().tensors, side.counts().buffers), (1, 1));
    // SAFETY: moved out, and not released.
    unsafe { moved.release.unwrap()(&raw mut moved) }
    side.expect_released(2, 0);
}

#[test]
fn pointers_that_can_be_none_are_refused_before_they_are_followed() {
    // SAFETY: null is refused.
    let refused = unsafe { Foreign::take(ptr::null_mut()) }.unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::ExchangeNull));
    let mut raw = empty_tensor();
    let misaligned = (&raw mut raw).wrapping_byte_add(3);
    // SAFETY: refused before it is followed.
    let refused = unsafe { Foreign::take(misaligned) }.unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::ExchangeMisaligned));
    // SAFETY: a struct that is released.
    let refused = unsafe { Foreign::take(&raw mut raw) }.unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::ExchangeReleased));
}

#[test]
fn the_cpu_is_kept_out_of_what_is_not_its() {
    // The second tensor's class, in handle and descriptor: standard, and peer.
    for class in [0, 3] {
        let side = in_c();
        let mut raw = side.make(STREAM);
        set_class(&mut raw, class);
        // SAFETY: made by the rules, but for what is checked.
        let foreign = unsafe { Foreign::take(&raw mut raw) }.unwrap();
        let refused = foreign.into_offered(&Accept::default(), &Devices::default()).unwrap_err();
        assert_eq!(refused.rule(), Some(Rule::ExchangeHost));
        side.expect_released(1, 0);

        // Without the pointer it is accepted, and the host cannot look.
        let mut raw = side.make(STREAM);
        set_class(&mut raw, class);
        first_buffer(&raw).host = ptr::null_mut();
        // SAFETY: made by the rules.
        let foreign = unsafe { Foreign::take(&raw mut raw) }.unwrap();
        drop(foreign.into_offered(&Accept::default(), &Devices::default()).unwrap());
        side.expect_released(2, 0);
    }
}

#[test]
fn devices_are_refused_where_nobody_agreed_or_takes_them_over() {
    let side = in_c();
    let refused = |change: fn(&mut HurrayTensor)| {
        let mut raw = side.make(STREAM);
        change(&mut raw);
        // SAFETY: made by the rules, but for what is checked.
        let foreign = unsafe { Foreign::take(&raw mut raw) }.unwrap();
        let offered = foreign.into_offered(&Accept::default(), &Devices::default());
        offered.unwrap_err().rule().unwrap()
    };
    assert_eq!(refused(|raw| set_device(raw, 0xF1, 0)), Rule::BufferDevicePrivate);
    assert_eq!(refused(|raw| set_device(raw, 0xFF, 0)), Rule::BufferDeviceInvalid);
    assert_eq!(refused(|raw| set_device(raw, 0x04, 2)), Rule::ExchangeQueueFamily);
    side.expect_released(3, 0);
}

#[test]
fn a_binary_event_is_one_buffers() {
    let side = in_c();
    let mut raw = side.make(QUANTIZED);
    let binary = HurraySync { event_kind: 1, event: 77, ..*sync(&mut raw) };
    let event = |sync: &mut HurraySync| {
        *sync = HurraySync { device_tag: 1, release_event: Some(ignored), ..binary };
    };
    set_device(&mut raw, 1, 2);
    set_mode(&mut raw, 1);
    for place in [0, 1] {
        event(&mut buffer(&mut raw, place).sync);
    }
    // SAFETY: made by the rules, but for what is checked.
    let foreign = unsafe { Foreign::take(&raw mut raw) }.unwrap();
    assert_eq!(
        foreign.look(&Accept::default()).unwrap_err().rule(),
        Some(Rule::ExchangeEventShared)
    );
    let refused = foreign.into_offered(&Accept::default(), &Devices::default()).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::ExchangeEventShared));
    side.expect_released(2, 0);
}

#[test]
fn a_binary_event_is_one_members() {
    let side = in_c();
    let releases = [AtomicU64::new(0), AtomicU64::new(0)];
    let make = |events: [u64; 2]| {
        let mut raw = side.make(COMPOSITE);
        for (place, (event, count)) in events.into_iter().zip(&releases).enumerate() {
            let member = member(&mut raw, place);
            set_device(member, 1, 2);
            set_mode(member, 1);
            let event_context = ptr::from_ref(count).cast_mut().cast();
            let binary = HurraySync { event_kind: 1, event, event_context, ..*sync(member) };
            *sync(member) = HurraySync { release_event: Some(counted), ..binary };
            count.store(0, Ordering::Relaxed);
        }
        // SAFETY: made by the rules, but for what is checked.
        unsafe { Foreign::take(&raw mut raw) }.unwrap()
    };
    let counts = || releases.each_ref().map(|count| count.load(Ordering::Relaxed));
    let (accept, devices) = (Accept::default(), Devices::default());
    let refused = make([77, 77]).into_composite(&accept, &devices).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::ExchangeEventShared));
    assert_eq!(counts(), [1, 1]);
    side.expect_released(2, 0);

    let offered = make([77, 78]).into_composite(&accept, &devices).unwrap();
    assert_eq!(counts(), [0, 0]);
    drop(offered);
    assert_eq!(counts(), [1, 1]);
    side.expect_released(4, 0);
}

#[test]
fn members_are_counted_before_they_are_looked_at() {
    let side = in_c();
    let mut released = 0;
    let mut refused = |which, accept: Accept, change: fn(&mut HurrayTensor)| {
        let mut raw = side.make(which);
        change(&mut raw);
        // SAFETY: made by the rules, but for what is checked.
        let foreign = unsafe { Foreign::take(&raw mut raw) }.unwrap();
        let refused = foreign.into_composite(&accept, &Devices::default()).unwrap_err();
        released += if which == NESTED { 4 } else { 2 };
        side.expect_released(released, 0);
        refused.rule().unwrap()
    };
    let accept = Accept::default;
    assert_eq!(refused(COMPOSITE, accept(), |raw| raw.member_count = 3), Rule::ExchangeMemberCount);
    assert_eq!(refused(COMPOSITE, accept(), |raw| raw.member_count = 0), Rule::ExchangeMemberCount);
    assert_eq!(refused(COMPOSITE, accept(), |raw| raw.buffer_count = 1), Rule::ExchangeBufferCount);
    let no_members = |raw: &mut HurrayTensor| raw.members = ptr::null_mut();
    assert_eq!(refused(COMPOSITE, accept(), no_members), Rule::ExchangeNull);
    let few = Accept::default().limits(Limits { composite_members: 1, ..Limits::default() });
    assert_eq!(refused(COMPOSITE, few, |_| ()), Rule::CompositeTooManyMembers);
    assert_eq!(refused(QUANTIZED, accept(), |raw| raw.member_count = 1), Rule::ExchangeMemberCount);
    assert_eq!(refused(DEEP, accept(), |_| ()), Rule::CompositeTooDeep);
    // One member that is named twice is found released.
    let twice = |raw: &mut HurrayTensor| {
        // SAFETY: an array of two.
        let first = unsafe { *raw.members };
        // SAFETY: as above.
        unsafe { *raw.members.wrapping_add(1) = first };
    };
    assert_eq!(refused(COMPOSITE, accept(), twice), Rule::ExchangeReleased);
}

fn entry(raw: &mut HurrayTensor, place: usize) -> &mut *mut HurrayBuffer {
    // SAFETY: the test's tensors have as many.
    unsafe { &mut *raw.buffers.wrapping_add(place) }
}

fn buffer(raw: &mut HurrayTensor, place: usize) -> &mut HurrayBuffer {
    let pointer = *entry(raw, place);
    // SAFETY: a struct of the test's.
    unsafe { &mut *pointer }
}

fn member(raw: &mut HurrayTensor, place: usize) -> &mut HurrayTensor {
    // SAFETY: the test's composites have as many.
    let pointer = unsafe { *raw.members.wrapping_add(place) };
    // SAFETY: a struct of the test's.
    unsafe { &mut *pointer }
}

fn sync(raw: &mut HurrayTensor) -> &mut HurraySync {
    &mut first_buffer(raw).sync
}

/// Says that the first buffer is elsewhere.
fn at(raw: &mut HurrayTensor, address: u64) {
    let buffer = first_buffer(raw);
    buffer.address = address;
    buffer.host = ptr::without_provenance_mut(usize::try_from(address).unwrap());
}

/// Changes a byte of each buffer's handle, and of each handle in the descriptor.
fn set(raw: &mut HurrayTensor, byte: usize, value: u8) {
    for place in 0..usize::try_from(raw.buffer_count).unwrap() {
        let handle = buffer(raw, place).handle;
        buffer(raw, place).handle[byte] = value;
        let length = usize::try_from(raw.descriptor_length).unwrap();
        // SAFETY: the test's own bytes, which nobody else uses.
        let bytes = unsafe { std::slice::from_raw_parts_mut(raw.descriptor.cast_mut(), length) };
        let found = bytes.windows(16).position(|window| window == handle).unwrap();
        bytes[found + byte] = value;
    }
}

fn set_mode(raw: &mut HurrayTensor, mode: u8) {
    set(raw, 13, mode);
}

fn set_class(raw: &mut HurrayTensor, class: u8) {
    set(raw, 14, class);
}

fn set_device(raw: &mut HurrayTensor, tag: u8, class: u8) {
    set(raw, 12, tag);
    set(raw, 14, class);
    for place in 0..usize::try_from(raw.buffer_count).unwrap() {
        buffer(raw, place).sync.device_tag = tag;
        buffer(raw, place).host = ptr::null_mut();
    }
}

unsafe extern "C" fn never(_: *mut HurraySync) {
    panic!("an event that is not there is released")
}

unsafe extern "C" fn ignored(sync: *mut HurraySync) {
    // SAFETY: the struct that is released.
    unsafe { (*sync).release_event = None }
}

/// Counts in the event's context.
unsafe extern "C" fn counted(sync: *mut HurraySync) {
    // SAFETY: the struct that is released.
    let sync = unsafe { &mut *sync };
    sync.release_event = None;
    // SAFETY: the test's count, which stays for as long as its tensors do.
    unsafe { &*sync.event_context.cast::<AtomicU64>() }.fetch_add(1, Ordering::Relaxed);
}
