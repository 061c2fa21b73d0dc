//! What the producer keeps behind each struct, and its callbacks.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hurray_tensor::exchange::raw::{HurrayBuffer, HurraySync, HurrayTensor};

/// How often each thing was released. It outlives all of them.
pub(crate) struct Once {
    pub(crate) name: &'static str,
    times: AtomicUsize,
}

impl Once {
    pub(super) fn new(name: &'static str) -> Arc<Self> {
        Arc::new(Self { name, times: AtomicUsize::new(0) })
    }

    fn count(&self) {
        self.times.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn times(&self) -> usize {
        self.times.load(Ordering::SeqCst)
    }
}

/// What is behind a tensor's struct. It is kept to the end of the test, what it made is not.
pub(crate) struct TensorContext {
    pub(super) once: Arc<Once>,
    /// What is to be freed: the struct of each buffer and member, and the arrays.
    pub(super) made: UnsafeCell<Option<Made>>,
}

pub(super) struct Made {
    pub(super) _descriptor: Vec<u8>,
    pub(super) _buffer_list: Vec<*mut HurrayBuffer>,
    pub(super) _member_list: Vec<*mut HurrayTensor>,
    pub(super) buffers: Vec<*mut HurrayBuffer>,
    pub(super) members: Vec<*mut HurrayTensor>,
}

/// What is behind a buffer's struct.
pub(crate) struct BufferContext {
    pub(crate) once: Arc<Once>,
    pub(crate) event: Option<Arc<Once>>,
    pub(super) memory: UnsafeCell<Option<Vec<Lines>>>,
}

#[repr(align(4096))]
pub(crate) struct Lines(pub(super) [u8; 4096]);

pub(super) unsafe extern "C" fn release_tensor(it: *mut HurrayTensor) {
    // Only the first four fields may be read.
    // SAFETY: by the header's rules.
    let context = unsafe { (*it).private_data.cast::<TensorContext>() };
    // SAFETY: as above.
    assert!(unsafe { (*it).release.take() }.is_some(), "released twice");
    // SAFETY: contexts stay to the end of the test.
    let context = unsafe { &*context };
    context.once.count();
    // SAFETY: whoever releases is the only one.
    let Some(made) = (unsafe { (*context.made.get()).take() }) else {
        return;
    };
    for buffer in &made.buffers {
        // SAFETY: the struct is there until now; what was moved out or released says so.
        unsafe {
            if let Some(release) = (**buffer).release {
                release(*buffer);
            }
            drop(Box::from_raw(*buffer));
        }
    }
    for member in &made.members {
        // SAFETY: as above.
        unsafe {
            if let Some(release) = (**member).release {
                release(*member);
            }
            drop(Box::from_raw(*member));
        }
    }
}

pub(super) unsafe extern "C" fn release_buffer(it: *mut HurrayBuffer) {
    // SAFETY: by the header's rules.
    let context = unsafe { &*(*it).private_data.cast::<BufferContext>() };
    // SAFETY: as above.
    assert!(unsafe { (*it).release.take() }.is_some(), "released twice");
    context.once.count();
    if let Some(event) = &context.event
        && event.times() == 0
    {
        event.count();
    }
    // SAFETY: whoever releases is the only one.
    drop(unsafe { (*context.memory.get()).take() });
}

pub(super) unsafe extern "C" fn release_event(it: *mut HurraySync) {
    // SAFETY: by the header's rules.
    let context = unsafe { &*(*it).event_context.cast::<BufferContext>() };
    // SAFETY: as above.
    assert!(unsafe { (*it).release_event.take() }.is_some(), "released twice");
    assert_eq!(context.once.times(), 0, "an event was released after its buffer");
    context.event.as_ref().unwrap().count();
}

/// Where the memory of a buffer really is; null where it is gone.
pub(crate) fn memory_of(context: &BufferContext) -> *const c_void {
    // SAFETY: nobody releases meanwhile.
    match unsafe { &*context.memory.get() } {
        Some(lines) => lines.as_ptr().cast(),
        None => ptr::null(),
    }
}
