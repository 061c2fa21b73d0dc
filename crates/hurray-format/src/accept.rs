//! What a reader was told to accept beyond the format's own tags, and its limits.

use crate::limits::Limits;

/// The private tags a reader agreed on, and its limits. The default accepts no private
/// tag: whoever exchanges one has said so.
///
/// ```
/// use hurray_format::Accept;
/// let accept = Accept::default().layout(0xF0).dtype(0xF3);
/// assert_ne!(accept, Accept::default());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accept {
    /// The caps to apply.
    pub limits: Limits,
    pub(crate) dtypes: Tags,
    pub(crate) layouts: Tags,
    pub(crate) schemes: Tags,
    pub(crate) devices: Tags,
    pub(crate) composition_rules: Tags,
}

impl Accept {
    /// No private tag, and the default limits.
    pub(crate) const NONE: Self = Self {
        limits: Limits::DEFAULT,
        dtypes: Tags(0),
        layouts: Tags(0),
        schemes: Tags(0),
        devices: Tags(0),
        composition_rules: Tags(0),
    };

    /// Accepts every private tag. For inspectors, which look at no data.
    pub fn every_private_tag() -> Self {
        Self {
            limits: Limits::default(),
            dtypes: Tags::ALL,
            layouts: Tags::ALL,
            schemes: Tags::ALL,
            devices: Tags::ALL,
            composition_rules: Tags::ALL,
        }
    }

    /// Also accepts this private element type.
    pub fn dtype(mut self, tag: u8) -> Self {
        self.dtypes = self.dtypes.with(tag);
        self
    }

    /// Also accepts this private layout.
    pub fn layout(mut self, tag: u8) -> Self {
        self.layouts = self.layouts.with(tag);
        self
    }

    /// Also accepts this private quantization scheme.
    pub fn scheme(mut self, tag: u8) -> Self {
        self.schemes = self.schemes.with(tag);
        self
    }

    /// Also accepts this private device, with its private memory classes.
    pub fn device(mut self, tag: u8) -> Self {
        self.devices = self.devices.with(tag);
        self
    }

    /// Also accepts this private composition rule.
    pub fn composition_rule(mut self, tag: u8) -> Self {
        self.composition_rules = self.composition_rules.with(tag);
        self
    }

    /// Applies these limits.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

/// A set of private tags, 0xF0–0xFE; others are never in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tags(u16);

impl Tags {
    const ALL: Self = Self(0x7FFF);

    const fn bit(tag: u8) -> u16 {
        match tag {
            0xF0..=0xFE => 1 << (tag & 0x0F),
            _ => 0,
        }
    }

    const fn with(self, tag: u8) -> Self {
        Self(self.0 | Self::bit(tag))
    }

    pub(crate) const fn has(self, tag: u8) -> bool {
        self.0 & Self::bit(tag) != 0
    }
}
