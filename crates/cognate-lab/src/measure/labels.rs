//! `cargo xtask labels`: what do labels buy that are asked for by margin, and by uncertainty?
//!
//! `adaptive` on unit rows, shuffled with five seeds. The promise: for every b of `margin` there is a b of `uncertainty` that errs no
//! more and asks for no more labels. Exits 1 when it is broken. `--write` puts the table into docs/uncertainty.md.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use cognate::run::RunOptions;
use cognate::stream::{Memory, Order};
use cognate::{Model, RunConfig};
use cognate_plot::numbers::count;
use serde_json::{Value, json};

use crate::measure::sets::load;
use crate::measure::{page, root};

/// Where the sets are.
#[derive(clap::Args)]
pub struct Options {
    /// Folder of the data sets
    #[arg(long, value_name = "DIR", default_value = "../shared/data")]
    data: PathBuf,
    /// Write docs/uncertainty.md
    #[arg(long)]
    write: bool,
}

/// With the b of `uncertainty`: reviews need finer ones, for there more b of `margin` are to be matched closely.
const SETS: [(&str, &[f64]); 2] = [
    ("spam_b", &[0.05, 0.1, 0.2, 0.3, 0.5, 1.0]),
    ("sentiment16", &[0.05, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.8, 1.0]),
];
const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;
const MARGINS: [f64; 4] = [0.1, 0.3, 1.0, 3.0];

/// Mean labels and error of a query.
struct Bought {
    labels: f64,
    error: f64,
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let (mut table, mut missed) =
        (String::from("| set | query | b | labels | error |\n|---|---|---|---|---|\n"), 0);
    let mut matched = String::new();
    for (set, uncertainties) in SETS {
        let stream = load(&options.data.join(format!("{set}/{set}.svm.gz")))?;
        let mut curve = |name: &str, bs: &[f64]| -> Result<Vec<Bought>> {
            bs.iter().map(|b| measured(&mut table, set, &stream, name, Some(*b))).collect()
        };
        let (by_margin, by_uncertainty) = (curve("margin", &MARGINS)?, curve("uncertainty", uncertainties)?);
        measured(&mut table, set, &stream, "all", None)?;
        let mut fewer = Vec::new();
        for margin in &by_margin {
            // Those of the least b that errs no more are the fewest.
            let enough = by_uncertainty.iter().find(|own| own.error <= margin.error);
            match enough.filter(|own| own.labels <= margin.labels) {
                Some(own) => fewer.push(format!("{} instead of {}", labels_of(own), labels_of(margin))),
                None => missed += 1,
            }
        }
        write!(matched, "{} on {set} {}", if matched.is_empty() { "" } else { ";" }, fewer.join(", "))?;
    }
    let kept = missed == 0;
    let verdict = if kept {
        "Each b of `margin` has one of `uncertainty` that errs no more and asks for no more labels:"
            .to_owned()
    } else {
        format!(
            "{missed} b of `margin` have none of `uncertainty` that errs no more and asks for no more labels; the others:"
        )
    };
    write!(table, "\n{verdict}{matched} labels.\n")?;
    println!(
        "\n{verdict}{matched} labels.\n{}",
        if kept { "The promise is kept." } else { "The promise is broken." }
    );
    if options.write {
        page::publish(&root().join("docs/uncertainty.md"), "labels", &table)?;
    }
    Ok(kept)
}

/// How many there were.
fn labels_of(bought: &Bought) -> String {
    count(bought.labels.round() as u64).replace(['\u{a0}', '\u{202f}'], " ")
}

/// Measures a query, prints its row and adds it to the table.
fn measured(table: &mut String, set: &str, stream: &Memory, name: &str, b: Option<f64>) -> Result<Bought> {
    let query = b.map_or_else(|| json!(name), |b| json!({ name: { "b": b } }));
    let (mut labels, mut error, mut runs) = (0.0, 0.0, 0.0);
    for seed in SEEDS {
        let total = *learnt(&query, stream, seed)?.metrics().total();
        (labels, error, runs) = (labels + total.queries as f64, error + total.error(), runs + 1.0);
    }
    let bought = Bought { labels: labels / runs, error: error / runs };
    let b = b.map_or_else(String::new, |b| b.to_string());
    let row = format!("| {set} | `{name}` | {b} | {} | {:.2} % |", labels_of(&bought), 100.0 * bought.error);
    println!("{row}");
    writeln!(table, "{row}")?;
    Ok(bought)
}

fn learnt(query: &Value, stream: &Memory, seed: u64) -> Result<Model> {
    let config: RunConfig = serde_json::from_value(json!({ "query": query, "stream": { "seed": seed } }))?;
    let mut model = Model::new(&config)?;
    let mut stream = stream.clone().ordered(Order::Shuffle, seed, false).numbered_as(model.tasks());
    model.learn(&mut stream, &RunOptions::default(), &mut ())?;
    Ok(model)
}
