//! `--threshold` and `--class-weight`: what is written on the command line, and what is said about it.

use anyhow::bail;
use cognate::Model;
use cognate::fit::Kind;
use cognate::metrics::{ThresholdChooser, ThresholdMetric};
use cognate::model::Threshold;
use cognate_plot::numbers::count;
use serde_json::{Value, json};

use crate::output::say;

/// A threshold as it is written: a margin, or `p=0.3` for a probability; none if it is neither.
fn given(text: &str) -> Option<Threshold> {
    match text.strip_prefix("p=") {
        Some(probability) => probability.parse().ok().map(Threshold::Probability),
        None => text.parse().ok().map(Threshold::Margin),
    }
}

/// Lets a model predict from the threshold that `predict` is given, and says which one it predicts from.
pub(crate) fn apply(model: &mut Model, text: Option<&str>) -> anyhow::Result<()> {
    if let Some(text) = text {
        let Some(threshold) = given(text) else {
            bail!("--threshold {text}: expected a margin, e.g. 0.5, or a probability, e.g. p=0.3");
        };
        set(model, text, threshold)?;
    }
    if model.threshold() != 0.0 {
        let whose = if text.is_some() { "as asked" } else { "the model's; --threshold 0 goes by the sign" };
        say(&format!("threshold: +1 from margin {:?} on ({whose})", model.threshold()));
    }
    Ok(())
}

fn set(model: &mut Model, text: &str, threshold: Threshold) -> anyhow::Result<()> {
    model
        .set_threshold(threshold)
        .map_err(|error| anyhow::anyhow!("--threshold {text}: {}", error.problems[0].message))
}

/// Chooses a threshold while a stream is learnt.
pub(crate) struct Choosing {
    metric: ThresholdMetric,
    name: String,
    chooser: ThresholdChooser,
    margins: u64,
}

impl Choosing {
    /// What `learn` is told: a metric, for which a threshold is chosen; or the threshold, which the model gets at once.
    pub(crate) fn start(model: &mut Model, text: Option<&str>) -> anyhow::Result<Option<Self>> {
        let Some(text) = text else { return Ok(None) };
        if model.config().one_vs_all {
            bail!("--threshold {text}: with --one-vs-all the class with the largest margin is predicted");
        }
        if let Some(threshold) = given(text) {
            set(model, text, threshold)?;
            return Ok(None);
        }
        let Ok(metric) = ThresholdMetric::from_name(text) else {
            bail!(
                "--threshold {text}: expected a metric (f1, balanced-error, error), a margin, or a probability, e.g. p=0.3"
            );
        };
        if model.kind() == Some(Kind::Regression) {
            bail!("--threshold {text}: labels are real numbers; there is nothing to decide");
        }
        let chooser = ThresholdChooser::default();
        Ok(Some(Self { metric, name: text.to_owned(), chooser, margins: 0 }))
    }

    /// Counts a margin from before its label was learnt.
    pub(crate) fn count(&mut self, label: f64, margin: f64, weight: f64) {
        self.chooser.count(label, margin, weight);
        self.margins += 1;
    }

    /// Gives the model the threshold that would have been best, and says so.
    pub(crate) fn finish(mut self, model: &mut Model) {
        let Some(threshold) = self.chooser.best(self.metric) else {
            say("warning: no threshold was chosen; the run did not have both labels");
            return;
        };
        // What was learnt must not be lost for want of a threshold.
        match set(model, &self.name, Threshold::Margin(threshold)) {
            Err(error) => say(&format!("warning: no threshold was chosen; {error}")),
            Ok(()) => say(&format!(
                "threshold: +1 from margin {threshold:?} on, the best {} on {} margins of this run",
                self.name,
                count(self.margins)
            )),
        }
    }
}

/// A class weight as a config has it: `balanced`, `none`, or weights like `+1=4,-1=0.5`.
pub(crate) fn class_weight(text: &str) -> anyhow::Result<Value> {
    if ["balanced", "none"].contains(&text) {
        return Ok(json!({ text: {} }));
    }
    let mut weights = json!({});
    for part in text.split(',') {
        let (name, weight) = match part.split_once('=') {
            Some(("+1" | "1", weight)) => ("positive", weight.parse::<f64>()),
            Some(("-1" | "0", weight)) => ("negative", weight.parse::<f64>()),
            _ => bail!("--class-weight {text}: expected balanced, or weights like +1=4,-1=0.5"),
        };
        let Ok(weight) = weight else {
            bail!("--class-weight {text}: found {part}; expected a number after `=`");
        };
        if !weights[name].is_null() {
            bail!("--class-weight {text}: a label has two weights");
        }
        if !weight.is_finite() {
            bail!("--class-weight {text}: must be a finite number");
        }
        weights[name] = json!(weight);
    }
    Ok(json!({ "given": weights }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_weights_as_they_are_written() {
        for (text, config) in [
            ("balanced", json!({ "balanced": {} })),
            ("+1=4", json!({ "given": { "positive": 4.0 } })),
            ("-1=0.5,+1=2", json!({ "given": { "positive": 2.0, "negative": 0.5 } })),
        ] {
            assert_eq!(class_weight(text).unwrap(), config);
        }
        for (text, message) in [
            ("4", "--class-weight 4: expected balanced, or weights like +1=4,-1=0.5"),
            ("+1=x", "--class-weight +1=x: found +1=x; expected a number after `=`"),
            ("+1=1,1=2", "--class-weight +1=1,1=2: a label has two weights"),
            ("+1=nan", "--class-weight +1=nan: must be a finite number"),
        ] {
            assert_eq!(class_weight(text).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn thresholds_as_they_are_written() {
        assert_eq!(given("-0.5"), Some(Threshold::Margin(-0.5)));
        assert_eq!(given("p=0.3"), Some(Threshold::Probability(0.3)));
        assert_eq!([given("f1"), given("p="), given("p=x")], [None; 3]);
    }
}
