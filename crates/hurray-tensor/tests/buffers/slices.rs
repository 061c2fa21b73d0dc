//! Parts of buffers, against parts of vectors.

use hurray_tensor::format::Rule;
use hurray_tensor::{Buffer, Region};
use proptest::prelude::*;

use super::{Lines, byte};

/// A range, given as two numbers that need be neither in order nor small.
type Cut = (u64, u64);

/// Mostly multiples of 64 near the bytes there are, and others.
fn cut() -> impl Strategy<Value = Cut> {
    let end = || prop_oneof![6 => (0..12_u64).prop_map(|line| line * 64), 3 => 0..700_u64, 1 => any::<u64>()];
    (end(), end())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 32 } else { 4096 }, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// A vector is cut in the same way: of the bytes in front, which are no memory of the
    /// buffer's, it has placeholders.
    #[test]
    fn parts_of_parts_are_what_parts_of_vectors_are(
        lead in 0..64_usize, length in 0..600_usize, cuts in prop::collection::vec(cut(), 0..5),
    ) {
        let mut memory = Lines::new(lead + length);
        let first = memory.first();
        let region = Region::host(first.wrapping_add(lead), length);
        // SAFETY: the memory is the closure's until it is called.
        let mut buffer = unsafe { Buffer::adopt(region, move || drop(memory)) }.unwrap();

        let lead = if length == 0 { 0 } else { lead };
        let mut model: Vec<Option<u8>> =
            (0..lead + length).map(|place| (place >= lead).then(|| byte(place))).collect();
        if length == 0 {
            model.clear();
        }
        let mut start = first;
        for (from, to) in cuts {
            let wanted = usize::try_from(from).unwrap()..usize::try_from(to).unwrap();
            let part = model.get(wanted.clone());
            let aligned = from % 64 == 0 || from == to;
            let has_memory = part.is_some_and(|part| part.is_empty() || part.iter().any(Option::is_some));
            match buffer.slice(from..to) {
                Ok(part) => {
                    prop_assert!(aligned && has_memory, "{from}..{to} of {}", model.len());
                    buffer = part;
                    model = model[wanted].to_vec();
                    start = start.wrapping_add(usize::try_from(from).unwrap());
                }
                Err(error) => {
                    prop_assert!(!aligned || !has_memory, "{from}..{to} of {}", model.len());
                    let rule = if part.is_none() || aligned { Rule::MemoryRange } else { Rule::MemorySliceUnaligned };
                    prop_assert_eq!(error.rule(), Some(rule));
                }
            }
            check(&buffer, &model, start)?;
        }
        check(&buffer, &model, start)?;
        // What is written to the part is written there.
        let mut memory = buffer.try_into_mut().unwrap();
        memory.fill(0xEE);
        let written = model.iter().flatten().count();
        prop_assert_eq!((memory.len(), memory.iter().all(|byte| *byte == 0xEE)), (written, true));
    }
}

fn check(buffer: &Buffer, model: &[Option<u8>], start: *mut u8) -> Result<(), TestCaseError> {
    let bytes = buffer.host_bytes().unwrap();
    let expected: Vec<u8> = model.iter().flatten().copied().collect();
    prop_assert_eq!(bytes, &expected[..]);
    prop_assert_eq!(buffer.byte_size(), u64::try_from(model.len()).unwrap());
    prop_assert_eq!(buffer.lead(), u64::try_from(model.len() - expected.len()).unwrap());
    prop_assert_eq!(buffer.is_empty(), model.is_empty());
    if !bytes.is_empty() {
        let lead = model.len() - expected.len();
        prop_assert_eq!(bytes.as_ptr(), start.wrapping_add(lead).cast_const());
        prop_assert_eq!(buffer.region().host, start);
        prop_assert!(buffer.alignment() >= 64);
        prop_assert_eq!(
            buffer.alignment().trailing_zeros(),
            buffer.region().address.wrapping_add(buffer.region().offset).trailing_zeros().min(21)
        );
    }
    Ok(())
}

#[test]
fn a_part_in_front_of_adopted_memory_is_none() {
    let mut memory = Lines::new(128);
    let region = Region::host(memory.first().wrapping_add(40), 80);
    // SAFETY: the memory is the closure's until it is called.
    let buffer = unsafe { Buffer::adopt(region, move || drop(memory)) }.unwrap();
    assert_eq!(buffer.slice(0..40).unwrap_err().rule(), Some(Rule::MemoryRange));
    assert_eq!(buffer.slice(0..41).unwrap().host_bytes().unwrap(), [byte(40)]);
    // A part of none of it has nothing in front, and can be copied.
    let none = buffer.slice(0..0).unwrap();
    assert_eq!((none.lead(), none.byte_size()), (0, 0));
    assert!(none.copy_to_host().unwrap().is_empty());
}
