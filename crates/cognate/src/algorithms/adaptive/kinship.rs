//! Which tasks are related, and how they fall into groups, by the weights that each has found by itself.
//!
//! Own weights of `alone` come from the examples of one task only, so the noise of two tasks has nothing in common, and the inner
//! product of their weights is about that of what they have learnt. With A_i the weights of task i, c_i their precisions and s the
//! sizes of features,
//!
//! ```text
//! a_ik = A_ik sqrt(s_k sqrt(c_ik)), less its part along b_ik = sqrt(c_ik) sqrt(s_k sqrt(c_ik))
//!
//! r_ij = a_i'a_j / (|a_i| |a_j|),   with variance 1 / w_ij = sum_k a_ik^2 a_jk^2 / (|a_i| |a_j|)^2 if they are unrelated
//! ```
//!
//! The factor is the geometric mean of s_k, which makes weights independent of the units of their features, and sqrt(c_ik), which
//! makes all of them equally sure. b_i is about what a task learns of labels that say nothing but how many of them are positive, where
//! features are positive: two tasks of different base rates would be opposed, whatever else they learn.
//!
//! A partition into groups G with signs s has the score
//!
//! ```text
//! sum over G of (sum_ij s_i s_j w_ij r_ij)^2 / sum_ij w_ij,   pairs i < j of G, 0 where the first sum is negative
//! ```
//!
//! which is twice the gain in log-likelihood of one correlation per group over none. Groups are merged greedily, the best pair
//! first and with the sign that fits, and then tasks move one by one, as long as the score grows. So the result does not depend on
//! the order of tasks, but for ties. One group of all competes with it: what tasks of different groups have in common counts for it.

use crate::linalg::dot;
use crate::linalg::wide::wide;

/// Features at a time: those of all tasks stay in cache.
const CHUNK: usize = 512;
/// What merging two groups has to gain: of a few thousand pairs that are unrelated, the best one gains about so much.
const LEAST_GAIN: f64 = 20.0;
/// Rounds in which tasks move.
const ROUNDS: usize = 8;
/// Tasks of different groups have this share in common of what those of one group have, at most, and less than chance gives.
const MOST_ACROSS: f64 = 0.125;
/// Squared deviations by which a pair of one group goes together more than by chance, in the mean, at least.
const LEAST_WITHIN: f64 = 2.0;
/// A group has at least so many tasks, and so many times the score that the best one has by chance.
const LEAST_TASKS: usize = 3;
const TIMES_CHANCE: f64 = 1.5;
/// The square of deviations from chance by which a task goes with the others of its group, at least.
const LEAST_BOND: f64 = 12.0;

/// Weights of tasks, one row per task.
#[derive(Debug, Clone, Default)]
pub(super) struct Portraits {
    width: usize,
    rows: Vec<f64>,
}

/// Correlations of pairs of tasks, and how sure they are: w r and w, both triangles.
#[derive(Debug, Clone)]
pub(super) struct Kinship {
    size: usize,
    evidence: Vec<f64>,
    weights: Vec<f64>,
}

/// Where a task is in a partition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place {
    pub(super) group: usize,
    /// 1 or -1.
    pub(super) sign: f64,
}

/// Groups of related tasks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Partition {
    /// None for tasks that are related to nobody.
    pub(super) places: Vec<Option<Place>>,
    pub(super) groups: usize,
    pub(super) score: f64,
}

/// Sums over pairs of tasks.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    evidence: f64,
    weight: f64,
}

impl Sums {
    fn add(self, other: Self) -> Self {
        Self { evidence: self.evidence + other.evidence, weight: self.weight + other.weight }
    }

    /// On the side of it that fits better.
    fn turned(self) -> Self {
        Self { evidence: self.evidence.abs(), ..self }
    }

    fn score(self) -> f64 {
        let agreed = self.evidence.max(0.0);
        if self.weight > 0.0 { agreed * agreed / self.weight } else { 0.0 }
    }
}

/// Takes what a row has in common with another one out of it.
pub(super) fn without(row: &mut [f64], other: &[f64]) {
    let share = dot(row, other) / dot(other, other);
    if share.is_finite() {
        row.iter_mut().zip(other).for_each(|(weight, other)| *weight -= share * other);
    }
}

