//! Examples collected for a model to learn together, or not at all.

use super::Model;
use crate::example::{is_valid, is_weight};
use crate::fit::Kind;
use crate::run::{self, Observer, RunError};
use crate::stream::{Batch, Features, NameSource, Problem, StreamError, TableError, meet_task, task_name};

/// What an example has beside task, features and label.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Beside {
    /// Its importance: it is learnt as if it had been seen so many times. At least 0; 1 by default.
    pub weight: f64,
    /// What is added to its margin, and not learnt; 0 by default.
    pub offset: f64,
    /// When it was, in seconds; none by default.
    pub time: Option<f64>,
}

impl Default for Beside {
    fn default() -> Self {
        Self { weight: 1.0, offset: 0.0, time: None }
    }
}

impl Beside {
    /// Only a weight.
    pub fn weight(weight: f64) -> Self {
        Self { weight, ..Self::default() }
    }

    /// Checks all of it, and gives it to the example under way.
    pub(super) fn give(self, batch: &mut Batch) -> Result<(), Problem> {
        let Self { weight, offset, time } = self;
        if !is_weight(weight) {
            return Err(Problem::Weight { found: weight.to_string() });
        }
        if !is_valid(offset) {
            return Err(Problem::Offset { found: offset.to_string() });
        }
        if let Some(time) = time.filter(|time| !time.is_finite()) {
            return Err(Problem::Time { found: time.to_string() });
        }
        if weight != 1.0 {
            batch.set_weight(weight);
        }
        if offset != 0.0 {
            batch.set_offset(offset);
        }
        if let Some(time) = time {
            batch.set_time(time);
        }
        Ok(())
    }
}

/// Examples on their way into a model: learnt together by [`Self::learn`], or forgotten when dropped.
#[derive(Debug)]
pub struct Rows<'m> {
    model: &'m mut Model,
    /// Names of features and tasks that the model knew before.
    known: (usize, usize),
    was_undecided: bool,
    learnt: bool,
}

impl Model {
    /// Begins to collect examples.
    pub fn rows(&mut self) -> Rows<'_> {
        self.given.clear(self.kind().unwrap_or(Kind::Classification));
        let known = (self.names.len(), self.tasks.len());
        let was_undecided = self.is_undecided();
        Rows { model: self, known, was_undecided, learnt: false }
    }
}

impl Rows<'_> {
    /// Adds an example; without a task it belongs to the task `default`, without a label it is only predicted.
    ///
    /// # Errors
    /// When features, task or label are invalid; the examples before it are still there.
    pub fn push(
        &mut self,
        task: Option<&str>,
        features: Features<'_>,
        label: Option<f64>,
    ) -> Result<(), RunError> {
        self.push_with(task, features, label, Beside::default())
    }

    /// As [`Self::push`], with a weight, an offset or a time.
    ///
    /// # Errors
    /// As [`Self::push`]; when a weight is negative or no number, or another number is not finite.
    pub fn push_with(
        &mut self,
        task: Option<&str>,
        features: Features<'_>,
        label: Option<f64>,
        beside: Beside,
    ) -> Result<(), RunError> {
        let row = self.model.given.batch().len();
        self.add(task, features, label, beside)
            .map_err(|problem| StreamError::from(TableError::Row { row, problem }).into())
    }

    fn add(
        &mut self,
        task: Option<&str>,
        features: Features<'_>,
        label: Option<f64>,
        beside: Beside,
    ) -> Result<(), Problem> {
        let model = &mut *self.model;
        let undecided = model.is_undecided();
        if let Some(named) = features.are_named().filter(|_| undecided) {
            model.decide(named);
        }
        let met = model.names.len();
        let limit = model.config.features;
        let mut names = NameSource::Learning(&mut model.names);
        let added = model.given.open(features, label, limit, &mut names).and_then(|label| {
            beside.give(model.given.batch_mut())?;
            let name = task_name(task)?;
            Ok((meet_task(&mut model.tasks, name)?, label))
        });
        match added {
            Ok((task, label)) => {
                model.given.close(task, label, &model.config.preprocess);
                Ok(())
            }
            Err(problem) => {
                model.given.abandon();
                model.names.keep_first(met);
                if undecided {
                    model.undecide();
                }
                Err(problem)
            }
        }
    }

    /// Number of examples.
    pub fn len(&self) -> usize {
        self.model.given.batch().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the examples can be learnt. What this takes, [`Self::learn`] takes as well, unless the learner diverges or a round
    /// is not complete.
    ///
    /// # Errors
    /// When the learner takes no weights, offsets or labels like these, or not so many tasks.
    pub fn check(&self) -> Result<(), RunError> {
        run::check_batch(self.model, self.model.given.batch())
    }

    /// Learns the examples, one after the other, or in rounds if the model is simultaneous.
    ///
    /// # Errors
    /// As [`Model::learn`]; if no round was learnt, the model is unchanged.
    pub fn learn(mut self, observer: &mut dyn Observer) -> Result<(), RunError> {
        let model = &mut *self.model;
        let (batch, rounds) = (model.given.take(), model.rounds);
        let learnt = run::learn_met(model, &batch, observer);
        model.given.put_back(batch);
        self.learnt = model.rounds > rounds || learnt.as_ref().is_err_and(RunError::has_learnt);
        if self.learnt {
            model.settle_format();
        }
        learnt
    }
}

impl Drop for Rows<'_> {
    fn drop(&mut self) {
        if !self.learnt {
            self.model.names.keep_first(self.known.0);
            self.model.tasks.keep_first(self.known.1);
            if self.was_undecided {
                self.model.undecide();
            }
        }
    }
}
