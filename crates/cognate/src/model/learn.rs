//! Learning: a stream, or one example.

use super::{Beside, Model};
use crate::example::Example;
use crate::learner::Outcome;
use crate::metrics::{Metrics, Scored};
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
        self.learn_one_with(task, features, label, Beside::default())
    }

    /// As [`Self::learn_one`], with a weight, an offset or a time.
    ///
    /// # Errors
    /// As [`Self::learn_one`]; when the learner takes no weights, or no offsets.
    pub fn learn_one_with<'a>(
        &mut self,
        task: &str,
        features: impl Into<Features<'a>>,
        label: impl Into<Option<f64>>,
        beside: Beside,
    ) -> Result<RoundReport, RunError> {
        let mut last = Last(None);
        let mut rows = self.rows();
        rows.push_with(Some(task), features.into(), label.into(), beside)?;
        rows.learn(&mut last)?;
        // A simultaneous model may wait for the other tasks of a round only within a stream.
        last.0.ok_or(RunError::NoRound)
    }

    /// Counts an example of the last round, which is known again by its fingerprint if it was learnt.
    #[inline]
    pub(crate) fn count(
        &mut self,
        example: Example<'_>,
        outcome: Outcome,
        fingerprint: Option<u64>,
    ) -> RoundReport {
        let queried = fingerprint.is_some();
        let Example { task, label, weight, time, .. } = example;
        let Outcome { margin, updated } = outcome;
        let kind = self.config.learner.kind();
        let scored = Scored::of(self.learner.as_inspect(), kind, label, weight, margin);
        self.metrics.count(task, &scored, updated, queried);
        fingerprint.into_iter().for_each(|fingerprint| self.metrics.learn(fingerprint));
        let mistake = scored.mistake();
        RoundReport { round: self.rounds, task, label, weight, time, margin, mistake, updated, queried }
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
        let Example { task, weight, time, .. } = example;
        let label = f64::NAN;
        let (mistake, updated) = (false, false);
        self.0 = Some(RoundReport { round, task, label, weight, time, margin, mistake, updated, queried });
    }

    fn batch_done(&mut self, _: Progress, _: &Model) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
