//! Block-paged tensors: whole pages, and tokens where it is known how many there are.

use std::fmt;
use std::iter::FusedIterator;

use hurray_format::{Descriptor, Error as FormatError, Expected, Layout, Rule, Value};

use super::Tensor;
use super::bits::read;
use super::elements::number_width;
use super::typed::need_type;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::memory::as_u64;

impl Tensor {
    /// The pages of a block-paged tensor, whose block table is checked first.
    ///
    /// The format does not say how many tokens a sequence has. Without that only whole pages
    /// can be had; [`with_lengths`](Pages::with_lengths) says it.
    ///
    /// # Errors
    ///
    /// `index.no-address` for other layouts, `descriptor.unresolved`; the rules of
    /// `sparse.block-paged.*` and of `quant.*` values; `memory.not-host`, `memory.may-change`.
    pub fn pages(&self) -> Result<Pages<'_>> {
        let descriptor = self.descriptor();
        let Layout::BlockPaged(_) = descriptor.layout() else {
            let found = Value::Tag(u64::from(descriptor.layout().tag()));
            let (rule, expected) = (Rule::IndexNoAddress, Expected::OneOf("block-paged"));
            return Err(FormatError::new(rule, "layout_tag", 15, found, expected).into());
        };
        let buffers = self.host_slices()?;
        descriptor.check_contents(&buffers)?;
        let at = |place: usize| buffers.get(place).copied().unwrap_or_default();
        Ok(Pages { descriptor, buffers: [at(0), at(1), at(2)] })
    }
}

/// The pages of a block-paged tensor: see [`Tensor::pages`].
#[derive(Clone, Debug)]
pub struct Pages<'t> {
    descriptor: &'t Descriptor,
    /// The pool, the block table, and where each sequence starts in it.
    buffers: [&'t [u8]; 3],
}

impl<'t> Pages<'t> {
    /// The ids of the pages of a sequence, in the order of its tokens.
    ///
    /// # Errors
    ///
    /// `index.out-of-bounds`.
    pub fn of(&self, sequence: u32) -> Result<Vec<u64>> {
        let ids = self.descriptor.pages_of(sequence, &self.buffers)?;
        Ok(ids.collect::<Result<_, FormatError>>()?)
    }

    /// The bytes of a page, where they are: its tokens in order, each with its heads.
    ///
    /// # Errors
    ///
    /// `index.out-of-bounds`; `view.sub-byte` for pages that do not start at a byte of their
    /// own.
    pub fn page(&self, id: u64) -> Result<&'t [u8]> {
        let range = self.descriptor.locate_page(id)?;
        let [pool, ..] = self.buffers;
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        pool.get(place(range.start)..place(range.end)).ok_or_else(|| beyond(id))
    }

    /// The same, where it is known how many tokens each sequence has. Of a tensor of a file,
    /// [`sequence_lengths`](crate::FileTensor::sequence_lengths) says it.
    ///
    /// # Errors
    ///
    /// `sparse.block-paged.token-counts` where there is not one length for each sequence, or
    /// one is beyond the sequence's pages.
    pub fn with_lengths(self, lengths: &[u64]) -> Result<Tokens<'t>> {
        self.descriptor.check_token_counts(lengths, &self.buffers)?;
        Ok(Tokens { pages: self, lengths: lengths.into() })
    }
}

/// The tokens of a block-paged tensor: see [`Pages::with_lengths`].
#[derive(Clone, Debug)]
pub struct Tokens<'t> {
    pages: Pages<'t>,
    lengths: Box<[u64]>,
}

impl<'t> Tokens<'t> {
    /// How many tokens each sequence has.
    pub fn lengths(&self) -> &[u64] {
        &self.lengths
    }

    /// The bits of an element of a token, as [`Tensor::bits`] gives them.
    ///
    /// # Errors
    ///
    /// `index.out-of-bounds`, `view.element-width`.
    pub fn bits(&self, sequence: u32, token: u64, head: u64, dim: u64) -> Result<u128> {
        let width = number_width(self.pages.descriptor.dtype())?;
        let bit = self.bit(sequence, token, head, dim)?;
        read(self.pool(), bit, width).ok_or_else(|| beyond(token))
    }

