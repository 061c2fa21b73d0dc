//! Whatever safe code asks of tensors and buffers: it gets an answer or a rule, soon, and little
//! memory is taken for it.

#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "a test may fail loudly"
)]
#![deny(unsafe_code)]

#[path = "support/counting.rs"]
mod counting;

#[path = "extremes/buffers.rs"]
mod buffers;
#[path = "extremes/made.rs"]
mod made;
#[path = "extremes/used.rs"]
mod used;

use std::collections::BTreeMap;

use made::Random;

/// While memory grows, the old and the new are both counted: the strictest view.
const GROWS_IN_PLACE: bool = false;

#[test]
fn tensors_of_any_parts() {
    let mut random = Random(7);
    let mut found: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for round in 0..12_000 {
        let (name, made) = made::tensor(&mut random);
        let counts = found.entry(name).or_default();
        counts.0 += 1;
        if let Ok(tensor) = made {
            counts.1 += 1;
            let taken = counting::most(|| used::in_every_way(&mut random, tensor));
            assert!(taken < 4 << 20, "round {round}: {taken} bytes");
        }
    }
    for (name, (_, built)) in &found {
        assert!(*built > 5, "{name}: {found:?}");
    }
}
