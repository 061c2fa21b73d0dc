//! The composite member section: which part a tensor plays in an overlay.
//!
//! `member_role u8, reserved u8[15]`.

use crate::error::{Expected, Result, Value};
use crate::rules::Rule;
use crate::wire::{Reader, Trace};

/// The part a member of an overlay plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemberRole {
    /// Laid over what came before.
    Correction,
    /// Spans everything; the first member.
    Base,
}

impl MemberRole {
    pub(crate) const SIZE: usize = 16;

    pub(crate) fn load<T: Trace>(r: &mut Reader<'_, '_, T>) -> Result<Self> {
        let block = r.block::<16>("composite member")?;
        let role = r.u8(&block, 0, "member_role");
        r.zeros::<16, 15>(&block, 1, "reserved", Rule::CompositeMemberReserved)?;
        Self::from_tag(role).map_err(|rule| {
            let found = Value::Unsigned(u64::from(role));
            let expected = Expected::OneOf("0 (correction) or 1 (base)");
            block.refuse(rule, 0, "member_role", found, expected)
        })
    }

    /// The role with that byte on the wire.
    ///
    /// # Errors
    ///
    /// `composite-member.role`.
    pub const fn from_tag(tag: u8) -> Result<Self, Rule> {
        match tag {
            0 => Ok(Self::Correction),
            1 => Ok(Self::Base),
            _ => Err(Rule::CompositeMemberRole),
        }
    }

    /// Its byte on the wire.
    pub const fn tag(self) -> u8 {
        match self {
            Self::Correction => 0,
            Self::Base => 1,
        }
    }
}
