//! `coupled` with b = "auto": strengths of sharing side by side, and the data say which to trust.
//!
//! MP10 section 8 leaves open how to adapt b of (5) as data arrive. Here five multitask Perceptrons with b = 0, 1,
//! sqrt(K), K and 4 K learn next to each other; K counts the tasks met so far. (With tasks as far from their centre as
//! the centre is from zero, the best b in section 3.2 is about sqrt(K); K is `pairwise`.) Each keeps weights of its
//! own and updates on its own mistakes, exactly as if it were alone. Predictions are exponentially weighted means of
//! their margins; see `hedge.rs` for weights and guarantee.
//!
//! An example of weight w makes every member update as `perceptron` does; who was wrong is counted once per example,
//! whatever its weight.
//!
//! State: for every member, the two parts that a Perceptron with uniform R keeps, side by side; mistakes of each.
//! Cost: five times that of one member in arithmetic and in memory, one lookup per feature for all. O(s) whatever K is.

use serde::{Deserialize, Serialize};

use crate::error::StateError;
use crate::example::{Example, SparseView, TaskId, is_mistake, repeats};
use crate::hedge::{Hedge, HedgeState, mix};
use crate::interaction::{Scales, Uniform};
use crate::learner::{Outcome, in_task_order};
use crate::stream::Batch;
use crate::table::{AHEAD, Locate};
use crate::weights::side_by_side::Found;
use crate::weights::{SideBySide, SlotTablesState};

/// Learners side by side.
pub(super) const MEMBERS: usize = 5;

/// One number per member.
pub(super) type Lanes = [f64; MEMBERS];

/// Inner products of one example with both parts of every member, or factors of them.
#[derive(Debug, Clone, Copy, Default)]
struct LaneDots {
    shared: Lanes,
    own: Lanes,
}

type Members = SideBySide<MEMBERS, MEMBERS>;

/// b of each member for K tasks.
fn strengths(tasks: usize) -> Lanes {
    let k = tasks.max(1) as f64;
    [0.0, 1.0, k.sqrt(), k, 4.0 * k]
}

/// Factors of each member's R for K tasks.
fn scales(tasks: usize) -> LaneDots {
    let members = strengths(tasks).map(|b| Uniform::Coupled { b }.scales(tasks));
    LaneDots { own: members.map(|scales| scales.own), shared: members.map(|scales| scales.shared) }
}

#[derive(Debug, Clone)]
pub(super) struct Auto {
    weights: Members,
    mixture: Mixture,
    /// Scratch, not state.
    found: [Found; AHEAD],
    margins: Vec<Lanes>,
}

/// All but the weights.
#[derive(Debug, Clone)]
struct Mixture {
    hedge: Hedge<MEMBERS>,
    /// The factors, and the K they are for; follow from it.
    scales: LaneDots,
    scales_for: usize,
}

/// Inner products of an example whose rows have been found.
fn dots(weights: &Members, x: SparseView<'_>, found: &Found) -> LaneDots {
    let mut dots = LaneDots::default();
    weights.for_each(x, found, |shared, own, value| {
        for member in 0..MEMBERS {
            dots.shared[member] += shared[member] * value;
            dots.own[member] += own[member] * value;
        }
    });
    dots
}

impl Mixture {
    /// The factors for K tasks.
    #[inline]
    fn scales(&self, tasks: usize) -> LaneDots {
        if tasks == self.scales_for { self.scales } else { scales(tasks) }
    }

    /// Margins of the members on an example whose rows have been found, without its offset.
    #[inline]
    fn members(&self, weights: &Members, tasks: usize, x: SparseView<'_>, found: &Found) -> Lanes {
        let (scales, dots) = (self.scales(tasks), dots(weights, x, found));
        std::array::from_fn(|at| scales.own[at] * dots.own[at] + scales.shared[at] * dots.shared[at])
    }

    /// Every member learns from its own mistake, on an example whose rows have been found.
    fn update(
        &mut self,
        weights: &mut Members,
        tasks: usize,
        example: Example<'_>,
        (members, margin): (Lanes, f64),
        found: &mut Found,
    ) -> bool {
        if self.scales_for != tasks {
            (self.scales, self.scales_for) = (scales(tasks), tasks);
        }
        let Example { task, features, label, weight, offset, .. } = example;
        if weight == 0.0 {
            return false;
        }
        let members = members.map(|member| member + offset);
        let mut steps = members.map(|member| if is_mistake(label, member) { label } else { 0.0 });
        if weight != 1.0 {
            let squared = features.norm_squared();
            for (at, step) in steps.iter_mut().enumerate() {
                let gain = || (self.scales.own[at] + self.scales.shared[at]) * squared;
                *step *= repeats(weight, label, members[at], gain);
            }
        }
        if members.iter().any(|member| is_mistake(label, *member)) {
            weights.change(task, features, found, |shared, own, value| {
                for member in 0..MEMBERS {
                    shared[member] += steps[member] * value;
                    own[member] += steps[member] * value;
                }
            });
        }
        self.hedge.count(label, members, margin)
    }

    fn learn(
        &mut self,
        weights: &mut Members,
        tasks: usize,
        example: Example<'_>,
        found: &mut Found,
    ) -> Outcome {
        let members = self.members(weights, tasks, example.features, found);
        let margin = self.hedge.margin(members) + example.offset;
        Outcome { margin, updated: self.update(weights, tasks, example, (members, margin), found) }
    }
}

