//! How much each part of the members is worth: second-order logistic regression on their margins.
//!
//! The margin is a'z, z the [`PerPart`] margins of the members' parts. From z cut to [`LONGEST`], a learns as by Newton's method:
//!
//! ```text
//! t = sigmoid(-(y a'z + z'P^-1 z t))      a += y t P^-1 z      P += h z z',  h = q (1 - q) for q = sigmoid(a'z)
//! ```
//!
//! So members that are too sure or too timid are put right, parts that say the same are not counted twice, and parts that mislead
//! get negative weights.
//!
//! How much a task's own part is worth depends on how much the task has seen, so there is one `a` per level: for tasks with 0, 1,
//! 2-3, 4-7, … examples. A level that no task has reached before starts from the one below it, a quarter as sure. What sets a
//! task apart from others that have seen as much is in `trust`.
#![expect(clippy::inline_always, reason = "only what is inlined is compiled for wide vectors")]

use serde::{Deserialize, Serialize};

use super::groups::{Asked, SIDE_BY_SIDE};
use super::real::Target;
use super::rule::{HalfLife, Implicit, curvature, implicit_steps, passed, weighted_curvature};
use super::trust::{Lean, NUMBERS, Trust};
use crate::block::Block;
use crate::error::StateError;
use crate::example::{Example, TaskId};
use crate::table::prefetch::prefetch;

/// Parts of the members' margins.
pub(super) const PARTS: usize = 4;

/// A number per part, at [`ALONE`], [`COUPLED_OWN`], [`POOLED`] and [`COUPLED_SHARED`].
pub(super) type PerPart = [f64; PARTS];

/// The member with one vector per task.
pub(super) const ALONE: usize = 0;
/// The task's own vector of the member with both.
pub(super) const COUPLED_OWN: usize = 1;
/// The member with one vector for all tasks.
pub(super) const POOLED: usize = 2;
/// The shared vector of the member with both.
pub(super) const COUPLED_SHARED: usize = 3;

/// a before anything is known: the mean of three members.
const START: f64 = 1.0 / 3.0;

/// Precision of that: a has the prior variance 0.3.
const PRIOR: f64 = 1.0 / 0.3;

/// Longer margins are shortened before they teach: one example must not turn everything over.
pub(super) const LONGEST: f64 = 20.0;

/// Times the noise of real labels, for trusts: what sets tasks apart in so few numbers is mostly noise.
const DEAF: f64 = 4.0;

/// How sure an `a` is that was taken over from tasks that have seen less.
const TAKEN_OVER: f64 = 0.25;

/// `a` and how sure it is.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Newton {
    weights: PerPart,
    /// P, its lower triangle in use.
    precision: [PerPart; PARTS],
}

/// What is known about a task, in one cache line: with many tasks every lookup misses.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
struct KnownTask {
    /// How many it has seen.
    examples: u64,
    trust: Trust,
}

#[derive(Debug, Clone)]
pub(super) struct Mixer {
    /// By level: the number of binary digits of the examples that a task has seen. The first is always there.
    levels: Vec<Option<Newton>>,
    tasks: Vec<KnownTask>,
    /// What is left of the precision after an example, where things are forgotten.
    keep: f64,
    /// Where time is what passes.
    times: Option<Box<Times>>,
}

/// When levels and tasks were used last.
#[derive(Debug, Clone)]
struct Times {
    /// Seconds.
    half_life: f64,
    levels: Vec<Option<f64>>,
    tasks: Vec<Option<f64>>,
}

impl Times {
    /// What is left of a level or a task after the time since it was used.
    fn keep(used: &mut Vec<Option<f64>>, at: usize, now: Option<f64>, half_life: f64) -> f64 {
        if used.len() <= at {
            used.resize(at + 1, None);
        }
        (-passed(&mut used[at], now, half_life)).exp2()
    }
}

/// Variances of a margin that the weights of its parts account for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Doubt {
    /// z'P^-1 z.
    pub(super) mixture: f64,
    /// The same of the task's trust, in its own and the shared half of the margin.
    pub(super) trust: f64,
}

