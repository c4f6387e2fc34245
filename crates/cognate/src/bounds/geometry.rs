//! A and R = A^-1, in the form that bounds need: quadratic forms, columns, blocks.

use super::comparator::{Comparator, merge_dot};
use crate::error::ConfigError;
use crate::example::TaskId;
use crate::interaction::{Interaction, InteractionConfig};
use crate::linalg::Symmetric;
use crate::tasks::Tasks;

/// How tasks influence each other, seen from both sides: A measures comparators, R moves weights.
#[derive(Debug, Clone)]
pub struct Geometry {
    interaction: Interaction,
    /// Tasks and A of each block; the other tasks are on their own.
    blocks: Vec<(Vec<TaskId>, Symmetric)>,
}

/// How well a graph is connected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Connectivity {
    /// The second smallest eigenvalue of L, which is not 0: the graph is connected.
    pub(super) lambda_2: f64,
    /// c_G: the largest `R_ii`.
    pub(super) largest: f64,
}

/// Tasks closer together than this, relative to their centroid, count as equal.
const EQUAL: f64 = 1e-12;

impl Geometry {
    /// The geometry of an interaction among tasks that it knows by name.
    ///
    /// # Errors
    /// When the interaction does not fit the tasks.
    pub fn new(config: &InteractionConfig, tasks: &Tasks) -> Result<Self, ConfigError> {
        let blocks = config.blocks_of_a(tasks)?.unwrap_or_default();
        Ok(Self { interaction: config.build(tasks)?, blocks })
    }

    /// R\[to, from\] among `known` tasks.
    pub fn relation(&self, to: TaskId, from: TaskId, known: usize) -> f64 {
        self.interaction.relation(to, from, known)
    }

    /// `|R_{., from}|_p` among `known` tasks.
    pub(super) fn column_norm(&self, from: TaskId, known: usize, p: f64) -> f64 {
        let column = self.column(from, known);
        super::comparator::norm(column.iter().map(|pair| pair.1), p)
    }

    /// Column `from` of R among `known` tasks, without the tasks that it does not reach.
    pub(super) fn column(&self, from: TaskId, known: usize) -> Vec<(TaskId, f64)> {
        let entry = |task: TaskId| (task, self.relation(task, from, known));
        match &self.interaction {
            Interaction::Uniform(_) => (0..known as u32).map(|task| entry(TaskId(task))).collect(),
            Interaction::Blocks(blocks) => match blocks.place(from) {
                Some(place) => self.blocks[place.block].0.iter().map(|task| entry(*task)).collect(),
                None => vec![(from, 1.0)],
            },
        }
    }

    /// The factors of `own I + shared 11'`, where R is that.
    pub(super) fn uniform(&self, known: usize) -> Option<(f64, f64)> {
        match &self.interaction {
            Interaction::Uniform(rule) => {
                let scales = rule.scales(known);
                Some((scales.own, scales.shared))
            }
            Interaction::Blocks(_) => None,
        }
    }

    /// Whether R follows K.
    pub(super) fn follows_tasks(&self) -> bool {
        let between = |known| self.relation(TaskId(0), TaskId(0), known);
        let across = |known| self.relation(TaskId(1), TaskId(0), known);
        matches!(self.interaction, Interaction::Uniform(_))
            && (between(2), across(2)) != (between(3), across(3))
    }

    /// How well a graph of all these tasks is connected; none where there is no such graph. MP10 section 3.3:
    /// `c_G <= 1/K + (1 - 1/K) / (1 + lambda_2)`.
    pub(super) fn connectivity(&self, tasks: usize) -> Option<Connectivity> {
        let [(members, a)] = &self.blocks[..] else { return None };
        let lambda_2 = a.eigenvalues().get(1)? - 1.0;
        let largest = members.iter().map(|task| self.relation(*task, *task, tasks)).fold(0.0, f64::max);
        (members.len() == tasks).then_some(Connectivity { lambda_2, largest })
    }

