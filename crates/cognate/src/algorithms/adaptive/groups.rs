//! Groups that tasks sort themselves into, each with shared weights of its own.
//!
//! Sides (`trust`) relate tasks along what all share: a relation of rank one. Where tasks are of several kinds, each belongs in the
//! group whose pooled member predicts it best, on the side of it that fits: a learnt relation with as many ranks as there are
//! groups.
//!
//! On every example of a task, what every group's pooled member says is weighed: the lean on it, as in `trust`, and the logistic
//! loss of lean times u, averaged over the last examples. After [`FIRST`] examples a task goes to the group of the smallest loss, if
//! that is smaller than where it is, and takes the lean over. How many examples, and how much smaller, is its [`Patience`].
//!
//! Tasks begin in groups that are as good as drawn, or all groups would be alike. The groups differ by chance then, and more with
//! every task that goes where it fits better. Groups that follow from what tasks have learnt are right for nearly all of them from
//! the beginning, so that one that goes by chance is a loss: only tasks that were misplaced or change their kind are to go.
#![expect(clippy::inline_always, reason = "only what is inlined is compiled for wide vectors")]

use serde::{Deserialize, Serialize};

use super::rule::{Implicit, curvature, implicit_steps, weighted_curvature};
use super::trust::{LOUDEST, Lean};
use crate::block::Block;
use crate::error::StateError;
use crate::example::TaskId;
use crate::linalg::exponential::{exp_of_negative, ln_of_one_and};

/// What it takes for a task to go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Patience {
    /// Examples that a loss is averaged over: the newest counts 1/n up to here, and so much from then on.
    memory: f64,
    /// How much smaller the loss of another group has to be: smaller differences are chance.
    better: f64,
}

impl Patience {
    /// Of tasks in groups that were drawn.
    pub(super) const DRAWN: Self = Self { memory: 100.0, better: 0.01 };
    /// Of tasks in groups that were found.
    pub(super) const FOUND: Self = Self { memory: 300.0, better: 0.03 };
}

/// Examples of a task before it may go.
const FIRST: u64 = 10;

/// What a task makes of a group.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Opinion {
    /// How its labels go with the group's pooled member.
    lean: Lean,
    /// Mean of the logistic loss.
    loss: f64,
}

impl Default for Opinion {
    fn default() -> Self {
        Self { lean: Lean::default(), loss: std::f64::consts::LN_2 }
    }
}

/// Opinions that learn at once.
pub(super) const SIDE_BY_SIDE: usize = 4;

/// What some opinions make of an example before they learn: implicit steps that are to be taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    /// What the groups say, cut.
    said: [f64; SIDE_BY_SIDE],
    agreed: [f64; SIDE_BY_SIDE],
    variance: [f64; SIDE_BY_SIDE],
    label: f64,
    importance: f64,
}

impl Asked {
    /// What opinions make of what the pooled members say, with a label of some importance.
    #[inline(always)]
    fn of(opinions: &[Opinion], said: &[f64], (label, importance): (f64, f64)) -> Self {
        let mut known = [Opinion::default(); SIDE_BY_SIDE];
        known.iter_mut().zip(opinions).for_each(|(known, opinion)| *known = *opinion);
        let z: [f64; SIDE_BY_SIDE] =
            std::array::from_fn(|at| said.get(at).map_or(0.0, |said| said.clamp(-LOUDEST, LOUDEST)));
        let agreed = std::array::from_fn(|at| label * known[at].lean.weight * z[at]);
        let variance = std::array::from_fn(|at| z[at] * z[at] / known[at].lean.precision);
        Self { said: z, agreed, variance, label, importance }
    }

    /// Margins and variances of the steps.
    #[inline(always)]
    pub(super) fn steps(&self) -> ([f64; SIDE_BY_SIDE], [f64; SIDE_BY_SIDE]) {
        (self.agreed, self.variance.map(|variance| self.importance * variance))
    }

    /// Takes the steps by themselves.
    #[inline(always)]
    pub(super) fn take(&self) -> Implicit<SIDE_BY_SIDE> {
        let (agreed, variance) = self.steps();
        implicit_steps(agreed, variance)
    }

