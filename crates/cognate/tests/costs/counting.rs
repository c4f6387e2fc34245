//! The system's allocator, counting calls and bytes of the whole process.
#![expect(unsafe_code, reason = "a global allocator cannot be written without it")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Calls that allocated memory.
pub(crate) static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

/// Bytes held now.
pub(crate) static HELD: AtomicUsize = AtomicUsize::new(0);

/// The most bytes held at once since a test last set it.
pub(crate) static MOST: AtomicUsize = AtomicUsize::new(0);

/// Held by the test that is running: the counters cannot tell two tests apart.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

fn taken(bytes: usize) {
    ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    let held = HELD.fetch_add(bytes, Ordering::Relaxed) + bytes;
    MOST.fetch_max(held, Ordering::Relaxed);
}

fn given_back(bytes: usize) {
    HELD.fetch_sub(bytes, Ordering::Relaxed);
}

// SAFETY: every call goes to the system's allocator unchanged; the counters touch nothing of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: the caller's promise about the layout is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: the caller's promise about the layout is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Counted as if the new block were allocated before the old one is freed, which the system may do.
        taken(size);
        given_back(layout.size());
        // SAFETY: the caller's promise about pointer, layout and size is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        given_back(layout.size());
        // SAFETY: the caller's promise about pointer and layout is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}
