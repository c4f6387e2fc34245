//! Matrices and the loops over them.
//!
//! `symmetric` holds K x K matrices and `dense` larger ones; they alone know the linear algebra crate. `triangle` holds
//! the half of one that changes all the time, in `wide` loops; `growing_factor` is the factor of a matrix that grows,
//! `inverse_gram` the inverse of one whose rows come and go; `exponential` is written for wide loops.

pub(crate) mod dense;
pub(crate) mod exponential;
pub(crate) mod growing_factor;
pub(crate) mod inverse_gram;
pub(crate) mod symmetric;
pub(crate) mod triangle;
pub(crate) mod wide;

pub(crate) use dense::Dense;
pub(crate) use growing_factor::GrowingFactor;
pub(crate) use inverse_gram::{InverseGram, InverseGramState, Projected};
pub use symmetric::{Symmetric, SymmetricError};
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
    check_all_finite("a weight", weights)
}

/// The same for numbers that are called otherwise.
pub(crate) fn check_all_finite(what: &str, numbers: &[f64]) -> Result<(), StateError> {
    if all_finite(numbers) { Ok(()) } else { Err(StateError::new(format!("{what} is not finite"))) }
}

/// Whether there is no NaN and no infinity.
pub(crate) fn all_finite(numbers: &[f64]) -> bool {
    numbers.iter().all(|number| number.is_finite())
}
