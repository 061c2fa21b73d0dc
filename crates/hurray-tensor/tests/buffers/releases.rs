//! Memory is released once, however it ends.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use hurray_tensor::format::{DeviceTag, Rule};
use hurray_tensor::{Buffer, BufferMut, DeviceMemory, HostBuffer, Region};

use super::{Count, counted};

#[test]
fn once_when_the_only_share_is_dropped() {
    let (buffer, count) = counted(100);
    drop(buffer);
    assert_eq!(count.now(), 1);
}

#[test]
fn once_when_the_last_of_many_shares_is_dropped() {
    let (buffer, count) = counted(100);
    let mut shares: Vec<Buffer> = (0..10).map(|_| buffer.clone()).collect();
    drop(buffer);
    while let Some(share) = shares.pop() {
        assert_eq!(count.now(), 0);
        assert!(shares.iter().all(|other| other.shares_memory_with(&share)));
        drop(share);
    }
    assert_eq!(count.now(), 1);
}

#[test]
fn once_when_shares_are_dropped_on_many_threads_at_the_same_time() {
    const THREADS: usize = if cfg!(miri) { 3 } else { 8 };
    for _ in 0..if cfg!(miri) { 3 } else { 200 } {
        let (buffer, count) = counted(64);
        let start = Barrier::new(THREADS);
        thread::scope(|scope| {
            for share in vec![buffer; THREADS] {
                let (start, count) = (&start, &count);
                scope.spawn(move || {
                    start.wait();
                    let more = share.clone();
                    assert_eq!(share.host_bytes().unwrap()[..3], [0, 1, 2]);
                    drop(share);
                    assert_eq!(count.now(), 0);
                    drop(more);
                });
            }
        });
        assert_eq!(count.now(), 1);
    }
}

#[test]
fn once_on_a_thread_that_did_not_make_it() {
    let (buffer, count) = counted(64);
    thread::spawn(move || drop(buffer)).join().unwrap();
    assert_eq!(count.now(), 1);
}

#[test]
fn once_when_a_thread_ends_that_kept_it_for_itself() {
    thread_local! {
        static KEPT: Mutex<Option<Buffer>> = const { Mutex::new(None) };
    }
    let (buffer, count) = counted(64);
    thread::spawn(move || KEPT.with(|kept| *kept.lock().unwrap() = Some(buffer))).join().unwrap();
    assert_eq!(count.now(), 1);
}

#[test]
fn once_when_it_is_refused() {
    let mut memory = vec![0_u8; 256];
    let good = Region::host(memory.as_mut_ptr(), memory.len());
    let first = good.address;
    let host = |address| std::ptr::without_provenance_mut(address);
    let device = Region { device: DeviceTag::CUDA, host: host(0), ..good };
    let cases = [
        (Region { address: 0, ..good }, Rule::MemoryAddressNull),
        (Region { host: host(0), ..good }, Rule::MemoryAddressNull),
        (Region { address: 63, host: host(63), ..good }, Rule::MemoryAddressNull),
        (Region { address: 0, ..device }, Rule::MemoryAddressNull),
        (Region { address: 0, offset: 128, ..device }, Rule::MemoryAddressNull),
        (Region { address: 20, offset: 20, ..device }, Rule::MemoryAddressNull),
        (Region { length: u64::MAX, ..good }, Rule::MemoryAddressBeyond),
        (Region { length: 1 << 63, ..good }, Rule::MemoryAddressBeyond),
        (Region { address: u64::MAX, ..device }, Rule::MemoryAddressBeyond),
        (Region { offset: u64::MAX, ..device }, Rule::MemoryAddressBeyond),
        (Region { length: u64::MAX - 100, ..device }, Rule::MemoryAddressBeyond),
        (Region { object: 1, address: 0, offset: u64::MAX, ..device }, Rule::MemoryAddressBeyond),
        (Region { address: first + 64, ..good }, Rule::MemoryHostElsewhere),
        (Region { offset: 64, ..good }, Rule::MemoryHostElsewhere),
        (Region { device: DeviceTag::CUDA, offset: 1, ..good }, Rule::MemoryAddressMisaligned),
    ];
    for (region, rule) in cases {
        let count = Count::default();
        let release = {
            let count = count.clone();
            move || count.add()
        };
        // SAFETY: nothing of what is refused is touched.
        let error = unsafe { Buffer::adopt(region, release) }.unwrap_err();
        assert_eq!((error.rule(), count.now()), (Some(rule), 1), "{region:?}");
    }
    // The region that all of them differ from is taken.
    let count = Count::default();
    let release = {
        let count = count.clone();
        move || (count.add(), drop(memory)).0
    };
    // SAFETY: the memory is the closure's until it is called.
    drop(unsafe { Buffer::adopt(good, release) }.unwrap());
    assert_eq!(count.now(), 1);
}

