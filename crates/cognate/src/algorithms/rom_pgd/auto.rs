//! `rom-pgd` with eta = "auto": steps that follow from the data, and evidence in place of penalties.
//!
//! A step of Algorithm 1 needs eta, alpha, beta and gamma of the right size, which differ by powers of ten from stream
//! to stream. Here three predictors of every task are learnt next to each other, and the data say which to trust:
//! u alone (the task is like all), u + p_i (it differs), v_i alone (it is best left to itself).
//!
//! Steps: each predictor m takes a passive-aggressive step on its own loss, w += tau y x with
//! tau = min(1, 1 - y m) / max(|x|^2, r^2), r the geometric mean of the lengths |x| learnt from so far: scale-free, never
//! longer than 1/r, and no single example of huge values can move r. On examples of length 1 this is PA-I with c = 1
//! (Crammer et al. 2006); the least change that mends the loss is the implicit form of a gradient step (Kulis and
//! Bartlett 2010), which is why no eta is left.
//! An example of weight w takes w such steps at once: min(w, (1 - y m) (1 - (1 - f)^w) / f) in place of min(1, 1 - y m), f the
//! share |x|^2 / max(|x|^2, r^2) of a loss that one step mends. What is counted is counted once per example.
//! Who moves u: the step of task i is multiplied by min(1, e_i / e)^2, e_i the edge of u on task i (right minus wrong
//! predictions, over all; ten right ones given), e the edge on all tasks. A task on which u does no better than a coin,
//! for its labels are noise or turned round, has nothing to say about u.
//! Trust: t_i = softmax of -(prior + rate L + rate_i L_i), L the mistakes of the three over all tasks and L_i those on
//! task i, rate = sqrt(ln 3 / (1 + D)) for D rounds on which the three disagreed: exponential weights (Cesa-Bianchi and
//! Lugosi 2006, section 2.3), those of all tasks being the prior of each. Prior: alpha for u, alpha + beta for u + p_i,
//! beta for v_i; so a large alpha leaves every task on its own, a large beta leaves u.
//!
//! Predict: ((t_1 + t_2) u + t_2 p_i + t_3 v_i)'x.
//! Outlier: task i is one when u falls short on it, e - e_i > gamma e: with gamma = 0.4, when the edge of u on the task
//! is less than three fifths of that on all. Then t_3 v_i is the outlier part q_i; else it counts as individual, and q_i is 0.
//!
//! State: u; p_i and v_i of each task; what was counted. Cost: O(s) per round, three numbers per feature.
//! `cargo xtask robust` measures it.

use serde::{Deserialize, Serialize};

use super::{RomPgdConfig, UStep};
use crate::block::Block;
use crate::error::StateError;
use crate::example::{Example, SparseView, TaskId, hinge, is_mistake};
use crate::learner::{Inspect, LearnOne, Outcome, Part, Parts, Predict, in_task_order};
use crate::stream::Batch;
use crate::table::{AHEAD, Locate};
use crate::weights::side_by_side::Found;
use crate::weights::{SideBySide, SlotTablesState};

/// A row holds p and v of a task.
type Weights = SideBySide<1, 2>;
const P: usize = 0;
const V: usize = 1;

/// A number for each of u, u + p_i, v_i.
type Three = [f64; 3];

#[derive(Debug, Clone)]
pub(super) struct Auto {
    tasks: usize,
    weights: Weights,
    judge: Judge,
    /// Scratch, not state.
    found: [Found; AHEAD],
    margins: Vec<Three>,
}

/// All but the weights.
#[derive(Debug, Clone)]
struct Judge {
    config: RomPgdConfig,
    all: Counts,
    each: Vec<Counts>,
    lengths: Lengths,
}

/// What was counted of a task, or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Counts {
    /// L of the three.
    mistakes: [u64; 3],
    /// D.
    disagreements: u64,
    /// Rounds on which u was right, and on which it was wrong.
    shared: [u64; 2],
}

/// Numbers in [`Counts`].
const COUNTED: usize = 6;

/// The geometric mean of some lengths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Lengths {
    #[serde(deserialize_with = "crate::count::saved")]
    count: u64,
    /// Of the squared lengths.
    mean_log: f64,
}

/// Right predictions of u that every task is given: its first mistakes are not held against it.
const GIVEN: f64 = 10.0;

/// The edge of u on all tasks counts as at least this: where u is of no use, nothing rests on it.
const LEAST_EDGE: f64 = 1e-3;

