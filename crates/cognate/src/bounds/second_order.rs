//! Theorem 8: the multitask second-order Perceptron.
//!
//! With a in place of the paper's 1, the potential `v'(aI + SS')^-1 v` grows at a mistake by at most
//! `phi'(aI + SS')^-1 phi <= ln of the ratio of determinants`, and `(u'v)^2` is at most that potential times
//! `a u'Au + sum (u_i'x)^2`, so
//!
//! ```text
//! m <= L + sqrt((a u'Au + sum_M (u_i'x)^2) ln det(I + G/a)),   G_st = R[i_s, i_t] x_s'x_t over the mistakes
//! ```
//!
//! In advance, for n examples: the same sums over all rounds, and `ln det <= r ln(1 + tr G / (a r))`, r the rank or
//! more. The theorem is for one task per round, and an R that does not change.

use std::collections::BTreeSet;

use super::comparator::{Comparator, dot};
use super::geometry::Geometry;
use super::transcript::Transcript;
use super::{BoundError, Formula, Parts, Scope};
use crate::linalg::Symmetric;

/// Beyond this many mistakes the Gram matrix takes gigabytes and its determinant minutes.
pub const MOST_MISTAKES: usize = 5000;

pub(super) fn parts(
    a: f64,
    transcript: &Transcript,
    geometry: &Geometry,
    u: &Comparator,
    scope: Scope,
) -> Result<Parts, BoundError> {
    let counted: Vec<usize> =
        (0..transcript.len()).filter(|at| scope == Scope::Everything || transcript.is_mistake(*at)).collect();
    let margins: f64 = counted.iter().map(|at| u.margin(transcript.example(*at)).powi(2)).sum();
    let quadratic = geometry.quadratic(u);
    let logarithms = match scope {
        Scope::Mistakes => log_determinant(a, transcript, geometry, &counted)?,
        Scope::Everything => most_logarithms(a, transcript, geometry),
    };
    let complexity = (a * quadratic + margins) * logarithms;
    let details = vec![
        ("a", a),
        ("u'Au", quadratic),
        ("sum (u_i'x)^2", margins),
        ("sum ln(1 + lambda_j/a)", logarithms),
    ];
    Ok(Parts { complexity, constant: 0.0, formula: Formula::Root, details })
}

/// `ln det(I + G/a)`.
fn log_determinant(
    a: f64,
    transcript: &Transcript,
    geometry: &Geometry,
    mistakes: &[usize],
) -> Result<f64, BoundError> {
    if mistakes.len() > MOST_MISTAKES {
        return Err(BoundError::TooManyMistakes { mistakes: mistakes.len(), limit: MOST_MISTAKES });
    }
    let known = transcript.tasks();
    let matrix = Symmetric::from_fn(mistakes.len(), |s, t| {
        let (first, second) = (transcript.example(mistakes[s]), transcript.example(mistakes[t]));
        let relation = geometry.relation(first.task, second.task, known);
        let product = if relation == 0.0 { 0.0 } else { relation * dot(first.features, second.features) };
        f64::from(u8::from(s == t)) + product / a
    });
    // I plus what is positive semidefinite; only a matrix with infinite entries has no factor.
    Ok(matrix.log_determinant().unwrap_or(f64::INFINITY))
}

/// What `ln det(I + G/a)` of any of the examples is at most.
fn most_logarithms(a: f64, transcript: &Transcript, geometry: &Geometry) -> f64 {
    let mut features = BTreeSet::<u32>::new();
    let mut trace = 0.0;
    for at in 0..transcript.len() {
        let example = transcript.example(at);
        features.extend(example.features.indices());
        trace += geometry.relation(example.task, example.task, transcript.tasks())
            * example.features.norm_squared();
    }
    let rank = transcript.len().min(transcript.tasks() * features.len()) as f64;
    if rank == 0.0 { 0.0 } else { rank * (trace / (a * rank)).ln_1p() }
}
