//! Loading cache lines ahead of their use.
//!
//! Weights of many tasks do not fit any cache, and what a learner does with them takes less time than fetching
//! them. Fetching those of the next examples while learning this one takes a fifth off learning (streams A and B of
//! `cargo xtask bench`, against the same program with this function emptied). There is no safe way to say it,
//! hence the one line below.
#![expect(unsafe_code, reason = "the prefetch instruction takes a pointer; measured to pay, see above")]

/// Asks for the cache line of an entry; nothing is read, and an index out of range is ignored.
#[inline]
pub(crate) fn prefetch<T>(entries: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(entry) = entries.get(at) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the pointer is that of a live reference, and the instruction neither reads nor faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(entry).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (entries, at);
}
