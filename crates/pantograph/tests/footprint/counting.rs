//! An allocator that counts what this thread asks of the system's.
//!
//! Counting needs a global allocator, and implementing one is unsafe. Every call goes to
//! the system's allocator unchanged.
#![expect(unsafe_code, reason = "implementing `GlobalAlloc`")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNTS: Cell<Counts> = const { Cell::new(Counts { allocations: 0, live: 0 }) };
}

/// What this thread has allocated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counts {
    /// Calls that got new memory.
    pub(crate) allocations: u64,
    /// Bytes that were not given back.
    pub(crate) live: i64,
}

pub(crate) fn counts() -> Counts {
    COUNTS.get()
}

fn add(allocations: u64, bytes: i64) {
    // Fails while the thread ends, when nobody counts any more.
    let _ = COUNTS.try_with(|counts| {
        let old = counts.get();
        counts.set(Counts {
            allocations: old.allocations + allocations,
            live: old.live + bytes,
        });
    });
}

struct Counting;

// SAFETY: every method passes its arguments to the system's allocator and its result back.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(1, layout.size() as i64);
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        add(0, -(layout.size() as i64));
        // SAFETY: the caller keeps the contract of `GlobalAlloc::dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add(1, size as i64 - layout.size() as i64);
        // SAFETY: the caller keeps the contract of `GlobalAlloc::realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;
