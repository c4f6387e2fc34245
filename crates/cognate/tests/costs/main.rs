//! Time and memory: do learners stay within the cost that their headers state?
//!
//! A binary of its own, since its allocator counts the whole process; its tests run one at a time.

mod allocations;
mod bombs;
mod budgets;
mod counting;
mod flat_memory;
mod growth;
mod scale;

#[path = "../it/support/samples.rs"]
mod samples;
