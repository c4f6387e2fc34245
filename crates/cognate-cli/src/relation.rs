//! The relation of a model's tasks as a table of numbers, for pages, pictures and JSON.

use cognate::internal::Symmetric;
use cognate::{Likeness, Model, TaskId};

use crate::pairs::{self, Pair};
use cognate_plot::clustering::Clustering;
use cognate_plot::graph::{Camp, Edge, Graph};
use cognate_plot::heatmap::Heatmap;

/// Tasks, in the order shown, and R among them.
#[derive(Clone)]
pub(crate) struct RelationTable {
    pub(crate) names: Vec<String>,
    pub(crate) matrix: Symmetric,
}

impl RelationTable {
    /// R among the given tasks.
    pub(crate) fn of(model: &Model, tasks: &[TaskId]) -> Self {
        let learner = model.learner().as_inspect();
        Self {
            names: tasks.iter().map(|task| model.tasks().name(*task).to_owned()).collect(),
            matrix: Symmetric::from_fn(tasks.len(), |row, column| {
                learner.relation(tasks[row], tasks[column])
            }),
        }
    }

    /// How alike the tasks are, rounded to what the evidence tells apart, so that ties are ties: tenths for a deviation of 0.05 or
    /// more, hundredths below. 0 where it does not say.
    pub(crate) fn alike(model: &Model, tasks: &[TaskId], likeness: &Likeness) -> Self {
        let rounded = |(strength, deviation): (f64, f64)| {
            let steps = if deviation >= 0.05 { 10.0 } else { 100.0 };
            (strength * steps).round() / steps
        };
        let entry = |row: usize, column: usize| {
            if row == column { 1.0 } else { likeness.pair(row, column).map_or(0.0, rounded) }
        };
        Self {
            names: tasks.iter().map(|task| model.tasks().name(*task).to_owned()).collect(),
            matrix: Symmetric::from_fn(tasks.len(), entry),
        }
    }

    /// The same with the correlation form.
    pub(crate) fn correlation(&self) -> Self {
        Self { names: self.names.clone(), matrix: self.matrix.correlation() }
    }

    /// The rows, one after the other.
    pub(crate) fn rows(&self) -> Vec<Vec<f64>> {
        (0..self.matrix.size()).map(|row| self.matrix.row(row).to_vec()).collect()
    }

    /// Which tasks belong together, by the correlation form.
    pub(crate) fn clustering(&self) -> Clustering {
        Clustering::of(&self.correlation().rows().concat(), self.names.len())
    }

    /// The picture, in the order of the tasks.
    pub(crate) fn heatmap(&self, title: &str) -> Heatmap {
        Heatmap {
            title: title.to_owned(),
            names: self.names.clone(),
            values: self.rows().concat(),
            limit: self.colour_limit(),
            ..Heatmap::default()
        }
    }

    /// The size with full colour where the diagonal would drown all else: enough to see the rest by, and a round number.
    fn colour_limit(&self) -> Option<f64> {
        let size = self.matrix.size();
        let (mut diagonal, mut beside) = (0.0f64, 0.0f64);
        for row in 0..size {
            diagonal = diagonal.max(self.matrix.entry(row, row).abs());
            beside = self.matrix.row(row)[..row].iter().fold(beside, |most, entry| most.max(entry.abs()));
        }
        if beside == 0.0 || beside * 4.0 >= diagonal || !diagonal.is_finite() {
            return None;
        }
        let least = (1.5 * beside).max(diagonal / 20.0);
        let power = 10f64.powf(least.log10().floor());
        [1.0, 2.0, 4.0, 6.0, 10.0].map(|digit| digit * power).into_iter().find(|limit| *limit >= least)
    }

