//! Choosing parameters by cross-validation.
//!
//! Every fold walks the candidates in order, each fit starting where the last one ended, so a path of lambdas from large
//! to small costs little more than its last fit. Folds run side by side; the result does not depend on how many do.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

use rand::seq::SliceRandom;

use super::fitter::{FitOptions, Fitted, Fitter};
use super::{Examples, FitError, Kind, Penalty, Stopped};
use crate::algorithms::{Convex, ConvexConfig};
use crate::example::{TaskId, is_mistake};
use crate::learner::Predict;
use crate::rng::generator;

/// One fold: positions of the examples to fit and of those to predict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fold {
    /// To be fitted.
    pub train: Vec<usize>,
    /// To be predicted.
    pub test: Vec<usize>,
}

/// Splits examples into folds, at random by the seed.
///
/// If tasks share their inputs, all outputs of an input go together; otherwise every task is split on its own,
/// stratified by label.
///
/// # Errors
/// When there are fewer than two folds, or a task has fewer examples than folds.
pub fn folds(examples: &Examples, count: usize, seed: u64) -> Result<Vec<Fold>, FitError> {
    if count < 2 {
        return Err(FitError::FewFolds { folds: count });
    }
    let mut of_task: Vec<Vec<usize>> = vec![Vec::new(); examples.tasks().len()];
    examples.examples().enumerate().for_each(|(at, example)| of_task[example.task.index()].push(at));
    if let Some(task) = of_task.iter().position(|positions| positions.len() < count) {
        let name = examples.tasks().name(TaskId(task as u32)).to_owned();
        return Err(FitError::Folds { task: name, examples: of_task[task].len(), folds: count });
    }
    let mut rng = generator(seed, 0);
    let mut fold_of = vec![0; examples.len()];
    if 2 * examples.inputs() <= examples.len() {
        let mut turns: Vec<usize> = (0..examples.inputs()).collect();
        turns.shuffle(&mut rng);
        (0..examples.len()).for_each(|at| fold_of[at] = turns[examples.input_of(at) as usize] % count);
    } else {
        for (task, positions) in of_task.iter_mut().enumerate() {
            positions.shuffle(&mut rng);
            if examples.kind() == Kind::Classification {
                positions.sort_by(|a, b| examples.example(*a).label.total_cmp(&examples.example(*b).label));
            }
            positions.iter().enumerate().for_each(|(turn, at)| fold_of[*at] = (turn + task) % count);
        }
    }
    let part = |fold: usize, tested: bool| -> Vec<usize> {
        (0..examples.len()).filter(|at| (fold_of[*at] == fold) == tested).collect()
    };
    Ok((0..count).map(|fold| Fold { train: part(fold, false), test: part(fold, true) }).collect())
}

/// How well examples are predicted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// In classification the share of mistakes; otherwise the mean squared error relative to the variance of the task's
    /// labels.
    pub error: f64,
    /// The share of the variance of all labels that is explained.
    pub explained: f64,
}

/// Scores predictions of some examples, each counted by its weight; variances are those of all examples of a task.
pub fn score(examples: &Examples, tested: &[usize], predict: impl Fn(usize) -> f64) -> Score {
    let variances = variances(examples);
    let kind = examples.kind();
    let (mut count, mut error, mut squares, mut sum, mut total) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for at in tested {
        let example = examples.example(*at);
        let (label, margin, weight) = (example.label, predict(*at), example.weight);
        let square = (label - margin) * (label - margin);
        count += weight;
        error += weight
            * match kind {
                Kind::Classification => f64::from(u8::from(is_mistake(label, margin))),
                Kind::Regression => square / variances[example.task.index()],
            };
        squares += weight * square;
        sum += weight * label;
        total += weight * label * label;
    }
    let count = if count > 0.0 { count } else { 1.0 };
    let spread = total - sum * sum / count;
    Score { error: error / count, explained: if spread > 0.0 { 1.0 - squares / spread } else { 0.0 } }
}

/// The variance of the labels of every task; 1 where they are equal.
fn variances(examples: &Examples) -> Vec<f64> {
    let mut sums = vec![(0.0_f64, 0.0, 0.0); examples.tasks().len()];
    for example in examples.examples() {
        let (count, sum, _) = &mut sums[example.task.index()];
        *count += example.weight;
        *sum += example.weight * example.label;
    }
    for example in examples.examples() {
        let (count, sum, squares) = &mut sums[example.task.index()];
        *squares += example.weight * (example.label - *sum / *count).powi(2);
    }
    sums.iter().map(|(count, _, squares)| if *squares > 0.0 { squares / count } else { 1.0 }).collect()
}

/// A choice of parameters and its error.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The parameters.
    pub config: ConvexConfig,
    /// The mean error over folds.
    pub error: f64,
    /// The standard error of that mean.
    pub deviation: f64,
    /// The mean share of variance explained.
    pub explained: f64,
    /// Folds in which the fit converged.
    pub converged: usize,
}

