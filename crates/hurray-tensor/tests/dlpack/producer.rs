//! A producer whose every field a test can set, and whose deleter counts.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hurray_tensor::dlpack::raw::*;
use hurray_tensor::dlpack::{Foreign, Import, Imported, Terms};
use hurray_tensor::format::Rule;
use hurray_tensor::{Result, Tensor};

pub const CPU: DLDevice = DLDevice { device_type: 1, device_id: 0 };
pub const F32: DLDataType = DLDataType { code: 2, bits: 32, lanes: 1 };
pub const I16: DLDataType = DLDataType { code: 0, bits: 16, lanes: 1 };
pub const U8: DLDataType = DLDataType { code: 1, bits: 8, lanes: 1 };
pub const BOOL: DLDataType = DLDataType { code: 6, bits: 8, lanes: 1 };

/// What a managed tensor says. Its memory is kept by the struct, aligned to 64.
#[derive(Clone)]
pub struct Producer {
    pub memory: Arc<Vec<Line>>,
    /// Another address than the memory's.
    pub data: Option<*mut c_void>,
    pub device: DLDevice,
    pub dtype: DLDataType,
    pub ndim: i32,
    pub shape: Option<Vec<i64>>,
    pub strides: Option<Vec<i64>>,
    pub byte_offset: u64,
    pub flags: u64,
    pub version: DLPackVersion,
    pub has_deleter: bool,
    pub deleted: Deleted,
}

/// Only ever looked at through pointers.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct Line(#[allow(dead_code, reason = "read as bytes")] [u8; 64]);

/// How often a deleter was called.
#[derive(Clone, Default)]
pub struct Deleted(Arc<AtomicUsize>);