    /// The graph of the pairs (strongest first) that are at least as strong as a threshold, or of what can be read of
    /// them.
    pub(crate) fn graph(&self, pairs: &[Pair], threshold: f64, order: Vec<usize>) -> Graph {
        let strong = pairs.iter().take_while(|pair| pair.strength() >= threshold);
        // A pair without any correlation is no edge, whatever the threshold.
        let strong: Vec<Pair> = strong.filter(|pair| pair.correlation != 0.0).copied().collect();
        // Tasks with the same edges would be a hairball, or ties, where edges are many: each camp is one node.
        let mut camps = if pairs::are_too_many(strong.len(), self.names.len()) {
            pairs::camps(&self.matrix, threshold)
        } else {
            Vec::new()
        };
        camps.retain(|camp| camp.len() > 1);
        let mut stands_for: Vec<usize> = (0..self.names.len()).collect();
        camps.iter().for_each(|camp| camp.iter().for_each(|task| stands_for[*task] = camp[0]));
        let nodes: Vec<usize> = (0..self.names.len()).filter(|task| stands_for[*task] == *task).collect();
        let node = |task: usize| nodes.partition_point(|first| *first < task);
        let is_node = |task: usize| stands_for[task] == task;
        let between: Vec<Pair> = strong
            .iter()
            .filter(|pair| is_node(pair.tasks().0) && is_node(pair.tasks().1))
            .map(|pair| pair.among(node))
            .collect();
        let kept = pairs::readable(&between, nodes.len());
        let edge = |pair: &Pair| Edge { nodes: pair.tasks(), weight: pair.correlation };
        let camp = |members: &Vec<usize>| {
            let within = self.matrix.entry(members[0], members[1]);
            Camp {
                node: node(members[0]),
                members: members.iter().map(|task| self.names[*task].clone()).collect(),
                within: (within.abs() >= threshold && within != 0.0).then_some(within),
            }
        };
        Graph {
            title: format!("Related tasks: |correlation| ≥ {threshold:?}"),
            names: nodes.iter().map(|task| self.names[*task].clone()).collect(),
            order: order.into_iter().filter(|task| is_node(*task)).map(node).collect(),
            edges: kept.pairs.iter().map(edge).collect(),
            pairs: pairs.len(),
            strongest: pairs.first().map_or(0.0, Pair::strength),
            threshold,
            strong: strong.len(),
            most: kept.most,
            camps: camps.iter().map(camp).collect(),
            tied: kept.tied,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(size: usize, entry: impl Fn(usize, usize) -> f64) -> RelationTable {
        let names = (0..size).map(|task| task.to_string()).collect();
        RelationTable { names, matrix: Symmetric::from_fn(size, entry) }
    }

    #[test]
    fn camps_are_nodes_and_no_graph_with_strong_pairs_is_empty() {
        let graph = |size: usize, entry: &dyn Fn(usize, usize) -> f64| {
            let table = table(size, |i, j| if i == j { 1.0 } else { entry(i, j) });
            let pairs = pairs::by_strength(&table.matrix);
            table.graph(&pairs, 0.1, (0..size).rev().collect())
        };
        // As `adaptive` sees 29 tasks of which 4 are opposed: one size, two signs.
        let drawn = graph(29, &|i, j| if (i % 7 == 3) == (j % 7 == 3) { 0.1895 } else { -0.1895 });
        assert_eq!((drawn.names.len(), drawn.strong, drawn.pairs), (2, 406, 406));
        assert_eq!(
            drawn.edges.iter().map(|edge| (edge.nodes, edge.weight)).collect::<Vec<_>>(),
            [((0, 1), -0.1895)]
        );
        assert_eq!(drawn.camps.iter().map(|camp| camp.members.len()).collect::<Vec<_>>(), [25, 4]);
        assert_eq!((drawn.order, drawn.most, drawn.tied), (vec![1, 0], None, 0));
        // Two values in no order are no camps, and ties everywhere; still every task has its edges.
        let drawn = graph(60, &|i, j| if (i * j + i + j) % 7 < 3 { 0.4 } else { -0.4 });
        let mut has_edge = vec![false; drawn.names.len()];
        drawn.edges.iter().for_each(|edge| (has_edge[edge.nodes.0], has_edge[edge.nodes.1]) = (true, true));
        assert!(has_edge.iter().all(|has| *has));
        // Few tasks stay apart: all their edges can be drawn.
        assert_eq!((graph(10, &|_, _| 0.3).edges.len(), graph(10, &|_, _| 0.3).camps.len()), (45, 0));
    }

    #[test]
    fn the_diagonal_does_not_drown_the_rest() {
        let limit = |beside: f64| table(3, |i, j| if i == j { 1.0 } else { beside }).heatmap("R").limit;
        assert_eq!(limit(0.0), None);
        assert_eq!(limit(0.5), None, "both can be seen");
        assert_eq!(limit(-0.12), Some(0.2));
        assert!((limit(0.001).unwrap() - 0.06).abs() < 1e-12, "weak ones stay weak");
        assert_eq!(table(0, |_, _| 1.0).heatmap("R").limit, None);
    }
}
