//! Task graphs, as learners with a multitask kernel need them: entries of R = (I + L)^-1, one at a time.
//!
//! R is a formula where it can be: for the complete graph, for none, and for every component in which all tasks are
//! joined alike. Other components are inverted, each on its own, so that unrelated tasks have an exact zero between
//! them. In place of I + L there may be any positive semi-definite A (MB12 section 3): R is its inverse, or, where it has
//! none, as L itself, its pseudo-inverse (footnote 1). Then entries of R may be negative.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::files::InteractionFileError;
use super::{
    Edge, Edges, GraphConfig, InteractionConfig, MatrixConfig, Place, Scales, Uniform, WeightedEdge,
    block_of_a, components, found_edges, matrix_as_given,
};
use crate::choice::{NoParameters, allow_bare_names, choice};
use crate::error::{ConfigError, ConfigProblem};
use crate::example::TaskId;
use crate::linalg::Symmetric;
use crate::tasks::Tasks;

/// Which tasks are related.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", rename_all = "kebab-case")]
#[schemars(transform = allow_bare_names)]
#[non_exhaustive]
pub enum TaskGraphConfig {
    /// Every pair of tasks
    Complete(NoParameters),
    /// No pair of tasks
    Disconnected(NoParameters),
    /// These pairs: two task names and an optional weight each
    Edges(Vec<Edge>),
    /// Those of a file with one edge per line: two task names and an optional weight
    File(PathBuf),
    /// No graph, but A itself, symmetric and positive semi-definite: R is its inverse, or its pseudo-inverse
    Matrix(MatrixConfig),
}

choice!(TaskGraphConfig, "a task graph");

impl Default for TaskGraphConfig {
    /// Tasks of one stream are usually related.
    fn default() -> Self {
        Self::Complete(NoParameters {})
    }
}

impl TaskGraphConfig {
    /// The same as an interaction.
    pub(crate) fn to_interaction(&self) -> InteractionConfig {
        let graph = |edges, file| InteractionConfig::Graph(GraphConfig { edges, file });
        match self {
            Self::Complete(_) => InteractionConfig::Pairwise(NoParameters {}),
            Self::Disconnected(_) => InteractionConfig::Independent(NoParameters {}),
            Self::Edges(edges) => graph(Some(Edges::List(edges.clone())), None),
            Self::File(file) => graph(None, Some(file.clone())),
            Self::Matrix(matrix) => InteractionConfig::Matrix(matrix.clone()),
        }
    }

    /// All its problems; paths begin with `graph`, the name of the parameter.
    pub(crate) fn validate(&self) -> Vec<ConfigProblem> {
        if matches!(self, Self::File(_)) {
            let message = "`file` has not been read; resolve the config first";
            return vec![ConfigProblem::new("graph", message)];
        }
        let problems = self.to_interaction().validate();
        match self {
            Self::Matrix(_) => problems.into_iter().map(|problem| problem.within("graph")).collect(),
            _ => problems,
        }
    }

    /// Declares the tasks that the graph names.
    pub(crate) fn declare(&self, tasks: &mut Tasks) -> Result<(), ConfigError> {
        let declared = self.to_interaction().declare(tasks);
        match self {
            Self::Matrix(_) => declared.map_err(|error| error.within("graph")),
            _ => declared,
        }
    }

    /// Replaces a file by what is in it; returns the task names that the header of a matrix gives.
    pub(crate) fn read_file(
        &mut self,
        declared: Option<&[String]>,
    ) -> Result<Option<Vec<String>>, InteractionFileError> {
        match self {
            Self::File(path) => *self = Self::Edges(super::files::read_edge_file(path)?),
            Self::Matrix(_) => {
                let mut interaction = self.to_interaction();
                let names = interaction.read_file(declared)?;
                if let InteractionConfig::Matrix(matrix) = interaction {
                    *self = Self::Matrix(matrix);
                }
                return Ok(names);
            }
            _ => {}
        }
        Ok(None)
    }

