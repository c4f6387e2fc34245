//! Learning: a stream, or one example.

use super::Model;
use crate::example::TaskId;
use crate::metrics::Metrics;
use crate::run::{self, Observer, Progress, RoundReport, RunError, RunOptions, UnlabelledReport};
use crate::stream::{Features, Stream};
use crate::tasks::Tasks;
use std::ops::ControlFlow;

impl Model {
    /// Learns a stream to its end, or until the observer stops it; [`Self::reader`] and [`Self::open`] make streams of text.
    ///
    /// Labels that the model's query does not ask for are not learnt; their examples are predicted and counted. Examples
    /// without a label are predicted and counted separately, and the observer learns whether the query asks for them.
    ///
    /// # Errors
    /// Those of the stream; the model has learnt, and counted, everything before. When the stream was made for another
    /// model. When a margin is no longer finite; the model is then useless.
    pub fn learn(
        &mut self,
        stream: &mut dyn Stream,
        options: &RunOptions,
        observer: &mut dyn Observer,
    ) -> Result<Progress, RunError> {
        run::learn(self, stream, options, observer)
    }

    /// Learns one example, and reports its margin from before. Without a label it is only predicted, and counted separately.
    ///
    /// Features are given by number or by name, as in [`Features`]; the first example decides which, unless the config
    /// does. Labels are -1 and +1, or 0 and 1.
    ///
    /// # Errors
    /// When task, features or label are invalid; the model is then unchanged. Otherwise as [`Self::learn`].
    pub fn learn_one<'a>(
        &mut self,
        task: &str,
        features: impl Into<Features<'a>>,
        label: impl Into<Option<f64>>,
    ) -> Result<RoundReport, RunError> {
        let mut last = Last(None);
        let mut rows = self.rows();
        rows.push(Some(task), features.into(), label.into())?;
        rows.learn(&mut last)?;
        // A simultaneous model may wait for the other tasks of a round only within a stream.
        last.0.ok_or(RunError::NoRound)
    }
}

/// Keeps the last report.
struct Last(Option<RoundReport>);

impl Observer for Last {
    fn observe(&mut self, report: &RoundReport, _: &Tasks, _: &Metrics) {
        self.0 = Some(*report);
    }

    fn observe_unlabelled(&mut self, report: &UnlabelledReport<'_>, _: &Tasks, _: &Metrics) {
        let UnlabelledReport { round, example, margin, queried, .. } = *report;
        let task: TaskId = example.task;
        let label = f64::NAN;
        self.0 = Some(RoundReport { round, task, label, margin, mistake: false, updated: false, queried });
    }

    fn batch_done(&mut self, _: Progress, _: &Model) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
