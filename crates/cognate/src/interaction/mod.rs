//! Given interactions between tasks: nothing, everything, a graph, a matrix.
//!
//! A user writes an [`InteractionConfig`], which stands for a K x K matrix A. Learners need R = A^-1, where
//! `w_j += y R[j, i] x` is the update after a mistake on task i. Four of the six choices are `own * I + shared *
//! 11'` for any K and are never written out; graphs are inverted one connected component at a time.

mod config;
mod files;
mod task_graph;

pub use config::{CoupledConfig, Edge, Edges, GraphConfig, InteractionConfig, MatrixConfig};
pub use files::InteractionFileError;
pub use task_graph::TaskGraphConfig;
pub(crate) use task_graph::{Component, TaskGraph};

use crate::choice::Tunable;
use crate::error::{ConfigError, ConfigProblem};
use crate::example::TaskId;
use crate::linalg::Symmetric;
use crate::tasks::Tasks;

/// R, in the form that updates need.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Interaction {
    /// `own * I + shared * 11'`, the factors following K.
    Uniform(Uniform),
    /// Block diagonal: tasks in different blocks, or in none, do not influence each other.
    Blocks(Blocks),
}

impl Interaction {
    /// R[to, from] among `tasks` tasks.
    pub(crate) fn relation(&self, to: TaskId, from: TaskId, tasks: usize) -> f64 {
        match self {
            Self::Uniform(rule) => rule.relation(to, from, tasks),
            Self::Blocks(blocks) => blocks.relation(to, from),
        }
    }

    /// sum_j |R[task, j]| among `tasks` tasks and the task itself.
    pub(crate) fn influence(&self, task: TaskId, tasks: usize) -> f64 {
        match self {
            Self::Uniform(rule) => rule.influence(tasks.max(task.index() + 1)),
            Self::Blocks(blocks) => blocks.influence(task),
        }
    }

    /// Whether R changes when tasks are met.
    pub(crate) fn follows_tasks(&self) -> bool {
        match self {
            Self::Uniform(rule) => rule.scales(1) != rule.scales(2),
            Self::Blocks(_) => false,
        }
    }
}

/// The interactions that treat all tasks alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Uniform {
    Independent,
    Pooled,
    /// MP10 (4).
    Pairwise,
    /// MP10 (5).
    Coupled {
        b: f64,
    },
}

/// The two factors of a uniform R.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scales {
    pub(crate) own: f64,
    pub(crate) shared: f64,
}

impl Uniform {
    /// The factors for K tasks.
    pub(crate) fn scales(self, tasks: usize) -> Scales {
        let k = tasks.max(1) as f64;
        match self {
            Self::Independent => Scales { own: 1.0, shared: 0.0 },
            Self::Pooled => Scales { own: 0.0, shared: 1.0 },
            // Inverse of (4): 2/(K+1) on the diagonal, 1/(K+1) elsewhere.
            Self::Pairwise => Scales { own: 1.0 / (k + 1.0), shared: 1.0 / (k + 1.0) },
            // Inverse of (5): (b+K)/((1+b)K) on the diagonal, b/((1+b)K) elsewhere.
            Self::Coupled { b } => Scales { own: 1.0 / (1.0 + b), shared: b / (1.0 + b) / k },
        }
    }
}

impl Uniform {
    /// R[to, from] among `tasks` tasks.
    pub(crate) fn relation(self, to: TaskId, from: TaskId, tasks: usize) -> f64 {
        self.scales(tasks).relation(to, from)
    }

    /// sum_j |R[i, j]| among `tasks` tasks, the same for every i.
    pub(crate) fn influence(self, tasks: usize) -> f64 {
        self.scales(tasks).influence(tasks)
    }
}

impl Scales {
    /// What stored weights are to be multiplied by, so that these factors make of them what others have made.
    pub(crate) fn from(self, before: Self) -> Self {
        // A part that does not count is left as it is.
        let factor = |before: f64, now: f64| if now == 0.0 { 1.0 } else { before / now };
        Self { own: factor(before.own, self.own), shared: factor(before.shared, self.shared) }
    }

