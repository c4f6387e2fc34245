//! Whether examples come in the order of their times, where a learner forgets by them.

use cognate::run::RoundReport;
use cognate::stream::{Order, StreamConfig};
use cognate::{Model, TaskId};
use cognate_plot::numbers::count;

use crate::output::shown_name;

/// Share of examples before the latest time from which on a run says so.
const MANY: f64 = 0.1;
/// A share of fewer examples says little.
const FEW: u64 = 10;

/// Follows the times of a run.
#[derive(Debug, Default)]
pub(crate) struct Times {
    /// What takes them back in any case.
    taken_back: Option<String>,
    examples: u64,
    /// Those with a time before the latest.
    back: u64,
    /// The latest time, its round and its task.
    latest: Option<(f64, u64, TaskId)>,
}

/// What of a run takes times back, as its flags.
pub(crate) fn taken_back(stream: &StreamConfig) -> Option<String> {
    let order = match stream.order {
        Order::Shuffle => Some("--order shuffle".to_owned()),
        Order::Interleave => Some("--order interleave".to_owned()),
        _ => None,
    };
    let passes = (stream.passes > 1).then(|| format!("--passes {}", stream.passes));
    let flags: Vec<String> = order.into_iter().chain(passes).collect();
    (!flags.is_empty()).then(|| flags.join(" and "))
}

impl Times {
    /// Follows a run where its learner forgets by time.
    pub(crate) fn start(model: &Model, stream: &StreamConfig) -> Option<Self> {
        let by_time = model.config().learner.needs_times();
        by_time.then(|| Self { taken_back: taken_back(stream), ..Self::default() })
    }

    /// After every labelled example.
    pub(crate) fn observe(&mut self, report: &RoundReport) {
        let Some(time) = report.time.filter(|_| report.queried) else { return };
        self.examples += 1;
        match self.latest {
            Some((latest, ..)) if time < latest => self.back += 1,
            Some((latest, ..)) if time <= latest => {}
            _ => self.latest = Some((time, report.round, report.task)),
        }
    }

    /// What misleads about a run, if many examples came after later ones.
    pub(crate) fn warning(&self, model: &Model) -> Option<String> {
        if let Some(flags) = &self.taken_back {
            let verb = if flags.contains(" and ") { "take" } else { "takes" };
            return Some(format!(
                "warning: {flags} {verb} times back, and `forget` stands still until the latest time has come again; with --order \
                 file --passes 1 times go on"
            ));
        }
        let (latest, round, task) = self.latest?;
        if self.examples < FEW || (self.back as f64) < MANY * self.examples as f64 {
            return None;
        }
        Some(format!(
            "warning: {} of {} examples have a time before the latest, {latest} of round {round}, task {}: while times are before \
             it `forget` stands still; is it right?",
            count(self.back),
            count(self.examples),
            shown_name(model.tasks().name(task)),
        ))
    }
}
