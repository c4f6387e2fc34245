//! Pairs of tasks by how strongly they are related: what tables list and graphs draw.

use cognate::internal::Symmetric;

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

    /// The pair with other numbers of its tasks; their order stays.
    pub(crate) fn among(&self, number: impl Fn(usize) -> usize) -> Self {
        let (a, b) = self.tasks();
        Self { a: number(a) as u32, b: number(b) as u32, correlation: self.correlation }
    }

    /// Whether no picture shows the difference in strength.
    pub(crate) fn is_tied(&self, other: &Self) -> bool {
        (self.strength() - other.strength()).abs() < TIED
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
    /// How many tasks have further pairs that are as strong as the last of these.
    pub(crate) tied: usize,
}

/// Whether so many pairs of K tasks cannot be read in a graph.
pub(crate) fn are_too_many(pairs: usize, tasks: usize) -> bool {
    pairs > (EDGES_A_TASK * tasks).clamp(EDGES.0, EDGES.1)
}

/// Of pairs (strongest first) of K tasks, those that a graph can show: all if they are few, else the strongest of every
/// task. Of equally strong ones it keeps those with the most central tasks, whose correlations are the largest in sum.
pub(crate) fn readable(pairs: &[Pair], tasks: usize) -> Kept {
    if !are_too_many(pairs.len(), tasks) {
        return Kept { pairs: pairs.to_vec(), most: None, tied: 0 };
    }
    let mut of_task: Vec<Vec<usize>> = vec![Vec::new(); tasks];
    let mut sums = vec![0.0; tasks];
    for (at, pair) in pairs.iter().enumerate() {
        for task in [pair.a, pair.b] {
            of_task[task as usize].push(at);
            sums[task as usize] += pair.strength();
        }
    }
    // In steps, since sums of equal values in another order differ in their last bits.
    let central = |task: u32| (sums[task as usize] / TIED).round();
    let mut keeps = vec![false; pairs.len()];
    let mut ties: Vec<Vec<usize>> = Vec::new();
    for (task, own) in of_task.iter().enumerate() {
        if own.len() <= EDGES_A_TASK {
            own.iter().for_each(|at| keeps[*at] = true);
            continue;
        }
        let last = pairs[own[EDGES_A_TASK - 1]].strength();
        let stronger = own.partition_point(|at| pairs[*at].strength() > last + TIED);
        let tied = own[stronger..].iter().take_while(|at| pairs[**at].strength() >= last - TIED);
        let mut tied: Vec<usize> = tied.copied().collect();
        let other = |at: &usize| if pairs[*at].a as usize == task { pairs[*at].b } else { pairs[*at].a };
        tied.sort_by(|x, y| central(other(y)).total_cmp(&central(other(x))).then(other(x).cmp(&other(y))));
        let chosen = own[..stronger].iter().chain(&tied).take(EDGES_A_TASK);
        chosen.for_each(|at| keeps[*at] = true);
        ties.push(tied);
    }
    // What one task leaves out, the other may keep.
    let tied = ties.iter().filter(|tied| tied.iter().any(|at| !keeps[*at])).count();
    let kept = pairs.iter().zip(&keeps).filter(|(_, kept)| **kept).map(|(pair, _)| *pair).collect();
    Kept { pairs: kept, most: Some(EDGES_A_TASK), tied }
}

