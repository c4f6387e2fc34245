//! `cognate inspect`: what is in a model.

use std::io::Write;

use anyhow::bail;
use cognate::Naming;
use cognate::fit::FitStatus;
use cognate::internal::FORMAT_VERSION;
use cognate::model::Unusual;
use cognate::{Learner, Model, TaskId};
use serde_json::json;

use super::predict::write_csv_field;
use super::{model_and_bytes, model_of};
use crate::args::InspectArgs;
use crate::args::remote::Source;
use crate::judging::{digits, shown};
use crate::output::{self, CheckFailed, bytes, say, shown_name, table, to_stdout};
use crate::reporting::model_bytes;
use cognate_plot::numbers::{count, percent};

/// Runs the command.
pub(crate) fn run(args: &InspectArgs) -> anyhow::Result<()> {
    if args.strict {
        return print_unusual(args.model.source());
    }
    let model = model_of(args.model.source())?;
    if args.json {
        return output::print_json(&as_json(&model));
    }
    if args.weights {
        return print_weights(&model, &args.tasks);
    }
    if args.supports {
        return print_supports(&model);
    }
    match &args.explain {
        Some(name) => explain(&model, name),
        None => output::print(&overview(&model)?),
    }
}

fn as_json(model: &Model) -> serde_json::Value {
    let total = model.metrics().total();
    let measures = total.measures(None);
    let strengths = model.learner().as_inspect().strengths();
    let strengths = strengths.map(|all| {
        all.into_iter().map(|(b, weight)| json!({ "b": b, "weight": weight })).collect::<Vec<_>>()
    });
    json!({
        "learner": model.config().learner.id(),
        "config": model.config(),
        "rounds": model.rounds(),
        "examples": total.examples,
        "mistakes": total.mistakes,
        "error": measures.error,
        "constant_error": measures.constant_error,
        "f1": measures.f1,
        "measures": measures,
        "updates": total.updates,
        "queries": total.queries,
        "unlabelled": model.metrics().unlabelled(),
        "asked": model.metrics().asked(),
        "threshold": model.threshold(),
        "declared_tasks": model.tasks().limit(),
        "tasks": model.tasks().sorted().into_iter().map(|task| model.tasks().name(task)).collect::<Vec<_>>(),
        "feature_names": model.names().len(),
        "strengths": strengths,
        "fit": fit_status(model),
        "memory_bytes": model_bytes(model),
    })
}

/// How the search of a fitted model ended.
fn fit_status(model: &Model) -> Option<&FitStatus> {
    match model.learner() {
        Learner::Convex(convex) => convex.status(),
        _ => None,
    }
}

fn overview(model: &Model) -> anyhow::Result<String> {
    let total = model.metrics().total();
    let names: Vec<_> = model
        .tasks()
        .sorted()
        .into_iter()
        .take(12)
        .map(|task| shown_name(model.tasks().name(task)))
        .collect();
    let more = if model.tasks().len() > names.len() { ", …" } else { "" };
    let (measures, share) = (total.measures(None), |value: f64| percent(value, 2));
    let mut rows = vec![
        ("learner", model.config().learner.id().to_owned()),
        ("what", model.learner().about().title.to_owned()),
        ("tasks", format!("{} ({}{more})", count(model.tasks().len() as u64), names.join(", "))),
        ("rounds", count(model.rounds())),
        ("examples", count(total.examples)),
        ("mistakes", format!("{} ({})", count(total.mistakes), shown(measures.error, share))),
        ("constant", shown(measures.constant_error, share)),
        ("log loss", shown(measures.log_loss, digits)),
        ("F1", shown(measures.f1, share)),
        ("updates", count(total.updates)),
    ];
    if !model.config().query.is_all() {
        rows.push(("labels", format!("{} asked for", count(total.queries))));
    }
    let (unlabelled, asked) = (model.metrics().unlabelled(), model.metrics().asked());
    if unlabelled > 0 {
        rows.push(("unlabelled", format!("{} ({} asked for)", count(unlabelled), count(asked))));
    }
    if let Some(text) = names_text(model) {
        rows.push(("features", text));
    }
    if model.threshold() != 0.0 {
        rows.push(("threshold", format!("+1 from margin {:?} on", model.threshold())));
    }
    rows.push(("memory", bytes(model_bytes(model))));
    if let Some(declared) = model.tasks().limit() {
        rows.insert(3, ("declared", format!("{} tasks", count(declared as u64))));
    }
    rows.extend(fit_status(model).map(|status| ("fit", status.to_string())));
    if let Some(strengths) = model.learner().as_inspect().strengths() {
        rows.push(("strengths", strengths_text(&strengths)));
    }
    let width = rows.iter().map(|row| row.0.len()).max().unwrap_or(0);
    let mut text: String = rows.iter().map(|(name, value)| format!("{name:width$}  {value}\n")).collect();
    text += &format!("\nconfig\n{}", serde_json::to_string_pretty(model.config())?);
    Ok(text)
}

