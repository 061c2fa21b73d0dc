//! Structs of a producer that keeps the header's rules, broken in every way that can be checked.

mod asked;
#[path = "../../support/choice.rs"]
pub(crate) mod choice;
mod device;
pub(crate) mod graph;
mod released;
pub(crate) mod use_it;
pub(crate) mod wrong;

use choice::Choice;
use graph::{Graph, KINDS};
use wrong::Wrong;

/// Breaks a graph, and takes it in some way: all of it is released, once.
pub(crate) fn run(kind: usize, wrongs: &[Wrong], way: usize) {
    let mut graph = Graph::new(kind);
    for wrong in wrongs {
        graph.make_wrong(*wrong);
    }
    let said = use_it::take(&graph, way);
    graph.expect_released(&format!("{kind} {wrongs:?} {way}: {said}"));
}

/// The same, with what is chosen.
pub(crate) fn run_any(choice: &mut impl Choice) {
    let (kind, way) = (choice.below(KINDS), choice.below(use_it::WAYS + 1));
    if way == use_it::WAYS {
        return asked::answer(choice);
    }
    let graph = Graph::new(kind);
    let count = choice.below(8);
    let wrongs: Vec<_> = (0..count).map(|_| Wrong::any(&graph, choice)).collect();
    drop(graph);
    run(kind, &wrongs, way);
}
