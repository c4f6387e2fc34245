//! Loops compiled for the widest vectors that the processor at hand has.
//!
//! Only for loops that treat every entry by itself: those give the same bits whatever the width, sums do not.

/// Runs the work with all vector instructions that there are; what it calls must be inlined to profit.
#[inline]
pub(crate) fn wide<R>(work: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(work)
}
