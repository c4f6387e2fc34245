//! The area under the ROC curve: how often an example of label +1 has a larger margin than one of label -1.
//!
//! Margins are kept as they come, up to a million; from them the area is exact. From then on they are counted in
//! bins whose edges are quantiles of those kept: pairs within a bin count half, and the error that this can make
//! is known and said.

use super::label_runs::LabelRuns;
use crate::example::TaskId;

/// Most examples of which every margin is kept.
const EXACT: usize = 1_000_000;
/// Bins of all tasks together.
const BINS: usize = 4096;
/// Bins on each side beyond the largest margin kept, 64 to a doubling: margins of some learners grow with time.
const TAIL: usize = 512;
/// Most bins of single tasks, over all of them: 64 MiB.
const TASK_BINS: usize = 1 << 22;
/// With fewer bins than this, the area of a task would say nothing.
const LEAST_BINS: usize = 16;

/// The area under a ROC curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Auc {
    /// The area: 1/2 for margins that know nothing of the labels. Equal margins count half.
    pub value: f64,
    /// The most by which binning can have changed it; 0 if it is exact.
    pub error: f64,
}

/// The areas of all examples, and of every task.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Areas {
    total: Option<Auc>,
    tasks: Vec<Option<Auc>>,
    within: Option<Auc>,
}

/// The area of all examples above that within tasks from which on it is said.
const APART: f64 = 0.03;
/// The share of the tasks whose areas are then below it.
const NEARLY_EVERY: f64 = 0.9;

impl Areas {
    fn of(total: Option<Auc>, tasks: impl Iterator<Item = Sweep>) -> Self {
        let [mut right, mut tied, mut all] = [0.0; 3];
        let mut area = |sweep: Sweep| {
            (right, tied, all) = (right + sweep.pairs, tied + sweep.tied, all + sweep.all());
            sweep.auc()
        };
        let tasks = tasks.map(&mut area).collect();
        Self { total, tasks, within: (all > 0.0).then(|| Auc { value: right / all, error: tied / all }) }
    }

    /// That of all examples; none while there is one class only.
    pub fn total(&self) -> Option<Auc> {
        self.total
    }

    /// That of a task; none while it has one class only, and where tasks are too many for bins of their own.
    pub fn task(&self, task: TaskId) -> Option<Auc> {
        self.tasks.get(task.index()).copied().flatten()
    }

    /// That of pairs within tasks: how often, of two examples of one task, that of +1 has the larger margin. None while no
    /// task has both classes, and where tasks are too many for bins of their own.
    pub fn within_tasks(&self) -> Option<Auc> {
        self.within
    }

    /// The area within tasks where that of all examples is clearly above it and above those of nearly all tasks: it then
    /// tells tasks apart rather than their examples.
    pub fn below_total(&self) -> Option<Auc> {
        let (total, within) = self.total.zip(self.within)?;
        let known = || self.tasks.iter().flatten();
        let below = known().filter(|auc| auc.value < total.value).count() as f64;
        let is_above = total.value - within.value > APART + total.error + within.error;
        (is_above && below >= NEARLY_EVERY * known().count() as f64).then_some(within)
    }

    /// The most by which binning can have changed the area of a task, over all tasks; none where all are exact.
    pub fn largest_task_error(&self) -> Option<f64> {
        let errors = self.tasks.iter().flatten().map(|auc| auc.error);
        errors.filter(|error| *error > 0.0).reduce(f64::max)
    }
}

/// Margins beside labels, in bounded memory.
#[derive(Debug, Clone)]
pub struct Ranking {
    exact: usize,
    margins: Vec<f64>,
    /// Task and label of each: twice the task's number, and 1 more for the label +1.
    marks: Vec<u32>,
    /// Weights, once one of them is not 1.
    weights: Vec<f64>,
    binned: Option<Box<Binned>>,
}

impl Default for Ranking {
    fn default() -> Self {
        Self::exact_up_to(EXACT)
    }
}

impl Ranking {
    /// A ranking that keeps so many margins before it counts in bins; by default a million.
    pub fn exact_up_to(examples: usize) -> Self {
        let (margins, marks, weights) = (Vec::new(), Vec::new(), Vec::new());
        Self { exact: examples.max(1), margins, marks, weights, binned: None }
    }

