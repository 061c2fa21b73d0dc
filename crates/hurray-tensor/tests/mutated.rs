//! Exchange structs with any field broken, in every way a producer may be wrong that can be
//! checked: the answer is a rule or a tensor, and all of it is released, once.

#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "a test may fail loudly"
)]
#![allow(unsafe_code, reason = "structs are broken on purpose")]
#![allow(clippy::multiple_unsafe_ops_per_block, reason = "structs are taken apart by hand")]

#[path = "mutated/device.rs"]
mod device;
#[path = "mutated/graph.rs"]
mod graph;
#[cfg(all(unix, not(miri)))]
#[path = "mutated/guarded.rs"]
mod guarded;
#[path = "mutated/use_it.rs"]
mod use_it;

use std::mem::offset_of;

use graph::{ALIKE, Graph, KINDS, TWINS, WAITING};
use hurray_tensor::device::Devices;
use hurray_tensor::exchange::Foreign;
use hurray_tensor::exchange::raw::{HurrayBuffer, HurraySync, HurrayTensor};
use hurray_tensor::format::{Accept, Rule};

/// Where a struct has pointers: those are broken one by one below.
const POINTERS_OF_A_TENSOR: [usize; 5] = [
    offset_of!(HurrayTensor, release),
    offset_of!(HurrayTensor, private_data),
    offset_of!(HurrayTensor, descriptor),
    offset_of!(HurrayTensor, buffers),
    offset_of!(HurrayTensor, members),
];
const SYNC: usize = offset_of!(HurrayBuffer, sync);
const POINTERS_OF_A_BUFFER: [usize; 5] = [
    offset_of!(HurrayBuffer, release),
    offset_of!(HurrayBuffer, private_data),
    SYNC + offset_of!(HurraySync, release_event),
    SYNC + offset_of!(HurraySync, event_context),
    offset_of!(HurrayBuffer, release_after),
];

/// One thing that is wrong.
#[derive(Clone, Copy, Debug)]
enum Wrong {
    /// A bit of the struct of a tensor, counted over the graph.
    TensorBit {
        tensor: usize,
        bit: usize,
    },
    BufferBit {
        buffer: usize,
        bit: usize,
    },
    DescriptorBit {
        tensor: usize,
        bit: usize,
    },
    DescriptorLength {
        tensor: usize,
        length: u64,
    },
    NoDescriptor {
        tensor: usize,
    },
    Arrays {
        tensor: usize,
        which: u8,
    },
    Entry {
        tensor: usize,
        place: usize,
        which: u8,
    },
    /// It was released before.
    BufferReleased {
        buffer: usize,
    },
    MemberReleased {
        tensor: usize,
    },
    NoEventRelease {
        buffer: usize,
    },
}

fn wrongs_of(graph: &Graph) -> Vec<Wrong> {
    let mut all = Vec::new();
    let bits = |size: usize, pointers: &[usize]| -> Vec<usize> {
        let is_pointer = |byte: usize| pointers.iter().any(|at| (*at..*at + 8).contains(&byte));
        (0..size * 8).filter(|bit| !is_pointer(bit / 8)).collect()
    };
    for tensor in 0..graph.tensors.len() {
        for bit in bits(size_of::<HurrayTensor>(), &POINTERS_OF_A_TENSOR) {
            all.push(Wrong::TensorBit { tensor, bit });
        }
        let length = graph.descriptor_length(tensor);
        all.extend((0..length * 8).map(|bit| Wrong::DescriptorBit { tensor, bit }));
        let lengths = (0..length as u64).chain([u64::MAX, 1 << 63, u64::from(u32::MAX)]);
        all.extend(lengths.map(|length| Wrong::DescriptorLength { tensor, length }));
        all.push(Wrong::NoDescriptor { tensor });
        all.extend((0..4).map(|which| Wrong::Arrays { tensor, which }));
        let entries = graph.entries(tensor);
        for place in 0..entries {
            all.extend((0..5).map(|which| Wrong::Entry { tensor, place, which }));
        }
        if tensor != 0 {
            all.push(Wrong::MemberReleased { tensor });
        }
    }
    for buffer in 0..graph.buffers.len() {
        for bit in bits(size_of::<HurrayBuffer>(), &POINTERS_OF_A_BUFFER) {
            all.push(Wrong::BufferBit { buffer, bit });
        }
        all.push(Wrong::BufferReleased { buffer });
        all.push(Wrong::NoEventRelease { buffer });
    }
    all
}

