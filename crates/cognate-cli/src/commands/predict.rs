//! `cognate predict`: margins of a saved model.

use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};
use cognate::fit::Kind;
use cognate::model::{Prediction, Predictions};
use cognate::stream::LabelNames;
use cognate::{Example, LearnerConfig, Model, ReadOptions, SparseView, TaskId};
use serde_json::{Value, json};

use super::{check_inputs, inputs, model_of};
use crate::args::PredictArgs;
use crate::bad_lines::BadLineFile;
use crate::formats::prediction_format;
use crate::labelled::Labelled;
use crate::output::{STDOUT, check_stdout_is_read, say, stdout};
use crate::settings::chosen;
use crate::strangers::Strangers;
use crate::threshold;

/// Runs the command.
pub(crate) fn run(args: &PredictArgs) -> anyhow::Result<()> {
    let mut model = model_of(args.from.source(&args.model))?;
    threshold::apply(&mut model, args.threshold.as_deref())?;
    let learner = model.learner();
    if args.probability && learner.as_inspect().probability(0.0).is_none() {
        bail!("--probability: {}", no_probabilities(&model));
    }
    let nothing = SparseView::try_new(&[], &[])?;
    if args.uncertainty && learner.as_predict().variance(TaskId(0), nothing).is_none() {
        bail!(
            "--uncertainty: this {} does not know how sure its margins are; `adaptive` with the logistic loss does",
            learner.about().id
        );
    }
    let mut bad_lines = BadLineFile::new(args.bad_lines.as_deref())?;
    let format = prediction_format(&model, &args.text, &args.data)?;
    let sources = inputs(&args.data)?;
    check_inputs(&sources[..1])?;
    // The next line of a pipe may be long in coming, and is not waited for once nothing more can be written.
    let over = Arc::new(AtomicBool::new(false));
    let read = ReadOptions::default()
        .skip_bad(args.skip_bad)
        .stop(Arc::clone(&over))
        .bad_lines(bad_lines.for_reader()?);
    let mut reader = model.prediction_reader_of(&format, sources, read)?;
    let mut out = stdout();
    if !args.json {
        let probability = if args.probability { ",probability" } else { "" };
        let uncertainty = if args.uncertainty { ",uncertainty" } else { "" };
        let written = writeln!(out, "line,id,task,label,margin{probability}{uncertainty}");
        written.and_then(|()| out.flush()).context(STDOUT)?;
    }
    let (mut failed, mut skipped) = (None, 0);
    let mut seen = Seen::default();
    let predicted = model.predict(&mut reader, args.threads, &mut |predictions| {
        skipped += predictions.batch().skipped();
        let written = write_batch(&mut out, predictions, &model, args, &mut seen);
        match written.and_then(|()| check_stdout_is_read()) {
            Ok(()) if !bad_lines.has_failed() => return ControlFlow::Continue(()),
            Ok(()) => {}
            Err(error) => failed = Some(error),
        }
        over.store(true, Ordering::Relaxed);
        ControlFlow::Break(())
    });
    bad_lines.finish_with(predicted)?;
    if let Some(error) = failed {
        return Err(anyhow::Error::new(error).context(STDOUT));
    }
    out.flush().context(STDOUT)?;
    bad_lines.warn(skipped);
    seen.strangers.lines(&reader.columns_apart()).iter().for_each(|line| say(line));
    seen.labelled.lines(&model).iter().for_each(|line| say(line));
    Ok(())
}

/// Why margins are no probabilities: for want of another learner, or of another loss.
fn no_probabilities(model: &Model) -> String {
    let config = &model.config().learner;
    let (id, parameters) = (config.id(), json!(config));
    match chosen(&parameters[id]["loss"]) {
        Some(loss) if id == LearnerConfig::default().id() => {
            format!("with the loss `{loss}` margins of {id} are not probabilities; with `logistic` they are")
        }
        _ => format!("margins of this {id} are not probabilities; those of `adaptive` are"),
    }
}

/// What is kept from one example to the next.
#[derive(Default)]
struct Seen {
    /// The best class so far of a line that is an example of every class.
    best: Option<(TaskId, f64)>,
    /// The class of that line, if it has come.
    class: Option<TaskId>,
    /// Predictions beside the labels of examples that have one.
    labelled: Labelled,
    /// What the model does not know.
    strangers: Strangers,
}

