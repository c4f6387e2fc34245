//! `rom-pgd` with a given eta: Algorithm 1 as it stands, all scalings lazy.

use serde::{Deserialize, Serialize};

use super::{RomPgdConfig, UStep};
use crate::block::Block;
use crate::error::StateError;
use crate::example::{Example, SparseView, TaskId, hinge, repeats};
use crate::learner::{
    Inspect, LearnOne, Outcome, Part, Parts, Predict, in_task_order, influence_of_like_tasks,
};
use crate::stream::Batch;
use crate::table::{AHEAD, Locate};
use crate::weights::norm::NormsState;
use crate::weights::side_by_side::Found;
use crate::weights::{Norm, SideBySide, SlotTablesState};

#[derive(Debug, Clone)]
pub(super) struct Fixed {
    tasks: usize,
    weights: Weights,
    steps: Steps,
    /// Scratch, not state.
    found: [Found; AHEAD],
}

/// A row holds p and q of a task, each to be multiplied by its factor, and the age of q.
type Weights = SideBySide<1, 3>;
const P: usize = 0;
const Q: usize = 1;
const AGE: usize = 2;

/// What turns rows into weights, and losses into steps.
#[derive(Debug, Clone)]
struct Steps {
    config: RomPgdConfig,
    eta: f64,
    /// Factor of u.
    shared: f64,
    own: Vec<Own>,
    /// Scratch, not state.
    pairs: Vec<(u32, u32)>,
    /// Whether a norm was not finite; not state either.
    overflowed: bool,
}

/// Factors of a task.
#[derive(Debug, Clone, Copy)]
struct Own {
    individual: f64,
    outlier: f64,
    /// |q|.
    norm: Norm,
    /// How often q became 0, from 1: a row of another age has none.
    age: f64,
}

impl Own {
    const NEW: Self = Self { individual: 1.0, outlier: 1.0, norm: Norm::NEW, age: 1.0 };

    /// p and q of a row.
    #[inline]
    fn parts(&self, row: &[f64; 3]) -> (f64, f64) {
        (self.individual * row[P], if row[AGE] == self.age { self.outlier * row[Q] } else { 0.0 })
    }
}

/// Inner products of an example with the three parts.
#[derive(Debug, Clone, Copy, Default)]
struct Dots {
    shared: f64,
    individual: f64,
    outlier: f64,
}

impl Dots {
    fn margin(self) -> f64 {
        self.shared + self.individual + self.outlier
    }
}

/// Whether an example teaches anything.
fn has_loss(example: Example<'_>, margin: f64) -> bool {
    hinge(example.label, margin) > 0.0 && example.weight > 0.0
}

/// A shrinking factor, so many times; exactly the factor for once. What a huge weight shrinks to nothing is still finite.
fn power(factor: f64, times: f64) -> f64 {
    if times == 1.0 { factor } else { factor.powf(times).min(LARGEST_SHRINKING) }
}

/// 2^200: more is nothing, and factors stay far from the smallest numbers.
const LARGEST_SHRINKING: f64 = (1_u128 << 100) as f64 * (1_u128 << 100) as f64;

/// Factors below this are multiplied into their vectors; 2^-100, far from the smallest numbers.
const LEAST_FACTOR: f64 = 1.0 / (1_u128 << 100) as f64;

impl Steps {
    fn own(&self, task: TaskId) -> Own {
        self.own.get(task.index()).copied().unwrap_or(Own::NEW)
    }

    /// Inner products of an example whose rows have been found.
    #[inline]
    fn dots(&self, weights: &Weights, task: TaskId, x: SparseView<'_>, found: &Found) -> Dots {
        let (own, mut dots) = (self.own(task), Dots::default());
        weights.for_each(x, found, |u, row, value| {
            // Weights before products: what a row holds can be far larger than the weight.
            let (p, q) = own.parts(row);
            dots.shared += self.shared * u[0] * value;
            dots.individual += p * value;
            dots.outlier += q * value;
        });
        dots
    }

    /// The gradient step of an example with a loss, on all three parts, and the shrinking of p and q; right after the
    /// dots of the same example.
    fn step(
        &mut self,
        weights: &mut Weights,
        example: Example<'_>,
        eta_shared: f64,
        dots: Dots,
        found: &mut Found,
    ) {
        let Example { task, features, label, weight, offset, .. } = example;
        let outlier = if self.own(task).norm.get() > 0.0 { 1.0 } else { 0.0 };
        // As often as it takes until label times margin is 1.
        let short = dots.margin() + offset - label;
        let gain = || (eta_shared + (1.0 + outlier) * self.eta) * features.norm_squared();
        let times = repeats(weight, label, short, gain);
        let label = label * times;
        let (eta, RomPgdConfig { beta, gamma, .. }) = (self.eta, self.config);
        if self.own.len() <= task.index() {
            self.own.resize(task.index() + 1, Own::NEW);
        }
        let own = &mut self.own[task.index()];
        // (8) and (10): what becomes of q is known from its norm.
        let squared = own.norm.squared_after(eta * label, dots.outlier, features.norm_squared());
        self.overflowed |= !squared.is_finite();
        let norm = squared.sqrt();
        let kept = if norm > 0.0 { (1.0 - times * (eta * gamma) / norm).max(0.0) } else { 0.0 };
        if kept == 0.0 {
            own.age += 1.0;
            (own.outlier, own.norm) = (1.0, Norm::NEW);
        }
        let step = eta * label;
        let (shared, individual) = (eta_shared * label / self.shared, step / own.individual);
        let (outlier, age) = (step / own.outlier, own.age);
        weights.change(task, features, found, |u, row, value| {
            u[0] += shared * value;
            row[P] += individual * value;
            if kept > 0.0 {
                row[Q] = if row[AGE] == age { row[Q] } else { 0.0 } + outlier * value;
                row[AGE] = age;
            }
        });
        own.individual /= power(1.0 + beta * eta, times); // (7)
        if kept > 0.0 {
            own.outlier *= kept;
            if own.norm.follow(kept * kept * squared, features.len()) {
                let own = *own;
                let squares = weights.sum_squares(task, &mut self.pairs, |row| own.parts(row).1);
                self.own[task.index()].norm.count(squares);
            }
        }
        self.fold(weights, task);
    }

