//! Explained variance on school. CS15's own tables are `cognate lab run cs15-table1` and `cs15-table2`.

use std::fmt::Write as _;
use std::num::NonZeroUsize;

use anyhow::Result;
use cognate::algorithms::Convex;
use rand::seq::SliceRandom;
use serde_json::{Value, json};

use super::{Measured, Options};
use crate::fitting::{
    By, Line, Method, Search, Tuned, examples, generator, margin, methods, read, standardise, tuned,
};
use crate::statistics::{deviation, mean};

/// Explained variance on school that the best penalty must reach, with 75 % and with 25 % for training.
const SCHOOL: [(f64, f64); 2] = [(0.75, 0.379), (0.25, 0.360)];

/// Values of the constant feature that stands for the intercept where intercepts are penalised; cross-validation chooses
/// one. The larger the value, the less an intercept costs.
const CONSTANTS: [f64; 2] = [1.0, 4.0];
/// The column of school that is constant.
const CONSTANT: usize = 27;

/// The penalties on school: the paper's, given structures, and both with penalised intercepts.
fn school_methods() -> Vec<Method> {
    let variance = |b: f64| json!({ "fixed": { "interaction": { "coupled": { "b": b } } } });
    let cluster = |clusters: u32| json!({ "cluster": { "clusters": clusters, "mean": 0.01, "between": 1.0, "within": 1000.0 } });
    let all = |penalties: Vec<Value>, intercept: bool| -> Vec<Value> {
        penalties.into_iter().map(|penalty| json!({ "penalty": penalty, "intercept": intercept })).collect()
    };
    let variances = || [100.0, 10_000.0].map(variance).to_vec();
    let clusters = || [2, 4].map(cluster).to_vec();
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
    let mut pooled = vec![Vec::new(); SCHOOL.len()];
    for draw in 0..options.draws {
        for (column, (share, _)) in SCHOOL.iter().enumerate() {
            let mut lines = read(&options.data.join("school/school_real.svm.gz"))?;
            let (train, test) = school_split(&lines, *share, draw + 1);
            standardise_numbers(&mut lines, &train);
            let search = Search {
                lambdas: 13,
                by: By::Explained,
                seed: draw + 1,
                threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
                go_on: &|| true,
            };
            pooled[column].push(pooled_ridge(&lines, &train, &test, &search)?);
            for (row, method) in methods.iter().enumerate() {
                let free = method.candidates[0]["intercept"] != json!(false);
                let constants = if free { &CONSTANTS[..1] } else { &CONSTANTS[..] };
                let mut best: Option<(Tuned, f64)> = None;
                for constant in constants {
                    lines.iter_mut().for_each(|line| line.x[CONSTANT] = *constant);
                    let chosen: Vec<(usize, usize, f64)> =
                        train.iter().map(|at| (*at, lines[*at].task, lines[*at].label)).collect();
                    let tuned = tuned(method, &examples(&lines, &chosen, 139)?, &search)?;
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
    let _ = writeln!(
        text,
        "| pooled ridge, one dummy per school | {:.3} ± {:.3} | {:.3} ± {:.3} |",
        mean(&pooled[0]),
        deviation(&pooled[0]),
        mean(&pooled[1]),
        deviation(&pooled[1])
    );
    let mut broken = Vec::new();
    for (column, (share, least)) in SCHOOL.iter().enumerate() {
        let best = found.iter().map(|row| mean(&row[column])).fold(f64::MIN, f64::max);
        let pooled = mean(&pooled[column]);
        if best < *least {
            broken.push(format!("at {share} the best penalty explains {best:.3}, less than {least}"));
        }
        if best < pooled {
            broken
                .push(format!("at {share} the best penalty explains {best:.3}, a pooled ridge {pooled:.3}"));
        }
    }
    Ok(Measured { text, broken })
}

/// What a single ridge regression explains, with one more feature per school that marks its pupils.
fn pooled_ridge(lines: &[Line], train: &[usize], test: &[usize], search: &Search<'_>) -> Result<f64> {
    let with_dummy = |line: &Line| {
        let mut x = line.x.clone();
        x.extend((0..139).map(|task| f64::from(u8::from(task == line.task))));
        Line { task: 0, label: line.label, x }
    };
    let lines: Vec<Line> = lines.iter().map(with_dummy).collect();
    let chosen: Vec<(usize, usize, f64)> = train.iter().map(|at| (*at, 0, lines[*at].label)).collect();
    let method = Method { name: "pooled ridge", candidates: vec![json!({ "penalty": "none" })] };
    let tuned = tuned(&method, &examples(&lines, &chosen, 1)?, search)?;
    Ok(explained(&lines, test, &tuned.learner))
}

/// The columns of school that are numbers. The others are yes or no, and some are rarely yes: scaled to the variance of
/// the rest, their weights would cost almost nothing.
const NUMBERS: [usize; 2] = [3, 4];

/// Scales the numbers to mean 0 and deviation 1 over the fitted lines.
fn standardise_numbers(lines: &mut [Line], fitted: &[usize]) {
    let mut numbers: Vec<Line> = lines
        .iter()
        .map(|line| Line {
            x: NUMBERS.map(|column| line.x[column]).to_vec(),
            task: line.task,
            label: line.label,
        })
        .collect();
    standardise(&mut numbers, fitted);
    for (line, number) in lines.iter_mut().zip(numbers) {
        NUMBERS.iter().zip(number.x).for_each(|(column, value)| line.x[*column] = value);
    }
}

/// A share of every school's pupils for fitting, and the rest.
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

/// The explained share of the variance of all labels.
fn explained(lines: &[Line], test: &[usize], learner: &Convex) -> f64 {
    let labels: Vec<f64> = test.iter().map(|at| lines[*at].label).collect();
    let center = mean(&labels);
    let error = |at: &usize| (lines[*at].label - margin(learner, &lines[*at], lines[*at].task)).powi(2);
    1.0 - test.iter().map(error).sum::<f64>()
        / labels.iter().map(|label| (label - center).powi(2)).sum::<f64>()
}