/// How many features have names, if any do.
fn names_text(model: &Model) -> Option<String> {
    let names = count(model.names().len() as u64);
    match model.names().naming() {
        Naming::Kept => Some(format!("{names}, by name")),
        Naming::Hashed { bits, names: false } => Some(format!("hashed to 2^{bits} slots, names not kept")),
        Naming::Hashed { bits, .. } => {
            let shared = count(model.names().shared() as u64);
            Some(format!("{names} names hashed to 2^{bits} slots, of which {shared} are shared"))
        }
        _ => None,
    }
}

/// Which b leads, and the weight of each.
fn strengths_text(strengths: &[(f64, f64)]) -> String {
    let b = |b: f64| format!("b = {}", (b * 100.0).round() / 100.0);
    let leader = strengths.iter().max_by(|one, other| one.1.total_cmp(&other.1)).map_or(0.0, |pair| pair.0);
    let all: Vec<_> =
        strengths.iter().map(|(at, weight)| format!("{} {}", b(*at), percent(*weight, 0))).collect();
    format!("{} leads ({})", b(leader), all.join(", "))
}

/// Weights of these tasks, or of all; one task at a time is held in memory.
fn print_weights(model: &Model, only: &[String]) -> anyhow::Result<()> {
    let tasks = if only.is_empty() {
        model.tasks().sorted()
    } else {
        only.iter().map(|name| model.task(name)).collect::<Result<Vec<TaskId>, _>>()?
    };
    let labels = model.feature_labels();
    to_stdout(|out| -> std::io::Result<()> {
        out.write_all(b"task,feature,value\n")?;
        for task in tasks {
            for (feature, weight) in model.learner().as_inspect().weights(task) {
                write_csv_field(out, model.tasks().name(task))?;
                out.write_all(b",")?;
                write_csv_field(out, &labels.label(feature))?;
                writeln!(out, ",{weight:?}")?;
            }
        }
        Ok(())
    })
}

/// The examples that a learner in dual form keeps: which one, its task, its coefficient.
fn print_supports(model: &Model) -> anyhow::Result<()> {
    let Some(supports) = model.learner().as_inspect().supports() else {
        bail!("--supports: `{}` keeps weights, not supports; use --weights", model.config().learner.id());
    };
    to_stdout(|out| -> std::io::Result<()> {
        out.write_all(b"round,task,coefficient\n")?;
        for support in supports {
            write!(out, "{},", support.example)?;
            write_csv_field(out, model.tasks().name(support.task))?;
            writeln!(out, ",{:?}", support.coefficient)?;
        }
        Ok(())
    })
}

/// One line for everything unusual, which is a check that fails.
fn print_unusual(source: Source<'_>) -> anyhow::Result<()> {
    let (model, file, place) = model_and_bytes(source)?;
    let mut lines: Vec<String> = model.unusual().iter().map(ToString::to_string).collect();
    let of_this_version = file.get(8..12) == Some(&FORMAT_VERSION.to_le_bytes()[..]);
    if of_this_version && file != model.to_bytes() {
        lines.push(
            "the file holds more than the model, or is arranged in another way than it is saved".to_owned(),
        );
    }
    let tasks = model.tasks().len();
    if tasks > Unusual::MOST_TASKS {
        let (looked_at, all) = (count(Unusual::MOST_TASKS as u64), count(tasks as u64));
        say(&format!("note: of {all} tasks, the weights of the first {looked_at} were looked at"));
    }
    if lines.is_empty() {
        return output::print("nothing unusual");
    }
    output::print(&lines.join("\n"))?;
    let what = if lines.len() == 1 { "finding" } else { "findings" };
    Err(CheckFailed(format!("{place}: {} {what}", lines.len())).into())
}

/// Features listed by `--explain`.
const LISTED: usize = 20;

fn explain(model: &Model, name: &str) -> anyhow::Result<()> {
    let explanation = model.explain(name)?;
    let all = explanation.weights.len();
    let rows = explanation
        .weights
        .iter()
        .take(LISTED)
        .map(|feature| vec![shown_name(&feature.name), format!("{:+.6}", feature.weight)]);
    let tally = model.metrics().task(explanation.task);
    output::print(&format!(
        "task {}: {} examples, error {}; the strongest {} of {} features\n\n{}",
        shown_name(name),
        count(tally.examples),
        shown(tally.measures(None).error, |error| percent(error, 2)),
        all.min(LISTED),
        count(all as u64),
        table(&["feature", "weight"], rows).trim_fmt(),
    ))
}
