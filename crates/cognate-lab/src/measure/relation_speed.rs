//! What does a learned relation cost? A round is compared with that of the `graph` Perceptron, at the same K.
//!
//! K = 100 tasks, d = 10,000 features, 50 non-zeros, more signal in frequent features than in rare ones, 5 % flipped
//! labels, on two streams: tasks that are alike (w_i = u + noise, as in the streams of `cargo xtask bench`), and tasks in
//! four groups that have nothing in common. The graph is a ring, whose neighbours are mostly of the same group.
//! Contestants take turns on the same stream in memory, on one thread; the fastest of their runs counts.

use std::fmt::Write as _;
use std::time::Instant;

use anyhow::Result;
use cognate::internal::generator;
use cognate::stream::Memory;
use cognate::{Example, SparseView, TaskId};
use rand::RngExt as _;
use serde_json::{Value, json};

use crate::measure::sets::run_once;

const TASKS: usize = 100;
const FEATURES: usize = 10_000;
const NONZEROS: usize = 50;
const EXAMPLES: usize = 150_000;

/// How many times as long as a round of `graph` one with a learned relation may take.
const LIMIT: f64 = 3.0;

/// Runs the contests; returns the tables, and whether the limit is kept.
pub(crate) fn measure(runs: usize) -> Result<(String, bool)> {
    let (alike, alike_kept) = contest(runs, &alike())?;
    let (groups, groups_kept) = contest(runs, &groups())?;
    let tables = format!("Tasks that are alike:\n\n{alike}\nTasks in four groups:\n\n{groups}");
    Ok((tables, alike_kept && groups_kept))
}

fn contest(runs: usize, stream: &Memory) -> Result<(String, bool)> {
    let ring: Vec<Value> =
        (0..TASKS).map(|task| json!([task.to_string(), ((task + 1) % TASKS).to_string()])).collect();
    let rule = |relation: &str| json!({"relation-perceptron": {"relation": relation, "priming": 1}});
    let contestants = [
        (
            "`perceptron`, `graph` of a ring",
            json!({"perceptron": {"interaction": {"graph": {"edges": ring}}}}),
            false,
        ),
        ("`log-det`, no priming", rule("log-det"), true),
        ("`covariance`, no priming", rule("covariance"), true),
        ("`log-det`, defaults", json!("relation-perceptron"), true),
        ("`scale-free`, defaults", json!({"relation-perceptron": {"relation": "scale-free"}}), true),
    ];
    let mut fastest = vec![f64::INFINITY; contestants.len()];
    let mut errors = vec![0.0; contestants.len()];
    for _ in 0..runs {
        for (at, (_, learner, _)) in contestants.iter().enumerate() {
            let copy = stream.clone();
            let start = Instant::now();
            let model = run_once(learner, copy)?;
            fastest[at] = fastest[at].min(start.elapsed().as_secs_f64());
            errors[at] = model.metrics().total().error();
        }
    }
    let mut table =
        String::from("| learner | microseconds per round | to `graph` | error % |\n|---|---|---|---|\n");
    let mut kept = true;
    for (at, (name, _, limited)) in contestants.iter().enumerate() {
        let ratio = fastest[at] / fastest[0];
        let fits = !limited || ratio <= LIMIT;
        kept &= fits;
        let round = 1e6 * fastest[at] / EXAMPLES as f64;
        let _ = writeln!(table, "| {name} | {round:.2} | {ratio:.2} | {:.2} |", 100.0 * errors[at]);
        if !fits {
            println!("FAIL: {name} takes {ratio:.2} times as long as `graph`, at most {LIMIT}");
        }
    }
    Ok((table, kept))
}

/// A weight vector in which feature f carries a signal of 1 / (1 + f / 200).
fn weights(rng: &mut impl rand::RngExt) -> Vec<f64> {
    let mut normal = || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
    (0..FEATURES).map(|f| normal() / (1.0 + f as f64 / 200.0)).collect()
}

fn alike() -> Memory {
    let mut rng = generator(11, 2);
    let common = weights(&mut rng);
    let own = |_| weights(&mut rng).iter().zip(&common).map(|(own, common)| common + 0.5 * own).collect();
    stream(&(0..TASKS).map(own).collect::<Vec<_>>())
}

fn groups() -> Memory {
    let mut rng = generator(11, 0);
    stream(&(0..4).map(|_| weights(&mut rng)).collect::<Vec<_>>())
}

/// A stream whose tasks share out the true weight vectors in order.
fn stream(truths: &[Vec<f64>]) -> Memory {
    let mut rng = generator(11, 1);
    let mut stream = Memory::new();
    for _ in 0..EXAMPLES {
        let task = rng.random_range(0..TASKS);
        let mut indices: Vec<u32> = (0..NONZEROS)
            // Some features are frequent, most are rare.
            .map(|_| (rng.random::<f64>().powi(3) * FEATURES as f64) as u32)
            .collect();
        indices.sort_unstable();
        indices.dedup();
        let values: Vec<f64> = indices.iter().map(|_| (0.5 + rng.random::<f64>()) / 7.0).collect();
        let margin: f64 = indices
            .iter()
            .zip(&values)
            .map(|(index, value)| truths[task * truths.len() / TASKS][*index as usize] * value)
            .sum();
        let flipped = rng.random::<f64>() < 0.05;
        let label = if (margin > 0.0) == flipped { -1.0 } else { 1.0 };
        if let Ok(features) = SparseView::try_new(&indices, &values) {
            stream.push(&task.to_string(), Example::new(TaskId(0), features, label));
        }
    }
    stream
}