impl Counts {
    fn rate(&self) -> f64 {
        (3.0_f64.ln() / (self.disagreements + 1) as f64).sqrt()
    }

    /// Right minus wrong predictions of u, over all.
    fn edge(&self) -> f64 {
        let [right, wrong] = self.shared.map(|count| count as f64);
        (GIVEN + right - wrong) / (GIVEN + right + wrong)
    }

    fn count(&mut self, wrong: [bool; 3]) {
        if wrong != [wrong[0]; 3] {
            self.disagreements += 1;
            self.mistakes.iter_mut().zip(wrong).for_each(|(count, wrong)| *count += u64::from(wrong));
        }
        self.shared[usize::from(wrong[0])] += 1;
    }

    fn to_numbers(self) -> [u64; COUNTED] {
        let ([a, b, c], [right, wrong]) = (self.mistakes, self.shared);
        [a, b, c, self.disagreements, right, wrong]
    }

    fn from_numbers([a, b, c, disagreements, right, wrong]: [u64; COUNTED]) -> Self {
        Self { mistakes: [a, b, c], disagreements, shared: [right, wrong] }
    }
}

impl Lengths {
    fn add(&mut self, squared: f64) {
        self.count += 1;
        self.mean_log += (squared.ln() - self.mean_log) / self.count as f64;
    }

    /// r^2.
    fn squared(&self) -> f64 {
        self.mean_log.exp()
    }
}

/// How much of a loss steps mend that are taken so many times, where one step mends a share of it, and at most 1.
fn mended(loss: f64, weight: f64, share: f64) -> f64 {
    if weight == 1.0 || share == 0.0 {
        return loss.min(1.0);
    }
    (loss * (1.0 - (1.0 - share).powf(weight)) / share).min(weight)
}

/// The margins of u, u + p_i, v_i, without the offset of the example.
#[inline]
fn margins(weights: &Weights, x: SparseView<'_>, found: &Found) -> Three {
    let (mut shared, mut individual, mut own) = (0.0, 0.0, 0.0);
    weights.for_each(x, found, |u, row, value| {
        shared += u[0] * value;
        individual += row[P] * value;
        own += row[V] * value;
    });
    [shared, shared + individual, own]
}

fn mix(trust: Three, margins: Three) -> f64 {
    trust.iter().zip(margins).map(|(trust, margin)| trust * margin).sum()
}

impl Judge {
    fn counts(&self, task: TaskId) -> Counts {
        self.each.get(task.index()).copied().unwrap_or_default()
    }

    /// How much each of the three is trusted on a task.
    fn trust(&self, task: TaskId) -> Three {
        let RomPgdConfig { alpha, beta, .. } = self.config;
        let (all, own) = (self.all, self.counts(task));
        let (rate, own_rate) = (all.rate(), own.rate());
        let prior = [alpha, alpha + beta, beta];
        let score: Three = std::array::from_fn(|at| {
            -(prior[at] + rate * all.mistakes[at] as f64 + own_rate * own.mistakes[at] as f64)
        });
        let best = score.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights = score.map(|score| (score - best).exp());
        let sum: f64 = weights.iter().sum();
        weights.map(|weight| weight / sum)
    }

    /// How much of a task's step u takes.
    fn say(&self, task: TaskId, tasks: usize) -> f64 {
        let relative = self.counts(task).edge() / self.all.edge().max(LEAST_EDGE);
        let say = relative.clamp(0.0, 1.0).powi(2);
        match self.config.u_step {
            UStep::Sum => say,
            UStep::Mean => say / tasks.max(1) as f64,
        }
    }

    /// The steps of an example whose rows have been found, from the margins as they are now; whether there are any.
    fn step(
        &mut self,
        weights: &mut Weights,
        tasks: usize,
        example: Example<'_>,
        margins: Three,
        found: &mut Found,
    ) -> bool {
        let Example { task, features, label, weight, offset, .. } = example;
        let losses = margins.map(|margin| hinge(label, margin + offset));
        let squared = features.norm_squared();
        if losses == [0.0; 3] || !squared.is_normal() || weight == 0.0 {
            return false;
        }
        self.lengths.add(squared);
        let length = squared.max(self.lengths.squared());
        let (say, share) = (self.say(task, tasks), squared / length);
        let steps = losses.map(|loss| label * mended(loss, weight, share) / length);
        let shared = label * mended(losses[0], weight, say * share) / length * say;
        weights.change(task, features, found, |u, row, value| {
            u[0] += shared * value;
            row[P] += steps[1] * value;
            row[V] += steps[2] * value;
        });
        true
    }

