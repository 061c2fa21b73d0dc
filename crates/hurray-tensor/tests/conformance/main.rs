//! Every backend does what the trait says, and one that does not wait is found out.

#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail loudly"
)]

use std::sync::{Arc, LazyLock};

use hurray_tensor::device::conformance::{Backend, CASES, Open, Step, check};
use hurray_tensor::device::{Cpu, Device, Stream};

#[test]
fn the_cpu_is_a_device() {
    struct Host;

    // Whatever is queued is done when it is queued.
    impl Backend for Host {
        fn device(&self) -> Arc<dyn Device> {
            static CPU: LazyLock<Arc<dyn Device>> = LazyLock::new(|| Arc::new(Cpu::new()));
            Arc::clone(&CPU)
        }

        fn hold(&self, _: &Stream) -> Option<Open> {
            None
        }

        fn spawn(&self, step: Step) {
            step();
        }

        fn settle(&self) {}
    }

    check(&Host);
}

#[cfg(target_os = "linux")]
mod simulated;
#[cfg(target_os = "linux")]
mod unaligned;

/// A case that is not in the table is run by nobody.
#[test]
fn every_case_is_in_the_table() {
    let sources = [
        include_str!("../../src/device/conformance/crossing.rs"),
        include_str!("../../src/device/conformance/memory.rs"),
        include_str!("../../src/device/conformance/order.rs"),
    ];
    let mut cases: Vec<&str> = sources
        .iter()
        .flat_map(|source| source.lines())
        .filter_map(|line| line.strip_prefix("pub fn ")?.strip_suffix("(backend: &dyn Backend) {"))
        .collect();
    let mut listed: Vec<&str> = CASES.iter().map(|(name, _)| *name).collect();
    cases.sort_unstable();
    listed.sort_unstable();
    assert_eq!(cases, listed);
}
