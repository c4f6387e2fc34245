//! `cargo xtask strengths`: does b = "auto" keep its promise on real data?
//!
//! Every classification set, unit rows, shuffled by five seeds, learnt with b in {0, 1, 4, 16, K} and with "auto". The
//! promise: mistakes of "auto" within 3 % of those of the best fixed b on every set, and fewer than those of
//! independent learners on the sets where sharing pays. Exits 1 when it is broken.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use cognate::example::Example;
use cognate::run::{self, RunOptions};
use cognate::stream::{Input, Memory, Order, Reader, ReaderOptions};
use cognate::{Model, RunConfig, Tasks};
use serde_json::json;

/// What is measured.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Folder of the data sets
    #[arg(long, value_name = "DIR", default_value = "../shared/data")]
    data: PathBuf,
    /// Only sets whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
}

/// Files below the data folder, with the file of other labels that they are also learnt with.
const SETS: [(&str, Option<&str>); 14] = [
    ("school/school", None),
    ("sentiment/sentiment", None),
    ("spam_a/spam_a", None),
    ("spam_b/spam_b", None),
    ("rcv1/rcv1", Some("rcv1/rcv1.labels_D1-D8.tsv.gz")),
    ("news20/news20", Some("news20/news20_near.labels.tsv.gz")),
    ("news20/news20_test", None),
    ("sentiment16/sentiment16", None),
    ("sentiment16/sentiment16_test", None),
    ("tdt2/tdt2", None),
    ("mhc/mhc", None),
    ("mhc/mhc_onehot", None),
    ("movielens/movielens", None),
    ("scenes15/scenes15", None),
];

/// Where sharing pays, so that "auto" must beat independent learners.
const SHARING_PAYS: [&str; 4] = ["school", "spam_b", "sentiment", "sentiment16"];

const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;

/// How far "auto" may be above the best fixed b.
const TOLERANCE: f64 = 0.03;

/// Runs the command.
pub(crate) fn run(options: &Options) -> Result<bool> {
    println!("Mistakes in %, unit rows, mean of {} shuffles.\n", SEEDS.count());
    println!("| set | K | n | b = 0 | 1 | 4 | 16 | K | auto | against the best | |");
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    let mut kept = true;
    let mut rows = 0;
    for (path, labels) in SETS {
        let name = path.rsplit('/').next().unwrap_or(path);
        if !name.contains(&options.only) {
            continue;
        }
        let stream = load(&options.data.join(format!("{path}.svm.gz")))?;
        for (name, stream) in variants(name, stream, labels, &options.data)? {
            kept &= row(&name, &stream)?;
            rows += 1;
        }
    }
    if rows == 0 {
        bail!("--only {}: no set has this in its name", options.only);
    }
    println!("\n{}", if kept { "The promise is kept." } else { "The promise is broken." });
    Ok(kept)
}

fn load(path: &Path) -> Result<Memory> {
    let options: RunConfig = serde_json::from_value(json!({ "stream": { "normalize": "l2" } }))?;
    let options = ReaderOptions { preprocess: options.stream.preprocess(), ..ReaderOptions::default() };
    let mut reader = Reader::new(vec![Input::File(path.to_owned())], Tasks::open(), options);
    Memory::load(&mut reader, &Tasks::open()).with_context(|| path.display().to_string())
}

/// The stream with its own labels and with those of other files: one more label a column, or a label and a task.
fn variants(name: &str, stream: Memory, labels: Option<&str>, data: &Path) -> Result<Vec<(String, Memory)>> {
    let Some(path) = labels else { return Ok(vec![(name.to_owned(), stream)]) };
    let bytes = std::process::Command::new("gzip").arg("-dc").arg(data.join(path)).output();
    let text = String::from_utf8(bytes.context("gzip")?.stdout)?;
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    if rows.len() != stream.len() {
        bail!("{path}: {} lines for {} examples", rows.len(), stream.len());
    }
    let relabelled = |name: String, task_column: Option<usize>, label_column: usize| -> Result<_> {
        let mut other = Memory::new();
        for ((task, example), row) in stream.examples().zip(&rows) {
            let label: f64 = row[label_column].parse().with_context(|| path.to_owned())?;
            other.push(task_column.map_or(task, |column| row[column]), Example { label, ..example });
        }
        Ok((name, other))
    };
    if name == "rcv1" {
        return (0..8).map(|column| relabelled(format!("{name} D{}", column + 1), None, column)).collect();
    }
    let near = relabelled(format!("{name} near"), Some(1), 0)?;
    Ok(vec![(name.to_owned(), stream), near])
}

/// Measures a set and prints its row; whether it keeps the promise.
fn row(name: &str, stream: &Memory) -> Result<bool> {
    let mut tasks: Vec<&str> = stream.examples().map(|(task, _)| task).collect();
    tasks.sort_unstable();
    tasks.dedup();
    let strengths = [json!(0), json!(1), json!(4), json!(16), json!(tasks.len()), json!("auto")];
    let errors = strengths.iter().map(|b| error(stream, b)).collect::<Result<Vec<f64>>>()?;
    let (auto, fixed) = (errors[5], &errors[..5]);
    let best = fixed.iter().copied().fold(f64::INFINITY, f64::min);
    let (gap, pays) = (auto / best - 1.0, SHARING_PAYS.contains(&name));
    let kept = gap <= TOLERANCE && !(pays && auto >= fixed[0]);
    let shown: Vec<_> = errors.iter().map(|error| format!("{:.2}", 100.0 * error)).collect();
    println!(
        "| {name} | {} | {} | {} | {:+.1} % | {} |",
        tasks.len(),
        stream.len(),
        shown.join(" | "),
        100.0 * gap,
        if kept { "" } else { "BROKEN" },
    );
    Ok(kept)
}

/// Mean share of mistakes over the shuffles.
fn error(stream: &Memory, b: &serde_json::Value) -> Result<f64> {
    let config = json!({ "learner": { "perceptron": { "interaction": { "coupled": { "b": b } } } } });
    let config: RunConfig = serde_json::from_value(config)?;
    let mut sum = 0.0;
    for seed in SEEDS {
        let mut model = Model::new(&config)?;
        let mut shuffled = stream.clone().ordered(Order::Shuffle, seed, false);
        run::learn(&mut model, &mut shuffled, &RunOptions::default(), &mut ())?;
        sum += model.metrics().total().error();
    }
    Ok(sum / SEEDS.count() as f64)
}
