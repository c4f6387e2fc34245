//! How much each part of the members is worth: second-order logistic regression on their margins.
//!
//! The margin is a'z, z the [`PARTS`] margins of the members' parts, a learnt as a Newton method would: precision matrix
//! P += h z z', a += t y P^-1 z with the implicit t of the logistic loss, h = q (1 - q). Members that are too sure or too
//! timid are put right, parts that say the same are not counted twice, parts that mislead get negative weights.
//!
//! How much a task's own part is worth depends on how much the task has seen, so there is an `a` for tasks with 0, 1,
//! 2-3, 4-7, … examples. One that is met first starts from the one before, a quarter as sure. What sets a task apart from
//! others that have seen as much is in `trust`.

use serde::{Deserialize, Serialize};

use super::rule::{curvature, implicit_logistic};
use super::trust::Trust;
use crate::block::Block;
use crate::error::StateError;
use crate::example::TaskId;

/// Parts of the members: own of the one that is on its own, own of the coupled one, the pooled one, shared of the coupled.
pub(super) const PARTS: usize = 4;

/// A number a part.
pub(super) type Each = [f64; PARTS];

/// a before anything is known: the mean of three members.
const START: f64 = 1.0 / 3.0;

/// Precision of that.
const PRIOR: f64 = 1.0 / 0.3;

/// Longer margins are shortened before they teach: one example must not turn everything over.
const LONGEST: f64 = 20.0;

/// How sure an `a` is that was taken over from tasks that have seen less.
const TAKEN_OVER: f64 = 0.25;

/// `a` and how sure it is.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Newton {
    weights: Each,
    /// P, its lower triangle in use.
    precision: [Each; PARTS],
}

#[derive(Debug, Clone)]
pub(super) struct Mixer {
    /// By the number of digits of the examples that a task has seen, from the first.
    levels: Vec<Option<Newton>>,
    /// Examples of each task.
    examples: Vec<u64>,
    trusts: Vec<Trust>,
    /// That of a task that has not been met.
    unknown: Trust,
    /// What is left of the precision after an example, where things are forgotten.
    keep: f64,
}

/// sum a_k z_k.
#[inline]
pub(super) fn weighted(weights: &Each, parts: &Each) -> f64 {
    (weights[0] * parts[0] + weights[1] * parts[1]) + (weights[2] * parts[2] + weights[3] * parts[3])
}

impl Newton {
    fn new() -> Self {
        let mut precision = [[0.0; PARTS]; PARTS];
        (0..PARTS).for_each(|at| precision[at][at] = PRIOR);
        Self { weights: [START; PARTS], precision }
    }

    /// P moves towards its start: by nothing for 1, wholly for 0.
    fn fade(&mut self, keep: f64) {
        for (at, row) in self.precision.iter_mut().enumerate() {
            row.iter_mut().for_each(|entry| *entry *= keep);
            row[at] += (1.0 - keep) * PRIOR;
        }
    }

    /// P^-1 z, by P = L L'; none when P is not positive definite, which only a broken file can bring about.
    fn solve(&self, z: &Each) -> Option<Each> {
        let mut factor = self.precision;
        let mut solved = *z;
        for at in 0..PARTS {
            for before in 0..at {
                let dot: f64 = (0..before).map(|k| factor[at][k] * factor[before][k]).sum();
                factor[at][before] = (factor[at][before] - dot) / factor[before][before];
            }
            let square: f64 = (0..at).map(|k| factor[at][k] * factor[at][k]).sum();
            let pivot = (factor[at][at] - square).sqrt();
            if !(pivot.is_finite() && pivot > 0.0) {
                return None;
            }
            factor[at][at] = pivot;
            let dot: f64 = (0..at).map(|k| factor[at][k] * solved[k]).sum();
            solved[at] = (solved[at] - dot) / pivot;
        }
        for at in (0..PARTS).rev() {
            let dot: f64 = (at + 1..PARTS).map(|k| factor[k][at] * solved[k]).sum();
            solved[at] = (solved[at] - dot) / factor[at][at];
        }
        Some(solved)
    }

