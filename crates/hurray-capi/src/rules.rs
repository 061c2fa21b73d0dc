//! The rules, by their ids.

use std::ffi::c_char;

use hurray_tensor::format::{Expected, Rule, Value};

use crate::failure::{Result, refuse};
use crate::fence::{fence, fence_or};
use crate::growing::{Form, Growing};
use crate::pointer::text;
use crate::words::{Words, words};

/// A rule: what a reader checks, under an id that is never renamed nor used again. All of its
/// texts are good for ever.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HurrayRule {
    /// `sizeof(struct HurrayRule)`; set it before the call.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Its id, such as "descriptor.magic".
    pub id: *const c_char,
    /// The page of the specification that it is from, such as "02".
    pub page: *const c_char,
    /// Whose fault a breach is: "corrupt", "unsupported", "refused", "peer" or "misuse".
    pub fault: *const c_char,
    /// What a breach means, as half a sentence.
    pub meaning: *const c_char,
}

// SAFETY: as the trait asks; numbers and pointers are values whatever their bits.
unsafe impl Growing for HurrayRule {
    const FIRST: usize = 40;
}

static IDS: Words = words!(Rule::ALL, rule => rule.id());
static PAGES: Words = words!(Rule::ALL, rule => rule.page());
static FAULTS: Words = words!(Rule::ALL, rule => rule.fault().name());
static MEANINGS: Words = words!(Rule::ALL, rule => rule.meaning());

/// How many rules there are.
#[unsafe(no_mangle)]
pub extern "C" fn hurray_rule_count() -> usize {
    fence_or(0, || Ok(Rule::ALL.len()))
}

/// The rule at `place`, from 0; they are grouped by page.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_rule_at(place: usize, rule: *mut HurrayRule) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let mut form = unsafe { Form::new(rule, "rule") }?;
        let found = Rule::ALL.get(place).ok_or_else(|| {
            let last = as_u64(Rule::ALL.len().saturating_sub(1));
            let found = Value::Unsigned(as_u64(place));
            refuse(Rule::CapiPlace, "place", found, Expected::AtMost(last))
        })?;
        form.fill(words_of(*found));
        Ok(())
    })
}

/// The rule with that id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_rule_find(id: *const c_char, rule: *mut HurrayRule) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let id = unsafe { text(id, "id") }?;
        // SAFETY: the contract of the header.
        let mut form = unsafe { Form::new(rule, "rule") }?;
        let found: Result<Rule> = Rule::from_id(id).ok_or_else(|| {
            let found = Value::first_of(id.as_bytes());
            refuse(Rule::CapiUnknownRule, "id", found, Expected::Unsaid)
        });
        form.fill(words_of(found?));
        Ok(())
    })
}

pub(crate) fn words_of(rule: Rule) -> HurrayRule {
    // The rules are numbered as they stand in the table.
    let place = usize::from(rule as u16);
    HurrayRule {
        struct_size: 0,
        reserved: 0,
        id: IDS.at(place),
        page: PAGES.at(place),
        fault: FAULTS.at(place),
        meaning: MEANINGS.at(place),
    }
}

fn as_u64(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
