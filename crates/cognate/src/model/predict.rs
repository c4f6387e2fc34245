//! Predicting: one example, a batch, a stream.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use super::Model;
use crate::example::{Example, SparseView, TaskId, predicted_label};
use crate::feature_names::{FeatureNames, Naming};
use crate::fit::Kind;
use crate::stream::pipeline::for_each_batch;
use crate::stream::{
    Batch, Features, Given, NameSource, Problem, Stream, StreamError, TableError, UNNAMED_TASK, place_of,
    task_name, unknown_task,
};
use crate::tasks::Tasks;

/// Prediction for one example.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Prediction {
    /// The predicted label: -1 or +1; the margin itself where labels are real numbers.
    pub label: f64,
    /// The real-valued score; its sign is the prediction.
    pub margin: f64,
    /// The probability of the label +1; none if the learner's margins give no probability.
    pub probability: Option<f64>,
    /// The standard deviation of the margin; none if the learner does not know it, or it was not asked for.
    pub uncertainty: Option<f64>,
}

/// Buffers for predictions one by one.
#[derive(Debug)]
pub struct Scratch(Given);

impl Default for Scratch {
    fn default() -> Self {
        Self(Given::new(Kind::Classification))
    }
}

/// A batch of a stream with its margins.
#[derive(Debug)]
pub struct Predictions<'a> {
    model: &'a Model,
    tasks: &'a Tasks,
    batch: &'a Batch,
    margins: &'a [f64],
    /// The task of every example, where some are not known: those are taken for the task whose margin is surest.
    answers: &'a [TaskId],
}

impl<'a> Predictions<'a> {
    /// The examples, each with its margin, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Example<'a>, f64)> + use<'a> {
        let answers = self.answers;
        let answered = move |(at, example): (usize, Example<'a>)| match answers.get(at) {
            Some(task) => Example { task: *task, ..example },
            None => example,
        };
        self.batch.examples().enumerate().map(answered).zip(self.margins.iter().copied())
    }

    /// The margins, one per example.
    pub fn margins(&self) -> &'a [f64] {
        self.margins
    }

    /// The batch.
    pub fn batch(&self) -> &'a Batch {
        self.batch
    }

    /// Name of a task, even if the model does not know it.
    pub fn task_name(&self, task: TaskId) -> &'a str {
        self.tasks.name(task)
    }

    /// The id of an example of the batch, if it has one.
    pub fn id(&self, at: usize) -> Option<&'a str> {
        self.batch.id(at)
    }

    /// The standard deviation of the margin of an example; none if the learner does not know it.
    pub fn uncertainty(&self, Example { task, features, .. }: Example<'_>) -> Option<f64> {
        let task = if task.index() < self.model.tasks.len() { task } else { self.model.next_task() };
        self.model.deviation(task, features)
    }

    /// The prediction that a margin gives.
    pub fn of(&self, margin: f64) -> Prediction {
        self.model.prediction(margin)
    }
}

