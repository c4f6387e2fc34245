//! The protocol: what every learner can do.

use std::num::NonZeroUsize;

use crate::example::{Example, SparseView, TaskId};
use crate::kernel::Budget;
use crate::shards::ShardReport;
use crate::stream::Batch;
use crate::tasks::Tasks;

/// Predicts: gives the margin of an example.
pub trait Predict {
    /// The real-valued score of an example, without its offset; its sign is the prediction. Changes nothing, and also works
    /// on a new learner and for a task never seen.
    fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64;

    /// How unsure the margin of an example is: the variance of its distance from that of the truth; none if the learner does not
    /// know. Finite, not negative, and as pure as [`Self::margin`].
    fn variance(&self, task: TaskId, x: SparseView<'_>) -> Option<f64> {
        let _ = (task, x);
        None
    }

    /// Appends the margins of examples, without their offsets, in order; `task_of` maps task numbers of the batch to those of the learner.
    ///
    /// The result is the same as one by one; learners that can do so fetch the weights of some examples ahead.
    fn margins(&self, examples: &Batch, task_of: &dyn Fn(TaskId) -> TaskId, margins: &mut Vec<f64>) {
        margins_one_by_one(self, examples, task_of, margins);
    }
}

/// [`Predict::margins`] of a learner, or a part of one, that finds nothing ahead.
pub(crate) fn margins_one_by_one(
    learner: &(impl Predict + ?Sized),
    examples: &Batch,
    task_of: &dyn Fn(TaskId) -> TaskId,
    margins: &mut Vec<f64>,
) {
    let each = examples.examples().map(|example| learner.margin(task_of(example.task), example.features));
    margins.extend(each);
}

/// What one round of learning did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// The margin before learning, with the offset of the example.
    pub margin: f64,
    /// Whether the state changed.
    pub updated: bool,
}

/// Learns from examples: of one task per round, or of all tasks.
pub trait LearnOne: Predict {
    /// Learns from an example whose margin, with its offset, was just computed; says whether the state changed.
    fn update(&mut self, example: Example<'_>, margin: f64) -> bool;

    /// Computes the margin, then updates. A learner may do both in one walk over the features, with the same bits.
    fn learn(&mut self, example: Example<'_>) -> Outcome {
        let margin = self.margin(example.task, example.features) + example.offset;
        let updated = self.update(example, margin);
        Outcome { margin, updated }
    }

    /// Learns a batch in order, with one outcome per example; as [`Self::learn`] one by one, with the same bits.
    ///
    /// A learner larger than the cache fetches what the next examples need while it learns this one.
    fn learn_batch(&mut self, batch: &Batch, outcomes: &mut Vec<Outcome>) {
        outcomes.clear();
        outcomes.extend(batch.examples().map(|example| self.learn(example)));
    }

    /// Sees an example whose label is not asked for, or not there: meets its task and counts the round, as
    /// [`Self::update`] does, and learns nothing. A task met before leaves every margin as it is.
    fn skip(&mut self, task: TaskId);

    /// Is told the names of all tasks before examples of new ones are learnt; most learners go by their numbers alone.
    fn meet(&mut self, tasks: &Tasks) {
        let _ = tasks;
    }

    /// May learn batches with so many threads; the result is the same. Most learners use one.
    fn use_threads(&mut self, threads: NonZeroUsize) {
        let _ = threads;
    }

    /// A pass over the stream has come to its end; most learners do nothing then.
    fn end_pass(&mut self) {}

    /// What in the state is no longer finite, as far as updates notice at little cost; a run looks after every batch.
    ///
    /// None does not say that all is well: [`crate::Model::save`] looks at everything.
    fn overflow(&self) -> Option<&'static str> {
        None
    }

