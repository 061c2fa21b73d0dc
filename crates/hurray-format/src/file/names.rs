//! Names found by hash: which entry has a name, and whether two have the same.

use alloc::vec::Vec;
use core::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::wire::as_index;

/// Entry numbers by name. It keeps no names; the caller shows it where they are.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    table: HashTable<u32>,
    hasher: RandomState,
}

impl Names {
    /// Adds `entry` under `name`, unless an entry before it has that name.
    pub(super) fn insert<'n>(
        &mut self,
        name: &[u8],
        entry: u32,
        name_of: impl Fn(u32) -> &'n [u8],
    ) -> Result<(), u32> {
        let hash = self.hasher.hash_one(name);
        let same = |other: &u32| name_of(*other) == name;
        let rehash = |other: &u32| self.hasher.hash_one(name_of(*other));
        match self.table.entry(hash, same, rehash) {
            hashbrown::hash_table::Entry::Occupied(other) => Err(*other.get()),
            hashbrown::hash_table::Entry::Vacant(place) => {
                place.insert(entry);
                Ok(())
            }
        }
    }

    /// The entry with that name.
    pub(super) fn find<'n>(&self, name: &[u8], name_of: impl Fn(u32) -> &'n [u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(name);
        self.table.find(hash, |entry| name_of(*entry) == name).copied()
    }
}

/// How many entries room is made for before they are read; more make their own.
pub(super) const BELIEVED: usize = 1 << 16;

/// Names on their way into a table. Putting them there is a pass of its own: the places are
/// far apart in memory, and only in a short loop does the processor look at many at once.
pub(super) struct NewNames {
    hashes: Vec<u64>,
    hasher: RandomState,
}

impl NewNames {
    /// Room for `count` names that the input was seen to have.
    pub(super) fn with_capacity(count: usize) -> Self {
        Self { hashes: Vec::with_capacity(count), hasher: RandomState::default() }
    }

    /// Adds the name of the next entry.
    #[inline(always)]
    pub(super) fn push(&mut self, name: &[u8]) {
        self.hashes.push(self.hasher.hash_one(name));
    }

    /// The table, or an entry whose name an entry before it has.
    pub(super) fn build<'n>(self, name_of: impl Fn(u32) -> &'n [u8]) -> Result<Names, u32> {
        let Self { hashes, hasher } = self;
        let mut table = HashTable::with_capacity(hashes.len());
        let hash_of = |n: &u32| hashes.get(as_index(u64::from(*n))).copied().unwrap_or_default();
        for (number, &hash) in (0_u32..).zip(&hashes) {
            let same = |n: &u32| hash_of(n) == hash && name_of(*n) == name_of(number);
            match table.entry(hash, same, hash_of) {
                hashbrown::hash_table::Entry::Occupied(_) => return Err(number),
                hashbrown::hash_table::Entry::Vacant(place) => place.insert(number),
            };
        }
        Ok(Names { table, hasher })
    }
}

/// The name of entry `number`: its length in two bytes, then itself. So both the index
/// and the key-values begin their entries.
pub(super) fn name_at<'b>(bytes: &'b [u8], entries: &[usize], number: u32) -> &'b [u8] {
    let start = entries.get(as_index(u64::from(number))).copied().unwrap_or(usize::MAX);
    let rest = bytes.get(start..).unwrap_or_default();
    let length = rest.first_chunk::<2>().map_or(0, |raw| usize::from(u16::from_le_bytes(*raw)));
    rest.get(2..).and_then(|rest| rest.get(..length)).unwrap_or_default()
}