/// Groups of tasks that are equally related to each other and to every other task, in the order of their first ones; every
/// task that a pair of at least `least` names is in one, and alone in it if no other is like it.
pub(crate) fn camps(correlation: &Symmetric, least: f64) -> Vec<Vec<usize>> {
    let tasks = correlation.size();
    let is_related = |task: usize| {
        let row = correlation.row(task).iter().enumerate();
        row.filter(|(other, _)| *other != task).any(|(_, value)| value.abs() >= least && *value != 0.0)
    };
    let are_alike = |a: usize, b: usize| {
        let both = correlation.row(a).iter().zip(correlation.row(b)).enumerate();
        both.filter(|(other, _)| *other != a && *other != b).all(|(_, (x, y))| (x - y).abs() <= TIED)
    };
    let mut camps: Vec<Vec<usize>> = Vec::new();
    for task in (0..tasks).filter(|task| is_related(*task)) {
        // Two that are alike to all others need not be so to each other: then a third is in no camp with both.
        let own = |camp: &&mut Vec<usize>| {
            let within = correlation.entry(camp[0], *camp.get(1).unwrap_or(&task));
            are_alike(camp[0], task) && (correlation.entry(camp[0], task) - within).abs() <= TIED
        };
        match camps.iter_mut().find(own) {
            Some(camp) => camp.push(task),
            None => camps.push(vec![task]),
        }
    }
    camps
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
        assert_eq!((kept.most, kept.tied), (Some(3), 0));
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
    fn of_equally_strong_pairs_those_with_the_most_central_tasks_are_kept() {
        // All pairs are tied but those of task 7, which is a little stronger in sum only.
        let wheel = Symmetric::from_fn(60, |i, j| match (i.min(j), i.max(j)) {
            (7, 9) | (5, 7) => 0.9,
            _ => 0.5,
        });
        let kept = readable(&by_strength(&wheel), 60);
        for task in (0..60).filter(|task| *task != 7) {
            assert!(kept.pairs.iter().any(|pair| pair.tasks() == (task.min(7), task.max(7))), "{task}");
        }
        assert!(kept.pairs.len() <= 3 * 60 && kept.tied >= 57, "{} {}", kept.pairs.len(), kept.tied);
    }

    #[test]
    fn a_tie_is_told_only_of_tasks_that_have_one() {
        // A ring of 120 whose tasks have four neighbours each, all pairs of another strength but two of task 0.
        let ring = Symmetric::from_fn(120, |i, j| match (j + 120 - i) % 120 {
            1 | 2 | 118 | 119 => match (i.min(j), i.max(j)) {
                (0, 1 | 119) => 0.4,
                (0, _) => 0.5 + i.max(j) as f64 / 1000.0,
                (a, b) if a == 1 || b == 119 => 0.2 + (a * 120 + b) as f64 * 1e-5,
                (a, b) => 0.6 + (a * 120 + b) as f64 * 1e-5,
            },
            _ => 0.0,
        });
        let pairs: Vec<Pair> =
            by_strength(&ring).into_iter().filter(|pair| pair.correlation != 0.0).collect();
        let many = [&pairs[..], &by_strength(&ring)[pairs.len()..][..200]].concat();
        let kept = readable(&many, 120);
        assert_eq!((kept.most, kept.tied), (Some(3), 0), "the other end of each keeps both");
    }

    #[test]
    fn camps_are_tasks_with_the_same_relations() {
        // Two camps of 100, opposed; a friend of the first task, which sets that apart; and one without relations.
        let camps_of = |i: usize, j: usize| match (i.min(j), i.max(j)) {
            (i, j) if i == j => 1.0,
            (0, 200) => 0.9,
            (_, 200 | 201) => 0.0,
            (i, j) if (i < 100) == (j < 100) => 0.8,
            _ => -0.5,
        };
        let matrix = Symmetric::from_fn(202, camps_of);
        let found = camps(&matrix, 0.3);
        assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [1, 99, 100, 1]);
        assert_eq!((found[0][0], found[1][0], found[3][0]), (0, 1, 200));
        // Nobody is like another where every value is another one.
        let scattered =
            Symmetric::from_fn(20, |i, j| if i == j { 1.0 } else { 0.3 + (i * j) as f64 / 1000.0 });
        assert!(camps(&scattered, 0.1).iter().all(|camp| camp.len() == 1));
        assert_eq!(camps(&Symmetric::from_fn(412, |i, j| if i == j { 1.0 } else { 0.457 }), 0.3).len(), 1);
    }
}
