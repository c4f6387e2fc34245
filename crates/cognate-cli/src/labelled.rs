//! Predictions beside the labels of lines that have one.

use cognate::fit::Kind;
use cognate::metrics::{Overlap, Ranking, Reliability, Scored, Tally};
use cognate::{Example, Model, TaskId};

use crate::judging::{ClassGuess, ClassTally, one_class, second_sentence, sentence, tells_tasks_apart};
use crate::output::table;
use cognate_plot::numbers::{NO_VALUE, count};

/// Judges predictions by labels.
#[derive(Default)]
pub(crate) struct Labelled {
    tally: Tally,
    ranking: Ranking,
    reliability: Reliability,
    learnt: Overlap,
    /// Lines, where labels are classes.
    classes: ClassTally,
    guess: ClassGuess,
}

impl Labelled {
    /// Counts an example, unless it has no label.
    pub(crate) fn count(&mut self, model: &Model, example: Example<'_>, margin: f64) {
        let Example { task, label, weight, .. } = example;
        let Some(kind) = model.kind().filter(|_| !label.is_nan()) else { return };
        let inspect = model.learner().as_inspect();
        let threshold = model.threshold();
        let scored = if kind == Kind::Classification && threshold != 0.0 {
            // What is judged is the answer that is printed, and it goes by the threshold.
            let answer = if margin >= threshold { 1.0 } else { -1.0 };
            Scored::class(label, weight, answer, inspect.probability(margin))
        } else {
            Scored::of(inspect, kind, label, weight, margin)
        };
        self.tally.count(&scored, false, false);
        self.learnt.count(model.metrics().learnt().knows(example));
        if kind == Kind::Classification {
            self.ranking.count(task, label, weight, margin);
            if let Some(probability) = inspect.probability(margin) {
                self.reliability.record(probability, label, weight);
            }
        }
    }

    /// Counts a line with a label, where labels are classes: its own, if there is one that the model knows, and the one that
    /// was predicted.
    pub(crate) fn count_class(&mut self, class: Option<TaskId>, predicted: TaskId, weight: f64) {
        let is_mistaken_guess = self.guess.is_mistaken(class, weight);
        self.classes.count(class != Some(predicted), is_mistaken_guess, weight);
    }

    /// What labelled examples tell; nothing without any.
    pub(crate) fn lines(&self, model: &Model) -> Vec<String> {
        if self.tally.examples == 0 {
            return Vec::new();
        }
        let examples = self.tally.examples;
        let areas = self.ranking.areas();
        let auc = areas.total().map(|auc| auc.value);
        let noun = if examples == 1 { "example" } else { "examples" };
        let mut lines = vec![format!("{} labelled {noun}: {}", count(examples), sentence(&self.tally, auc))];
        lines.extend(second_sentence(&self.tally));
        lines.extend((self.classes.lines > 0).then(|| self.classes.sentence()));
        lines.extend(one_class(&self.tally, model.label_names()));
        lines.extend(tells_tasks_apart(&areas).map(|note| format!("note: {note}")));
        if self.learnt.known > 0 {
            let known = self.learnt.share().unwrap_or_default() * examples as f64;
            let all = self.learnt.sampled == examples;
            lines.push(format!(
                "note: the model has learnt {}{} of these examples{}: predictions of new ones are worse",
                if all { "" } else { "about " },
                count(known.round() as u64),
                if all { "" } else { " (estimated)" },
            ));
        }
        if self.reliability.examples() > 0 {
            lines.push(reliability_report(&self.reliability));
        }
        lines
    }
}

/// The calibration table.
fn reliability_report(reliability: &Reliability) -> String {
    let percent =
        |share: Option<f64>| share.map_or(NO_VALUE.to_owned(), |share| format!("{:.1} %", 100.0 * share));
    let rows = reliability.bins().iter().enumerate().map(|(at, bin)| {
        vec![
            format!("{} to {} %", 10 * at, 10 * (at + 1)),
            percent(bin.mean_said()),
            percent(bin.share_came()),
            count(bin.examples),
        ]
    });
    format!(
        "reliability on {} labelled examples: log loss {:.4}, Brier score {:.4}, calibration error {:.2} %\n{}",
        count(reliability.examples()),
        reliability.log_loss(),
        reliability.brier(),
        100.0 * reliability.calibration_error(),
        table(&["probability", "said", "came", "examples"], rows),
    )
}
