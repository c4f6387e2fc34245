//! `coupled` with b = "auto": strengths of sharing side by side, and the data say which to trust.
//!
//! MP10 section 8 leaves open how to adapt b of (5) as data arrive. Here five multitask Perceptrons with b = 0, 1,
//! sqrt(K), K and 4 K learn next to each other; K counts the tasks met so far. (With tasks as far from their centre as
//! the centre is from zero, the best b in section 3.2 is about sqrt(K); K is `pairwise`.) Each keeps weights of its
//! own and updates on its own mistakes, exactly as if it were alone. Predictions are exponentially weighted means of
//! their margins; see `hedge.rs` for weights and guarantee.
//!
//! State: for every member, the two parts that a Perceptron with uniform R keeps, side by side; mistakes of each.
//! Cost: five times that of one member in arithmetic and in memory, one lookup a feature for all. O(s) whatever K is.

use serde::{Deserialize, Serialize};

use super::AHEAD;
use crate::error::StateError;
use crate::example::{Example, SparseView, TaskId, is_mistake};
use crate::hedge::{Hedge, HedgeState, mix};
use crate::interaction::{Scales, Uniform};
use crate::learner::{Outcome, in_task_order};
use crate::linalg::SideBySide;
use crate::linalg::side_by_side::{Found, LaneDots, Lanes, MEMBERS, SideBySideState};
use crate::stream::Batch;

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
    weights: SideBySide,
    hedge: Hedge<MEMBERS>,
    /// The factors, and the K they are for; follow from it.
    scales: LaneDots,
    scales_for: usize,
    /// Scratch, not state.
    found: [Found; AHEAD],
    margins: Vec<Lanes>,
}

impl Auto {
    pub(super) fn new() -> Self {
        Self {
            weights: SideBySide::new(),
            hedge: Hedge::new(),
            scales: scales(1),
            scales_for: 1,
            found: Default::default(),
            margins: Vec::new(),
        }
    }

    /// The factors for K tasks.
    #[inline]
    fn scales(&self, tasks: usize) -> LaneDots {
        if tasks == self.scales_for { self.scales } else { scales(tasks) }
    }

    /// Margins of the members, whose dots are these.
    #[inline]
    fn combine(&self, tasks: usize, dots: &LaneDots) -> Lanes {
        let scales = self.scales(tasks);
        std::array::from_fn(|at| scales.own[at] * dots.own[at] + scales.shared[at] * dots.shared[at])
    }

    /// Margins of the members.
    fn members(&self, tasks: usize, task: TaskId, x: SparseView<'_>, found: &mut Found) -> Lanes {
        self.combine(tasks, &self.weights.dots_of(task, x, found))
    }

    pub(super) fn margin(&self, tasks: usize, task: TaskId, x: SparseView<'_>) -> f64 {
        self.hedge.margin(self.members(tasks, task, x, &mut Found::default()))
    }

    pub(super) fn update(&mut self, tasks: usize, example: Example<'_>, margin: f64) -> bool {
        let mut found = std::mem::take(&mut self.found[0]);
        let members = self.members(tasks, example.task, example.features, &mut found);
        let updated = self.update_found(tasks, example, members, margin, &mut found);
        self.found[0] = found;
        updated
    }

    /// Every member learns from its own mistake, on an example whose rows have been found.
    fn update_found(
        &mut self,
        tasks: usize,
        example: Example<'_>,
        members: Lanes,
        margin: f64,
        found: &mut Found,
    ) -> bool {
        if self.scales_for != tasks {
            (self.scales, self.scales_for) = (scales(tasks), tasks);
        }
        let Example { task, features, label } = example;
        let steps = members.map(|member| if is_mistake(label, member) { label } else { 0.0 });
        if members.iter().any(|member| is_mistake(label, *member)) {
            self.weights.add(task, features, steps, found);
        }
        self.hedge.count(label, members, margin)
    }