    /// R\[to, from\].
    pub(crate) fn relation(self, to: TaskId, from: TaskId) -> f64 {
        if to == from { self.own + self.shared } else { self.shared }
    }

    /// sum_j |R\[i, j\]| among `tasks` tasks, whatever their number at the same cost.
    pub(crate) fn influence(self, tasks: usize) -> f64 {
        (self.own + self.shared).abs() + tasks.saturating_sub(1) as f64 * self.shared.abs()
    }
}

/// Disjoint groups of tasks, each with its R.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Blocks {
    /// Block and column of each task that is in one.
    place: Vec<Option<Place>>,
    relations: Vec<Symmetric>,
}

/// Where a task is in [`Blocks`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) block: usize,
    pub(crate) column: usize,
}

impl Blocks {
    /// Where a task is; a task outside the graph is on its own.
    pub(crate) fn place(&self, task: TaskId) -> Option<Place> {
        self.place.get(task.index()).copied().flatten()
    }

    /// R of each block.
    pub(crate) fn relations(&self) -> &[Symmetric] {
        &self.relations
    }

    /// R[to, from].
    pub(crate) fn relation(&self, to: TaskId, from: TaskId) -> f64 {
        match (self.place(to), self.place(from)) {
            (Some(to), Some(from)) if to.block == from.block => {
                self.relations[to.block].entry(to.column, from.column)
            }
            (None, None) if to == from => 1.0,
            _ => 0.0,
        }
    }

    /// sum_j |R[task, j]|, over the task's block.
    pub(crate) fn influence(&self, task: TaskId) -> f64 {
        match self.place(task) {
            Some(place) => {
                self.relations[place.block].row(place.column).iter().map(|entry| entry.abs()).sum()
            }
            None => 1.0,
        }
    }

    fn push(&mut self, members: &[TaskId], relation: Symmetric) {
        for (column, task) in members.iter().enumerate() {
            if self.place.len() <= task.index() {
                self.place.resize(task.index() + 1, None);
            }
            self.place[task.index()] = Some(Place { block: self.relations.len(), column });
        }
        self.relations.push(relation);
    }
}

/// Beyond this a K x K inverse takes minutes and gigabytes.
const LARGEST_BLOCK: usize = 10_000;

impl InteractionConfig {
    /// Builds R for tasks that [`Self::declare`] has named; a strength that the learner tunes has none.
    pub(crate) fn build(&self, tasks: &Tasks) -> Result<Interaction, ConfigError> {
        ConfigError::check(self.validate())?;
        Ok(match self {
            Self::Independent(_) => Interaction::Uniform(Uniform::Independent),
            Self::Pooled(_) => Interaction::Uniform(Uniform::Pooled),
            Self::Pairwise(_) => Interaction::Uniform(Uniform::Pairwise),
            Self::Coupled(CoupledConfig { b: Tunable::Fixed(b) }) => {
                Interaction::Uniform(Uniform::Coupled { b: *b })
            }
            Self::Coupled(CoupledConfig { b: Tunable::Auto }) => {
                unreachable!("`validate` refuses what has no R")
            }
            Self::Graph(graph) => match graph.edges.as_ref() {
                // I + L of the complete graph is (4).
                Some(Edges::Complete) => Interaction::Uniform(Uniform::Pairwise),
                edges => Interaction::Blocks(graph_blocks(edges.map_or(&[], Edges::list), tasks)?),
            },
            Self::Matrix(matrix) => Interaction::Blocks(matrix_block(matrix, tasks)?),
        })
    }
}

/// Some tasks, and A among them.
pub(crate) type BlockOfA = (Vec<TaskId>, Symmetric);

impl InteractionConfig {
    /// A, one block at a time, for tasks that [`Self::declare`] has named; a task in no block is on its own. None
    /// where all tasks are treated alike.
    pub(crate) fn blocks_of_a(&self, tasks: &Tasks) -> Result<Option<Vec<BlockOfA>>, ConfigError> {
        match self {
            Self::Graph(GraphConfig { edges: Some(Edges::List(edges)), .. }) => {
                graph_blocks_of_a(edges, tasks).map(Some)
            }
            Self::Matrix(matrix) => matrix_as_given(matrix, tasks).map(|block| Some(vec![block])),
            _ => Ok(None),
        }
    }
}

