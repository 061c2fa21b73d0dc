//! Composites, bound: a head with the tensors that follow it (specification page 04).
//!
//! A head announces how many tensors make it. Binding takes them from whatever comes
//! next (a file in the order of its descriptors, a stream), checks each against the head,
//! and that they make a whole.

mod cover;

use alloc::vec::Vec;

use crate::descriptor::{Descriptor, MemberRole};
use crate::dtype::{Dtype, Kind};
use crate::error::{Error, Expected, Result, Value};
use crate::layout::{CompositeHead, Composition, Layout};
use crate::limits::Limits;
use crate::rules::Rule;
use crate::wire::Array;
use cover::Cover;

/// A tensor with the tensors that make it; a plain one has none. `T` is what the caller
/// knows it by: a name, a place, a descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Composite<T> {
    /// The tensor.
    pub item: T,
    /// Its members, in order.
    pub members: Vec<Composite<T>>,
}

/// Binds `head` with the tensors that `rest` gives next. `offset_of` says where an item
/// starts, for messages.
///
/// ```
/// use hurray_format::{CompositeHead, Composition, Descriptor, Dtype, Error, Layout, Limits};
/// use hurray_format::{Shard, bind};
///
/// let half = |row| {
///     Descriptor::builder(Dtype::Float32, &[1, 4]).shard(Shard::new(&[2, 4], &[row, 0])).build()
/// };
/// let head = CompositeHead { composition: Composition::Partition, member_count: 2 };
/// let head =
///     Descriptor::builder(Dtype::Float32, &[2, 4]).layout(Layout::Composite(head)).build()?;
///
/// let mut rest = [(half(0)?, "upper"), (half(1)?, "lower")].into_iter().map(Ok::<_, Error>);
/// let whole = bind(head, "whole", &mut rest, |_| 0, &Limits::default())?;
/// assert_eq!(whole.members[1].item, "lower");
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
///
/// The rules of `composite.*`, `composite-member.shard-missing`, and whatever `rest`
/// refuses. A `head` that is no composite head has no members.
pub fn bind<T, E: From<Error>>(
    head: Descriptor,
    item: T,
    rest: &mut impl Iterator<Item = Result<(Descriptor, T), E>>,
    offset_of: impl Fn(&T) -> u64,
    limits: &Limits,
) -> Result<Composite<T>, E> {
    bind_at(head, item, rest, &offset_of, limits, 1)
}

fn bind_at<T, E: From<Error>>(
    head: Descriptor,
    item: T,
    rest: &mut impl Iterator<Item = Result<(Descriptor, T), E>>,
    offset_of: &impl Fn(&T) -> u64,
    limits: &Limits,
    depth: usize,
) -> Result<Composite<T>, E> {
    let Layout::Composite(composite) = *head.layout() else {
        return Ok(Composite { item, members: Vec::new() });
    };
    let refuse = |rule, name, found, expected| {
        E::from(Error::new(rule, name, offset_of(&item), Value::Unsigned(found), expected))
    };
    if depth > Limits::COMPOSITE_DEPTH {
        let most = crate::wire::as_offset(Limits::COMPOSITE_DEPTH);
        let found = crate::wire::as_offset(depth);
        return Err(refuse(Rule::CompositeTooDeep, "depth", found, Expected::AtMost(most)));
    }
    let count = composite.member_count;
    if count > limits.composite_members {
        let expected = Expected::AtMost(u64::from(limits.composite_members));
        let rule = Rule::CompositeTooManyMembers;
        return Err(refuse(rule, "member_count", u64::from(count), expected));
    }
    let mut cover = Cover::new(head.shape());
    let mut members = Vec::new();
    for number in 0..count {
        let Some(member) = rest.next() else {
            let expected = Expected::Exactly(u64::from(count));
            let rule = Rule::CompositeTorn;
            return Err(refuse(rule, "member_count", u64::from(number), expected));
        };
        let (descriptor, item) = member?;
        let at = offset_of(&item);
        check_member(&head, &composite, &descriptor, number == 0, at)?;
        if composite.composition == Composition::Partition
            && let Some(shard) = descriptor.shard()
        {
            cover.add(shard.offset(), descriptor.shape(), at);
        }
        let next = depth.saturating_add(1);
        members.push(bind_at(descriptor, item, rest, offset_of, limits, next)?);
    }
    if composite.composition == Composition::Partition {
        cover.check(offset_of(&item), limits.composite_work)?;
    }
    Ok(Composite { item, members })
}

/// One member against its head.
fn check_member(
    head: &Descriptor,
    composite: &CompositeHead,
    member: &Descriptor,
    first: bool,
    at: u64,
) -> Result<()> {
    let refuse = |rule, name, found, expected| Err(Error::new(rule, name, at, found, expected));
    let overlay = match composite.composition {
        Composition::Partition | Composition::Group => {
            if member.member_role().is_some() {
                let rule = Rule::CompositeUnexpectedMemberSection;
                return refuse(rule, "composite member", Value::None, Expected::Unsaid);
            }
            false
        }
        Composition::OverlayReplace | Composition::OverlayAdd => true,
        // What a private rule asks of its members is not known.
        Composition::Private(..) => return Ok(()),
    };
    if composite.composition == Composition::Group {
        return Ok(());
    }
    let Some(shard) = member.shard() else {
        let rule = Rule::CompositeMemberShardMissing;
        return refuse(rule, "shard", Value::None, Expected::Unsaid);
    };
    if !shard.parent_shape().iter().eq(head.shape().iter().copied()) {
        let rule = Rule::CompositeParentShapeMismatch;
        return refuse(rule, "parent_shape", Value::None, Expected::OneOf("the head's shape"));
    }
    if !decodes_to(member, head.dtype()) {
        let found = Value::Tag(u64::from(member.dtype().tag()));
        let expected = Expected::Exactly(u64::from(head.dtype().tag()));
        return refuse(Rule::CompositeMemberTypeMismatch, "type_tag", found, expected);
    }
    let role = match (overlay, member.member_role()) {
        (false, _) => return Ok(()),
        (true, None) => {
            let rule = Rule::CompositeMemberSectionMissing;
            return refuse(rule, "composite member", Value::None, Expected::Unsaid);
        }
        (true, Some(role)) => role,
    };
    let found = Value::Unsigned(u64::from(role.tag()));
    match (first, role) {
        (true, MemberRole::Correction) => {
            let rule = Rule::CompositeFirstMemberNotBase;
            refuse(rule, "member_role", found, Expected::Exactly(1))
        }
        (false, MemberRole::Base) => {
            refuse(Rule::CompositeSecondBase, "member_role", found, Expected::Exactly(0))
        }
        _ => Ok(()),
    }
}

/// Whether the member's values are of that type. A quantized member dequantizes to any of
/// the four plain floats.
fn decodes_to(member: &Descriptor, dtype: Dtype) -> bool {
    if member.quantization().is_none() {
        return member.dtype() == dtype;
    }
    let plain = [Dtype::Float16, Dtype::BFloat16, Dtype::Float32, Dtype::Float64];
    dtype.kind() == Kind::Float && plain.contains(&dtype)
}