    /// Counts a labelled example by its margin before learning.
    #[inline]
    pub fn count(&mut self, task: TaskId, label: f64, weight: f64, margin: f64) {
        if let Some(binned) = &mut self.binned {
            binned.count(task.index(), label > 0.0, weight, margin);
            return;
        }
        // Zeros of either sign are equals.
        self.margins.push(margin + 0.0);
        self.marks.push((task.0 << 1) | u32::from(label > 0.0));
        #[expect(clippy::float_cmp, reason = "weights that were not given are exactly 1")]
        let is_usual = weight == 1.0;
        if !is_usual || !self.weights.is_empty() {
            self.weights.resize(self.margins.len() - 1, 1.0);
            self.weights.push(weight);
        }
        if self.margins.len() > self.exact {
            self.bin();
        }
    }

    /// Whether every margin is kept, and areas are exact.
    pub fn is_exact(&self) -> bool {
        self.binned.is_none()
    }

    /// The area over all tasks; none while there is one class only.
    pub fn auc(&self) -> Option<Auc> {
        match &self.binned {
            Some(binned) => swept(&binned.total).auc(),
            None => {
                let (sorted, at) = self.sorted();
                self.exact_sweep(sorted.into_iter().map(at)).auc()
            }
        }
    }

    /// The areas of all and of every task.
    pub fn areas(&self) -> Areas {
        if let Some(binned) = &self.binned {
            return binned.areas();
        }
        let (sorted, at) = self.sorted();
        // In half of the memory: the end of a run is when it needs most.
        let mut sorted: Vec<u32> = sorted.into_iter().map(|entry| at(entry) as u32).collect();
        sorted.shrink_to_fit();
        let total = self.exact_sweep(sorted.iter().map(|at| *at as usize)).auc();
        let tasks = self.marks.iter().map(|mark| mark >> 1).max().map_or(0, |last| last as usize + 1);
        // Sorted by margin already: counting sorts by task in two walks.
        let mut starts = vec![0_u32; tasks + 1];
        self.marks.iter().for_each(|mark| starts[(mark >> 1) as usize + 1] += 1);
        for task in 0..tasks {
            starts[task + 1] += starts[task];
        }
        let (mut next, mut by_task) = (starts.clone(), vec![0_u32; sorted.len()]);
        for at in sorted {
            let place = &mut next[(self.marks[at as usize] >> 1) as usize];
            by_task[*place as usize] = at;
            *place += 1;
        }
        Areas::of(
            total,
            starts.windows(2).map(|pair| {
                let examples = &by_task[pair[0] as usize..pair[1] as usize];
                self.exact_sweep(examples.iter().map(|at| *at as usize))
            }),
        )
    }

    /// How long the runs of one label are, among the examples of which every margin is kept.
    pub fn label_runs(&self) -> LabelRuns {
        match &self.binned {
            Some(binned) => binned.runs,
            None => LabelRuns::of(&self.marks),
        }
    }

    fn weight(&self, at: usize) -> f64 {
        self.weights.get(at).copied().unwrap_or(1.0)
    }

    /// Examples by margin, the smallest first, and what tells the position of each.
    ///
    /// The first bits of a margin and the position are sorted as one number; margins that begin alike, once more.
    fn sorted(&self) -> (Vec<u64>, impl Fn(u64) -> usize + use<>) {
        let order = |margin: f64| {
            // The order of the bits as whole numbers is that of the numbers, once negative ones are turned round.
            let bits = margin.to_bits();
            if bits >> 63 == 1 { !bits } else { bits | (1 << 63) }
        };
        let last = (1_u64 << (u64::BITS - self.margins.len().leading_zeros())) - 1;
        let at = move |entry: u64| (entry & last) as usize;
        let mut entries: Vec<u64> =
            (0..).zip(&self.margins).map(|(at, margin)| order(*margin) & !last | at).collect();
        entries.sort_unstable();
        for alike in entries.chunk_by_mut(|one, other| one & !last == other & !last) {
            if alike.len() > 1 {
                alike.sort_unstable_by_key(|entry| (order(self.margins[at(*entry)]), *entry));
            }
        }
        (entries, at)
    }