#[test]
fn once_when_its_holder_panics() {
    let (buffer, count) = counted(64);
    let ended = thread::spawn(move || {
        let bytes = buffer.host_bytes().unwrap();
        panic!("{}", bytes.len());
    });
    assert!(ended.join().is_err());
    assert_eq!(count.now(), 1);
}

#[test]
fn once_when_what_holds_it_in_many_forms_unwinds() {
    let (buffer, count) = counted(256);
    let unwound = catch_unwind(move || {
        let _part = buffer.slice(64..128).unwrap();
        let _host: HostBuffer = buffer.clone().into_host().unwrap();
        let _shared = buffer.clone().into_shared().unwrap();
        let _returned = buffer.clone().try_into_mut().unwrap_err();
        let _boxed: Box<dyn std::any::Any + Send + Sync> = Box::new(buffer);
        resume_unwind(Box::new(()));
    });
    assert!(unwound.is_err());
    assert_eq!(count.now(), 1);

    let (buffer, count) = counted(256);
    let unwound = catch_unwind(move || {
        let mut memory = buffer.try_into_mut().unwrap();
        memory[0] = 1;
        let _memory = DeviceMemory::from(memory);
        resume_unwind(Box::new(()));
    });
    assert!(unwound.is_err());
    assert_eq!(count.now(), 1);
}

#[test]
fn once_through_any_number_of_changes_of_form_at_one_address() {
    let (mut buffer, count) = counted(1000);
    let first = buffer.host_bytes().unwrap().as_ptr();
    for round in 0..100 {
        let mut memory: BufferMut = buffer.try_into_mut().unwrap();
        assert_eq!(memory[7], if round == 0 { 7 } else { round });
        memory[7] = round + 1;
        assert_eq!(memory.as_ptr(), first);
        let memory = DeviceMemory::from(memory);
        let host = memory.freeze().into_host().unwrap();
        buffer = host.into_buffer().into_shared().unwrap().into_buffer();
        assert_eq!(buffer.host_bytes().unwrap().as_ptr(), first);
        assert_eq!(count.now(), 0);
    }
    drop(buffer);
    assert_eq!(count.now(), 1);
}

#[test]
fn once_for_parts_that_outlive_the_whole() {
    let (buffer, count) = counted(300);
    let part = buffer.slice(128..300).unwrap();
    let part_of_part = part.slice(64..100).unwrap();
    let none = part.slice(7..7).unwrap();
    let kept = buffer.host_bytes().unwrap()[192..228].to_vec();
    drop((buffer, part));
    assert_eq!((part_of_part.host_bytes().unwrap(), count.now()), (&kept[..], 0));
    assert!(part_of_part.shares_memory_with(&none));
    drop(part_of_part);
    // An empty part is a share too, though there is nothing to look at.
    assert_eq!((none.host_bytes().unwrap(), count.now()), (&[][..], 0));
    drop(none);
    assert_eq!(count.now(), 1);
}

#[test]
fn once_where_there_are_no_bytes() {
    let dangling = std::ptr::dangling_mut();
    for first in [std::ptr::null_mut(), dangling] {
        for device in [DeviceTag::CPU, DeviceTag::CUDA] {
            let count = Count::default();
            let release = {
                let count = count.clone();
                move || count.add()
            };
            let region = Region { device, ..Region::host(first, 0) };
            // SAFETY: there are no bytes to promise anything of.
            let buffer = unsafe { Buffer::adopt(region, release) }.unwrap();
            assert_eq!((buffer.byte_size(), buffer.lead(), buffer.alignment()), (0, 0, 1));
            assert!(buffer.host_bytes().unwrap().is_empty());
            assert!(buffer.copy_to_host().unwrap().is_empty());
            assert!(buffer.slice(0..0).unwrap().is_empty());
            assert_eq!(buffer.slice(0..1).unwrap_err().rule(), Some(Rule::MemoryRange));
            let mut memory = buffer.try_into_mut().unwrap();
            assert!(memory.is_empty() && memory.iter_mut().next().is_none());
            assert_eq!(count.now(), 0);
            drop(memory);
            assert_eq!(count.now(), 1);
        }
    }
}

/// Panics when it is dropped, so many times.
struct Bomb(usize);

impl Drop for Bomb {
    fn drop(&mut self) {
        if self.0 > 0 {
            resume_unwind(Box::new(Bomb(self.0 - 1)));
        }
    }
}

