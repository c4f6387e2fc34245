//! One coefficient per task and kept example, stored as often as tasks differ.
//!
//! Every change of the coefficients acts on all tasks alike, so for a mistake on task i they are sums of what task i was
//! taught, V_i, seen through R: beta_l = sum_i R\[l, i\] V_i. Where R is `own I + shared 11'` among n tasks, that is
//! `own V_l + shared S` with S = sum_i V_i: tasks that never erred share S, and those on their own have V_l alone. In
//! other components beta_l is kept itself, one set per task.

use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::error::StateError;
use crate::example::TaskId;
use crate::interaction::{Component, Scales, TaskGraph};
use crate::linalg::{Width, check_all_finite};

#[derive(Debug, Clone, Default)]
pub(super) struct Sets {
    /// Kept examples: the length of every set that is not empty.
    len: usize,
    /// V_l, or beta_l in a component that is not a clique; empty where it is zero.
    own: Vec<Vec<f64>>,
    /// S of each clique; empty where it is zero.
    sums: Vec<Vec<f64>>,
}

/// How the coefficients of a task follow from the sets.
enum Form<'a> {
    /// own V_l + shared S, S being that of a clique.
    Spread { clique: usize, scales: Scales },
    /// beta_l itself, changed together with those of these tasks.
    Dense { component: &'a Component, column: usize },
    /// V_l.
    Alone,
}

fn form(graph: &TaskGraph, task: TaskId, tasks: usize) -> Form<'_> {
    match graph {
        TaskGraph::Uniform(rule) => match rule.scales(tasks) {
            Scales { shared: 0.0, .. } => Form::Alone,
            scales => Form::Spread { clique: 0, scales },
        },
        TaskGraph::Components(components) => match components.place(task) {
            None => Form::Alone,
            Some(place) => match &components.components()[place.block] {
                Component::Clique { scales, .. } => Form::Spread { clique: place.block, scales: *scales },
                component @ Component::Dense { .. } => Form::Dense { component, column: place.column },
            },
        },
    }
}

/// A set that may be empty, at one example.
fn value(set: Option<&Vec<f64>>, at: usize) -> f64 {
    set.and_then(|set| set.get(at)).copied().unwrap_or(0.0)
}

/// The set at `at`, zeros where there was none.
fn ensure(sets: &mut Vec<Vec<f64>>, at: usize, len: usize) -> &mut Vec<f64> {
    if sets.len() <= at {
        sets.resize(at + 1, Vec::new());
    }
    let set = &mut sets[at];
    if set.is_empty() {
        set.resize(len, 0.0);
    }
    set
}

impl Sets {
    /// How many sets there are.
    pub(super) fn count(&self) -> usize {
        self.own.iter().chain(&self.sums).filter(|set| !set.is_empty()).count()
    }