    /// The walk over examples given by margin.
    #[expect(clippy::float_cmp, reason = "ties are margins that are exactly equal")]
    fn exact_sweep(&self, sorted: impl Iterator<Item = usize>) -> Sweep {
        let (mut sweep, mut tied, mut last) = (Sweep::default(), [0.0; 2], f64::NEG_INFINITY);
        for at in sorted {
            if self.margins[at] != last {
                sweep.add(tied);
                (tied, last) = ([0.0; 2], self.margins[at]);
            }
            tied[(self.marks[at] & 1) as usize] += self.weight(at);
        }
        sweep.add(tied);
        sweep.tied = 0.0;
        sweep
    }

    /// From here on, margins are counted in bins.
    fn bin(&mut self) {
        let (sorted, at) = self.sorted();
        let sorted: Vec<f64> = sorted.into_iter().map(|entry| self.margins[at(entry)]).collect();
        let mut binned = Binned {
            edges: edges(&sorted),
            total: vec![[0.0; 2]; BINS],
            tasks: Some(Vec::new()),
            shift: 0,
            runs: LabelRuns::of(&self.marks),
        };
        for at in 0..self.margins.len() {
            let (task, positive) = ((self.marks[at] >> 1) as usize, self.marks[at] & 1 == 1);
            binned.count(task, positive, self.weight(at), self.margins[at]);
        }
        (self.margins, self.marks, self.weights) = (Vec::new(), Vec::new(), Vec::new());
        self.binned = Some(Box::new(binned));
    }
}

/// Upper edges of bins: quantiles of sorted margins, and steps beyond the largest.
fn edges(sorted: &[f64]) -> Vec<f64> {
    let inner = BINS - 2 * TAIL - 2;
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else { return Vec::new() };
    let largest = first.abs().max(last.abs());
    let beyond = |step: usize| largest * (step as f64 / 64.0).exp2();
    let tail = (1..=TAIL).map(beyond).filter(|edge| edge.is_finite());
    let mut edges: Vec<f64> = (0..inner).map(|at| sorted[at * (sorted.len() - 1) / (inner - 1)]).collect();
    edges.extend(tail.clone());
    edges.extend(tail.map(|edge| -edge));
    edges.sort_unstable_by(f64::total_cmp);
    edges.dedup();
    edges
}

/// Weights of the labels -1 and +1 in a bin.
type Pair = [f64; 2];

/// Weights by bins of margins.
#[derive(Debug, Clone)]
struct Binned {
    edges: Vec<f64>,
    total: Vec<Pair>,
    /// Rows of the tasks, `BINS >> shift` bins each; none once tasks are too many.
    tasks: Option<Vec<Pair>>,
    shift: u32,
    runs: LabelRuns,
}

impl Binned {
    fn count(&mut self, task: usize, positive: bool, weight: f64, margin: f64) {
        let bin = self.edges.partition_point(|edge| *edge < margin);
        self.total[bin][usize::from(positive)] += weight;
        self.make_room(task);
        let width = BINS >> self.shift;
        if let Some(tasks) = &mut self.tasks {
            tasks[task * width + (bin >> self.shift)][usize::from(positive)] += weight;
        }
    }

    /// Makes a row for a task, if necessary with fewer bins for all.
    fn make_room(&mut self, task: usize) {
        let Some(tasks) = &mut self.tasks else { return };
        if (task + 1) * (BINS >> self.shift) <= tasks.len() {
            return;
        }
        while (task + 1) * (BINS >> self.shift) > TASK_BINS {
            self.shift += 1;
            *tasks = tasks.chunks(2).map(|two| [two[0][0] + two[1][0], two[0][1] + two[1][1]]).collect();
        }
        let width = BINS >> self.shift;
        if width < LEAST_BINS {
            self.tasks = None;
        } else {
            tasks.resize((task + 1) * width, [0.0; 2]);
        }
    }

    fn areas(&self) -> Areas {
        let rows = self.tasks.as_deref().unwrap_or_default();
        Areas::of(swept(&self.total).auc(), rows.chunks(BINS >> self.shift).map(swept))
    }
}