/// A buffer whose release counts, and then panics with that message.
fn that_panics(message: impl Send + Sync + 'static) -> (Buffer, Count) {
    let count = Count::default();
    let mut memory = vec![0_u8; 10];
    let region = Region::host(memory.as_mut_ptr(), memory.len());
    let release = {
        let count = count.clone();
        move || {
            count.add();
            drop(memory);
            // Quietly: nobody is to be told.
            resume_unwind(Box::new(message));
        }
    };
    // SAFETY: the memory is the closure's until it is called.
    (unsafe { Buffer::adopt(region, release) }.unwrap(), count)
}

#[test]
fn a_callback_that_panics_is_caught() {
    let (buffer, count) = that_panics("why");
    drop(buffer);
    assert_eq!(count.now(), 1);
    // Even the message may panic, when it is dropped; and so on.
    let (buffer, count) = that_panics(Bomb(3));
    drop(buffer);
    assert_eq!(count.now(), 1);
}

#[test]
fn a_callback_that_panics_while_a_panic_unwinds_is_caught_too() {
    for round in 0..2 {
        let (buffer, count) = if round == 0 { that_panics("second") } else { that_panics(Bomb(1)) };
        let unwound = catch_unwind(AssertUnwindSafe(move || {
            let _held = buffer;
            resume_unwind(Box::new("first"));
        }));
        assert_eq!(*unwound.unwrap_err().downcast_ref::<&str>().unwrap(), "first");
        assert_eq!(count.now(), 1);
    }
}

/// An owner of its bytes that counts when it is dropped, and may panic then.
struct Owner {
    bytes: [u8; 80],
    count: Count,
    panics: bool,
}

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.count.add();
        if self.panics {
            resume_unwind(Box::new("of an owner"));
        }
    }
}

#[test]
fn an_owner_is_dropped_once_whether_it_panics_or_not() {
    for panics in [false, true] {
        let count = Count::default();
        let owner = Owner { bytes: [3; 80], count: count.clone(), panics };
        let buffer = Buffer::from_owner(owner).unwrap();
        let other = buffer.clone();
        drop(buffer);
        assert_eq!((other.host_bytes().unwrap(), count.now()), (&[3; 80][..], 0));
        let unwound = catch_unwind(move || {
            let _held = other;
            resume_unwind(Box::new("first"));
        });
        assert_eq!(*unwound.unwrap_err().downcast_ref::<&str>().unwrap(), "first");
        assert_eq!(count.now(), 1);
    }
}

/// An owner that panics when it is asked for its bytes.
struct Silent(Count);

impl AsRef<[u8]> for Silent {
    fn as_ref(&self) -> &[u8] {
        resume_unwind(Box::new("no answer"));
    }
}

impl Drop for Silent {
    fn drop(&mut self) {
        self.0.add();
    }
}

#[test]
fn an_owner_that_does_not_answer_is_dropped_once() {
    let count = Count::default();
    let owner = Silent(count.clone());
    assert!(catch_unwind(AssertUnwindSafe(|| Buffer::from_owner(owner))).is_err());
    assert_eq!(count.now(), 1);
}

#[test]
fn one_who_wants_to_write_is_refused_while_others_hold_and_never_loses_memory() {
    let (buffer, count) = counted(64);
    let other = Arc::new(buffer.clone());
    let returned = buffer.try_into_mut().unwrap_err();
    assert_eq!(returned.error.rule(), Some(Rule::MemoryShared));
    let returned = DeviceMemory::new(returned.value).unwrap_err();
    assert_eq!(returned.error.rule(), Some(Rule::MemoryShared));
    drop(other);
    let memory = returned.value.try_into_mut().unwrap();
    assert_eq!(count.now(), 0);
    drop(memory);
    assert_eq!(count.now(), 1);

    let buffer = Buffer::from_owner(vec![1, 2, 3]).unwrap();
    let returned = buffer.try_into_mut().unwrap_err();
    assert_eq!(returned.error.rule(), Some(Rule::MemoryReadOnly));
    assert_eq!(returned.value.host_bytes().unwrap(), [1, 2, 3]);
}

#[test]
fn of_two_who_want_to_write_at_the_same_time_one_may_at_most() {
    for _ in 0..if cfg!(miri) { 10 } else { 500 } {
        let (buffer, count) = counted(64);
        let start = Barrier::new(2);
        let writes = |share: Buffer| {
            start.wait();
            match share.try_into_mut() {
                Ok(mut memory) => {
                    memory.fill(9);
                    1
                }
                Err(returned) => {
                    drop(returned);
                    0
                }
            }
        };
        let wrote = thread::scope(|scope| {
            let other = buffer.clone();
            let other = scope.spawn(|| writes(other));
            writes(buffer) + other.join().unwrap()
        });
        assert!(wrote <= 1);
        assert_eq!(count.now(), 1);
    }
}