/// sum a_k z_k.
#[inline]
pub(super) fn weighted(weights: &PerPart, parts: &PerPart) -> f64 {
    let own = weights[ALONE] * parts[ALONE] + weights[COUPLED_OWN] * parts[COUPLED_OWN];
    let shared = weights[POOLED] * parts[POOLED] + weights[COUPLED_SHARED] * parts[COUPLED_SHARED];
    own + shared
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

    /// P^-1 z, by P = L D L'; none when P is not positive definite, which only a broken file can bring about.
    #[inline(always)]
    fn solve(&self, z: &PerPart) -> Option<PerPart> {
        // Below the diagonal first L D, then L.
        let mut factor = self.precision;
        let (mut solved, mut inverse) = (*z, [0.0; PARTS]);
        for at in 0..PARTS {
            for row in at..PARTS {
                factor[row][at] -=
                    (0..at).map(|k| factor[row][k] * (factor[at][k] * inverse[k])).sum::<f64>();
            }
            if !(factor[at][at].is_finite() && factor[at][at] > 0.0) {
                return None;
            }
            inverse[at] = factor[at][at].recip();
        }
        for at in 0..PARTS {
            solved[at] -= (0..at).map(|k| factor[at][k] * inverse[k] * solved[k]).sum::<f64>();
        }
        for at in (0..PARTS).rev() {
            let later: f64 = (at + 1..PARTS).map(|k| factor[k][at] * solved[k]).sum();
            solved[at] = (solved[at] - later) * inverse[at];
        }
        Some(solved)
    }

    /// Margins that are not too long to teach.
    #[inline(always)]
    fn shortened(parts: &PerPart) -> PerPart {
        let longest = parts.iter().fold(0.0_f64, |longest, part| longest.max(part.abs()));
        let shorten = if longest > LONGEST { LONGEST / longest } else { 1.0 };
        parts.map(|part| part * shorten)
    }

    /// Takes a step along P^-1 z, and takes z into account with so much curvature.
    #[inline(always)]
    fn learn(&mut self, z: &PerPart, solved: &PerPart, step: f64, h: f64) {
        for at in 0..PARTS {
            self.weights[at] += step * solved[at];
            for k in 0..=at {
                self.precision[at][k] += h * z[at] * z[k];
            }
        }
    }
}

/// Two times four implicit steps, which take little longer than four.
#[inline(always)]
fn two_at_once(agreed: [PerPart; 2], variance: [PerPart; 2]) -> [Implicit<SIDE_BY_SIDE>; 2] {
    let (mut all_agreed, mut all_variance) = ([0.0; 2 * PARTS], [0.0; 2 * PARTS]);
    for at in 0..PARTS {
        (all_agreed[at], all_agreed[PARTS + at]) = (agreed[0][at], agreed[1][at]);
        (all_variance[at], all_variance[PARTS + at]) = (variance[0][at], variance[1][at]);
    }
    let all = implicit_steps(all_agreed, all_variance);
    let mut halves = [Implicit { steps: [0.0; PARTS], curvatures: [0.0; PARTS] }; 2];
    for at in 0..PARTS {
        (halves[0].steps[at], halves[1].steps[at]) = (all.steps[at], all.steps[PARTS + at]);
        (halves[0].curvatures[at], halves[1].curvatures[at]) =
            (all.curvatures[at], all.curvatures[PARTS + at]);
    }
    halves
}

/// What the mixture makes of own parts and of shared ones.
#[inline(always)]
fn apart(a: &PerPart, parts: &PerPart) -> [f64; 2] {
    [
        a[ALONE] * parts[ALONE] + a[COUPLED_OWN] * parts[COUPLED_OWN],
        a[POOLED] * parts[POOLED] + a[COUPLED_SHARED] * parts[COUPLED_SHARED],
    ]
}

/// t and h of the loss over its noise.
fn over_noise(target: &Target, margin: f64, variance: f64) -> (f64, f64) {
    let step = target.step(margin, variance / target.noise) / target.noise;
    (step, target.curvature(margin + variance * step) / target.noise)
}

impl KnownTask {
    /// The number of binary digits of its examples.
    #[inline]
    fn level(&self) -> usize {
        (u64::BITS - self.examples.leading_zeros()) as usize
    }
}

