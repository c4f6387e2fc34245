//! Transcript of a run: every example, its margin and its round.

use std::ops::{ControlFlow, Range};

use crate::example::{Example, is_mistake};
use crate::feature_names::Naming;
use crate::metrics::Metrics;
use crate::model::Model;
use crate::run::{Observer, Progress, RoundReport, RunError, RunOptions, Serve, learn};
use crate::stream::{Batch, Stream, StreamError};
use crate::tasks::Tasks;

/// The examples of a run with their margins, held in memory.
#[derive(Debug, Clone, Default)]
pub struct Transcript {
    examples: Batch,
    margins: Vec<f64>,
    /// Where each round ends.
    ends: Vec<usize>,
    /// K in each round.
    known: Vec<usize>,
    /// K when it starts, or as it has become.
    tasks: usize,
}

impl Transcript {
    /// An empty transcript of a learner that knows this many tasks; more may be added.
    pub fn new(tasks: usize) -> Self {
        Self { tasks, ..Self::default() }
    }

    /// Adds a round: examples with the margins they had before it was learnt.
    pub fn push_round<'a>(&mut self, round: impl IntoIterator<Item = (Example<'a>, f64)>) {
        for (example, margin) in round {
            self.tasks = self.tasks.max(example.task.index() + 1);
            self.examples.push(example);
            self.margins.push(margin);
        }
        if self.examples.len() > self.ends.last().copied().unwrap_or(0) {
            self.ends.push(self.examples.len());
            self.known.push(self.tasks);
        }
    }

    /// Lets a model learn a stream, and records what happens.
    ///
    /// # Errors
    /// Those of the run.
    pub fn record(
        model: &mut Model,
        stream: &mut dyn Stream,
        options: &RunOptions,
    ) -> Result<Self, RunError> {
        let mut transcript = Self::new(model.learner().as_inspect().tasks());
        let mut copied = Copied { stream, examples: Batch::default() };
        let mut reports = Reports(Vec::new());
        // A report is of the next example, which it is when every one is served.
        let options = RunOptions { serve: Serve::All, ..options.clone() };
        learn(model, &mut copied, &options, &mut reports)?;
        let examples = copied.examples;
        let mut at = 0;
        for round in reports.0.chunk_by(|a, b| a.round == b.round) {
            let numbered = (at..).zip(round);
            transcript.push_round(numbered.map(|(at, report)| (examples.example(at), report.margin)));
            at += round.len();
        }
        Ok(transcript)
    }

    /// K: the tasks declared or met by the end.
    pub fn tasks(&self) -> usize {
        self.tasks
    }

    /// Number of examples.
    pub fn len(&self) -> usize {
        self.margins.len()
    }

    /// Whether there are no examples.
    pub fn is_empty(&self) -> bool {
        self.margins.is_empty()
    }

    /// Number of mistakes.
    pub fn mistakes(&self) -> usize {
        (0..self.len()).filter(|at| self.is_mistake(*at)).count()
    }

    pub(super) fn example(&self, at: usize) -> Example<'_> {
        self.examples.example(at)
    }

    /// `max(0, 1 - y margin)`, the margin being the learner's.
    pub(super) fn hinge(&self, at: usize) -> f64 {
        (1.0 - self.example(at).label * self.margins[at]).max(0.0)
    }

    pub(super) fn is_mistake(&self, at: usize) -> bool {
        is_mistake(self.example(at).label, self.margins[at])
    }

    /// Positions of each round's examples, and K in it.
    pub(super) fn rounds(&self) -> impl Iterator<Item = (Range<usize>, usize)> + '_ {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).zip(&self.known).map(|((start, end), known)| (start..*end, *known))
    }

    /// Positions of the mistakes of each round that has some, and K in it.
    pub(super) fn mistaken_rounds(&self) -> impl Iterator<Item = (Vec<usize>, usize)> + '_ {
        let rounds = self.rounds();
        let mistakes =
            rounds.map(|(round, known)| (round.filter(|at| self.is_mistake(*at)).collect::<Vec<_>>(), known));
        mistakes.filter(|(mistakes, _)| !mistakes.is_empty())
    }

    /// Whether every round has one example.
    pub(super) fn is_one_task_a_round(&self) -> bool {
        self.ends.len() == self.len()
    }

    /// Whether K was still growing when mistakes were made.
    pub(super) fn has_grown(&self) -> bool {
        self.mistaken_rounds().any(|(_, known)| known < self.tasks)
    }
}

/// A stream whose examples are kept as they pass.
struct Copied<'a> {
    stream: &'a mut dyn Stream,
    examples: Batch,
}

impl Stream for Copied<'_> {
    fn fill(&mut self, batch: &mut Batch) -> Result<(), StreamError> {
        self.stream.fill(batch)?;
        batch.examples().for_each(|example| self.examples.push(example));
        Ok(())
    }

    fn rewind(&mut self) -> Result<(), StreamError> {
        self.stream.rewind()
    }

    fn naming(&self) -> Naming {
        self.stream.naming()
    }

    fn input_names(&self) -> Vec<String> {
        self.stream.input_names()
    }
}

struct Reports(Vec<RoundReport>);

impl Observer for Reports {
    fn observe(&mut self, report: &RoundReport, _: &Tasks, _: &Metrics) {
        self.0.push(*report);
    }

    fn batch_done(&mut self, _: Progress, _: &Model) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