/// All candidates, and the best of them.
#[derive(Debug, Clone)]
pub struct Selection {
    /// The candidates, in the order given.
    pub candidates: Vec<Candidate>,
    /// Index of the one with the least error; the first among equals.
    pub best: usize,
}

/// A fit in a path need not be closer to its minimum than this share of it to be compared.
const LOOSE: f64 = 1e-4;
/// Nor take more iterations.
const FEW: u32 = 500;

/// Fits every candidate on every fold and predicts the rest of it. `done` is called after every fit; returning
/// false leaves out the remaining fits.
///
/// # Errors
/// Those of the first fold that fails.
pub fn select(
    candidates: &[ConvexConfig],
    examples: &Examples,
    folds: &[Fold],
    options: &FitOptions,
    threads: NonZeroUsize,
    done: &(dyn Fn() -> bool + Sync),
) -> Result<Selection, FitError> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        loop {
            let fold = next.fetch_add(1, Ordering::Relaxed);
            let Some(split) = folds.get(fold) else { return found };
            found.push((fold, walk(candidates, examples, split, options, done)));
        }
    };
    let mut results: Vec<(usize, Result<Vec<Fit>, FitError>)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.get().min(folds.len())).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a fit does not panic")).collect()
    });
    results.sort_by_key(|(fold, _)| *fold);
    let results: Vec<Vec<Fit>> =
        results.into_iter().map(|(_, result)| result).collect::<Result<_, FitError>>()?;
    let count = results.len() as f64;
    let summed = |at: usize| {
        let errors: Vec<f64> = results.iter().map(|fold| fold[at].score.error).collect();
        let error = errors.iter().sum::<f64>() / count;
        let spread = errors.iter().map(|one| (one - error).powi(2)).sum::<f64>();
        Candidate {
            config: candidates[at].clone(),
            error,
            deviation: (spread / (count - 1.0).max(1.0) / count).sqrt(),
            explained: results.iter().map(|fold| fold[at].score.explained).sum::<f64>() / count,
            converged: results.iter().filter(|fold| fold[at].converged).count(),
        }
    };
    let candidates: Vec<Candidate> = (0..candidates.len()).map(summed).collect();
    let by_error = |a: &usize, b: &usize| candidates[*a].error.total_cmp(&candidates[*b].error);
    let best = (0..candidates.len()).min_by(by_error).unwrap_or(0);
    Ok(Selection { candidates, best })
}

struct Fit {
    score: Score,
    converged: bool,
}

/// One fold along all candidates.
fn walk(
    candidates: &[ConvexConfig],
    examples: &Examples,
    fold: &Fold,
    options: &FitOptions,
    done: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<Fit>, FitError> {
    let train = examples.subset(&fold.train);
    let mut fits = Vec::with_capacity(candidates.len());
    let mut fitter: Option<Fitter<'_>> = None;
    let mut warm: Option<Fitted> = None;
    for config in candidates {
        let config = ConvexConfig {
            tolerance: config.tolerance.max(LOOSE),
            max_iterations: config.max_iterations.min(FEW),
            ..config.clone()
        };
        if fitter.as_ref().is_none_or(|fitter| !fitter.suits(&config)) {
            fitter = Some(Fitter::new(&config, &train, options.memory)?);
            warm = None;
        }
        let fitter = fitter.as_ref().expect("one was just made");
        let fitted = fitter.fit(&config, warm.as_ref(), options, &|_, _| true)?;
        let learner = Convex::from_fit(&config, &train, &fitted);
        let predict = |at: usize| {
            let example = examples.example(at);
            learner.margin(example.task, example.features)
        };
        let score = score(examples, &fold.test, predict);
        fits.push(Fit { score, converged: fitted.status.stopped == Stopped::Converged });
        warm = Some(fitted);
        if !done() {
            let rest = candidates.len() - fits.len();
            let none = Score { error: f64::NAN, explained: f64::NAN };
            fits.extend((0..rest).map(|_| Fit { score: none, converged: false }));
            break;
        }
    }
    Ok(fits)
}

impl Fitter<'_> {
    /// Lambdas worth trying with these parameters, from one that shrinks almost everything to one that penalises almost
    /// nothing.
    ///
    /// # Errors
    /// When the parameters do not fit the tasks.
    pub fn path(&self, config: &ConvexConfig, count: usize) -> Result<Vec<f64>, FitError> {
        let penalty = config.penalty_for(self.examples().tasks())?;
        let (pull, curvature) = self.scales(&penalty);
        let (largest, decades) = match penalty {
            Penalty::Schatten { .. } | Penalty::LogDet { .. } => (0.25 * pull * pull, 6.0),
            Penalty::Rows => (pull, 3.5),
            Penalty::TraceOne => (1e2 * curvature / self.examples().tasks().len() as f64, 6.0),
            Penalty::Cluster(_) | Penalty::Fixed(_) | Penalty::None => (1e2 * curvature, 6.0),
        };
        let step = decades / (count.max(2) - 1) as f64;
        Ok((0..count).map(|at| largest * 10_f64.powf(-step * at as f64)).collect())
    }
}
