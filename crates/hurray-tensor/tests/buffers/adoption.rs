//! Where adopted memory is said to be, whatever its address.

use std::ptr;

use hurray_tensor::format::{DeviceTag, MemoryClass, Rule};
use hurray_tensor::{Alignment, Buffer, BufferMut, Region};
use proptest::prelude::*;

use super::{Lines, byte};

/// Device memory at some address, which nobody looks at.
fn on_device(region: Region) -> hurray_tensor::Result<Buffer> {
    let region = Region { device: DeviceTag::CUDA, host: ptr::null_mut(), ..region };
    // SAFETY: nobody reads or writes the memory of a device that is not there.
    unsafe { Buffer::adopt(region, || ()) }
}

/// Numbers near the ends of what they count, and any others.
fn number() -> impl Strategy<Value = u64> {
    let edge = prop_oneof![Just(0), Just(64), Just(1 << 63), Just(u64::MAX)];
    prop_oneof![
        (edge, 0..130_u64).prop_map(|(edge, beyond)| edge.wrapping_add(beyond)),
        any::<u64>()
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 16 } else { 2048 }, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// Decision 1, for every address there is: rounded down to 64, or refused.
    #[test]
    fn a_base_is_rounded_down_to_a_multiple_of_64(
        address in number(), object in prop_oneof![Just(0), any::<u64>()],
        offset in number(), length in number(),
    ) {
        let given = Region { address, object, offset, length, ..Region::host(ptr::null_mut(), 0) };
        let position = u128::from(address) + u128::from(offset);
        let is_memory = length == 0
            || (position + u128::from(length) <= u128::from(u64::MAX)
                && (object != 0 || (address != 0 && position >= 64)));
        let adopted = on_device(given);
        prop_assert_eq!(adopted.is_ok(), is_memory);
        let Ok(buffer) = adopted else {
            return Ok(());
        };
        let (region, lead) = (buffer.region(), buffer.lead());
        let kept = u128::from(region.address) + u128::from(region.offset);
        if length > 0 {
            prop_assert!(kept % 64 == 0 && lead < 64);
            prop_assert_eq!(kept + u128::from(lead), position);
            prop_assert!(region.address != 0 || object != 0);
            prop_assert!(buffer.alignment() >= 64);
        }
        prop_assert_eq!(region.length, length + lead);
        prop_assert_eq!(buffer.byte_size(), region.length);
    }
}

#[test]
fn memory_is_adopted_at_any_distance_from_a_multiple_of_64() {
    for lead in 0..64 {
        let mut memory = Lines::new(256);
        let first = memory.first().wrapping_add(lead);
        let region = Region::host(first, 100);
        // SAFETY: the memory is the closure's until it is called.
        let buffer = unsafe { Buffer::adopt(region, move || drop(memory)) }.unwrap();
        assert_eq!(buffer.lead(), u64::try_from(lead).unwrap());
        assert_eq!(buffer.byte_size(), 100 + buffer.lead());
        assert_eq!(buffer.region().address % 64, 0);
        assert_eq!(buffer.region().host, first.wrapping_sub(lead));
        let bytes = buffer.host_bytes().unwrap();
        assert_eq!((bytes.as_ptr(), bytes.len()), (first.cast_const(), 100));
        assert!(bytes.iter().enumerate().all(|(place, found)| *found == byte(lead + place)));
        // In front of a copy there are zeros, and in front of the memory what was there.
        let copy = buffer.copy_to_host().unwrap();
        assert!(copy[..lead].iter().all(|byte| *byte == 0));
        assert_eq!(&copy[lead..], bytes);
        let mut memory = buffer.try_into_mut().unwrap();
        memory.fill(0);
        assert_eq!((memory.as_ptr(), memory.len()), (first.cast_const(), 100));
    }
}

#[test]
fn what_is_in_front_of_adopted_memory_is_left_alone() {
    let mut memory = Lines::new(192);
    let first = memory.first();
    let region = Region::host(first.wrapping_add(10), 100);
    // SAFETY: nobody else touches these 100 bytes until the buffer is dropped.
    let buffer = unsafe { Buffer::adopt(region, || ()) }.unwrap();
    let mut written = buffer.try_into_mut().unwrap();
    written.fill(0xEE);
    drop(written);
    let bytes: Vec<u8> = memory.0.iter().flat_map(|line| line.0).collect();
    let expected = |place| if (10..110).contains(&place) { 0xEE } else { byte(place) };
    assert!(bytes.iter().enumerate().all(|(place, found)| *found == expected(place)));
}

#[test]
fn a_handle_vouches_for_the_alignment_that_there_is() {
    let page = BufferMut::zeroed_at(Alignment::PAGE, 8192).unwrap().freeze();
    assert_eq!(page.handle().unwrap().alignment(), 64);
    let handle = page.handle_at(Alignment::PAGE).unwrap();
    assert_eq!((handle.alignment(), handle.byte_size()), (4096, 8192));
    let part = page.slice(64..8192).unwrap();
    assert_eq!(part.alignment(), 64);
    let error = part.handle_at(Alignment::PAGE).unwrap_err();
    assert_eq!(error.rule(), Some(Rule::MemoryAddressMisaligned));
    // There is nothing to align where there is nothing.
    assert_eq!(part.slice(64..64).unwrap().handle_at(Alignment::PAGE).unwrap().alignment(), 4096);

    let unpaired = Region { class: MemoryClass::PEER, ..page.region() };
    // SAFETY: `page` keeps the memory, and nobody writes to it.
    let unpaired = unsafe { Buffer::adopt(unpaired.read_only(), || ()) }.unwrap();
    assert_eq!(unpaired.handle().unwrap_err().rule(), Some(Rule::BufferDeviceClassPair));
}

#[test]
fn memory_that_the_cpu_cannot_look_at_is_no_slice() {
    let region = Region { address: 4096, length: 100, ..Region::host(ptr::null_mut(), 0) };
    let buffer = on_device(region).unwrap();
    assert_eq!(buffer.alignment(), 4096);
    assert_eq!(buffer.host_bytes().unwrap_err().rule(), Some(Rule::MemoryNotHost));
    assert_eq!(buffer.copy_to_host().unwrap_err().rule(), Some(Rule::MemoryNotHost));
    let buffer = buffer.try_into_mut().unwrap_err().value;
    let buffer = buffer.into_shared().unwrap_err().value;
    let buffer = buffer.into_host().unwrap_err().value;
    let part = buffer.slice(64..100).unwrap();
    assert_eq!((part.region().address, part.region().offset), (4096, 64));
}
