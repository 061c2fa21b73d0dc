//! Owners that memory is adopted with, taken where it is and given back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use hurray_tensor::format::Rule;
use hurray_tensor::{Buffer, BufferMut, Element};

use super::{byte, counted};

#[test]
fn a_vector_comes_back_as_it_was_left() {
    let mut numbers: Vec<f32> = Vec::with_capacity(100);
    numbers.extend([1.0, 2.0, 3.0]);
    let first = numbers.as_ptr();
    let mut memory = BufferMut::from_vec(numbers).unwrap();
    f32::elements_of_mut(&mut memory).unwrap()[1] = 7.0;
    let buffer = memory.freeze();
    // Asked for as another type, or while it is shared, it stays.
    let returned = buffer.try_into_vec::<u32>().unwrap_err();
    assert_eq!(returned.error.rule(), Some(Rule::MemoryOwner));
    let other = returned.value.clone();
    let returned = returned.value.try_into_vec::<f32>().unwrap_err();
    assert_eq!(returned.error.rule(), Some(Rule::MemoryShared));
    drop(returned.value);
    let numbers = other.try_into_vec::<f32>().unwrap();
    assert_eq!(
        (&numbers[..], numbers.as_ptr(), numbers.capacity()),
        (&[1.0, 7.0, 3.0][..], first, 100)
    );
}

#[test]
fn an_owner_comes_back_whole_from_a_part_and_is_not_dropped() {
    let owner = Arc::new(());
    struct Owned(Arc<()>, Box<[u8]>);
    impl AsRef<[u8]> for Owned {
        fn as_ref(&self) -> &[u8] {
            &self.1
        }
    }
    let bytes: Box<[u8]> = (0..200).map(byte).collect();
    let first = bytes.as_ptr();
    let buffer = Buffer::from_owner(Owned(Arc::clone(&owner), bytes)).unwrap();
    let size = buffer.byte_size();
    let part = buffer.slice(64..size).unwrap();
    drop(buffer);
    let Owned(kept, bytes) = part.try_into_owner::<Owned>().unwrap();
    assert_eq!((bytes.as_ptr(), Arc::strong_count(&owner)), (first, 2));
    drop(kept);
    assert_eq!(Arc::strong_count(&owner), 1);
}

#[test]
fn something_shared_comes_back_as_the_share_it_was() {
    let weights: Arc<[i64]> = Arc::from([1, 2, 3]);
    let buffer = Buffer::from_arc::<i64, _>(Arc::clone(&weights)).unwrap();
    assert_eq!(Arc::strong_count(&weights), 2);
    let back = buffer.try_into_owner::<Arc<[i64]>>().unwrap();
    assert!(Arc::ptr_eq(&back, &weights));
    drop(back);
    assert_eq!(Arc::strong_count(&weights), 1);
}

#[test]
fn bytes_come_back_as_they_were() {
    let bytes = Bytes::from((0..100).map(byte).collect::<Vec<u8>>()).slice(3..);
    let buffer = Buffer::from_owner(bytes.clone()).unwrap();
    assert_eq!(buffer.host_bytes().unwrap().as_ptr(), bytes.as_ptr());
    let back: Bytes = buffer.try_into_owner().unwrap();
    assert_eq!((back.as_ptr(), back.len()), (bytes.as_ptr(), 97));
}

#[test]
fn foreign_memory_has_no_owner_to_give_back() {
    let (buffer, count) = counted(64);
    let returned = buffer.try_into_owner::<Vec<u8>>().unwrap_err();
    assert_eq!((returned.error.rule(), count.now()), (Some(Rule::MemoryOwner), 0));
    drop(returned);
    assert_eq!(count.now(), 1);
}

/// An owner that holds its bytes within itself, and must not be moved or borrowed exclusively
/// while they are looked at.
#[test]
fn an_owner_of_bytes_within_itself_stays_where_it_is_asked() {
    let buffer = Buffer::from_owner([5_u8; 96]).unwrap();
    let bytes = buffer.host_bytes().unwrap();
    let first = bytes.as_ptr();
    // Whether somebody else holds it is asked again and again meanwhile.
    let other = buffer.clone();
    let other = other.try_into_mut().unwrap_err().value;
    let other = other.try_into_owner::<[u8; 95]>().unwrap_err().value;
    drop(other);
    assert_eq!((bytes.as_ptr(), bytes), (first, &[5; 96][..]));
    let returned = buffer.try_into_mut().unwrap_err();
    assert_eq!(returned.error.rule(), Some(Rule::MemoryReadOnly));
    assert_eq!(returned.value.host_bytes().unwrap(), [5; 96]);
    let buffer = returned.value.try_into_owner::<[u8; 95]>().unwrap_err().value;
    assert_eq!(buffer.host_bytes().unwrap(), [5; 96]);
    assert_eq!(buffer.try_into_owner::<[u8; 96]>().unwrap(), [5; 96]);
}

/// An owner that answers differently each time, by what shares of it others hold can change.
struct Fickle {
    bytes: [Vec<u8>; 2],
    asked: Arc<AtomicUsize>,
}

impl AsRef<[u8]> for Fickle {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[self.asked.fetch_add(1, Ordering::Relaxed) % 2]
    }
}

#[test]
fn an_owner_is_asked_once() {
    let asked = Arc::new(AtomicUsize::new(0));
    let bytes = [vec![1; 100], vec![2; 1]];
    let buffer = Buffer::from_owner(Fickle { bytes, asked: Arc::clone(&asked) }).unwrap();
    asked.fetch_add(1, Ordering::Relaxed);
    for _ in 0..3 {
        assert_eq!(buffer.host_bytes().unwrap(), [1; 100]);
        assert_eq!(
            buffer.copy_to_host().unwrap()[usize::try_from(buffer.lead()).unwrap()..],
            [1; 100]
        );
    }
    drop(buffer);
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}

/// An owner that must not be used by two threads at once, as it never is.
#[test]
fn an_owner_need_only_be_sent() {
    struct Own(std::cell::Cell<u8>, Vec<u8>);
    impl AsRef<[u8]> for Own {
        fn as_ref(&self) -> &[u8] {
            self.0.set(self.0.get() + 1);
            &self.1
        }
    }
    let buffer = Buffer::from_owner(Own(0.into(), vec![4; 10])).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert_eq!(buffer.host_bytes().unwrap(), [4; 10]));
        }
    });
    assert_eq!(buffer.try_into_owner::<Own>().unwrap_or_else(|_| panic!()).0.get(), 1);
}

#[test]
fn a_vector_of_nothing_is_never_looked_at() {
    for numbers in [Vec::new(), Vec::with_capacity(10)] {
        let capacity = Vec::<u64>::capacity(&numbers);
        let mut memory = BufferMut::from_vec(numbers).unwrap();
        assert!(memory.is_empty() && memory.iter_mut().next().is_none());
        let buffer = memory.freeze();
        assert!(buffer.is_empty() && buffer.host_bytes().unwrap().is_empty());
        assert_eq!((buffer.lead(), buffer.region().length), (0, 0));
        assert_eq!(buffer.try_into_vec::<u64>().unwrap().capacity(), capacity);
    }
}