    /// Whether a task is an outlier.
    fn is_outlier(&self, task: TaskId) -> bool {
        let edge = self.all.edge().max(LEAST_EDGE);
        edge - self.counts(task).edge() > self.config.gamma * edge
    }

    /// Counts who was right, by the margins that the prediction was made from.
    fn count(&mut self, example: Example<'_>, margins: Three) {
        if example.weight == 0.0 {
            return;
        }
        let wrong = margins.map(|margin| is_mistake(example.label, margin + example.offset));
        if self.each.len() <= example.task.index() {
            self.each.resize(example.task.index() + 1, Counts::default());
        }
        self.each[example.task.index()].count(wrong);
        self.all.count(wrong);
    }

    /// A round of one example whose rows have been found.
    fn learn(
        &mut self,
        weights: &mut Weights,
        tasks: usize,
        example: Example<'_>,
        found: &mut Found,
    ) -> Outcome {
        let margins = margins(weights, example.features, found);
        let trust = self.trust(example.task);
        let updated = self.step(weights, tasks, example, margins, found);
        self.count(example, margins);
        Outcome { margin: mix(trust, margins) + example.offset, updated }
    }
}

impl Auto {
    pub(super) fn new(config: RomPgdConfig, tasks: usize) -> Self {
        let judge = Judge { config, all: Counts::default(), each: Vec::new(), lengths: Lengths::default() };
        Self { tasks, weights: Weights::new(), judge, found: Default::default(), margins: Vec::new() }
    }

    /// How much a task trusts what is shared.
    fn shared(&self, task: TaskId) -> f64 {
        1.0 - self.judge.trust(task)[2]
    }

    fn margins_of(&self, task: TaskId, x: SparseView<'_>) -> Three {
        let mut found = Found::default();
        self.weights.find(task, x, &mut found);
        margins(&self.weights, x, &found)
    }

    /// Factors of u, p and v that make the three parts of a task.
    fn factors(&self, task: TaskId, part: Part) -> Three {
        let [alike, different, alone] = self.judge.trust(task);
        let outlier = self.judge.is_outlier(task);
        match part {
            Part::Shared => [alike + different, 0.0, 0.0],
            Part::Individual => [0.0, different, if outlier { 0.0 } else { alone }],
            Part::Outlier => [0.0, 0.0, if outlier { alone } else { 0.0 }],
        }
    }
}

impl Predict for Auto {
    fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        mix(self.judge.trust(task), self.margins_of(task, x))
    }
}

impl LearnOne for Auto {
    fn update(&mut self, example: Example<'_>, _: f64) -> bool {
        self.learn(example).updated
    }

    fn learn(&mut self, example: Example<'_>) -> Outcome {
        self.tasks = self.tasks.max(example.task.index() + 1);
        let found = &mut self.found[0];
        self.weights.find(example.task, example.features, found);
        self.judge.learn(&mut self.weights, self.tasks, example, found)
    }

    fn skip(&mut self, task: TaskId) {
        self.tasks = self.tasks.max(task.index() + 1);
    }

    fn learn_batch(&mut self, batch: &Batch, outcomes: &mut Vec<Outcome>) {
        outcomes.clear();
        let Self { tasks, weights, judge, found, .. } = self;
        weights.learn_ahead(batch, found, |weights, example, found| {
            *tasks = (*tasks).max(example.task.index() + 1);
            outcomes.push(judge.learn(weights, *tasks, example, found));
        });
    }

    /// All margins first. Then tasks move u one after the other, each by what is still to be mended.
    fn learn_round(&mut self, round: &Batch, outcomes: &mut Vec<Outcome>) {
        let mut before = std::mem::take(&mut self.margins);
        before.clear();
        before.extend(round.examples().map(|example| self.margins_of(example.task, example.features)));
        outcomes.clear();
        outcomes.extend(round.examples().zip(&before).map(|(example, margins)| Outcome {
            margin: mix(self.judge.trust(example.task), *margins) + example.offset,
            updated: false,
        }));
        let met = round.examples().map(|example| example.task.index() + 1).max().unwrap_or(0);
        self.tasks = self.tasks.max(met);
        for at in in_task_order(round) {
            let (example, found) = (round.example(at), &mut self.found[0]);
            self.weights.find(example.task, example.features, found);
            let now = margins(&self.weights, example.features, found);
            outcomes[at].updated = self.judge.step(&mut self.weights, self.tasks, example, now, found);
            self.judge.count(example, before[at]);
        }
        self.margins = before;
    }
}