    /// `u'(A x I)u`; infinite for unequal tasks that are learnt as one.
    pub fn quadratic(&self, u: &Comparator) -> f64 {
        let Interaction::Uniform(rule) = &self.interaction else {
            return self.quadratic_in_blocks(u);
        };
        // R is `own` on differences between tasks, `own + K shared` on their mean.
        let tasks = u.vectors().len();
        let scales = rule.scales(tasks);
        let (centroid, distances) = u.centroid();
        let mean = tasks as f64 * merge_dot(&centroid, &centroid);
        let apart = if distances <= EQUAL * mean { 0.0 } else { distances / scales.own };
        apart + mean / (scales.own + tasks as f64 * scales.shared)
    }

    fn quadratic_in_blocks(&self, u: &Comparator) -> f64 {
        let mut inside = vec![false; u.vectors().len()];
        let mut sum = 0.0;
        for (members, a) in &self.blocks {
            for (row, i) in members.iter().enumerate() {
                if let Some(inside) = inside.get_mut(i.index()) {
                    *inside = true;
                }
                for (column, j) in members.iter().enumerate() {
                    let weight = a.entry(row, column);
                    if weight != 0.0 {
                        sum += weight * merge_dot(u.vector(i.index()), u.vector(j.index()));
                    }
                }
            }
        }
        let alone = (0..inside.len()).filter(|task| !inside[*task]);
        sum + alone.map(|task| merge_dot(u.vector(task), u.vector(task))).sum::<f64>()
    }

    /// `(A x I)u`; none for unequal tasks that are learnt as one.
    pub(super) fn times_a(&self, u: &Comparator) -> Option<Comparator> {
        let tasks = u.vectors().len();
        let Interaction::Uniform(rule) = &self.interaction else {
            return Some(self.times_a_in_blocks(u));
        };
        let scales = rule.scales(tasks);
        let (centroid, distances) = u.centroid();
        let of_mean = 1.0 / (scales.own + tasks as f64 * scales.shared);
        if distances <= EQUAL * tasks as f64 * merge_dot(&centroid, &centroid) {
            return Some(combine(tasks, |_| vec![(of_mean, &centroid[..])]));
        }
        let apart = 1.0 / scales.own;
        apart
            .is_finite()
            .then(|| combine(tasks, |task| vec![(apart, u.vector(task)), (of_mean - apart, &centroid[..])]))
    }

    fn times_a_in_blocks(&self, u: &Comparator) -> Comparator {
        let mut rows: Vec<Option<(usize, usize)>> = vec![None; u.vectors().len()];
        for (block, (members, _)) in self.blocks.iter().enumerate() {
            for (row, task) in members.iter().enumerate() {
                if let Some(place) = rows.get_mut(task.index()) {
                    *place = Some((block, row));
                }
            }
        }
        combine(rows.len(), |task| match rows[task] {
            None => vec![(1.0, u.vector(task))],
            Some((block, row)) => {
                let (members, a) = &self.blocks[block];
                members.iter().zip(a.row(row)).map(|(task, entry)| (*entry, u.vector(task.index()))).collect()
            }
        })
    }
}