impl Portraits {
    pub(super) fn new(width: usize) -> Self {
        Self { width, rows: Vec::new() }
    }

    /// Adds a task; its row of zeros, to be filled.
    pub(super) fn add(&mut self) -> &mut [f64] {
        let at = self.rows.len();
        self.rows.resize(at + self.width, 0.0);
        &mut self.rows[at..]
    }

    fn tasks(&self) -> impl Iterator<Item = &[f64]> {
        self.rows.chunks_exact(self.width.max(1))
    }

    /// The mean of each group's tasks, on their sides, of directions.
    pub(super) fn centres(&self, partition: &Partition) -> Vec<Vec<f64>> {
        let mut centres = vec![vec![0.0; self.width]; partition.groups];
        for (row, place) in self.tasks().zip(&partition.places) {
            let length = dot(row, row).sqrt();
            if let (Some(Place { group, sign }), true) = (place, length > 0.0) {
                centres[*group].iter_mut().zip(row).for_each(|(sum, weight)| *sum += sign * weight / length);
            }
        }
        centres
    }

    /// The centre that the first task goes with or against most, and by how many deviations more than by chance.
    pub(super) fn nearest(&self, centres: &[Vec<f64>]) -> (usize, f64) {
        let own = self.tasks().next().unwrap_or_default();
        let sureness = |centre: &Vec<f64>| {
            let (mut product, mut variance) = (0.0, 0.0);
            for term in own.iter().zip(centre).map(|(own, centre)| own * centre) {
                product += term;
                variance += term * term;
            }
            if variance > 0.0 { product / f64::sqrt(variance) } else { 0.0 }
        };
        let sure = centres.iter().map(sureness).enumerate();
        sure.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())).unwrap_or((0, 0.0))
    }

    pub(super) fn kinship(&self) -> Kinship {
        let size = self.rows.len().checked_div(self.width).unwrap_or(0);
        let (mut products, mut variances) = (vec![0.0; size * size], vec![0.0; size * size]);
        let mut squares = vec![0.0; size * CHUNK];
        for from in (0..self.width).step_by(CHUNK) {
            let to = (from + CHUNK).min(self.width);
            let chunk = |task: usize| &self.rows[task * self.width..][from..to];
            for task in 0..size {
                let squares = &mut squares[task * CHUNK..][..to - from];
                squares.iter_mut().zip(chunk(task)).for_each(|(square, weight)| *square = weight * weight);
            }
            let square = |task: usize| &squares[task * CHUNK..][..to - from];
            wide(|| {
                for one in 0..size {
                    for other in 0..=one {
                        products[one * size + other] += dot(chunk(one), chunk(other));
                        variances[one * size + other] += dot(square(one), square(other));
                    }
                }
            });
        }
        let (mut evidence, mut weights) = (vec![0.0; size * size], vec![0.0; size * size]);
        for one in 0..size {
            for other in 0..one {
                let at = one * size + other;
                let lengths = (products[one * size + one] * products[other * size + other]).sqrt();
                let weight = lengths * (lengths / variances[at]);
                if weight.is_finite() && lengths > 0.0 {
                    for at in [at, other * size + one] {
                        evidence[at] = products[one * size + other] / lengths * weight;
                        weights[at] = weight;
                    }
                }
            }
        }
        Kinship { size, evidence, weights }
    }
}

impl Kinship {
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// r and w of two tasks; both are 0 of a task with itself.
    pub(super) fn correlation(&self, one: usize, other: usize) -> (f64, f64) {
        let Sums { evidence, weight } = self.pair(one, other);
        (if weight > 0.0 { evidence / weight } else { 0.0 }, weight)
    }

    fn pair(&self, one: usize, other: usize) -> Sums {
        let at = one * self.size + other;
        Sums { evidence: self.evidence[at], weight: self.weights[at] }
    }

    /// With the evidence for tasks on the same side, or on different ones.
    fn signed(&self, one: usize, other: usize, sign: f64) -> Sums {
        let Sums { evidence, weight } = self.pair(one, other);
        Sums { evidence: sign * evidence, weight }
    }

    /// The best partition that is found.
    pub(super) fn partition(&self) -> Partition {
        let mut places = self.merged(false);
        self.improve(&mut places, true);
        self.without_chance(&places)
    }

