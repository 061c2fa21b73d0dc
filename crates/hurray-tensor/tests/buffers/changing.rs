//! Memory that others can still change.

use std::sync::Arc;

use hurray_tensor::device::{Cpu, Device, Stream};
use hurray_tensor::format::{Dtype, Rule};
use hurray_tensor::{Buffer, BufferMut, Cut, DeviceMemory, Ready, Region, SharedBytes, Tensor};
use proptest::prelude::*;

use super::{Count, Lines, adopted, byte};

/// Memory that is said to change, `lead` bytes behind a multiple of 64.
fn changing(lead: usize, length: usize) -> (SharedBytes, Count) {
    let mut memory = Lines::new(lead + length);
    let first = memory.first().wrapping_add(lead);
    let region = Region { may_change: true, ..Region::host(first, length) };
    let (buffer, count) = adopted(region, memory);
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

#[test]
fn it_is_nothing_to_copy_into() {
    let (shared, count) = changing(0, 100);
    let returned = DeviceMemory::new(shared.into_buffer()).unwrap_err();
    assert_eq!(returned.error.rule(), Some(Rule::MemoryMayChange));
    let part = returned.value.slice(64..100).unwrap();
    drop(returned);
    assert!(DeviceMemory::new(part).is_err());
    assert_eq!(count.now(), 1);
    let (none, _) = changing(0, 0);
    DeviceMemory::new(none.into_buffer()).unwrap();
}

/// Words that a thread writes to, as memory, until `work` is done with it.
fn while_it_is_written_to(work: impl FnOnce(Buffer)) {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    let words: Arc<[AtomicUsize]> = (0..16).map(|_| AtomicUsize::new(0)).collect();
    let first: *mut u8 = words.as_ptr().cast_mut().cast();
    let region = Region { may_change: true, ..Region::host(first, 16 * size_of::<usize>()) };
    let held = Arc::clone(&words);
    // SAFETY: the words are the closure's too until it is called.
    let buffer = unsafe { Buffer::adopt(region, move || drop(held)) }.unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                words.iter().for_each(|word| word.store(usize::MAX, Ordering::Relaxed));
                std::thread::yield_now();
            }
        });
        work(buffer);
        done.store(true, Ordering::Relaxed);
    });
}

/// Under Miri this also shows that what is written to meanwhile is not read as if it were not.
#[test]
fn it_is_copied_on_a_stream_while_it_changes() {
    while_it_is_written_to(|buffer| {
        let device: Arc<dyn Device> = Arc::new(Cpu::new());
        let stream = Stream::open(&device).unwrap();
        let length = usize::try_from(buffer.byte_size()).unwrap();
        let target = DeviceMemory::from(BufferMut::zeroed(length).unwrap());
        // A vector of words may lie anywhere in a line, and a target no further behind its start.
        let copied = stream.copy(&Ready::everywhere(buffer), target).unwrap();
        let copied = copied.acquire_host().unwrap();
        assert!(copied.iter().all(|byte| matches!(byte, 0 | 0xFF)));
    });
}

#[test]
fn it_is_handed_over_and_copied_while_it_changes() {
    use hurray_tensor::Copying;
    use hurray_tensor::dlpack::{Exported, Foreign, Import};

    while_it_is_written_to(|buffer| {
        let tensor = Tensor::dense(Dtype::UInt8, &[128], buffer).unwrap();
        let out: Exported = (&tensor).try_into().unwrap();
        let how = Import { copying: Copying::Always, ..Import::default() };
        let copy = Foreign::from(out).import(&how).unwrap().tensor.acquire_host().unwrap();
        assert!(copy.iter::<u8>().unwrap().all(|byte| matches!(byte, 0 | 0xFF)));
        // The whole stretch is copied first, and counts.
        let every_other = tensor.slice_axis(0, Cut::ALL.by(64)).unwrap();
        let out: Exported = (&every_other).try_into().unwrap();
        let how = Import { copy_bytes: 64, ..how };
        let refused = Foreign::from(out).import(&how).unwrap_err();
        assert_eq!(refused.rule(), Some(Rule::DlpackCopyAboveLimit));
    });
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

#[test]
fn what_an_owner_has_is_copied_as_what_it_is() {
    let shared = Buffer::from_owner((0..100).collect::<Vec<u8>>()).unwrap().into_shared().unwrap();
    let mut part = [0; 77];
    shared.copy_to(3, &mut part).unwrap();
    assert_eq!(part.to_vec(), (3..80).collect::<Vec<u8>>());
    assert!(shared.copy_to(50, &mut [0; 51]).is_err());
}
