//! CS15 figure 1: seconds of a fit as features and tasks grow.

use std::time::Instant;

use cognate::algorithms::ConvexConfig;
use cognate::fit::{Examples, FitOptions, Method as Solver, fit};
use cognate::stream::Memory;
use cognate::{Example, SparseView, TaskId, Tasks};
use rand::RngExt as _;
use serde_json::{Value, json};

use crate::findings::{Cell, Figure, Table};
use crate::fitting::generator;
use crate::parallel::Interrupted;
use crate::statistics::mean;
use crate::{Claim, Findings, Lab};
use cognate_plot::lines::{LineChart, Series};
use cognate_plot::scale::Unit;

/// Points per task, noise: section 5.1.
const POINTS: usize = 30;
const NOISE: f64 = 0.1;
/// How close to the optimum a fit must come, as a share of it.
const CLOSE: f64 = 1e-4;

/// A nearly normal draw, by the central limit theorem: close enough for inputs.
fn normal(rng: &mut impl rand::Rng) -> f64 {
    (0..12).map(|_| rng.random_range(-0.5..0.5)).sum()
}

/// Tasks with inputs of their own, and linear labels.
fn made_up(tasks: usize, features: usize, seed: u64) -> anyhow::Result<Examples> {
    let mut rng = generator(seed);
    let weights: Vec<f64> = (0..tasks * features).map(|_| normal(&mut rng)).collect();
    let mut memory = Memory::new();
    let indices: Vec<u32> = (0..features as u32).collect();
    for task in 0..tasks {
        for _ in 0..POINTS {
            let x: Vec<f64> = (0..features).map(|_| normal(&mut rng)).collect();
            let own = &weights[task * features..(task + 1) * features];
            let label = x.iter().zip(own).map(|(x, w)| x * w).sum::<f64>() + NOISE * normal(&mut rng);
            let features = SparseView::try_new(&indices, &x)?;
            memory.push(&task.to_string(), Example::new(TaskId(0), features, label));
        }
    }
    Ok(Examples::read(&mut memory, &Tasks::open())?)
}

/// A way to fit.
struct Way {
    name: &'static str,
    penalty: Value,
    kernel: Value,
    method: Solver,
}

impl Way {
    fn is_dual(&self) -> bool {
        self.name.ends_with("dual")
    }

    /// Seconds, and how far above the minimum the fit may have ended, as a share of it.
    fn time(&self, tasks: usize, features: usize, seed: u64) -> anyhow::Result<(f64, f64)> {
        let config: ConvexConfig = serde_json::from_value(json!({
            "penalty": self.penalty, "kernel": self.kernel, "lambda": 25.0, "intercept": false, "tolerance": CLOSE,
            "max-iterations": 400,
        }))?;
        let options = FitOptions { method: Some(self.method), ..FitOptions::default() };
        let examples = made_up(tasks, features, seed)?;
        let start = Instant::now();
        let status = fit(&config, &examples, &options)?.status;
        Ok((start.elapsed().as_secs_f64(), status.gap / status.objective))
    }
}

fn ways() -> Vec<Way> {
    let feature_learning = json!({ "schatten": { "p": 1 } });
    let clusters = json!({ "cluster": { "clusters": 5, "mean": 1.0, "between": 1.0, "within": 10.0 } });
    // The linear kernel, known by its values only.
    let values = json!({ "polynomial": { "degree": 1, "gamma": 1.0, "coef0": 0.0 } });
    let way = |name, penalty: &Value, kernel: &Value, method| Way {
        name,
        penalty: penalty.clone(),
        kernel: kernel.clone(),
        method,
    };
    let plain = json!("linear");
    vec![
        way("MTFL, alternating, dual", &feature_learning, &values, Solver::Alternating),
        way("MTCL, alternating, dual", &clusters, &values, Solver::Alternating),
        way("MTFL, alternating, primal", &feature_learning, &plain, Solver::Alternating),
        way("MTCL, alternating, primal", &clusters, &plain, Solver::Alternating),
        way("MTFL, proximal, primal", &feature_learning, &plain, Solver::Proximal),
    ]
}

/// What was measured of one way: `[size][repetition]`.
struct Measured {
    way: Way,
    seconds: Vec<Vec<f64>>,
    gaps: Vec<Vec<f64>>,
}

impl Measured {
    /// How many times longer the largest size takes than the smallest.
    fn growth(&self) -> f64 {
        mean(&self.seconds[self.seconds.len() - 1]) / mean(&self.seconds[0])
    }

    fn widest_gap(&self) -> f64 {
        self.gaps.iter().flatten().copied().fold(0.0, f64::max)
    }
}