    /// All tasks in one group, with the best signs that are found.
    pub(super) fn one_group(&self) -> Partition {
        let mut places = self.merged(true);
        self.improve(&mut places, false);
        let places: Vec<_> = places.into_iter().map(|place| Some(Place { group: 0, ..place })).collect();
        Partition { score: self.score(&places), places, groups: usize::from(self.size > 0) }
    }

    /// The score of any partition of these tasks.
    pub(super) fn score(&self, places: &[Option<Place>]) -> f64 {
        self.group_scores(places).iter().sum()
    }

    /// Of each group, those of tasks that are alone following.
    fn group_scores(&self, places: &[Option<Place>]) -> Vec<f64> {
        let groups = places.iter().flatten().map(|place| place.group + 1).max().unwrap_or(0);
        let alone = |at: usize| Place { group: groups + at, sign: 1.0 };
        let places: Vec<Place> =
            places.iter().enumerate().map(|(at, place)| place.unwrap_or_else(|| alone(at))).collect();
        let mut scores: Vec<f64> = self.sums(&places).into_iter().map(Sums::score).collect();
        scores.truncate(groups);
        scores
    }

    /// Whether tasks of one group surely have something in common, and tasks of different ones next to nothing: the mean of w r^2 - 1,
    /// which is 0 by chance, is small across groups beside what it is within them.
    pub(super) fn is_apart(&self, Partition { places, groups, .. }: &Partition) -> bool {
        let mut means = [(0.0, 0.0); 2];
        for (one, place) in places.iter().enumerate() {
            for (other, with) in places[..one].iter().enumerate() {
                let Sums { evidence, weight } = self.pair(one, other);
                if let (Some(place), Some(with), true) = (place, with, weight > 0.0) {
                    let (sum, pairs) = &mut means[usize::from(place.group != with.group)];
                    *sum += evidence * evidence / weight - 1.0;
                    *pairs += 1.0;
                }
            }
        }
        let [within, across] = means.map(|(sum, pairs): (f64, f64)| sum / pairs.max(1.0));
        *groups > 1 && within > LEAST_WITHIN && across < 1.0 && across < MOST_ACROSS * within
    }

    /// Of the pairs within each group.
    fn sums(&self, places: &[Place]) -> Vec<Sums> {
        let mut sums = Vec::new();
        self.sum_up(places, &mut sums);
        sums
    }

    fn sum_up(&self, places: &[Place], sums: &mut Vec<Sums>) {
        let groups = places.iter().map(|place| place.group + 1).max().unwrap_or(0);
        sums.clear();
        sums.resize(groups, Sums::default());
        for (one, place) in places.iter().enumerate() {
            for (other, with) in places[..one].iter().enumerate() {
                if place.group == with.group {
                    sums[place.group] =
                        sums[place.group].add(self.signed(one, other, place.sign * with.sign));
                }
            }
        }
    }

    /// Groups merged as long as that gains something, or until there is one; a group is numbered by one of its tasks.
    fn merged(&self, into_one: bool) -> Vec<Place> {
        let size = self.size;
        let mut sums: Vec<Sums> = (0..size * size).map(|at| self.pair(at / size, at % size)).collect();
        let mut places: Vec<Place> = (0..size).map(|group| Place { group, sign: 1.0 }).collect();
        let mut groups: Vec<usize> = (0..size).collect();
        while groups.len() > 1 {
            let gain = |one: usize, other: usize| {
                let within = [sums[one * size + one], sums[other * size + other]];
                let merged = within[0].add(within[1]).add(sums[one * size + other].turned());
                merged.score() - within[0].score() - within[1].score()
            };
            let pairs = groups
                .iter()
                .enumerate()
                .flat_map(|(at, one)| groups[..at].iter().map(|other| (gain(*one, *other), *one, *other)));
            let best = pairs.max_by(|a, b| a.0.total_cmp(&b.0));
            let Some((gained, one, other)) = best else { break };
            if gained < LEAST_GAIN && !into_one {
                break;
            }
            let between = sums[one * size + other];
            let sign = if between.evidence < 0.0 { -1.0 } else { 1.0 };
            sums[one * size + one] =
                sums[one * size + one].add(sums[other * size + other]).add(between.turned());
            for third in groups.iter().copied().filter(|third| *third != one && *third != other) {
                let Sums { evidence, weight } = sums[other * size + third];
                let both = sums[one * size + third].add(Sums { evidence: sign * evidence, weight });
                (sums[one * size + third], sums[third * size + one]) = (both, both);
            }
            for place in places.iter_mut().filter(|place| place.group == other) {
                *place = Place { group: one, sign: sign * place.sign };
            }
            groups.retain(|group| *group != other);
        }
        places
    }

