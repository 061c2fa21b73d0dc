//! Files on their way out.

use std::ffi::{c_char, c_void};
use std::io::{self, Write};

use ::hurray_tensor::format::{FileOptions, Rule};
use ::hurray_tensor::{AtomicFile, FileWriter, WriteOptions};

use crate::buffer::{HurrayBytes, buffers_of};
use crate::descriptor::{hurray_descriptor_ref, lent};
use crate::failure::{Result, refused};
use crate::fence::{fence, fence_or};
use crate::growing::{Growing, flag, read, read_or_zeros, zeros};
use crate::key_value::{HurrayKeyValue, key_value};
use crate::pointer::{Place, at, at_mut, free, give, path_of, text};
use crate::tensor::hurray_tensor;

/// How a file is written. Wherever one is asked for, NULL stands for a struct of zeros.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HurrayWriteOptions {
    /// sizeof(struct HurrayWriteOptions).
    pub struct_size: u32,
    /// Every buffer starts at a multiple of this: a power of two from 4096 to 2 MiB. 0 is 4096.
    pub alignment: u32,
    /// 1 to leave out the checksum of each buffer.
    pub no_checksums: u8,
    /// 1 for a file that will have no key-values: no checksums and no aliases either.
    pub no_key_values: u8,
    /// 1 to sort the index by the bytes of the names; else it is in the order of the file.
    pub sorted: u8,
    /// Zero.
    pub reserved: [u8; 5],
    /// How many tensors there will be; 0 where that is not known.
    pub tensor_count: u64,
}

// SAFETY: as the trait asks; numbers are values whatever their bits.
unsafe impl Growing for HurrayWriteOptions {
    const FIRST: usize = 24;
}

/// Takes the next bytes of a file. It answers 0, or anything else where it cannot take them, and the
/// call that wrote them fails.
pub type HurrayWrite =
    Option<unsafe extern "C" fn(context: *mut c_void, bytes: *const c_void, length: usize) -> i32>;

/// A file being written, used by one thread at a time. It holds the index and the key-values, and no
/// tensor.
#[allow(non_camel_case_types, reason = "an opaque type of C")]
#[derive(Debug)]
pub struct hurray_writer {
    /// None once it has finished.
    writer: Option<FileWriter<Output>>,
}

#[derive(Debug)]
enum Output {
    Path(AtomicFile),
    Function(Function),
}

/// A function of the caller's, which goes to whatever thread uses the writer.
#[derive(Debug)]
struct Function {
    write: unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> i32,
    context: *mut c_void,
}

/// Starts a file that will be at `path`. Until `hurray_writer_finish` nothing is there, or what was
/// there before. `options` may be NULL. End the writer with `hurray_writer_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_writer_create(
    path: *const c_char,
    options: *const HurrayWriteOptions,
    writer: *mut *mut hurray_writer,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let path = unsafe { path_of(path, "path") }?;
        // SAFETY: the contract of the header.
        let options = unsafe { write_options(options) }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(writer, "writer") }?;
        let output = Output::Path(AtomicFile::create(path)?);
        let writer = Some(FileWriter::new(output, options)?);
        out.put(give(hurray_writer { writer }));
        Ok(())
    })
}

/// Starts a file that goes to a function, in one pass from its first byte to its last: to a pipe, a
/// socket, memory. `options` may be NULL. End the writer with `hurray_writer_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_writer_to(
    write: HurrayWrite,
    context: *mut c_void,
    options: *const HurrayWriteOptions,
    writer: *mut *mut hurray_writer,
) -> i32 {
    fence(|| {
        let write = write.ok_or_else(|| refused(Rule::CapiNull, "write"))?;
        // SAFETY: the contract of the header.
        let options = unsafe { write_options(options) }?;
        // SAFETY: the contract of the header.
        let mut out = unsafe { Place::new(writer, "writer") }?;
        let output = Output::Function(Function { write, context });
        let writer = Some(FileWriter::new(output, options)?);
        out.put(give(hurray_writer { writer }));
        Ok(())
    })
}

/// Ends a writer; NULL is nothing. Where it has not finished, nothing is left of the file at a path.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_writer_free(writer: *mut hurray_writer) {
    fence_or((), || {
        // SAFETY: the contract of the header.
        unsafe { free(writer) };
        Ok(())
    });
}

