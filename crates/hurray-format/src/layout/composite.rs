//! The composite head: a tensor made of the tensors that follow it (specification
//! page 04). It owns no buffers. What its members must be is judged when it is bound
//! ([`composite`](crate::composite)).
//!
//! `rule u8, combine u8, reserved u8[2], member_count u32`.

use crate::accept::Accept;
use crate::error::{Expected, Result, Value};
use crate::rules::Rule;
use crate::wire::{Reader, Trace};

/// How the members make the tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Composition {
    /// Boxes that cover the index space exactly, without overlap.
    Partition,
    /// A base and corrections; later ones win.
    OverlayReplace,
    /// A base and corrections that are added.
    OverlayAdd,
    /// Independent tensors.
    Group,
    /// A rule of the private range, with its combine byte.
    Private(u8, u8),
}

impl Composition {
    /// The composition with these two bytes on the wire: its rule and its combine byte.
    /// What the format does not name is a private one, whose tag is judged where it is used.
    pub const fn from_tags(rule: u8, combine: u8) -> Self {
        match (rule, combine) {
            (1, 0) => Self::Partition,
            (2, 1) => Self::OverlayReplace,
            (2, 2) => Self::OverlayAdd,
            (3, 0) => Self::Group,
            _ => Self::Private(rule, combine),
        }
    }

    /// Its rule and its combine byte on the wire.
    pub const fn tags(self) -> (u8, u8) {
        match self {
            Self::Partition => (1, 0),
            Self::OverlayReplace => (2, 1),
            Self::OverlayAdd => (2, 2),
            Self::Group => (3, 0),
            Self::Private(rule, combine) => (rule, combine),
        }
    }
}

/// The fields of a composite head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompositeHead {
    /// How the members make the tensor.
    pub composition: Composition,
    /// How many tensors that follow are its members.
    pub member_count: u32,
}

impl CompositeHead {
    pub(crate) fn load<T: Trace>(r: &mut Reader<'_, '_, T>, accept: &Accept) -> Result<Self> {
        let block = r.block::<8>("layout fields")?;
        let rule = r.tag(&block, 0, "composition_rule");
        let combine = r.tag(&block, 1, "combine_op");
        r.zeros::<8, 2>(&block, 2, "reserved", Rule::LayoutCompositeReserved)?;
        let member_count = r.u32(&block, 4, "member_count");

        let refuse = |rule, at, name, found: u8, expected| {
            Err(block.refuse(rule, at, name, Value::Tag(u64::from(found)), expected))
        };
        let rules = Expected::OneOf("0x01 (partition), 0x02 (overlay) or 0x03 (group)");
        let composition = match (rule, combine) {
            (1, 0) => Composition::Partition,
            (2, 1) => Composition::OverlayReplace,
            (2, 2) => Composition::OverlayAdd,
            (3, 0) => Composition::Group,
            (0xF0..=0xFE, _) if accept.composition_rules.has(rule) => {
                Composition::Private(rule, combine)
            }
            (1 | 3, _) => {
                let broken = Rule::LayoutCompositeCombineOpNotZero;
                return refuse(broken, 1, "combine_op", combine, Expected::Exactly(0));
            }
            (2, _) => {
                let expected = Expected::OneOf("0x01 (replace) or 0x02 (add)");
                return refuse(Rule::LayoutCompositeCombineOp, 1, "combine_op", combine, expected);
            }
            (0xF0..=0xFE, _) => {
                let broken = Rule::LayoutCompositeRulePrivate;
                return refuse(broken, 0, "composition_rule", rule, Expected::Unsaid);
            }
            (0xFF, _) => {
                return refuse(
                    Rule::LayoutCompositeRuleInvalid,
                    0,
                    "composition_rule",
                    rule,
                    rules,
                );
            }
            _ => {
                let broken = Rule::LayoutCompositeRuleReserved;
                return refuse(broken, 0, "composition_rule", rule, rules);
            }
        };
        let count = |rule, expected| {
            let found = Value::Unsigned(u64::from(member_count));
            Err(block.refuse(rule, 4, "member_count", found, expected))
        };
        if member_count == u32::MAX {
            return count(Rule::LayoutCompositeOpen, Expected::AtMost(u64::from(u32::MAX - 1)));
        }
        let overlay = matches!(rule, 2);
        if overlay && member_count == 0 {
            return count(Rule::LayoutCompositeOverlayEmpty, Expected::AtLeast(1));
        }
        Ok(Self { composition, member_count })
    }

    pub(crate) fn store(&self, w: &mut crate::wire::Writer<'_>) {
        let (rule, combine) = self.composition.tags();
        w.block(&[rule, combine, 0, 0]);
        w.u32(self.member_count);
    }
}