impl Deleted {
    pub fn times(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    pub fn count(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Producer {
    /// A row-major tensor of those bytes.
    pub fn new(dtype: DLDataType, shape: &[i64], bytes: &[u8]) -> Self {
        let line = |bytes: &[u8]| {
            let mut line = [0; 64];
            line[..bytes.len()].copy_from_slice(bytes);
            Line(line)
        };
        let mut strides = vec![1; shape.len()];
        for k in (1..shape.len()).rev() {
            strides[k - 1] = i64::wrapping_mul(strides[k], shape[k].max(1));
        }
        Self {
            memory: Arc::new(bytes.chunks(64).map(line).collect()),
            data: None,
            device: CPU,
            dtype,
            ndim: i32::try_from(shape.len()).unwrap(),
            shape: Some(shape.to_vec()),
            strides: Some(strides),
            byte_offset: 0,
            flags: 0,
            version: DLPackVersion { major: 1, minor: 3 },
            has_deleter: true,
            deleted: Deleted::default(),
        }
    }

    pub fn f32(shape: &[i64], values: &[f32]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self::new(F32, shape, &bytes)
    }

    pub fn strides(mut self, strides: &[i64]) -> Self {
        self.strides = Some(strides.to_vec());
        self
    }

    pub fn set(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub fn data(&self) -> *mut c_void {
        self.data.unwrap_or(self.memory.as_ptr().cast_mut().cast())
    }

    pub fn versioned(&self) -> *mut DLManagedTensorVersioned {
        let deleter = self.has_deleter.then_some(delete::<DLManagedTensorVersioned> as _);
        let Self { version, flags, .. } = *self;
        self.made(|dl_tensor, manager_ctx| DLManagedTensorVersioned {
            version,
            manager_ctx,
            deleter,
            flags,
            dl_tensor,
        })
    }

    pub fn legacy(&self) -> *mut DLManagedTensor {
        let deleter = self.has_deleter.then_some(delete::<DLManagedTensor> as _);
        self.made(|dl_tensor, manager_ctx| DLManagedTensor { dl_tensor, manager_ctx, deleter })
    }

    fn made<M>(&self, managed: impl FnOnce(DLTensor, *mut c_void) -> M) -> *mut M {
        let made = Made { managed: MaybeUninit::uninit(), producer: self.clone() };
        let made = Box::into_raw(Box::new(made));
        let context = made.cast();
        // SAFETY: made just now, and nobody else has it.
        let Made { managed: place, producer } = unsafe { &mut *made };
        let first = |numbers: &mut Option<Vec<i64>>| {
            numbers.as_mut().map_or(ptr::null_mut(), |numbers| numbers.as_mut_ptr())
        };
        let dl_tensor = DLTensor {
            data: self.data(),
            device: self.device,
            ndim: self.ndim,
            dtype: self.dtype,
            shape: first(&mut producer.shape),
            strides: first(&mut producer.strides),
            byte_offset: self.byte_offset,
        };
        place.write(managed(dl_tensor, context))
    }

    /// What a producer does with a struct that nobody else lets go of.
    pub fn free(&self, managed: *mut DLManagedTensorVersioned) {
        // SAFETY: made by `versioned`, and not deleted.
        unsafe { delete(managed) }
    }

    pub fn foreign(&self) -> Result<Foreign> {
        self.foreign_on(Terms::default())
    }

    pub fn foreign_on(&self, terms: Terms) -> Result<Foreign> {
        // SAFETY: made for this; the memory is kept until the deleter is called.
        unsafe { Foreign::from_raw(self.versioned(), terms) }
    }

    pub fn import(&self, how: &Import<'_>) -> Result<Imported> {
        self.foreign()?.import(how)
    }

    /// The tensor where it is.
    pub fn tensor_here(&self) -> Result<Tensor> {
        self.foreign().and_then(Tensor::try_from)
    }

    pub fn legacy_tensor_here(&self) -> Result<Tensor> {
        // SAFETY: as in `foreign_on`.
        unsafe { Foreign::from_raw(self.legacy(), Terms::default()) }.and_then(Tensor::try_from)
    }

    /// Both structs are refused by that rule, and each is deleted once.
    pub fn is_refused(&self, rule: Rule) {
        self.is_refused_by_any(&[rule]);
    }

    /// The same where it depends on the number which rule is met first.
    pub fn is_refused_by_any(&self, rules: &[Rule]) {
        let before = self.deleted.times();
        let rule = self.tensor_here().unwrap_err().rule().unwrap();
        assert!(rules.contains(&rule), "{rule}");
        assert_eq!(self.deleted.times(), before + 1, "{rule}");
        // The older struct has neither flags nor a version.
        if self.flags == 0 && rule != Rule::DlpackStridesNull {
            let rule = self.legacy_tensor_here().unwrap_err().rule().unwrap();
            assert!(rules.contains(&rule), "{rule}");
            assert_eq!(self.deleted.times(), before + 2, "{rule}");
        }
    }
}

struct Made<M> {
    managed: MaybeUninit<M>,
    producer: Producer,
}

/// Frees the struct, as DLPack's deleters do. Whoever looks at it afterwards finds nonsense.
unsafe extern "C" fn delete<M: Context>(managed: *mut M) {
    // SAFETY: the struct is there, and its context is what was boxed.
    let made = unsafe { *managed }.context().cast::<Made<M>>();
    // SAFETY: it is deleted once, and read no more.
    let Made { producer, .. } = unsafe { made.read() };
    producer.deleted.count();
    drop(producer);
    // SAFETY: what was there was moved out.
    unsafe { made.cast::<u8>().write_bytes(0xA5, size_of::<Made<M>>()) };
    // SAFETY: it was boxed, with this layout.
    drop(unsafe { Box::from_raw(made.cast::<MaybeUninit<Made<M>>>()) });
}

trait Context: Copy {
    fn context(self) -> *mut c_void;
}

impl Context for DLManagedTensorVersioned {
    fn context(self) -> *mut c_void {
        self.manager_ctx
    }
}

impl Context for DLManagedTensor {
    fn context(self) -> *mut c_void {
        self.manager_ctx
    }
}

/// The elements of a host tensor by index, as its bytes: what an independent reader of shape and
/// strides finds.
pub fn elements(tensor: &Tensor) -> Vec<Vec<u8>> {
    let descriptor = tensor.descriptor();
    let buffer = &tensor.buffers()[0];
    let (bytes, lead) = (buffer.host_bytes().unwrap(), buffer.lead());
    let width = usize::try_from(descriptor.dtype().bits() / 8).unwrap();
    indexes(descriptor.shape())
        .iter()
        .map(|index| {
            let at = usize::try_from(descriptor.locate(index).unwrap().byte - lead).unwrap();
            bytes[at..at + width].to_vec()
        })
        .collect()
}

/// Every index of a shape, the last dimension fastest.
pub fn indexes(shape: &[u64]) -> Vec<Vec<u64>> {
    shape.iter().fold(vec![vec![]], |before, size| {
        before
            .iter()
            .flat_map(|index| (0..*size).map(move |at| [index.as_slice(), &[at]].concat()))
            .collect()
    })
}