    /// Learns a simultaneous round, one example of every task, with one outcome per example in the order of the round.
    ///
    /// All margins come before any update; a learner that knows one task at a time then updates in task order.
    fn learn_round(&mut self, round: &Batch, outcomes: &mut Vec<Outcome>) {
        learn_one_by_one(self, round, outcomes);
    }
}

/// Margins first, then updates in task order: a simultaneous round for a learner that knows one task at a time.
pub(crate) fn learn_one_by_one(
    learner: &mut (impl LearnOne + ?Sized),
    round: &Batch,
    outcomes: &mut Vec<Outcome>,
) {
    outcomes.clear();
    outcomes.extend(round.examples().map(|example| Outcome {
        margin: learner.margin(example.task, example.features) + example.offset,
        updated: false,
    }));
    for at in in_task_order(round) {
        outcomes[at].updated = learner.update(round.example(at), outcomes[at].margin);
    }
}

/// Positions of a round's examples by task.
pub(crate) fn in_task_order(round: &Batch) -> Vec<usize> {
    let mut order: Vec<usize> = (0..round.len()).collect();
    order.sort_by_key(|at| round.example(*at).task);
    order
}

/// [`Inspect::influence`] of a learner in which all others influence a task alike.
pub(crate) fn influence_of_like_tasks(learner: &impl Inspect, task: TaskId) -> f64 {
    let others = learner.tasks().max(task.index() + 1) - 1;
    let other = TaskId(u32::from(task.0 == 0));
    learner.relation(task, task).abs() + others as f64 * learner.relation(task, other).abs()
}

/// An example that a learner in dual form keeps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Support {
    /// Which of the learner's examples it was, from 1.
    pub example: u64,
    /// Its task.
    pub task: TaskId,
    /// Its coefficient in the sum over supports.
    pub coefficient: f64,
}

/// A part of a task's weights, in learners whose weights are a sum of parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// What all tasks have in common.
    Shared,
    /// What is the task's own.
    Individual,
    /// What makes it an outlier: zero unless it is one.
    Outlier,
}

/// Norms of the parts of a task's weights.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Parts {
    /// Norm of the part that all tasks have in common.
    pub shared: f64,
    /// Norm of the individual part.
    pub individual: f64,
    /// Norm of the outlier part.
    pub outlier: f64,
    /// Whether the outlier part is not zero.
    pub outlier_active: bool,
}

/// A vector that the weights of several tasks are made of.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedVector {
    /// What it is called among those of its learner.
    pub name: String,
    /// Its non-zero weights, by feature.
    pub weights: Vec<(u32, f64)>,
}

/// The weights of a task: its own, plus so much of each shared vector.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OwnWeights {
    /// What each shared vector is multiplied by.
    pub factors: Vec<f64>,
    /// Non-zero weights that are the task's own, by feature.
    pub own: Vec<(u32, f64)>,
}

/// How alike tasks are, by what each has learnt by itself: what the evidence supports of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Likeness {
    size: usize,
    /// Strength and deviation of pairs i < j, row by row of j.
    pairs: Vec<Option<(f64, f64)>>,
}

impl Likeness {
    /// Of so many tasks, from the strength and the deviation of every pair.
    pub(crate) fn new(size: usize, mut pair: impl FnMut(usize, usize) -> Option<(f64, f64)>) -> Self {
        let pairs = (0..size).flat_map(|one| (0..one).map(move |other| (one, other)));
        Self { size, pairs: pairs.map(|(one, other)| pair(one, other)).collect() }
    }

    /// How many tasks there are.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The strength of a pair, from -1 to 1, and its standard deviation; none if the evidence does not say, or of a task with itself.
    pub fn pair(&self, one: usize, other: usize) -> Option<(f64, f64)> {
        let (high, low) = (one.max(other), one.min(other));
        if high == low { None } else { self.pairs[high * (high - 1) / 2 + low] }
    }

    /// Of the first tasks only.
    pub(crate) fn first(mut self, size: usize) -> Self {
        self.size = size.min(self.size);
        self.pairs.truncate(self.size * self.size.saturating_sub(1) / 2);
        self
    }
}

