//! Where weights and matrices are kept.
//!
//! `index_map` is the table under everything: small numbers to values, dense where it pays. `shared_own` keeps
//! one shared vector and one a task, `side_by_side` the same for several learners at once; `task_rows` keeps a row of K weights a feature; `symmetric` holds K x K
//! matrices and is the only place that knows the linear algebra crate.

pub(crate) mod index_map;
pub(crate) mod prefetch;
pub(crate) mod shared_own;
pub(crate) mod side_by_side;
pub(crate) mod symmetric;
pub(crate) mod task_rows;

pub(crate) use index_map::IndexMap;
pub(crate) use shared_own::{SharedOwn, SharedOwnState};
pub(crate) use side_by_side::SideBySide;
pub use symmetric::{Symmetric, SymmetricError};
pub(crate) use task_rows::{TaskRows, TaskRowsState};
