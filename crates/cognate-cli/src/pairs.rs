//! Pairs of tasks by how strongly they are related: what tables list and graphs draw.

use std::collections::BTreeMap;

use cognate::internal::Symmetric;
use cognate_plot::graph::Tie;

/// Two tasks and their correlation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pair {
    a: u32,
    b: u32,
    /// From -1 to 1; 0 if there is none.
    pub(crate) correlation: f64,
}

/// Weaker pairs are not drawn unless there are no others.
const STRONG: f64 = 0.3;
/// Weaker ones still not unless a threshold asks for them: a tenth is one part in a hundred of the variance.
const WEAK: f64 = 0.1;
/// A graph can be read up to this many edges per task, with these bounds over all; of more, so many of every task are
/// kept.
const EDGES_A_TASK: usize = 3;
const EDGES: (usize, usize) = (100, 1000);
/// Strengths nearer than this are tied: no picture shows the difference.
const TIED: f64 = 1e-6;

impl Pair {
    /// The two tasks, the earlier first.
    pub(crate) fn tasks(&self) -> (usize, usize) {
        (self.a as usize, self.b as usize)
    }

    /// Size of the correlation.
    pub(crate) fn strength(&self) -> f64 {
        self.correlation.abs()
    }
}

/// All pairs of the tasks of a correlation matrix, strongest first; of equal ones the earlier first.
pub(crate) fn by_strength(correlation: &Symmetric) -> Vec<Pair> {
    let k = correlation.size() as u32;
    let pair = |a: u32, b: u32| {
        let value = correlation.entry(a as usize, b as usize);
        Pair { a, b, correlation: if value.is_finite() { value } else { 0.0 } }
    };
    let mut pairs: Vec<Pair> = (0..k).flat_map(|a| (a + 1..k).map(move |b| pair(a, b))).collect();
    pairs.sort_by(|x, y| y.strength().total_cmp(&x.strength()));
    pairs
}

/// The least strength of the pairs (strongest first) that a graph draws by default.
pub(crate) fn readable_threshold(pairs: &[Pair]) -> f64 {
    if pairs.first().map_or(0.0, Pair::strength) >= STRONG { STRONG } else { WEAK }
}

/// Pairs chosen for a graph.
pub(crate) struct Kept {
    /// The pairs, strongest first.
    pub(crate) pairs: Vec<Pair>,
    /// How many of every task were kept, if not all.
    pub(crate) most: Option<usize>,
    /// Pairs that were not, because they are equally strong.
    pub(crate) ties: Vec<Tie>,
}

/// Of pairs (strongest first) of K tasks, those that a graph can show: all if they are few, else the strongest of every
/// task. Where more are equally strong than can be kept, none of these is: a choice among them would be arbitrary.
pub(crate) fn readable(pairs: &[Pair], tasks: usize) -> Kept {
    if pairs.len() <= (EDGES_A_TASK * tasks).clamp(EDGES.0, EDGES.1) {
        return Kept { pairs: pairs.to_vec(), most: None, ties: Vec::new() };
    }
    let mut of_task: Vec<Vec<usize>> = vec![Vec::new(); tasks];
    for (at, pair) in pairs.iter().enumerate() {
        let (a, b) = pair.tasks();
        of_task[a].push(at);
        of_task[b].push(at);
    }
    let (mut keeps, mut ties) = (vec![false; pairs.len()], vec![false; pairs.len()]);
    for own in &of_task {
        let strength = |rank: usize| pairs[own[rank]].strength();
        // The first that is left out; what is as strong as that one is left out with it.
        let next = if own.len() > EDGES_A_TASK { strength(EDGES_A_TASK) } else { f64::NEG_INFINITY };
        let kept =
            own.iter().take(EDGES_A_TASK).take_while(|at| pairs[**at].strength() > next + TIED).count();
        own[..kept].iter().for_each(|at| keeps[*at] = true);
        if kept < EDGES_A_TASK.min(own.len()) {
            let tied = own[kept..].iter().take_while(|at| pairs[**at].strength() >= next - TIED);
            tied.for_each(|at| ties[*at] = true);
        }
    }
    let chosen = |marks: &[bool]| {
        let marked = pairs.iter().zip(marks).filter(|(_, marked)| **marked);
        marked.map(|(pair, _)| *pair).collect::<Vec<_>>()
    };
    // What is tied for one task may be among the strongest of the other.
    ties.iter_mut().zip(&keeps).for_each(|(tied, kept)| *tied &= !kept);
    Kept { pairs: chosen(&keeps), most: Some(EDGES_A_TASK), ties: groups(&chosen(&ties), tasks) }
}

