//! The devices a program has at hand.

use std::sync::{Arc, LazyLock};

use hurray_format::DeviceTag;

use super::{Cpu, Device};

/// Where waits are looked for: an event that arrives names its device, and one of these must
/// be it. The CPU is always among them.
#[derive(Clone, Debug)]
pub struct Devices(Vec<Arc<dyn Device>>);

impl Default for Devices {
    fn default() -> Self {
        static CPU: LazyLock<Arc<dyn Device>> = LazyLock::new(|| Arc::new(Cpu::new()));
        Self(vec![Arc::clone(&CPU)])
    }
}

impl Devices {
    /// These and one more.
    #[must_use]
    pub fn with(mut self, device: Arc<dyn Device>) -> Self {
        self.0.push(device);
        self
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Device>> {
        self.0.iter()
    }

    /// The device that is meant by kind, ordinal (-1 where not known) and own number (zero
    /// where not known). Words that several devices answer to mean none of them.
    pub fn find(&self, tag: DeviceTag, ordinal: i64, uuid: &[u8; 16]) -> Option<&Arc<dyn Device>> {
        let mut meant = self.iter().filter(|device| device.identity().is(tag, ordinal, uuid));
        let first = meant.next()?;
        // The same device may have been named twice.
        meant.all(|other| other.identity() == first.identity()).then_some(first)
    }
}
