//! Error against budget: what does forgetting cost?
//!
//! `school` with the complete graph, the kernel of Table 1, and budgets from 1 to 25 % of what independent Perceptrons
//! keep; the share of mistakes in one pass, a mean over shuffles. Beside them, a learner that keeps every mistaken example.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use cognate::stream::{Memory, Order};
use serde_json::json;

use super::{LEARNERS, Options, Set, counts, independent, mean, publish, share_of};
use crate::measure::in_parallel;
use crate::measure::root;
use crate::measure::sets::task_count;
use cognate_plot::lines::{Detail, LineChart, Series};
use cognate_plot::numbers::percent;
use cognate_plot::scale::{Steps, Unit};

const SHARES: [f64; 5] = [0.01, 0.02, 0.05, 0.10, 0.25];

/// Measures; draws the figure if asked to.
pub(super) fn run(options: &Options) -> Result<bool> {
    let set = Set::named("school")?;
    let (stream, kernel) = (set.load(options)?, set.kernel()?);
    let (tasks, examples) = (task_count(&stream), stream.len() as f64);
    let streams: Vec<Memory> =
        (1..=options.seeds).map(|seed| stream.clone().ordered(Order::Shuffle, seed, false)).collect();
    let error = |learner: &_, stream: &Memory| -> Result<f64> {
        Ok(counts(learner, tasks, stream.clone())?.mistakes as f64 / examples)
    };
    let kept =
        in_parallel(&streams, |stream| Ok(counts(&independent(&kernel), tasks, stream.clone())?.mistakes))?;
    let kept = kept.iter().sum::<u64>() / options.seeds;
    let unlimited =
        json!({"kernel-perceptron": {"interaction": {"graph": {"edges": "complete"}}, "kernel": kernel}});
    let unlimited = mean(&in_parallel(&streams, |stream| error(&unlimited, stream))?);
    let mut jobs = Vec::new();
    for id in LEARNERS {
        for share in SHARES {
            let learner =
                json!({id: {"graph": "complete", "kernel": kernel, "budget": share_of(kept, share)}});
            jobs.extend(streams.iter().map(|stream| (learner.clone(), stream)));
        }
    }
    let errors = in_parallel(&jobs, |(learner, stream)| error(learner, stream))?;
    let means: Vec<f64> = errors.chunks(streams.len()).map(mean).collect();
    let rows: Vec<&[f64]> = means.chunks(SHARES.len()).collect();
    let budgets = SHARES.map(|share| share_of(kept, share));
    let heads: Vec<String> = SHARES
        .iter()
        .zip(budgets)
        .map(|(share, budget)| format!("{budget} ({:.0} %)", 100.0 * share))
        .collect();
    let mut table = format!("| learner | {} |\n|---|{}\n", heads.join(" | "), "---|".repeat(SHARES.len()));
    for (id, row) in LEARNERS.iter().zip(&rows) {
        let shown: Vec<String> = row.iter().map(|error| format!("{:.1}", 100.0 * error)).collect();
        let _ = writeln!(table, "| `{id}` | {} |", shown.join(" | "));
    }
    let _ = writeln!(table, "\nWithout a budget: {:.1}, all mistaken examples kept.", 100.0 * unlimited);
    println!("{table}");
    publish(options, "curve", &table)?;
    if options.write {
        // Only what the budget costs is drawn: beside the mistakes that no learner can avoid, it could not be seen.
        let series = LEARNERS.iter().zip(&rows).map(|(id, row)| Series {
            name: id.trim_start_matches("budget-").to_owned(),
            points: budgets
                .iter()
                .zip(*row)
                .map(|(budget, error)| (*budget as f64, error - unlimited))
                .collect(),
        });
        let chart = LineChart {
            title: format!("What a budget costs: mistakes beyond the {} without one", percent(unlimited, 1)),
            x_title: "budget in examples".to_owned(),
            y_title: "points above".to_owned(),
            x_steps: Steps::Log2,
            y_unit: Unit::Percent,
            series: series.collect(),
            highlight: Some(LEARNERS.len() - 1),
            ..LineChart::default()
        };
        let picture = chart.draw(860.0, 360.0, Detail::Full).standalone();
        std::fs::write(root().join("docs/budgets.svg"), picture).context("docs/budgets.svg")?;
    }
    Ok(true)
}
