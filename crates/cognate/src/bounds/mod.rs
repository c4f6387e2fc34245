//! Bounds as certificates: the mistakes of a run beside those that the theorems of MP10 and MB12 allow, and the regret of
//! one beside that of ROM17's.
//!
//! Every theorem compares a learner with *any* fixed vectors u = (u_1, …, u_K): its mistakes are at most the hinge
//! losses L of u on the mistaken rounds, plus what u costs. So a run, its stream and a [`Comparator`] give a
//! [`Certificate`] per theorem: both sides, and whether it holds. The comparator may be given, or be found in hindsight
//! ([`Theorems::hindsight`]).
//!
//! | learner | theorems |
//! |---|---|
//! | `perceptron`, `kernel-perceptron` | Theorem 1; Corollary 3 (`pairwise`), 4 (`coupled`), 5 (`graph`) |
//! | `p-norm-perceptron` | (9) for any A and p; Theorem 6 (`pairwise`, its default p) |
//! | `second-order-perceptron` | Theorem 8, with any a |
//! | `schatten-perceptron` | Theorem 9 |
//! | `shared-loss-perceptron` | Remark 12, which bounds the cumulative shared loss |
//! | `budget-random` | MB12 Theorem 1, which bounds the mean over its draws |
//! | `budget-forgetron` | MB12 Theorem 2 |
//! | `rom-pgd` with a given eta, `rom-rda` | ROM17 Theorems 3 and 6, which bound losses and penalties together |
//!
//! The theorems are for examples of length 1; here they are stated for any length, so that on length 1 they are what
//! is in print. The file of each says how, and what becomes of it in simultaneous rounds and when tasks are
//! added as they occur. With a kernel other than `linear` a comparator is no vector but is given by its dual coefficients
//! ([`DualComparator`]), for `kernel-perceptron`, `budget-random` and `budget-forgetron`.
//!
//! A bound over mistaken rounds is known only afterwards. Beside it stands its value *in advance*: losses and lengths
//! over all rounds, for which no learner has to be run.
//!
//! A bound is *vacuous* where it allows what no theorem is needed for: as much as a mistake on every example, or, with
//! u = 0, whose hinge loss is 1 everywhere, the very mistakes that were made.
//!
//! ```
//! use cognate::bounds::{Comparator, Theorems, Transcript};
//! use cognate::{Example, LearnerConfig, SparseView, TaskId, Tasks};
//!
//! let config: LearnerConfig = serde_json::from_str(r#"{"perceptron": {"interaction": "independent"}}"#)?;
//! let theorems = Theorems::of(&config, &Tasks::numbered(1), None)?;
//! // One mistake, at margin 0; u = 2 has margin 2 there, so no loss, and length 4.
//! let mut transcript = Transcript::new(1);
//! let x = SparseView::try_new(&[0], &[1.0])?;
//! transcript.push_round([(Example::new(TaskId(0), x, 1.0), 0.0)]);
//! let certificates = theorems.certify(&transcript, &Comparator::dense(&[vec![2.0]]))?;
//! assert_eq!((certificates[0].name, certificates[0].found, certificates[0].bound), ("Theorem 1", 1.0, 4.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod budget;
mod comparator;
mod dual;
mod geometry;
mod hindsight;
mod p_norm;
mod perceptron;
mod regret;
mod schatten;
mod second_order;
mod theorem;
mod theorems;
mod transcript;

pub use comparator::Comparator;
pub use dual::{DualComparator, MOST_EXAMPLES};
pub use geometry::Geometry;
pub use perceptron::BestCoupling;
pub use second_order::MOST_MISTAKES;
pub use theorem::Theorem;
pub use theorems::Theorems;
pub use transcript::Transcript;

use serde::Serialize;

use crate::error::ConfigError;

/// A theorem applied to a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Certificate {
    /// Name of the theorem: its place in MP10, or in the paper that it names.
    pub name: &'static str,
    /// What is counted.
    pub counted: Counted,
    /// What was counted: the left-hand side.
    pub found: f64,
    /// The right-hand side, losses over the mistaken rounds; what is infinite is null in JSON.
    pub bound: f64,
    /// L: the comparator's loss.
    pub loss: f64,
    /// D: what the comparator costs beside its loss.
    pub complexity: f64,
    /// How the right-hand side is made of L and D.
    pub formula: &'static str,
    /// The right-hand side with losses and lengths over all rounds: what could be promised without running a learner.
    pub in_advance: f64,
    /// Whether the left-hand side is at most the right-hand side.
    pub holds: bool,
    /// Whether it would hold whatever the learner did.
    pub vacuous: bool,
    /// What D is made of, by name.
    pub parts: Vec<Detail>,
}