impl Mixer {
    pub(super) fn new(half_life: Option<HalfLife>) -> Self {
        let keep = half_life.map_or(1.0, HalfLife::of_example);
        let times = match half_life {
            Some(HalfLife::Seconds(half_life)) => {
                Some(Box::new(Times { half_life, levels: Vec::new(), tasks: Vec::new() }))
            }
            _ => None,
        };
        Self { levels: vec![Some(Newton::new())], tasks: Vec::new(), keep, times }
    }

    /// Asks for what is known about a task.
    #[inline]
    pub(super) fn prefetch(&self, task: TaskId) {
        prefetch(&self.tasks, task.index());
    }

    #[inline]
    fn known(&self, task: TaskId) -> KnownTask {
        self.tasks.get(task.index()).copied().unwrap_or_default()
    }

    /// The nearest level that some task has reached, from here down.
    #[inline(always)]
    fn met(&self, level: usize) -> &Newton {
        let known = &self.levels[..self.levels.len().min(level + 1)];
        known.iter().rev().find_map(Option::as_ref).expect("the first level is always there")
    }

    /// a, for a task.
    #[inline(always)]
    pub(super) fn weights(&self, task: TaskId) -> PerPart {
        let known = self.known(task);
        let mut weights = self.met(known.level()).weights;
        let [own, shared] = known.trust.factors();
        weights[ALONE] *= own;
        weights[COUPLED_OWN] *= own;
        weights[POOLED] *= shared;
        weights[COUPLED_SHARED] *= shared;
        weights
    }

    /// How unsure a margin is because its parts may be worth something else.
    pub(super) fn doubt(&self, task: TaskId, parts: &PerPart) -> Doubt {
        let known = self.known(task);
        let newton = self.met(known.level());
        let (a, z) = (newton.weights, Newton::shortened(parts));
        let apart = [
            a[ALONE] * parts[ALONE] + a[COUPLED_OWN] * parts[COUPLED_OWN],
            a[POOLED] * parts[POOLED] + a[COUPLED_SHARED] * parts[COUPLED_SHARED],
        ];
        Doubt {
            mixture: newton.solve(&z).map_or(0.0, |solved| weighted(&solved, &z)),
            trust: known.trust.weigh(1.0, apart, 0.0).map_or(0.0, |weighed| weighed.variance[0]),
        }
    }

    /// What the shared weights are multiplied by for a task, from -1 to 1.
    #[inline]
    pub(super) fn side(&self, task: TaskId) -> f64 {
        self.known(task).trust.side()
    }

    /// How many examples of a task have come.
    pub(super) fn examples(&self, task: TaskId) -> u64 {
        self.known(task).examples
    }

    /// Learns anew what parts are worth, where they are other parts; what tasks have seen stays.
    pub(super) fn begin_again(&mut self) {
        self.levels = vec![Some(Newton::new())];
        if let Some(times) = &mut self.times {
            times.levels.clear();
        }
        self.tasks.iter_mut().for_each(|known| known.trust.begin_again());
    }

    /// Takes over how the labels of a task that has been met go with another pooled member.
    pub(super) fn turn(&mut self, task: TaskId, lean: Lean) {
        self.tasks[task.index()].trust.turn(lean);
    }

    /// a, for tasks that have seen most.
    pub(super) fn last_weights(&self) -> &PerPart {
        &self.met(self.levels.len()).weights
    }

