//! Does memory stay flat? Peak resident memory of the program after a tenth of the rounds and after all.
//!
//! Labels depend on a few features that all examples have; the other features never come again, so that a learner grows if
//! it keeps anything of a forgotten example.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use cognate::internal::generator;
use rand::RngExt as _;
use serde_json::Value;

use super::{LEARNERS, Options, publish};
use crate::measure::bench;

const ROUNDS: u32 = 1_000_000;
const BUDGET: u32 = 200;
const TASKS: u32 = 10;
/// How many features all examples have, and at most how many more an example has that come only once.
const SHARED: u32 = 5;
const OWN: u32 = 8;

/// Runs, of which the smallest peak counts: how many batches are in flight depends on the machine's other work.
const RUNS: usize = 3;

/// Growth from a tenth of the rounds to all of them that is put down to the system: pages, threads.
const SLACK: f64 = 0.05;

/// Measures; returns whether memory stays flat.
pub(super) fn run(options: &Options) -> Result<bool> {
    let program = bench::program()?;
    // Read from files, so that the reader gets as far ahead of the learner as it can, in short and long runs.
    let folder = tempfile::tempdir()?;
    let streams =
        [ROUNDS / 10, ROUNDS].map(|rounds| Stream { path: folder.path().join(rounds.to_string()), rounds });
    for stream in &streams {
        stream.write().with_context(|| stream.path.display().to_string())?;
    }
    let mut kept = true;
    let mut table = format!(
        "| learner | peak MB after {} rounds | after {ROUNDS} | growth |\n|---|---|---|---|\n",
        ROUNDS / 10
    );
    for id in LEARNERS {
        let [mut early, mut late] = [f64::INFINITY; 2];
        for _ in 0..RUNS {
            early = early.min(peak(&program, id, &streams[0])?);
            late = late.min(peak(&program, id, &streams[1])?);
        }
        let growth = late / early - 1.0;
        kept &= growth <= SLACK;
        let _ = writeln!(table, "| `{id}` | {early:.2} | {late:.2} | {:+.1} % |", 100.0 * growth);
        if growth > SLACK {
            println!("FAIL: `{id}` grows by {:.1} %", 100.0 * growth);
        }
    }
    println!("{table}");
    publish(options, "memory", &table)?;
    Ok(kept)
}

/// Peak resident megabytes of the program over a stream.
fn peak(program: &Path, id: &str, stream: &Stream) -> Result<f64> {
    let rounds = stream.rounds;
    eprintln!("{id}: {rounds} rounds");
    let output = Command::new(program)
        .arg("learn")
        .arg(&stream.path)
        .args(["--quiet", "--json", "--normalize", "l2", "--learner", id])
        .args(["--set", "kernel=gaussian", "--set", &format!("budget={BUDGET}")])
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| program.display().to_string())?;
    ensure!(output.status.success(), "{id}: {}", output.status);
    let report: Value = serde_json::from_slice(&output.stdout).context("the report")?;
    ensure!(report["run_examples"] == rounds, "{id}: {} of {rounds} rounds", report["run_examples"]);
    Ok(report["peak_memory_bytes"].as_f64().context("the system tells no peak")? / 1e6)
}

struct Stream {
    path: PathBuf,
    rounds: u32,
}

impl Stream {
    fn write(&self) -> std::io::Result<()> {
        let mut out = BufWriter::new(File::create(&self.path)?);
        write_stream(&mut out, self.rounds)?;
        out.flush()
    }
}

fn write_stream(out: &mut impl Write, rounds: u32) -> std::io::Result<()> {
    let mut rng = generator(12, 0);
    for round in 0..rounds {
        let task = rng.random_range(0..TASKS);
        let values: Vec<f64> = (0..SHARED).map(|_| rng.random_range(-1.0..1.0)).collect();
        let score: f64 = values.iter().sum::<f64>() + 0.3 * values[task as usize % values.len()];
        let label = if (score > 0.0) == rng.random_bool(0.05) { "-1" } else { "+1" };
        write!(out, "{label} qid:{task}")?;
        for (feature, value) in (1..).zip(&values) {
            write!(out, " {feature}:{value:.4}")?;
        }
        for feature in 0..rng.random_range(1..=OWN) {
            write!(out, " {}:0.1", SHARED + 1 + round * OWN + feature)?;
        }
        writeln!(out)?;
    }
    Ok(())
}