impl Auto {
    pub(super) fn new() -> Self {
        Self {
            weights: Members::new(),
            mixture: Mixture { hedge: Hedge::new(), scales: scales(1), scales_for: 1 },
            found: Default::default(),
            margins: Vec::new(),
        }
    }

    /// Margins of the members.
    fn members(&self, tasks: usize, task: TaskId, x: SparseView<'_>, found: &mut Found) -> Lanes {
        self.weights.find(task, x, found);
        self.mixture.members(&self.weights, tasks, x, found)
    }

    pub(super) fn margin(&self, tasks: usize, task: TaskId, x: SparseView<'_>) -> f64 {
        self.mixture.hedge.margin(self.members(tasks, task, x, &mut Found::default()))
    }

    pub(super) fn update(&mut self, tasks: usize, example: Example<'_>, margin: f64) -> bool {
        let mut found = std::mem::take(&mut self.found[0]);
        let members = self.members(tasks, example.task, example.features, &mut found);
        let updated = self.mixture.update(&mut self.weights, tasks, example, (members, margin), &mut found);
        self.found[0] = found;
        updated
    }

    pub(super) fn learn(&mut self, tasks: usize, example: Example<'_>) -> Outcome {
        let found = &mut self.found[0];
        self.weights.find(example.task, example.features, found);
        self.mixture.learn(&mut self.weights, tasks, example, found)
    }

    pub(super) fn learn_batch(&mut self, tasks: &mut usize, batch: &Batch, outcomes: &mut Vec<Outcome>) {
        let Self { weights, mixture, found, .. } = self;
        weights.learn_ahead(batch, found, |weights, example, found| {
            *tasks = (*tasks).max(example.task.index() + 1);
            outcomes.push(mixture.learn(weights, *tasks, example, found));
        });
    }

    /// All margins first, those of the members too, then updates in task order.
    pub(super) fn learn_round(&mut self, tasks: &mut usize, round: &Batch, outcomes: &mut Vec<Outcome>) {
        let (mut found, mut margins) =
            (std::mem::take(&mut self.found[0]), std::mem::take(&mut self.margins));
        margins.clear();
        for Example { task, features, offset, .. } in round.examples() {
            let members = self.members((*tasks).max(task.index() + 1), task, features, &mut found);
            outcomes.push(Outcome { margin: self.mixture.hedge.margin(members) + offset, updated: false });
            margins.push(members);
        }
        for at in in_task_order(round) {
            let example = round.example(at);
            *tasks = (*tasks).max(example.task.index() + 1);
            self.weights.find(example.task, example.features, &mut found);
            let found_margins = (margins[at], outcomes[at].margin);
            outcomes[at].updated =
                self.mixture.update(&mut self.weights, *tasks, example, found_margins, &mut found);
        }
        (self.found[0], self.margins) = (found, margins);
    }

    /// The weighted mean of the members' R.
    pub(super) fn mean_scales(&self, tasks: usize) -> Scales {
        let (weights, scales) = (self.mixture.hedge.weights(), self.mixture.scales(tasks));
        Scales { own: mix(weights, scales.own), shared: mix(weights, scales.shared) }
    }

    /// b of each member, and its weight.
    pub(super) fn strengths(&self, tasks: usize) -> Vec<(f64, f64)> {
        strengths(tasks).into_iter().zip(self.mixture.hedge.weights()).collect()
    }

    /// Weights of the mean margin, which is linear.
    pub(super) fn weights(&self, tasks: usize, task: TaskId) -> Vec<(u32, f64)> {
        let (weights, mut scales) = (self.mixture.hedge.weights(), self.mixture.scales(tasks));
        for at in 0..MEMBERS {
            scales.own[at] *= weights[at];
            scales.shared[at] *= weights[at];
        }
        self.weights.weights(task, |shared, own| {
            (0..MEMBERS).map(|at| scales.own[at] * own[at] + scales.shared[at] * shared[at]).sum()
        })
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.weights.heap_bytes()
    }

    pub(super) fn state(&self) -> AutoState {
        AutoState { weights: self.weights.state(|_, row| *row), hedge: self.mixture.hedge.state() }
    }

    pub(super) fn restore(&mut self, tasks: usize, state: AutoState) -> Result<(), StateError> {
        self.weights = SideBySide::restore(tasks, state.weights, |row: Lanes| row)?;
        self.mixture.hedge = Hedge::restore(&state.hedge)?;
        Ok(())
    }
}

/// Saved form of [`Auto`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AutoState {
    weights: SlotTablesState,
    hedge: HedgeState,
}

impl AutoState {
    /// Removes a task's own weights, of so many tasks; those after it move one number down, and their margins stay.
    pub(crate) fn remove_task(&mut self, task: usize, tasks: usize) {
        self.weights.remove_task(task);
        let [before, now] =
            [tasks, tasks - 1].map(|tasks| strengths(tasks).map(|b| Uniform::Coupled { b }.scales(tasks)));
        let factors: [Scales; MEMBERS] = std::array::from_fn(|at| now[at].from(before[at]));
        self.weights.scale(&factors.map(|scales| scales.own), &factors.map(|scales| scales.shared));
    }
}
