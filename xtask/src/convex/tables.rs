//! Tables 1 and 2 of CS15, and explained variance on school.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::Path;

use anyhow::{Context, Result};
use cognate::algorithms::{Convex, ConvexConfig};
use cognate::batch::{Examples, FitOptions, Fitter, Selection, fit, folds, select};
use cognate::stream::{Input, Labels, Memory, Reader, ReaderOptions};
use cognate::{Example, Predict, SparseView, TaskId, Tasks};
use rand::seq::SliceRandom;
use serde_json::{Value, json};

use super::{Measured, Options};

/// A line of a file.
struct Line {
    task: usize,
    label: f64,
    x: Vec<f64>,
}

fn read(path: &Path) -> Result<Vec<Line>> {
    let options = ReaderOptions { labels: Labels::Real, ..ReaderOptions::default() };
    let mut reader = Reader::new(vec![Input::File(path.to_owned())], Tasks::open(), options);
    let memory = Memory::load(&mut reader, &Tasks::open()).with_context(|| path.display().to_string())?;
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

/// A generator of draws: not for results, only for which examples are drawn.
pub(super) fn generator(seed: u64) -> impl rand::Rng {
    cognate::rng::generator(seed, 7)
}

/// Scales features to mean 0 and variance 1 over the lines that are fitted; those that are constant stay.
fn standardise(lines: &mut [Line], fitted: &[usize]) {
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

/// Examples of some (line, task, label), tasks by number.
fn examples(lines: &[Line], chosen: &[(usize, usize, f64)], tasks: usize) -> Result<Examples> {
    let mut memory = Memory::new();
    for (at, task, label) in chosen {
        let x = &lines[*at].x;
        let indices: Vec<u32> = (0..x.len() as u32).filter(|at| x[*at as usize] != 0.0).collect();
        let values: Vec<f64> = indices.iter().map(|at| x[*at as usize]).collect();
        let features = SparseView::try_new(&indices, &values)?;
        memory.push(&task.to_string(), Example { task: TaskId(0), features, label: *label });
    }
    let names: Vec<String> = (0..tasks).map(|task| task.to_string()).collect();
    let named = Tasks::named(names.iter().map(String::as_str))
        .map_err(|name| anyhow::anyhow!("task {name} twice"))?;
    Ok(Examples::read(&mut memory.numbered_as(&named), &named)?)
}

/// A learner of a table: its name and its candidates beside lambda.
struct Method {
    name: &'static str,
    candidates: Vec<Value>,
}

fn methods(extra: Vec<Method>) -> Vec<Method> {
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

/// By which number candidates are compared.
#[derive(Clone, Copy, PartialEq)]
enum By {
    /// Each task's squared error in units of its variance.
    Error,
    /// The variance of all labels that is explained.
    Explained,
}

/// What was chosen: the learner, its parameters, and the error of cross-validation.
struct Tuned {
    learner: Convex,
    config: ConvexConfig,
    explained: f64,
}

/// Chooses parameters by cross-validation and fits.
fn tuned(method: &Method, train: &Examples, lambdas: usize, by: By, seed: u64) -> Result<Tuned> {
    let options = FitOptions::default();
    let mut candidates: Vec<ConvexConfig> = Vec::new();
    for parameters in &method.candidates {
        let config: ConvexConfig = serde_json::from_value(parameters.clone())?;
        let path = Fitter::new(&config, train, options.memory)?.path(&config, lambdas)?;
        candidates.extend(path.into_iter().map(|lambda| ConvexConfig { lambda, ..config.clone() }));
    }
    let splits = folds(train, 5, seed)?;
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let selection: Selection = select(&candidates, train, &splits, &options, threads, &|| true)?;
    let best = match by {
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

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0).max(1.0))
        .sqrt()
}

fn margin(learner: &Convex, line: &Line, task: usize) -> f64 {
    let indices: Vec<u32> = (0..line.x.len() as u32).collect();
    let features = SparseView::try_new(&indices, &line.x).expect("features are finite");
    learner.margin(TaskId(task as u32), features)
}

/// nMSE and nI in print, at 50, 100, 150 and 200 examples a task.
const TABLE_1: [(&str, [(f64, f64); 4]); 4] = [
    ("STL", [(0.2436, 0.0), (0.1723, 0.0), (0.1483, 0.0), (0.1312, 0.0)]),
    ("MTFL", [(0.2333, 0.0416), (0.1658, 0.0379), (0.1428, 0.0281), (0.1311, 0.0003)]),
    ("MTRL", [(0.2314, 0.0404), (0.1653, 0.0401), (0.1421, 0.0288), (0.1303, 0.0071)]),
    ("OKL", [(0.2284, 0.0630), (0.1604, 0.0641), (0.1410, 0.0350), (0.1301, 0.0087)]),
];

/// Table 1: normalised mean squared error of torques, and the improvement nI over single tasks.
pub(super) fn sarcos(options: &Options) -> Result<Measured> {
    let sizes = [50, 100, 150, 200];
    let lines = read(&options.data.join("sarcos/sarcos.svm.gz"))?;
    let (tasks, points) = (7, lines.len() / 7);
    let methods = methods(Vec::new());
    // nMSE of every method, size and draw.
    let mut errors = vec![vec![Vec::new(); sizes.len()]; methods.len()];
    for draw in 0..options.draws {
        for (column, size) in sizes.iter().enumerate() {
            let mut lines = read(&options.data.join("sarcos/sarcos.svm.gz"))?;
            let mut order: Vec<usize> = (0..points).collect();
            order.shuffle(&mut generator(draw + 1));
            // Every task draws examples of its own; what none has drawn is predicted.
            let drawn = |task: usize| (0..*size).map(move |at| task * size + at);
            let line = |point: usize, task: usize| task * points + point;
            let train: Vec<(usize, usize, f64)> = (0..tasks)
                .flat_map(|task| drawn(task).map(move |at| (at, task)))
                .map(|(at, task)| (line(order[at], task), task, lines[line(order[at], task)].label))
                .collect();
            let test = &order[tasks * size..];
            standardise(&mut lines, &train.iter().map(|(at, ..)| *at).collect::<Vec<_>>());
            let train = examples(&lines, &train, tasks)?;
            for (row, method) in methods.iter().enumerate() {
                let learner = tuned(method, &train, 11, By::Error, draw + 1)?.learner;
                let of_task = |task: usize| {
                    let labels: Vec<f64> = test.iter().map(|point| lines[line(*point, task)].label).collect();
                    let center = mean(&labels);
                    let error: f64 = test
                        .iter()
                        .map(|point| &lines[line(*point, task)])
                        .map(|line| (line.label - margin(&learner, line, task)).powi(2))
                        .sum();
                    error / labels.iter().map(|label| (label - center).powi(2)).sum::<f64>()
                };
                errors[row][column].push(mean(&(0..tasks).map(of_task).collect::<Vec<_>>()));
            }
            eprintln!("sarcos: draw {}, {size} examples a task", draw + 1);
        }
    }
    let mut text = "| | 50 nMSE | nI | 100 nMSE | nI | 150 nMSE | nI | 200 nMSE | nI |\n|---|---|---|---|---|---|---|---|---|\n".to_owned();
    for (row, (name, print)) in TABLE_1.iter().enumerate() {
        let _ = write!(text, "| {name} |");
        for column in 0..sizes.len() {
            let (single, ours) = (&errors[0][column], &errors[row][column]);
            let gains: Vec<f64> = single.iter().zip(ours).map(|(s, o)| (s - o) / (s * o).sqrt()).collect();
            let (nmse, ni) = print[column];
            let _ = write!(
                text,
                " {:.4} ± {:.4} ({nmse:.4}) | {:.4} ({ni:.4}) |",
                mean(ours),
                deviation(ours),
                mean(&gains)
            );
        }
        text.push('\n');
    }
    Ok(Measured { text, broken: Vec::new() })
}

/// Accuracies in print, at 50, 100 and 150 images a class.
const TABLE_2: [(&str, [f64; 3]); 4] = [
    ("STL", [72.23, 76.61, 79.23]),
    ("MTFL", [73.23, 77.24, 80.11]),
    ("MTRL", [73.13, 77.53, 80.21]),
    ("OKL", [72.25, 77.06, 80.03]),
];

/// Table 2: mean class accuracy of one against all.
pub(super) fn scenes15(options: &Options) -> Result<Measured> {
    let sizes = [50, 100, 150];
    let methods = methods(Vec::new());
    let mut found = vec![vec![Vec::new(); sizes.len()]; methods.len()];
    for draw in 0..options.draws {
        for (column, size) in sizes.iter().enumerate() {
            let mut lines = read(&options.data.join("scenes15/scenes15_images.svm.gz"))?;
            let class = |line: &Line| line.label as usize - 1;
            let mut order: Vec<usize> = (0..lines.len()).collect();
            order.shuffle(&mut generator(draw + 1));
            let mut counts = [0; 15];
            let (mut train, mut test) = (Vec::new(), Vec::new());
            for at in order {
                let class = class(&lines[at]);
                counts[class] += 1;
                if counts[class] <= *size { train.push(at) } else { test.push(at) }
            }
            standardise(&mut lines, &train);
            let against_all = |at: &usize| {
                let own = class(&lines[*at]);
                let at = *at;
                (0..15).map(move |task| (at, task, if task == own { 1.0 } else { -1.0 }))
            };
            let examples = examples(&lines, &train.iter().flat_map(against_all).collect::<Vec<_>>(), 15)?;
            for (row, method) in methods.iter().enumerate() {
                let learner = tuned(method, &examples, 11, By::Explained, draw + 1)?.learner;
                let mut hits = [(0.0, 0.0); 15];
                for at in &test {
                    let margins: Vec<f64> = (0..15).map(|task| margin(&learner, &lines[*at], task)).collect();
                    let best = (0..15).max_by(|a, b| margins[*a].total_cmp(&margins[*b])).unwrap_or(0);
                    let own = &mut hits[class(&lines[*at])];
                    *own = (own.0 + f64::from(u8::from(best == class(&lines[*at]))), own.1 + 1.0);
                }
                found[row][column].push(100.0 * mean(&hits.map(|(hits, all)| hits / all)));
            }
            eprintln!("scenes15: draw {}, {size} images a class", draw + 1);
        }
    }
    let mut text = "| | 50 | 100 | 150 |\n|---|---|---|---|\n".to_owned();
    for (row, (name, print)) in TABLE_2.iter().enumerate() {
        let cell = |column: usize| {
            let ours = &found[row][column];
            format!("{:.2} ± {:.2} ({:.2})", mean(ours), deviation(ours), print[column])
        };
        let _ = writeln!(text, "| {name} | {} |", (0..3).map(cell).collect::<Vec<_>>().join(" | "));
    }
    Ok(Measured { text, broken: Vec::new() })
}

/// Explained variance on school that the best penalty must reach, at 75 and at 25 % for training.
const SCHOOL: [(f64, f64); 2] = [(0.75, 0.379), (0.25, 0.360)];

/// Values of the constant feature that stands for the intercept where that is not free, one of which is chosen by
/// cross-validation: the larger, the less an intercept costs.
const CONSTANTS: [f64; 2] = [5.0, 20.0];
/// The column of school that is constant.
const CONSTANT: usize = 27;

/// The penalties on school: the table's own, a given structure, and both with intercepts that cost.
fn school_methods() -> Vec<Method> {
    let variance = |b: f64| json!({ "fixed": { "interaction": { "coupled": { "b": b } } } });
    let cluster =
        |within: f64| json!({ "cluster": { "clusters": 2, "mean": 0.01, "between": 1.0, "within": within } });
    let all = |penalties: Vec<Value>, intercept: bool| -> Vec<Value> {
        penalties.into_iter().map(|penalty| json!({ "penalty": penalty, "intercept": intercept })).collect()
    };
    let variances = || [100.0, 10_000.0].map(variance).to_vec();
    let clusters = || [1000.0].map(cluster).to_vec();
    methods(vec![
        Method { name: "variance", candidates: all(variances(), true) },
        Method { name: "cluster", candidates: all(clusters(), true) },
        Method {
            name: "MTFL, intercepts cost",
            candidates: all(vec![json!({ "schatten": { "p": 1 } })], false),
        },
        Method { name: "variance, intercepts cost", candidates: all(variances(), false) },
        Method { name: "cluster, intercepts cost", candidates: all(clusters(), false) },
    ])
}

/// Explained variance on school.
pub(super) fn school(options: &Options) -> Result<Measured> {
    let methods = school_methods();
    let mut found = vec![vec![Vec::new(); SCHOOL.len()]; methods.len()];
    for draw in 0..options.draws {
        for (column, (share, _)) in SCHOOL.iter().enumerate() {
            let mut lines = read(&options.data.join("school/school_real.svm.gz"))?;
            let (train, test) = school_split(&lines, *share, draw + 1);
            standardise(&mut lines, &train);
            for (row, method) in methods.iter().enumerate() {
                let free = method.candidates[0]["intercept"] != json!(false);
                let constants = if free { &CONSTANTS[..1] } else { &CONSTANTS[..] };
                let mut best: Option<(Tuned, f64)> = None;
                for constant in constants {
                    lines.iter_mut().for_each(|line| line.x[CONSTANT] = *constant);
                    let chosen: Vec<(usize, usize, f64)> =
                        train.iter().map(|at| (*at, lines[*at].task, lines[*at].label)).collect();
                    let tuned = tuned(method, &examples(&lines, &chosen, 139)?, 9, By::Explained, draw + 1)?;
                    if best.as_ref().is_none_or(|(best, _)| tuned.explained > best.explained) {
                        best = Some((tuned, *constant));
                    }
                }
                let (Tuned { learner, config, .. }, constant) = best.expect("there is a constant");
                lines.iter_mut().for_each(|line| line.x[CONSTANT] = constant);
                let explained = explained(&lines, &test, &learner);
                found[row][column].push(explained);
                let (lambda, penalty) = (config.lambda, json!(config.penalty));
                let name = method.name;
                eprintln!(
                    "school: draw {}, {share}: {name} {explained:.4}: {lambda:.2e} {penalty} {constant}",
                    draw + 1
                );
            }
        }
    }
    let mut text = "| | 75 % | 25 % |\n|---|---|---|\n".to_owned();
    for (row, method) in methods.iter().enumerate() {
        let cell = |column: usize| {
            let ours = &found[row][column];
            format!("{:.3} ± {:.3}", mean(ours), deviation(ours))
        };
        let _ = writeln!(text, "| {} | {} | {} |", method.name, cell(0), cell(1));
    }
    let mut broken = Vec::new();
    for (column, (share, least)) in SCHOOL.iter().enumerate() {
        let best = found.iter().map(|row| mean(&row[column])).fold(f64::MIN, f64::max);
        if best < *least {
            broken.push(format!("at {share} the best penalty explains {best:.3}, less than {least}"));
        }
    }
    Ok(Measured { text, broken })
}

/// A share of every school's pupils to be fitted, and the rest.
fn school_split(lines: &[Line], share: f64, seed: u64) -> (Vec<usize>, Vec<usize>) {
    let mut of_task: Vec<Vec<usize>> = vec![Vec::new(); 139];
    lines.iter().enumerate().for_each(|(at, line)| of_task[line.task].push(at));
    let (mut train, mut test) = (Vec::new(), Vec::new());
    let mut rng = generator(seed);
    for positions in &mut of_task {
        positions.shuffle(&mut rng);
        let fitted = (share * positions.len() as f64).round() as usize;
        train.extend(&positions[..fitted]);
        test.extend(&positions[fitted..]);
    }
    (train, test)
}

/// The share of the variance of all labels that is explained.
fn explained(lines: &[Line], test: &[usize], learner: &Convex) -> f64 {
    let labels: Vec<f64> = test.iter().map(|at| lines[*at].label).collect();
    let center = mean(&labels);
    let error = |at: &usize| (lines[*at].label - margin(learner, &lines[*at], lines[*at].task)).powi(2);
    1.0 - test.iter().map(error).sum::<f64>()
        / labels.iter().map(|label| (label - center).powi(2)).sum::<f64>()
}
