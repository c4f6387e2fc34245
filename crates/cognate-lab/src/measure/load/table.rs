//! What was measured, as tables, and whether the aims are reached.

use std::fmt::Write as _;

use super::client::Measured;
use super::disk::Disk;

pub(super) const PREDICT: &str = "predict";
pub(super) const LEARN: &str = "learn";
pub(super) const JSON: &str = "learn, 100 as JSON";
pub(super) const LINES: &str = "learn, 100 as lines";
pub(super) const MEANWHILE: &str = "predict while learning";
pub(super) const BESIDE: &str = "learn, 100 as JSON, while predicting";
pub(super) const VW: &str = "Vowpal Wabbit's daemon";
pub(super) const RIVER: &str = "FastAPI and River";

/// One measurement.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) who: &'static str,
    pub(super) what: &'static str,
    pub(super) connections: usize,
    /// Requests and examples a second.
    pub(super) requests: f64,
    pub(super) examples: f64,
    /// Microseconds of CPU that the server spends on an example.
    pub(super) cpu: f64,
    /// Milliseconds within which half of the requests were answered, 99 of 100, 999 of 1000.
    pub(super) quantiles: [f64; 3],
}

impl Row {
    pub(super) fn new(
        who: &'static str,
        what: &'static str,
        connections: usize,
        examples: usize,
        measured: &Measured,
        cpu: f64,
    ) -> Self {
        let requests = measured.rate();
        let row = Self {
            who,
            what,
            connections,
            requests,
            examples: requests * examples as f64,
            cpu: 1e6 * cpu / (measured.asked.max(1) * examples as u64) as f64,
            quantiles: [0.5, 0.99, 0.999].map(|share| measured.quantile(share)),
        };
        eprintln!("{}", row.line());
        row
    }

    fn line(&self) -> String {
        let Self { who, what, connections, requests, examples, cpu, quantiles: [p50, p99, p999] } = self;
        let shown =
            |value: &f64, digits| if value.is_nan() { String::new() } else { format!("{value:.digits$}") };
        let [p50, p99, p999] = [p50, p99, p999].map(|value| shown(value, 2));
        let cpu = shown(cpu, 1);
        format!(
            "| {who} | {what} | {connections} | {requests:.0} | {examples:.0} | {p50} | {p99} | {p999} | {cpu} |"
        )
    }
}

/// The section of the page.
pub(super) fn page(ours: &[Row], others: &[Row], disk: [Disk; 2], busy: f64, seconds: u64) -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let [before, after] = disk;
    let mut text = format!(
        "{cores} cores, shared by client and server; {seconds} s each. Other programs kept {busy:.1} cores busy meanwhile. Before, {before}; afterwards, {after}.\n\n"
    );
    text += "| server | request | connections | requests/s | examples/s | p50 ms | p99 ms | p999 ms | CPU µs/example |\n";
    text += "|---|---|---|---|---|---|---|---|---|\n";
    ours.iter().chain(others).for_each(|row| text += &(row.line() + "\n"));
    let ratios = ratios(ours, others);
    if !ratios.is_empty() {
        text += "\n| beside | request | examples a second, ours / theirs | CPU of the server, ours / theirs |\n|---|---|---|---|\n";
        text += &ratios;
    }
    text
}

/// Best throughput against best throughput, and least CPU against least CPU, whatever the number of connections.
fn ratios(ours: &[Row], others: &[Row]) -> String {
    let asked = |rows: &[Row], who: Option<&str>, whats: &[&str]| -> Vec<Row> {
        let is_asked = |row: &&Row| who.is_none_or(|who| row.who == who) && whats.contains(&row.what);
        rows.iter().filter(is_asked).cloned().collect()
    };
    let most = |rows: &[Row]| rows.iter().map(|row| row.examples).fold(f64::NAN, f64::max);
    let least = |rows: &[Row]| rows.iter().map(|row| row.cpu).fold(f64::NAN, f64::min);
    let mut text = String::new();
    for who in [VW, RIVER] {
        for (name, whats) in
            [(PREDICT, &[PREDICT][..]), (LEARN, &[LEARN]), ("learn, batches of 100", &[JSON, LINES])]
        {
            let (ours, theirs) = (asked(ours, None, whats), asked(others, Some(who), whats));
            if !theirs.is_empty() {
                let (speed, cpu) = (most(&ours) / most(&theirs), least(&ours) / least(&theirs));
                writeln!(text, "| {who} | {name} | {speed:.2} | {cpu:.2} |").expect("memory");
            }
        }
    }
    text
}

/// Prints each aim and whether it is reached; true if all are.
pub(super) fn aims(rows: &[Row]) -> bool {
    let best = |whats: &[&str]| {
        let found = rows.iter().filter(|row| whats.contains(&row.what));
        found.max_by(|one, other| one.examples.total_cmp(&other.examples))
    };
    let of = |what: &str, connections: usize| {
        rows.iter().find(|row| row.what == what && row.connections == connections)
    };
    let (Some(batches), Some(singles), Some(predict), Some(alone), Some(meanwhile)) = (
        best(&[JSON, LINES]),
        of(LEARN, 256),
        best(&[PREDICT]),
        of(PREDICT, super::BOTH),
        of(MEANWHILE, super::BOTH),
    ) else {
        return false;
    };
    let mut all = true;
    for (aim, found, reached) in [
        ("batches of 100: at least 100,000 examples/s", batches.examples, batches.examples >= 1e5),
        ("256 connections, singly: at least 10,000 examples/s", singles.examples, singles.examples >= 1e4),
        ("the same: p99 below 50 ms", singles.quantiles[1], singles.quantiles[1] < 50.0),
        ("predictions: at least 20,000/s", predict.examples, predict.examples >= 2e4),
        ("the same: p99 below 10 ms", predict.quantiles[1], predict.quantiles[1] < 10.0),
        (
            "predictions while learning: at most twice the p99 of 16 connections alone",
            meanwhile.quantiles[1] / alone.quantiles[1],
            meanwhile.quantiles[1] <= 2.0 * alone.quantiles[1],
        ),
    ] {
        println!("{} {aim}: {found:.2}", if reached { "reached:" } else { "missed: " });
        all &= reached;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(who: &'static str, what: &'static str, connections: usize, examples: f64) -> Row {
        Row {
            who,
            what,
            connections,
            requests: examples,
            examples,
            cpu: examples,
            quantiles: [1.0, 2.0, 3.0],
        }
    }

    #[test]
    fn ratios_are_of_the_best_of_each() {
        let ours = [row("cognate serve", PREDICT, 1, 10.0), row("cognate serve", PREDICT, 16, 30.0)];
        let others = [row(VW, PREDICT, 1, 15.0), row(VW, PREDICT, 8, 5.0)];
        assert_eq!(ratios(&ours, &others), "| Vowpal Wabbit's daemon | predict | 2.00 | 2.00 |\n");
        assert_eq!(ratios(&ours, &[]), "");
    }

    #[test]
    fn an_aim_that_was_not_measured_is_not_reached() {
        assert!(!aims(&[row("cognate serve", PREDICT, 16, 1e6)]));
        let all = [
            row("cognate serve", PREDICT, 16, 2e4),
            row("cognate serve", LEARN, 256, 1e4),
            row("cognate serve", JSON, 1, 1e5),
            row("cognate serve", MEANWHILE, 16, 1e4),
        ];
        assert!(aims(&all));
        let mut slow = all.clone();
        slow[3].quantiles[1] = 4.1;
        assert!(!aims(&slow));
    }
}