    /// The coefficients of a task, one per kept example, as a function.
    pub(super) fn of<'a>(
        &'a self,
        graph: &'a TaskGraph,
        task: TaskId,
        tasks: usize,
    ) -> impl Fn(usize) -> f64 + 'a {
        let own = self.own.get(task.index());
        let (own_scale, shared_scale, sum) = match form(graph, task, tasks) {
            Form::Spread { clique, scales } => (scales.own, scales.shared, self.sums.get(clique)),
            Form::Dense { .. } | Form::Alone => (1.0, 0.0, None),
        };
        move |at| own_scale * value(own, at) + shared_scale * value(sum, at)
    }

    /// `beta_l += step R[l, task] direction` for every task l.
    pub(super) fn add(
        &mut self,
        graph: &TaskGraph,
        task: TaskId,
        tasks: usize,
        step: f64,
        direction: &[f64],
    ) {
        self.each_taught(graph, task, tasks, |set, rate| {
            set.iter_mut().zip(direction).for_each(|(entry, alpha)| *entry += step * rate * alpha);
        });
    }

    /// Calls `teach` with every set that an update of `task` changes, and how much of it.
    fn each_taught(
        &mut self,
        graph: &TaskGraph,
        task: TaskId,
        tasks: usize,
        mut teach: impl FnMut(&mut Vec<f64>, f64),
    ) {
        match form(graph, task, tasks) {
            Form::Spread { clique, .. } => {
                teach(ensure(&mut self.own, task.index(), self.len), 1.0);
                teach(ensure(&mut self.sums, clique, self.len), 1.0);
            }
            Form::Dense { component: Component::Dense { tasks, relation }, column } => {
                for (task, rate) in tasks.iter().zip(relation.row(column)) {
                    teach(ensure(&mut self.own, task.index(), self.len), *rate);
                }
            }
            Form::Dense { .. } | Form::Alone => teach(ensure(&mut self.own, task.index(), self.len), 1.0),
        }
    }

    /// Adds an example of `task`, with `(beta_l)_t = label R[l, task]`.
    pub(super) fn push(&mut self, graph: &TaskGraph, task: TaskId, tasks: usize, label: f64) {
        let (at, sets) = (self.len, self.own.iter_mut().chain(&mut self.sums));
        sets.filter(|set| !set.is_empty()).for_each(|set| set.push(0.0));
        self.len += 1;
        self.each_taught(graph, task, tasks, |set, rate| set[at] = label * rate);
    }

    /// Moves what example `at` stood for onto the others, `beta_l += gamma (beta_l)_at`, and gives its slot to an example
    /// of `task` as [`Self::push`] does; the slot's own gamma is that of the new one.
    pub(super) fn replace(
        &mut self,
        graph: &TaskGraph,
        task: TaskId,
        tasks: usize,
        label: f64,
        at: usize,
        gamma: &[f64],
    ) {
        self.project_out(at, gamma);
        self.each_taught(graph, task, tasks, |set, rate| set[at] += label * rate);
    }

    fn project_out(&mut self, at: usize, gamma: &[f64]) {
        let width = Width::find();
        for set in self.own.iter_mut().chain(&mut self.sums).filter(|set| !set.is_empty()) {
            let gone = std::mem::take(&mut set[at]);
            if gone != 0.0 {
                width.add_scaled(set, gone, gamma);
            }
        }
    }

    /// Moves what example `at` stood for onto the others; the last one takes its place.
    pub(super) fn swap_remove(&mut self, at: usize, gamma: &[f64]) {
        self.project_out(at, gamma);
        for set in self.own.iter_mut().chain(&mut self.sums).filter(|set| !set.is_empty()) {
            set.swap_remove(at);
        }
        self.len -= 1;
    }

    /// Puts sum_l (beta_l)_j^2 over all tasks l into `squares`, one per example.
    pub(super) fn squares(&self, graph: &TaskGraph, tasks: usize, squares: &mut Vec<f64>) {
        squares.clear();
        squares.resize(self.len, 0.0);
        let width = Width::find();
        let mut add = |set: &[f64], factor: f64| width.add_scaled_squares(squares, factor, set);
        for (task, set) in self.own.iter().enumerate().filter(|(_, set)| !set.is_empty()) {
            let own = match form(graph, TaskId(task as u32), tasks) {
                Form::Spread { scales, .. } => scales.own,
                Form::Dense { .. } | Form::Alone => 1.0,
            };
            add(set, own * own);
        }
        // sum_l (o V_l + s S)^2 = o^2 sum_l V_l^2 + (2 o s + n s^2) S^2, because the V_l add up to S.
        for (clique, set) in self.sums.iter().enumerate().filter(|(_, set)| !set.is_empty()) {
            let (size, Scales { own, shared }) = match graph {
                TaskGraph::Uniform(rule) => (tasks, rule.scales(tasks)),
                TaskGraph::Components(components) => match &components.components()[clique] {
                    Component::Clique { size, scales } => (*size, *scales),
                    Component::Dense { .. } => unreachable!("only cliques have a sum"),
                },
            };
            add(set, 2.0 * own * shared + size as f64 * shared * shared);
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let sets = self.own.iter().chain(&self.sums);
        let numbers: usize = sets.map(|set| set.capacity() * size_of::<f64>()).sum();
        numbers + (self.own.capacity() + self.sums.capacity()) * size_of::<Vec<f64>>()
    }

    pub(super) fn state(&self) -> SetsState {
        let listed = |sets: &[Vec<f64>]| {
            let kept = || sets.iter().enumerate().filter(|(_, set)| !set.is_empty());
            let places = kept().map(|(at, _)| at as u32).collect();
            (Block(places), Block(kept().flat_map(|(_, set)| set.iter().copied()).collect()))
        };
        let ((own_tasks, own), (cliques, sums)) = (listed(&self.own), listed(&self.sums));
        SetsState { own_tasks, own, cliques, sums }
    }

    /// Takes a saved form of sets for `len` examples of `tasks` tasks.
    pub(super) fn restore(
        graph: &TaskGraph,
        tasks: usize,
        len: usize,
        state: &SetsState,
    ) -> Result<Self, StateError> {
        let cliques = match graph {
            TaskGraph::Uniform(_) => 1,
            TaskGraph::Components(components) => components.components().len(),
        };
        let is_clique = |at: u32| match graph {
            TaskGraph::Uniform(_) => true,
            TaskGraph::Components(components) => {
                matches!(components.components()[at as usize], Component::Clique { .. })
            }
        };
        let mut sets = Self { len, ..Self::default() };
        let fill = |into: &mut Vec<Vec<f64>>, places: &[u32], values: &[f64], most: usize| {
            check_all_finite("the coefficient of a support", values)?;
            let fits = places.len().checked_mul(len) == Some(values.len())
                && places.is_sorted_by(|a, b| a < b)
                && places.last().is_none_or(|last| (*last as usize) < most)
                && (len > 0 || places.is_empty());
            if !fits {
                return Err(StateError::new("the sets of coefficients do not fit tasks and supports"));
            }
            for (place, set) in places.iter().zip(values.chunks_exact(len.max(1))) {
                ensure(into, *place as usize, len).copy_from_slice(set);
            }
            Ok(())
        };
        fill(&mut sets.own, &state.own_tasks.0, &state.own.0, tasks)?;
        fill(&mut sets.sums, &state.cliques.0, &state.sums.0, cliques)?;
        if !state.cliques.0.iter().copied().all(is_clique) {
            return Err(StateError::new("there is a sum of coefficients where tasks have none"));
        }
        Ok(sets)
    }
}

/// Saved form of [`Sets`]: the sets that are not empty, one after the other.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SetsState {
    own_tasks: Block<u32>,
    own: Block<f64>,
    cliques: Block<u32>,
    sums: Block<f64>,
}