    /// Tasks move to the group and to the sign that fit best, one by one; or to the sign only.
    fn improve(&self, places: &mut [Place], between_groups: bool) {
        let (mut with, mut within) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let mut moved = false;
            for task in 0..self.size {
                with.clear();
                with.resize(self.size, Sums::default());
                for (other, place) in places.iter().enumerate().filter(|(other, _)| *other != task) {
                    with[place.group] = with[place.group].add(self.signed(task, other, place.sign));
                }
                let here = places[task];
                let mut group = here.group;
                if between_groups {
                    self.sum_up(places, &mut within);
                    within.resize(self.size, Sums::default());
                    // Without the task itself.
                    let Sums { evidence, weight } = with[group];
                    within[group] =
                        within[group].add(Sums { evidence: -here.sign * evidence, weight: -weight });
                    let gain = |group: usize| {
                        within[group].add(with[group].turned()).score() - within[group].score()
                    };
                    let best = (0..self.size).max_by(|a, b| gain(*a).total_cmp(&gain(*b)));
                    group = best.filter(|best| gain(*best) > gain(group) + 1e-9).unwrap_or(group);
                }
                let sign = if with[group].evidence < 0.0 { -1.0 } else { 1.0 };
                moved |= group != here.group || sign != here.sign;
                places[task] = Place { group, sign };
            }
            if !moved {
                return;
            }
        }
    }

    /// Tasks and groups that may be related by chance are nobody's; the other groups are numbered from 0.
    fn without_chance(&self, places: &[Place]) -> Partition {
        let bond = |task: usize| {
            let others =
                (0..self.size).filter(|other| *other != task && places[*other].group == places[task].group);
            others.fold(Sums::default(), |sums, other| {
                sums.add(self.signed(task, other, places[task].sign * places[other].sign))
            })
        };
        // What a stranger says of one of them, it says of all in so far as they are alike.
        let alike: Vec<f64> =
            self.sums(places).into_iter().map(|Sums { evidence, weight }| evidence / weight).collect();
        let others = |group: usize| places.iter().filter(|place| place.group == group).count() as f64 - 1.0;
        let least = |group: usize| LEAST_BOND * (1.0 + others(group) * alike[group].clamp(0.0, 1.0));
        let bound: Vec<bool> =
            (0..self.size).map(|task| bond(task).score() >= least(places[task].group)).collect();
        let mut places: Vec<Option<Place>> =
            places.iter().zip(bound).map(|(place, bound)| bound.then_some(*place)).collect();
        let scores = self.group_scores(&places);
        let mut tasks = vec![0; scores.len()];
        places.iter().flatten().for_each(|place| tasks[place.group] += 1);
        let strong = |group: &usize| {
            tasks[*group] >= LEAST_TASKS
                && scores[*group] >= TIMES_CHANCE * by_chance(tasks[*group], self.size)
        };
        let groups: Vec<usize> = (0..scores.len()).filter(strong).collect();
        for place in &mut places {
            *place = place.and_then(|place| {
                let group = groups.iter().position(|group| *group == place.group)?;
                Some(Place { group, ..place })
            });
        }
        let score = groups.iter().map(|group| scores[*group]).sum();
        Partition { places, groups: groups.len(), score }
    }
}