/// A number by name.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Detail {
    /// As in the paper.
    pub name: &'static str,
    /// The number.
    pub value: f64,
}

/// What a theorem bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Counted {
    /// The number of mistakes.
    Mistakes,
    /// The sum over rounds of a norm of the hinge losses of all tasks.
    SharedLoss,
    /// Hinge losses and penalties, whose excess over the comparator's is the regret.
    PenalisedLoss,
}

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BoundError {
    /// The learner has no theorem here.
    #[error("no bound is known for `{learner}`; there is one for {}", theorems::learners().join(", "))]
    NoTheorem {
        /// The learner's id.
        learner: &'static str,
    },
    /// A kernel under which comparators are not vectors.
    #[error(
        "the kernel is `{kernel}`; this bound is for vectors, and those are comparators of `linear` only"
    )]
    Kernel {
        /// The kernel.
        kernel: String,
    },
    /// A theorem that needs more of a comparator than its margins and its length.
    #[error("{theorem} is for comparators that are vectors, not for dual coefficients")]
    Dual {
        /// The theorem.
        theorem: &'static str,
    },
    /// The Gram matrix of the examples would be too large.
    #[error(
        "{examples} examples; a comparator in the space of a kernel is sought among at most {limit}: give one"
    )]
    TooManyExamples {
        /// How many there are.
        examples: usize,
        /// The most there may be.
        limit: usize,
    },
    /// A parameter is not what the theorem needs.
    #[error("{name}: {found}; {expected}")]
    Parameter {
        /// Its name.
        name: &'static str,
        /// Its value.
        found: String,
        /// What the theorem needs.
        expected: &'static str,
    },
    /// The theorem is for a fixed R.
    #[error(
        "{theorem} needs a fixed number of tasks, but {tasks} tasks were added as they occurred; declare them"
    )]
    Grown {
        /// The theorem.
        theorem: &'static str,
        /// K in the end.
        tasks: usize,
    },
    /// The theorem is for comparators that do not move.
    #[error(
        "{theorem} is for vectors that do not move; those that do are compared by MB12 Theorem 1 (`budget-random`)"
    )]
    Moving {
        /// The theorem.
        theorem: &'static str,
    },
    /// The theorem is for one task per round.
    #[error("{theorem} is for one example per round, but the stream is simultaneous")]
    Simultaneous {
        /// The theorem.
        theorem: &'static str,
    },
    /// The Gram matrix of the mistakes would be too large.
    #[error(
        "{mistakes} mistakes; Theorem 8 takes the determinant of their Gram matrix, of at most {limit} rows"
    )]
    TooManyMistakes {
        /// How many there are.
        mistakes: usize,
        /// The most there may be.
        limit: usize,
    },
    /// The interaction does not fit the tasks.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// Over which rounds losses and lengths are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Mistakes,
    Everything,
}

/// How a right-hand side is made of loss and complexity.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Formula {
    Solved,
    Doubled,
    Root,
    Sum,
    Fourfold,
    Divided { share: f64 },
}

impl Formula {
    fn text(self) -> &'static str {
        match self {
            Self::Solved => "L + D + sqrt(D L)",
            Self::Doubled => "L + D + sqrt(2 D L)",
            Self::Root => "L + sqrt(D)",
            Self::Sum => "L + D",
            Self::Fourfold => "4 L + D",
            Self::Divided { .. } => "(L + D)/(1 - e)",
        }
    }

    fn bound(self, loss: f64, complexity: f64) -> f64 {
        if complexity == f64::INFINITY {
            return complexity;
        }
        match self {
            Self::Solved => loss + complexity + (complexity * loss).sqrt(),
            Self::Doubled => loss + complexity + (2.0 * complexity * loss).sqrt(),
            Self::Root => loss + complexity.sqrt(),
            Self::Sum => loss + complexity,
            Self::Fourfold => 4.0 * loss + complexity,
            Self::Divided { share } => (loss + complexity) / (1.0 - share),
        }
    }
}

/// D of a theorem: `complexity` grows with the square of u's length, `constant` not at all.
#[derive(Debug, Clone)]
struct Parts {
    complexity: f64,
    constant: f64,
    formula: Formula,
    details: Vec<(&'static str, f64)>,
}
