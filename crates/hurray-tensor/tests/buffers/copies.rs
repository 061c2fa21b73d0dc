//! Nothing is copied: pointers stay the same, and no memory is taken but for the share itself.

use std::sync::Arc;

use bytes::Bytes;
use hurray_tensor::{Alignment, Buffer, BufferMut, Tensor};

use super::counting::{most, times};

/// Under Miri every byte takes its time.
const LARGE: usize = if cfg!(miri) { 1 << 12 } else { 1 << 20 };

/// What a share may take: where memory is, what keeps it, and a count.
const SHARE: i64 = 512;

/// The bytes are where they were, and making the buffer took one small allocation.
fn taken_as_it_is(first: *const u8, length: usize, adopt: impl FnOnce() -> Buffer) -> Buffer {
    let mut adopted = None;
    let taken = most(|| adopted = Some(times(adopt)));
    let (buffer, times) = adopted.unwrap();
    let bytes = buffer.host_bytes().unwrap();
    assert_eq!((bytes.as_ptr(), bytes.len()), (first, length));
    assert!(taken < SHARE && times == 1, "{taken} bytes in {times} allocations");
    buffer
}

#[test]
fn owners_are_taken_as_they_are() {
    let vector = vec![7_u8; LARGE];
    taken_as_it_is(vector.as_ptr(), LARGE, || BufferMut::from_vec(vector).unwrap().freeze());
    let vector = vec![7.5_f64; LARGE / 8];
    let first = vector.as_ptr().cast();
    taken_as_it_is(first, LARGE, || BufferMut::from_vec(vector).unwrap().freeze());
    let vector = vec![7_u8; LARGE];
    taken_as_it_is(vector.as_ptr(), LARGE, || Buffer::from_owner(vector).unwrap());
    let boxed: Box<[i16]> = vec![7; LARGE / 2].into();
    let first = boxed.as_ptr().cast();
    taken_as_it_is(first, LARGE, || Buffer::from_elements::<i16, _>(boxed).unwrap());
    let shared: Arc<[u8]> = vec![7; LARGE].into();
    taken_as_it_is(shared.as_ptr(), LARGE, || Buffer::from_arc::<u8, _>(shared).unwrap());
    let shared = Arc::new(vec![7_u32; LARGE / 4]);
    let first = shared.as_ptr().cast();
    taken_as_it_is(first, LARGE, || Buffer::from_arc::<u32, _>(shared).unwrap());
    let bytes = Bytes::from(vec![7; LARGE]);
    taken_as_it_is(bytes.as_ptr(), LARGE, || Buffer::from_owner(bytes).unwrap());
    let constant: &'static [u8] = &[7; 3000];
    taken_as_it_is(constant.as_ptr(), 3000, || Buffer::from_owner(constant).unwrap());
}

#[cfg(not(miri))]
#[test]
fn a_mapping_is_taken_as_it_is() {
    use std::io::Write;
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&vec![7; LARGE]).unwrap();
    // SAFETY: nobody writes to this test's own file.
    let map = unsafe { memmap2::Mmap::map(&file) }.unwrap();
    let buffer = taken_as_it_is(map.as_ptr(), LARGE, || Buffer::from_owner(map).unwrap());
    assert!(buffer.alignment() >= 4096 && !buffer.is_writable());
    // The mapping is kept for as long as a part of it is.
    let part = buffer.slice(4096..8192).unwrap();
    drop((buffer, file));
    assert_eq!(part.host_bytes().unwrap(), [7; 4096]);
    let map: memmap2::Mmap = part.try_into_owner().unwrap();
    assert_eq!(map.len(), LARGE);
}

#[test]
fn nothing_is_allocated_to_share_cut_freeze_or_take_back() {
    let mut memory = BufferMut::zeroed(LARGE).unwrap();
    let first = memory.as_mut_ptr();
    let ((), taken) = times(|| {
        memory.fill(1);
        let buffer = memory.freeze();
        let shares = [buffer.clone(), buffer.clone()];
        assert!(shares.iter().all(|share| share.host_bytes().unwrap().as_ptr() == first));
        let part = buffer.slice(640..LARGE as u64).unwrap();
        assert_eq!(part.host_bytes().unwrap().as_ptr(), first.wrapping_add(640).cast_const());
        drop((shares, part));
        let host = buffer.into_host().unwrap();
        assert_eq!(host.as_ptr(), first.cast_const());
        let shared = host.into_buffer().into_shared().unwrap();
        let mut memory = shared.into_buffer().try_into_mut().unwrap();
        assert_eq!(memory.as_mut_ptr(), first);
    });
    assert_eq!(taken, 0);
}

#[test]
fn owners_are_given_back_as_they_are() {
    let vector = vec![7_u16; LARGE];
    let first = vector.as_ptr();
    let buffer = BufferMut::from_vec(vector).unwrap().freeze();
    let ((), taken) = times(|| {
        let vector = buffer.try_into_vec::<u16>().unwrap();
        assert_eq!((vector.as_ptr(), vector.len()), (first, LARGE));
    });
    assert_eq!(taken, 0);
}

