//! Examples checked while others read the model, and learnt later: what is learnt need not be looked up twice.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use super::{Beside, Model};
use crate::example::TaskId;
use crate::feature_names::{FeatureNames, Naming};
use crate::fit::Kind;
use crate::run::{self, Observer, RunError};
use crate::stream::{
    Batch, Features, Given, NameSource, Problem, StreamError, TableError, task_name, unknown_task,
};

/// Examples that a model takes, all of them, as long as nothing but learning happens to it.
#[derive(Debug, Clone, Default)]
pub struct Prepared {
    pieces: Vec<Batch>,
    settled: bool,
    sure: bool,
}

impl Prepared {
    /// Whether the model takes what is new for sure; otherwise [`Rows::check`](super::Rows::check) knows.
    pub fn is_sure(&self) -> bool {
        self.sure
    }

    /// Whether all tasks and names of features were known: then [`Model::learn_prepared`] learns them piece by piece. Otherwise they
    /// are to be given to the model as [`Model::rows`].
    pub fn is_settled(&self) -> bool {
        self.settled
    }

    /// In how many pieces they are learnt.
    pub fn pieces(&self) -> usize {
        self.pieces.len()
    }
}

/// Examples on their way to be checked; the model does not change.
#[derive(Debug)]
pub struct Preparing<'m> {
    model: &'m Model,
    given: Given,
    /// Examples of a piece.
    piece: usize,
    prepared: Prepared,
    /// Names where the model has not learnt yet whether features have any.
    fresh: Option<FeatureNames>,
    /// Tasks that are new, with the numbers that they would get.
    new_tasks: BTreeMap<String, TaskId>,
}

impl Model {
    /// Begins to check examples, which are to be learnt in pieces of so many.
    pub fn prepare(&self, piece: NonZeroUsize) -> Preparing<'_> {
        let given = Given::new(self.kind().unwrap_or(Kind::Classification));
        let prepared = Prepared { pieces: Vec::new(), settled: true, sure: true };
        Preparing {
            model: self,
            given,
            piece: piece.get(),
            prepared,
            fresh: None,
            new_tasks: BTreeMap::new(),
        }
    }

    /// Learns one piece of examples that this model, or the model that it was before it learnt more, has prepared.
    ///
    /// # Errors
    /// As [`Model::learn`].
    ///
    /// # Panics
    /// When the examples have names that were new, or there is no such piece.
    pub fn learn_prepared(
        &mut self,
        prepared: &Prepared,
        piece: usize,
        observer: &mut dyn Observer,
    ) -> Result<(), RunError> {
        assert!(prepared.settled, "new names have no numbers yet");
        let rounds = self.rounds;
        let learnt = run::learn_met(self, &prepared.pieces[piece], observer);
        if self.rounds > rounds {
            self.settle_format();
        }
        learnt
    }
}