    /// Builds R for tasks that [`Self::declare`] has named.
    pub(crate) fn build(&self, tasks: &Tasks) -> Result<TaskGraph, ConfigError> {
        ConfigError::check(self.validate())?;
        Ok(match self {
            Self::Complete(_) => TaskGraph::Uniform(Uniform::Pairwise),
            Self::Disconnected(_) => TaskGraph::Uniform(Uniform::Independent),
            Self::Edges(edges) => TaskGraph::Components(Components::build(edges, tasks)?),
            Self::Matrix(matrix) => {
                let (members, a) = matrix_as_given(matrix, tasks).map_err(|error| error.within("graph"))?;
                TaskGraph::Components(Components::of_matrix(&members, &a)?)
            }
            Self::File(_) => unreachable!("`validate` refuses a file that has not been read"),
        })
    }
}

/// R of a task graph.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TaskGraph {
    /// Every pair of tasks, or none.
    Uniform(Uniform),
    /// Connected components; a task in none is on its own.
    Components(Components),
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Components {
    place: Vec<Option<Place>>,
    list: Vec<Component>,
    /// The largest diagonal entry of R among tasks in components.
    largest_diagonal: f64,
    /// Tasks in components.
    members: usize,
}

/// R among the tasks of a component.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Component {
    /// All joined by edges of one weight.
    Clique { size: usize, scales: Scales },
    /// Any other, with its tasks.
    Dense { tasks: Vec<TaskId>, relation: Symmetric },
}

impl Component {
    fn entry(&self, to: usize, from: usize) -> f64 {
        match self {
            Self::Clique { scales, .. } if to == from => scales.own + scales.shared,
            Self::Clique { scales, .. } => scales.shared,
            Self::Dense { relation, .. } => relation.entry(to, from),
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Clique { size, .. } => *size,
            Self::Dense { tasks, .. } => tasks.len(),
        }
    }
}

/// The weight of all edges of a component, where every pair of its tasks is joined alike.
fn clique_weight(tasks: usize, edges: &[WeightedEdge]) -> Option<f64> {
    let weight = edges.first()?.2;
    // No edge is given twice, so counting them is enough.
    let complete = edges.len() == tasks * (tasks - 1) / 2;
    (complete && edges.iter().all(|edge| edge.2.to_bits() == weight.to_bits())).then_some(weight)
}

impl Components {
    fn build(edges: &[Edge], tasks: &Tasks) -> Result<Self, ConfigError> {
        let mut built = Self::default();
        for (members, inside) in components(tasks.len(), &found_edges(edges, tasks)?) {
            let component = match clique_weight(members.len(), &inside) {
                Some(weight) => {
                    // A = (1 + n w) I - w 11', whose inverse is (I + w 11') / (1 + n w).
                    let own = 1.0 / (1.0 + members.len() as f64 * weight);
                    let scales = Scales { own, shared: weight * own };
                    Component::Clique { size: members.len(), scales }
                }
                None => {
                    let relation = block_of_a(&members, &inside)?.try_inverse();
                    let relation =
                        relation.map_err(|error| ConfigProblem::new("graph.edges", error.to_string()))?;
                    Component::Dense { tasks: members.clone(), relation }
                }
            };
            built.push(&members, component);
        }
        Ok(built)
    }

    /// R of a given A, one connected part at a time.
    fn of_matrix(tasks: &[TaskId], a: &Symmetric) -> Result<Self, ConfigError> {
        let problem = |message: String| ConfigProblem::new("graph.matrix.rows", message);
        let mut built = Self::default();
        let mut placed = vec![false; tasks.len()];
        for first in 0..tasks.len() {
            if std::mem::replace(&mut placed[first], true) {
                continue;
            }
            let (mut rows, mut next) = (vec![first], 0);
            while let Some(row) = rows.get(next).copied() {
                next += 1;
                let joined = (0..tasks.len()).filter(|column| a.entry(row, *column) != 0.0);
                for column in joined {
                    if !std::mem::replace(&mut placed[column], true) {
                        rows.push(column);
                    }
                }
            }
            rows.sort_unstable();
            if let Some(row) = rows.iter().find(|row| a.entry(**row, **row) == 0.0) {
                let message = format!("row {} leaves its task nothing to learn with", row + 1);
                return Err(problem(message).into());
            }
            let part = Symmetric::from_fn(rows.len(), |row, column| a.entry(rows[row], rows[column]));
            let relation = match part.try_inverse() {
                Ok(inverse) => inverse,
                Err(error) => {
                    part.pseudo_inverse().ok_or_else(|| problem(format!("{error}, or semi-definite")))?
                }
            };
            let members: Vec<TaskId> = rows.iter().map(|row| tasks[*row]).collect();
            built.push(&members, Component::Dense { tasks: members.clone(), relation });
        }
        Ok(built)
    }

