//! Groups that follow from what tasks have learnt by themselves.
//!
//! Whenever the examples have doubled, from [`FIRST`] on, the tasks with the most examples are compared by their own weights
//! (`kinship`). The groups that are found replace what there is where tasks of different groups have next to nothing in common
//! ([`Kinship::is_apart`]), and they explain the tasks better than the groups that there are. Tasks that are
//! related to nobody have a group of their own, so that they do no harm to the others. Groups go back to one where one explains the
//! tasks better.
//!
//! New groups begin with no shared weights, and what tasks had in common becomes their own: the margins of `alone` stay, those of
//! `coupled` do for features that the task has met. A task that was not compared goes to the group whose tasks' weights its own ones
//! go with most. What parts are worth is learnt anew.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::groups::{Groups, Patience};
use super::super::kinship::{Kinship, Partition, Place, Portraits, without};
use super::super::likeness;
use super::super::members::{OWN, SHARED};
use super::super::rows::{OwnRow, SharedRow};
use super::super::trust::Lean;
use super::{State, Table};
use crate::example::TaskId;
use crate::learner::Likeness;

/// Examples before tasks are compared for the first time.
const FIRST: u64 = 4096;
/// Tasks that are compared have at least so many examples.
const ENOUGH: u64 = 32;
/// Tasks and features that are compared, at most: those with the most examples, and those that were met first.
const MOST_TASKS: usize = 128;
const MOST_FEATURES: usize = 1024;
/// Other groups have to explain the tasks so many times as well as the present ones, and as the one that all tasks begin in.
const BETTER: f64 = 1.5;
const BETTER_THAN_ONE: f64 = 1.2;
/// A task that was not compared is of a group if its weights go with it so many deviations more than by chance.
const SURE: f64 = 3.0;

/// When tasks are compared next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Outlook {
    #[serde(deserialize_with = "crate::count::saved")]
    examples: u64,
    #[serde(deserialize_with = "crate::count::saved")]
    due: u64,
}

impl Outlook {
    pub(super) fn is_sound(&self) -> bool {
        self.due > 0
    }
}

impl Default for Outlook {
    fn default() -> Self {
        Self { examples: 0, due: FIRST }
    }
}

/// Where a task goes, and how its labels go with what the group will say.
#[derive(Debug, Clone, Copy)]
struct Settled {
    task: TaskId,
    group: usize,
    lean: f64,
}

