//! Why examples cannot be fitted.

use crate::error::ConfigError;
use crate::hint::Hint;
use crate::run::Rare;
use crate::stream::StreamError;

/// Why a batch could not be fitted. Not reaching the minimum is not an error; see [`super::FitStatus`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// The stream could not be read.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// Parameters are out of range, or do not fit the examples.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The kernel, the loss or the intercept is another than the examples were prepared for.
    #[error("the examples were prepared for another kernel, loss or intercept")]
    Unprepared,
    /// Examples have something that a fit does not know what to do with.
    #[error("`convex` knows nothing of {what}, and examples have some")]
    NotHonoured {
        /// What examples have.
        what: Rare,
    },
    /// There is nothing to fit.
    #[error("there are no labelled examples to fit")]
    Empty,
    /// A declared task has no labelled example that counts for something.
    #[error(
        "task {task:?} has no labelled examples of a weight above 0; leave it out of the declared tasks, or give it some"
    )]
    EmptyTask {
        /// The task.
        task: String,
    },
    /// A label is beyond what can be squared and summed.
    #[error("task {task:?} has the label {label:e}; labels must be finite and at most 1e100")]
    Label {
        /// The task.
        task: String,
        /// The label.
        label: f64,
    },
    /// All labels are the same.
    #[error("every label is {label}; there is nothing to learn")]
    Constant {
        /// The label.
        label: f64,
    },
    /// A loss for two classes met another label.
    #[error(
        "label {label}: `loss = \"{loss}\"` needs two classes, -1 and +1 or 0 and 1; real labels need \"squares\""
    )]
    NotClasses {
        /// The label.
        label: f64,
        /// The loss.
        loss: &'static str,
    },
    /// Classes have weights, and there are none.
    #[error("stream.class-weight: labels are real numbers, which have no classes")]
    NoClasses,
    /// The config weighs classes, and the examples are not weighed so.
    #[error("stream.class-weight: the examples are not weighed so; `Examples::weigh_classes` does that")]
    Unweighed,
    /// Matrices would take more memory than is available.
    #[error(
        "{what} needs {:.1} GB of memory, {:.1} GB are available; use fewer examples{}", *bytes as f64 / 1e9,
        *limit as f64 / 1e9, if *linear { " or features" } else { ", or the linear kernel on few features" }
    )]
    TooLarge {
        /// What is too large.
        what: String,
        /// Bytes that it needs.
        bytes: u64,
        /// Bytes that are available.
        limit: u64,
        /// Whether the kernel is linear.
        linear: bool,
    },
    /// A kernel value or a sum left the range of numbers.
    #[error("{what} is not finite")]
    NotFinite {
        /// What overflowed.
        what: &'static str,
    },
    /// A task has too few examples for the folds.
    #[error(
        "task {task:?} has {examples} examples, fewer than {folds} folds; use fewer folds, or leave the task out"
    )]
    Folds {
        /// The task.
        task: String,
        /// Its examples.
        examples: usize,
        /// The folds asked for.
        folds: usize,
    },
    /// Fewer than two folds.
    #[error("{folds} folds: at least 2 are needed")]
    FewFolds {
        /// The folds asked for.
        folds: usize,
    },
}

impl FitError {
    /// A way out, if one is known.
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Stream(error) => error.hint(),
            Self::NotFinite { .. } => Some(Hint::Scale),
            Self::NotHonoured { what } => Some(what.hint()),
            _ => None,
        }
    }
}
