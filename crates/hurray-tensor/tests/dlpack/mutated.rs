//! Structs of any parts, as `parts` makes them.

use crate::choice::{Given, Random, inputs};
use crate::parts::{Became, run_any};

#[test]
fn structs_of_random_parts() {
    let mut random = Random(11);
    let all: Vec<Became> = (0..10_000).map(|_| run_any(&mut random)).collect();
    let count = |of| all.iter().filter(|became| **became == of).count();
    let (taken, copied) = (count(Became::Taken), count(Became::Copied));
    assert!(taken > 2_000 && copied > 300, "{taken} {copied}");
}

/// What the fuzz target does, without a fuzzer.
#[test]
fn every_input_of_the_corpus() {
    for (name, bytes) in inputs("dlpack") {
        // Shown when the test fails: the last one is at fault.
        println!("{name}");
        run_any(&mut Given(&bytes));
    }
}
