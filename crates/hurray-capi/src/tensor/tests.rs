use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use ::hurray_tensor::exchange::Status;
use ::hurray_tensor::format::{Descriptor, Dtype};

use super::*;

/// The system's allocator, which refuses a thread more at once than it allows itself.
struct Refusing;

#[global_allocator]
static REFUSING: Refusing = Refusing;

thread_local! {
    static MOST: Cell<usize> = const { Cell::new(usize::MAX) };
}

// SAFETY: every call is refused, or goes on to the system's allocator as it came.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, memory: Layout) -> *mut u8 {
        if memory.size() > MOST.get() {
            return ptr::null_mut();
        }
        // SAFETY: passed on.
        unsafe { System.alloc(memory) }
    }

    unsafe fn dealloc(&self, start: *mut u8, memory: Layout) {
        // SAFETY: passed on.
        unsafe { System.dealloc(start, memory) }
    }
}

unsafe extern "C" fn count(context: *mut c_void) {
    // SAFETY: a count of the test's.
    unsafe { &*context.cast::<AtomicUsize>() }.fetch_add(1, Ordering::Relaxed);
}

/// Hands pieces of no bytes in, with no more than so much memory at once for what that takes;
/// the status, and how many were let go of.
fn hand_in(pieces: usize, most: usize) -> (i32, usize) {
    let released = AtomicUsize::new(0);
    let piece = HurrayMemory {
        data: ptr::null_mut(),
        length: 0,
        flags: 0,
        release: Some(count),
        context: (&raw const released).cast_mut().cast(),
    };
    let memory = vec![piece; pieces];
    let descriptor = Descriptor::builder(Dtype::UInt8, &[0]).build().unwrap();
    let mut tensor = ptr::null_mut();
    MOST.set(most);
    // SAFETY: as the header asks.
    let status = unsafe {
        hurray_tensor_new(lend(&descriptor), memory.as_ptr(), memory.len(), &raw mut tensor)
    };
    MOST.set(usize::MAX);
    assert_eq!(tensor.is_null(), status != 0);
    // SAFETY: none, or one that is not used any more.
    unsafe { hurray_tensor_free(tensor) };
    (status, released.load(Ordering::Relaxed))
}

#[test]
fn memory_is_taken_where_there_is_no_room_for_a_list_of_it() {
    assert_eq!(hand_in(1, usize::MAX), (0, 1));
    assert_eq!(hand_in(1000, usize::MAX), (Status::Misuse.code(), 1000));
    assert_eq!(hand_in(1000, 8192), (Status::OutOfMemory.code(), 1000));
    assert_eq!(hand_in(65_535, usize::MAX), (Status::Misuse.code(), 65_535));
}

#[test]
fn a_count_that_cannot_be_true_is_not_believed() {
    assert_eq!(hand_in(65_536, usize::MAX), (Status::Misuse.code(), 0));
}
