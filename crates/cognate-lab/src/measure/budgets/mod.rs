//! `cargo xtask budgets`: learners in fixed memory on the paper's data: how fast they are (`speed`), how much memory they
//! take (`memory`), and what a smaller budget costs (`curve`). Table 1 of MB12 is `cognate lab run mb12-table1`.
//!
//! What is promised is in docs/budgets.md; exits 1 when a promise is broken.

mod curve;
mod memory;
mod speed;

use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use cognate::run::{Observer, Progress, RoundReport, RunOptions};
use cognate::stream::Memory;
use cognate::{Metrics, Model, RunConfig, Tasks};
use serde_json::{Value, json};

use crate::measure::{page, root, sets};

/// What is measured.
#[derive(clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Options {
    /// Folder of the data sets
    #[arg(long, value_name = "DIR", default_value = "../shared/data")]
    data: PathBuf,
    /// Only sets whose name contains this: spam_a, school, sentiment
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Shuffles of every set
    #[arg(long, value_name = "N", default_value_t = 3)]
    seeds: u64,
    /// Measure the speed, beside scikit-learn and scipy
    #[arg(long)]
    speed: bool,
    /// Measure peak memory over a million rounds
    #[arg(long)]
    memory: bool,
    /// Measure error against budget
    #[arg(long)]
    curve: bool,
    /// Rounds of the speed measurement, in each of which all run once
    #[arg(long, value_name = "N", default_value_t = 15)]
    runs: usize,
    /// Put what was measured into docs/budgets.md
    #[arg(long)]
    write: bool,
}

const LEARNERS: [&str; 4] =
    ["budget-random", "budget-forgetron", "budget-projectron", "budget-shared-projectron"];

/// A set and its kernel, as in `cognate lab run mb12-table1`.
struct Set {
    name: &'static str,
    kernel: &'static str,
}

const SETS: [Set; 3] = [
    Set {
        name: "spam_a",
        kernel: r#"{"polynomial": {"degree": 3, "gamma": 1, "coef0": 1, "normalize": true}}"#,
    },
    Set { name: "school", kernel: r#"{"gaussian": {"gamma": 1}}"# },
    Set {
        name: "sentiment",
        kernel: r#"{"polynomial": {"degree": 4, "gamma": 1, "coef0": 1, "normalize": true}}"#,
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
    ensure!(
        options.speed || options.memory || options.curve,
        "say what to measure: --speed, --memory, --curve"
    );
    let speed = !options.speed || speed::run(options)?;
    let memory = !options.memory || memory::run(options)?;
    let curve = !options.curve || curve::run(options)?;
    Ok(speed && memory && curve)
}

/// Puts a part into the page if asked to.
fn publish(options: &Options, name: &str, text: &str) -> Result<()> {
    if options.write {
        page::publish(&root().join("docs/budgets.md"), name, text)?;
    }
    Ok(())
}

/// The Perceptrons of whose kept examples the budgets are shares.
fn independent(kernel: &Value) -> Value {
    json!({"kernel-perceptron": {"interaction": "independent", "kernel": kernel}})
}

/// A budget that is a share of this many examples.
fn share_of(examples: u64, share: f64) -> u64 {
    ((share * examples as f64).round() as u64).max(1)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Counts mistakes.
#[derive(Default)]
struct Counts {
    mistakes: u64,
}

impl Observer for Counts {
    fn observe(&mut self, report: &RoundReport, _: &Tasks, _: &Metrics) {
        self.mistakes += u64::from(report.mistake);
    }

    fn batch_done(&mut self, _: Progress, _: &Model) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// One pass.
fn counts(learner: &Value, tasks: usize, mut stream: Memory) -> Result<Counts> {
    let config: RunConfig = serde_json::from_value(json!({ "tasks": tasks, "learner": learner }))?;
    let (mut model, mut counts) = (Model::new(&config)?, Counts::default());
    model.learn(&mut stream, &RunOptions::default(), &mut counts)?;
    Ok(counts)
}