/// A weighted sum of the vectors of each task.
pub(super) fn combine<'a>(tasks: usize, terms: impl Fn(usize) -> Vec<(f64, &'a [(u32, f64)])>) -> Comparator {
    Comparator::new((0..tasks).map(|task| {
        let mut sum = std::collections::BTreeMap::<u32, f64>::new();
        for (factor, vector) in terms(task).into_iter().filter(|(factor, _)| *factor != 0.0) {
            for (feature, value) in vector {
                *sum.entry(*feature).or_default() += factor * value;
            }
        }
        sum
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry(json: &str, tasks: &Tasks) -> Geometry {
        Geometry::new(&serde_json::from_str(json).unwrap(), tasks).unwrap()
    }

    /// R times A u is u, and u'Au is u'(A u), for every interaction.
    #[test]
    fn a_undoes_r() {
        let tasks = Tasks::numbered(4);
        let u = Comparator::dense(&[vec![1.0, 2.0], vec![0.5, -1.0], vec![0.0, 3.0], vec![-2.0, 0.0]]);
        let matrix = r#"{"matrix": {"rows": [[2, 1, 0, 0], [1, 3, 0, 0.5], [0, 0, 1, 0], [0, 0.5, 0, 1]]}}"#;
        let graph = r#"{"graph": {"edges": [["1", "3"], ["3", "2", 2.5]]}}"#;
        for json in ["\"independent\"", "\"pairwise\"", r#"{"coupled": {"b": 3}}"#, graph, matrix] {
            let geometry = geometry(json, &tasks);
            let au = geometry.times_a(&u).unwrap();
            let quadratic: f64 = (0..4).map(|task| merge_dot(u.vector(task), au.vector(task))).sum();
            assert!((quadratic - geometry.quadratic(&u)).abs() < 1e-9, "{json}");
            let back = combine(4, |task| {
                let to = TaskId(task as u32);
                let entry = |from: usize| geometry.relation(to, TaskId(from as u32), 4);
                (0..4).map(|from| (entry(from), au.vector(from))).collect()
            });
            for task in 0..4 {
                for (feature, value) in u.vector(task) {
                    let found = back.vector(task).iter().find(|pair| pair.0 == *feature).unwrap().1;
                    assert!((found - value).abs() < 1e-9, "{json}");
                }
            }
        }
    }

    /// A path's lambda_2 is 2 - 2 cos(pi / K), a clique's is K, where the bound on c_G is c_G itself.
    #[test]
    fn connectivity_bounds_the_largest_rate() {
        let tasks = Tasks::numbered(5);
        let path = r#"{"graph": {"edges": [["1", "2"], ["2", "3"], ["3", "4"], ["4", "5"]]}}"#;
        let found = geometry(path, &tasks).connectivity(5).unwrap();
        assert!((found.lambda_2 - (2.0 - 2.0 * (std::f64::consts::PI / 5.0).cos())).abs() < 1e-12);
        assert!(found.largest < 0.2 + 0.8 / (1.0 + found.lambda_2), "{found:?}");
        let pairs = (1..=5).flat_map(|j| (1..j).map(move |i| format!(r#"["{i}", "{j}"]"#)));
        let clique = format!(r#"{{"graph": {{"edges": [{}]}}}}"#, pairs.collect::<Vec<_>>().join(","));
        let found = geometry(&clique, &tasks).connectivity(5).unwrap();
        assert!((found.lambda_2 - 5.0).abs() < 1e-9 && (found.largest - 2.0 / 6.0).abs() < 1e-9, "{found:?}");
        assert!((found.largest - (0.2 + 0.8 / 6.0)).abs() < 1e-9);
        let parts = geometry(r#"{"graph": {"edges": [["1", "2"], ["3", "4"]]}}"#, &tasks);
        assert_eq!((parts.connectivity(5), geometry("\"pairwise\"", &tasks).connectivity(5)), (None, None));
    }

    #[test]
    fn tasks_learnt_as_one_have_equal_comparators_only() {
        let pooled = geometry("\"pooled\"", &Tasks::numbered(2));
        let equal = Comparator::dense(&vec![vec![3.0, 4.0]; 2]);
        assert!((pooled.quadratic(&equal) - 25.0).abs() < 1e-9);
        assert_eq!(pooled.times_a(&equal).unwrap().vector(1), [(0, 1.5), (1, 2.0)]);
        let unequal = Comparator::dense(&[vec![3.0, 4.0], vec![3.0, 5.0]]);
        assert_eq!(pooled.quadratic(&unequal), f64::INFINITY);
        assert!(pooled.times_a(&unequal).is_none());
        assert!(!pooled.follows_tasks() && geometry("\"pairwise\"", &Tasks::open()).follows_tasks());
    }
}
