//! Every cap a reader applies, with its reason, in one place.

/// The caps of a reader. The defaults are generous for honest data and small enough
/// that hostile data cannot exhaust a machine; every one can be changed.
///
/// ```
/// use hurray_format::Limits;
/// let limits = Limits { descriptor_bytes: 4096, ..Limits::default() };
/// assert_eq!(limits.descriptor_bytes, 4096);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest descriptor, in bytes. A descriptor of rank 64 with every section is
    /// under 8 KiB; private payloads are the only honest reason for more.
    pub descriptor_bytes: u32,
    /// The longest key-value section of a file, in bytes: it is held in memory.
    pub kv_bytes: u64,
    /// The longest index of a file, in bytes: it is held in memory, and a file with holes
    /// may be far larger than what is on the disk. The default is some 15 million tensors.
    pub index_bytes: u64,
    /// The most members one composite may have when it is bound.
    pub composite_members: u32,
    /// How many steps, for each member, may be taken to prove that a partition covers its
    /// head: any grid takes far fewer, interlocking boxes without end would take hours.
    pub composite_work: u64,
}

impl Limits {
    /// Heads nested in heads: what the format allows, and no more.
    pub const COMPOSITE_DEPTH: usize = 8;
    /// Tiled records nested in tiled records: what the format allows, and no more.
    pub const TILED_DEPTH: usize = 8;
    /// The highest rank the format has.
    pub const RANK: u32 = 64;
    /// The most buffers a descriptor has: its table counts them in a byte.
    pub const BUFFERS: usize = 0xFF;

    pub(crate) const DEFAULT: Self = Self {
        descriptor_bytes: 1 << 20,
        kv_bytes: 1 << 30,
        index_bytes: 1 << 30,
        composite_members: 1 << 20,
        composite_work: 1024,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
