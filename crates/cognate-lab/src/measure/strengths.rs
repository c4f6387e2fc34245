//! `cargo xtask strengths`: does b = "auto" keep its promise on real data?
//!
//! Every classification set (unit rows, shuffled with five seeds) is learnt with b in {0, 1, 4, 16, K} and with "auto".
//! The promise: "auto" makes at most 3 % more mistakes than the best fixed b on every set, and fewer than independent
//! learners on the sets where sharing pays. Exits 1 when it is broken.

use anyhow::Result;
use cognate::stream::Memory;
use serde_json::json;

use crate::measure::sets::{self, Options, error, task_count};

/// Where sharing pays, so that "auto" must beat independent learners.
const SHARING_PAYS: [&str; 4] = ["school", "spam_b", "sentiment", "sentiment16"];

const SEEDS: u64 = 5;

/// How far "auto" may err above the best fixed b.
const TOLERANCE: f64 = 0.03;

/// Runs the command.
pub(crate) fn run(options: &Options) -> Result<bool> {
    println!("Mistakes in %, unit rows, mean of {SEEDS} shuffles.\n");
    println!("| set | K | n | b = 0 | 1 | 4 | 16 | K | auto | against the best | |");
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    let mut kept = true;
    sets::for_each(options, |name, stream| {
        kept &= row(name, stream)?;
        Ok(())
    })?;
    println!("\n{}", if kept { "The promise is kept." } else { "The promise is broken." });
    Ok(kept)
}

/// Measures a set and prints its row; returns whether it keeps the promise.
fn row(name: &str, stream: &Memory) -> Result<bool> {
    let tasks = task_count(stream);
    let strengths = [json!(0), json!(1), json!(4), json!(16), json!(tasks), json!("auto")];
    let learner = |b| json!({ "perceptron": { "interaction": { "coupled": { "b": b } } } });
    let errors = strengths.iter().map(|b| error(stream, &learner(b), SEEDS)).collect::<Result<Vec<f64>>>()?;
    let (auto, fixed) = (errors[5], &errors[..5]);
    let best = fixed.iter().copied().fold(f64::INFINITY, f64::min);
    let (gap, pays) = (auto / best - 1.0, SHARING_PAYS.contains(&name));
    let kept = gap <= TOLERANCE && !(pays && auto >= fixed[0]);
    let shown: Vec<_> = errors.iter().map(|error| format!("{:.2}", 100.0 * error)).collect();
    println!(
        "| {name} | {tasks} | {} | {} | {:+.1} % | {} |",
        stream.len(),
        shown.join(" | "),
        100.0 * gap,
        if kept { "" } else { "BROKEN" },
    );
    Ok(kept)
}