    /// The element of a token.
    ///
    /// # Errors
    ///
    /// `view.type`; as [`bits`](Self::bits).
    pub fn element<T: Element>(&self, sequence: u32, token: u64, head: u64, dim: u64) -> Result<T> {
        need_type::<T>(self.pages.descriptor)?;
        Ok(T::of_bits(self.bits(sequence, token, head, dim)?))
    }

    /// The bits of all elements: sequence by sequence, token by token, head by head.
    ///
    /// # Errors
    ///
    /// `view.too-many`, `view.element-width`.
    pub fn iter_bits(&self) -> Result<TokenBits<'_>> {
        let descriptor = self.pages.descriptor;
        let width = number_width(descriptor.dtype())?;
        let size = |k: usize| descriptor.shape().get(k).copied().unwrap_or(0);
        let per_token = size(1).checked_mul(size(2));
        let tokens = self.lengths.iter().try_fold(0_u64, |sum, n| sum.checked_add(*n));
        let left = per_token.and_then(|per_token| tokens?.checked_mul(per_token));
        let (Some(per_token), Some(left)) = (per_token, left) else {
            let found = Value::BeyondU64;
            let rule = Rule::ViewTooMany;
            return Err(FormatError::new(rule, "lengths", 0, found, Expected::Unsaid).into());
        };
        Ok(TokenBits { tokens: self, width, per_token, left, sequence: 0, token: 0, at: 0, run: 0 })
    }

    fn bit(&self, sequence: u32, token: u64, head: u64, dim: u64) -> Result<i128> {
        let length = usize::try_from(sequence).ok().and_then(|at| self.lengths.get(at));
        let length = length.copied().unwrap_or(0);
        if token >= length {
            let sequences = as_u64(self.lengths.len());
            let (name, found, most) = match u64::from(sequence) < sequences {
                true => ("token", token, length),
                false => ("sequence", u64::from(sequence), sequences),
            };
            let expected = Expected::AtMost(most.saturating_sub(1));
            let (rule, found) = (Rule::IndexOutOfBounds, Value::Unsigned(found));
            return Err(FormatError::new(rule, name, 0, found, expected).into());
        }
        let buffers = &self.pages.buffers;
        let place = self.pages.descriptor.locate_token(sequence, token, head, dim, buffers)?;
        Ok(i128::from(place.byte).saturating_mul(8).saturating_add(i128::from(place.bit)))
    }

    fn pool(&self) -> &'t [u8] {
        let [pool, ..] = self.pages.buffers;
        pool
    }
}

/// The bits of all tokens: see [`Tokens::iter_bits`].
#[derive(Clone)]
pub struct TokenBits<'t> {
    tokens: &'t Tokens<'t>,
    width: u32,
    per_token: u64,
    left: u64,
    /// The next token.
    sequence: u32,
    token: u64,
    /// The next element of the present token, in bits, and how many it still has.
    at: i128,
    run: u64,
}

impl Iterator for TokenBits<'_> {
    type Item = u128;

    fn next(&mut self) -> Option<u128> {
        if self.left == 0 {
            return None;
        }
        if self.run == 0 {
            let lengths = &self.tokens.lengths;
            while lengths.get(usize::try_from(self.sequence).ok()?)? == &self.token {
                self.sequence = self.sequence.saturating_add(1);
                self.token = 0;
            }
            self.at = self.tokens.bit(self.sequence, self.token, 0, 0).ok()?;
            self.run = self.per_token;
            self.token = self.token.saturating_add(1);
        }
        let bits = read(self.tokens.pool(), self.at, self.width)?;
        self.at = self.at.saturating_add(i128::from(self.width));
        self.run = self.run.saturating_sub(1);
        self.left = self.left.saturating_sub(1);
        Some(bits)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.left);
        (left.unwrap_or(usize::MAX), left.ok())
    }
}

impl ExactSizeIterator for TokenBits<'_> {}
impl FusedIterator for TokenBits<'_> {}

impl fmt::Debug for TokenBits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenBits({} elements)", self.left)
    }
}

#[cold]
fn beyond(at: u64) -> Error {
    let (rule, found) = (Rule::LayoutBlockPagedBufferTooSmall, Value::Unsigned(at));
    FormatError::new(rule, "page_pool", 0, found, Expected::Unsaid).into()
}