/// Where a task is among groups of tasks that share weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// The number of its group.
    pub group: usize,
    /// From -1 to 1: whether its labels go with what the group shares or against it, and how sure that is.
    pub side: f64,
}

/// Shows what a learner holds.
pub trait Inspect {
    /// K: the tasks declared or met so far.
    fn tasks(&self) -> usize;

    /// R\[to, from\]: how much an update of the task `from` moves the task `to`.
    fn relation(&self, to: TaskId, from: TaskId) -> f64;

    /// How alike tasks are by what each has learnt by itself; none where that is not known.
    fn likeness(&self, tasks: &[TaskId]) -> Option<Likeness> {
        let _ = tasks;
        None
    }

    /// The group of a task; none where the learner has no groups, not even one.
    fn place(&self, task: TaskId) -> Option<Place> {
        let _ = task;
        None
    }

    /// sum_j |R\[task, j\]| over the tasks declared or met so far and the task itself.
    ///
    /// A learner that takes any number of tasks does without a walk over all of them, most of which may never come.
    fn influence(&self, task: TaskId) -> f64 {
        let tasks = self.tasks().max(task.index() + 1) as u32;
        (0..tasks).map(|from| self.relation(task, TaskId(from)).abs()).sum()
    }

    /// Non-zero weights of a task, by feature; none if the kernel has no weights.
    fn weights(&self, task: TaskId) -> Vec<(u32, f64)>;

    /// Whether margins are inner products with [`Self::weights`], where there are any.
    fn is_linear(&self) -> bool {
        true
    }

    /// Vectors that the weights of several tasks are made of, for [`Self::own_weights`]; usually none.
    fn shared_vectors(&self) -> Vec<SharedVector> {
        Vec::new()
    }

    /// The weights of a task as its own ones and a factor of each of [`Self::shared_vectors`]; they add up to [`Self::weights`].
    ///
    /// A learner that shares vectors does without a walk over all features.
    fn own_weights(&self, task: TaskId) -> OwnWeights {
        OwnWeights { factors: Vec::new(), own: self.weights(task) }
    }

    /// The examples kept, in order; none if weights are kept instead.
    fn supports(&self) -> Option<Vec<Support>> {
        None
    }

    /// The least budget in bytes that is enough for so many tasks, where the learner has one that is not.
    fn budget_for(&self, tasks: usize) -> Option<Budget> {
        let _ = tasks;
        None
    }

    /// Each strength of sharing b that is tried, with its weight, adding up to 1; none if b is given.
    fn strengths(&self) -> Option<Vec<(f64, f64)>> {
        None
    }

    /// The probability of the label +1 for a margin of this learner; none if margins give no probability.
    fn probability(&self, margin: f64) -> Option<f64> {
        let _ = margin;
        None
    }

    /// The value that a margin predicts where labels are real numbers.
    fn response(&self, margin: f64) -> f64 {
        margin
    }

    /// The loss that the learner makes small, of a margin; none if it minimises none.
    fn loss(&self, label: f64, margin: f64) -> Option<f64> {
        let _ = (label, margin);
        None
    }

    /// What has become of the shards, where tasks are spread over several.
    fn shards(&self) -> Option<ShardReport> {
        None
    }

    /// Notes for the user about how the learning went; usually none.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// Norms of the parts of these tasks' weights, for learners that tell outliers from the rest.
    fn parts(&self, tasks: &[TaskId]) -> Option<Vec<Parts>> {
        let _ = tasks;
        None
    }

    /// Non-zero weights of one part of a task's weights, by feature; none if the learner has no such part.
    fn part(&self, part: Part, task: TaskId) -> Option<Vec<(u32, f64)>> {
        let _ = (part, task);
        None
    }

    /// Bytes held on the heap.
    fn heap_bytes(&self) -> usize;
}
