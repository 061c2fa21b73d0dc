//! Whether a handoff may copy.

/// Whether elements may be copied to meet what is asked of a handoff.
///
/// A copy is in memory of its own, and belongs to whoever asked for it alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Copying {
    /// What would have to be copied is refused, with the reason.
    #[default]
    Never,
    /// What cannot be handed over where it is, is copied.
    WhenNeeded,
    /// A copy is made in any case.
    Always,
}