    /// Multiplies factors that got too small into the task's rows.
    fn fold(&mut self, weights: &mut Weights, task: TaskId) {
        let own = &mut self.own[task.index()];
        if own.individual.min(own.outlier) < LEAST_FACTOR {
            let old = *own;
            weights.change_rows(task, |row| {
                (row[P], row[Q]) = old.parts(row);
                row[AGE] = old.age;
            });
            (own.individual, own.outlier) = (1.0, 1.0);
        }
    }

    /// (6) without its gradients: u shrinks once per round, or as often as its weight says.
    fn shrink(&mut self, weights: &mut Weights, tasks: usize, times: f64) {
        self.shared /= power(1.0 + self.config.alpha * self.eta_shared(tasks), times);
        if self.shared < LEAST_FACTOR {
            let factor = std::mem::replace(&mut self.shared, 1.0);
            weights.change_shared(|u| u[0] *= factor);
        }
    }

    /// The step of u among K tasks.
    fn eta_shared(&self, tasks: usize) -> f64 {
        match self.config.u_step {
            UStep::Sum => self.eta,
            UStep::Mean => self.eta / tasks.max(1) as f64,
        }
    }

    /// A round of one example whose rows have been found.
    fn learn(
        &mut self,
        weights: &mut Weights,
        tasks: usize,
        example: Example<'_>,
        found: &mut Found,
    ) -> Outcome {
        let dots = self.dots(weights, example.task, example.features, found);
        let margin = dots.margin() + example.offset;
        let updated = has_loss(example, margin);
        if updated {
            self.step(weights, example, self.eta_shared(tasks), dots, found);
        }
        if example.weight > 0.0 {
            self.shrink(weights, tasks, example.weight);
        }
        Outcome { margin, updated }
    }
}

impl Fixed {
    pub(super) fn new(config: RomPgdConfig, eta: f64, tasks: usize) -> Self {
        let steps = Steps { config, eta, shared: 1.0, own: Vec::new(), pairs: Vec::new(), overflowed: false };
        Self { tasks, weights: Weights::new(), steps, found: Default::default() }
    }

    /// The step of an example that has a loss.
    fn step(&mut self, example: Example<'_>) {
        let Self { tasks, weights, steps, found } = self;
        let found = &mut found[0];
        weights.find(example.task, example.features, found);
        let dots = steps.dots(weights, example.task, example.features, found);
        steps.step(weights, example, steps.eta_shared(*tasks), dots, found);
    }
}

impl Predict for Fixed {
    fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        let mut found = Found::default();
        self.weights.find(task, x, &mut found);
        self.steps.dots(&self.weights, task, x, &found).margin()
    }
}

impl LearnOne for Fixed {
    fn update(&mut self, example: Example<'_>, margin: f64) -> bool {
        self.tasks = self.tasks.max(example.task.index() + 1);
        let updated = has_loss(example, margin);
        if updated {
            self.step(example);
        }
        if example.weight > 0.0 {
            self.steps.shrink(&mut self.weights, self.tasks, example.weight);
        }
        updated
    }

    /// As margin then update, looking each feature up once.
    fn learn(&mut self, example: Example<'_>) -> Outcome {
        self.tasks = self.tasks.max(example.task.index() + 1);
        let found = &mut self.found[0];
        self.weights.find(example.task, example.features, found);
        self.steps.learn(&mut self.weights, self.tasks, example, found)
    }

    /// u does not shrink: nothing was learnt.
    fn skip(&mut self, task: TaskId) {
        self.tasks = self.tasks.max(task.index() + 1);
    }

    fn learn_batch(&mut self, batch: &Batch, outcomes: &mut Vec<Outcome>) {
        outcomes.clear();
        let Self { tasks, weights, steps, found } = self;
        weights.learn_ahead(batch, found, |weights, example, found| {
            *tasks = (*tasks).max(example.task.index() + 1);
            outcomes.push(steps.learn(weights, *tasks, example, found));
        });
    }

