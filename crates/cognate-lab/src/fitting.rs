//! Fitting all examples at once with parameters chosen by cross-validation, for CS15's tables.

use std::num::NonZeroUsize;
use std::path::Path;

use anyhow::Context;
use cognate::algorithms::{Convex, ConvexConfig};
use cognate::fit::{Examples, FitOptions, Fitter, Selection, fit, folds, select};
use cognate::stream::{Input, Labels, Memory, ReadOptions};
use cognate::{Example, Predict, RunConfig, SparseView, TaskId, Tasks};
use serde_json::{Value, json};

/// A line of a file.
pub(crate) struct Line {
    #[cfg_attr(
        not(feature = "measure"),
        expect(dead_code, reason = "the papers have the tasks of CS15 side by side")
    )]
    pub(crate) task: usize,
    pub(crate) label: f64,
    pub(crate) x: Vec<f64>,
}

pub(crate) fn read(path: &Path) -> anyhow::Result<Vec<Line>> {
    let read = ReadOptions::default().labels(Labels::Real);
    let reader = RunConfig::default().reader(vec![Input::File(path.to_owned())], read)?;
    let memory = reader.into_memory().with_context(|| path.display().to_string())?;
    let features =
        memory.examples().filter_map(|(_, example)| example.features.indices().last().copied()).max();
    let size = features.map_or(0, |last| last as usize + 1);
    let line = |(_, example): (&str, Example<'_>)| {
        let mut x = vec![0.0; size];
        example.features.iter().for_each(|(feature, value)| x[feature as usize] = value);
        Line { task: example.task.index(), label: example.label, x }
    };
    Ok(memory.examples().map(line).collect())
}

/// A generator that decides only which examples are drawn.
pub(crate) fn generator(seed: u64) -> impl rand::Rng {
    cognate::internal::generator(seed, 7)
}

/// Scales features to mean 0 and variance 1 over the fitted lines; constant ones stay as they are.
pub(crate) fn standardise(lines: &mut [Line], fitted: &[usize]) {
    let size = lines.first().map_or(0, |line| line.x.len());
    for feature in 0..size {
        let values = || fitted.iter().map(|at| lines[*at].x[feature]);
        let mean = values().sum::<f64>() / fitted.len() as f64;
        let deviation = (values().map(|x| (x - mean).powi(2)).sum::<f64>() / fitted.len() as f64).sqrt();
        if deviation > 0.0 {
            lines.iter_mut().for_each(|line| line.x[feature] = (line.x[feature] - mean) / deviation);
        }
    }
}

/// Scales labels to mean 0 and variance 1 over the fitted lines.
pub(crate) fn standardise_labels(lines: &mut [Line], fitted: &[usize]) {
    let labels: Vec<f64> = fitted.iter().map(|at| lines[*at].label).collect();
    let mean = labels.iter().sum::<f64>() / labels.len() as f64;
    let variance = labels.iter().map(|label| (label - mean).powi(2)).sum::<f64>() / labels.len() as f64;
    let deviation = if variance > 0.0 { variance.sqrt() } else { 1.0 };
    lines.iter_mut().for_each(|line| line.label = (line.label - mean) / deviation);
}

/// Examples made from (line, task, label), with tasks numbered.
pub(crate) fn examples(
    lines: &[Line],
    chosen: &[(usize, usize, f64)],
    tasks: usize,
) -> anyhow::Result<Examples> {
    let mut memory = Memory::new();
    for (at, task, label) in chosen {
        let x = &lines[*at].x;
        let indices: Vec<u32> = (0..x.len() as u32).filter(|at| x[*at as usize] != 0.0).collect();
        let values: Vec<f64> = indices.iter().map(|at| x[*at as usize]).collect();
        let features = SparseView::try_new(&indices, &values)?;
        memory.push(&task.to_string(), Example::new(TaskId(0), features, *label));
    }
    let names: Vec<String> = (0..tasks).map(|task| task.to_string()).collect();
    let named = Tasks::named(names.iter().map(String::as_str))
        .map_err(|name| anyhow::anyhow!("task {name} twice"))?;
    Ok(Examples::read(&mut memory.numbered_as(&named), &named)?)
}

/// A learner in a table: its name, and its candidate parameters other than lambda.
pub(crate) struct Method {
    pub(crate) name: &'static str,
    pub(crate) candidates: Vec<Value>,
}

pub(crate) fn methods(extra: Vec<Method>) -> Vec<Method> {
    let mut all = vec![
        Method { name: "STL", candidates: vec![json!({ "penalty": "none" })] },
        Method { name: "MTFL", candidates: vec![json!({ "penalty": { "schatten": { "p": 1 } } })] },
        Method {
            name: "MTRL",
            candidates: [0.0, 1.0, 10.0]
                .iter()
                .map(|ridge| json!({ "penalty": "trace-one", "ridge": ridge }))
                .collect(),
        },
        Method { name: "OKL", candidates: vec![json!({ "penalty": { "schatten": { "p": 2 } } })] },
    ];
    all.extend(extra);
    all
}

/// The number by which candidates are compared.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum By {
    /// Each task's squared error in units of its variance.
    Error,
    /// The explained share of the variance of all labels.
    Explained,
}

/// What was chosen: the learner, its parameters, and the error of cross-validation.
pub(crate) struct Tuned {
    pub(crate) learner: Convex,
    pub(crate) config: ConvexConfig,
    #[cfg_attr(
        not(feature = "measure"),
        expect(dead_code, reason = "the papers choose within a method only")
    )]
    pub(crate) explained: f64,
}

/// How parameters are chosen.
pub(crate) struct Search<'a> {
    /// How many values of lambda are tried.
    pub(crate) lambdas: usize,
    pub(crate) by: By,
    /// The seed of the folds.
    pub(crate) seed: u64,
    pub(crate) threads: NonZeroUsize,
    /// Asked now and then; false stops the search.
    pub(crate) go_on: &'a (dyn Fn() -> bool + Sync),
}

/// Chooses parameters by cross-validation and fits.
pub(crate) fn tuned(method: &Method, train: &Examples, search: &Search<'_>) -> anyhow::Result<Tuned> {
    let options = FitOptions::default();
    let mut candidates: Vec<ConvexConfig> = Vec::new();
    for parameters in &method.candidates {
        let config: ConvexConfig = serde_json::from_value(parameters.clone())?;
        let path = Fitter::new(&config, train, options.memory)?.path(&config, search.lambdas)?;
        candidates.extend(path.into_iter().map(|lambda| ConvexConfig { lambda, ..config.clone() }));
    }
    let splits = folds(train, 5, search.seed)?;
    let selection: Selection = select(&candidates, train, &splits, &options, search.threads, search.go_on)?;
    let best = match search.by {
        By::Error => selection.best,
        By::Explained => {
            let explained = |at: &usize| selection.candidates[*at].explained;
            (0..candidates.len()).max_by(|a, b| explained(a).total_cmp(&explained(b))).unwrap_or(0)
        }
    };
    let config = candidates.swap_remove(best);
    let fitted = fit(&config, train, &options)?;
    let explained = selection.candidates[best].explained;
    Ok(Tuned { learner: Convex::from_fit(&config, train, &fitted), config, explained })
}

pub(crate) fn margin(learner: &Convex, line: &Line, task: usize) -> f64 {
    let indices: Vec<u32> = (0..line.x.len() as u32).collect();
    let features = SparseView::try_new(&indices, &line.x).expect("features are finite");
    learner.margin(TaskId(task as u32), features)
}
