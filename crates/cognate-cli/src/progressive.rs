//! The progressive table: a line at 1, 2, 4, 8, … examples, and a bar where the size is known.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use cognate::metrics::{Metrics, Tally};
use indicatif::{ProgressBar, ProgressStyle};

use crate::output::say;
use cognate_plot::numbers::{count, duration};

/// Prints how learning goes.
pub(crate) struct Progressive {
    started: Instant,
    /// Counts at the start: a resumed run begins with some.
    before: Tally,
    /// Counts at the last line.
    last: Tally,
    /// Examples of this run at which the next line is due.
    due: u64,
    bar: Option<ProgressBar>,
    quiet: bool,
    /// Whether labels are a column: not all are asked for.
    labels: bool,
}

impl Progressive {
    /// Starts the clock; `size` are the bytes to read, where that is known. `labels` adds a column of those asked for.
    pub(crate) fn start(quiet: bool, labels: bool, before: &Tally, size: Option<u64>) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let bar = size.filter(|_| terminal && !quiet).map(new_bar);
        let (started, last) = (Instant::now(), *before);
        let table = Self { started, before: *before, last, due: 1, bar, quiet, labels };
        table.line("progressive error");
        let column = if labels { " labels asked" } else { "" };
        table.line(&format!("  so far   since last     examples{column}      time   examples/s    tasks"));
        table
    }

    /// Time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// After every example.
    #[inline]
    pub(crate) fn observe(&mut self, metrics: &Metrics) {
        if metrics.total().examples - self.before.examples >= self.due {
            self.due *= 2;
            self.row(metrics);
        }
    }

    /// After every batch.
    pub(crate) fn position(&self, bytes: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(bytes);
        }
    }

    /// The last line.
    pub(crate) fn finish(&mut self, metrics: &Metrics) {
        if metrics.total().examples > self.last.examples {
            self.row(metrics);
        }
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn row(&mut self, metrics: &Metrics) {
        let now = metrics.total();
        let since = Tally {
            examples: now.examples - self.last.examples,
            mistakes: now.mistakes - self.last.mistakes,
            ..Tally::default()
        };
        let seconds = self.started.elapsed().as_secs_f64();
        let rate = (now.examples - self.before.examples) as f64 / seconds.max(1e-9);
        let labels = if self.labels { format!(" {:>12}", count(now.queries)) } else { String::new() };
        self.line(&format!(
            "{:>7.2}% {:>11.2}% {:>12}{labels} {:>9} {:>12} {:>8}",
            now.error() * 100.0,
            since.error() * 100.0,
            count(now.examples),
            duration(seconds),
            count(rate as u64),
            count(metrics.tasks_met() as u64),
        ));
        self.last = *now;
    }

    fn line(&self, text: &str) {
        match &self.bar {
            _ if self.quiet => {}
            Some(bar) => bar.suspend(|| say(text)),
            None => say(text),
        }
    }
}

fn new_bar(size: u64) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{bar:30} {bytes}/{total_bytes} {eta} left").expect("a valid template");
    let bar = ProgressBar::new(size).with_style(style);
    // Hidden until it is worth looking at.
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