    fn learn(&mut self, label: f64, parts: &Each) {
        let longest = parts.iter().fold(0.0_f64, |longest, part| longest.max(part.abs()));
        let shorten = if longest > LONGEST { LONGEST / longest } else { 1.0 };
        let z = parts.map(|part| part * shorten);
        let margin = weighted(&self.weights, &z);
        let Some(solved) = self.solve(&z) else { return };
        let step = label * implicit_logistic(label * margin, weighted(&solved, &z));
        let h = curvature(margin);
        for at in 0..PARTS {
            self.weights[at] += step * solved[at];
            for k in 0..=at {
                self.precision[at][k] += h * z[at] * z[k];
            }
        }
    }
}

impl Mixer {
    pub(super) fn new(half_life: Option<f64>) -> Self {
        let keep = half_life.map_or(1.0, |half_life| (-1.0 / half_life).exp2());
        Self {
            levels: vec![Some(Newton::new())],
            examples: Vec::new(),
            trusts: Vec::new(),
            unknown: Trust::default(),
            keep,
        }
    }

    /// The level of a task.
    #[inline]
    fn level(&self, task: TaskId) -> usize {
        let examples = self.examples.get(task.index()).copied().unwrap_or(0);
        (u64::BITS - examples.leading_zeros()) as usize
    }

    /// The nearest level that has been met, from here down.
    #[inline]
    fn met(&self, level: usize) -> &Newton {
        let known = &self.levels[..self.levels.len().min(level + 1)];
        known.iter().rev().find_map(Option::as_ref).expect("the first level is always there")
    }

    /// a, for a task.
    #[inline]
    pub(super) fn weights(&self, task: TaskId) -> Each {
        let [a, b, c, d] = self.met(self.level(task)).weights;
        let [own, shared] = self.trusts.get(task.index()).map_or([1.0; 2], Trust::factors);
        [a * own, b * own, c * shared, d * shared]
    }

    /// What the shared weights are multiplied by for a task, from -1 to 1.
    #[inline]
    pub(super) fn side(&self, task: TaskId) -> f64 {
        self.trusts.get(task.index()).unwrap_or(&self.unknown).side()
    }

    /// a, for tasks that have seen most.
    pub(super) fn last_weights(&self) -> &Each {
        &self.met(self.levels.len()).weights
    }