impl Inspect for Auto {
    fn tasks(&self) -> usize {
        self.tasks
    }

    /// The product of how much both trust what is shared; on the diagonal, what is the task's own besides.
    fn relation(&self, to: TaskId, from: TaskId) -> f64 {
        let [_, different, alone] = self.judge.trust(to);
        self.shared(to) * self.shared(from) + if to == from { different + alone } else { 0.0 }
    }

    fn influence(&self, task: TaskId) -> f64 {
        let tasks = self.tasks.max(task.index() + 1);
        let known = tasks.min(self.judge.each.len());
        // Tasks of which nothing was counted are all trusted alike.
        let unknown = (tasks - known) as u32;
        let to_others: f64 = (0..known as u32).map(|from| self.relation(task, TaskId(from)).abs()).sum();
        let first_unknown = TaskId(known as u32);
        let each = self.shared(task) * self.shared(first_unknown);
        let own = if task.index() < known { 0.0 } else { self.relation(task, task).abs() - each };
        to_others + f64::from(unknown) * each + own
    }

    fn weights(&self, task: TaskId) -> Vec<(u32, f64)> {
        let [alike, different, alone] = self.judge.trust(task);
        let shared = alike + different;
        self.weights.weights(task, |u, row| shared * u[0] + different * row[P] + alone * row[V])
    }

    fn parts(&self, tasks: &[TaskId]) -> Option<Vec<Parts>> {
        let shared = self.weights.shared_squares(0).norm();
        let mut pairs = Vec::new();
        let mut norm = |task: TaskId, part: Part| {
            let [_, p, v] = self.factors(task, part);
            self.weights.sum_squares(task, &mut pairs, |row| p * row[P] + v * row[V]).norm()
        };
        let parts = |task: TaskId| {
            let outlier = norm(task, Part::Outlier);
            Parts {
                shared: self.factors(task, Part::Shared)[0] * shared,
                individual: norm(task, Part::Individual),
                outlier,
                outlier_active: outlier > 0.0,
            }
        };
        Some(tasks.iter().copied().map(parts).collect())
    }

    fn part(&self, part: Part, task: TaskId) -> Option<Vec<(u32, f64)>> {
        let [shared, p, v] = self.factors(task, part);
        Some(self.weights.weights(task, |u, row| shared * u[0] + p * row[P] + v * row[V]))
    }

    fn heap_bytes(&self) -> usize {
        self.weights.heap_bytes() + self.judge.each.capacity() * size_of::<Counts>()
    }
}

/// Saved form of [`Auto`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AutoState {
    weights: SlotTablesState,
    lengths: Lengths,
    /// The counts of all, then of each task.
    counts: Block<u64>,
}

impl AutoState {
    /// Removes a task; those after it move one number down.
    pub(crate) fn remove_task(&mut self, task: usize) {
        self.weights.remove_task(task);
        // The first row is of all tasks.
        self.counts.remove_row(task + 1, COUNTED);
    }
}

impl Auto {
    pub(super) fn state(&self) -> AutoState {
        let counts = std::iter::once(&self.judge.all).chain(&self.judge.each);
        AutoState {
            weights: self.weights.state(|_, row| *row),
            lengths: self.judge.lengths,
            counts: Block(counts.flat_map(|counts| counts.to_numbers()).collect()),
        }
    }

    pub(super) fn restore(&mut self, tasks: usize, state: AutoState) -> Result<(), StateError> {
        let (counts, rest) = state.counts.0.as_chunks::<COUNTED>();
        let [all, each @ ..] = counts else {
            return Err(StateError::new("nothing was counted"));
        };
        if !rest.is_empty() || each.len() > tasks || !state.lengths.mean_log.is_finite() {
            return Err(StateError::new("what was counted does not fit the tasks"));
        }
        self.weights = Weights::restore(tasks, state.weights, |row: [f64; 2]| row)?;
        self.judge.all = Counts::from_numbers(*all);
        self.judge.each = each.iter().copied().map(Counts::from_numbers).collect();
        (self.judge.lengths, self.tasks) = (state.lengths, tasks);
        Ok(())
    }
}
