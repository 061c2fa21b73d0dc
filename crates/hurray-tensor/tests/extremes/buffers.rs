//! Buffers from owners that answer as they like, and parts of parts.

use std::cell::Cell;

use hurray_tensor::format::{Descriptor, Dtype, Rule};
use hurray_tensor::{Alignment, Buffer, BufferMut, Composite, DeviceMemory, Offered, Result};
use hurray_tensor::{SharedBytes, Tensor, Unfilled};

use super::made::Random;

/// Answers another slice each time it is asked.
struct Fickle {
    asked: Cell<usize>,
    answers: Vec<Vec<u8>>,
}

impl AsRef<[u8]> for Fickle {
    fn as_ref(&self) -> &[u8] {
        let asked = self.asked.replace(self.asked.get() + 1);
        &self.answers[asked % self.answers.len()]
    }
}

#[test]
fn an_owner_is_asked_once() {
    let answers = vec![vec![1; 100], Vec::new(), vec![2; 7]];
    let fickle = Fickle { asked: Cell::new(0), answers };
    let buffer = Buffer::from_owner(fickle).unwrap();
    for _ in 0..4 {
        assert_eq!(buffer.clone().host_bytes().unwrap(), [1; 100]);
        assert_eq!(buffer.copy_to_host().unwrap().last(), Some(&1));
    }
    assert_eq!(buffer.try_into_owner::<Fickle>().unwrap().asked.get(), 1);
}

#[test]
fn parts_of_parts_stay_inside() {
    let mut random = Random(3);
    for _ in 0..2_000 {
        let length = random.below(700);
        let content: Vec<u8> = (0..length).map(|at| at as u8).collect();
        let skipped = random.below(length + 1);
        // A vector's memory lies anywhere; its lead is what is not its own.
        let whole = match random.below(2) {
            0 => BufferMut::from_vec(content.clone()).unwrap().freeze(),
            _ => BufferMut::copy_of(&content).unwrap().freeze(),
        };
        let (mut part, mut from, mut own) = (whole.clone(), 0_u64, content.as_slice());
        for _ in 0..4 {
            let (start, end) = (random.number(), random.number());
            let start = if random.one_in(3) { start } else { start % 6 * 64 };
            let end = if random.one_in(3) { end } else { start.wrapping_add(random.next() % 300) };
            let lead = part.lead();
            let Ok(inner) = part.slice(start..end) else {
                continue;
            };
            assert!(start <= end && end <= part.byte_size());
            assert!(start.is_multiple_of(64) || start == end);
            let cut = |at: u64| (at.saturating_sub(lead) as usize).min(own.len());
            own = &own[cut(start)..cut(end)];
            (part, from) = (inner, from + start);
            assert_eq!(part.host_bytes().unwrap(), own, "{from} {skipped}");
        }
        assert!(part.shares_memory_with(&whole));
        drop(whole);
        let own = own.to_vec();
        let mut memory = part.try_into_mut().unwrap();
        assert_eq!(&memory[..], own);
        memory.fill(7);
        let shared: SharedBytes = memory.freeze().into_shared().unwrap();
        assert_eq!(
            &shared.copy_out().unwrap()[shared.as_buffer().lead() as usize..],
            vec![7; own.len()]
        );
        let into = &mut vec![0; random.below(400)];
        let start = random.number() as usize;
        let fits = start.checked_add(into.len()).is_some_and(|end| end <= own.len());
        assert_eq!(shared.copy_to(start, into).is_ok(), fits);
        let memory = DeviceMemory::new(shared.into_buffer()).unwrap();
        drop(memory.freeze());
    }
}

#[test]
fn what_no_memory_can_hold() {
    for length in [usize::MAX, isize::MAX as usize, isize::MAX as usize - 64, 1 << 62, 1 << 47] {
        for alignment in [64, 128, 4096, 2 << 20, 1 << 31] {
            let alignment = Alignment::new(alignment).unwrap();
            assert!(BufferMut::zeroed_at(alignment, length).is_err());
            assert!(Unfilled::new(alignment, length).is_err());
        }
    }
    for alignment in [0, 1, 32, 63, 65, u32::MAX] {
        let refused = Alignment::new(alignment).unwrap_err();
        assert_eq!(refused.rule(), Some(Rule::MemoryAlignment));
    }
}

/// What is read or copied lies in a vector with some slack in front: that one is nobody's.
#[test]
fn a_copy_becomes_a_vector_of_its_elements_or_none() {
    for count in [1, 3, 64, 100, 5000] {
        let elements: Vec<u8> = (0..count).map(|at| at as u8).collect();
        let tensor = Tensor::from_vec(elements.clone(), &[count as u64]).unwrap();
        let copy = tensor.to_row_major().unwrap();
        if let Ok(own) = copy.clone().try_into_vec::<u8>() {
            assert_eq!(own, elements);
        }
        // A part of a vector is no vector.
        if count > 1 {
            let whole = Tensor::from_vec(elements.clone(), &[count as u64]).unwrap();
            let part = whole.slice_axis(0, ..count as u64 - 1).unwrap();
            drop(whole);
            let refused = part.try_into_vec::<u8>().unwrap_err();
            assert_eq!(refused.error.rule(), Some(Rule::ViewNotVector));
        }
        let [buffer] = copy.into_parts().1.collect::<Vec<_>>().try_into().unwrap();
        if let Ok(own) = buffer.try_into_vec::<u8>() {
            assert_eq!(own, elements);
        }
    }
}

/// More than there should be is refused when the first of it is seen.
#[test]
fn buffers_without_end_are_refused() {
    let rule = |refused: Result<Tensor>| refused.map(drop).unwrap_err().rule().unwrap();
    let buffer = BufferMut::zeroed(64).unwrap().freeze();
    let descriptor = Descriptor::dense(Dtype::UInt8, &[64]).unwrap();
    let parts = Descriptor::builder(Dtype::UInt8, &[64]);
    let endless = || std::iter::repeat(buffer.clone());
    assert_eq!(rule(Tensor::new(descriptor.clone(), endless())), Rule::MemoryCount);
    let above = Rule::DescriptorBufferCountAboveTable;
    assert_eq!(rule(Tensor::build(parts.clone(), endless())), above);
    let handles = parts.buffers(std::iter::repeat(descriptor.buffers()[0]));
    assert_eq!(handles.build().unwrap_err().rule(), above);

    let offered = endless().map(Offered::synced);
    let refused = Offered::of(descriptor.clone(), offered).map(drop).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::MemoryCount));
    let tensor = Tensor::new(descriptor, [buffer]).unwrap();
    let tensors = || std::iter::repeat(tensor.clone());
    let torn = Some(Rule::CompositeTorn);
    assert_eq!(Composite::new(tensors()).map(drop).unwrap_err().rule(), torn);
    let refused = Offered::bind(tensors().map(Offered::synced)).map(drop).unwrap_err();
    assert_eq!(refused.rule(), torn);
}