fn write_batch(
    out: &mut impl Write,
    predictions: &Predictions<'_>,
    model: &Model,
    args: &PredictArgs,
    Seen { best, class, labelled, strangers }: &mut Seen,
) -> std::io::Result<()> {
    let regression = model.kind() == Some(Kind::Regression);
    let (classes, signs) = (model.config().one_vs_all, LabelNames::default());
    let mut skipped = predictions.batch().skipped_lines().iter().peekable();
    for (at, (example, mut margin)) in predictions.iter().enumerate() {
        while let Some((_, line)) = skipped.next_if(|(before, _)| *before <= at) {
            write_skipped(out, *line, args)?;
        }
        let mut task = example.task;
        labelled.count(model, example, margin);
        if classes {
            let known = task.index() < model.tasks().len();
            if task == TaskId(0) {
                *class = None;
            }
            if example.label > 0.0 {
                *class = Some(task);
            }
            // A line is an example of every class in turn; its answer is the best of those that the model knows.
            if known && best.is_none_or(|(_, largest)| margin > largest) {
                *best = Some((task, margin));
            }
            if task.index() + 1 != model.tasks().len() {
                continue;
            }
            let Some(found) = best.take() else { continue };
            (task, margin) = found;
            if !example.label.is_nan() {
                // A class that the model does not know cannot be predicted.
                labelled.count_class(*class, task, example.weight);
            }
        }
        let name = predictions.task_name(task);
        strangers.count(model, Example { task, ..example }, name);
        let Prediction { label, probability, .. } = predictions.of(margin);
        let probability = probability.filter(|_| args.probability);
        let uncertainty =
            args.uncertainty.then(|| predictions.uncertainty(Example { task, ..example })).flatten();
        let (line, id) = (predictions.batch().line(at), predictions.id(at));
        // Whether a class is the right one is said by sign.
        let word = if classes { signs.name(label) } else { model.label_names().name(label) };
        if args.json {
            let label = if regression { json!(label) } else { json_label(word) };
            let mut row = json!({ "line": line, "task": name, "label": label, "margin": margin });
            if let Some(id) = id {
                row["id"] = id.into();
            }
            if let Some(probability) = probability {
                row["probability"] = probability.into();
            }
            if let Some(uncertainty) = uncertainty {
                row["uncertainty"] = uncertainty.into();
            }
            writeln!(out, "{row}")?;
        } else {
            write!(out, "{line},")?;
            write_csv_field(out, id.unwrap_or_default())?;
            out.write_all(b",")?;
            write_csv_field(out, name)?;
            out.write_all(b",")?;
            if regression {
                write!(out, "{label}")?;
            } else {
                write_csv_field(out, word)?;
            }
            write!(out, ",{margin:?}")?;
            for more in [probability, uncertainty].into_iter().flatten() {
                write!(out, ",{more:?}")?;
            }
            writeln!(out)?;
        }
    }
    for (_, line) in skipped {
        write_skipped(out, *line, args)?;
    }
    // The sender may wait for these answers before sending more.
    out.flush()
}

/// A line that was skipped keeps its row, so that rows and lines stay side by side.
fn write_skipped(out: &mut impl Write, line: u64, args: &PredictArgs) -> std::io::Result<()> {
    if args.json {
        let nothing = json!({ "line": line, "task": null, "label": null, "margin": null });
        writeln!(out, "{nothing}")
    } else {
        let more = usize::from(args.probability) + usize::from(args.uncertainty);
        writeln!(out, "{line},,,,{}", ",".repeat(more))
    }
}

/// A label as JSON: numbers and truths as such, other words as texts.
fn json_label(word: &str) -> Value {
    match word {
        "true" => json!(true),
        "false" => json!(false),
        word => word.parse::<i64>().map_or_else(|_| json!(word), |number| json!(number)),
    }
}

/// A CSV field, quoted if necessary.
pub(super) fn write_csv_field(out: &mut (impl Write + ?Sized), text: &str) -> std::io::Result<()> {
    if text.contains([',', '"', '\n', '\r']) {
        write!(out, "\"{}\"", text.replace('"', "\"\""))
    } else {
        out.write_all(text.as_bytes())
    }
}