/// Tied pairs by their correlation and by the tasks that they join; the largest group first.
fn groups(pairs: &[Pair], tasks: usize) -> Vec<Tie> {
    fn root(parent: &mut [usize], mut node: usize) -> usize {
        while parent[node] != node {
            parent[node] = parent[parent[node]];
            node = parent[node];
        }
        node
    }
    let mut sorted = pairs.to_vec();
    sorted.sort_by(|a, b| b.correlation.total_cmp(&a.correlation));
    let mut all = Vec::new();
    for equal in sorted.chunk_by(|a, b| a.correlation - b.correlation <= TIED) {
        let mut parent: Vec<usize> = (0..tasks).collect();
        for pair in equal {
            let (a, b) = pair.tasks();
            let (a, b) = (root(&mut parent, a), root(&mut parent, b));
            parent[a.max(b)] = a.min(b);
        }
        let weights = (equal[equal.len() - 1].correlation, equal[0].correlation);
        let mut ties: BTreeMap<usize, Tie> = BTreeMap::new();
        for pair in equal {
            let tie = ties.entry(root(&mut parent, pair.tasks().0));
            tie.or_insert(Tie { nodes: Vec::new(), weights, edges: 0 }).edges += 1;
        }
        for task in 0..tasks {
            if let Some(tie) = ties.get_mut(&root(&mut parent, task)) {
                tie.nodes.push(task);
            }
        }
        all.extend(ties.into_values());
    }
    all.sort_by_key(|tie| std::cmp::Reverse(tie.nodes.len()));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn equal(k: usize, correlation: f64) -> Vec<Pair> {
        by_strength(&Symmetric::from_fn(k, |i, j| if i == j { 1.0 } else { correlation }))
    }

    #[test]
    fn the_strongest_come_first_and_ties_in_order() {
        let rows = [[1.0, 0.2, -0.5], [0.2, 1.0, 0.2], [-0.5, 0.2, 1.0]];
        let pairs = by_strength(&Symmetric::from_fn(3, |i, j| rows[i][j]));
        assert_eq!(pairs.iter().map(Pair::tasks).collect::<Vec<_>>(), [(0, 2), (0, 1), (1, 2)]);
        assert_eq!(by_strength(&Symmetric::from_fn(1, |_, _| 1.0)), []);
        assert_eq!(equal(2, f64::NAN)[0].correlation, 0.0);
    }

    #[test]
    fn weak_pairs_are_drawn_only_where_there_are_no_strong_ones() {
        assert_eq!(readable_threshold(&[]), WEAK);
        assert_eq!(readable_threshold(&equal(3, 0.2)), WEAK);
        assert_eq!(readable_threshold(&equal(10, 0.9)), STRONG);
    }

    /// Correlations of 412 tasks in no order, the same every time.
    fn scattered() -> Vec<Pair> {
        by_strength(&Symmetric::from_fn(412, |i, j| {
            let (low, high) = (i.min(j) as u64, i.max(j) as u64);
            let mixed = (low * 1000 + high + 1).wrapping_mul(0xff51_afd7_ed55_8ccd);
            let mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
            (mixed >> 32) as f64 / f64::from(1u32 << 31) - 1.0
        }))
    }

    #[test]
    fn a_graph_keeps_the_strongest_pairs_of_every_task() {
        let few = equal(10, 0.9);
        assert_eq!(readable(&few, 10).pairs, few, "45 pairs are few");
        let pairs = scattered();
        let kept = readable(&pairs, 412);
        assert_eq!((kept.most, kept.ties), (Some(3), Vec::new()));
        assert!(kept.pairs.len() <= 3 * 412, "{}", kept.pairs.len());
        for task in 0..412 {
            let of_task = |pairs: &[Pair]| -> Vec<Pair> {
                let own = |pair: &&Pair| pair.tasks().0 == task || pair.tasks().1 == task;
                pairs.iter().filter(own).copied().collect()
            };
            assert_eq!(of_task(&kept.pairs)[..3], of_task(&pairs)[..3], "task {task}");
        }
    }

    #[test]
    fn ties_are_not_broken() {
        let pairs = equal(412, 0.457);
        let kept = readable(&pairs, 412);
        let all = Tie { nodes: (0..412).collect(), weights: (0.457, 0.457), edges: pairs.len() };
        assert_eq!((kept.pairs, kept.ties), (Vec::new(), vec![all]));
        // Two camps of 100, tied within and, less, between; and a friend of the first task.
        let camps = Symmetric::from_fn(201, |i, j| match (i.min(j), i.max(j)) {
            (0, 200) => 0.9,
            (_, 200) => 0.0,
            (i, j) if (i < 100) == (j < 100) => 0.8,
            _ => -0.5,
        });
        let pairs: Vec<Pair> =
            by_strength(&camps).into_iter().filter(|pair| pair.correlation != 0.0).collect();
        let kept = readable(&pairs, 201);
        assert_eq!(kept.pairs.iter().map(Pair::tasks).collect::<Vec<_>>(), [(0, 200)]);
        assert_eq!(
            kept.ties.iter().map(|tie| (tie.nodes.len(), tie.edges)).collect::<Vec<_>>(),
            [(100, 4950); 2]
        );
    }
}