fn run(kind: usize, wrongs: &[Wrong], way: usize) {
    let mut graph = Graph::new(kind);
    for wrong in wrongs {
        graph.make_wrong(*wrong);
    }
    let said = use_it::take(&graph, way);
    graph.expect_released(&format!("{kind} {wrongs:?} {way}: {said}"));
}

#[test]
fn whatever_one_thing_is_wrong() {
    let mut count = 0;
    for kind in 0..KINDS {
        let graph = Graph::new(kind);
        let wrongs = wrongs_of(&graph);
        drop(graph);
        for way in 0..use_it::WAYS {
            run(kind, &[], way);
        }
        for (number, wrong) in wrongs.iter().enumerate() {
            if cfg!(miri) && number % 401 != 0 {
                continue;
            }
            run(kind, &[*wrong], number % use_it::WAYS);
            count += 1;
        }
    }
    assert!(cfg!(miri) || count > 20_000, "{count}");
}

#[test]
fn whatever_several_things_are_wrong() {
    let mut random = Random(0x5EED);
    let rounds = if cfg!(miri) { 8 } else { 4_000 };
    for kind in 0..KINDS {
        let graph = Graph::new(kind);
        let wrongs = wrongs_of(&graph);
        drop(graph);
        for _ in 0..rounds {
            let some: Vec<_> =
                (0..2 + random.below(3)).map(|_| wrongs[random.below(wrongs.len())]).collect();
            run(kind, &some, random.below(use_it::WAYS));
        }
    }
}

#[test]
fn no_struct_is_reached_twice() {
    let graph = Graph::new(ALIKE);
    graph.name_again(0, 1, 0);
    // SAFETY: what is wrong with it is checked.
    let foreign = unsafe { Foreign::take(graph.tensors[0]) }.unwrap();
    let (accept, devices) = (Accept::default(), Devices::default());
    let refused = foreign.look(&accept).err().and_then(|error| error.rule());
    assert_eq!(refused, Some(Rule::ExchangeReleased));
    let refused = foreign.into_offered(&accept, &devices).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::ExchangeReleased));
    graph.expect_released("a buffer named twice");

    // The memory of the one member would go with the other.
    let graph = Graph::new(TWINS);
    graph.name_again(2, 0, 0);
    // SAFETY: as above.
    let foreign = unsafe { Foreign::take(graph.tensors[0]) }.unwrap();
    let refused = foreign.into_composite(&accept, &devices).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::ExchangeReleased));
    graph.expect_released("a buffer of two members");
}

#[test]
fn members_do_not_share_an_event_that_allows_one_wait() {
    let graph = Graph::new(WAITING);
    let (first, second) = (graph.buffers[0], graph.buffers[2]);
    // SAFETY: both structs are there.
    unsafe { (*second).sync.event = (*first).sync.event };
    // SAFETY: what is wrong with it is checked.
    let foreign = unsafe { Foreign::take(graph.tensors[0]) }.unwrap();
    let refused = foreign.into_composite(&Accept::default(), &Devices::default()).unwrap_err();
    assert_eq!(refused.rule(), Some(Rule::ExchangeEventShared));
    graph.expect_released("an event of two members");
}

#[test]
fn several_threads_look_at_once() {
    let graph = Graph::new(1);
    // SAFETY: nothing is wrong with it.
    let foreign = unsafe { Foreign::take(graph.tensors[0]) }.unwrap();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let seen = [(); 2].map(|()| foreign.look(&Accept::default()).unwrap());
                assert_eq!(seen[0].rank(), seen[1].rank());
            });
        }
    });
    drop(foreign);
    graph.expect_released("looked at");
}

/// The same numbers in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % limit
    }
}
