//! Theorem 6 and what it comes from: the multitask p-norm Perceptron.
//!
//! With any A and p >= 2, (9) and the bound on its Bregman terms give
//!
//! ```text
//! m <= L + |Au|_q sqrt((p-1) sum_t |sum_{i in M_t} y_i R_{.,i} x_i|_p^2),   1/p + 1/q = 1
//! ```
//!
//! where the norm is `|R_{.,i}|_p |x|_p` with one mistake per round. Theorem 6 is what remains of it for the pairwise
//! matrix and p = 2 ln max{K, d}, in the norms `|u|_1` and `|x|_inf`. Both are for a K that does not change.

use std::collections::BTreeMap;
use std::f64::consts::E;

use super::comparator::{Comparator, norm};
use super::geometry::Geometry;
use super::transcript::Transcript;
use super::{Formula, Parts, Scope};

/// The exponent that Theorem 6 takes; below three tasks and features it would be less than 2 (errata).
pub(super) fn default_exponent(tasks: usize, features: u32) -> f64 {
    (2.0 * (tasks.max(features as usize).max(1) as f64).ln()).max(2.0)
}

/// (9) with the Bregman terms bounded.
pub(super) fn general(
    p: f64,
    transcript: &Transcript,
    geometry: &Geometry,
    u: &Comparator,
    scope: Scope,
) -> Parts {
    let dual = geometry.times_a(u).map_or(f64::INFINITY, |au| au.norm(p / (p - 1.0)));
    // In advance, |sum over any n of a round|^2 / n is at most the sum of all squares.
    let (updates, formula) = match scope {
        Scope::Mistakes => {
            let squares = transcript
                .mistaken_rounds()
                .map(|(mistakes, known)| update_norm(transcript, geometry, &mistakes, known, p).powi(2));
            (squares.sum::<f64>(), Formula::Root)
        }
        Scope::Everything => {
            let square = |at: usize, known: usize| update_norm(transcript, geometry, &[at], known, p).powi(2);
            let rounds = transcript.rounds();
            let squares = rounds.map(|(round, known)| round.map(|at| square(at, known)).sum::<f64>());
            (squares.fold(0.0, f64::max), Formula::Solved)
        }
    };
    let complexity = if updates == 0.0 { 0.0 } else { dual * dual * (p - 1.0) * updates };
    let details = vec![("p", p), ("|Au|_q", dual), ("sum |R_i x|_p^2", updates)];
    Parts { complexity, constant: 0.0, formula, details }
}

/// `|sum_i y_i R_{.,i} x_i|_p` over some examples of a round.
fn update_norm(
    transcript: &Transcript,
    geometry: &Geometry,
    examples: &[usize],
    known: usize,
    p: f64,
) -> f64 {
    if let [at] = examples {
        let example = transcript.example(*at);
        let x = norm(example.features.values().iter().copied(), p);
        return x * geometry.column_norm(example.task, known, p);
    }
    let mut update = BTreeMap::<(u32, u32), f64>::new();
    for at in examples {
        let example = transcript.example(*at);
        for (task, rate) in geometry.column(example.task, known) {
            for (feature, value) in example.features.iter() {
                *update.entry((task.0, feature)).or_default() += example.label * rate * value;
            }
        }
    }
    norm(update.values().copied(), p)
}

/// Theorem 6, for d features.
pub(super) fn theorem_6(
    features: u32,
    transcript: &Transcript,
    geometry: &Geometry,
    u: &Comparator,
    scope: Scope,
) -> Parts {
    let counted = (0..transcript.len()).filter(|at| scope == Scope::Everything || transcript.is_mistake(*at));
    let largest = |at: usize| {
        let values = transcript.example(at).features.values().iter();
        values.fold(0.0_f64, |largest, value| largest.max(value.abs()))
    };
    let longest = counted.map(largest).fold(0.0, f64::max);
    let sum = geometry.times_a(u).map_or(f64::INFINITY, |au| au.norm(1.0));
    let tasks = transcript.tasks() as f64;
    let size = tasks.max(f64::from(features));
    let h = 8.0 * E * E * size.ln() / (tasks + 1.0).powi(2) * longest * longest * sum * sum;
    let details = vec![("X_inf", longest), ("sum |u_i + sum_j (u_i - u_j)|_1", sum)];
    Parts { complexity: h, constant: 0.0, formula: Formula::Doubled, details }
}