    /// The opinions learn by the steps that were taken; the newest loss counts so much.
    #[inline(always)]
    fn learn(&self, opinions: &mut [Opinion], taken: &Implicit<SIDE_BY_SIDE>, newest: f64) {
        let Self { said: z, agreed, variance, label, importance } = *self;
        let losses: [f64; SIDE_BY_SIDE] = std::array::from_fn(|at| {
            (-agreed[at]).max(0.0) + ln_of_one_and(exp_of_negative(-agreed[at].abs()))
        });
        for (at, opinion) in opinions.iter_mut().enumerate().filter(|(at, _)| z[*at].is_finite()) {
            let step = importance * taken.steps[at];
            let h = weighted_curvature(importance, taken.curvatures[at], || {
                curvature(agreed[at] + variance[at] * step)
            });
            opinion.loss += newest * (losses[at] - opinion.loss);
            opinion.lean.learn(z[at], label * step, h);
        }
    }
}

/// Where a task goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Move {
    pub(super) group: usize,
    /// How the labels go with the pooled member there.
    pub(super) lean: Lean,
}

#[derive(Debug, Clone)]
pub(super) struct Groups {
    count: usize,
    patience: Patience,
    /// Of each task, one per group.
    opinions: Vec<Opinion>,
    /// Examples of each task.
    examples: Vec<u64>,
    /// What the pooled members say to an example; scratch, not state.
    said: Vec<f64>,
}

impl Groups {
    pub(super) fn new(count: usize, patience: Patience) -> Self {
        Self { count, patience, opinions: Vec::new(), examples: Vec::new(), said: vec![0.0; count] }
    }

    /// To be filled with what the pooled members say, before [`Self::ask`].
    #[inline]
    pub(super) fn said(&mut self) -> &mut [f64] {
        &mut self.said
    }

    /// What a task makes of what the first pooled members have said, with a label and its importance.
    #[inline(always)]
    pub(super) fn ask(&mut self, task: TaskId, label: (f64, f64)) -> Asked {
        let (at, count) = (task.index(), self.count);
        if self.examples.len() <= at {
            self.examples.resize(at + 1, 0);
            self.opinions.resize((at + 1) * count, Opinion::default());
        }
        Asked::of(&self.opinions[at * count..(at + 1) * count], &self.said, label)
    }

    /// A task of this group learns from what the pooled members have said to its example, of which the first were asked and have
    /// taken their steps; where it goes, if anywhere.
    #[inline(always)]
    pub(super) fn learn(
        &mut self,
        task: TaskId,
        asked: &Asked,
        taken: &Implicit<SIDE_BY_SIDE>,
        group: usize,
    ) -> Option<Move> {
        let (at, count, Patience { memory, better }) = (task.index(), self.count, self.patience);
        self.examples[at] += 1;
        let newest = (self.examples[at] as f64).min(memory).recip();
        let opinions = &mut self.opinions[at * count..(at + 1) * count];
        let (first, rest) = opinions.split_at_mut(count.min(SIDE_BY_SIDE));
        asked.learn(first, taken, newest);
        let label = (asked.label, asked.importance);
        for (opinions, said) in rest.chunks_mut(SIDE_BY_SIDE).zip(self.said.chunks(SIDE_BY_SIDE).skip(1)) {
            let asked = Asked::of(opinions, said, label);
            asked.learn(opinions, &asked.take(), newest);
        }
        let best = (0..count).min_by(|a, b| opinions[*a].loss.total_cmp(&opinions[*b].loss))?;
        let goes = self.examples[at] >= FIRST && opinions[best].loss < opinions[group].loss - better;
        goes.then(|| Move { group: best, lean: opinions[best].lean })
    }

