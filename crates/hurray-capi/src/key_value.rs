//! Key-values of files.

use std::ffi::{c_char, c_void};
use std::ptr;

use hurray_tensor::format::{Expected, Kv, KvArray, KvKind, KvValue, Rule, Value};

use crate::buffer::HurrayBytes;
use crate::failure::{Failure, Result, refuse, refused};
use crate::fence::{fence, fence_or};
use crate::file::hurray_file;
use crate::growing::{Form, Growing, flag, zeros};
use crate::pointer::{at, items, text};

/// A key with its value. Which fields hold the value is decided by its kind; the others are zero in
/// an answer, and not looked at in a question.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HurrayKeyValue {
    /// sizeof(struct HurrayKeyValue).
    pub struct_size: u32,
    /// HURRAY_KIND_*.
    pub kind: u8,
    /// An array: the kind of its items, any but HURRAY_KIND_ARRAY.
    pub element: u8,
    /// HURRAY_KIND_BOOL: 0 or 1.
    pub boolean: u8,
    /// Zero.
    pub reserved: u8,
    /// The key, in UTF-8; NULL in an item of an array.
    pub key: *const c_char,
    /// How many bytes the key has. There need be no zero byte behind it.
    pub key_length: usize,
    /// HURRAY_KIND_INT64.
    pub int64: i64,
    /// HURRAY_KIND_UINT64.
    pub uint64: u64,
    /// HURRAY_KIND_FLOAT64.
    pub float64: f64,
    /// HURRAY_KIND_STRING: the text, in UTF-8 with no zero byte behind it. HURRAY_KIND_BYTES: the
    /// bytes. HURRAY_KIND_ARRAY in a question: int64_t, uint64_t, double, uint8_t (0 or 1) or struct
    /// HurrayBytes, by the kind of the items; in an answer NULL: hurray_file_each_item gives them.
    pub data: *const c_void,
    /// A string or bytes: how many bytes. An array: how many items.
    pub length: usize,
}

// SAFETY: as the trait asks; numbers and pointers are values whatever their bits.
unsafe impl Growing for HurrayKeyValue {
    const FIRST: usize = 64;
}

/// Is shown key-values one by one, each good for as long as the call lasts. It answers 0 to go on,
/// and anything else to stop, which the call that shows them then answers too.
pub type HurrayVisit =
    Option<unsafe extern "C" fn(context: *mut c_void, value: *const HurrayKeyValue) -> i32>;

/// A visitor that is there.
type Visit = unsafe extern "C" fn(*mut c_void, *const HurrayKeyValue) -> i32;

/// The number of keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_file_key_count(file: *const hurray_file) -> usize {
    fence_or(0, || {
        // SAFETY: the contract of the header.
        Ok(unsafe { at(file, "file") }?.file.kv().len())
    })
}

/// The value of a key. Refused ("capi.absent") where the file has no such key. Its texts are good
/// for as long as the file is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_file_key_value(
    file: *const hurray_file,
    key: *const c_char,
    value: *mut HurrayKeyValue,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let file = unsafe { at(file, "file") }?;
        // SAFETY: the contract of the header.
        let key = unsafe { text(key, "key") }?;
        // SAFETY: the contract of the header.
        let mut form = unsafe { Form::new(value, "value") }?;
        form.fill(told(key, &get(file.file.kv(), key)?));
        Ok(())
    })
}

/// Shows every key with its value, in the order in which they were written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_file_each_key_value(
    file: *const hurray_file,
    visit: HurrayVisit,
    context: *mut c_void,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let file = unsafe { at(file, "file") }?;
        let visit = visit.ok_or_else(|| refused(Rule::CapiNull, "visit"))?;
        let kv = file.file.kv();
        // SAFETY: the contract of the header.
        unsafe { show(kv.iter().map(|(key, value)| told(key, &value)), visit, context) }
    })
}