    pub(super) fn learn(&mut self, tasks: usize, example: Example<'_>) -> Outcome {
        let mut found = std::mem::take(&mut self.found[0]);
        let members = self.members(tasks, example.task, example.features, &mut found);
        let margin = self.hedge.margin(members);
        let updated = self.update_found(tasks, example, members, margin, &mut found);
        self.found[0] = found;
        Outcome { margin, updated }
    }

    /// As one by one, finding the weights of some examples ahead so that they are in cache when needed.
    pub(super) fn learn_batch(&mut self, tasks: &mut usize, batch: &Batch, outcomes: &mut Vec<Outcome>) {
        let mut found = std::mem::take(&mut self.found);
        let locate = |weights: &SideBySide, at: usize, found: &mut [Found; AHEAD]| {
            if at + AHEAD < batch.len() {
                weights.prefetch_task(batch.example(at + AHEAD).task);
            }
            if at < batch.len() {
                let Example { task, features, .. } = batch.example(at);
                weights.locate(task, features, &mut found[at % AHEAD]);
            }
        };
        (0..AHEAD - 1).for_each(|at| locate(&self.weights, at, &mut found));
        for (at, example) in batch.examples().enumerate() {
            locate(&self.weights, at + AHEAD - 1, &mut found);
            *tasks = (*tasks).max(example.task.index() + 1);
            let found = &mut found[at % AHEAD];
            self.weights.relocate(example.features, found);
            self.weights.find_rows(example.task, found);
            let members = self.combine(*tasks, &self.weights.dots(example.features, found));
            let margin = self.hedge.margin(members);
            let updated = self.update_found(*tasks, example, members, margin, found);
            outcomes.push(Outcome { margin, updated });
        }
        self.found = found;
    }

    /// All margins first, those of the members too, then updates in task order.
    pub(super) fn learn_round(&mut self, tasks: &mut usize, round: &Batch, outcomes: &mut Vec<Outcome>) {
        let (mut found, mut margins) =
            (std::mem::take(&mut self.found[0]), std::mem::take(&mut self.margins));
        margins.clear();
        for Example { task, features, .. } in round.examples() {
            let members = self.members((*tasks).max(task.index() + 1), task, features, &mut found);
            outcomes.push(Outcome { margin: self.hedge.margin(members), updated: false });
            margins.push(members);
        }
        for at in in_task_order(round) {
            let example = round.example(at);
            *tasks = (*tasks).max(example.task.index() + 1);
            self.weights.locate(example.task, example.features, &mut found);
            self.weights.find_rows(example.task, &mut found);
            outcomes[at].updated =
                self.update_found(*tasks, example, margins[at], outcomes[at].margin, &mut found);
        }
        (self.found[0], self.margins) = (found, margins);
    }

    /// The weighted mean of the members' R.
    pub(super) fn mean_scales(&self, tasks: usize) -> Scales {
        let (weights, scales) = (self.hedge.weights(), self.scales(tasks));
        Scales { own: mix(weights, scales.own), shared: mix(weights, scales.shared) }
    }

    /// b of each member, and how much it is trusted.
    pub(super) fn strengths(&self, tasks: usize) -> Vec<(f64, f64)> {
        strengths(tasks).into_iter().zip(self.hedge.weights()).collect()
    }

    /// Weights of the mean margin, which is linear.
    pub(super) fn weights(&self, tasks: usize, task: TaskId) -> Vec<(u32, f64)> {
        let (weights, mut scales) = (self.hedge.weights(), self.scales(tasks));
        for at in 0..MEMBERS {
            scales.own[at] *= weights[at];
            scales.shared[at] *= weights[at];
        }
        self.weights.weights(task, scales)
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.weights.heap_bytes()
    }

    pub(super) fn state(&self) -> AutoState {
        AutoState { weights: self.weights.state(), hedge: self.hedge.state() }
    }

    pub(super) fn restore(&mut self, tasks: usize, state: AutoState) -> Result<(), StateError> {
        (self.weights, self.hedge) =
            (SideBySide::restore(tasks, state.weights)?, Hedge::restore(&state.hedge)?);
        Ok(())
    }
}

/// Saved form of [`Auto`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AutoState {
    weights: SideBySideState,
    hedge: HedgeState,
}
