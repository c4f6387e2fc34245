//! `cognate predict`: margins of a saved model.

use std::io::Write;
use std::ops::ControlFlow;

use anyhow::bail;
use cognate::batch::Kind;
use cognate::example::predicted_label;
use cognate::metrics::Reliability;
use cognate::run::margins;
use cognate::stream::pipeline::for_each_batch;
use cognate::stream::{Batch, Labels, Reader, ReaderOptions};
use cognate::{Model, TaskId, Tasks};
use serde_json::json;

use super::{inputs, load_model};
use crate::args::PredictArgs;
use crate::output::{say, stdout, table};
use cognate_plot::numbers::count;

/// Runs the command.
pub(crate) fn run(args: &PredictArgs) -> anyhow::Result<()> {
    let model = load_model(&args.model)?;
    let regression = model.kind() == Some(Kind::Regression);
    let learner = model.learner();
    if args.probability && learner.as_inspect().probability(0.0).is_none() {
        bail!(
            "--probability: margins of this {} are no probabilities; those of `adaptive` are",
            learner.about().id
        );
    }
    let options = ReaderOptions {
        reading: model.config().reading.clone(),
        names: model.names().clone().frozen(),
        label_column_may_miss: true,
        preprocess: model.config().preprocess,
        labels: if regression { Labels::Real } else { Labels::Optional },
        features: model.config().features,
        skip_bad: args.skip_bad,
        ..ReaderOptions::default()
    };
    let mut tasks = model.tasks().clone();
    let mut reader = Reader::new(inputs(&args.data)?, tasks.clone(), options);
    let mut out = stdout();
    if !args.json {
        let last = if args.probability { ",probability" } else { "" };
        writeln!(out, "task,label,margin{last}")?;
    }
    let (mut failed, mut skipped) = (None, 0);
    let mut seen = Seen::default();
    for_each_batch(&mut reader, 1, args.threads, |batch| {
        skipped += batch.skipped();
        for name in batch.new_tasks() {
            // The reader has checked the limit.
            let _ = tasks.meet(name);
        }
        match write_batch(&mut out, batch, &model, &tasks, args, &mut seen) {
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

/// What the probabilities were worth.
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
    batch: &Batch,
    model: &Model,
    tasks: &Tasks,
    args: &PredictArgs,
    Seen { best, reliability }: &mut Seen,
) -> std::io::Result<()> {
    let regression = model.kind() == Some(Kind::Regression);
    let inspect = model.learner().as_inspect();
    let classes = model.config().reading.one_vs_all;
    for (example, mut margin) in batch.examples().zip(margins(model, batch)) {
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
        let name = tasks.name(task);
        // What a model of real labels predicts is the margin itself.
        let label = if regression { margin } else { predicted_label(margin) };
        let probability = if args.probability { inspect.probability(margin) } else { None };
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
    // Somebody may be waiting for these answers before asking for more.
    out.flush()
}

/// A CSV field, quoted where it must be.
pub(super) fn write_csv_field(out: &mut impl Write, text: &str) -> std::io::Result<()> {
    if text.contains([',', '"', '\n', '\r']) {
        write!(out, "\"{}\"", text.replace('"', "\"\""))
    } else {
        out.write_all(text.as_bytes())
    }
}