    /// Learns from the margins of an example's parts, on the task's side, and from what the pooled member says to all.
    pub(super) fn learn(&mut self, task: TaskId, label: f64, parts: &Each, pooled: f64) {
        let level = self.level(task);
        if self.examples.len() <= task.index() {
            self.examples.resize(task.index() + 1, 0);
            self.trusts.resize(task.index() + 1, Trust::default());
        }
        self.examples[task.index()] += 1;
        if self.levels.get(level).is_none_or(Option::is_none) {
            let mut from = *self.met(level);
            from.fade(TAKEN_OVER);
            self.levels.resize(self.levels.len().max(level + 1), None);
            self.levels[level] = Some(from);
        }
        if let (Some(newton), Some(trust)) = (&mut self.levels[level], self.trusts.get_mut(task.index())) {
            if self.keep < 1.0 {
                newton.fade(self.keep);
                trust.fade(self.keep);
            }
            let a = newton.weights;
            let [own, shared] = [a[0] * parts[0] + a[1] * parts[1], a[2] * parts[2] + a[3] * parts[3]];
            trust.learn(label, [own, shared], pooled);
            newton.learn(label, parts);
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.levels.capacity() * size_of::<Option<Newton>>()
            + self.examples.capacity() * size_of::<u64>()
            + self.trusts.capacity() * size_of::<Trust>()
    }

    pub(super) fn state(&self) -> MixerState {
        // Trailing tasks that nothing sets apart need no entry.
        let apart = self.trusts.iter().rposition(|trust| *trust != Trust::default()).map_or(0, |at| at + 1);
        let met = self.levels.iter().enumerate().filter_map(|(at, level)| level.as_ref().map(|l| (at, l)));
        let (mut levels, mut weights, mut precisions) = (Vec::new(), Vec::new(), Vec::new());
        for (at, newton) in met {
            levels.push(at as u32);
            weights.extend(newton.weights);
            precisions.extend(newton.precision.as_flattened());
        }
        MixerState {
            levels: Block(levels),
            weights: Block(weights),
            precisions: Block(precisions),
            examples: Block(self.examples.clone()),
            trusts: Block(Vec::new()),
            apart: Block(self.trusts[..apart].iter().flat_map(Trust::numbers).collect()),
        }
    }

    pub(super) fn restore(&mut self, tasks: usize, state: MixerState) -> Result<(), StateError> {
        let MixerState { levels, weights, precisions, examples, trusts, apart } = state;
        let (weights, precisions) = (weights.0.as_chunks().0, precisions.0.as_chunks::<PARTS>().0);
        let met = levels.0.len();
        let increasing = levels.0.windows(2).all(|pair| pair[0] < pair[1]);
        if levels.0.first() != Some(&0)
            || !increasing
            || levels.0.last().is_some_and(|level| *level > u64::BITS)
            || weights.len() != met
            || precisions.len() != met * PARTS
            || examples.0.len() > tasks
        {
            return Err(StateError::new("the weights of the members do not fit together"));
        }
        self.levels.clear();
        for ((level, weights), precision) in levels.0.iter().zip(weights).zip(precisions.as_chunks().0) {
            let newton = Newton { weights: *weights, precision: *precision };
            if !weights.iter().all(|weight| weight.is_finite()) || newton.solve(&[1.0; PARTS]).is_none() {
                return Err(StateError::new("the weights of the members are no numbers"));
            }
            self.levels.resize(*level as usize, None);
            self.levels.push(Some(newton));
        }
        let ((now, rest), (before, more)) = (apart.0.as_chunks(), trusts.0.as_chunks());
        let now = now.iter().map(Trust::from_numbers);
        let trusts: Option<Vec<Trust>> = before.iter().map(Trust::from_sided).chain(now).collect();
        self.trusts = trusts
            .filter(|trusts| rest.is_empty() && more.is_empty() && trusts.len() <= examples.0.len())
            .ok_or_else(|| StateError::new("what sets the tasks apart is not sound"))?;
        // Models of before had none.
        self.trusts.resize(examples.0.len(), Trust::default());
        self.examples = examples.0;
        Ok(())
    }
}

fn is_empty(block: &Block<f64>) -> bool {
    block.0.is_empty()
}

/// Saved form of [`Mixer`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct MixerState {
    /// The levels that have been met.
    levels: Block<u32>,
    /// `a` of each.
    weights: Block<f64>,
    /// P of each, a row after the other.
    precisions: Block<f64>,
    /// Examples of each task.
    examples: Block<u64>,
    /// What sets each task apart, as it was written once: with sides of 1 or -1.
    #[serde(default, skip_serializing_if = "is_empty")]
    trusts: Block<f64>,
    /// What sets each task apart.
    #[serde(default, skip_serializing_if = "is_empty")]
    apart: Block<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solving_undoes_multiplying() {
        let mut newton = Newton::new();
        for round in 0..50 {
            let z: Each = std::array::from_fn(|at| f64::from((round * (i32::from(at as u8) + 3)) % 7) - 3.0);
            newton.learn(if round % 3 == 0 { 1.0 } else { -1.0 }, &z);
        }
        let z = [1.0, -2.0, 0.5, 3.0];
        let solved = newton.solve(&z).unwrap();
        for at in 0..PARTS {
            let entry = |k: usize| newton.precision[at.max(k)][at.min(k)];
            let product: f64 = (0..PARTS).map(|k| entry(k) * solved[k]).sum();
            assert!((product - z[at]).abs() < 1e-9, "{product} for {}", z[at]);
        }
    }

    /// One part knows, one says the opposite, two guess.
    #[test]
    fn parts_get_what_they_are_worth() {
        let mut mixer = Mixer::new(None);
        let mut noise = 7_u64;
        let mut guess = || {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if noise >> 63 == 1 { 1.0 } else { -1.0 }
        };
        for _ in 0..2000 {
            let label = guess();
            // The shared parts as they are seen from the task's side, which it finds.
            let side = mixer.side(TaskId(3));
            mixer.learn(TaskId(3), label, &[2.0 * label, guess(), -side * label, side * guess()], -label);
        }
        let (weights, side) = (mixer.weights(TaskId(3)), mixer.side(TaskId(3)));
        assert!(weights[0] > 1.0 && side * weights[2] < -0.3, "{weights:?} {side}");
        assert!(weights[1].abs() < 0.5 && weights[3].abs() < 0.5, "{weights:?}");
        assert_eq!(
            mixer.weights(TaskId(0)),
            mixer.levels[0].unwrap().weights,
            "another task has seen nothing"
        );
    }
}
