//! The progressive table: a line at 1, 2, 4, 8, … examples, and a bar where the size is known.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use cognate::Model;
use cognate::fit::Kind;
use cognate::metrics::{Metrics, Tally};
use indicatif::{ProgressBar, ProgressStyle};

use crate::judging::{digits, shown};
use crate::output::say;
use cognate_plot::numbers::{count, duration};

/// By what a line judges.
#[derive(Clone, Copy)]
struct Columns {
    is_class: bool,
    /// Whether the learner gives probabilities.
    probabilities: bool,
}

impl Columns {
    fn of(model: &Model) -> Self {
        let probabilities = model.learner().as_inspect().probability(0.0).is_some();
        Self { is_class: model.kind() != Some(Kind::Regression), probabilities }
    }

    fn title(self) -> &'static str {
        if self.is_class { "progressive error" } else { "progressive root mean squared error" }
    }

    fn header(self) -> &'static str {
        match (self.is_class, self.probabilities) {
            (true, true) => "  constant  log loss",
            (true, false) => "  constant",
            (false, _) => "  mean so far",
        }
    }

    fn judged(self, tally: &Tally) -> String {
        let measures = tally.measures(None);
        if self.is_class {
            shown(measures.error, |error| format!("{:.2}%", error * 100.0))
        } else {
            shown(measures.rmse, digits)
        }
    }

    /// The constant guess, and the log loss.
    fn more(self, tally: &Tally) -> String {
        let constant = shown(tally.constant_error(), |error| format!("{:.2}%", error * 100.0));
        match (self.is_class, self.probabilities) {
            (true, true) => {
                format!(" {constant:>9} {:>9}", shown(tally.log_loss(), |loss| format!("{loss:.4}")))
            }
            (true, false) => format!(" {constant:>9}"),
            (false, _) => format!(" {:>12}", shown(tally.constant_rmse(), digits)),
        }
    }
}

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
    columns: Columns,
}

impl Progressive {
    /// Starts the clock; `size` are the bytes to read, where that is known. `labels` adds a column of those asked for.
    pub(crate) fn start(quiet: bool, model: &Model, size: Option<u64>) -> Self {
        let (labels, before) = (!model.config().query.is_all(), model.metrics().total());
        let columns = Columns::of(model);
        let terminal = std::io::stderr().is_terminal();
        let bar = size.filter(|_| terminal && !quiet).map(new_bar);
        let (started, last) = (Instant::now(), *before);
        let table = Self { started, before: *before, last, due: 1, bar, quiet, labels, columns };
        table.line(columns.title());
        let column = if labels { " labels asked" } else { "" };
        let more = columns.header();
        table.line(&format!(
            "  so far   since last     examples{column}      time   examples/s    tasks{more}"
        ));
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
        let since = now.since(&self.last);
        let seconds = self.started.elapsed().as_secs_f64();
        let rate = (now.examples - self.before.examples) as f64 / seconds.max(1e-9);
        let labels = if self.labels { format!(" {:>12}", count(now.queries)) } else { String::new() };
        self.line(&format!(
            "{:>8} {:>12} {:>12}{labels} {:>9} {:>12} {:>8}{}",
            self.columns.judged(now),
            self.columns.judged(&since),
            count(now.examples),
            duration(seconds),
            count(rate as u64),
            count(metrics.tasks_met() as u64),
            self.columns.more(now),
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
