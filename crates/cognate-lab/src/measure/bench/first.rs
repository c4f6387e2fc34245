//! `cargo xtask bench --accuracy --first`: how well does a new task start?
//!
//! Mistakes on the first 1, 3, 10 and 30 examples of every task, all tasks together, beside Vowpal Wabbit with shared features and
//! with both kinds, with the logistic loss. On `sentiment16` all tasks begin at once, and there are only sixteen: means over shuffles.

use std::fmt::Write as _;
use std::ops::ControlFlow;

use anyhow::Result;
use cognate::run::{Observer, Progress, RoundReport};
use cognate::stream::{Input, Memory, Order, ReadOptions};
use cognate::{Metrics, Model, RunConfig, Tasks};
use serde_json::json;

use super::accuracy::{FORMS, write_vw};
use super::figures::vw_margins;
use super::files::{Folders, generated};
use super::peers::Peers;
use super::presets::PRESETS;
use crate::measure::sets::{self, run_observed};

const FIRST: [usize; 4] = [1, 3, 10, 30];
/// Shuffles of the small set, and how much of each is learnt: all first examples are among these.
const SHUFFLES: std::ops::RangeInclusive<u64> = 101..=120;
const ENOUGH: usize = 3000;
/// Who learns: two forms of VW, and `adaptive`.
const LEARNERS: [&str; 3] = ["VW shared", "VW both", "adaptive"];

/// Mistakes and examples, up to each number of first ones.
type Starts = [(u64, u64); FIRST.len()];

fn count(starts: &mut Starts, stream: &Memory, margins: &[f64]) {
    let mut seen: Vec<usize> = Vec::new();
    let mut names: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
    for ((task, example), margin) in stream.examples().zip(margins) {
        let next = names.len();
        let at = *names.entry(task).or_insert(next);
        seen.resize(seen.len().max(at + 1), 0);
        seen[at] += 1;
        for (start, first) in starts.iter_mut().zip(FIRST) {
            if seen[at] <= first {
                start.0 += u64::from((*margin > 0.0) != (example.label > 0.0));
                start.1 += 1;
            }
        }
    }
}

/// Keeps all margins.
#[derive(Default)]
struct Margins(Vec<f64>);

impl Observer for Margins {
    fn observe(&mut self, report: &RoundReport, _: &Tasks, _: &Metrics) {
        self.0.push(report.margin);
    }

    fn batch_done(&mut self, _: Progress, _: &Model) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Measures; returns the table, and whether `adaptive` errs nowhere more than VW.
pub(super) fn measure(folders: &Folders, peers: &Peers) -> Result<(String, bool)> {
    let mut text = format!(
        "| stream | learner | {} |\n|---|---|{}\n",
        FIRST.map(|first| format!("first {first}")).join(" | "),
        "---|".repeat(FIRST.len()),
    );
    let mut kept = true;
    let mut show = |name: &str, starts: &[Starts; 3]| {
        let shares = starts.map(|starts| starts.map(|(wrong, all)| 100.0 * wrong as f64 / all.max(1) as f64));
        kept &= (0..FIRST.len()).all(|at| shares[2][at] <= shares[0][at].min(shares[1][at]));
        for (learner, shares) in LEARNERS.iter().zip(shares) {
            let line =
                format!("| {name} | {learner} | {} |", shares.map(|share| format!("{share:.2}")).join(" | "));
            println!("{line}");
            let _ = writeln!(text, "{line}");
        }
    };
    let set = sets::load(&folders.root.join("../shared/data/sentiment16/sentiment16.svm.gz"))?;
    let mut starts = [Starts::default(); 3];
    for seed in SHUFFLES {
        let shuffled = set.clone().ordered(Order::Shuffle, seed, false);
        add(folders, peers, &Memory::load(&mut shuffled.up_to(ENOUGH))?, &mut starts)?;
    }
    show("sentiment16", &starts);
    for preset in PRESETS.iter().filter(|preset| preset.letter == 'B') {
        let input = Input::File(generated(folders, preset, preset.rows)?);
        let stream = RunConfig::default().reader(vec![input], ReadOptions::default())?.into_memory()?;
        let mut starts = [Starts::default(); 3];
        add(folders, peers, &stream, &mut starts)?;
        show("B tasks", &starts);
    }
    Ok((text, kept))
}

fn add(folders: &Folders, peers: &Peers, stream: &Memory, starts: &mut [Starts; 3]) -> Result<()> {
    let vw = folders.bench.join("first.vw");
    write_vw(stream, &vw)?;
    for (starts, form) in starts.iter_mut().zip([FORMS[0].1, FORMS[2].1]) {
        let (margins, _) = vw_margins(folders, peers, &vw, form, "logistic", stream.len())?;
        count(starts, stream, &margins);
    }
    let mut margins = Margins::default();
    run_observed(&json!("adaptive"), stream.clone(), &mut margins)?;
    count(&mut starts[2], stream, &margins.0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cognate::{Example, SparseView, TaskId};

    #[test]
    fn only_first_examples_count() {
        let mut stream = Memory::new();
        for (task, label) in [("a", 1.0), ("b", 1.0), ("a", -1.0), ("a", 1.0), ("a", 1.0)] {
            stream.push(task, Example::new(TaskId(0), SparseView::try_new(&[], &[]).unwrap(), label));
        }
        let mut starts = Starts::default();
        count(&mut starts, &stream, &[1.0, -1.0, 1.0, -1.0, 0.0]);
        assert_eq!(starts, [(1, 2), (3, 4), (4, 5), (4, 5)]);
    }
}