/// Writes a tensor whose buffers are in memory, in table order and exactly as long as the descriptor
/// says. Members of a composite follow their head, which has no buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_writer_tensor(
    writer: *mut hurray_writer,
    name: *const c_char,
    descriptor: *const hurray_descriptor_ref,
    buffers: *const HurrayBytes,
    buffer_count: usize,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let writer = unsafe { at_mut(writer, "writer") }?;
        // SAFETY: the contract of the header.
        let name = unsafe { text(name, "name") }?;
        // SAFETY: the contract of the header.
        let descriptor = unsafe { lent(descriptor) }?;
        // SAFETY: the contract of the header.
        let buffers = unsafe { buffers_of(buffers, buffer_count) }?;
        Ok(writer.open()?.tensor(name, descriptor, &buffers)?)
    })
}

/// Writes a tensor that is in host memory, from where it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_writer_put(
    writer: *mut hurray_writer,
    name: *const c_char,
    tensor: *const hurray_tensor,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let writer = unsafe { at_mut(writer, "writer") }?;
        // SAFETY: the contract of the header.
        let name = unsafe { text(name, "name") }?;
        // SAFETY: the contract of the header.
        let tensor = unsafe { at(tensor, "tensor") }?;
        Ok(writer.open()?.write(name, &tensor.get()?.borrowed()?)?)
    })
}

/// Lets `name` stand for a tensor that was written already.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_writer_alias(
    writer: *mut hurray_writer,
    name: *const c_char,
    tensor: *const c_char,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let writer = unsafe { at_mut(writer, "writer") }?;
        // SAFETY: the contract of the header.
        let name = unsafe { text(name, "name") }?;
        // SAFETY: the contract of the header.
        let tensor = unsafe { text(tensor, "tensor") }?;
        Ok(writer.open()?.alias(name, tensor)?)
    })
}

/// Adds a key-value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_writer_key_value(
    writer: *mut hurray_writer,
    value: *const HurrayKeyValue,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let writer = unsafe { at_mut(writer, "writer") }?;
        // SAFETY: the contract of the header.
        let theirs = unsafe { read(value, "value") }?;
        // SAFETY: the contract of the header.
        let (key, value) = unsafe { key_value(&theirs) }?;
        Ok(writer.open()?.key_value(key, &value)?)
    })
}

/// Adds a key-value of two texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_writer_text(
    writer: *mut hurray_writer,
    key: *const c_char,
    value: *const c_char,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let writer = unsafe { at_mut(writer, "writer") }?;
        // SAFETY: the contract of the header.
        let key = unsafe { text(key, "key") }?;
        // SAFETY: the contract of the header.
        let value = unsafe { text(value, "value") }?;
        Ok(writer.open()?.key_value(key, &::hurray_tensor::format::KvValue::String(value))?)
    })
}

/// Writes what is left of the file. Where it goes to a path, it is synced and takes its name, over a
/// file that may be there. The writer is spent then, also on an error, and still to be freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_writer_finish(writer: *mut hurray_writer) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let writer = unsafe { at_mut(writer, "writer") }?;
        let writer = writer.writer.take().ok_or_else(finished)?;
        match writer.finish()? {
            Output::Path(file) => Ok(file.commit()?),
            Output::Function(_) => Ok(()),
        }
    })
}

impl hurray_writer {
    fn open(&mut self) -> Result<&mut FileWriter<Output>> {
        self.writer.as_mut().ok_or_else(finished)
    }
}

fn finished() -> crate::failure::Failure {
    refused(Rule::CapiFinished, "writer")
}

/// # Safety
///
/// The pointer is null, or leads to a struct that lives and does not change while this runs.
unsafe fn write_options(options: *const HurrayWriteOptions) -> Result<WriteOptions> {
    // SAFETY: passed on to the caller.
    let Some(theirs) = unsafe { read_or_zeros(options, "options") }? else {
        return Ok(WriteOptions::default());
    };
    zeros(&theirs.reserved)?;
    let usual = FileOptions::default();
    let no_key_values = flag(theirs.no_key_values, "no_key_values")?;
    let file = FileOptions {
        alignment: if theirs.alignment == 0 { usual.alignment } else { theirs.alignment },
        key_values: !no_key_values,
        sorted: flag(theirs.sorted, "sorted")?,
        tensor_count: Some(theirs.tensor_count).filter(|count| *count != 0),
    };
    let checksums = !no_key_values && !flag(theirs.no_checksums, "no_checksums")?;
    Ok(WriteOptions { file, checksums })
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Path(file) => file.write(bytes),
            Self::Function(function) => function.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Path(file) => file.flush(),
            Self::Function(_) => Ok(()),
        }
    }
}

impl Function {
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: a function of the caller's, called with its own context and bytes that are
        // there.
        match unsafe { (self.write)(self.context, bytes.as_ptr().cast(), bytes.len()) } {
            0 => Ok(bytes.len()),
            status => Err(io::Error::other(format!("the function answered {status}"))),
        }
    }
}
