//! An allocator that counts: how much memory a thread holds at most.

#![allow(unsafe_code, reason = "an allocator is an unsafe trait")]

use std::alloc::{GlobalAlloc, Layout as Memory, System};
use std::cell::Cell;

/// The system's allocator, which also counts, for each thread, what is taken and given back.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

thread_local! {
    static NOW: Cell<i64> = const { Cell::new(0) };
    static MOST: Cell<i64> = const { Cell::new(0) };
    static TIMES: Cell<i64> = const { Cell::new(0) };
}

fn count(change: i64) {
    let now = NOW.get() + change;
    NOW.set(now);
    MOST.set(MOST.get().max(now));
}

/// Memory that there was.
fn taken(first: *mut u8, memory: Memory) {
    if !first.is_null() {
        count(bytes(memory));
        TIMES.set(TIMES.get() + 1);
    }
}

fn bytes(memory: Memory) -> i64 {
    i64::try_from(memory.size()).unwrap_or(i64::MAX)
}

// SAFETY: every call goes on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, memory: Memory) -> *mut u8 {
        // SAFETY: passed on.
        let first = unsafe { System.alloc(memory) };
        taken(first, memory);
        first
    }

    unsafe fn alloc_zeroed(&self, memory: Memory) -> *mut u8 {
        // SAFETY: passed on.
        let first = unsafe { System.alloc_zeroed(memory) };
        taken(first, memory);
        first
    }

    unsafe fn dealloc(&self, start: *mut u8, memory: Memory) {
        count(-bytes(memory));
        // SAFETY: passed on.
        unsafe { System.dealloc(start, memory) }
    }

    unsafe fn realloc(&self, start: *mut u8, memory: Memory, size: usize) -> *mut u8 {
        TIMES.set(TIMES.get() + 1);
        let size_now = i64::try_from(size).unwrap_or(i64::MAX);
        if super::GROWS_IN_PLACE {
            count(size_now - bytes(memory));
        } else {
            count(size_now);
            count(-bytes(memory));
        }
        // SAFETY: passed on.
        unsafe { System.realloc(start, memory, size) }
    }
}

/// The most memory that `work` had at once, in bytes.
pub(crate) fn most(work: impl FnOnce()) -> i64 {
    let before = NOW.get();
    MOST.set(before);
    work();
    MOST.get() - before
}

/// How often `work` took memory, on this thread.
#[allow(dead_code, reason = "not every test counts that")]
pub(crate) fn times<T>(work: impl FnOnce() -> T) -> (T, i64) {
    let before = TIMES.get();
    let done = work();
    (done, TIMES.get() - before)
}
