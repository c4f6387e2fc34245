//! Where weights and matrices are kept.
//!
//! `index_map` is the table under everything: small numbers to values, dense where it pays; `search` looks for many
//! of them at once, `ahead` for those of the next examples. `shared_own` keeps one shared vector and one a task, `side_by_side` several of both in rows;
//! `norm` is the length of a vector that grows; `lagged` is what tasks hold of a vector that all move; `task_rows`
//! keeps a row of K weights a feature, `gram_rows` the same with the inner products of the tasks; `p_norm_rows`
//! keeps both and the gradient of a squared p-norm, on a `total_tree`; `columns` keeps a vector a task with all
//! their inner products; `symmetric` holds K x K matrices and `dense` larger ones; they alone know the linear
//! algebra crate. `triangle` holds the half of one that changes all the time, in `wide` loops; `growing_factor` is
//! the factor of a matrix that grows, `inverse_gram` the inverse of one whose rows come and go.

pub(crate) mod ahead;
pub(crate) mod columns;
pub(crate) mod dense;
pub(crate) mod exponential;
pub(crate) mod gram_rows;
pub(crate) mod growing_factor;
pub(crate) mod index_map;
pub(crate) mod inverse_gram;
pub(crate) mod lagged;
mod line;
pub(crate) mod norm;
pub(crate) mod p_norm_rows;
pub(crate) mod prefetch;
mod rows;
pub(crate) mod search;
pub(crate) mod shared_own;
pub(crate) mod side_by_side;
pub(crate) mod symmetric;
pub(crate) mod task_rows;
pub(crate) mod total_tree;
pub(crate) mod triangle;
pub(crate) mod wide;

pub(crate) use ahead::{AHEAD, Locate};
pub(crate) use columns::{Columns, ColumnsState};
pub(crate) use dense::Dense;
pub(crate) use gram_rows::{Change, GramRows, GramRowsState};
pub(crate) use growing_factor::GrowingFactor;
pub(crate) use index_map::IndexMap;
pub(crate) use inverse_gram::{InverseGram, InverseGramState, Projected};
pub(crate) use norm::Norm;
pub(crate) use p_norm_rows::{PNormRows, PNormRowsState};
pub(crate) use search::Search;
pub(crate) use shared_own::{SharedOwn, SharedOwnState};
pub(crate) use side_by_side::SideBySide;
pub use symmetric::{Symmetric, SymmetricError};
pub(crate) use task_rows::{TaskRows, TaskRowsState};
pub(crate) use triangle::{Blend, Triangle};
pub(crate) use wide::Width;

use crate::error::StateError;

/// Inner product in four sums, side by side.
#[inline]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (mut sums, blocks) = ([0.0; 4], a.chunks_exact(4).zip(b.chunks_exact(4)));
    for (a, b) in blocks {
        for lane in 0..4 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest = a.len().min(b.len()) / 4 * 4;
    let rest: f64 = a[rest..].iter().zip(&b[rest..]).map(|(a, b)| a * b).sum();
    (sums[0] + sums[2]) + (sums[1] + sums[3]) + rest
}

/// Inner product of what is found at places with values, in four sums, side by side: the same bits wherever it was found.
#[inline]
pub(crate) fn dot_at(found: &[f64], places: &[u32], values: &[f64]) -> f64 {
    let (places, last_places) = places.as_chunks::<4>();
    let (values, last_values) = values.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for (places, values) in places.iter().zip(values) {
        for lane in 0..4 {
            sums[lane] += found[places[lane] as usize] * values[lane];
        }
    }
    for (lane, (place, value)) in last_places.iter().zip(last_values).enumerate() {
        sums[lane] += found[*place as usize] * value;
    }
    (sums[0] + sums[2]) + (sums[1] + sums[3])
}

/// Refuses NaN and infinities in saved weights.
pub(crate) fn check_finite(weights: &[f64]) -> Result<(), StateError> {
    if weights.iter().all(|weight| weight.is_finite()) {
        Ok(())
    } else {
        Err(StateError::new("a weight is not finite"))
    }
}
