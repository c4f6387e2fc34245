//! Error, AUC and log loss of one pass, ours and Vowpal Wabbit's, from predictions made before learning.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use cognate::metrics::{Metrics, Ranking, Scored, Tally};
use cognate::run::{Observer, Progress, RoundReport};
use cognate::stream::Memory;
use cognate::{LearnerConfig, Model, TaskId, Tasks};
use serde_json::{Value, json};

use super::files::Folders;
use super::measure::measure as run_command;
use super::peers::{Peer, Peers, Reported};
use crate::measure::sets::run_observed;

/// VW's table is so large that collisions hardly matter.
const BITS: &str = "24";

/// What a pass came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Figures {
    /// Share of mistakes.
    pub(super) error: f64,
    /// Area under the ROC curve; none of one class only.
    pub(super) auc: Option<f64>,
    /// Mean of -ln of the probability of the true label; none where there are no probabilities.
    pub(super) log_loss: Option<f64>,
}

/// Those of one of our learners, with its defaults.
pub(super) fn our_figures(id: &str, stream: &Memory) -> Result<Figures> {
    figures_of(&json!(LearnerConfig::from_id(id).context("a learner of the registry")?), stream)
}

/// Those of a learner.
pub(super) fn figures_of(learner: &Value, stream: &Memory) -> Result<Figures> {
    let mut margins = Margins(Ranking::default());
    let model = run_observed(learner, stream.clone(), &mut margins)?;
    let total = model.metrics().total();
    let auc = margins.0.auc().map(|auc| auc.value);
    Ok(Figures { error: total.error(), auc, log_loss: total.log_loss() })
}

/// Ranks examples by their margins.
struct Margins(Ranking);

impl Observer for Margins {
    fn observe(&mut self, report: &RoundReport, _: &Tasks, _: &Metrics) {
        self.0.count(report.task, report.label, report.weight, report.margin);
    }

    fn batch_done(&mut self, _: Progress, _: &Model) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Those of Vowpal Wabbit with this loss and form of features; `labels` are those of the file.
pub(super) fn vw_figures(
    folders: &Folders,
    peers: &Peers,
    data: &Path,
    form: &[&str],
    loss: &str,
    labels: &[f64],
) -> Result<Figures> {
    let (margins, reported) = vw_margins(folders, peers, data, form, loss, labels.len())?;
    let figures = figures(labels, &margins, loss == "logistic");
    // Without --binary, the mean that VW reports is that of its own loss.
    if let (Some(ours), Some(its)) = (figures.log_loss, reported.error) {
        ensure!((ours - its).abs() < 1e-3, "log loss {ours} of VW's predictions, but VW reports {its}");
    }
    Ok(figures)
}

/// What Vowpal Wabbit predicts of each of so many examples before it learns it.
pub(super) fn vw_margins(
    folders: &Folders,
    peers: &Peers,
    data: &Path,
    form: &[&str],
    loss: &str,
    examples: usize,
) -> Result<(Vec<f64>, Reported)> {
    let predictions = folders.bench.join("accuracy.predictions");
    let mut words: Vec<OsString> =
        vec!["--data".into(), data.into(), "-p".into(), predictions.clone().into()];
    words.extend(["-b", BITS, "--loss_function", loss, "--quiet"].iter().chain(form).map(Into::into));
    let (_, printed) = run_command(folders, &peers.command(folders, Peer::VowpalWabbit, words))?;
    let reported = Reported::from_json(&serde_json::from_str(&printed)?)?;
    ensure!(reported.examples == examples as u64, "VW read {} of {examples} examples", reported.examples);
    let text = std::fs::read_to_string(&predictions).with_context(|| predictions.display().to_string())?;
    let margins = margins(&text)?;
    ensure!(margins.len() == examples, "VW predicted {} of {examples} examples", margins.len());
    Ok((margins, reported))
}

/// A prediction per line.
fn margins(text: &str) -> Result<Vec<f64>> {
    let margin = |line: &str| line.trim().parse().with_context(|| format!("VW predicted {line:?}"));
    text.lines().filter(|line| !line.trim().is_empty()).map(margin).collect()
}

/// What follows from margins, which are log-odds or not; a margin of 0 predicts -1, as VW does.
fn figures(labels: &[f64], margins: &[f64], log_odds: bool) -> Figures {
    let (mut tally, mut ranking, mut mistakes) = (Tally::default(), Ranking::default(), 0_u64);
    for (label, margin) in labels.iter().zip(margins) {
        mistakes += u64::from((*margin > 0.0) != (*label > 0.0));
        let probability = log_odds.then(|| 1.0 / (1.0 + (-margin).exp()));
        tally.count(&Scored::class(*label, 1.0, *margin, probability), true, true);
        ranking.count(TaskId(0), *label, 1.0, *margin);
    }
    let error = mistakes as f64 / labels.len().max(1) as f64;
    Figures { error, auc: ranking.auc().map(|auc| auc.value), log_loss: tally.log_loss() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_follow_from_predictions() {
        let margins = margins("0\n1.5\n\n-0.5\n-2\n").unwrap();
        let found = figures(&[1.0, 1.0, 1.0, -1.0], &margins, true);
        assert_eq!((found.error, found.auc), (0.5, Some(1.0)));
        let losses = [0.0, -1.5, 0.5, -2.0].map(|signed: f64| (1.0 + signed.exp()).ln());
        let wanted = losses.iter().sum::<f64>() / 4.0;
        assert!((found.log_loss.unwrap() - wanted).abs() < 1e-12);
        assert_eq!(
            figures(&[1.0, -1.0], &[0.0, 0.0], false),
            Figures { error: 0.5, auc: Some(0.5), log_loss: None }
        );
        assert!(super::margins("0.5\nnan?\n").is_err());
    }
}
