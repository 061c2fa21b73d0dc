//! One row for each layout: its name, what it is about, its buffers and the rules that
//! every layout has.

use super::{LayoutKind, tag};
use crate::accept::Accept;
use crate::error::Result;
use crate::rules::Rule;

/// The rules that every layout has under its own name.
pub(crate) struct SharedRules {
    pub(crate) buffer_count: Rule,
    pub(crate) too_small: Rule,
    /// Broken by a byte_offset other than 0, where the layout has none.
    pub(crate) byte_offset: Option<Rule>,
}

/// A row of the table of layouts.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) kind: LayoutKind,
    /// How many buffers the layout itself has, where that does not depend on its fields.
    pub(super) buffers: Option<u32>,
    pub(super) rules: SharedRules,
}

const fn dense(name: &'static str) -> Row {
    let rules = SharedRules {
        buffer_count: Rule::LayoutDenseBufferCount,
        too_small: Rule::LayoutBufferTooSmall,
        byte_offset: None,
    };
    Row { name, kind: LayoutKind::Dense, buffers: Some(1), rules }
}

const fn other(
    name: &'static str,
    kind: LayoutKind,
    buffers: Option<u32>,
    buffer_count: Rule,
    too_small: Rule,
    byte_offset: Rule,
) -> Row {
    let byte_offset = Some(byte_offset);
    Row { name, kind, buffers, rules: SharedRules { buffer_count, too_small, byte_offset } }
}

pub(super) const ROW_MAJOR: Row = dense("row-major");
pub(super) const COLUMN_MAJOR: Row = dense("column-major");
pub(super) const STRIDED: Row = dense("strided");
pub(super) const TILED: Row = dense("tiled");
pub(super) const MORTON: Row = dense("morton");
pub(super) const COO: Row = other(
    "coo",
    LayoutKind::Sparse,
    Some(2),
    Rule::LayoutCooBufferCount,
    Rule::LayoutCooBufferTooSmall,
    Rule::LayoutCooByteOffset,
);
pub(super) const CSR: Row = other(
    "csr",
    LayoutKind::Sparse,
    Some(3),
    Rule::LayoutCsrBufferCount,
    Rule::LayoutCsrBufferTooSmall,
    Rule::LayoutCsrByteOffset,
);
pub(super) const CSC: Row = other(
    "csc",
    LayoutKind::Sparse,
    Some(3),
    Rule::LayoutCscBufferCount,
    Rule::LayoutCscBufferTooSmall,
    Rule::LayoutCscByteOffset,
);
pub(super) const CSF: Row = other(
    "csf",
    LayoutKind::Sparse,
    None,
    Rule::LayoutCsfBufferCount,
    Rule::LayoutCsfBufferTooSmall,
    Rule::LayoutCsfByteOffset,
);
pub(super) const BLOCK_PAGED: Row = other(
    "block-paged",
    LayoutKind::Indirect,
    Some(3),
    Rule::LayoutBlockPagedBufferCount,
    Rule::LayoutBlockPagedBufferTooSmall,
    Rule::LayoutBlockPagedByteOffset,
);
pub(super) const COMPOSITE: Row = other(
    "composite",
    LayoutKind::Virtual,
    Some(0),
    Rule::LayoutCompositeBufferCount,
    Rule::LayoutBufferTooSmall,
    Rule::LayoutCompositeByteOffset,
);
pub(super) const HILBERT: Row = dense("hilbert");
pub(super) const PRIVATE: Row =
    Row { kind: LayoutKind::Private, buffers: None, ..dense("private") };

/// The name of a layout tag, or the rule that the tag breaks.
pub(crate) const fn tag_name(found: u8) -> Result<&'static str, Rule> {
    Ok(match found {
        tag::ROW_MAJOR => ROW_MAJOR.name,
        tag::COLUMN_MAJOR => COLUMN_MAJOR.name,
        tag::STRIDED => STRIDED.name,
        tag::TILED => TILED.name,
        tag::MORTON => MORTON.name,
        tag::COO => COO.name,
        tag::CSR => CSR.name,
        tag::CSC => CSC.name,
        tag::CSF => CSF.name,
        tag::BLOCK_PAGED => BLOCK_PAGED.name,
        tag::COMPOSITE => COMPOSITE.name,
        tag::HILBERT => HILBERT.name,
        0xF0..=0xFE => PRIVATE.name,
        0x00 | 0xFF => return Err(Rule::LayoutInvalidTag),
        0x80..=0xEF => return Err(Rule::LayoutReservedTag),
        _ => return Err(Rule::LayoutUnknownTag),
    })
}

/// The rule that a layout tag breaks, unless it is named or was agreed.
#[inline]
pub(crate) fn tag_fault(tag: u8, accept: &Accept) -> Option<Rule> {
    match tag_name(tag) {
        Ok(_) if tag < 0xF0 || accept.layouts.has(tag) => None,
        Ok(_) => Some(Rule::LayoutPrivateTag),
        Err(rule) => Some(rule),
    }
}
