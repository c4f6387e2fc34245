//! Examples collected for a model to learn together, or not at all.

use super::Model;
use crate::run::{self, Observer, RunError};
use crate::stream::{Features, NameSource, Problem, StreamError, TableError, meet_task, task_name};

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
        self.given.clear();
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
        let row = self.model.given.batch().len();
        self.add(task, features, label)
            .map_err(|problem| StreamError::from(TableError::Row { row, problem }).into())
    }

    fn add(&mut self, task: Option<&str>, features: Features<'_>, label: Option<f64>) -> Result<(), Problem> {
        let model = &mut *self.model;
        let undecided = model.is_undecided();
        if let Some(named) = features.are_named().filter(|_| undecided) {
            model.decide(named);
        }
        let met = model.names.len();
        let limit = model.config.features;
        let mut names = NameSource::Learning(&mut model.names);
        let added = model.given.open(features, label, limit, &mut names).and_then(|label| {
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