/// Times of all ways. One after the other: jobs side by side would disturb each other's times.
fn measure(lab: &Lab, sizes: &[usize], by_features: bool) -> anyhow::Result<Vec<Measured>> {
    let mut all = Vec::new();
    for way in ways() {
        // The n x n matrix takes long, and as long each time.
        let repetitions: u64 = if way.is_dual() { 1 } else { lab.choose(1, 3) };
        let (mut seconds, mut gaps) = (Vec::new(), Vec::new());
        for size in sizes {
            let fixed = fixed(lab);
            let (tasks, features) = if by_features { (fixed, *size) } else { (*size, fixed) };
            let (mut of_size, mut gaps_of_size) = (Vec::new(), Vec::new());
            for seed in 1..=repetitions {
                if lab.pool.asked() {
                    return Err(Interrupted.into());
                }
                let (time, gap) = way.time(tasks, features, seed)?;
                of_size.push(time);
                gaps_of_size.push(gap);
            }
            seconds.push(of_size);
            gaps.push(gaps_of_size);
        }
        all.push(Measured { way, seconds, gaps });
    }
    Ok(all)
}

/// How many tasks there are as features grow, and features as tasks grow.
fn fixed(lab: &Lab) -> usize {
    lab.choose(30, 100)
}

pub(super) fn figure1(lab: &Lab) -> anyhow::Result<Findings> {
    let sizes: &[usize] = lab.choose(&[5, 15, 25], &[5, 25, 50, 100, 150]);
    let fixed = fixed(lab);
    let mut findings = Findings::default();
    let mut measured = Vec::new();
    for (file, what, x_title, by_features) in [
        ("features", format!("{fixed} tasks, by features"), "features", true),
        ("tasks", format!("{fixed} features, by tasks"), "tasks", false),
    ] {
        let all = measure(lab, sizes, by_features)?;
        let columns: Vec<String> = sizes.iter().map(ToString::to_string).collect();
        let row = |of: &Measured| {
            (of.way.name.to_owned(), of.seconds.iter().map(|times| Cell::of(times, None, 3)).collect())
        };
        let gap_row = |of: &Measured| {
            let widest = |gaps: &Vec<f64>| gaps.iter().copied().fold(0.0, f64::max);
            let cells = of.gaps.iter().map(|gaps| Cell::number(1e4 * widest(gaps), None, 2));
            (of.way.name.to_owned(), cells.collect())
        };
        findings.tables.push(Table {
            title: format!("Seconds of a fit: {what}"),
            columns: columns.clone(),
            rows: all.iter().map(row).collect(),
        });
        findings.tables.push(Table {
            title: format!("Certified gap to the minimum, in {CLOSE:e} of the objective, widest: {what}"),
            columns,
            rows: all.iter().map(gap_row).collect(),
        });
        let points = |of: &Measured| {
            sizes.iter().zip(&of.seconds).map(|(size, times)| (*size as f64, mean(times))).collect()
        };
        let series = all.iter().map(|of| Series { name: of.way.name.to_owned(), points: points(of) });
        findings.figures.push(Figure {
            name: file.to_owned(),
            chart: LineChart {
                title: format!("Seconds of a fit: {what}"),
                x_title: x_title.to_owned(),
                y_title: "seconds".to_owned(),
                y_unit: Unit::Plain,
                series: series.collect(),
                ..LineChart::default()
            },
        });
        measured.push(all);
    }
    findings.claims = claims(&measured[0], &measured[1], sizes);
    if lab.quick {
        // Small fits beside other programs say little about time.
        findings.claims.retain(|claim| claim.text == MINIMUM);
    }
    Ok(findings)
}

/// The claim that has nothing to do with time.
const MINIMUM: &str = "all of them reach the same minimum";

/// How much longer "almost constant" may take.
const CONSTANT: f64 = 2.0;

fn claims(by_features: &[Measured], by_tasks: &[Measured], sizes: &[usize]) -> Vec<Claim> {
    let (first, last) = (sizes[0], sizes[sizes.len() - 1]);
    let mut constant = Claim::new(
        "with the tasks fixed alternating minimisation takes almost the same time whatever the number of features",
    );
    for of in by_features.iter().filter(|of| of.way.is_dual()) {
        let condition =
            format!("{}: {last} features take less than {CONSTANT} times as long as {first}", of.way.name);
        constant = constant.test(condition, of.growth() < CONSTANT, format!("{:.2} times", of.growth()));
    }
    let mut longer = Claim::new("with the features fixed everything takes longer the more tasks there are");
    for of in by_tasks {
        let condition = format!("{}: {last} tasks take longer than {first}", of.way.name);
        longer = longer.test(condition, of.growth() > 1.0, format!("{:.1} times", of.growth()));
    }
    let mut minimum = Claim::new(MINIMUM);
    for (what, all) in [("by features", by_features), ("by tasks", by_tasks)] {
        for of in all {
            let condition =
                format!("{}, {what}: no fit ends more than {CLOSE:e} of it above the minimum", of.way.name);
            minimum = minimum.test(condition, of.widest_gap() <= CLOSE, format!("{:.1e}", of.widest_gap()));
        }
    }
    vec![constant, longer, minimum]
}
