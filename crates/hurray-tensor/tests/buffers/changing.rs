//! Memory that others can still change.

use hurray_tensor::format::Rule;
use hurray_tensor::{Buffer, Region, SharedBytes};
use proptest::prelude::*;

use super::{Count, Lines, byte};

/// Memory that is said to change, `lead` bytes behind a multiple of 64.
fn changing(lead: usize, length: usize) -> (SharedBytes, Count) {
    let count = Count::default();
    let mut memory = Lines::new(lead + length);
    let first = memory.first().wrapping_add(lead);
    let region = Region { may_change: true, ..Region::host(first, length) };
    let release = {
        let count = count.clone();
        move || {
            count.add();
            drop(memory);
        }
    };
    // SAFETY: the memory is the closure's until it is called.
    let buffer = unsafe { Buffer::adopt(region, release) }.unwrap();
    (buffer.into_shared().unwrap(), count)
}

#[test]
fn it_is_no_slice_and_nobody_may_write_to_it() {
    let (shared, count) = changing(0, 100);
    let buffer = shared.into_buffer();
    assert_eq!(buffer.host_bytes().unwrap_err().rule(), Some(Rule::MemoryMayChange));
    assert_eq!(buffer.copy_to_host().unwrap_err().rule(), Some(Rule::MemoryMayChange));
    let returned = buffer.into_host().unwrap_err();
    assert_eq!(returned.error.rule(), Some(Rule::MemoryMayChange));
    let returned = returned.value.try_into_mut().unwrap_err();
    assert_eq!(returned.error.rule(), Some(Rule::MemoryMayChange));
    let part = returned.value.slice(64..100).unwrap();
    assert_eq!(part.host_bytes().unwrap_err().rule(), Some(Rule::MemoryMayChange));
    drop((returned, part));
    assert_eq!(count.now(), 1);
}

#[test]
fn it_is_copied_out_whole() {
    for lead in [0, 1, 63] {
        let (shared, _) = changing(lead, 100);
        assert_eq!((shared.len(), shared.is_empty()), (100, false));
        let copy = shared.copy_out().unwrap();
        assert_eq!(copy.len(), lead + 100);
        assert!(copy[..lead].iter().all(|byte| *byte == 0));
        assert!(copy[lead..].iter().enumerate().all(|(n, found)| *found == byte(lead + n)));
        let part = shared.as_buffer().slice(64..100).unwrap().into_shared().unwrap();
        let copy = part.copy_out().unwrap();
        assert!(copy.iter().enumerate().all(|(n, found)| *found == byte(64 + n)));
    }
    let (none, _) = changing(0, 0);
    assert!(none.is_empty() && none.copy_out().unwrap().is_empty());
    none.copy_to(0, &mut []).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 32 } else { 1024 }, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn any_part_of_it_is_copied_out(
        lead in 0..64_usize, length in 0..200_usize, start in 0..220_usize, count in 0..220_usize,
        shift in 0..9_usize,
    ) {
        let (shared, _) = changing(lead, length);
        let mut into = vec![0xEE; shift + count];
        let copied = shared.copy_to(start, &mut into[shift..]);
        prop_assert!(into[..shift].iter().all(|byte| *byte == 0xEE));
        if start + count <= length {
            copied.unwrap();
            let expected = |n| byte(lead + start + n);
            prop_assert!(into[shift..].iter().enumerate().all(|(n, found)| *found == expected(n)));
        } else {
            prop_assert_eq!(copied.unwrap_err().rule(), Some(Rule::MemoryRange));
        }
    }
}

#[test]
fn whoever_vouches_for_it_has_a_buffer_that_nobody_writes_to() {
    let (shared, count) = changing(5, 100);
    // SAFETY: nobody has the memory but the buffer.
    assert_eq!(unsafe { shared.as_slice() }[0], byte(5));
    let other = shared.clone();
    // SAFETY: as above.
    let buffer = unsafe { shared.trust() };
    assert_eq!((buffer.lead(), buffer.byte_size()), (5, 105));
    let part = buffer.slice(64..105).unwrap();
    assert_eq!(part.host_bytes().unwrap()[0], byte(64));
    drop((buffer, other));
    assert_eq!(count.now(), 0);
    let returned = part.try_into_mut().unwrap_err();
    assert_eq!(returned.error.rule(), Some(Rule::MemoryReadOnly));
    drop(returned);
    assert_eq!(count.now(), 1);
}

/// Another mapping of the same pages is written to while the bytes are copied: each byte that
/// was read was there at some time.
#[cfg(not(miri))]
#[test]
fn it_is_copied_while_it_changes() {
    use std::sync::atomic::{AtomicBool, Ordering};

    use hurray_tensor::device::{Devices, Stream};
    use hurray_tensor::{BufferMut, Ready};
    use memmap2::{Mmap, MmapMut};

    let file = tempfile::tempfile().unwrap();
    file.set_len(1 << 16).unwrap();
    // SAFETY: the file is this test's own; who writes to it is below.
    let mut theirs = unsafe { MmapMut::map_mut(&file) }.unwrap();
    // Mapped for reading only, as a peer's memory is.
    // SAFETY: as above; no slice of it is made here.
    let ours = unsafe { Mmap::map(&file) }.unwrap();
    let region = Region::host(ours.as_ptr().cast_mut(), ours.len()).read_only();
    let region = Region { may_change: true, ..region };
    // SAFETY: the mapping is the closure's until it is called.
    let shared = unsafe { Buffer::adopt(region, move || drop(ours)) }.unwrap();
    let shared = shared.into_shared().unwrap();
    let cpu = Stream::open(Devices::default().iter().next().unwrap()).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..=200_u8 {
                theirs.fill(round);
            }
            done.store(true, Ordering::Release);
        });
        let mut rounds = 0;
        while !done.load(Ordering::Acquire) || rounds == 0 {
            let copy = shared.copy_out().unwrap();
            let kept = copy.to_vec();
            assert!(copy.iter().all(|byte| *byte <= 200));
            // What was copied does not change any more.
            assert_eq!(copy[..], kept);
            let target = BufferMut::zeroed(shared.len()).unwrap();
            let copy = cpu.copy(&Ready::everywhere(shared.as_buffer().clone()), target.into());
            assert!(copy.unwrap().acquire_host().unwrap().iter().all(|byte| *byte <= 200));
            rounds += 1;
        }
    });
    assert!(shared.copy_out().unwrap().iter().all(|byte| *byte == 200));
}