/// Shows every item of an array. Refused ("capi.absent") where the file has no such key, or its value
/// is no array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hurray_file_each_item(
    file: *const hurray_file,
    key: *const c_char,
    visit: HurrayVisit,
    context: *mut c_void,
) -> i32 {
    fence(|| {
        // SAFETY: the contract of the header.
        let file = unsafe { at(file, "file") }?;
        // SAFETY: the contract of the header.
        let key = unsafe { text(key, "key") }?;
        let visit = visit.ok_or_else(|| refused(Rule::CapiNull, "visit"))?;
        let KvValue::Array(array) = get(file.file.kv(), key)? else {
            return Err(refused(Rule::CapiAbsent, "array"));
        };
        let item = |value: KvValue<'_>| HurrayKeyValue {
            key: ptr::null(),
            key_length: 0,
            ..told("", &value)
        };
        // SAFETY: the contract of the header.
        unsafe { show(array.iter().map(item), visit, context) }
    })
}

fn get<'f>(kv: &'f Kv, key: &str) -> Result<KvValue<'f>> {
    kv.get(key).ok_or_else(|| {
        refuse(Rule::CapiAbsent, "key", Value::first_of(key.as_bytes()), Expected::Unsaid)
    })
}

/// # Safety
///
/// The function may be called with the context.
unsafe fn show(
    values: impl Iterator<Item = HurrayKeyValue>,
    visit: Visit,
    context: *mut c_void,
) -> Result {
    for value in values {
        // SAFETY: a function of the caller's, called with its own context.
        match unsafe { visit(context, &raw const value) } {
            0 => {}
            status => return Err(Failure::Stopped(status)),
        }
    }
    Ok(())
}

fn told(key: &str, value: &KvValue<'_>) -> HurrayKeyValue {
    let plain = HurrayKeyValue {
        struct_size: STRUCT_SIZE,
        kind: value.kind() as u8,
        element: 0,
        boolean: 0,
        reserved: 0,
        key: key.as_ptr().cast(),
        key_length: key.len(),
        int64: 0,
        uint64: 0,
        float64: 0.0,
        data: ptr::null(),
        length: 0,
    };
    let run =
        |bytes: &[u8]| HurrayKeyValue { data: bytes.as_ptr().cast(), length: bytes.len(), ..plain };
    match value {
        KvValue::String(text) => run(text.as_bytes()),
        KvValue::Bytes(bytes) => run(bytes),
        KvValue::I64(number) => HurrayKeyValue { int64: *number, ..plain },
        KvValue::U64(number) => HurrayKeyValue { uint64: *number, ..plain },
        KvValue::F64(number) => HurrayKeyValue { float64: *number, ..plain },
        KvValue::Bool(flag) => HurrayKeyValue { boolean: u8::from(*flag), ..plain },
        KvValue::Array(array) => {
            HurrayKeyValue { element: array.element() as u8, length: array.len(), ..plain }
        }
    }
}

/// What is shown to a visitor, who did not say how much it knows, is all of it.
#[allow(clippy::cast_possible_truncation, reason = "the struct is 64 bytes long")]
const STRUCT_SIZE: u32 = size_of::<HurrayKeyValue>() as u32;

/// The key and the value that a caller describes.
///
/// # Safety
///
/// What its pointers lead to is as long as it says, and lives for as long as the value is used.
pub(crate) unsafe fn key_value<'a>(theirs: &HurrayKeyValue) -> Result<(&'a str, KvValue<'a>)> {
    zeros(&[theirs.reserved])?;
    // SAFETY: passed on to the caller.
    let key = unsafe { utf8(theirs.key.cast(), theirs.key_length, "key") }?;
    let kind = kind(theirs.kind, "kind")?;
    let value = match kind {
        // SAFETY: passed on to the caller.
        KvKind::String => KvValue::String(unsafe { utf8(theirs.data, theirs.length, "data") }?),
        // SAFETY: passed on to the caller.
        KvKind::Bytes => KvValue::Bytes(unsafe { run(theirs.data, theirs.length, "data") }?),
        KvKind::I64 => KvValue::I64(theirs.int64),
        KvKind::U64 => KvValue::U64(theirs.uint64),
        KvKind::F64 => KvValue::F64(theirs.float64),
        KvKind::Bool => KvValue::Bool(flag(theirs.boolean, "boolean")?),
        // SAFETY: passed on to the caller.
        KvKind::Array => KvValue::Array(unsafe { array(theirs) }?),
    };
    Ok((key, value))
}