#[cfg(feature = "bytes")]
#[test]
fn a_buffer_becomes_bytes_where_it_is() {
    let host = BufferMut::copy_of(&[7; 3000]).unwrap().freeze().into_host().unwrap();
    let first = host.as_ptr();
    let mut bytes = None;
    let taken = most(|| bytes = Some(Bytes::from(host)));
    let bytes = bytes.unwrap();
    assert_eq!((bytes.as_ptr(), &bytes[..]), (first, &[7; 3000][..]));
    assert!(taken < SHARE, "{taken}");
}

#[test]
fn a_tensor_of_a_vector_is_the_vector() {
    let numbers = vec![0.5_f32; LARGE];
    let first = numbers.as_ptr();
    let mut tensor = None;
    let taken = most(|| tensor = Some(Tensor::from_vec(numbers, &[2, LARGE as u64 / 2]).unwrap()));
    let tensor = tensor.unwrap();
    assert!(taken < 2 * SHARE, "{taken}");
    let bytes = tensor.host_buffers().unwrap();
    assert_eq!(bytes[0].as_ptr(), first.cast());
    let buffer = tensor.into_parts().1.next().unwrap();
    drop(bytes);
    let numbers = buffer.try_into_vec::<f32>().unwrap();
    assert_eq!((numbers.as_ptr(), numbers.len()), (first, LARGE));
}

/// A copy that was asked for is one copy.
#[test]
fn a_copy_is_one_copy() {
    let vector = vec![7_u8; LARGE];
    let length = i64::try_from(LARGE).unwrap();
    let mut copy = None;
    let taken = most(|| copy = Some(BufferMut::copy_of(&vector).unwrap()));
    assert!((length..length + 128 + SHARE).contains(&taken), "{taken}");
    let buffer = BufferMut::from_vec(vector).unwrap().freeze();
    let taken = most(|| copy = Some(buffer.copy_to_host().unwrap()));
    assert!((length..length + 128 + SHARE).contains(&taken), "{taken}");
    assert_ne!(copy.unwrap().as_ptr(), buffer.host_bytes().unwrap().as_ptr());
}

#[test]
fn memory_of_our_own_is_zeroed_and_aligned_as_asked() {
    let mut alignments: Vec<Alignment> = (6..17).map(|n| Alignment::new(1 << n).unwrap()).collect();
    alignments.extend([Alignment::LINE, Alignment::PAGE, Alignment::HUGE_PAGE]);
    alignments.push(Alignment::new(4 << 20).unwrap());
    let lengths =
        [1, 63, 64, 65, 4095, 4096, 100_000, 300_000, (2 << 20) - 1, 2 << 20, (4 << 20) + 5];
    let lengths = if cfg!(miri) { &[65, 4096][..] } else { &lengths[..] };
    for alignment in alignments {
        for length in lengths {
            // Memory that was used before is zeroed again.
            for _ in 0..2 {
                let mut memory = BufferMut::zeroed_at(alignment, *length).unwrap();
                let mask = usize::try_from(alignment.bytes()).unwrap() - 1;
                assert_eq!(memory.as_ptr().addr() & mask, 0);
                assert_eq!(memory.len(), *length);
                assert!(memory.iter().all(|byte| *byte == 0), "{length} at {alignment:?}");
                memory.fill(0xFF);
                let buffer = memory.freeze();
                assert!(buffer.alignment() >= alignment.bytes().min(2 << 20));
                assert_eq!((buffer.lead(), buffer.byte_size()), (0, *length as u64));
            }
        }
    }
    assert!(BufferMut::zeroed_at(Alignment::HUGE_PAGE, 0).unwrap().is_empty());
}

#[test]
fn an_alignment_is_a_power_of_two_from_64_on() {
    for good in [64, 128, 4096, 2 << 20, 1 << 31] {
        assert_eq!(Alignment::new(good).unwrap().bytes(), good);
    }
    for bad in [0, 1, 32, 63, 65, 96, 4095, u32::MAX] {
        assert!(Alignment::new(bad).is_err());
    }
}

#[cfg(not(miri))]
#[test]
fn memory_that_there_is_not_is_an_error() {
    let most = isize::MAX.unsigned_abs();
    for length in [usize::MAX, most + 1, most, most - 63, most - 4096, most >> 1] {
        for alignment in
            [Alignment::LINE, Alignment::new(256).unwrap(), Alignment::PAGE, Alignment::HUGE_PAGE]
        {
            assert!(BufferMut::zeroed_at(alignment, length).is_err(), "{length}");
            assert!(hurray_tensor::Unfilled::new(alignment, length).is_err(), "{length}");
        }
    }
    // More alignment than there are addresses for is no crash either.
    let largest = Alignment::new(1 << 31).unwrap();
    drop(BufferMut::zeroed_at(largest, 1));
}