    fn push(&mut self, members: &[TaskId], component: Component) {
        for (column, task) in members.iter().enumerate() {
            if self.place.len() <= task.index() {
                self.place.resize(task.index() + 1, None);
            }
            self.place[task.index()] = Some(Place { block: self.list.len(), column });
            self.largest_diagonal = self.largest_diagonal.max(component.entry(column, column));
        }
        self.members += members.len();
        self.list.push(component);
    }

    /// Where a task is; a task outside the graph is on its own.
    pub(crate) fn place(&self, task: TaskId) -> Option<Place> {
        self.place.get(task.index()).copied().flatten()
    }

    pub(crate) fn components(&self) -> &[Component] {
        &self.list
    }
}

/// A row of R.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RelationRow<'a> {
    Uniform { to: TaskId, same: f64, other: f64 },
    Component { components: &'a Components, place: Place },
}

impl RelationRow<'_> {
    /// R\[to, from\].
    #[inline]
    pub(crate) fn entry(&self, from: TaskId) -> f64 {
        match self {
            Self::Uniform { to, same, other } => {
                if *to == from {
                    *same
                } else {
                    *other
                }
            }
            Self::Component { components, place } => match components.place(from) {
                Some(from) if from.block == place.block => {
                    components.list[place.block].entry(place.column, from.column)
                }
                _ => 0.0,
            },
        }
    }

    /// Appends R\[to, from\] for many tasks.
    pub(crate) fn fill(&self, from: &[TaskId], into: &mut Vec<f64>) {
        match *self {
            Self::Uniform { to, same, other } => {
                into.extend(from.iter().map(|from| if *from == to { same } else { other }));
            }
            Self::Component { .. } => into.extend(from.iter().map(|from| self.entry(*from))),
        }
    }
}

