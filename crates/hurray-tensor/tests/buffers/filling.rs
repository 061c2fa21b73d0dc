//! Memory that is written once.

use std::io::{self, ErrorKind, Read, Write};
use std::mem::MaybeUninit;

use hurray_tensor::format::Rule;
use hurray_tensor::{Alignment, Unfilled};

use super::byte;

/// Of the allocator, and of the system's own pages.
const WHERE: &[(Alignment, usize)] = if cfg!(miri) {
    &[(Alignment::LINE, 1000), (Alignment::HUGE_PAGE, 1000)]
} else {
    &[(Alignment::LINE, 1000), (Alignment::LINE, 200_000), (Alignment::PAGE, 300_000)]
};

/// Counts up, in pieces of these sizes, over and over.
struct Pieces<'s> {
    sizes: &'s [usize],
    given: usize,
    calls: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let size = self.sizes[self.calls % self.sizes.len()].min(into.len());
        self.calls += 1;
        for (place, slot) in into[..size].iter_mut().enumerate() {
            *slot = byte(self.given + place);
        }
        self.given += size;
        Ok(size)
    }
}

#[test]
fn it_is_filled_by_a_reader_in_whatever_pieces_come() {
    for (alignment, length) in WHERE.iter().copied() {
        for sizes in [&[1, 7, 64_000][..], &[100_000], &[usize::MAX]] {
            let mut memory = Unfilled::new(alignment, length).unwrap();
            let mut pieces = Pieces { sizes, given: 0, calls: 0 };
            memory.read_exact_from(&mut pieces).unwrap();
            let memory = memory.finish().unwrap();
            assert_eq!((memory.len(), pieces.given), (length, length));
            assert!(memory.iter().enumerate().all(|(place, found)| *found == byte(place)));
        }
    }
}

#[test]
fn it_is_filled_by_many_hands() {
    for (alignment, length) in WHERE.iter().copied() {
        let mut memory = Unfilled::new(alignment, length).unwrap();
        assert_eq!(memory.left(), length);
        memory.write_all(&[1; 10]).unwrap();
        memory.rest()[..10].fill(MaybeUninit::new(2));
        // SAFETY: 10 bytes were written just now.
        unsafe { memory.advance(10) }.unwrap();
        memory.read_exact_from(&mut (&[3; 10][..]).chain(&[][..])).unwrap_err();
        assert_eq!(memory.left(), length - 30);
        memory.zero_rest();
        assert_eq!(memory.left(), 0);
        let memory = memory.finish().unwrap();
        assert_eq!(&memory[..31], [&[1; 10][..], &[2; 10], &[3; 10], &[0]].concat());
        assert!(memory[30..].iter().all(|byte| *byte == 0));
    }
}

#[test]
fn it_takes_no_more_than_there_is_room_for() {
    let mut memory = Unfilled::new(Alignment::LINE, 5).unwrap();
    assert_eq!(memory.write(&[1; 10]).unwrap(), 5);
    assert_eq!(memory.write(&[1; 10]).unwrap(), 0);
    assert_eq!(memory.write_all(&[1]).unwrap_err().kind(), ErrorKind::WriteZero);
    assert!(memory.rest().is_empty());
    // SAFETY: nothing is said to be written, and more than there is, is refused.
    unsafe { memory.advance(0) }.unwrap();
    // SAFETY: as above.
    let error = unsafe { memory.advance(1) }.unwrap_err();
    assert_eq!(error.rule(), Some(Rule::MemoryRange));
    memory.read_exact_from(&mut &[9][..]).unwrap();
    assert_eq!(memory.finish().unwrap()[..], [1; 5]);
    let nothing = Unfilled::new(Alignment::PAGE, 0).unwrap();
    assert!(nothing.finish().unwrap().is_empty());
}

#[test]
fn it_is_not_finished_before_it_is_full() {
    let mut memory = Unfilled::new(Alignment::LINE, 5).unwrap();
    memory.write_all(&[1; 4]).unwrap();
    assert_eq!(memory.finish().unwrap_err().rule(), Some(Rule::MemorySize));
}

/// What a reader wrote and then did not count is not among the bytes.
#[test]
fn a_reader_that_lies_is_not_believed() {
    struct Liar(usize);
    impl Read for Liar {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            into.fill(7);
            self.0 += 1;
            match self.0 {
                1 => Err(io::Error::from(ErrorKind::Interrupted)),
                2 => Err(io::Error::from(ErrorKind::ConnectionReset)),
                _ => Ok(usize::MAX),
            }
        }
    }
    for (alignment, length) in WHERE.iter().copied() {
        let (mut memory, mut liar) = (Unfilled::new(alignment, length).unwrap(), Liar(0));
        let error = memory.read_exact_from(&mut liar).unwrap_err();
        assert_eq!((error.kind(), memory.left()), (ErrorKind::ConnectionReset, length));
        memory.zero_rest();
        assert!(memory.finish().unwrap().iter().all(|byte| *byte == 0));

        let mut memory = Unfilled::new(alignment, length).unwrap();
        memory.read_exact_from(&mut Liar(2)).unwrap();
        assert!(memory.finish().unwrap().iter().all(|byte| *byte == 7));
    }
}

/// Memory may be handed out, made unreadable again, and then read into.
#[test]
fn what_was_unwritten_again_is_not_read() {
    struct Looks;
    impl Read for Looks {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            // It may look before it writes.
            let sum: u64 = into.iter().map(|byte| u64::from(*byte)).sum();
            assert_eq!(sum, 0);
            into.fill(1);
            Ok(into.len())
        }
    }
    for (alignment, length) in WHERE.iter().copied() {
        let mut memory = Unfilled::new(alignment, length).unwrap();
        memory.rest().fill(MaybeUninit::uninit());
        memory.read_exact_from(&mut Looks).unwrap();
        assert!(memory.finish().unwrap().iter().all(|byte| *byte == 1));
    }
}
