//! Block-paged: a snapshot of a paged key-value cache (specification page 04,
//! decision 17).
//!
//! 32 bytes of fields. Buffers: page_pool, block_table, seq_ptr. The token count of each
//! sequence is not in the format: callers give it where it matters.

use super::contents::{Indices, PointerRules, check_pointers};
use crate::contents::Contents;
use crate::error::{Error, Expected, Result, Value};
use crate::rules::Rule;
use crate::shape::Count;
use crate::wire::{Array, Reader, Trace, as_offset};

/// Which half of the cache the pages hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KvRole {
    /// Keys.
    Key,
    /// Values.
    Value,
    /// Both in one.
    Fused,
}

impl KvRole {
    /// The role with that byte on the wire.
    ///
    /// # Errors
    ///
    /// `layout.block-paged.kv-role`.
    pub const fn from_tag(tag: u8) -> Result<Self, Rule> {
        Ok(match tag {
            0 => Self::Key,
            1 => Self::Value,
            2 => Self::Fused,
            _ => return Err(Rule::LayoutBlockPagedKvRole),
        })
    }

    /// Its byte on the wire.
    pub const fn tag(self) -> u8 {
        match self {
            Self::Key => 0,
            Self::Value => 1,
            Self::Fused => 2,
        }
    }
}

/// Pages of tokens, found through a block table. The shape is (tokens, heads, head_dim).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockPaged {
    /// Tokens per page, at least 1.
    pub page_size: u32,
    /// Pages in the pool.
    pub num_pages: u64,
    /// Sequences in the block table.
    pub num_seqs: u32,
    /// What the pages hold.
    pub kv_role: KvRole,
    /// The model's layer, where it is said.
    pub layer_index: Option<u32>,
    /// Whether the block table and the sequence pointers are u64 (or else u32).
    pub wide_indices: bool,
}

impl BlockPaged {
    pub(crate) fn load<T: Trace>(r: &mut Reader<'_, '_, T>, rank: usize) -> Result<Self> {
        if rank != 3 {
            let found = Value::Unsigned(as_offset(rank));
            let rule = Rule::LayoutBlockPagedRank;
            return Err(Error::new(rule, "rank", 16, found, Expected::Exactly(3)));
        }
        let block = r.block::<32>("layout fields")?;
        let page_size = r.u32(&block, 0, "page_size");
        let num_pages = r.u64(&block, 4, "num_pages");
        let paged_axis = r.u32(&block, 12, "paged_axis");
        let num_seqs = r.u32(&block, 16, "num_seqs");
        let kv_role = r.u8(&block, 20, "kv_role");
        let layer_index = r.u32(&block, 21, "layer_index");
        let index_type = r.u8(&block, 25, "block_table_index_type");
        r.zeros::<32, 6>(&block, 26, "reserved", Rule::LayoutBlockPagedReserved)?;

        let refuse = |rule, at, name, found: u64, expected| {
            Err(block.refuse(rule, at, name, Value::Unsigned(found), expected))
        };
        if page_size == 0 {
            let rule = Rule::LayoutBlockPagedPageSize;
            return refuse(rule, 0, "page_size", 0, Expected::AtLeast(1));
        }
        if paged_axis != 0 {
            let rule = Rule::LayoutBlockPagedPagedAxis;
            return refuse(rule, 12, "paged_axis", u64::from(paged_axis), Expected::Exactly(0));
        }
        let kv_role = match KvRole::from_tag(kv_role) {
            Ok(role) => role,
            Err(rule) => {
                let expected = Expected::OneOf("0 (key), 1 (value) or 2 (fused)");
                return refuse(rule, 20, "kv_role", u64::from(kv_role), expected);
            }
        };
        if index_type > 1 {
            let expected = Expected::OneOf("0 (u32) or 1 (u64)");
            let rule = Rule::LayoutBlockPagedIndexType;
            return refuse(rule, 25, "block_table_index_type", u64::from(index_type), expected);
        }
        if index_type == 0 && num_pages > u64::from(u32::MAX) {
            let expected = Expected::AtMost(u64::from(u32::MAX));
            return refuse(Rule::LayoutBlockPagedIndexWidth, 4, "num_pages", num_pages, expected);
        }
        Ok(Self {
            page_size,
            num_pages,
            num_seqs,
            kv_role,
            layer_index: (layer_index != u32::MAX).then_some(layer_index),
            wide_indices: index_type == 1,
        })
    }

    /// The 32 bytes.
    pub(crate) fn store(&self, w: &mut crate::wire::Writer<'_>) {
        w.u32(self.page_size);
        w.u64(self.num_pages);
        w.u32(0);
        w.u32(self.num_seqs);
        w.u8(self.kv_role.tag());
        w.u32(self.layer_index.unwrap_or(u32::MAX));
        w.u8(u8::from(self.wide_indices));
        w.zeros::<6>();
    }

    /// Slots of the pool: pages times tokens a page.
    pub(crate) fn slots(&self) -> u128 {
        u128::from(self.num_pages).saturating_mul(u128::from(self.page_size))
    }

    /// The same, as the number of blocks a scheme has.
    pub(crate) fn slot_count(&self) -> Count {
        u64::try_from(self.slots()).map_or(Count::Beyond, Count::Elements)
    }

    /// The width of the numbers in block_table and seq_ptr, in bytes.
    pub(crate) fn index_width(&self) -> u128 {
        if self.wide_indices { 8 } else { 4 }
    }

