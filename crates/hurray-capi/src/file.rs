//! Files: opened, looked through, verified.

use std::ffi::{CString, c_char, c_void};
use std::path::Path;
use std::ptr;
use std::sync::Arc;

use hurray_tensor::format::Entry;
use hurray_tensor::{Access, File, OpenOptions};

use crate::accept::{HurrayAccept, accept_of};
use crate::failure::{Result, c_string};
use crate::fence::{fence, fence_or};
use crate::fields::past_the_last;
use crate::file_tensor::hurray_file_tensor;
use crate::pointer::{self, Place, at, free, give, text};

/// An open file. Any number of threads may use it at once. What was taken out of it stays good after
/// `hurray_file_free`.
#[allow(non_camel_case_types, reason = "an opaque type of C")]
#[derive(Debug)]
pub struct hurray_file {
    pub(crate) file: Arc<File>,
    /// Why the system would not map it.
    refusal: Option<CString>,
}

/// Is told how many bytes of a file are done, and of how many.
pub type HurrayProgress = Option<unsafe extern "C" fn(context: *mut c_void, done: u64, total: u64)>;

/// Opens a file by reading. Whatever happens to the file meanwhile, reading it gives bytes or an
/// error. `accept` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_file_open(
    path: *const c_char,
    accept: *const HurrayAccept,
    file: *mut *mut hurray_file,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        unsafe { open(path, accept, file, |path, options| File::open_with(path, options)) }
    })
}

/// Maps a file. Where the system refuses to map it, it is read instead, and `hurray_file_is_mapped`
/// says so. `accept` may be NULL.
///
/// By calling this you promise that the file does not change while it is open: that nobody writes
/// to it, nor cuts it short. Cutting a mapped file short ends the process with a signal where the
/// lost part is touched. A file that is replaced and never written over, as hurray_writer_finish
/// and most careful programs do it, is safe to map: the mapping keeps the file that was opened.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_file_map(
    path: *const c_char,
    accept: *const HurrayAccept,
    file: *mut *mut hurray_file,
) -> i32 {
    fence(|| {
        // SAFETY: the caller promises that the file does not change while it is open.
        let map = |path: &Path, options: &OpenOptions| unsafe { File::map_with(path, options) };
        // SAFETY: the contract of the header.
        unsafe { open(path, accept, file, map) }
    })
}

/// # Safety
///
/// The contract of the header.
unsafe fn open(
    path: *const c_char,
    accept: *const HurrayAccept,
    file: *mut *mut hurray_file,
    how: impl FnOnce(&Path, &OpenOptions) -> hurray_tensor::Result<File>,
) -> Result {
    // SAFETY: passed on to the caller.
    let path = unsafe { pointer::path_of(path, "path") }?;
    // SAFETY: passed on to the caller.
    let accept = unsafe { accept_of(accept) }?;
    // SAFETY: passed on to the caller.
    let mut out = unsafe { Place::new(file, "file") }?;
    let opened = how(path, &OpenOptions { accept })?;
    let refusal = match opened.access() {
        Access::Read { refused: Some(why) } => Some(c_string(why.clone())),
        Access::Read { refused: None } | Access::Mapped => None,
    };
    out.put(give(hurray_file { file: Arc::new(opened), refusal }));
    Ok(())
}

/// Closes a file; NULL is nothing. Tensors that were taken out of it stay good: the last of them
/// closes it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_file_free(file: *mut hurray_file) {
    fence_or((), || {
        // SAFETY: the contract of the header.
        unsafe { free(file) };
        Ok(())
    });
}

/// Whether the file is mapped, so that its tensors' bytes are reached without a copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_file_is_mapped(file: *const hurray_file) -> bool {
    fence_or(false, || {
        // SAFETY: the contract of the header.
        let file = unsafe { at(file, "file") }?;
        Ok(matches!(file.file.access(), Access::Mapped))
    })
}

/// Why the system would not map the file, where it was asked to; else NULL. Good until the file is
/// freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_file_map_refusal(file: *const hurray_file) -> *const c_char {
    fence_or(ptr::null(), || {
        // SAFETY: the contract of the header.
        let file = unsafe { at(file, "file") }?;
        Ok(file.refusal.as_ref().map_or(ptr::null(), |why| why.as_ptr()))
    })
}

/// The number of tensors, aliases not counted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_file_tensor_count(file: *const hurray_file) -> usize {
    fence_or(0, || {
        // SAFETY: the contract of the header.
        Ok(unsafe { at(file, "file") }?.file.len())
    })
}

/// The name of tensor `place`, from 0, in the order of the index: UTF-8 with no zero byte behind it,
/// and `length` bytes long. Good for as long as the file is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_file_name(
    file: *const hurray_file,
    place: usize,
    length: *mut usize,
) -> *const c_char {
    fence_or(ptr::null(), || {
        // SAFETY: the contract of the header.
        let file = unsafe { at(file, "file") }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(length, "length") }?;
        let name = entry(&file.file, place)?.name;
        out.put(name.len());
        Ok(name.as_ptr().cast())
    })
}

/// The tensor with that name, or that an alias of that name stands for. Its descriptor is read and
/// checked, and none of its bytes. End it with `hurray_file_tensor_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_file_find(
    file: *const hurray_file,
    name: *const c_char,
    tensor: *mut *mut hurray_file_tensor,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let file = unsafe { at(file, "file") }?;
        // SAFETY: the contract of the header.
        let name = unsafe { text(name, "name") }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(tensor, "tensor") }?;
        let found = hurray_file_tensor::of(&file.file, |file| Ok(file.get(name)?))?;
        out.put(give(found));
        Ok(())
    })
}

/// Tensor `place`, from 0, in the order of the index. As `hurray_file_find`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_file_at(
    file: *const hurray_file,
    place: usize,
    tensor: *mut *mut hurray_file_tensor,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let file = unsafe { at(file, "file") }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(tensor, "tensor") }?;
        let found =
            hurray_file_tensor::of(&file.file, |file| Ok(file.read(&entry(file, place)?)?))?;
        out.put(give(found));
        Ok(())
    })
}

/// Checks everything: each tensor, the contents of index and parameter buffers, checksums, padding,
/// composites. `progress`, which may be NULL, is told on the way how far it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_file_verify(
    file: *const hurray_file,
    progress: HurrayProgress,
    context: *mut c_void,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let file = unsafe { at(file, "file") }?;
        let total = file.file.container().sections().size();
        Ok(file.file.verify(&mut |done| {
            if let Some(tell) = progress {
                // SAFETY: a function of the caller's, called with its own context.
                unsafe { tell(context, done, total) };
            }
        })?)
    })
}

fn entry(file: &File, place: usize) -> Result<Entry<'_>> {
    let number = u32::try_from(place).ok();
    let entry = number.and_then(|number| file.container().index().entry(number));
    entry.ok_or_else(|| past_the_last("place", place))
}
