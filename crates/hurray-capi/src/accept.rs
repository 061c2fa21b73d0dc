//! What a reader was told to accept.

use hurray_tensor::format::{Accept, Expected, Limits, Rule, Value};

use crate::failure::{Result, refuse};
use crate::growing::{Growing, read_or_zeros, zeros};

/// What a reader accepts beyond the format's own tags, and its limits. Wherever one is asked for,
/// NULL stands for no private tag and the default limits.
///
/// Of each kind of private tag, bit n stands for the tag 0xF0 + n, with n from 0 to 14. A limit of
/// 0 is the default one.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HurrayAccept {
    /// `sizeof(struct HurrayAccept)`.
    pub struct_size: u32,
    /// The longest descriptor, in bytes.
    pub descriptor_bytes: u32,
    /// The longest key-value section of a file, in bytes.
    pub kv_bytes: u64,
    /// The longest index of a file, in bytes.
    pub index_bytes: u64,
    /// How many steps, for each member, may be taken to prove that a partition covers its head.
    pub composite_work: u64,
    /// The most members of one composite.
    pub composite_members: u32,
    /// Private element types.
    pub dtypes: u16,
    /// Private layouts.
    pub layouts: u16,
    /// Private quantization schemes.
    pub schemes: u16,
    /// Private devices, with their private memory classes.
    pub devices: u16,
    /// Private composition rules.
    pub compositions: u16,
    /// Zero.
    pub reserved: u16,
}

// SAFETY: as the trait asks; numbers are values whatever their bits.
unsafe impl Growing for HurrayAccept {
    const FIRST: usize = 48;
}

/// What a caller accepts.
///
/// # Safety
///
/// The pointer is null, or leads to a struct that lives and does not change while this runs.
pub(crate) unsafe fn accept_of(pointer: *const HurrayAccept) -> Result<Accept> {
    // SAFETY: passed on to the caller.
    let Some(theirs) = unsafe { read_or_zeros(pointer, "accept") }? else {
        return Ok(Accept::default());
    };
    zeros(&theirs.reserved.to_le_bytes())?;
    let mut limits = Limits::default();
    set(&mut limits.descriptor_bytes, theirs.descriptor_bytes);
    set(&mut limits.kv_bytes, theirs.kv_bytes);
    set(&mut limits.index_bytes, theirs.index_bytes);
    set(&mut limits.composite_members, theirs.composite_members);
    set(&mut limits.composite_work, theirs.composite_work);
    let mut accept = Accept::default().limits(limits);
    let kinds: [(&str, u16, With); 5] = [
        ("dtypes", theirs.dtypes, Accept::dtype),
        ("layouts", theirs.layouts, Accept::layout),
        ("schemes", theirs.schemes, Accept::scheme),
        ("devices", theirs.devices, Accept::device),
        ("compositions", theirs.compositions, Accept::composition_rule),
    ];
    for (name, bits, with) in kinds {
        if bits & 0x8000 != 0 {
            let found = Value::Tag(u64::from(bits));
            return Err(refuse(Rule::CapiReserved, name, found, Expected::AtMost(0x7FFF)));
        }
        for n in (0..15).filter(|n| bits & (1 << n) != 0) {
            accept = with(accept, 0xF0 | n);
        }
    }
    Ok(accept)
}

/// Accepts one more private tag of some kind.
type With = fn(Accept, u8) -> Accept;

/// A limit that the caller gives.
fn set<T: Default + PartialEq>(limit: &mut T, theirs: T) {
    if theirs != T::default() {
        *limit = theirs;
    }
}