impl Model {
    /// Predicts one example; the model does not change, even if names are new to it.
    ///
    /// # Errors
    /// When task or features are invalid, or the margin is not finite.
    pub fn predict_one<'a>(
        &self,
        task: &str,
        features: impl Into<Features<'a>>,
    ) -> Result<Prediction, StreamError> {
        self.predict_row(Some(task), features.into())
    }

    /// As [`Self::predict_one`]; an example without a task belongs to the task `default`.
    ///
    /// # Errors
    /// As [`Self::predict_one`].
    pub fn predict_row(&self, task: Option<&str>, features: Features<'_>) -> Result<Prediction, StreamError> {
        let found = self.looked_up(task, features, |example| {
            let Example { task, features, .. } = example;
            (self.learner.as_predict().margin(task, features), self.deviation(task, features))
        });
        let (margin, uncertainty) = found.map_err(|problem| TableError::Row { row: 0, problem })?;
        check_margin(task, margin)?;
        Ok(Prediction { uncertainty, ..self.prediction(margin) })
    }

    /// As [`Self::predict_row`], without how sure it is, in buffers that are used again: for many examples that come one by one.
    ///
    /// # Errors
    /// As [`Self::predict_row`].
    pub fn predict_quickly(
        &self,
        scratch: &mut Scratch,
        task: Option<&str>,
        features: Features<'_>,
    ) -> Result<Prediction, StreamError> {
        let margin = self.looked_up_in(&mut scratch.0, task, features, |example| {
            self.learner.as_predict().margin(example.task, example.features)
        });
        let margin = margin.map_err(|problem| TableError::Row { row: 0, problem })?;
        check_margin(task, margin)?;
        Ok(self.prediction(margin))
    }

    /// Does something with an example whose names are looked up, and stay new if they are.
    pub(super) fn looked_up<R>(
        &self,
        task: Option<&str>,
        features: Features<'_>,
        use_it: impl FnOnce(Example<'_>) -> R,
    ) -> Result<R, Problem> {
        self.looked_up_in(&mut Given::new(Kind::Classification), task, features, use_it)
    }

    fn looked_up_in<R>(
        &self,
        given: &mut Given,
        task: Option<&str>,
        features: Features<'_>,
        use_it: impl FnOnce(Example<'_>) -> R,
    ) -> Result<R, Problem> {
        given.clear(Kind::Classification);
        // The first example would decide what features are.
        let fresh;
        let names = if self.is_undecided() && features.are_named() == Some(true) {
            fresh = FeatureNames::new(Naming::Kept, self.config.features);
            &fresh
        } else {
            &self.names
        };
        let task = self.known_task(task_name(task)?)?;
        let label = given.open(features, None, self.config.features, &mut NameSource::Looking(names))?;
        given.close(task, label, &self.config.preprocess);
        Ok(use_it(given.batch().example(0)))
    }

    /// The standard deviation of a margin; none if the learner does not know it.
    fn deviation(&self, task: TaskId, features: SparseView<'_>) -> Option<f64> {
        self.learner.as_predict().variance(task, features).map(f64::sqrt)
    }

    /// Standard deviations of the margins of examples, as [`Self::margins`]; none if the learner does not know them.
    pub fn uncertainties(&self, examples: &Batch) -> Option<Vec<f64>> {
        let (known, next) = (self.tasks.len(), self.next_task());
        let task_of = |task: TaskId| if task.index() < known { task } else { next };
        examples.examples().map(|example| self.deviation(task_of(example.task), example.features)).collect()
    }

    /// What a margin means.
    fn prediction(&self, margin: f64) -> Prediction {
        let learner = self.learner.as_inspect();
        let regression = self.kind() == Some(Kind::Regression);
        Prediction {
            label: match self.threshold {
                _ if regression => learner.response(margin),
                Some(threshold) => predicted_label(margin - threshold),
                None => predicted_label(margin),
            },
            margin,
            probability: learner.probability(margin),
            uncertainty: None,
        }
    }

    /// Predicts a stream, batch by batch, until `visit` stops it; nothing is learnt. [`Self::prediction_reader`] makes
    /// streams of text.
    ///
    /// # Errors
    /// Those of the stream; when the stream was made for another model; when a margin is not finite, before the batch that
    /// it is in is visited.
    pub fn predict(
        &self,
        stream: &mut dyn Stream,
        threads: NonZeroUsize,
        visit: &mut dyn FnMut(&Predictions<'_>) -> ControlFlow<()>,
    ) -> Result<(), StreamError> {
        self.check_naming(stream.naming())?;
        let (mut tasks, mut margins, mut failed) = (self.tasks.clone(), Vec::new(), None);
        let mut answers = Vec::new();
        let inputs = stream.input_names();
        for_each_batch(stream, 1, threads, |batch| {
            margins.clear();
            let predicted = batch.introduce_tasks(&mut tasks).and_then(|()| {
                self.add_margins(batch, &mut margins);
                self.answer(batch, &mut margins, &mut answers);
                check_margins(batch, &margins, &tasks, &inputs)
            });
            if let Err(error) = predicted {
                failed = Some(error);
                return ControlFlow::Break(());
            }
            visit(&Predictions { model: self, tasks: &tasks, batch, margins: &margins, answers: &answers })
        })?;
        failed.map_or(Ok(()), Err)
    }

    /// Margins of examples, finite or not. A task new to the model is taken for the next one that it would add.
    pub fn margins(&self, examples: &Batch) -> Vec<f64> {
        let mut margins = Vec::with_capacity(examples.len());
        self.add_margins(examples, &mut margins);
        margins
    }

    /// Margins and tasks of the examples whose tasks are not known.
    fn answer(&self, batch: &Batch, margins: &mut [f64], answers: &mut Vec<TaskId>) {
        answers.clear();
        if !batch.has_unknown {
            return;
        }
        for (example, margin) in batch.examples().zip(margins) {
            let unknown = example.task == TaskId::UNKNOWN;
            let surest = unknown.then(|| self.surest_task(example.features, example.offset)).flatten();
            answers.push(surest.map_or(example.task, |surest| surest.task));
            *margin = surest.map_or(*margin, |surest| surest.margin);
        }
    }

    fn add_margins(&self, examples: &Batch, margins: &mut Vec<f64>) {
        let (known, next) = (self.tasks.len(), self.next_task());
        let task_of = |task: TaskId| if task.index() < known { task } else { next };
        let first = margins.len();
        self.learner.as_predict().margins(examples, &task_of, margins);
        if examples.has_offsets() {
            let offsets = examples.examples().map(|example| example.offset);
            margins[first..].iter_mut().zip(offsets).for_each(|(margin, offset)| *margin += offset);
        }
    }

    /// The task that the model would add next.
    fn next_task(&self) -> TaskId {
        TaskId(self.learner.as_inspect().tasks() as u32)
    }

    /// The task of a name; every new one is taken for the next that the model would add.
    fn known_task(&self, name: &str) -> Result<TaskId, Problem> {
        match (self.tasks.find(name), self.tasks.limit()) {
            (Some(task), _) => Ok(task),
            (None, Some(declared)) if self.tasks.len() >= declared => {
                Err(unknown_task(&self.tasks, name, declared))
            }
            (None, _) => Ok(self.next_task()),
        }
    }
}

/// Refuses a margin of one example that is infinite or not a number.
fn check_margin(task: Option<&str>, margin: f64) -> Result<(), StreamError> {
    if margin.is_finite() {
        return Ok(());
    }
    let (place, task) = ("row 0".to_owned(), task.unwrap_or(UNNAMED_TASK).to_owned());
    Err(StreamError::Margin { place, task, margin })
}

/// Refuses a margin that is infinite or not a number, with the place of its example.
fn check_margins(
    batch: &Batch,
    margins: &[f64],
    tasks: &Tasks,
    inputs: &[String],
) -> Result<(), StreamError> {
    let Some(at) = margins.iter().position(|margin| !margin.is_finite()) else { return Ok(()) };
    let task = tasks.name(batch.example(at).task).to_owned();
    let place = place_of(inputs, batch.file, batch.line(at));
    Err(StreamError::Margin { place, task, margin: margins[at] })
}