/// About the score of the best group of so many of all tasks, if none is related to another: its tasks and their sides are chosen.
fn by_chance(tasks: usize, of: usize) -> f64 {
    let tasks = tasks as f64;
    2.0 * tasks * (2.0_f64.ln() + 1.0 + (of as f64 / tasks).ln())
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::rng::generator;

    /// Tasks of some kinds: each the weights of its kind, on its side, and noise that is as large.
    fn portraits(kinds: &[Option<(usize, f64)>], noise: f64, width: usize, seed: u64) -> Portraits {
        let mut rng = generator(seed, 0);
        let mut normal = || (0..4).map(|_| rng.random_range(-1.0..1.0)).sum::<f64>();
        let centres: Vec<Vec<f64>> = (0..4).map(|_| (0..width).map(|_| normal()).collect()).collect();
        let mut portraits = Portraits::new(width);
        for kind in kinds {
            let row: Vec<f64> = (0..width)
                .map(|at| kind.map_or(0.0, |(kind, sign)| sign * centres[kind][at]) + noise * normal())
                .collect();
            portraits.add().copy_from_slice(&row);
        }
        portraits
    }

    /// The same groups, whatever they are called and whichever side is the first.
    fn agree(found: &[Option<Place>], kinds: &[Option<(usize, f64)>]) -> bool {
        let pairs = (0..kinds.len()).flat_map(|one| (0..one).map(move |other| (one, other)));
        let mut pairs = pairs.map(|(one, other)| {
            let truth = kinds[one].zip(kinds[other]).filter(|(a, b)| a.0 == b.0).map(|(a, b)| a.1 * b.1);
            let seen = found[one]
                .zip(found[other])
                .filter(|(a, b)| a.group == b.group)
                .map(|(a, b)| a.sign * b.sign);
            truth == seen
        });
        pairs.all(|same| same)
    }

    const KINDS: [Option<(usize, f64)>; 14] = [
        Some((0, 1.0)),
        Some((1, 1.0)),
        None,
        Some((0, -1.0)),
        Some((1, -1.0)),
        Some((0, 1.0)),
        Some((2, 1.0)),
        Some((2, 1.0)),
        Some((1, 1.0)),
        None,
        Some((2, -1.0)),
        Some((0, 1.0)),
        Some((1, -1.0)),
        Some((2, 1.0)),
    ];

    #[test]
    fn kinds_sides_and_strangers_are_found_whatever_the_order() {
        for seed in 0..10 {
            let portraits = portraits(&KINDS, 2.0, 600, seed);
            let kinship = portraits.kinship();
            let found = kinship.partition();
            assert!(found.groups == 3 && agree(&found.places, &KINDS), "seed {seed}: {found:?}");
            assert!(kinship.is_apart(&found) && found.score > 1.2 * kinship.one_group().score);
            assert!((kinship.score(&found.places) - found.score).abs() <= 1e-9 * found.score);
            let mut turned = Portraits::new(portraits.width);
            portraits
                .tasks()
                .collect::<Vec<_>>()
                .iter()
                .rev()
                .for_each(|row| turned.add().copy_from_slice(row));
            let again = turned.kinship().partition();
            let kinds: Vec<_> = KINDS.iter().rev().copied().collect();
            assert!(agree(&again.places, &kinds), "seed {seed}, in the other order: {again:?}");
            // A task that was left out is found to be of its group, on its side.
            let centres = portraits.centres(&found);
            let (group, sure) =
                Portraits { rows: portraits.rows[3 * 600..4 * 600].to_vec(), ..portraits.clone() }
                    .nearest(&centres);
            let place = found.places[3].unwrap();
            assert!(group == place.group && sure * place.sign > 3.0);
        }
    }

    /// What tasks of different groups have in common speaks for one group.
    #[test]
    fn one_kind_is_one_group_and_chance_is_none() {
        for seed in 0..20 {
            let one = portraits(&[Some((0, 1.0)); 12], 2.0, 400, seed).kinship();
            assert!(!one.is_apart(&one.partition()) && one.one_group().places.iter().all(Option::is_some));
            let none = portraits(&[None; 40], 1.0, 400, seed).kinship();
            assert_eq!(none.partition().groups, 0, "seed {seed}");
        }
    }

    #[test]
    fn what_is_nothing_or_no_number_is_related_to_nobody() {
        for value in [0.0, f64::NAN, f64::INFINITY, 1e200] {
            let mut portraits = portraits(&KINDS, 1.0, 300, 1);
            portraits.rows[..300].fill(value);
            let found = portraits.kinship().partition();
            assert!(
                found.score.is_finite() && found.places[0].is_none() && found.groups == 3,
                "{value}: {found:?}"
            );
        }
        assert_eq!(Portraits::new(0).kinship().partition().groups, 0);
        assert_eq!(Portraits::new(3).kinship().one_group().places, []);
    }
}
