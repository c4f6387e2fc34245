//! Rows of weights, by feature and by task, on the tables of [`crate::table`].
//!
//! `shared_own` keeps one shared vector and one per task, `side_by_side` several of both in rows (`rows`); `norm` is the
//! length of a vector that grows; `lagged` is what tasks hold of a vector that all move; `task_rows` keeps a row of K
//! weights per feature, `gram_rows` the same with the inner products of the tasks; `p_norm_rows` keeps both and the
//! gradient of a squared p-norm, on a `total_tree`; `columns` keeps one vector per task with all their inner products.

pub(crate) mod columns;
pub(crate) mod gram_rows;
pub(crate) mod lagged;
pub(crate) mod norm;
pub(crate) mod p_norm_rows;
mod rows;
pub(crate) mod shared_own;
pub(crate) mod side_by_side;
pub(crate) mod task_rows;
mod total_tree;

pub(crate) use columns::{Columns, ColumnsState};
pub(crate) use gram_rows::{Change, GramRows, GramRowsState};
pub(crate) use norm::Norm;
pub(crate) use p_norm_rows::{PNormRows, PNormRowsState};
pub(crate) use shared_own::{SharedOwn, SharedOwnState};
pub(crate) use side_by_side::SideBySide;
pub(crate) use task_rows::{TaskRows, TaskRowsState};
