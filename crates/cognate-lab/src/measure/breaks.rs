//! `cargo xtask robust --breaks`: do bad lines, single huge values and other units leave the rest of a stream alone?
//!
//! Streams of ten related tasks are broken in one way each, with factors from 10 to 10^12; what is counted is how much more often
//! `adaptive`, without a flag, errs on the lines and tasks that are not broken, relative to the same lines of the whole stream. With
//! real labels the root of the mean squared error takes the place of the share of mistakes.

mod poison;
mod streams;

use std::fmt::Write as _;
use std::ops::ControlFlow;

use anyhow::Result;
use cognate::run::{Observer, Progress, RoundReport};
use cognate::{Metrics, Model, Tasks};
use serde_json::{Value, json};

use crate::measure::{in_parallel, sets};
use streams::{Break, Kind, Line, Place, memory};

/// Constants were chosen on the seeds 1 to 4.
const SEEDS: std::ops::RangeInclusive<u64> = 11..=18;
const FACTORS: [f64; 6] = [10.0, 30.0, 100.0, 1e3, 1e6, 1e12];
/// How far what is not broken may err above the whole stream.
const MOST: f64 = 0.05;

#[rustfmt::skip]
const CASES: [(Kind, Break, &str); 24] = [
    (Kind::Dense, Break::Line(Place::At(0)), "dense: first line"),
    (Kind::Dense, Break::Line(Place::At(2)), "third line"),
    (Kind::Dense, Break::Line(Place::At(20)), "line 21"),
    (Kind::Dense, Break::Line(Place::Middle), "line 2001"),
    (Kind::Dense, Break::Line(Place::Repeatedly), "every 100th line"),
    (Kind::Dense, Break::Value(Place::At(0)), "one value, first line"),
    (Kind::Dense, Break::Value(Place::At(20)), "one value, line 21"),
    (Kind::Dense, Break::Value(Place::Middle), "one value, line 2001"),
    (Kind::Dense, Break::Value(Place::Repeatedly), "one value, every 100th line"),
    (Kind::Dense, Break::Late, "late features, first values"),
    (Kind::Dense, Break::Units, "one task"),
    (Kind::Dense, Break::UnitsFirst, "one task, which begins"),
    (Kind::Sparse, Break::Line(Place::At(0)), "sparse: first line"),
    (Kind::Sparse, Break::Line(Place::Middle), "line 2001"),
    (Kind::Sparse, Break::Line(Place::Repeatedly), "every 100th line"),
    (Kind::Sparse, Break::Value(Place::Repeatedly), "one value, every 100th line"),
    (Kind::Sparse, Break::Late, "late features, first values"),
    (Kind::Sparse, Break::Units, "one task"),
    (Kind::Sparse, Break::UnitsFirst, "one task, which begins"),
    (Kind::Real, Break::Line(Place::At(0)), "real labels: first line"),
    (Kind::Real, Break::Line(Place::Middle), "line 2001"),
    (Kind::Real, Break::Line(Place::Repeatedly), "every 100th line"),
    (Kind::Real, Break::Value(Place::Middle), "one value, line 2001"),
    (Kind::Real, Break::Units, "one task"),
];

/// Measures; returns the tables, and whether nothing breaks.
pub(crate) fn measure() -> Result<(String, bool)> {
    let (broken, kept) = broken()?;
    let mut text = broken;
    let _ = write!(text, "\n{}\n{}", heavy_tails()?, poison::measure()?);
    Ok((text, kept))
}

fn broken() -> Result<(String, bool)> {
    let heads: Vec<String> = FACTORS.iter().map(|factor| format!("{factor:.0e}")).collect();
    let mut text = format!(
        "| what is broken | whole stream | {} |\n|---|---|{}\n",
        heads.join(" | "),
        "---|".repeat(FACTORS.len())
    );
    print!("{text}");
    let (mut over, mut worst) = (0, 0.0_f64);
    for (kind, what, name) in CASES {
        let whole = error(kind, what, 1.0)?;
        let changes = FACTORS.iter().map(|factor| Ok(error(kind, what, *factor)? / whole - 1.0));
        let changes = changes.collect::<Result<Vec<f64>>>()?;
        over += changes.iter().filter(|change| **change > MOST).count();
        worst = changes.iter().copied().fold(worst, f64::max);
        let shown: Vec<String> = changes.iter().map(|change| format!("{:+.1} %", 100.0 * change)).collect();
        let unit = if kind == Kind::Real { format!("{whole:.3}") } else { format!("{:.2} %", 100.0 * whole) };
        let line = format!("| {name} | {unit} | {} |", shown.join(" | "));
        println!("{line}");
        let _ = writeln!(text, "{line}");
    }
    let cells = CASES.len() * FACTORS.len();
    let verdict = format!(
        "\nMeans over the seeds {SEEDS:?}. Of {cells} cells, {over} are more than {:.0} % above the whole stream; the worst is {:+.1} %.",
        100.0 * MOST,
        100.0 * worst
    );
    println!("{verdict}");
    let _ = writeln!(text, "{verdict}");
    Ok((text, over == 0))
}

fn learner(kind: Kind) -> Value {
    if kind == Kind::Real { json!({"adaptive": {"loss": "squares"}}) } else { json!("adaptive") }
}

/// Mean error of what counts, over the seeds.
fn error(kind: Kind, what: Break, factor: f64) -> Result<f64> {
    let seeds: Vec<u64> = SEEDS.collect();
    let errors = in_parallel(&seeds, |seed| {
        let mut lines = kind.lines(*seed);
        what.apply(&mut lines, factor);
        of_lines(&learner(kind), &lines)
    })?;
    Ok(errors.iter().sum::<f64>() / errors.len() as f64)
}

/// The error on the lines that count.
fn of_lines(learner: &Value, lines: &[Line]) -> Result<f64> {
    let mut counted = Counted { lines, at: 0, examples: 0.0, mistakes: 0.0, squares: 0.0 };
    sets::run_observed(learner, memory(lines)?, &mut counted)?;
    let Counted { examples, mistakes, squares, .. } = counted;
    Ok(if learner.is_object() { (squares / examples).sqrt() } else { mistakes / examples })
}

struct Counted<'a> {
    lines: &'a [Line],
    at: usize,
    examples: f64,
    mistakes: f64,
    squares: f64,
}

impl Observer for Counted<'_> {
    fn observe(&mut self, report: &RoundReport, _: &Tasks, _: &Metrics) {
        let line = &self.lines[self.at];
        self.at += 1;
        if line.counts {
            self.examples += 1.0;
            self.mistakes += f64::from(report.mistake);
            self.squares += (line.label - report.margin).powi(2);
        }
    }

    fn batch_done(&mut self, _: Progress, _: &Model) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Features that are really heavy-tailed are not broken.
fn heavy_tails() -> Result<String> {
    let mut text = String::from(
        "| deviation of the logarithms | error % | on the logarithms | difference |\n|---|---|---|---|\n",
    );
    for deviation in [0.5, 1.0, 2.0] {
        let of = |kind: Kind| error(kind, Break::Value(Place::At(0)), 1.0);
        let (raw, logged) = (of(Kind::LogNormal(deviation))?, of(Kind::Logged(deviation))?);
        let change = 100.0 * (raw / logged - 1.0);
        let _ =
            writeln!(text, "| {deviation} | {:.2} | {:.2} | {change:+.1} % |", 100.0 * raw, 100.0 * logged);
    }
    print!("\n{text}");
    Ok(text)
}
