//! Weights by feature and by task, on the tables of [`crate::table`].
//!
//! | file | what it keeps |
//! |---|---|
//! | `slot_tables` | which features and tasks there are weights for: what the next two have in common, and its saved form |
//! | `shared_own` | one shared vector and one per task |
//! | `side_by_side` | several of both, in rows, shared by all tasks or by groups of them |
//! | `own_rows` | where rows of tasks are: in pieces (`chunked_rows`), or in the tasks' tables (`short_rows`) |
//! | `task_rows` | a row of K weights per feature |
//! | `gram_rows` | the same with the inner products of the tasks |
//! | `p_norm_rows` | own and shared parts with the gradient of a squared p-norm, on a `total_tree` |
//! | `columns` | one vector per task with all their inner products |
//! | `lagged` | what each task holds of a vector that all of them move |
//! | `norm` | the length of a vector that grows |
//! | `lend` | nothing: entries of a slice, to be changed side by side |

mod chunked_rows;
pub(crate) mod columns;
pub(crate) mod gram_rows;
pub(crate) mod lagged;
pub(crate) mod lend;
pub(crate) mod norm;
pub(crate) mod own_rows;
pub(crate) mod p_norm_rows;
pub(crate) mod shared_own;
pub(crate) mod short_rows;
pub(crate) mod side_by_side;
mod slot_tables;
pub(crate) mod task_rows;
mod total_tree;

pub(crate) use columns::{Columns, ColumnsState, HalfExponent};
pub(crate) use gram_rows::{Change, GramRows, GramRowsState};
pub(crate) use lend::lend;
pub(crate) use norm::Norm;
pub(crate) use p_norm_rows::{PNormRows, PNormRowsState};
pub(crate) use shared_own::SharedOwn;
pub(crate) use side_by_side::SideBySide;
pub(crate) use slot_tables::{LocatedSlots, SlotTables, SlotTablesState};
pub(crate) use task_rows::{TaskRows, TaskRowsState};
