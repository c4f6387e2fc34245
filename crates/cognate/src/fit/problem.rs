//! Examples in coordinates, and the sum of their losses.

use super::basis::Basis;
use super::loss::Loss;
use super::{Examples, FitError};
use crate::kernel::KernelConfig;
use crate::linalg::{Dense, dot};

/// What a task has observed.
pub(crate) struct Observed {
    /// Which inputs.
    pub(crate) inputs: Vec<u32>,
    /// Labels there.
    pub(crate) y: Vec<f64>,
    /// How many examples each counts as.
    pub(crate) counts: Vec<f64>,
    /// Weight of the loss of one.
    pub(crate) weight: f64,
    /// The intercept, where the task's own would grow without end.
    pub(crate) fixed: Option<f64>,
}

impl Default for Observed {
    fn default() -> Self {
        Self { inputs: Vec::new(), y: Vec::new(), counts: Vec::new(), weight: 1.0, fixed: None }
    }
}

impl Observed {
    /// How many examples all count as.
    pub(crate) fn count(&self) -> f64 {
        self.counts.iter().sum()
    }

    /// Weight of the loss of one of them, as many as it counts as.
    pub(crate) fn weight_of(&self, at: usize) -> f64 {
        self.weight * self.counts[at]
    }
}

/// Squares on inputs that all tasks share, each with an output of every task that counts once: sums are enough.
pub(crate) struct Shared {
    /// Weight of every loss.
    pub(crate) weight: f64,
    /// phi phi', diagonal.
    pub(crate) spectrum: Vec<f64>,
    /// phi Y.
    pub(crate) right: Dense,
    /// Mean label of each task, 0 without intercepts.
    means: Vec<f64>,
    /// Sum of (y - mean)^2.
    squares: f64,
}

/// The losses to be minimised.
pub(crate) struct Problem {
    pub(crate) basis: Basis,
    pub(crate) loss: Loss,
    pub(crate) intercept: bool,
    pub(crate) tasks: Vec<Observed>,
    pub(crate) shared: Option<Shared>,
}

/// Weights in coordinates, one column per task, and intercepts.
#[derive(Debug, Clone)]
pub(crate) struct Point {
    pub(crate) w: Dense,
    pub(crate) b: Vec<f64>,
}

/// What is asked of the losses.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) loss: Loss,
    pub(crate) kernel: &'a KernelConfig,
    /// Whether each task's losses are averaged, not summed.
    pub(crate) mean: bool,
    pub(crate) intercept: bool,
    /// Whether the features themselves are the coordinates.
    pub(crate) rows: bool,
    /// Bytes that matrices may take.
    pub(crate) memory: u64,
}

impl Problem {
    pub(crate) fn new(examples: &Examples, wanted: Wanted<'_>) -> Result<Self, FitError> {
        let Wanted { loss, intercept, .. } = wanted;
        let basis = Basis::new(examples, wanted.kernel, intercept, wanted.rows, wanted.memory)?;
        let mut tasks: Vec<Observed> = (0..examples.tasks().len()).map(|_| Observed::default()).collect();
        for (at, example) in examples.examples().enumerate() {
            let task = &mut tasks[example.task.index()];
            task.inputs.push(examples.input_of(at));
            task.y.push(example.label);
            task.counts.push(examples.count_of(at));
        }
        if intercept && loss == Loss::Logistic {
            fix_intercepts(&mut tasks);
        }
        if wanted.mean {
            tasks.iter_mut().for_each(|task| task.weight = 1.0 / task.count().max(f64::MIN_POSITIVE));
        }
        let complete = examples.len() == examples.inputs() * tasks.len()
            && loss == Loss::Squares
            && tasks.iter().all(|task| task.counts.iter().all(|count| *count == 1.0));
        let shared = match &basis.spectrum {
            Some(spectrum) if complete => Some(Shared::new(&basis, spectrum.clone(), &tasks, intercept)),
            _ => None,
        };
        Ok(Self { basis, loss, intercept, tasks, shared })
    }

    /// Nothing learnt: weights 0.
    pub(crate) fn origin(&self) -> Point {
        Point { w: Dense::zeros(self.basis.size(), self.tasks.len()), b: vec![0.0; self.tasks.len()] }
    }

