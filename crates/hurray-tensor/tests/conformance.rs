//! Every backend does what the trait says.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test may fail loudly")]

use std::sync::{Arc, LazyLock};

use hurray_tensor::device::conformance::{Backend, CASES, Open, check};
use hurray_tensor::device::{Cpu, Device, Stream};

#[test]
fn the_cpu_is_a_device() {
    struct Host;

    impl Backend for Host {
        fn device(&self) -> Arc<dyn Device> {
            static CPU: LazyLock<Arc<dyn Device>> = LazyLock::new(|| Arc::new(Cpu::new()));
            Arc::clone(&CPU)
        }

        fn hold(&self, _: &Stream) -> Option<Open> {
            None
        }
    }

    check(&Host);
}

#[cfg(target_os = "linux")]
mod simulated {
    use hurray_tensor::device::simulated::{Gate, Machine};

    use super::*;

    struct Simulated(Arc<dyn Device>);

    impl Backend for Simulated {
        fn device(&self) -> Arc<dyn Device> {
            Arc::clone(&self.0)
        }

        fn hold(&self, stream: &Stream) -> Option<Open> {
            let gate = Gate::new().unwrap();
            gate.hold(stream).unwrap();
            Some(Box::new(move || gate.open().unwrap()))
        }
    }

    #[test]
    fn each_simulated_device_is_one() {
        let machine = Machine::new(3);
        for ordinal in 0..3 {
            check(&Simulated(machine.device(ordinal).unwrap()));
        }
        let settled = machine.settle(std::time::Duration::from_secs(120)).unwrap();
        assert!(settled.is_nobody());
        assert_eq!((machine.memory_held(), machine.events_held()), (0, 0));
        assert_eq!(machine.faults(), [""; 0]);
    }
}

/// A case that is not in the table is run by nobody.
#[test]
fn every_case_is_in_the_table() {
    let sources = [
        include_str!("../src/device/conformance/crossing.rs"),
        include_str!("../src/device/conformance/memory.rs"),
        include_str!("../src/device/conformance/order.rs"),
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
