//! What is where in a block-paged tensor: tokens by their sequence, and whole pages.

use core::ops::Range;

use super::Descriptor;
use super::locate::alone;
use crate::dtype::Location;
use crate::error::{Error, Expected, Result, Value};
use crate::layout::{BlockPaged, Layout};
use crate::rules::Rule;
use crate::shape::DYNAMIC;
use crate::wire::{Array, Storage};

impl<S: Storage> Descriptor<S> {
    /// Where element (`head`, `dim`) of token `token` of sequence `sequence` lies in the
    /// page pool of a block-paged tensor.
    ///
    /// The format does not say how many tokens a sequence has; a slot beyond them is
    /// undefined, and it is the caller who knows.
    ///
    /// # Errors
    ///
    /// `index.no-address` for other layouts, `index.out-of-bounds`,
    /// `descriptor.unresolved` where the size of a slot is not known, and the rules of
    /// `sparse.block-paged.*`.
    pub fn locate_token(
        &self,
        sequence: u32,
        token: u64,
        head: u64,
        dim: u64,
        buffers: &[&[u8]],
    ) -> Result<Location> {
        let paged = self.sized_pages()?;
        let heads = self.dimension(1, head, "head")?;
        let dims = self.dimension(2, dim, "dim")?;
        let slot = paged.slot(sequence, token, &alone(buffers))?;
        let element = slot
            .checked_mul(i128::from(heads))
            .and_then(|at| at.checked_add(i128::from(head)))
            .and_then(|at| at.checked_mul(i128::from(dims)))
            .and_then(|at| at.checked_add(i128::from(dim)));
        element.and_then(|element| self.dtype.place(0, element)).ok_or_else(|| {
            let found = u64::try_from(slot).map_or(Value::BeyondU64, Value::Unsigned);
            let rule = Rule::LayoutBlockPagedBufferTooSmall;
            Error::new(rule, "page_pool", 0, found, Expected::Unsaid)
        })
    }

    /// The ids of the pages of sequence `sequence`, in the order of its tokens. They are
    /// read as they stand and not trusted: one that is no page is refused.
    ///
    /// # Errors
    ///
    /// `index.no-address` for other layouts, `index.out-of-bounds`, and the rules of
    /// `sparse.*`.
    pub fn pages_of<'b>(
        &self,
        sequence: u32,
        buffers: &[&'b [u8]],
    ) -> Result<impl Iterator<Item = Result<u64>> + use<'b, S>> {
        self.paged()?.pages_of(sequence, &alone(buffers))
    }

    /// Where all of page `page` lies in the page pool of a block-paged tensor.
    ///
    /// # Errors
    ///
    /// `index.no-address` for other layouts, `index.out-of-bounds`, `descriptor.unresolved`
    /// where the size of a slot is not known, `view.sub-byte` for pages that do not start at
    /// a byte of their own.
    pub fn locate_page(&self, page: u64) -> Result<Range<u64>> {
        let paged = self.sized_pages()?;
        if page >= paged.num_pages {
            let expected = Expected::AtMost(paged.num_pages.saturating_sub(1));
            let found = Value::Unsigned(page);
            return Err(Error::new(Rule::IndexOutOfBounds, "page", 0, found, expected));
        }
        let elements = crate::layout::page_elements(paged, &self.shape);
        let border = |page: u64| {
            let element = u128::from(page).checked_mul(elements)?;
            self.dtype.place(0, i128::try_from(element).ok()?)
        };
        let (start, end) = (border(page), border(page.saturating_add(1)));
        let (Some(start), Some(end)) = (start, end) else {
            let (rule, found) = (Rule::LayoutBlockPagedBufferTooSmall, Value::Unsigned(page));
            return Err(Error::new(rule, "page_pool", 0, found, Expected::Unsaid));
        };
        if start.bit != 0 || end.bit != 0 {
            let found = Value::Unsigned(u64::from(start.bit.max(end.bit)));
            return Err(Error::new(Rule::ViewSubByte, "page", 0, found, Expected::Exactly(0)));
        }
        Ok(start.byte..end.byte)
    }

    /// Checks the token counts of a block-paged tensor, which the format leaves to its
    /// callers: one for each sequence, none beyond the sequence's pages.
    ///
    /// # Errors
    ///
    /// `sparse.block-paged.token-counts`, `index.no-address` for other layouts, and the
    /// rules of `sparse.*` where `buffers` are too small.
    pub fn check_token_counts(&self, counts: &[u64], buffers: &[&[u8]]) -> Result<()> {
        self.paged()?.check_token_counts(counts, &alone(buffers))
    }

    /// The layout, where the size of a slot is known. How many tokens there are in all does
    /// not matter.
    fn sized_pages(&self) -> Result<&BlockPaged> {
        let paged = self.paged()?;
        if self.shape.iter().skip(1).any(|size| size == DYNAMIC) {
            return Err(self.unresolved());
        }
        Ok(paged)
    }

    fn paged(&self) -> Result<&BlockPaged> {
        match &self.layout {
            Layout::BlockPaged(paged) => Ok(paged),
            other => {
                let found = Value::Tag(u64::from(other.tag()));
                let expected = Expected::OneOf("block-paged");
                Err(Error::new(Rule::IndexNoAddress, "layout_tag", 15, found, expected))
            }
        }
    }
}
