//! `cargo xtask budgets`: what learners in fixed memory do on the paper's data. Without a flag, Table 1 of MB12; else how
//! fast they are (`speed`), what memory they take (`memory`), and what a smaller budget costs (`curve`).
//!
//! What is promised is in docs/budgets.md; exits 1 when a promise is broken.

mod curve;
mod memory;
mod speed;
mod table;

use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::{Context, Result};
use cognate::run::{self, Observer, Progress, RoundReport, RunOptions};
use cognate::stream::Memory;
use cognate::{Metrics, Model, RunConfig, Tasks};
use serde_json::{Value, json};

use crate::bench::page;
use crate::generated::root;
use crate::sets;

/// What is measured.
#[derive(clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Options {
    /// Folder of the data sets
    #[arg(long, value_name = "DIR", default_value = "../shared/data")]
    data: PathBuf,
    /// Only sets whose name contains this: spam_a, school, sentiment
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Shuffles of every set
    #[arg(long, value_name = "N", default_value_t = 3)]
    seeds: u64,
    /// Another kernel than the set's own, as JSON
    #[arg(long, value_name = "JSON")]
    kernel: Option<String>,
    /// Measure the speed instead, beside scikit-learn and scipy
    #[arg(long)]
    speed: bool,
    /// Measure peak memory over a million rounds instead
    #[arg(long)]
    memory: bool,
    /// Measure error against budget instead
    #[arg(long)]
    curve: bool,
    /// Rounds of the speed measurement in which everyone runs once
    #[arg(long, value_name = "N", default_value_t = 15)]
    runs: usize,
    /// Put what was measured into docs/budgets.md
    #[arg(long)]
    write: bool,
}

const LEARNERS: [&str; 4] =
    ["budget-random", "budget-forgetron", "budget-projectron", "budget-shared-projectron"];

/// A set: its kernel, F of independent Perceptrons in the paper, and the paper's cells, a row a learner, in the order of
/// shares and graphs.
struct Set {
    name: &'static str,
    kernel: &'static str,
    baseline: f64,
    cells: [[f64; 6]; 4],
}

const SETS: [Set; 3] = [
    Set {
        name: "spam_a",
        kernel: r#"{"polynomial": {"degree": 3, "gamma": 1, "coef0": 1, "normalize": true}}"#,
        baseline: 92.0,
        cells: [
            [84.8, 81.4, 78.0, 73.1, 72.8, 66.7],
            [85.1, 81.7, 77.9, 73.0, 72.3, 66.7],
            [91.6, 89.4, 87.8, 84.0, 83.4, 76.0],
            [91.6, 90.3, 89.3, 87.3, 85.4, 82.3],
        ],
    },
    Set {
        name: "school",
        kernel: r#"{"gaussian": {"gamma": 1}}"#,
        baseline: 39.1,
        cells: [
            [40.4, 35.0, 38.6, 30.9, 37.3, 26.0],
            [39.7, 35.1, 38.0, 31.5, 36.9, 25.9],
            [40.6, 37.4, 40.2, 32.6, 39.4, 23.8],
            [41.2, 39.1, 40.9, 39.0, 39.6, 37.9],
        ],
    },
    Set {
        name: "sentiment",
        kernel: r#"{"polynomial": {"degree": 4, "gamma": 1, "coef0": 1, "normalize": true}}"#,
        baseline: 71.5,
        cells: [
            [66.8, 63.3, 62.0, 58.3, 59.4, 56.1],
            [66.7, 63.4, 62.3, 58.8, 58.8, 56.5],
            [71.4, 67.7, 66.6, 63.6, 64.0, 60.6],
            [71.7, 68.5, 67.9, 64.9, 64.5, 61.7],
        ],
    },
];

impl Set {
    fn named(name: &str) -> Result<&'static Self> {
        SETS.iter().find(|set| set.name == name).with_context(|| format!("there is no set {name}"))
    }

    fn path(&self, options: &Options) -> PathBuf {
        options.data.join(format!("{0}/{0}.svm.gz", self.name))
    }

    fn load(&self, options: &Options) -> Result<Memory> {
        sets::load(&self.path(options))
    }

    fn kernel(&self) -> Result<Value> {
        Ok(serde_json::from_str(self.kernel)?)
    }
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> Result<bool> {
    if !(options.speed || options.memory || options.curve) {
        return table::run(options);
    }
    let speed = !options.speed || speed::run(options)?;
    let memory = !options.memory || memory::run(options)?;
    let curve = !options.curve || curve::run(options)?;
    Ok(speed && memory && curve)
}

/// Puts a part into the page if that is wanted.
fn publish(options: &Options, name: &str, text: &str) -> Result<()> {
    if options.write {
        page::publish(&root().join("docs/budgets.md"), name, text)?;
    }
    Ok(())
}

/// The Perceptrons whose kept examples budgets are shares of.
fn independent(kernel: &Value) -> Value {
    json!({"kernel-perceptron": {"interaction": "independent", "kernel": kernel}})
}

/// A budget that is a share of so many examples.
fn share_of(examples: u64, share: f64) -> u64 {
    ((share * examples as f64).round() as u64).max(1)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Counts what F is made of.
#[derive(Default)]
struct Counts {
    hits: u64,
    mistakes: u64,
}

impl Counts {
    fn f(&self) -> f64 {
        100.0 * 2.0 * self.hits as f64 / (2 * self.hits + self.mistakes).max(1) as f64
    }
}

impl Observer for Counts {
    fn observe(&mut self, report: &RoundReport, _: &Tasks, _: &Metrics) {
        self.mistakes += u64::from(report.mistake);
        self.hits += u64::from(!report.mistake && report.label > 0.0);
    }

    fn batch_done(&mut self, _: Progress, _: &Tasks, _: &Metrics) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// One pass: what F is made of.
fn counts(learner: &Value, tasks: usize, mut stream: Memory) -> Result<Counts> {
    let config: RunConfig = serde_json::from_value(json!({ "tasks": tasks, "learner": learner }))?;
    let (mut model, mut counts) = (Model::new(&config)?, Counts::default());
    run::learn(&mut model, &mut stream, &RunOptions::default(), &mut counts)?;
    Ok(counts)
}