    /// The pool slot of token `token` of sequence `sequence`.
    pub(crate) fn slot(&self, sequence: u32, token: u64, buffers: &[Contents<'_>]) -> Result<i128> {
        if sequence >= self.num_seqs {
            return Err(self.no_sequence(sequence));
        }
        let (table, pointers) = self.arrays(buffers)?;
        let start = pointers.need(u64::from(sequence))?;
        let end = pointers.need(u64::from(sequence).saturating_add(1))?;
        let page_size = u64::from(self.page_size.max(1));
        let (nth, slot) = (token.div_euclid(page_size), token.rem_euclid(page_size));
        let entry = start.saturating_add(nth);
        if entry >= end {
            let pages = end.saturating_sub(start);
            let expected = Expected::AtMost(pages.saturating_mul(page_size).saturating_sub(1));
            let found = Value::Unsigned(token);
            return Err(Error::new(Rule::IndexOutOfBounds, "token", 0, found, expected));
        }
        let page = page(&table, entry, self.num_pages)?;
        // 96 bits at most.
        let first = i128::from(page).saturating_mul(i128::from(page_size));
        Ok(first.saturating_add(i128::from(slot)))
    }

    /// The ids of the pages of `sequence`, in the order of its tokens.
    pub(crate) fn pages_of<'b>(
        &self,
        sequence: u32,
        buffers: &[Contents<'b>],
    ) -> Result<impl Iterator<Item = Result<u64>> + use<'b>> {
        if sequence >= self.num_seqs {
            return Err(self.no_sequence(sequence));
        }
        let (table, pointers) = self.arrays(buffers)?;
        let start = pointers.need(u64::from(sequence))?;
        let end = pointers.need(u64::from(sequence).saturating_add(1))?;
        let num_pages = self.num_pages;
        Ok((start..end).map(move |entry| page(&table, entry, num_pages)))
    }

    /// Pointers and page ids. The format has no sentinel for "no page".
    pub(crate) fn check(&self, buffers: &[Contents<'_>]) -> Result<()> {
        const RULES: PointerRules = PointerRules {
            start: Rule::SparseBlockPagedPointerStart,
            decreases: Rule::SparseBlockPagedPointerDecreases,
            end: Rule::SparseBlockPagedPointerEnd,
        };
        let (table, pointers) = self.arrays(buffers)?;
        check_pointers(&pointers, &RULES, Expected::AtMost(as_offset(table.len())))?;
        let used = pointers.need(u64::from(self.num_seqs))?;
        for (at, page) in table.iter().take(crate::wire::as_index(used)).enumerate() {
            if page >= self.num_pages {
                let expected = Expected::AtMost(self.num_pages.saturating_sub(1));
                return Err(table.refuse(Rule::SparseBlockPagedPageId, at, page, expected));
            }
        }
        Ok(())
    }

    #[cold]
    fn no_sequence(&self, sequence: u32) -> Error {
        let found = Value::Unsigned(u64::from(sequence));
        let expected = Expected::AtMost(u64::from(self.num_seqs.saturating_sub(1)));
        Error::new(Rule::IndexOutOfBounds, "sequence", 0, found, expected)
    }

    /// Checks that there is one token count for each sequence, and that each fits the
    /// sequence's pages.
    pub(crate) fn check_token_counts(
        &self,
        counts: &[u64],
        buffers: &[Contents<'_>],
    ) -> Result<()> {
        let refuse = |at: usize, found, expected| {
            let rule = Rule::SparseBlockPagedTokenCounts;
            let at = as_offset(at.saturating_mul(8));
            Err(Error::new(rule, "token_counts", at, Value::Unsigned(found), expected))
        };
        let expected = u64::from(self.num_seqs);
        if as_offset(counts.len()) != expected {
            return refuse(0, as_offset(counts.len()), Expected::Exactly(expected));
        }
        let (_, pointers) = self.arrays(buffers)?;
        for (sequence, count) in counts.iter().enumerate() {
            let at = as_offset(sequence);
            let pages = pointers.need(at.saturating_add(1))?.saturating_sub(pointers.need(at)?);
            let room = pages.saturating_mul(u64::from(self.page_size));
            if *count > room {
                return refuse(sequence, *count, Expected::AtMost(room));
            }
        }
        Ok(())
    }

    fn arrays<'b>(&self, buffers: &[Contents<'b>]) -> Result<(Indices<'b>, Indices<'b>)> {
        let narrow = !self.wide_indices;
        let entries = buffers.get(1).map_or(0, |buffer| as_offset(buffer.bytes.len()));
        let entries = u128::from(entries).div_euclid(self.index_width());
        let table = Indices::of(buffers, 1, "block_table", entries, narrow)?;
        let count = u128::from(self.num_seqs).saturating_add(1);
        let pointers = Indices::of(buffers, 2, "seq_ptr", count, narrow)?;
        Ok((table, pointers))
    }
}

/// The id at `entry` of the block table, which has to be one.
fn page(table: &Indices<'_>, entry: u64, num_pages: u64) -> Result<u64> {
    let page = table.need(entry)?;
    if page < num_pages {
        return Ok(page);
    }
    let expected = Expected::AtMost(num_pages.saturating_sub(1));
    let at = crate::wire::as_index(entry);
    Err(table.refuse(Rule::SparseBlockPagedPageId, at, page, expected))
}

/// The elements of one page.
pub(crate) fn page_elements(paged: &BlockPaged, shape: &impl Array<u64>) -> u128 {
    u128::from(paged.page_size).saturating_mul(slot_elements(shape))
}

/// `shape` as (heads, head_dim): the elements of one slot.
pub(crate) fn slot_elements(shape: &impl Array<u64>) -> u128 {
    crate::shape::product_of(shape.iter().skip(1))
}