    /// A task begins in a new group, where it is known how its labels go with it. It stays for a while: opinions have to change.
    pub(super) fn settle(&mut self, task: TaskId, group: usize, lean: Lean) {
        let (at, count) = (task.index(), self.count);
        if self.examples.len() <= at {
            self.examples.resize(at + 1, 0);
            self.opinions.resize((at + 1) * count, Opinion::default());
        }
        self.examples[at] = self.patience.memory as u64;
        let unknown = Opinion { lean: Lean { weight: 0.0, ..lean }, ..Opinion::default() };
        self.opinions[at * count..(at + 1) * count].fill(unknown);
        self.opinions[at * count + group].lean = lean;
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.opinions.capacity() * size_of::<Opinion>() + self.examples.capacity() * size_of::<u64>()
    }

    pub(super) fn state(&self, group_of: impl Fn(TaskId) -> usize) -> GroupsState {
        let tasks = (0..self.examples.len() as u32).map(TaskId);
        GroupsState {
            group_of: Block(tasks.map(|task| group_of(task) as u32).collect()),
            examples: Block(self.examples.clone()),
            opinions: Block(
                self.opinions.iter().flat_map(|o| [o.lean.weight, o.lean.precision, o.loss]).collect(),
            ),
        }
    }

    /// Takes a saved form; the group of each task.
    pub(super) fn restore(&mut self, tasks: usize, state: GroupsState) -> Result<Vec<u32>, StateError> {
        let GroupsState { group_of, examples, opinions } = state;
        let (opinions, rest) = opinions.0.as_chunks::<3>();
        let sound =
            |[lean, precision, loss]: &[f64; 3]| lean.is_finite() && loss.is_finite() && *precision > 0.0;
        if examples.0.len() > tasks
            || group_of.0.len() != examples.0.len()
            || opinions.len() != self.count * examples.0.len()
            || !rest.is_empty()
            || !opinions.iter().all(sound)
            || group_of.0.iter().any(|group| *group as usize >= self.count)
        {
            return Err(StateError::new("the groups do not fit the tasks"));
        }
        let opinion = |[weight, precision, loss]: &[f64; 3]| Opinion {
            lean: Lean { weight: *weight, precision: *precision },
            loss: *loss,
        };
        self.opinions = opinions.iter().map(opinion).collect();
        self.examples = examples.0;
        Ok(group_of.0)
    }
}

/// Saved form of [`Groups`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct GroupsState {
    group_of: Block<u32>,
    examples: Block<u64>,
    /// Lean, its precision and loss: of each task, one per group.
    opinions: Block<f64>,
}

impl GroupsState {
    /// Takes out what is known about a task; those after it come one number earlier.
    pub(super) fn remove_task(&mut self, task: usize, groups: usize) {
        self.group_of.remove_row(task, 1);
        self.examples.remove_row(task, 1);
        self.opinions.remove_row(task, 3 * groups);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first group knows nothing about the task, the second the opposite of its labels.
    #[test]
    fn a_task_goes_where_it_is_told_most_even_by_opponents() {
        let mut groups = Groups::new(2, Patience::DRAWN);
        let (task, mut group, mut moves) = (TaskId(4), 0, 0);
        for round in 0..200 {
            let label = if round % 3 == 0 { 1.0 } else { -1.0 };
            let guess = if round % 4 < 2 { 0.8 } else { -0.8 };
            groups.said().copy_from_slice(&[guess, -0.9 * label]);
            let asked = groups.ask(task, (label, 1.0));
            if let Some(there) = groups.learn(task, &asked, &asked.take(), group) {
                (group, moves) = (there.group, moves + 1);
                assert!(round + 1 >= FIRST as i32 && there.lean.weight < 0.0, "{round}: {there:?}");
            }
        }
        assert_eq!((group, moves), (1, 1));
        let state = groups.state(|_| 1);
        let mut again = Groups::new(2, Patience::DRAWN);
        assert_eq!(again.restore(5, state).unwrap(), [1; 5]);
        assert_eq!((again.opinions, again.examples), (groups.opinions.clone(), groups.examples.clone()));
        assert!(Groups::new(3, Patience::DRAWN).restore(5, groups.state(|_| 1)).is_err());
        assert!(Groups::new(2, Patience::DRAWN).restore(5, groups.state(|_| 2)).is_err());
    }
}
