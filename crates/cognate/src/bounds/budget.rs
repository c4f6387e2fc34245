//! MB12's theorems: learners in fixed memory, which compete with comparators that are not too long for their budget B.
//!
//! With c^2 the largest `R_ii |x|^2` and U^2 = u'Au, for a comparator that does not move under Theorem 2, and may move under
//! Theorem 1, where U is the largest of them all and S, the total shift, the sum of sqrt((u_t - u_t-1)'A (u_t - u_t-1)):
//!
//! ```text
//! Theorem 1 (budget-random):     E m <= (L + c S sqrt(B) + e (B^(3/2)/2 + (B/4) ln(B/3))) / (1 - e),   U <= e sqrt(B) / (2 c)
//! Theorem 2 (budget-forgetron):    m <= 4 L + (B + 1) / (2 ln(B + 1)),   U <= sqrt((B + 1)/ln(B + 1)) / (4 c),  B > 83
//! ```
//!
//! e is free in (0, 1), and the bound grows with it: the smallest that allows U is taken. Theorem 1 is about the mean over
//! the draws, so that a single run may be above it; its L is over all rounds. In print c is that of the graph alone, for
//! examples of length 1. A comparator beyond U has no bound: D is infinite.

use super::comparator::Comparator;
use super::geometry::{Geometry, combine};
use super::perceptron::largest_possible_rate;
use super::transcript::Transcript;
use super::{BoundError, Formula, Parts};
use crate::example::TaskId;

/// Which theorem, and the B that it is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Budgeted {
    Random { budget: f64 },
    Forgetron { budget: f64, bound: f64 },
}

/// The least budget that Theorem 2 speaks of.
pub(super) const LEAST_BUDGET: u64 = 84;

impl Budgeted {
    /// The largest U that there is a bound for, and that of e = 1.
    pub(super) fn longest(self, transcript: &Transcript, geometry: &Geometry) -> f64 {
        self.longest_for(self.square(transcript, geometry))
    }

    /// The same for a c^2.
    pub(super) fn longest_for(self, square: f64) -> f64 {
        let c = square.sqrt();
        match self {
            Self::Random { budget } => budget.sqrt() / (2.0 * c),
            Self::Forgetron { budget, .. } => ((budget + 1.0) / (budget + 1.0).ln()).sqrt() / (4.0 * c),
        }
    }

    /// c^2.
    fn square(self, transcript: &Transcript, geometry: &Geometry) -> f64 {
        match self {
            Self::Random { .. } => largest_possible_rate(transcript, geometry),
            Self::Forgetron { bound, .. } => {
                let tasks = transcript.tasks();
                let diagonal = |task: u32| geometry.relation(TaskId(task), TaskId(task), tasks);
                (0..tasks as u32).map(diagonal).fold(0.0, f64::max) * bound
            }
        }
    }

    /// That the run is one the theorem speaks of.
    pub(super) fn check(self, transcript: &Transcript) -> Result<(), BoundError> {
        self.check_lengths((0..transcript.len()).map(|at| transcript.example(at).features.norm_squared()))
    }

    /// The same by k(x, x) of all examples.
    pub(super) fn check_lengths(self, lengths: impl Iterator<Item = f64>) -> Result<(), BoundError> {
        let longest = lengths.fold(0.0, f64::max);
        match self {
            // Rows scaled to length 1 are longer by a rounding error.
            Self::Forgetron { bound, .. } if longest > bound * (1.0 + 1e-9) => Err(BoundError::Parameter {
                name: "bound",
                found: bound.to_string(),
                expected: "Theorem 2 is for a bound that no k(x, x) of the stream exceeds",
            }),
            _ => Ok(()),
        }
    }

    pub(super) fn parts(self, transcript: &Transcript, geometry: &Geometry, u: &Comparator) -> Parts {
        self.parts_of_sequence(transcript, geometry, &[u])
    }

    /// The same for comparators that follow each other; Theorem 2 is for one of them.
    pub(super) fn parts_of_sequence(
        self,
        transcript: &Transcript,
        geometry: &Geometry,
        sequence: &[&Comparator],
    ) -> Parts {
        let square = self.square(transcript, geometry);
        let quadratic = sequence.iter().map(|u| geometry.quadratic(u)).fold(0.0, f64::max);
        let apart = |pair: &[&Comparator]| {
            let step = combine(transcript.tasks(), |task| {
                vec![(1.0, pair[1].vector(task)), (-1.0, pair[0].vector(task))]
            });
            geometry.quadratic(&step).sqrt()
        };
        let shift = (sequence.len() > 1).then(|| sequence.windows(2).map(apart).sum());
        self.parts_from(square, quadratic, shift)
    }

    /// The same from c^2, U^2, and S of comparators that move.
    pub(super) fn parts_from(self, square: f64, quadratic: f64, shift: Option<f64>) -> Parts {
        let used = if quadratic == 0.0 { 0.0 } else { quadratic.sqrt() / self.longest_for(square) };
        let (constant, formula, budget) = match self {
            Self::Random { budget } => {
                let growth = budget * budget.sqrt() / 2.0 + budget / 4.0 * (budget / 3.0).ln();
                // For the smallest budgets the second term is negative.
                let moved = square.sqrt() * shift.unwrap_or(0.0) * budget.sqrt();
                (used * growth.max(0.0) + moved, Formula::Divided { share: used }, budget)
            }
            Self::Forgetron { budget, .. } => {
                ((budget + 1.0) / (2.0 * (budget + 1.0).ln()), Formula::Fourfold, budget)
            }
        };
        let beyond = match self {
            Self::Random { .. } => used >= 1.0,
            Self::Forgetron { .. } => used > 1.0 + 1e-9,
        };
        let constant = if beyond { f64::INFINITY } else { constant };
        let mut details =
            vec![("c^2", square), ("u'Au", quadratic), ("B", budget), ("share of the longest u", used)];
        details.extend(shift.map(|shift| ("S", shift)));
        Parts { complexity: 0.0, constant, formula, details }
    }
}