impl State {
    /// Counts an example, and compares tasks when it is time.
    #[inline]
    pub(super) fn look_out(&mut self, weights: &mut Table) {
        if let Some(outlook) = &mut self.outlook {
            outlook.examples += 1;
            if outlook.examples >= outlook.due {
                outlook.due = 2 * outlook.examples;
                self.compare(weights);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn compare(&mut self, weights: &mut Table) {
        let tasks = self.known_best(weights, MOST_TASKS);
        let portraits = Self::portraits(weights, &tasks);
        let kinship = portraits.kinship();
        let (apart, one) = (kinship.partition(), kinship.one_group());
        let present = self.present_score(weights, &tasks, &kinship, &one);
        let found = if kinship.is_apart(&apart) && apart.score > one.score { apart } else { one };
        let other = found.groups > 1 || weights.groups() > 1;
        let better = if weights.groups() == 1 { BETTER_THAN_ONE } else { BETTER };
        if other && found.score > better * present {
            let settled = Self::settled(weights, &tasks, &found, &portraits);
            let rest = found.groups > 1 && found.places.contains(&None);
            self.regroup(weights, found.groups + usize::from(rest), &settled);
        }
    }

    /// How alike tasks are; by those that most is known about, whichever are asked for.
    pub(super) fn likeness(&self, weights: &Table, asked: &[TaskId]) -> Likeness {
        let known = self.known_best(weights, likeness::MOST);
        let mut tasks = asked.to_vec();
        let mut at_of: BTreeMap<TaskId, usize> =
            asked.iter().enumerate().map(|(at, task)| (*task, at)).collect();
        let reference: Vec<usize> = known
            .into_iter()
            .map(|task| {
                *at_of.entry(task).or_insert_with(|| {
                    tasks.push(task);
                    tasks.len() - 1
                })
            })
            .collect();
        let kinship = Self::portraits(weights, &tasks).kinship();
        likeness::likeness(&kinship, &reference).first(asked.len())
    }

    /// The tasks that most is known about, in their order.
    fn known_best(&self, weights: &Table, most: usize) -> Vec<TaskId> {
        let mut tasks: Vec<TaskId> = (0..weights.tasks() as u32).map(TaskId).collect();
        tasks.retain(|task| self.mixer.examples(*task) >= ENOUGH);
        tasks.sort_by_key(|task| std::cmp::Reverse(self.mixer.examples(*task)));
        tasks.truncate(most);
        tasks.sort();
        tasks
    }

    /// Own weights of `alone` in the units of `kinship`, without what base rates make of them.
    fn portraits(weights: &Table, tasks: &[TaskId]) -> Portraits {
        let sizes: Vec<f64> = weights.slots_of_groups().take(MOST_FEATURES).map(largest).collect();
        let mut portraits = Portraits::new(sizes.len());
        let mut rates = vec![0.0; sizes.len()];
        for task in tasks {
            let portrait = portraits.add();
            let known = weights.first_own(*task, sizes.len()).zip(&sizes);
            for ((row, size), (weight, rate)) in known.zip(portrait.iter_mut().zip(&mut rates)) {
                let row = OwnRow::of(row);
                let root = row.precision.sqrt();
                let unit = (root * size).sqrt();
                (*weight, *rate) = (row.alone * unit, root * unit);
            }
            without(portrait, &rates);
        }
        portraits
    }

    /// How well the present groups explain the tasks; those that are on no side are in none.
    fn present_score(&self, weights: &Table, tasks: &[TaskId], kinship: &Kinship, one: &Partition) -> f64 {
        if weights.groups() == 1 {
            return one.score;
        }
        let place = |task: &TaskId| {
            let side = self.mixer.side(*task);
            (side.abs() >= 1.0).then(|| Place { group: weights.group(*task), sign: side.signum() })
        };
        kinship.score(&tasks.iter().map(place).collect::<Vec<_>>())
    }

    /// Where every task goes.
    fn settled(
        weights: &Table,
        compared: &[TaskId],
        found: &Partition,
        portraits: &Portraits,
    ) -> Vec<Settled> {
        let rest = found.groups;
        let mut place_of = vec![None; weights.tasks()];
        compared.iter().zip(&found.places).for_each(|(task, place)| place_of[task.index()] = Some(*place));
        let centres = portraits.centres(found);
        (0..weights.tasks() as u32)
            .map(TaskId)
            .map(|task| match place_of[task.index()] {
                Some(Some(Place { group, sign })) => Settled { task, group, lean: sign },
                Some(None) => Settled { task, group: rest, lean: 1.0 },
                None => {
                    let own = Self::portraits(weights, &[task]);
                    let (group, sureness) = own.nearest(&centres);
                    Settled { task, group, lean: if sureness.abs() > SURE { sureness.signum() } else { 0.0 } }
                }
            })
            .collect()
    }

    /// Begins with other groups.
    fn regroup(&mut self, weights: &mut Table, groups: usize, settled: &[Settled]) {
        for Settled { task, .. } in settled {
            let side = self.mixer.side(*task);
            let take = |own: &mut [f64; OWN], shared: &[f64; SHARED]| {
                *OwnRow::of(own.each_mut()).coupled += side * SharedRow::of(*shared).coupled;
            };
            weights.change_beside_shared(*task, take);
            if let Some(own) = self.own_intercepts.get_mut(task.index()) {
                take(own, &self.shared_intercepts[weights.group(*task)]);
            }
        }
        weights.regroup(groups, |rows| [0.0, 0.0, 0.0, largest(rows)]);
        self.shared_intercepts = vec![super::NEW_INTERCEPT; groups];
        self.sizes.recount(weights.shared().map(|row| SharedRow::of(*row).size));
        self.mixer.begin_again();
        self.groups = (groups > 1).then(|| Box::new(Groups::new(groups, Patience::FOUND)));
        for Settled { task, group, lean } in settled.iter().copied() {
            let lean = Lean { weight: lean, ..Lean::default() };
            weights.set_group(task, group);
            self.mixer.turn(task, lean);
            if let Some(groups) = &mut self.groups {
                groups.settle(task, group, lean);
            }
        }
    }
}

/// The size of a feature, whichever group has met it.
fn largest(rows: &[[f64; SHARED]]) -> f64 {
    rows.iter().map(|row| SharedRow::of(*row).size).fold(0.0, f64::max)
}