/// The walk over bins.
fn swept(bins: &[Pair]) -> Sweep {
    let mut sweep = Sweep::default();
    bins.iter().for_each(|bin| sweep.add(*bin));
    sweep
}

/// A walk from the smallest margin to the largest.
#[derive(Default)]
struct Sweep {
    /// Weights of the labels -1 and +1 so far.
    so_far: Pair,
    /// Pairs of a label +1 and a label -1 below it; half of those that are equals.
    pairs: f64,
    /// Half of those that are equals, or lie in one bin; 0 where margins are exact.
    tied: f64,
}

impl Sweep {
    fn add(&mut self, [negative, positive]: Pair) {
        let tied = positive * negative / 2.0;
        self.pairs += positive * self.so_far[0] + tied;
        self.tied += tied;
        self.so_far = [self.so_far[0] + negative, self.so_far[1] + positive];
    }

    /// All pairs.
    fn all(&self) -> f64 {
        self.so_far[0] * self.so_far[1]
    }

    fn auc(&self) -> Option<Auc> {
        let all = self.all();
        (all > 0.0).then(|| Auc { value: self.pairs / all, error: self.tied / all })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::generator;
    use rand::RngExt;

    /// Examples of three tasks with ties, and with weights if asked for.
    fn examples(count: usize, weighted: bool) -> Vec<(u32, f64, f64, f64)> {
        let mut rng = generator(7, 0);
        let mut example = || {
            let label = if rng.random::<f64>() < 0.3 { 1.0 } else { -1.0 };
            let margin = (10.0 * (rng.random::<f64>() - 0.5 + 0.2 * label)).round() / 4.0;
            let weight = if weighted { 0.5 + rng.random::<f64>() } else { 1.0 };
            (rng.random_range(0..3), label, weight, margin)
        };
        (0..count).map(|_| example()).collect()
    }

    fn ranked(examples: &[(u32, f64, f64, f64)], exact: usize) -> Ranking {
        let mut ranking = Ranking::exact_up_to(exact);
        examples.iter().for_each(|(task, label, weight, margin)| {
            ranking.count(TaskId(*task), *label, *weight, *margin);
        });
        ranking
    }

    /// Every pair, one by one.
    fn plain(examples: &[(u32, f64, f64, f64)]) -> f64 {
        let (mut won, mut all) = (0.0, 0.0);
        for (_, _, weight, margin) in examples.iter().filter(|example| example.1 > 0.0) {
            for (_, _, other, below) in examples.iter().filter(|example| example.1 < 0.0) {
                all += weight * other;
                won += weight * other * f64::midpoint(f64::from(margin > below), f64::from(margin >= below));
            }
        }
        won / all
    }

    #[test]
    fn the_area_is_that_of_all_pairs() {
        for weighted in [false, true] {
            let examples = examples(600, weighted);
            let ranking = ranked(&examples, 1000);
            let (areas, auc) = (ranking.areas(), ranking.auc().unwrap());
            assert_eq!((areas.total(), auc.error), (Some(auc), 0.0));
            assert!((auc.value - plain(&examples)).abs() < 1e-12);
            for task in 0..3 {
                let own: Vec<_> = examples.iter().copied().filter(|example| example.0 == task).collect();
                assert!((areas.task(TaskId(task)).unwrap().value - plain(&own)).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn the_area_within_tasks_is_that_of_pairs_of_one_task() {
        for exact in [1000, 200] {
            let examples = examples(600, false);
            let areas = ranked(&examples, exact).areas();
            let (mut right, mut all) = (0.0, 0.0);
            for task in 0..3 {
                let own: Vec<_> = examples.iter().copied().filter(|example| example.0 == task).collect();
                let positives = own.iter().filter(|example| example.1 > 0.0).count();
                let pairs = (positives * (own.len() - positives)) as f64;
                (right, all) = (right + pairs * plain(&own), all + pairs);
            }
            let within = areas.within_tasks().unwrap();
            assert!((within.value - right / all).abs() <= within.error + 1e-12, "{within:?}");
            assert_eq!((exact > 600, areas.below_total()), (within.error == 0.0, None), "tasks are alike");
        }
    }

    #[test]
    fn margins_that_know_the_task_alone_tell_tasks_apart() {
        let mut rng = generator(11, 0);
        let mut ranking = Ranking::default();
        for at in 0..4000 {
            let (task, own) = (at % 8, if at % 8 < 4 { 1.0 } else { -1.0 });
            let label = if rng.random::<f64>() < 0.1 { -own } else { own };
            ranking.count(TaskId(task), label, 1.0, own + 0.1 * rng.random::<f64>());
        }
        let areas = ranking.areas();
        let within = areas.below_total().unwrap();
        assert!(areas.total().unwrap().value > 0.85 && (within.value - 0.5).abs() < 0.05, "{within:?}");
        assert_eq!(areas.within_tasks(), Some(within));
    }

    #[test]
    fn one_class_has_no_area() {
        let mut ranking = Ranking::default();
        assert_eq!((ranking.auc(), ranking.areas()), (None, Areas::default()));
        ranking.count(TaskId(0), 1.0, 1.0, 3.0);
        ranking.count(TaskId(0), 1.0, 1.0, -3.0);
        assert_eq!((ranking.auc(), ranking.areas().task(TaskId(0))), (None, None));
        ranking.count(TaskId(2), -1.0, 1.0, 0.0);
        // One label +1 above, one below; no task has both classes.
        assert_eq!(ranking.auc(), Some(Auc { value: 0.5, error: 0.0 }));
        let areas = ranking.areas();
        assert!((0..4).all(|task| areas.task(TaskId(task)).is_none()));
        assert_eq!(areas.within_tasks(), None);
    }

    #[test]
    fn zeros_of_either_sign_are_equals() {
        let ranking = ranked(&[(0, 1.0, 1.0, 0.0), (0, -1.0, 1.0, -0.0)], 10);
        assert_eq!(ranking.auc().map(|auc| auc.value), Some(0.5));
    }

    #[test]
    fn bins_say_how_wrong_they_can_be() {
        let mut rng = generator(3, 0);
        let examples: Vec<_> = (0..4000)
            .map(|at| {
                let label = if rng.random::<f64>() < 0.4 { 1.0 } else { -1.0 };
                // Margins that grow with time.
                let margin = (1.0 + f64::from(at) / 500.0) * (rng.random::<f64>() - 0.5 + 0.2 * label);
                (rng.random_range(0..2), label, 1.0, margin)
            })
            .collect();
        let (exact, binned) = (ranked(&examples, 5000), ranked(&examples, 1000));
        assert!(exact.is_exact() && !binned.is_exact());
        let (right, found) = (exact.areas(), binned.areas());
        for (right, found) in [
            (right.total(), found.total()),
            (right.task(TaskId(0)), found.task(TaskId(0))),
            (right.task(TaskId(1)), found.task(TaskId(1))),
        ] {
            let (right, found) = (right.unwrap(), found.unwrap());
            assert!(found.error > 0.0 && found.error < 0.01, "{found:?}");
            assert!((right.value - found.value).abs() <= found.error + 1e-12, "{right:?} {found:?}");
        }
        let errors = [0, 1].map(|task| found.task(TaskId(task)).unwrap().error);
        assert_eq!(found.largest_task_error(), Some(errors[0].max(errors[1])));
        assert_eq!(right.largest_task_error(), None);
    }

    #[test]
    fn many_tasks_have_fewer_bins_and_then_none() {
        let mut ranking = Ranking::exact_up_to(1000);
        for at in 0..4000 {
            ranking.count(TaskId(at % 2), if at < 2000 { 1.0 } else { -1.0 }, 1.0, f64::from(at));
        }
        ranking.count(TaskId(3000), 1.0, 1.0, 900.0);
        ranking.count(TaskId(3000), -1.0, 1.0, -9.0);
        let areas = ranking.areas();
        assert_eq!(areas.task(TaskId(3000)), Some(Auc { value: 1.0, error: 0.0 }));
        let first = areas.task(TaskId(0)).unwrap();
        assert!(first.value <= first.error && first.error < 0.01, "{first:?}");
        ranking.count(TaskId(1 << 20), 1.0, 1.0, 2.0);
        let areas = ranking.areas();
        assert!(areas.task(TaskId(0)).is_none() && areas.total().is_some());
    }
}