    /// Gives the tasks whose intercepts are fixed these.
    pub(crate) fn settle(&self, point: &mut Point) {
        let fixed = point.b.iter_mut().zip(&self.tasks);
        fixed.for_each(|(b, task)| *b = task.fixed.unwrap_or(*b));
    }

    /// Whether a task has an intercept to be found.
    pub(crate) fn frees(&self, task: usize) -> bool {
        self.intercept && self.tasks[task].fixed.is_none()
    }

    /// The tasks whose intercepts are fixed.
    pub(crate) fn fixed(&self) -> Vec<usize> {
        (0..self.tasks.len()).filter(|task| self.tasks[*task].fixed.is_some()).collect()
    }

    /// phi'w of what each task has observed.
    fn fits(&self, w: &Dense) -> Vec<Vec<f64>> {
        let of_task = |(task, observed): (usize, &Observed)| -> Vec<f64> {
            let column = w.column(task);
            observed.inputs.iter().map(|input| dot(self.basis.phi.column(*input as usize), column)).collect()
        };
        self.tasks.iter().enumerate().map(of_task).collect()
    }

    /// The sum of losses; where they are squares, intercepts are first made the best ones.
    pub(crate) fn value(&self, point: &mut Point) -> f64 {
        if let Some(shared) = &self.shared {
            point.b.clone_from(&shared.means);
            return shared.weight * shared.residual(&point.w).max(0.0);
        }
        let fits = self.fits(&point.w);
        if self.loss == Loss::Squares && self.intercept {
            for (task, fits) in fits.iter().enumerate() {
                let observed = &self.tasks[task];
                let residuals = observed.y.iter().zip(fits).zip(&observed.counts);
                let rest = residuals.map(|((y, fit), count)| count * (y - fit)).sum::<f64>();
                point.b[task] = if fits.is_empty() { 0.0 } else { rest / observed.count() };
            }
        }
        let of_task = |(task, fits): (usize, &Vec<f64>)| {
            let Observed { y, counts, weight, .. } = &self.tasks[task];
            let losses = y.iter().zip(fits).zip(counts);
            weight
                * losses
                    .map(|((y, fit), count)| count * self.loss.value(*y, fit + point.b[task]))
                    .sum::<f64>()
        };
        fits.iter().enumerate().map(of_task).sum()
    }

    /// f of what each task has observed.
    pub(crate) fn scores(&self, point: &Point) -> Vec<Vec<f64>> {
        let mut all = self.fits(&point.w);
        for (scores, b) in all.iter_mut().zip(&point.b) {
            scores.iter_mut().for_each(|score| *score += b);
        }
        all
    }

    /// Minus the slopes of the losses, one per example; nothing for shared inputs, which need sums only.
    pub(crate) fn pulls(&self, point: &Point) -> Vec<Vec<f64>> {
        if self.shared.is_some() {
            return Vec::new();
        }
        let mut all = self.fits(&point.w);
        for (task, pulls) in all.iter_mut().enumerate() {
            let observed = &self.tasks[task];
            for (at, (pull, y)) in pulls.iter_mut().zip(&observed.y).enumerate() {
                *pull = -observed.weight_of(at) * self.loss.slope(*y, *pull + point.b[task]);
            }
        }
        all
    }

    /// Makes each task's pulls add up to 0 where it has an intercept: the larger of its two signs is scaled down to the
    /// other. Squares have the best intercept, and add up to 0 already.
    pub(crate) fn balance(&self, all: &mut [Vec<f64>]) {
        if self.intercept && self.loss != Loss::Squares {
            for (_, pulls) in all.iter_mut().enumerate().filter(|(task, _)| self.frees(*task)) {
                let up: f64 = pulls.iter().filter(|pull| **pull > 0.0).sum();
                let down: f64 = -pulls.iter().filter(|pull| **pull < 0.0).sum::<f64>();
                let least = up.min(down);
                for pull in pulls {
                    *pull *= least / if *pull > 0.0 { up } else { down.max(f64::MIN_POSITIVE) };
                }
            }
        }
    }