/// # Safety
///
/// As [`key_value`].
unsafe fn array<'a>(theirs: &HurrayKeyValue) -> Result<KvArray<'a>> {
    let (data, count) = (theirs.data, theirs.length);
    let element = kind(theirs.element, "element")?;
    let array = match element {
        KvKind::I64 => {
            // SAFETY: passed on to the caller.
            let numbers = unsafe { items::<i64>(data.cast(), count, "data") }?;
            KvArray::new(element, numbers.iter().copied().map(KvValue::I64))
        }
        KvKind::U64 => {
            // SAFETY: passed on to the caller.
            let numbers = unsafe { items::<u64>(data.cast(), count, "data") }?;
            KvArray::new(element, numbers.iter().copied().map(KvValue::U64))
        }
        KvKind::F64 => {
            // SAFETY: passed on to the caller.
            let numbers = unsafe { items::<f64>(data.cast(), count, "data") }?;
            KvArray::new(element, numbers.iter().copied().map(KvValue::F64))
        }
        KvKind::Bool => {
            // SAFETY: passed on to the caller.
            let flags = unsafe { items::<u8>(data.cast(), count, "data") }?;
            let flags = flags.iter().map(|value| flag(*value, "data").map(KvValue::Bool));
            KvArray::new(element, flags.collect::<Result<Vec<_>>>()?)
        }
        KvKind::String | KvKind::Bytes => {
            // SAFETY: passed on to the caller.
            let runs = unsafe { items::<HurrayBytes>(data.cast(), count, "data") }?;
            let run = |bytes: &HurrayBytes| -> Result<KvValue<'a>> {
                Ok(match element {
                    KvKind::String => {
                        // SAFETY: passed on to the caller.
                        KvValue::String(unsafe { utf8(bytes.data, bytes.length, "data") }?)
                    }
                    // SAFETY: passed on to the caller.
                    _ => KvValue::Bytes(unsafe { run(bytes.data, bytes.length, "data") }?),
                })
            };
            KvArray::new(element, runs.iter().map(run).collect::<Result<Vec<_>>>()?)
        }
        KvKind::Array => {
            let found = Value::Tag(u64::from(theirs.element));
            let rule = Rule::FileKvArrayElementTag;
            return Err(refuse(rule, "element", found, Expected::AtMost(6)));
        }
    };
    Ok(array?)
}

fn kind(tag: u8, name: &'static str) -> Result<KvKind> {
    KvKind::from_tag(tag).ok_or_else(|| {
        let expected = Expected::OneOf("0x01 to 0x07");
        refuse(Rule::FileKvReservedTag, name, Value::Tag(u64::from(tag)), expected)
    })
}

/// # Safety
///
/// As [`key_value`].
unsafe fn run<'a>(data: *const c_void, length: usize, name: &'static str) -> Result<&'a [u8]> {
    // SAFETY: passed on to the caller.
    unsafe { items(data.cast(), length, name) }
}

/// # Safety
///
/// As [`key_value`].
unsafe fn utf8<'a>(data: *const c_void, length: usize, name: &'static str) -> Result<&'a str> {
    // SAFETY: passed on to the caller.
    let bytes = unsafe { run(data, length, name) }?;
    str::from_utf8(bytes).map_err(|error| {
        let wrong = bytes.get(error.valid_up_to()..).unwrap_or_default();
        refuse(Rule::CapiText, name, Value::first_of(wrong), Expected::OneOf("UTF-8"))
    })
}
