//! `cargo xtask bench --accuracy --again`: does it do harm to see examples again?
//!
//! Every classification set is split into halves, by a shuffle with a seed. `adaptive` and the member of it that is left with a
//! given b learn the first half once, in twenty passes, and with every row twenty times in a row; errors and log losses are those of
//! the second half.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use anyhow::Result;
use cognate::metrics::{Scored, Tally};
use cognate::run::RunOptions;
use cognate::stream::{Memory, Order};
use cognate::{Model, RunConfig};
use serde_json::{Value, json};

use super::files::Folders;
use crate::measure::sets::{self, task_count};

/// Seeds of the halves; figures are means over them.
const SEEDS: [u64; 2] = [11, 12];
const TIMES: u32 = 20;

/// Relative harm that is allowed, of error and log loss.
const ERROR: f64 = 0.02;
const LOSS: f64 = 0.05;

/// Error and log loss of the second half.
#[derive(Clone, Copy, Default)]
struct HeldOut {
    error: f64,
    loss: f64,
}

/// Measures; returns the table, and whether nothing is harmed.
pub(super) fn measure(folders: &Folders, only: &str) -> Result<(String, bool)> {
    let mut text = String::from(
        "| set | adaptive, once: error % | log loss | 20 passes | log loss | every row 20 times | log loss | b = K, once: error % | log loss | 20 passes | log loss |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    let (mut harmed, mut sets) = (Vec::new(), 0);
    let options = sets::Options { data: folders.root.join("../shared/data"), only: String::new() };
    sets::for_each(&options, |name, stream| {
        if !name.contains(only) {
            return Ok(());
        }
        let found = of_set(stream)?;
        let [once, passes, rows, ..] = found;
        let worse =
            |one: HeldOut| one.error > (1.0 + ERROR) * once.error || one.loss > (1.0 + LOSS) * once.loss;
        if worse(passes) || worse(rows) {
            let change = |new: f64, old: f64| 100.0 * (new / old - 1.0);
            harmed.push(format!(
                "{name} (20 passes: error {:+.1} %, log loss {:+.1} %)",
                change(passes.error, once.error),
                change(passes.loss, once.loss),
            ));
        }
        sets += 1;
        let cells: Vec<String> =
            found.iter().map(|one| format!("{:.2} | {:.4}", 100.0 * one.error, one.loss)).collect();
        let line = format!("| {name} | {} |", cells.join(" | "));
        println!("{line}");
        let _ = writeln!(text, "{line}");
        Ok(())
    })?;
    let verdict = if harmed.is_empty() { "nowhere".to_owned() } else { format!("on {}", harmed.join(", ")) };
    let _ = writeln!(
        text,
        "\nMeans over the halves of the seeds {SEEDS:?}, {sets} sets. More than {:.0} % more mistakes or {:.0} % more log loss than \
         after one pass: {verdict}.",
        100.0 * ERROR,
        100.0 * LOSS,
    );
    println!("{}", text.lines().last().unwrap_or_default());
    Ok((text, harmed.is_empty()))
}

/// `adaptive` once, in passes, and with rows repeated; the given b once and in passes.
fn of_set(stream: &Memory) -> Result<[HeldOut; 5]> {
    let automatic = json!("adaptive");
    let given = json!({"adaptive": {"interaction": {"coupled": {"b": task_count(stream)}}}});
    let mut sums = [HeldOut::default(); 5];
    for seed in SEEDS {
        let (half, other) = halves(stream, seed)?;
        let rows = repeated(&half);
        let runs = [
            (&automatic, &half, 1),
            (&automatic, &half, TIMES),
            (&automatic, &rows, 1),
            (&given, &half, 1),
            (&given, &half, TIMES),
        ];
        for (sum, (learner, learnt, passes)) in sums.iter_mut().zip(runs) {
            let one = held_out(learner, learnt, passes, &other)?;
            sum.error += one.error / SEEDS.len() as f64;
            sum.loss += one.loss / SEEDS.len() as f64;
        }
    }
    Ok(sums)
}

/// The two halves of a shuffle.
fn halves(stream: &Memory, seed: u64) -> Result<(Memory, Memory)> {
    let shuffled = Memory::load(&mut stream.clone().ordered(Order::Shuffle, seed, false))?;
    let (mut half, mut other) = (Memory::new(), Memory::new());
    for (at, (task, example)) in shuffled.examples().enumerate() {
        (if 2 * at < shuffled.len() { &mut half } else { &mut other }).push(task, example);
    }
    Ok((half, other))
}

fn repeated(stream: &Memory) -> Memory {
    let mut rows = Memory::new();
    for (task, example) in stream.examples() {
        (0..TIMES).for_each(|_| rows.push(task, example));
    }
    rows
}

fn held_out(learner: &Value, learnt: &Memory, passes: u32, other: &Memory) -> Result<HeldOut> {
    let config: RunConfig = serde_json::from_value(json!({ "learner": learner }))?;
    let mut model = Model::new(&config)?;
    let mut stream = learnt.clone().numbered_as(model.tasks());
    model.learn(&mut stream, &RunOptions { passes, ..RunOptions::default() }, &mut ())?;
    let (mut tally, mut mistakes) = (Tally::default(), 0_usize);
    let mut stream = other.clone().numbered_as(model.tasks());
    model.predict(&mut stream, NonZeroUsize::MIN, &mut |predictions| {
        for (example, margin) in predictions.iter() {
            mistakes += usize::from(example.label * margin <= 0.0);
            let probability = predictions.of(margin).probability;
            tally.count(&Scored::class(example.label, 1.0, margin, probability), true, true);
        }
        ControlFlow::Continue(())
    })?;
    let error = mistakes as f64 / other.len().max(1) as f64;
    Ok(HeldOut { error, loss: tally.log_loss().unwrap_or(f64::NAN) })
}
