//! The classification sets of `../shared/data`: unit rows, in memory.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use cognate::Example;
use cognate::run::{Observer, RunOptions};
use cognate::stream::{Input, Memory, Order, ReadOptions};
use cognate::{Model, RunConfig};
use serde_json::{Value, json};

use crate::data::uncompressed;

/// Which sets.
#[derive(clap::Args)]
pub struct Options {
    /// Folder of the data sets
    #[arg(long, value_name = "DIR", default_value = "../shared/data")]
    pub(crate) data: PathBuf,
    /// Only sets whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) only: String,
}

/// Files below the data folder, each with the file of other labels with which it is learnt too.
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

/// Visits the chosen sets, one after the other.
pub(crate) fn for_each(
    options: &Options,
    mut measure: impl FnMut(&str, &Memory) -> Result<()>,
) -> Result<()> {
    let mut found = false;
    for (path, labels) in SETS {
        let name = path.rsplit('/').next().unwrap_or(path);
        if !name.contains(&options.only) {
            continue;
        }
        let stream = load(&options.data.join(format!("{path}.svm.gz")))?;
        for (name, stream) in variants(name, stream, labels, &options.data)? {
            measure(&name, &stream)?;
            found = true;
        }
    }
    if !found {
        bail!("--only {}: no set has this in its name", options.only);
    }
    Ok(())
}

/// The number of tasks of a stream.
pub(crate) fn task_count(stream: &Memory) -> usize {
    let mut tasks: Vec<&str> = stream.examples().map(|(task, _)| task).collect();
    tasks.sort_unstable();
    tasks.dedup();
    tasks.len()
}

/// A file with its rows scaled to length 1.
pub(crate) fn load(path: &Path) -> Result<Memory> {
    let config: RunConfig = serde_json::from_value(json!({ "stream": { "normalize": "l2" } }))?;
    let reader = config.reader(vec![Input::File(path.to_owned())], ReadOptions::default())?;
    reader.into_memory().with_context(|| path.display().to_string())
}

/// The stream with its own labels, and with those of the other file: one label per column, or a label and a task.
fn variants(name: &str, stream: Memory, labels: Option<&str>, data: &Path) -> Result<Vec<(String, Memory)>> {
    let Some(path) = labels else { return Ok(vec![(name.to_owned(), stream)]) };
    let text = uncompressed(&data.join(path))?;
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

/// Mean share of mistakes over shuffles with the seeds 1 to `seeds`.
pub(crate) fn error(stream: &Memory, learner: &Value, seeds: u64) -> Result<f64> {
    let mut sum = 0.0;
    for seed in 1..=seeds {
        sum +=
            run_once(learner, stream.clone().ordered(Order::Shuffle, seed, false))?.metrics().total().error();
    }
    Ok(sum / seeds as f64)
}

/// The model of a learner after one pass.
pub(crate) fn run_once(learner: &Value, stream: Memory) -> Result<Model> {
    run_observed(learner, stream, &mut ())
}

/// The same, with someone who sees every example.
pub(crate) fn run_observed(learner: &Value, stream: Memory, observer: &mut dyn Observer) -> Result<Model> {
    let mut config: RunConfig = serde_json::from_value(json!({ "learner": learner }))?;
    config.learner.set_rounds(stream.len() as u64);
    let mut model = Model::new(&config)?;
    let mut stream = stream.numbered_as(model.tasks());
    model.learn(&mut stream, &RunOptions::default(), observer)?;
    Ok(model)
}