    /// Learns from the margins of an example's parts, on the task's side, and from what the pooled member says to all; gives h
    /// at the margin that was predicted. Opinions about groups take their steps with it.
    #[inline(always)]
    pub(super) fn learn(
        &mut self,
        Example { task, label, weight, offset, time, .. }: Example<'_>,
        parts: &PerPart,
        pooled: f64,
        margin: f64,
        asked: Option<&Asked>,
    ) -> (f64, Option<Implicit<SIDE_BY_SIDE>>) {
        let level = self.meet(task, time);
        let (trust, Some(newton)) = (&mut self.tasks[task.index()].trust, &mut self.levels[level]) else {
            return (curvature(margin), asked.map(Asked::take));
        };
        let (a, z) = (newton.weights, Newton::shortened(parts));
        let (weighed, solved) = (trust.weigh(label, apart(&a, parts), pooled), newton.solve(&z));
        // All at once: what the mixture, the trust and the side of the task make of it, and the margin that was predicted.
        let (mut agreed, variance) = weighed.map_or(([0.0; 2], [0.0; 2]), |w| (w.agreed, w.variance));
        agreed.iter_mut().for_each(|agreed| *agreed += label * offset);
        let of_mixture = solved.map_or(0.0, |solved| weighted(&solved, &z));
        let agreed = [label * (weighted(&a, &z) + offset), agreed[0], agreed[1], margin];
        let variance = [of_mixture, variance[0], variance[1], 0.0];
        let weighted_variance = variance.map(|variance| weight * variance);
        let (taken, beside) = match asked.map(Asked::steps) {
            None => (implicit_steps(agreed, weighted_variance), None),
            Some((others, their_variance)) => {
                let [taken, beside] = two_at_once([agreed, others], [weighted_variance, their_variance]);
                (taken, Some(beside))
            }
        };
        let [step, trusts, leans, _] = taken.steps.map(|step| weight * step);
        let h = |at: usize, step: f64| {
            weighted_curvature(weight, taken.curvatures[at], || curvature(agreed[at] + variance[at] * step))
        };
        if let Some(weighed) = &weighed {
            trust.learn(weighed, [label * trusts, label * leans], [h(1, trusts), h(2, leans)]);
        }
        if let Some(solved) = &solved {
            newton.learn(&z, solved, label * step, h(0, step));
        }
        (taken.curvatures[3], beside)
    }

    /// The same from a real label: the loss over its noise in place of the logistic one, but for the side, which goes by signs.
    pub(super) fn learn_real(
        &mut self,
        task: TaskId,
        time: Option<f64>,
        target: &Target,
        parts: &PerPart,
        pooled: f64,
    ) {
        let level = self.meet(task, time);
        let (trust, Some(newton)) = (&mut self.tasks[task.index()].trust, &mut self.levels[level]) else {
            return;
        };
        let (a, z) = (newton.weights, Newton::shortened(parts));
        let sign = target.sign();
        // Agreements are margins for the label 1.
        let (weighed, solved) = (trust.weigh(1.0, apart(&a, parts), pooled), newton.solve(&z));
        if let Some(weighed) = &weighed {
            let (step, h) = over_noise(&target.noisier(DEAF), weighed.agreed[0], weighed.variance[0]);
            let (agreed, variance) = (sign * weighed.agreed[1], weighed.variance[1]);
            let taken = implicit_steps([agreed], [target.weight * variance]);
            let turn = target.weight * taken.steps[0];
            let h_of_lean = weighted_curvature(target.weight, taken.curvatures[0], || {
                curvature(agreed + variance * turn)
            });
            trust.learn(weighed, [step, sign * turn], [h, h_of_lean]);
        }
        if let Some(solved) = &solved {
            let (step, h) = over_noise(target, weighted(&a, &z), weighted(solved, &z));
            newton.learn(&z, solved, step, h);
        }
    }

    /// Counts an example of a task; the level that it is of, as sure as it is now.
    #[inline(always)]
    fn meet(&mut self, task: TaskId, time: Option<f64>) -> usize {
        if self.tasks.len() <= task.index() {
            self.tasks.resize(task.index() + 1, KnownTask::default());
        }
        let level = self.tasks[task.index()].level();
        self.tasks[task.index()].examples += 1;
        if self.levels.get(level).is_none_or(Option::is_none) {
            let mut from = *self.met(level);
            from.fade(TAKEN_OVER);
            self.levels.resize(self.levels.len().max(level + 1), None);
            self.levels[level] = Some(from);
        }
        let keep = match &mut self.times {
            None => [self.keep; 2],
            Some(times) => {
                let Times { half_life, levels, tasks } = &mut **times;
                [(levels, level), (tasks, task.index())]
                    .map(|(used, at)| Times::keep(used, at, time, *half_life))
            }
        };
        if keep[0] < 1.0
            && let Some(newton) = &mut self.levels[level]
        {
            newton.fade(keep[0]);
        }
        if keep[1] < 1.0 {
            self.tasks[task.index()].trust.fade(keep[1]);
        }
        level
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.levels.capacity() * size_of::<Option<Newton>>() + self.tasks.capacity() * size_of::<KnownTask>()
    }

