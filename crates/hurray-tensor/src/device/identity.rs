//! Which device something belongs to.

use hurray_format::DeviceTag;

use crate::memory::Region;

/// Which device it is: its kind, and which one of that kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The kind, as handles say it.
    pub tag: DeviceTag,
    /// Its place among its kind in this process; -1 where it is not known.
    pub ordinal: i64,
    /// Its own number, the same in every process; zero where it has none.
    pub uuid: [u8; 16],
    /// A name for people.
    pub name: String,
}

impl Identity {
    /// Whether `region` is memory of this device.
    pub fn owns(&self, region: &Region) -> bool {
        self.is(region.device, region.ordinal, &region.uuid)
    }

    /// Whether somebody's words mean this device: the kind must agree; the number where both
    /// know one; otherwise the ordinal, where both know it.
    pub fn is(&self, tag: DeviceTag, ordinal: i64, uuid: &[u8; 16]) -> bool {
        let unknown = [0; 16];
        if tag != self.tag {
            return false;
        }
        if *uuid != unknown && self.uuid != unknown {
            return *uuid == self.uuid;
        }
        ordinal < 0 || self.ordinal < 0 || ordinal == self.ordinal
    }

    /// Marks a region as memory of this device.
    pub fn mark(&self, region: &mut Region) {
        region.device = self.tag;
        region.ordinal = self.ordinal;
        region.uuid = self.uuid;
    }
}
