use std::mem::offset_of;

use super::*;
use crate::failure::Failure;

/// The struct as it is today: one field was added.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Today {
    struct_size: u32,
    first: u32,
    added: u64,
}

// SAFETY: as the trait asks.
unsafe impl Growing for Today {
    const FIRST: usize = 8;
}

fn rule(failure: Failure) -> Rule {
    match failure {
        Failure::Error(error) => error.rule().unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_older_program_s_struct_is_read_as_far_as_it_goes() {
    // What follows in its memory is another variable.
    let theirs = [8_u32, 7, 99, 99];
    // SAFETY: eight bytes are there, as it says, and aligned as the program aligns them here.
    let read = unsafe { read(aligned(&theirs).0.as_ptr().cast::<Today>(), "it") }.unwrap();
    assert_eq!(read, Today { struct_size: 8, first: 7, added: 0 });
}

#[test]
fn an_older_program_s_struct_is_filled_as_far_as_it_goes() {
    let mut theirs = aligned(&[8, 7, 99, 98]);
    // SAFETY: eight bytes are there, as it says.
    let mut form = unsafe { Form::new(theirs.0.as_mut_ptr().cast::<Today>(), "it") }.unwrap();
    form.fill(Today { struct_size: 0, first: 1, added: 2 });
    assert_eq!(theirs.0, [8, 1, 99, 98]);
}

#[test]
fn a_newer_program_s_struct_is_refused_where_it_says_more() {
    let mut theirs = aligned(&[24, 7, 1, 0, 0, 0]);
    // SAFETY: 24 bytes are there, as it says.
    let known = unsafe { read(theirs.0.as_ptr().cast::<Today>(), "it") }.unwrap();
    assert_eq!(known, Today { struct_size: 24, first: 7, added: 1 });
    theirs.0[5] = 1;
    // SAFETY: as before.
    let refused = unsafe { read(theirs.0.as_ptr().cast::<Today>(), "it") };
    assert_eq!(rule(refused.unwrap_err()), Rule::CapiStructNewer);
    // SAFETY: as before, and ours to write.
    let mut form = unsafe { Form::new(theirs.0.as_mut_ptr().cast::<Today>(), "it") }.unwrap();
    form.fill(Today { struct_size: 0, first: 3, added: 4 });
    assert_eq!(theirs.0, [16, 3, 4, 0, 0, 1]);
}

#[test]
fn a_size_that_was_never_set_is_refused() {
    for size in [0, 4, 7, 4097, u32::MAX] {
        let theirs = aligned(&[size, 0, 0, 0]);
        // SAFETY: no more than the first field is looked at.
        let refused = unsafe { read(theirs.0.as_ptr().cast::<Today>(), "it") };
        assert_eq!(rule(refused.unwrap_err()), Rule::CapiStructSize, "{size}");
    }
}

#[test]
fn of_a_struct_to_be_filled_the_size_alone_need_be_set() {
    use hurray_tensor::exchange::raw::HurrayTensor;
    for size in [16, 79, 80, 800] {
        let mut out = MaybeUninit::<HurrayTensor>::uninit();
        let place = out.as_mut_ptr();
        let its_size = place.wrapping_byte_add(offset_of!(HurrayTensor, struct_size));
        // SAFETY: a field of memory that is there.
        unsafe { its_size.cast::<u32>().write(size) };
        // SAFETY: as long as a tensor is, and ours to write.
        let emptied = unsafe { emptied(place, "out") };
        assert_eq!(emptied.is_ok(), size >= 80, "{size}");
        let release = place.wrapping_byte_add(offset_of!(HurrayTensor, release));
        // SAFETY: written just now.
        assert!(unsafe { release.cast::<*const c_void>().read() }.is_null());
    }
}

/// As C aligns a struct with a uint64_t in it.
#[repr(align(8))]
struct Aligned<const N: usize>([u32; N]);

fn aligned<const N: usize>(words: &[u32; N]) -> Aligned<N> {
    Aligned(*words)
}