/// R of a matrix given by its rows.
fn matrix_block(matrix: &MatrixConfig, tasks: &Tasks) -> Result<Blocks, ConfigError> {
    let (members, a) = matrix_as_given(matrix, tasks)?;
    let relation = a.try_inverse().map_err(|error| ConfigProblem::new("matrix.rows", error.to_string()))?;
    let mut blocks = Blocks::default();
    blocks.push(&members, relation);
    Ok(blocks)
}

/// A of a matrix given by its rows.
fn matrix_as_given(matrix: &MatrixConfig, tasks: &Tasks) -> Result<BlockOfA, ConfigError> {
    let rows = matrix.rows.as_deref().unwrap_or_default();
    let problem = |message: String| ConfigProblem::new("matrix.rows", message);
    if rows.len() > LARGEST_BLOCK {
        return Err(problem(format!("{} rows; at most {LARGEST_BLOCK} are inverted", rows.len())).into());
    }
    if tasks.len() != rows.len() {
        let message =
            format!("{} rows for {} named tasks; there must be one row per task", rows.len(), tasks.len());
        return Err(problem(message).into());
    }
    let a = Symmetric::try_from_rows(rows).map_err(|error| problem(error.to_string()))?;
    Ok(((0..rows.len() as u32).map(TaskId).collect(), a))
}

/// R = (I + L)^-1 of a graph, a component at a time.
fn graph_blocks(edges: &[Edge], tasks: &Tasks) -> Result<Blocks, ConfigError> {
    let mut blocks = Blocks::default();
    for (members, a) in graph_blocks_of_a(edges, tasks)? {
        let relation = a.try_inverse();
        let relation = relation.map_err(|error| ConfigProblem::new("graph.edges", error.to_string()))?;
        blocks.push(&members, relation);
    }
    Ok(blocks)
}

/// A = I + L of a graph, a component at a time.
fn graph_blocks_of_a(edges: &[Edge], tasks: &Tasks) -> Result<Vec<BlockOfA>, ConfigError> {
    let mut blocks = Vec::new();
    for (members, inside) in components(tasks.len(), &found_edges(edges, tasks)?) {
        let a = block_of_a(&members, &inside)?;
        blocks.push((members, a));
    }
    Ok(blocks)
}

/// The edges between tasks instead of names.
fn found_edges(edges: &[Edge], tasks: &Tasks) -> Result<Vec<WeightedEdge>, ConfigError> {
    let mut found = Vec::with_capacity(edges.len());
    for edge in edges {
        match (tasks.find(&edge.from), tasks.find(&edge.to)) {
            (Some(from), Some(to)) => found.push((from, to, edge.weight)),
            (from, _) => {
                let name = if from.is_none() { &edge.from } else { &edge.to };
                return Err(ConfigProblem::new("graph.edges", format!("no task is named {name:?}")).into());
            }
        }
    }
    Ok(found)
}

/// A = I + L of one component.
fn block_of_a(members: &[TaskId], inside: &[WeightedEdge]) -> Result<Symmetric, ConfigError> {
    if members.len() > LARGEST_BLOCK {
        let message = format!("{} connected tasks; at most {LARGEST_BLOCK} are inverted", members.len());
        return Err(ConfigProblem::new("graph.edges", message).into());
    }
    let column = |task: TaskId| members.binary_search(&task).expect("an edge stays in its component");
    let mut a = vec![vec![0.0; members.len()]; members.len()];
    (0..members.len()).for_each(|at| a[at][at] = 1.0);
    for (from, to, weight) in inside {
        let (from, to) = (column(*from), column(*to));
        a[from][from] += weight;
        a[to][to] += weight;
        a[from][to] -= weight;
        a[to][from] -= weight;
    }
    let a = Symmetric::try_from_rows(&a);
    a.map_err(|error| ConfigProblem::new("graph.edges", error.to_string()).into())
}

type WeightedEdge = (TaskId, TaskId, f64);

