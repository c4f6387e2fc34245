//! `cognate predict`: margins of a saved model.

use std::io::Write;
use std::ops::ControlFlow;

use anyhow::bail;
use cognate::fit::Kind;
use cognate::metrics::Reliability;
use cognate::model::{Prediction, Predictions};
use cognate::{Model, ReadOptions, TaskId};
use serde_json::json;

use super::{inputs, load_model};
use crate::args::PredictArgs;
use crate::output::{say, stdout, table};
use cognate_plot::numbers::count;

/// Runs the command.
pub(crate) fn run(args: &PredictArgs) -> anyhow::Result<()> {
    let model = load_model(&args.model)?;
    let learner = model.learner();
    if args.probability && learner.as_inspect().probability(0.0).is_none() {
        bail!(
            "--probability: margins of this {} are not probabilities; those of `adaptive` are",
            learner.about().id
        );
    }
    let read = ReadOptions::default().skip_bad(args.skip_bad);
    let mut reader = model.prediction_reader(inputs(&args.data)?, read)?;
    let mut out = stdout();
    if !args.json {
        let last = if args.probability { ",probability" } else { "" };
        writeln!(out, "task,label,margin{last}")?;
    }
    let (mut failed, mut skipped) = (None, 0);
    let mut seen = Seen::default();
    model.predict(&mut reader, args.threads, &mut |predictions| {
        skipped += predictions.batch().skipped();
        match write_batch(&mut out, predictions, &model, args, &mut seen) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    out.flush()?;
    if skipped > 0 {
        say(&format!("warning: skipped {skipped} bad lines"));
    }
    if seen.reliability.examples() > 0 {
        say(&reliability_report(&seen.reliability));
    }
    Ok(())
}

/// What is kept from one example to the next.
#[derive(Default)]
struct Seen {
    /// The best class so far of a line that is an example of every class.
    best: Option<(TaskId, f64)>,
    /// Probabilities beside the labels of examples that have one.
    reliability: Reliability,
}

/// The calibration table.
fn reliability_report(reliability: &Reliability) -> String {
    let percent =
        |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{:.1} %", 100.0 * share));
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

fn write_batch(
    out: &mut impl Write,
    predictions: &Predictions<'_>,
    model: &Model,
    args: &PredictArgs,
    Seen { best, reliability }: &mut Seen,
) -> std::io::Result<()> {
    let regression = model.kind() == Some(Kind::Regression);
    let classes = model.config().one_vs_all;
    for (example, mut margin) in predictions.iter() {
        let mut task = example.task;
        if classes {
            let known = task.index() < model.tasks().len();
            // A line is an example of every class in turn; its answer is the best of those that the model knows.
            if known && best.is_none_or(|(_, largest)| margin > largest) {
                *best = Some((task, margin));
            }
            if task.index() + 1 != model.tasks().len() {
                continue;
            }
            let Some(found) = best.take() else { continue };
            (task, margin) = found;
        }
        let name = predictions.task_name(task);
        let Prediction { label, probability, .. } = predictions.of(margin);
        let probability = probability.filter(|_| args.probability);
        if let Some(probability) = probability
            && !classes
            && !example.label.is_nan()
        {
            reliability.record(probability, example.label);
        }
        if args.json {
            let label = if regression { json!(label) } else { json!(label as i64) };
            let mut line = json!({ "task": name, "label": label, "margin": margin });
            if let Some(probability) = probability {
                line["probability"] = probability.into();
            }
            writeln!(out, "{line}")?;
        } else {
            write_csv_field(out, name)?;
            write!(out, ",{label},{margin:?}")?;
            match probability {
                Some(probability) => writeln!(out, ",{probability:?}")?,
                None => writeln!(out)?,
            }
        }
    }
    // The sender may wait for these answers before sending more.
    out.flush()
}

/// A CSV field, quoted if necessary.
pub(super) fn write_csv_field(out: &mut impl Write, text: &str) -> std::io::Result<()> {
    if text.contains([',', '"', '\n', '\r']) {
        write!(out, "\"{}\"", text.replace('"', "\"\""))
    } else {
        out.write_all(text.as_bytes())
    }
}
