//! Learning from all examples at once: the optimisation behind the learner `convex` (CS15).
//!
//! The problem is to minimise, over the functions f_t of the tasks and a positive semidefinite A,
//!
//! ```text
//! sum_i w_i loss(y_i, f_t(x_i)) + lambda tr(A^-1 (W'W + delta^2 I)) + ridge tr(W'W) + F(A)        (S^delta of CS15)
//! ```
//!
//! where f_t(x) = phi(x)'w_t + b_t, and w_i is the weight of an example times that of its class, over the sum of these of its
//! task where `weights = "mean"`. Examples become [`Examples`] (`data`: inputs, each once, and the outputs of tasks
//! there); inputs become coordinates phi in which the solvers work, whatever the kernel (`basis`); together with a
//! `loss` they are a `problem`. A `penalty` is what A may be and costs; `structure` finds the best A for given W.
//! `supervised` finds the best W for given A, `alternating` does both in turn, `proximal` works on W alone, `splitting`
//! takes losses (`squares`, `hinge`) and penalty apart; `gap` says how far from the minimum a W can be. `fitter` puts them
//! together, `select` chooses parameters by cross-validation.

mod alternating;
mod basis;
mod data;
mod error;
mod fitter;
mod gap;
mod hinge;
mod loss;
mod penalty;
mod problem;
mod proximal;
mod select;
mod splitting;
mod squares;
mod structure;
mod supervised;

pub(crate) use basis::Kept;
pub use data::{Examples, Kind};
pub use error::FitError;
pub use fitter::{FitOptions, FitStatus, Fitted, Fitter, Method, Start, Stopped, Watch, fit};
pub use loss::Loss;
pub(crate) use penalty::{Cluster, Penalty};
pub use select::{Candidate, Fold, Score, Selection, folds, score, select};
pub(crate) use structure::Terms;