    fn overflow(&self) -> Option<&'static str> {
        self.steps.overflowed.then_some("the norm of a task's outlier part")
    }

    /// All margins first; u moves by the sum of the gradients and shrinks once.
    fn learn_round(&mut self, round: &Batch, outcomes: &mut Vec<Outcome>) {
        outcomes.clear();
        outcomes.extend(round.examples().map(|example| {
            let margin = self.margin(example.task, example.features) + example.offset;
            Outcome { margin, updated: has_loss(example, margin) }
        }));
        let met = round.examples().map(|example| example.task.index() + 1).max().unwrap_or(0);
        self.tasks = self.tasks.max(met);
        for at in in_task_order(round) {
            if outcomes[at].updated {
                self.step(round.example(at));
            }
        }
        let largest = round.examples().map(|example| example.weight).reduce(f64::max).unwrap_or(1.0);
        if largest > 0.0 {
            self.steps.shrink(&mut self.weights, self.tasks, largest);
        }
    }
}

impl Inspect for Fixed {
    fn tasks(&self) -> usize {
        self.tasks
    }

    /// By how much of an example with a loss the weights move, before they shrink.
    fn relation(&self, to: TaskId, from: TaskId) -> f64 {
        let shared = self.steps.eta_shared(self.tasks);
        let outlier = if self.steps.own(to).norm.get() > 0.0 { 1.0 } else { 0.0 };
        if to == from { shared + (1.0 + outlier) * self.steps.eta } else { shared }
    }

    fn influence(&self, task: TaskId) -> f64 {
        influence_of_like_tasks(self, task)
    }

    fn weights(&self, task: TaskId) -> Vec<(u32, f64)> {
        let own = self.steps.own(task);
        self.weights.weights(task, |u, row| {
            let (p, q) = own.parts(row);
            self.steps.shared * u[0] + p + q
        })
    }

    fn parts(&self, tasks: &[TaskId]) -> Option<Vec<Parts>> {
        let shared = self.steps.shared * self.weights.shared_squares(0).norm();
        let mut pairs = Vec::new();
        let parts = |task: &TaskId| {
            let own = self.steps.own(*task);
            let individual = self.weights.sum_squares(*task, &mut pairs, |row| own.parts(row).0);
            let outlier = own.norm.get();
            Parts { shared, individual: individual.norm(), outlier, outlier_active: outlier > 0.0 }
        };
        Some(tasks.iter().map(parts).collect())
    }

    fn part(&self, part: Part, task: TaskId) -> Option<Vec<(u32, f64)>> {
        let own = self.steps.own(task);
        Some(self.weights.weights(task, |u, row| match part {
            Part::Shared => self.steps.shared * u[0],
            Part::Individual => own.parts(row).0,
            Part::Outlier => own.parts(row).1,
        }))
    }

    fn heap_bytes(&self) -> usize {
        self.weights.heap_bytes() + self.steps.own.capacity() * size_of::<Own>()
    }
}

/// Saved form of [`Fixed`]: of each row p and q before their factors, and the factors of each task.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FixedState {
    weights: SlotTablesState,
    shared: f64,
    individual: Block<f64>,
    outlier: Block<f64>,
    norms: NormsState,
}

impl FixedState {
    /// Removes a task; those after it move one number down.
    pub(crate) fn remove_task(&mut self, task: usize) {
        self.weights.remove_task(task);
        self.individual.remove_row(task, 1);
        self.outlier.remove_row(task, 1);
        self.norms.remove_task(task);
    }
}

impl Fixed {
    pub(super) fn state(&self) -> FixedState {
        let own = &self.steps.own;
        let row = |task: TaskId, row: &[f64; 3]| {
            let live = row[AGE] == self.steps.own(task).age;
            [row[P], if live { row[Q] } else { 0.0 }]
        };
        FixedState {
            weights: self.weights.state(row),
            shared: self.steps.shared,
            individual: Block(own.iter().map(|own| own.individual).collect()),
            outlier: Block(own.iter().map(|own| own.outlier).collect()),
            norms: NormsState::of(own.iter().map(|own| own.norm)),
        }
    }

    pub(super) fn restore(&mut self, tasks: usize, state: FixedState) -> Result<(), StateError> {
        let FixedState { weights, shared, individual: Block(individual), outlier: Block(outlier), norms } =
            state;
        let (norms, wrong) = (norms.restore()?, StateError::new("a factor is missing or out of range"));
        let is_factor = |factor: &f64| (LEAST_FACTOR..=1.0).contains(factor);
        let counts = [individual.len(), outlier.len(), norms.len()];
        if counts != [counts[0]; 3]
            || counts[0] > tasks
            || !individual.iter().chain(&outlier).chain([&shared]).all(is_factor)
        {
            return Err(wrong);
        }
        self.weights = Weights::restore(tasks, weights, |[p, q]| [p, q, Own::NEW.age])?;
        let factors = individual.into_iter().zip(outlier).zip(norms);
        self.steps.own = factors
            .map(|((individual, outlier), norm)| Own { individual, outlier, norm, ..Own::NEW })
            .collect();
        (self.steps.shared, self.tasks) = (shared, tasks);
        Ok(())
    }
}