/// Connected components with at least one edge: their tasks in increasing order, and their edges.
fn components(tasks: usize, edges: &[WeightedEdge]) -> Vec<(Vec<TaskId>, Vec<WeightedEdge>)> {
    let mut parent: Vec<usize> = (0..tasks).collect();
    fn root(parent: &mut [usize], mut at: usize) -> usize {
        while parent[at] != at {
            parent[at] = parent[parent[at]];
            at = parent[at];
        }
        at
    }
    for (from, to, _) in edges {
        let (from, to) = (root(&mut parent, from.index()), root(&mut parent, to.index()));
        // The smaller number is the root, so components come in order of their first task.
        parent[from.max(to)] = from.min(to);
    }
    let mut found = std::collections::BTreeMap::<usize, (Vec<TaskId>, Vec<WeightedEdge>)>::new();
    for edge in edges {
        found.entry(root(&mut parent, edge.0.index())).or_default().1.push(*edge);
    }
    for task in 0..tasks {
        if let Some(component) = found.get_mut(&root(&mut parent, task)) {
            component.0.push(TaskId(task as u32));
        }
    }
    found.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_scales_are_the_inverses_in_print() {
        let a_times_r = |rule: Uniform, diagonal: f64, off: f64, k: usize| {
            let scales = rule.scales(k);
            let (r_diagonal, r_off) = (scales.own + scales.shared, scales.shared);
            let others = k as f64 - 1.0;
            let on = diagonal * r_diagonal + others * off * r_off;
            let across = diagonal * r_off + off * r_diagonal + (others - 1.0) * off * r_off;
            (on - 1.0).abs() < 1e-12 && (k == 1 || across.abs() < 1e-12)
        };
        for k in [1_usize, 2, 5, 40] {
            let kf = k as f64;
            assert!(a_times_r(Uniform::Pairwise, kf, -1.0, k), "(4) at K = {k}");
            for b in [0.0, 0.5, 4.0, 300.0] {
                let a = kf + b * (kf - 1.0);
                assert!(a_times_r(Uniform::Coupled { b }, a / kf, -b / kf, k), "(5) at K = {k}, b = {b}");
            }
            assert_eq!(Uniform::Coupled { b: 0.0 }.scales(k).own, Uniform::Independent.scales(k).own);
        }
    }

    #[test]
    fn graphs_fall_into_components() {
        let tasks = Tasks::named(["a", "b", "c", "d", "e"]).unwrap();
        let edge = |from: &str, to: &str| Edge { from: from.into(), to: to.into(), weight: 2.0 };
        let blocks = graph_blocks(&[edge("d", "b"), edge("a", "c")], &tasks).unwrap();
        assert_eq!(blocks.relations.len(), 2);
        assert_eq!(blocks.place(TaskId(4)), None);
        // I + L of one edge of weight 2 is [[3, -2], [-2, 3]]; its inverse [[3, 2], [2, 3]] / 5.
        let relation = |to, from| blocks.relation(TaskId(to), TaskId(from));
        assert!((relation(0, 2) - 0.4).abs() < 1e-12 && (relation(1, 1) - 0.6).abs() < 1e-12);
        assert_eq!((relation(0, 1), relation(4, 4), relation(4, 0), relation(9, 9)), (0.0, 1.0, 0.0, 1.0));
    }

    #[test]
    fn a_strength_to_be_found_is_for_learners_that_can() {
        let auto: InteractionConfig = serde_json::from_str(r#"{"coupled": {"b": "auto"}}"#).unwrap();
        assert_eq!(serde_json::to_string(&auto).unwrap(), r#"{"coupled":{"b":"auto"}}"#);
        assert!(auto.validate_tunable().is_empty());
        let refused = "coupled.b: must be a number of at least 0; only `adaptive` and `perceptron` can find b themselves (\"auto\")";
        assert_eq!(ConfigError::check(auto.validate()).unwrap_err().to_string(), refused);
        assert_eq!(auto.build(&Tasks::open()).unwrap_err().to_string(), refused);
        let wrong = serde_json::from_str::<InteractionConfig>(r#"{"coupled": {"b": "much"}}"#).unwrap_err();
        assert!(wrong.to_string().contains("expected a number or \"auto\""), "{wrong}");
    }
}
