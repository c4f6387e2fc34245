//! Theorem 1 and its corollaries: the multitask Perceptron, primal or dual.
//!
//! With psi the instances as A^-1 makes them, the proof gives, for the mistakes M_t of each round t,
//!
//! ```text
//! (m - L)^2 <= u'Au sum_t |sum_{i in M_t} y_i psi_i|^2,   psi_i'psi_j = R_ij x_i'x_j
//! ```
//!
//! and so m <= L + D + sqrt(D L) with D = u'Au times the largest, or the mean, of those squares over the number of
//! mistakes of their round: the *rate*. With one example per round the rate is `R_ii |x|^2`, and on instances of
//! length 1 its largest value is at most the `max_i R_ii` of Theorem 1. When tasks are added as they occur, R is that of
//! the tasks known in the round: for every uniform interaction it only shrinks as K grows, and the proof goes
//! through with the last A.

use super::comparator::{Comparator, dot, merge_dot};
use super::geometry::{Connectivity, Geometry};
use super::transcript::Transcript;
use super::{Formula, Parts, Scope};

/// Which of the rates of all rounds enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rate {
    Largest,
    Mean,
}

/// Which form of u'Au is told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Told {
    Theorem1(Rate),
    Corollary3,
    Corollary4 { b: f64 },
    Corollary5,
}

pub(super) fn parts(
    told: Told,
    transcript: &Transcript,
    geometry: &Geometry,
    u: &Comparator,
    scope: Scope,
) -> Parts {
    let rate = match (told, scope) {
        (_, Scope::Everything) => largest_possible_rate(transcript, geometry),
        (Told::Theorem1(Rate::Mean), Scope::Mistakes) => mean_rate(transcript, geometry),
        (_, Scope::Mistakes) => largest_rate(transcript, geometry),
    };
    let lengths = u.norm_squared();
    let distances = u.centroid().1;
    let tasks = transcript.tasks() as f64;
    let (quadratic, mut details) = match told {
        Told::Theorem1(_) => (geometry.quadratic(u), Vec::new()),
        // sum over pairs of |u_i - u_j|^2 is K times the sum of |u_i - ubar|^2.
        Told::Corollary3 => (lengths + tasks * distances, vec![("sum |u_i - u_j|^2", tasks * distances)]),
        Told::Corollary4 { b } => {
            (lengths + b * distances, vec![("b", b), ("VAR", distances / tasks.max(1.0))])
        }
        Told::Corollary5 => {
            let quadratic = geometry.quadratic(u);
            let mut details = vec![("sum over edges |u_i - u_j|^2", quadratic - lengths)];
            if let Some(Connectivity { lambda_2, largest }) = geometry.connectivity(transcript.tasks()) {
                let at_most = 1.0 / tasks + (1.0 - 1.0 / tasks) / (1.0 + lambda_2);
                details.extend([("lambda_2", lambda_2), ("c_G", largest), ("c_G by lambda_2", at_most)]);
            }
            (quadratic, details)
        }
    };
    details.insert(0, ("rate", rate));
    details.insert(1, ("u'Au", quadratic));
    details.insert(2, ("sum |u_i|^2", lengths));
    Parts { complexity: times(rate, quadratic), constant: 0.0, formula: Formula::Solved, details }
}

/// A product that is 0 where a factor is, even of something infinite.
fn times(rate: f64, quadratic: f64) -> f64 {
    if rate == 0.0 { 0.0 } else { rate * quadratic }
}

/// `|sum_i y_i psi_i|^2` over some examples of a round.
fn length_squared(transcript: &Transcript, geometry: &Geometry, examples: &[usize], known: usize) -> f64 {
    let pairs = examples.iter().flat_map(|a| examples.iter().map(move |b| (*a, *b)));
    pairs.map(|(a, b)| signed_product(transcript, geometry, a, b, known)).sum()
}

/// `y_a y_b psi_a'psi_b`.
fn signed_product(transcript: &Transcript, geometry: &Geometry, a: usize, b: usize, known: usize) -> f64 {
    let (a, b) = (transcript.example(a), transcript.example(b));
    a.label * b.label * geometry.relation(a.task, b.task, known) * dot(a.features, b.features)
}

fn largest_rate(transcript: &Transcript, geometry: &Geometry) -> f64 {
    let rate = |(mistakes, known): (Vec<usize>, usize)| {
        length_squared(transcript, geometry, &mistakes, known) / mistakes.len() as f64
    };
    transcript.mistaken_rounds().map(rate).fold(0.0, f64::max)
}

fn mean_rate(transcript: &Transcript, geometry: &Geometry) -> f64 {
    let length =
        |(mistakes, known): (Vec<usize>, usize)| length_squared(transcript, geometry, &mistakes, known);
    transcript.mistaken_rounds().map(length).sum::<f64>() / transcript.mistakes().max(1) as f64
}

/// The largest rate that any mistakes could have: that of some examples of a round is a Rayleigh quotient of their
/// signed Gram matrix, so at most its largest sum of absolute values in a row.
pub(super) fn largest_possible_rate(transcript: &Transcript, geometry: &Geometry) -> f64 {
    let mut largest = 0.0_f64;
    for (round, known) in transcript.rounds() {
        for a in round.clone() {
            let row = round.clone().map(|b| signed_product(transcript, geometry, a, b, known).abs());
            largest = largest.max(row.sum());
        }
    }
    largest
}

/// The strength of coupling that Corollary 4 recommends, in hindsight.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct BestCoupling {
    /// `max{0, sqrt((K-1) |ubar|^2 / VAR[u]) - 1}`; infinite, and so null in JSON, for equal tasks.
    pub b: f64,
    /// D at that b.
    pub complexity: f64,
    /// What is promised in advance for a run with that b and all tasks declared.
    pub in_advance: f64,
}

/// The best b for a comparator whose loss over all rounds is given.
pub(super) fn best_coupling(transcript: &Transcript, u: &Comparator, loss: f64) -> BestCoupling {
    let others = transcript.tasks().max(1) as f64 - 1.0;
    let (centroid, distances) = u.centroid();
    let mean = merge_dot(&centroid, &centroid);
    let variance = distances / (others + 1.0);
    let b = if variance > 0.0 { ((others * mean / variance).sqrt() - 1.0).max(0.0) } else { f64::INFINITY };
    let at_best = if b == 0.0 {
        u.norm_squared()
    } else {
        let root = mean.sqrt() + (others * variance).sqrt();
        root * root
    };
    let longest = (0..transcript.len()).map(|at| transcript.example(at).features.norm_squared());
    let complexity = times(longest.fold(0.0, f64::max), at_best);
    BestCoupling { b, complexity, in_advance: Formula::Solved.bound(loss, complexity) }
}
