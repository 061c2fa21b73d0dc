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

mod broken;
#[cfg(all(unix, not(miri)))]
mod guarded;

use broken::choice::{Choice, Given, Random, inputs};
use broken::graph::{ALIKE, Graph, KINDS, TWINS, WAITING};
use broken::wrong::wrongs_of;
use broken::{run, run_any, use_it};
use hurray_tensor::device::Devices;
use hurray_tensor::exchange::Foreign;
use hurray_tensor::format::{Accept, Rule};

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
            let some: Vec<_> = (0..2 + random.below(3)).map(|_| random.of(&wrongs)).collect();
            run(kind, &some, random.below(use_it::WAYS));
        }
    }
}

#[test]
fn whatever_is_chosen() {
    let mut random = Random(0x5EED);
    for _ in 0..if cfg!(miri) { 8 } else { 20_000 } {
        run_any(&mut random);
    }
}

/// What the fuzz target does, without a fuzzer.
#[test]
#[cfg(not(miri))]
fn every_input_of_the_corpus() {
    for (name, bytes) in inputs("exchange") {
        // Shown when the test fails: the last one is at fault.
        println!("{name}");
        run_any(&mut Given(&bytes));
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
