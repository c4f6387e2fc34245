//! Runs a config over text and keeps every report.

use std::ops::ControlFlow;

use cognate::run::Draws;
use cognate::run::{Observer, Progress, RoundReport, RunOptions};
use cognate::stream::{Input, Labels, ReadOptions};
use cognate::{Metrics, Model, RunConfig, Tasks};

/// Keeps every report.
#[derive(Default)]
pub(crate) struct Collect {
    pub(crate) reports: Vec<RoundReport>,
}

impl Observer for Collect {
    fn observe(&mut self, report: &RoundReport, _: &Tasks, _: &Metrics) {
        self.reports.push(*report);
    }

    fn batch_done(&mut self, _: Progress, _: &Model) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// A fresh model of a config in JSON.
pub(crate) fn model(config: &serde_json::Value) -> Model {
    let mut config: RunConfig =
        serde_json::from_value(config.clone()).unwrap_or_else(|e| panic!("{config}: {e}"));
    config.read_files().unwrap();
    Model::new(&config).unwrap_or_else(|error| panic!("{error}"))
}

/// Has a model learn text in the `svm` format, in one pass on one thread.
pub(crate) fn learn(model: &mut Model, text: &str) -> Vec<RoundReport> {
    learn_by(model, text, Draws::Seeded)
}

/// The same with given draws for the query.
pub(crate) fn learn_by(model: &mut Model, text: &str, draws: Draws) -> Vec<RoundReport> {
    learn_with(model, text, &RunOptions { draws, ..RunOptions::default() })
}

/// The same in several passes.
pub(crate) fn learn_passes(model: &mut Model, text: &str, passes: u32) -> Vec<RoundReport> {
    learn_with(model, text, &RunOptions { passes, ..RunOptions::default() })
}

fn learn_with(model: &mut Model, text: &str, options: &RunOptions) -> Vec<RoundReport> {
    let input = Input::Bytes { name: "text".to_owned(), bytes: text.as_bytes().into() };
    let mut reader = model.reader(vec![input], ReadOptions::default().labels(Labels::Optional)).unwrap();
    let mut collect = Collect::default();
    model.learn(&mut reader, options, &mut collect).unwrap_or_else(|error| panic!("{error}"));
    collect.reports
}
