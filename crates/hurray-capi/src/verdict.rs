//! Verdicts: what is wrong with bytes, by the rule they break.

use std::ffi::{c_char, c_void};
use std::ptr;

use hurray_tensor::exchange::Status;
use hurray_tensor::format::{self, Accept, Descriptor, FileView, Silent};

use crate::accept::{HurrayAccept, accept_of};
use crate::failure::{Failure, Result, keep, last};
use crate::fence::fence;
use crate::growing::{Form, Growing};
use crate::pointer::items;
use crate::rules::words_of;

/// What a reader has to say about bytes, or what the last call that failed has to say.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HurrayVerdict {
    /// `sizeof(struct HurrayVerdict)`; set it before the call.
    pub struct_size: u32,
    /// HURRAY_OK, or why not.
    pub status: i32,
    /// Where the field starts, in bytes from the start of the input.
    pub offset: u64,
    /// The id of the broken rule, such as "descriptor.magic". NULL where no rule was broken: all is
    /// well, or the system said no. Good for ever.
    pub rule: *const c_char,
    /// Whose fault it is: "corrupt", "unsupported", "refused", "peer" or "misuse"; NULL where no rule
    /// was broken. Good for ever.
    pub fault: *const c_char,
    /// What a breach of the rule means, as half a sentence; NULL where none was broken. Good for
    /// ever.
    pub meaning: *const c_char,
    /// The field, as the specification calls it; NULL where no rule was broken. Good until the next
    /// call on this thread.
    pub field: *const c_char,
    /// All of it as a sentence, with what was found and what was expected; empty where all is
    /// well. Good until the next call on this thread.
    pub message: *const c_char,
}

// SAFETY: as the trait asks; numbers and pointers are values whatever their bits.
unsafe impl Growing for HurrayVerdict {
    const FIRST: usize = 56;
}

/// Judges a descriptor, which is all of `bytes`. The call succeeds whatever the verdict is.
/// `accept` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_descriptor_verdict(
    bytes: *const c_void,
    length: usize,
    accept: *const HurrayAccept,
    verdict: *mut HurrayVerdict,
) -> i32 {
    fence(|| {
        let judge = |bytes: &[u8], accept: &Accept| {
            Descriptor::decode_with(bytes, accept, &mut Silent).map(drop)
        };
        // SAFETY: the contract of the header.
        unsafe { judged(bytes, length, accept, verdict, judge) }
    })
}

/// Judges a file, which is all of `bytes`, down to its padding, its checksums and its index arrays.
/// The call succeeds whatever the verdict is. `accept` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_file_verdict(
    bytes: *const c_void,
    length: usize,
    accept: *const HurrayAccept,
    verdict: *mut HurrayVerdict,
) -> i32 {
    fence(|| {
        let judge = |bytes: &[u8], accept: &Accept| FileView::open_with(bytes, accept)?.verify();
        // SAFETY: the contract of the header.
        unsafe { judged(bytes, length, accept, verdict, judge) }
    })
}

/// # Safety
///
/// The contract of the header.
unsafe fn judged(
    bytes: *const c_void,
    length: usize,
    accept: *const HurrayAccept,
    verdict: *mut HurrayVerdict,
    judge: impl FnOnce(&[u8], &Accept) -> format::Result<()>,
) -> Result {
    // SAFETY: passed on to the caller.
    let mut form = unsafe { Form::new(verdict, "verdict") }?;
    // SAFETY: passed on to the caller.
    let bytes: &[u8] = unsafe { items(bytes.cast(), length, "bytes") }?;
    // SAFETY: passed on to the caller.
    let accept = unsafe { accept_of(accept) }?;
    tell(judge(bytes, &accept).map_err(Failure::from), &mut form);
    Ok(())
}

/// What the last call on this thread that failed has to say, part by part.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_last_verdict(verdict: *mut HurrayVerdict) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let mut form = unsafe { Form::new(verdict, "verdict") }?;
        form.fill(last_verdict());
        Ok(())
    })
}

/// Fills the form with a judgement, whose texts the thread keeps.
fn tell(judged: Result, form: &mut Form<HurrayVerdict>) {
    form.fill(match judged {
        Ok(()) => NOTHING,
        Err(failure) => {
            keep(&failure);
            last_verdict()
        }
    });
}

const NOTHING: HurrayVerdict = HurrayVerdict {
    struct_size: 0,
    status: Status::Ok.code(),
    offset: 0,
    rule: ptr::null(),
    fault: ptr::null(),
    meaning: ptr::null(),
    field: ptr::null(),
    message: c"".as_ptr(),
};

fn last_verdict() -> HurrayVerdict {
    let Some(told) = last() else {
        return NOTHING;
    };
    let said = HurrayVerdict { status: told.status, message: told.message.as_ptr(), ..NOTHING };
    let Some(rule) = told.rule.map(words_of) else {
        return said;
    };
    HurrayVerdict {
        offset: told.offset,
        rule: rule.id,
        fault: rule.fault,
        meaning: rule.meaning,
        field: told.field.as_ptr(),
        ..said
    }
}