impl TaskGraph {
    /// A row of R among `tasks` tasks.
    pub(crate) fn row(&self, to: TaskId, tasks: usize) -> RelationRow<'_> {
        match self {
            Self::Uniform(rule) => {
                let scales = rule.scales(tasks);
                RelationRow::Uniform { to, same: scales.own + scales.shared, other: scales.shared }
            }
            Self::Components(components) => match components.place(to) {
                Some(place) => RelationRow::Component { components, place },
                None => RelationRow::Uniform { to, same: 1.0, other: 0.0 },
            },
        }
    }

    /// sum_j |R\[task, j\]| among `tasks` tasks and the task itself.
    pub(crate) fn influence(&self, task: TaskId, tasks: usize) -> f64 {
        match self {
            Self::Uniform(rule) => rule.influence(tasks.max(task.index() + 1)),
            Self::Components(components) => components.place(task).map_or(1.0, |place| {
                let component = &components.list[place.block];
                (0..component.size()).map(|column| component.entry(place.column, column).abs()).sum()
            }),
        }
    }

    /// The factor of R that follows the number of tasks; the rest of R does not.
    pub(crate) fn scale(&self, tasks: usize) -> f64 {
        match self {
            Self::Uniform(rule) => rule.scales(tasks).own,
            Self::Components(_) => 1.0,
        }
    }

    /// c^2: the largest R\[i, i\] among `tasks` tasks.
    pub(crate) fn largest_diagonal(&self, tasks: usize) -> f64 {
        match self {
            Self::Uniform(rule) => {
                let scales = rule.scales(tasks);
                scales.own + scales.shared
            }
            // A task on its own has 1, and no task more.
            Self::Components(components) if components.members < tasks => 1.0,
            Self::Components(components) => components.largest_diagonal,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn config(json: &str) -> TaskGraphConfig {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn graphs_are_written_as_names_edges_or_a_file() {
        for (short, full) in [
            (r#""complete""#, r#"{"complete":{}}"#),
            (r#""disconnected""#, r#"{"disconnected":{}}"#),
            (r#"{"edges": [["a", 7], ["a", "b", 0.5]]}"#, r#"{"edges":[["a","7"],["a","b",0.5]]}"#),
            (r#"{"file": "graph.txt"}"#, r#"{"file":"graph.txt"}"#),
        ] {
            assert_eq!(serde_json::to_string(&config(short)).unwrap(), full);
            assert_eq!(config(short), config(full));
        }
        let wrong = serde_json::from_str::<TaskGraphConfig>(r#""compleet""#).unwrap_err().to_string();
        assert!(wrong.starts_with("unknown variant `compleet`, expected one of `complete`"), "{wrong}");
        let unread = config(r#"{"file": "graph.txt"}"#).validate();
        assert_eq!(unread[0].message, "`file` has not been read; resolve the config first");
    }

    /// Triangle with edges of weight 2, path of three, a task on its own.
    #[test]
    fn components_are_formulas_where_they_can_be() {
        let tasks = Tasks::numbered(7);
        let json = r#"{"edges": [[1, 2, 2], [2, 3, 2], [3, 1, 2], [4, 5], [5, 6]]}"#;
        let graph = config(json).build(&tasks).unwrap();
        let TaskGraph::Components(components) = &graph else { panic!("{graph:?}") };
        assert!(matches!(components.components()[0], Component::Clique { size: 3, .. }));
        assert!(matches!(components.components()[1], Component::Dense { .. }));
        let r = |to: u32, from: u32| graph.row(TaskId(to), 7).entry(TaskId(from));
        // (I + 2 11') / 7, and the path's inverse in eighths.
        assert!((r(0, 0) - 3.0 / 7.0).abs() < 1e-15 && (r(0, 2) - 2.0 / 7.0).abs() < 1e-15);
        assert!((r(3, 3) - 0.625).abs() < 1e-15 && (r(3, 5) - 0.125).abs() < 1e-15);
        assert_eq!((r(0, 3), r(3, 0), r(6, 6), r(6, 0), r(9, 9)), (0.0, 0.0, 1.0, 0.0, 1.0));
        assert_eq!((graph.largest_diagonal(7), graph.scale(7)), (1.0, 1.0));
        assert!((graph.largest_diagonal(6) - 0.625).abs() < 1e-15);
    }

    /// I + L as a matrix is the graph; L itself has a pseudo-inverse, which for the complete graph is (I - 11'/K) / K.
    #[test]
    fn a_matrix_takes_the_place_of_the_graph() {
        let built = |json: &str| {
            let (config, mut tasks) = (config(json), Tasks::open());
            config.declare(&mut tasks)?;
            config.build(&tasks).map(|graph| (graph, tasks.len()))
        };
        let edges = r#"{"edges": [[1, 2], [2, 3, 0.5]]}"#;
        let rows =
            r#"{"matrix": {"rows": [[2, -1, 0, 0], [-1, 2.5, -0.5, 0], [0, -0.5, 1.5, 0], [0, 0, 0, 1]]}}"#;
        let graph = config(edges).build(&Tasks::numbered(4)).unwrap();
        let (matrix, size) = built(rows).unwrap();
        let laplacian = r#"{"matrix": {"rows": [[2, -1, -1], [-1, 2, -1], [-1, -1, 2]]}}"#;
        let (complete, _) = built(laplacian).unwrap();
        assert_eq!(size, 4);
        for i in (0..4).map(TaskId) {
            for j in (0..4).map(TaskId) {
                assert!((graph.row(i, 4).entry(j) - matrix.row(i, 4).entry(j)).abs() < 1e-14);
                if i.0 < 3 && j.0 < 3 {
                    let expected = if i == j { 2.0 / 9.0 } else { -1.0 / 9.0 };
                    assert!((complete.row(i, 3).entry(j) - expected).abs() < 1e-14);
                }
            }
            assert!((graph.influence(i, 4) - matrix.influence(i, 4)).abs() < 1e-14);
        }
        assert_eq!(matrix.row(TaskId(0), 4).entry(TaskId(3)), 0.0, "exactly");
        assert!((complete.influence(TaskId(0), 3) - 4.0 / 9.0).abs() < 1e-14);
        assert!((complete.largest_diagonal(3) - 2.0 / 9.0).abs() < 1e-14);
        for (rows, message) in [
            ("[[1, 2], [2, 1]]", "graph.matrix.rows: "),
            ("[[1, 0], [0, 0]]", "graph.matrix.rows: row 2 leaves its task nothing to learn with"),
            ("[[1, 0.5], [0.4, 1]]", "graph.matrix.rows: "),
        ] {
            let error = built(&format!(r#"{{"matrix": {{"rows": {rows}}}}}"#)).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
        let neither = config(r#"{"matrix": {}}"#).validate();
        assert_eq!(
            (neither[0].path.as_str(), neither[0].message.as_str()),
            ("graph.matrix", "`rows` or `file` is missing")
        );
    }

    proptest! {
        /// Any graph gives the R of the interaction `graph`, whatever is a formula.
        #[test]
        fn any_graph_is_the_interaction_of_the_same_edges(joined in prop::collection::vec(prop::bool::weighted(0.6), 21)) {
            let pairs = (1..7_usize).flat_map(|i| (0..i).map(move |j| (i, j)));
            let edges: Vec<_> = pairs.zip(&joined).filter(|pair| *pair.1).map(|pair| pair.0).collect();
            let json = serde_json::json!({"edges": edges.iter().map(|(i, j)| (i + 1, j + 1)).collect::<Vec<_>>()});
            let (config, tasks) = (config(&json.to_string()), Tasks::numbered(7));
            let (graph, interaction) = (config.build(&tasks).unwrap(), config.to_interaction().build(&tasks).unwrap());
            for to in (0..7).map(TaskId) {
                for from in (0..7).map(TaskId) {
                    let gap = graph.row(to, 7).entry(from) - interaction.relation(to, from, 7);
                    prop_assert!(gap.abs() < 1e-12);
                }
                prop_assert!((graph.influence(to, 7) - 1.0).abs() < 1e-12, "rows of R add up to 1");
            }
        }

        /// MB12 Proposition 3.1, the last resistance term divided by two: R from the resistance distances of the graph
        /// with one more node that is joined to all.
        #[test]
        fn relations_are_resistances(joined in prop::collection::vec(prop::bool::weighted(0.4), 15)) {
            const K: usize = 6;
            let pairs = (1..K).flat_map(|i| (0..i).map(move |j| (i, j)));
            let edges: Vec<_> = pairs.zip(&joined).filter(|pair| *pair.1).map(|pair| pair.0).collect();
            let json = serde_json::json!({"edges": edges.iter().map(|(i, j)| (i + 1, j + 1)).collect::<Vec<_>>()});
            let graph = config(&json.to_string()).build(&Tasks::numbered(K)).unwrap();
            // The Laplacian of the augmented graph plus 11' / (K + 1) has the pseudoinverse plus the same as inverse.
            let linked = |i: usize, j: usize| i == K || j == K || edges.contains(&(i.max(j), i.min(j)));
            let n = (K + 1) as f64;
            let shifted = Symmetric::from_fn(K + 1, |i, j| {
                let degree = (0..=K).filter(|other| *other != i && linked(i, *other)).count() as f64;
                1.0 / n + if i == j { degree } else if linked(i, j) { -1.0 } else { 0.0 }
            });
            let inverse = shifted.try_inverse().unwrap();
            let resistance = |i: usize, j: usize| {
                inverse.entry(i, i) + inverse.entry(j, j) - 2.0 * inverse.entry(i, j)
            };
            let row = |i: usize| (0..=K).map(|j| resistance(i, j)).sum::<f64>();
            let all: f64 = (0..=K).map(row).sum();
            for i in 0..K {
                for j in 0..K {
                    let expected = -resistance(i, j) / 2.0 + (row(i) + row(j)) / (2.0 * n) - all / (2.0 * n * n)
                        + (n + 1.0) / (n * n);
                    let found = graph.row(TaskId(i as u32), K).entry(TaskId(j as u32));
                    prop_assert!((found - expected).abs() < 1e-12, "R[{i}, {j}] is {found}, not {expected}");
                }
            }
        }
    }
}