    /// Minus the gradient of the losses in W, from the pulls.
    pub(crate) fn gradient(&self, point: &Point, pulls: &[Vec<f64>]) -> Dense {
        if let Some(shared) = &self.shared {
            let mut out = shared.right.clone();
            for task in 0..out.columns() {
                let w = point.w.column(task);
                let column = out.column_mut(task).iter_mut();
                column.zip(shared.spectrum.iter().zip(w)).for_each(|(g, (s, w))| {
                    *g = 2.0 * shared.weight * (*g - s * w);
                });
            }
            return out;
        }
        let mut out = Dense::zeros(self.basis.size(), self.tasks.len());
        for (task, pulls) in pulls.iter().enumerate() {
            let column = out.column_mut(task);
            for (input, pull) in self.tasks[task].inputs.iter().zip(pulls) {
                let phi = self.basis.phi.column(*input as usize);
                column.iter_mut().zip(phi).for_each(|(g, phi)| *g += pull * phi);
            }
        }
        out
    }

    /// Minus the gradient in W and in the intercepts; where losses are squares, intercepts are first made the best ones.
    pub(crate) fn descent(&self, point: &mut Point) -> (Dense, Vec<f64>) {
        if self.loss == Loss::Squares {
            self.value(point);
        }
        let pulls = self.pulls(point);
        let sum = |(task, pulls): (usize, &Vec<f64>)| match self.tasks[task].fixed {
            Some(_) => 0.0,
            None => pulls.iter().sum(),
        };
        let sums = pulls.iter().enumerate().map(sum).collect();
        (self.gradient(point, &pulls), sums)
    }

    /// What the losses contribute to the dual objective at `scale` times the pulls.
    pub(crate) fn dual(&self, point: &Point, pulls: &[Vec<f64>], scale: f64) -> f64 {
        if let Some(shared) = &self.shared {
            // sum theta y - theta^2 / (4 weight) with theta = 2 weight scale (y - f).
            let along = shared.squares - shared.right.inner(&point.w);
            return shared.weight * (2.0 * scale * along - scale * scale * shared.residual(&point.w));
        }
        let of_task = |(task, pulls): (usize, &Vec<f64>)| {
            let Observed { y, counts, weight, fixed, .. } = &self.tasks[task];
            let duals = y
                .iter()
                .zip(pulls)
                .zip(counts)
                .map(|((y, pull), count)| count * self.loss.dual(*y, scale * pull / (weight * count)));
            // A fixed intercept is a part of every score that no weight pays for.
            let moved = fixed.map_or(0.0, |b| scale * b * pulls.iter().sum::<f64>());
            weight * duals.sum::<f64>() - moved
        };
        pulls.iter().enumerate().map(of_task).sum()
    }
}

/// Tasks of one class share the intercept of all examples, their log-odds with half an example of each class more.
fn fix_intercepts(tasks: &mut [Observed]) {
    let labels = || tasks.iter().flat_map(|task| task.y.iter().zip(&task.counts));
    let of_class = |sign: f64| labels().filter(move |(y, _)| **y * sign > 0.0);
    let count = |sign: f64| of_class(sign).map(|(_, count)| count).sum::<f64>() + 0.5;
    let shared = (count(1.0) / count(-1.0)).ln();
    for task in tasks {
        let has = |sign: f64| task.y.iter().any(|y| y * sign > 0.0);
        task.fixed = (!has(1.0) || !has(-1.0)).then_some(shared);
    }
}

impl Shared {
    fn new(basis: &Basis, spectrum: Vec<f64>, tasks: &[Observed], intercept: bool) -> Self {
        let mut right = Dense::zeros(basis.size(), tasks.len());
        let (mut means, mut squares) = (Vec::new(), 0.0);
        for (task, observed) in tasks.iter().enumerate() {
            let mean = observed.y.iter().sum::<f64>() / observed.y.len() as f64;
            let mean = if intercept { mean } else { 0.0 };
            let column = right.column_mut(task);
            for (input, y) in observed.inputs.iter().zip(&observed.y) {
                let phi = basis.phi.column(*input as usize);
                column.iter_mut().zip(phi).for_each(|(sum, phi)| *sum += (y - mean) * phi);
                squares += (y - mean) * (y - mean);
            }
            means.push(mean);
        }
        Self { weight: tasks.first().map_or(1.0, |task| task.weight), spectrum, right, means, squares }
    }

    /// The sum of squared residuals.
    fn residual(&self, w: &Dense) -> f64 {
        let mut sum = self.squares - 2.0 * self.right.inner(w);
        for task in 0..w.columns() {
            sum += w.column(task).iter().zip(&self.spectrum).map(|(w, s)| s * w * w).sum::<f64>();
        }
        sum
    }
}