    pub(super) fn state(&self) -> MixerState {
        // Trailing tasks that nothing sets apart need no entry.
        let apart = self.tasks.iter().rposition(|task| task.trust != Trust::default()).map_or(0, |at| at + 1);
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
            examples: Block(self.tasks.iter().map(|task| task.examples).collect()),
            trusts: Block(Vec::new()),
            times: self.times.as_ref().map(|times| {
                let block = |used: &[Option<f64>]| Block(used.iter().map(|t| t.unwrap_or(NEVER)).collect());
                [block(&times.levels), block(&times.tasks)]
            }),
            apart: Block(self.tasks[..apart].iter().flat_map(|task| task.trust.numbers()).collect()),
        }
    }

    pub(super) fn restore(&mut self, tasks: usize, state: MixerState) -> Result<(), StateError> {
        let MixerState { levels, weights, precisions, examples, trusts, apart, times } = state;
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
        match (&mut self.times, times) {
            (None, None) => {}
            (Some(known), Some(saved)) => {
                let [levels, tasks] = saved.map(|used| {
                    used.0.into_iter().map(|time| time.is_finite().then_some(time)).collect::<Vec<_>>()
                });
                if levels.len() > u64::BITS as usize + 1 || tasks.len() > examples.0.len() {
                    return Err(StateError::new("the times do not fit the tasks"));
                }
                (known.levels, known.tasks) = (levels, tasks);
            }
            _ => return Err(StateError::new("times are kept here and not there")),
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
        let trusts = trusts
            .filter(|trusts| rest.is_empty() && more.is_empty() && trusts.len() <= examples.0.len())
            .ok_or_else(|| StateError::new("what sets the tasks apart is not sound"))?;
        // Older models had none.
        let trusts = trusts.into_iter().chain(std::iter::repeat(Trust::default()));
        self.tasks = examples
            .0
            .iter()
            .zip(trusts)
            .map(|(examples, trust)| KnownTask { examples: *examples, trust })
            .collect();
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
    /// P of each, row after row.
    precisions: Block<f64>,
    /// Examples of each task.
    examples: Block<u64>,
    /// What sets each task apart, as it was written once: with sides of 1 or -1.
    #[serde(default, skip_serializing_if = "is_empty")]
    trusts: Block<f64>,
    /// What sets each task apart.
    #[serde(default, skip_serializing_if = "is_empty")]
    apart: Block<f64>,
    /// When levels and tasks were used last, where time is what passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    times: Option<[Block<f64>; 2]>,
}

/// The time of what has never been used, in a saved form.
const NEVER: f64 = f64::INFINITY;

impl MixerState {
    /// Takes out what is known about a task; those after it come one number earlier.
    pub(super) fn remove_task(&mut self, task: usize) {
        self.examples.remove_row(task, 1);
        self.apart.remove_row(task, NUMBERS);
        if let Some([_, tasks]) = &mut self.times {
            tasks.remove_row(task, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::SparseView;

    #[test]
    fn solving_undoes_multiplying() {
        let mut newton = Newton::new();
        for round in 0..50 {
            let z: PerPart =
                std::array::from_fn(|at| f64::from((round * (i32::from(at as u8) + 3)) % 7) - 3.0);
            let solved = newton.solve(&z).unwrap();
            newton.learn(&z, &solved, if round % 3 == 0 { 0.3 } else { -0.3 }, 0.2);
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
            let example = Example::new(TaskId(3), SparseView::trusted(&[], &[]), label);
            mixer.learn(example, &[2.0 * label, guess(), -side * label, side * guess()], -label, 0.0, None);
        }
        let (weights, side) = (mixer.weights(TaskId(3)), mixer.side(TaskId(3)));
        assert!(weights[ALONE] > 1.0 && side * weights[POOLED] < -0.3, "{weights:?} {side}");
        assert!(weights[COUPLED_OWN].abs() < 0.5 && weights[COUPLED_SHARED].abs() < 0.5, "{weights:?}");
        assert_eq!(
            mixer.weights(TaskId(0)),
            mixer.levels[0].unwrap().weights,
            "another task has seen nothing"
        );
    }
}
