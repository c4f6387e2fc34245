//! `cargo xtask labels`: what do labels buy that are asked for by margin, and by uncertainty?
//!
//! `adaptive` on unit rows, shuffled with five seeds. The promise: for every b of `margin` there is a b of `uncertainty` that errs no
//! more and asks for no more labels. Exits 1 when it is broken.

use std::path::PathBuf;

use anyhow::Result;
use cognate::run::RunOptions;
use cognate::stream::{Memory, Order};
use cognate::{Model, RunConfig};
use serde_json::{Value, json};

use crate::measure::sets::load;

/// Where the sets are.
#[derive(clap::Args)]
pub struct Options {
    /// Folder of the data sets
    #[arg(long, value_name = "DIR", default_value = "../shared/data")]
    data: PathBuf,
}

const SETS: [&str; 2] = ["spam_b", "sentiment16"];
const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;
const MARGINS: [f64; 4] = [0.1, 0.3, 1.0, 3.0];
const UNCERTAINTIES: [f64; 9] = [0.05, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.8];

/// Mean labels and error of a query.
struct Bought {
    labels: f64,
    error: f64,
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let mut kept = true;
    println!("| set | query | b | labels | error |\n|---|---|---|---|---|");
    for set in SETS {
        let stream = load(&options.data.join(format!("{set}/{set}.svm.gz")))?;
        let curve = |name: &str, bs: &[f64]| -> Result<Vec<Bought>> {
            bs.iter().map(|b| measured(set, &stream, name, Some(*b))).collect()
        };
        let (by_margin, by_uncertainty) = (curve("margin", &MARGINS)?, curve("uncertainty", &UNCERTAINTIES)?);
        measured(set, &stream, "all", None)?;
        kept &= by_margin.iter().all(|margin| {
            by_uncertainty.iter().any(|own| own.labels <= margin.labels && own.error <= margin.error)
        });
    }
    println!("\n{}", if kept { "The promise is kept." } else { "The promise is broken." });
    Ok(kept)
}

/// Measures a query and prints its row.
fn measured(set: &str, stream: &Memory, name: &str, b: Option<f64>) -> Result<Bought> {
    let query = b.map_or_else(|| json!(name), |b| json!({ name: { "b": b } }));
    let (mut labels, mut error, mut runs) = (0.0, 0.0, 0.0);
    for seed in SEEDS {
        let total = *learnt(&query, stream, seed)?.metrics().total();
        (labels, error, runs) = (labels + total.queries as f64, error + total.error(), runs + 1.0);
    }
    let bought = Bought { labels: labels / runs, error: error / runs };
    let b = b.map_or_else(String::new, |b| b.to_string());
    println!("| {set} | `{name}` | {b} | {:.0} | {:.2} % |", bought.labels, 100.0 * bought.error);
    Ok(bought)
}

fn learnt(query: &Value, stream: &Memory, seed: u64) -> Result<Model> {
    let config: RunConfig = serde_json::from_value(json!({ "query": query, "stream": { "seed": seed } }))?;
    let mut model = Model::new(&config)?;
    let mut stream = stream.clone().ordered(Order::Shuffle, seed, false).numbered_as(model.tasks());
    model.learn(&mut stream, &RunOptions::default(), &mut ())?;
    Ok(model)
}
