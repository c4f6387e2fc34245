//! What few examples have, and not every learner takes.

use super::RunError;
use crate::algorithms::{About, Unfit};
use crate::example::Example;
use crate::fit::Kind;
use crate::hint::Hint;
use crate::model::Model;
use crate::stream::Batch;

/// What examples may have that not every learner takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rare {
    /// Weights other than 1.
    Weights,
    /// Offsets other than 0.
    Offsets,
}

impl Rare {
    /// The way out where a learner does not take it.
    pub(crate) fn hint(self) -> Hint {
        match self {
            Self::Weights => Hint::Weights,
            Self::Offsets => Hint::Offsets,
        }
    }
}

impl std::fmt::Display for Rare {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Weights => "weights",
            Self::Offsets => "offsets",
        })
    }
}

/// Checks that the learner makes something of whatever examples have beside features and label.
pub(super) fn check_rare(about: &'static About, batch: &Batch) -> Result<(), RunError> {
    let refused = |what: Rare| Err(RunError::NotHonoured { learner: about.id, what });
    match () {
        () if !about.weights && batch.has_weights() => refused(Rare::Weights),
        () if !about.offsets && batch.has_offsets() => refused(Rare::Offsets),
        () => Ok(()),
    }
}

/// Checks that every labelled example is one that the learner can learn.
pub(super) fn check_fit(model: &Model, batch: &Batch) -> Result<(), RunError> {
    let (learner, needs_times) = (&model.config.learner, model.config.learner.needs_times());
    if !needs_times && learner.kind() == Kind::Classification {
        return Ok(());
    }
    let unfit = |example: &Example<'_>| {
        let timeless = needs_times && example.time.is_none();
        if timeless { Some(Unfit::NoTime) } else { learner.unfit(example.label) }
    };
    let mut labelled = batch.examples().enumerate().filter(|(_, example)| !example.label.is_nan());
    let found = labelled.find_map(|(at, example)| unfit(&example).map(|why| (at, example.task, why)));
    found.map_or(Ok(()), |(at, task, why)| {
        let round = if model.config.simultaneous { model.rounds + 1 } else { model.rounds + at as u64 + 1 };
        // One that is checked before it is met has no name here.
        let known = task.index() < model.tasks.len();
        let task = if known { model.tasks.name(task).to_owned() } else { String::new() };
        Err(RunError::Unfit { round, task, why })
    })
}