impl Preparing<'_> {
    /// Adds an example; without a task it belongs to the task `default`.
    ///
    /// # Errors
    /// When features, task, label or what is beside them are invalid.
    pub fn push(
        &mut self,
        task: Option<&str>,
        features: Features<'_>,
        label: Option<f64>,
        beside: Beside,
    ) -> Result<(), RunError> {
        if self.given.batch().len() == self.piece {
            self.end_piece()?;
        }
        let row = self.prepared.pieces.len() * self.piece + self.given.batch().len();
        self.add(task, features, label, beside).map_err(|problem| {
            self.given.abandon();
            StreamError::from(TableError::Row { row, problem }).into()
        })
    }

    fn add(
        &mut self,
        task: Option<&str>,
        features: Features<'_>,
        label: Option<f64>,
        beside: Beside,
    ) -> Result<(), Problem> {
        let model = self.model;
        if let Some(named) = features.are_named().filter(|_| model.is_undecided()) {
            let naming = if named { Naming::Kept } else { Naming::Numbered };
            self.fresh.get_or_insert_with(|| FeatureNames::new(naming, model.config.features));
            (self.prepared.settled, self.prepared.sure) = (false, false);
        }
        let names = self.fresh.as_ref().unwrap_or(&model.names);
        let label =
            self.given.open(features, label, model.config.features, &mut NameSource::Looking(names))?;
        beside.give(self.given.batch_mut())?;
        let are_known = match names.naming() {
            Naming::Numbered | Naming::Hashed { names: false, .. } => true,
            Naming::Hashed { names: true, .. } => false,
            Naming::Kept => self.given.batch().open_last().is_none_or(|last| (last as usize) < names.len()),
        };
        let task = self.task(task_name(task)?)?;
        self.prepared.settled &= are_known && self.new_tasks.is_empty();
        // How many names are new in all is not counted.
        self.prepared.sure &= are_known || model.config.features.is_none();
        self.given.close(task, label, &model.config.preprocess);
        Ok(())
    }

    /// The number of a task, or the one that it would get.
    fn task(&mut self, name: &str) -> Result<TaskId, Problem> {
        let tasks = &self.model.tasks;
        if let Some(task) = tasks.find(name).or_else(|| self.new_tasks.get(name).copied()) {
            return Ok(task);
        }
        let next = tasks.len() + self.new_tasks.len();
        if let Some(declared) = tasks.limit().filter(|declared| next >= *declared) {
            return Err(unknown_task(tasks, name, declared));
        }
        let task = TaskId(next as u32);
        self.new_tasks.insert(name.to_owned(), task);
        Ok(task)
    }

    /// Tasks that are new.
    pub fn new_tasks(&self) -> impl ExactSizeIterator<Item = &str> {
        self.new_tasks.keys().map(String::as_str)
    }

    fn task_name(&self, task: TaskId) -> String {
        let known = task.index() < self.model.tasks.len();
        let new =
            || self.new_tasks.iter().find(|(_, number)| **number == task).map(|(name, _)| name.as_str());
        if known { self.model.tasks.name(task) } else { new().unwrap_or_default() }.to_owned()
    }

    fn end_piece(&mut self) -> Result<(), RunError> {
        let (model, before) = (self.model, self.prepared.pieces.len() * self.piece);
        let tasks = model.tasks.len() + self.new_tasks.len();
        let batch = self.given.take();
        run::check_examples(model, tasks, &batch).map_err(|error| match error {
            RunError::Unfit { round, why, .. } => {
                let at = (round - model.rounds - 1) as usize;
                let task = self.task_name(batch.example(at).task);
                RunError::Unfit { round: round + before as u64, task, why }
            }
            other => other,
        })?;
        self.prepared.pieces.push(batch);
        Ok(())
    }

    /// Whether the examples can be learnt. What this takes a model learns, unless the learner diverges.
    ///
    /// # Errors
    /// When the learner takes no weights, offsets or labels like these, or not so many tasks.
    pub fn finish(mut self) -> Result<Prepared, RunError> {
        self.end_piece()?;
        Ok(self.prepared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RunConfig;

    type Line<'a> = (&'a str, Vec<(&'a str, f64)>, f64);

    fn learn_rows(model: &mut Model, lines: &[Line<'_>]) {
        let mut rows = model.rows();
        for (task, features, label) in lines {
            rows.push(Some(task), features.into(), Some(*label)).unwrap();
        }
        rows.learn(&mut ()).unwrap();
    }

    fn prepared(model: &Model, lines: &[Line<'_>]) -> Result<Prepared, RunError> {
        let mut preparing = model.prepare(NonZeroUsize::new(2).unwrap());
        for (task, features, label) in lines {
            preparing.push(Some(task), features.into(), Some(*label), Beside::default())?;
        }
        preparing.finish()
    }

    #[test]
    fn what_is_prepared_is_learnt_as_rows_are() {
        let lines: Vec<Line<'_>> =
            vec![("a", vec![("x", 1.0), ("y", 0.5)], 1.0), ("b", vec![("y", 2.0)], 0.0), ("a", vec![], 1.0)];
        let mut model = Model::new(&RunConfig::default()).unwrap();
        let first = prepared(&model, &lines).unwrap();
        assert!(!first.is_settled() && !first.is_sure(), "nobody knows yet what features are");
        learn_rows(&mut model, &lines);
        let mut other = model.clone();
        let before = model.to_bytes();
        let known = prepared(&model, &lines).unwrap();
        assert!(known.is_settled() && known.is_sure() && known.pieces() == 2);
        assert!(model.to_bytes() == before, "looking changes nothing");
        // Others learn in between, and bring names.
        let strange: Vec<Line<'_>> = vec![("c", vec![("z", 1.0)], 1.0)];
        let stranger = prepared(&model, &strange).unwrap();
        assert!(!stranger.is_settled() && stranger.is_sure());
        learn_rows(&mut model, &strange);
        learn_rows(&mut other, &strange);
        (0..known.pieces()).for_each(|piece| model.learn_prepared(&known, piece, &mut ()).unwrap());
        learn_rows(&mut other, &lines);
        assert!(model.to_bytes() == other.to_bytes());
    }

    #[test]
    fn a_bad_example_is_refused_by_its_place() {
        let mut model = Model::new(&RunConfig::default()).unwrap();
        learn_rows(&mut model, &[("a", vec![("x", 1.0)], 1.0)]);
        let good: Line<'_> = ("a", vec![("x", 1.0)], 1.0);
        let bad: Line<'_> = ("a", vec![("x", 1.0), ("x", 2.0)], 1.0);
        for at in 0..5 {
            let mut lines = vec![good.clone(); 5];
            lines[at] = bad.clone();
            let refused = prepared(&model, &lines).unwrap_err();
            let expected = matches!(&refused, RunError::Stream(StreamError::Table(TableError::Row { row, .. })) if *row == at);
            assert!(expected, "{refused:?}");
        }
    }
}
